"""The environment of a child process that runs our own code."""

import os
import re
import sys
from collections.abc import Mapping

_SECRET = re.compile(r"COMMONPLACE_|KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)


def child_environment(extra: Mapping[str, str] | None = None, *, secrets: bool = False) -> dict[str, str]:
    """Return our environment, with `extra` on top, for a child started with `python -P`.

    The child can import the same modules in the same order; `-P` keeps the working folder out.
    `secrets`: pass on settings, keys and tokens; a process that reads a stranger's file does not need them.
    """
    return {
        **{name: value for name, value in os.environ.items() if secrets or not _SECRET.search(name)},
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        **(extra or {}),
    }
