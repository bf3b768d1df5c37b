"""Conversations: kept, made shorter when they become long, and what of them goes into the notes."""
