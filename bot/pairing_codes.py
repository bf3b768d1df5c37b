"""Pairing codes: made, read as typed, and compared."""

import hmac
import secrets
import unicodedata

from bot.state.access import PairingRequest

CODE_LETTERS = "CDFHJKMNPRTWXY3479"
"""Of each group that eyes confuse (0OQD, 1IL, 2Z, 5S, 6GC, 8B, UV) one at most, and no vowel, so that no code is a
word. Eight of them are 33 bits: with ten tries in ten minutes nobody comes near in the hour that a code counts."""
CODE_LENGTH = 8


def generate_code() -> str:
    """A code that nobody can guess."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))


def normalize_code(text: str) -> str:
    """A code as it was meant: in capitals, without blanks and dashes."""
    return "".join(
        letter for letter in text.upper() if not letter.isspace() and unicodedata.category(letter) != "Pd"
    )


def find_by_code(code: str, everybody: tuple[PairingRequest, ...]) -> PairingRequest | None:
    """Whose code this is; how long that takes tells nothing of the codes."""
    given = code.encode("utf-8", "replace")
    found = None
    for each in everybody:  # all of them, also after the right one
        if hmac.compare_digest(each.code.encode(), given):
            found = each
    return found
