"""Settings: their schema, where they are read from, and reloading them."""
