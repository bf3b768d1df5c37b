"""The status page, made here and read in a browser; nothing is loaded from elsewhere."""
