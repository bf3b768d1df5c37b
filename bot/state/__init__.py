"""state.db: everything that the assistant remembers between two runs, with all of its SQL."""
