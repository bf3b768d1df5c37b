"""The language of whoever sits at this machine."""

from collections.abc import Mapping

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first that is not empty decides, as POSIX has it."""


def system_language(environ: Mapping[str, str]) -> str:
    """Return the code of the language that the environment asks for, such as `de_DE.UTF-8`; "" for none."""
    return next(filter(None, map(environ.get, VARIABLES)), "")
