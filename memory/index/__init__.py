"""The search index, derived from the notes; it may be deleted at any time."""
