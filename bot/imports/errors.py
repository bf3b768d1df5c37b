"""The error of an import."""


class ImportFault(Exception):
    """An import cannot go on; the text is one line for people. What was imported before stays."""
