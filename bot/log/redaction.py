"""What is blanked out of every line: the secrets that are known, and what looks like one that is not."""

import re
from collections.abc import Iterable

from memory.redaction import HIDDEN, without_secrets

_QUOTE = r"\\*[\"']?"
# What comes before a certain end is bounded, or a line that repeats the beginning holds everything up for seconds.
_LOOKS_SECRET = (
    # In the address of each call to Telegram.
    (re.compile(r"(?i)(/bot)\d+(?::|%3a)[^/\s\"'?]+"), rf"\1{HIDDEN}"),
    (re.compile(r"\b\d{6,}:[A-Za-z0-9_-]{30,}"), HIDDEN),
    # Headers, as libraries show them: `Authorization: Bearer …`, `(b'Authorization', b'Bearer …')`, JSON.
    (
        re.compile(
            rf"(?i)(\b(?:proxy-)?authorization{_QUOTE}\s*[:=,]\s*b?{_QUOTE})(?:[a-z][\w-]*\s+)?[^\s\"'\\,;)\]}}]+"
        ),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(
            rf"(?i)(\bx-[\w-]{{0,60}}(?:key|token|secret){_QUOTE}\s*[:=,]\s*b?{_QUOTE})[^\s\"'\\,;)\]}}]+"
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(rf"(?i)(\b(?:set-)?cookie{_QUOTE}\s*[:=,]\s*b?{_QUOTE})[^\r\n\"'\\]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+(?=\S*\d)[\w.~+/=-]{8,}"), rf"\1 {HIDDEN}"),
    # In addresses.
    (
        re.compile(r"(?i)([?&](?:api[_-]?key|key|access_token|token|secret|password)=)[^&\s\"'#]+"),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"(://)[^/\s:@\"']*:[^/\s@\"']+@"), rf"\1{HIDDEN}@"),
    # Keys by the look that their makers give them.
    (
        re.compile(
            r"\b(?:sk|pk|pa|gsk|xai)-(?=[\w-]{0,100}\d)[\w-]{16,}|\bgsk_\w{16,}|\bhf_\w{16,}|\bAIza[\w-]{20,}"
        ),
        HIDDEN,
    ),
    (re.compile(r"\b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}"), HIDDEN),  # Discord's tokens
)


class Redaction:
    """Blanks out of texts what is secret; more can become secret while it is in use, nothing ceases to be."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Blank out these as well."""
        self._secrets = tuple(dict.fromkeys((*self._secrets, *secrets)))

    def __call__(self, text: str) -> str:
        """The text without them."""
        text = without_secrets(text, self._secrets)
        for pattern, instead in _LOOKS_SECRET:
            text = pattern.sub(instead, text)
        return text
