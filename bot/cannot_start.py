"""Why the program does not start."""


class CannotStart(Exception):
    """Something outside does not let the program start; the text is one line with the mend in it."""
