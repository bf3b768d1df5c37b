"""The derived index over the notes; it may be deleted at any moment."""
