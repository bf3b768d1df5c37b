"""The error for everything that prevents the start."""


class CannotStart(Exception):
    """The environment prevents the start; the text is one line that says how to fix it."""
