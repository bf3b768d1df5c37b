"""Formulas in LaTeX as text that can be read."""

import re
import unicodedata
from functools import lru_cache

_COMMAND = re.compile(r"\\(?:begin|end)\{[^}]*\}|\\[A-Za-z]+")
_LONGEST = 1000
"""Characters of a formula that is made readable: the library takes its time over nested ones."""
_WORTHY = re.compile(r"[\\^_={}]|^[A-Za-z]$")


def is_formula(text: str) -> bool:
    """Whether what stands between dollar signs is more than two prices or two names of a shell."""
    return _WORTHY.search(text.strip()) is not None


@lru_cache(maxsize=256)
def readable(latex: str) -> str | None:
    """`latex` in Unicode, such as x² for x^2; None where that would lose some of it."""
    if len(latex) > _LONGEST:
        return None
    # Slow to import, and most replies hold no formula.
    from telegramify_markdown.latex_escape.helper import LatexToUnicodeHelper

    try:
        shown = str(LatexToUnicodeHelper().convert(latex)).strip()  # type: ignore[no-untyped-call]
    except Exception:  # noqa: BLE001 - whatever it trips over, the formula can be read as it was written
        return None
    if _COMMAND.search(shown) or not _holds(shown, _COMMAND.sub(" ", latex)):
        return None
    return shown


def _holds(shown: str, source: str) -> bool:
    """Whether each letter and digit of `source` is in `shown`, in order; ² counts as 2."""
    letters = iter(unicodedata.normalize("NFKC", shown))
    return all(char in letters for char in unicodedata.normalize("NFKC", source) if char.isalnum())
