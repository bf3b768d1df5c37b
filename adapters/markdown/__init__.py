"""Pure: Markdown read into text with marks, and cut into parts; what all channels need of it."""
