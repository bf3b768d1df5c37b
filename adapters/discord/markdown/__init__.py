"""Render Markdown for Discord; no I/O."""
