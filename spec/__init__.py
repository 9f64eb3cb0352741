"""The ground floor: rules, designs, theorems and the prover; nothing here does I/O beyond solver calls."""
