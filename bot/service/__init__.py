"""The composition root: open everything as the settings say, run it, and close it in reverse order."""
