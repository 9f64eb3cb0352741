"""What the commands found, as text, as JSON, as SARIF, as GitHub annotations and as pages."""
