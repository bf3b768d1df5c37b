"""Shows file names without hidden characters and without characters that reverse the text."""

import re

# Characters that change the direction of text, and invisible ones. Joiners belong to emoji and to some scripts; next
# to Latin letters they only hide something.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff]"
    "|[\u200c\u200d]{2,}|(?<![^\\x00-\\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\\x00-\\x7f])"
)
_ESCAPED = re.compile(r"⟨U\+([0-9A-F]{4,6})⟩")


def escape_path(path: str) -> str:
    """Replace invisible characters in a name or path by their numbers: `invoice⟨U+202E⟩fdp.exe`."""
    return _INVISIBLE.sub(lambda match: "".join(f"⟨U+{ord(sign):04X}⟩" for sign in match[0]), path)


def unescape_path(text: str) -> str:
    """Return the path that `escape_path` has escaped."""
    return _ESCAPED.sub(_unescape_match, text) if "⟨U+" in text else text


def _unescape_match(match: re.Match[str]) -> str:
    sign = chr(number) if (number := int(match[1], 16)) < 0x110000 else ""
    return sign if _INVISIBLE.fullmatch(sign) else match[0]
