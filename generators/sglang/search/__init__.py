"""What can happen to a request under SGLang's rules, and under which code a wrong checkpoint falls."""
