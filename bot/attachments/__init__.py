"""Attachments: reads the files that come with messages."""
