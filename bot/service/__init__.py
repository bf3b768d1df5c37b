"""The composition root: everything opened by the settings, put together, run, and closed in reverse."""
