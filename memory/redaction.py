"""Pure: blank out secrets in text that others wrote, in every form in which they may have repeated them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from urllib.parse import unquote, urlsplit

REDACTED = "***"
MIN_SECRET_LENGTH = 4
"""Letters: a shorter secret is none, and to blank it out would only make words unreadable."""
_QUOTED = r"\\{1,8}"
"""Backslashes before a letter: JSON within JSON has more than one. Bounded, or a text full of them takes for ever."""
MIN_BASE64_LENGTH = 6
"""Letters: of what is shorter than this, other text may well have the same."""

_QUOTE_MARK = r"\\*[\"']?"
_BEGINS = rf"\s*[:=,]\s*(?:b(?=[\"']))?{_QUOTE_MARK}"
# What comes before a certain end is bounded, or a line that repeats the beginning holds everything up for seconds.
_LOOKS_SECRET = (
    # In the address of each call to Telegram.
    (r"(?i)(/bot)\d+(?::|%3a)[^/\s\"'?]+", rf"\1{REDACTED}"),
    (r"\b\d{6,}:[A-Za-z0-9_-]{30,}", REDACTED),
    # Headers, as libraries show them: `Authorization: Bearer …`, `(b'Authorization', b'Bearer …')`, JSON.
    (
        rf"(?i)(\b(?:proxy-)?authorization{_QUOTE_MARK}{_BEGINS})(?:[a-z][\w-]*\s+)?"
        r"[^\s\"'\\,;)\]}]+",
        rf"\1{REDACTED}",
    ),
    (
        rf"(?i)(\bx-[\w-]{{0,60}}(?:key|token|secret){_QUOTE_MARK}{_BEGINS})"
        r"[^\s\"'\\,;)\]}]+",
        rf"\1{REDACTED}",
    ),
    (rf"(?i)(\b(?:set-)?cookie{_QUOTE_MARK}{_BEGINS})[^\r\n\"'\\]+", rf"\1{REDACTED}"),
    (r"(?i)\b(bearer|basic)\s+(?=\S*\d)[\w.~+/=-]{8,}", rf"\1 {REDACTED}"),
    # In addresses.
    (r"(?i)([?&](?:api[_-]?key|key|access_token|token|secret|password)=)[^&\s\"'#]+", rf"\1{REDACTED}"),
    (r"(://)[^/\s:@\"']*:[^/\s@\"']+@", rf"\1{REDACTED}@"),
    # Keys by the look that their makers give them.
    (
        r"\b(?:sk|pk|pa|gsk|xai)-(?=[\w-]{0,100}\d)[\w-]{16,}|\bgsk_\w{16,}|\bhf_\w{16,}|\bAIza[\w-]{20,}",
        REDACTED,
    ),
    (r"\b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}", REDACTED),  # Discord's tokens
)
"""What an unknown secret looks like, and what replaces it."""


class Redaction:
    """Blanks out secrets in texts; secrets can be added while it is in use, but not removed."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Blank out these as well."""
        self._secrets = tuple(dict.fromkeys((*self._secrets, *secrets)))

    def __call__(self, text: str) -> str:
        """Return the text without them."""
        text = remove_secrets(text, self._secrets)
        for pattern, instead in _secret_patterns():
            text = pattern.sub(instead, text)
        return text


_in_use: Callable[[str], str] = Redaction()


def set_redaction(redaction: Callable[[str], str]) -> Callable[[str], str]:
    """Make `redact` use this redaction in the whole process; return the previous one."""
    global _in_use
    before, _in_use = _in_use, redaction
    return before


def redact(text: str) -> str:
    """Return a text that others wrote without the secrets in this process's settings and environment."""
    return _in_use(text)


def remove_secrets(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret blanked out: as it is, and as addresses, JSON, Python, HTML and Base64 write it."""
    pattern = _compile_pattern(tuple(dict.fromkeys(secrets)))
    return pattern.sub(REDACTED, text) if pattern else text


def find_url_password(address: str) -> str:
    """The password in `https://user:password@host`, or the user where that is all; "" without one."""
    try:
        parts = urlsplit(address)
    except ValueError:  # half an IPv6 address
        return ""
    return parts.password or parts.username or ""


def find_proxy_passwords(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The passwords of proxies that an environment names; one that refuses may say its own back."""
    proxies = (value for name, value in environment.items() if name.upper().endswith("_PROXY"))
    return tuple(filter(None, map(find_url_password, proxies)))


@cache
def _secret_patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), instead) for pattern, instead in _LOOKS_SECRET)


@lru_cache(maxsize=64)
def _compile_pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    """What matches any of them; None where none is long enough."""
    known = {each for secret in secrets for each in (secret.strip(), unquote(secret.strip()))}
    # The longest first: one secret may be the beginning of another.
    visible = (each for each in known if sum(c.isprintable() and c != " " for c in each) >= MIN_SECRET_LENGTH)
    known_first = sorted(visible, key=lambda each: (-len(each), each))
    forms = ["".join(map(_spelling_pattern, re.findall(r"\\+|[^\\]", each))) for each in known_first]
    encoded = {form for each in known_first for form in _base64_forms(each.encode("utf-8", "replace"))}
    forms += map(re.escape, sorted(encoded, key=lambda form: (-len(form), form)))
    return re.compile("|".join(forms)) if forms else None


def _spelling_pattern(character: str) -> str:
    """A pattern of all the ways in which a character, or a row of backslashes, may stand in a text."""
    if character[0] == "\\":  # of which each quoting makes two
        count = len(character)
        return rf"(?:\\{{{count},{8 * count}}}|(?i:(?:%(?:25)*5c){{{count}}}))"
    if re.fullmatch(r"[A-Za-z0-9]", character):  # which nobody writes in any other way
        return re.escape(character)
    from html import escape

    hexadecimal = [f"{byte:02x}" for byte in character.encode("utf-8", "replace")]
    units = character.encode("utf-16-be", "surrogatepass").hex()
    ways = [
        re.escape(character),
        "(?i:" + "".join(f"%(?:25)*{byte}" for byte in hexadecimal) + ")",
        "(?i:" + "".join(rf"{_QUOTED}u{units[at : at + 4]}" for at in range(0, len(units), 4)) + ")",
        "(?i:" + "".join(rf"{_QUOTED}x{byte}" for byte in hexadecimal) + ")",
        rf"(?i:{_QUOTED}x{ord(character):02x})",
        rf"(?i:{_QUOTED}u{ord(character):08x})",
        re.escape(escape(character)),
        rf"&\#0*{ord(character)};",
    ]
    if character in "\"'/":
        ways.append(_QUOTED + re.escape(character))
    if character == " ":
        ways += [r"\+", "(?i:%(?:25)*2b)"]
    if character.isspace():
        ways += [r"\s", _QUOTED + "[nrtfv]"]
    elif not character.isprintable():
        ways.append("")  # a terminal is not shown it
    return "(?:" + "|".join(dict.fromkeys(ways)) + ")"


def _base64_forms(secret: bytes) -> Iterator[str]:
    """What Base64 makes of it, whatever stands before and behind, without the letters that depend on that."""
    from base64 import b64encode, urlsafe_b64encode

    for before in range(3):
        first, last = (before * 8 + 5) // 6, (before + len(secret)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            form = encode(bytes(before) + secret).decode()[first:last]
            if len(form) >= MIN_BASE64_LENGTH:
                yield form
