"""SGLang's launch commands: flags, models, configuration files and start-up logs."""
