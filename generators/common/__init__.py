"""What every job needs and no engine knows: errors with their exit codes, work in several processes."""
