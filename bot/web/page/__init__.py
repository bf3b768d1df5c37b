"""The status page and the notes in a browser; nothing is loaded from elsewhere."""
