"""Convert LaTeX formulas to readable Unicode text."""

import re
from functools import lru_cache
from typing import Any

from memory.normalization import normalize

_COMMAND = re.compile(r"\\(?:begin|end)\{[^}]*\}|\\[A-Za-z]+")
_LONGEST = 1000
"""Maximum characters of a formula to convert: the library is slow on nested ones."""
_MAX_RESULT_CHARS = 4 * _LONGEST
"""Maximum characters of the result."""
_MAX_NESTING = 12
"""Maximum depth of nested commands."""
_IS_FORMULA = re.compile(r"[\\^_={}]|^[A-Za-z]$")


def is_formula(text: str) -> bool:
    """Return whether text between dollar signs is a formula rather than two prices or shell variables."""
    return _IS_FORMULA.search(text.strip()) is not None


@lru_cache(maxsize=256)
def to_unicode(latex: str) -> str | None:
    """Return `latex` in Unicode, such as x² for x^2; None if that would lose some of it."""
    if len(latex) > _LONGEST:
        return None
    try:
        shown = normalize("NFC", str(_make_converter()().parse(latex)).strip())
    except Exception:  # noqa: BLE001 - whatever fails, the source is readable
        return None
    if _COMMAND.search(shown) or not _contains_in_order(shown, _COMMAND.sub(" ", latex)):
        return None
    return shown


@lru_cache(maxsize=1)
def _make_converter() -> type[Any]:
    r"""Return the library's converter with limits: each nested `\sqrt` doubles its result."""
    # Slow to import, and rarely needed. Of four libraries this one alone keeps fractions, roots and exponents apart:
    # pylatexenc makes \frac{a_1 + 1}{2} "a_1 + 1/2"; unicodeit and flatlatex leave most commands as they are.
    from telegramify_markdown.latex_escape.helper import LatexToUnicodeHelper

    class Converter(LatexToUnicodeHelper):
        depth = 0

        def handle_command(self, command: str, latex: str, index: int) -> tuple[str, int]:
            if self.depth == _MAX_NESTING:
                raise OverflowError("nested too deep")
            self.depth += 1
            shown, index = super().handle_command(command, latex, index)  # type: ignore[no-untyped-call]
            self.depth -= 1
            if len(shown) > _MAX_RESULT_CHARS:
                raise OverflowError("too long")
            return shown, index

    return Converter


def _contains_in_order(shown: str, source: str) -> bool:
    """Return whether the letters and digits of `source` are in `shown`, in order; ² counts as 2, ŷ as y, ∛ as 3."""
    letters = iter(normalize("NFKD", shown.replace("∛", "3").replace("∜", "4")))
    return all(char in letters for char in normalize("NFKD", source) if char.isalnum())
