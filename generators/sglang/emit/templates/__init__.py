"""The templates of SGLang's tests and the driver that they share."""
