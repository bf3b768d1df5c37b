"""Makes untrusted text safe for terminals and logs."""

import re

_ESCAPE_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, screen
    r"|(?:\x1b[\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, APC, PM, SOS
    r"|\x1b[ -/]*[0-~]"  # two-character sequences
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_C1_CONTROLS = re.compile(r"[\x7f-\x9f\ud800-\udfff]")


def strip_controls(text: str) -> str:
    """Remove escape sequences, control characters and lone surrogates; keep line breaks and tabs."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", _ESCAPE_SEQUENCES.sub("", text))


def one_line(text: str, *, limit: int = 300) -> str:
    """Return a text without control characters on one line of at most `limit` characters."""
    line = " ".join(strip_controls(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def cut(text: str, limit: int) -> str:
    """Return the first `limit` characters of a text, with an ellipsis if it is longer."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def escape_json_controls(document: str) -> str:
    """Escape C1 controls in a JSON document, which JSON allows and a terminal would obey."""
    return _C1_CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", document)
