"""Real model classes of transformers, tiny and with random weights whose state fades slowly: cold against warm."""
