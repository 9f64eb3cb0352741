"""What the generated pages of the documentation show of SGLang."""
