"""Render Markdown for Telegram; no I/O."""
