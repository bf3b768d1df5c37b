"""Why the setup cannot go on; each text is one line for people."""


class SetupFailed(Exception):
    """Something could not be written, or was rejected."""


class InvalidFlag(Exception):
    """A flag gives an answer that cannot be used."""
