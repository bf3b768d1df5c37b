"""state.db: what the assistant must not forget between two runs. All of its SQL is here."""
