"""How a command ends: exit codes, errors, and the line that reports one."""

import sys

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
PROGRAM = "commonplace"


class CommandFailed(Exception):
    """The command failed; the text is one line for people."""


class WrongUsage(Exception):
    """The options do not go together; the text is one line for people."""


def print_error(text: str, code: int = FAILED) -> int:
    """Print one line to standard error and return the exit code."""
    from bot.sanitize import one_line

    sys.stderr.write(f"{PROGRAM}: {one_line(text, limit=2000)}\n")
    return code
