"""Channels that people talk through, one module each."""
