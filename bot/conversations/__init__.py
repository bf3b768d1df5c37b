"""Conversations: stored, compacted when they become long, and flushed to the notes."""
