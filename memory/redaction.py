"""Remove secrets from foreign text, in every form in which they may be repeated; pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from urllib.parse import unquote, urlsplit

REDACTED = "***"
MIN_SECRET_LENGTH = 4
"""Characters. Shorter texts are not secrets, and removing them would only make words unreadable."""
_QUOTED = r"\\{1,8}"
"""Backslashes before a character; JSON within JSON has several. Bounded, or a text full of them takes forever."""
MIN_BASE64_LENGTH = 6
"""Characters. Other text may well contain shorter Base64 forms by chance."""

_QUOTE_MARK = r"\\*[\"']?"
_BEGINS = rf"\s*[:=,]\s*(?:b(?=[\"']))?{_QUOTE_MARK}"
# What precedes a fixed end is bounded; otherwise a line that repeats the beginning blocks for seconds.
_LOOKS_SECRET = (
    # In the URL of each call to Telegram.
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
    # In URLs.
    (r"(?i)([?&](?:api[_-]?key|key|access_token|token|secret|password)=)[^&\s\"'#]+", rf"\1{REDACTED}"),
    (r"(://)[^/\s:@\"']*:[^/\s@\"']+@", rf"\1{REDACTED}@"),
    # Keys with a recognizable prefix.
    (
        r"\b(?:sk|pk|pa|gsk|xai)-(?=[\w-]{0,100}\d)[\w-]{16,}|\bgsk_\w{16,}|\bhf_\w{16,}|\bAIza[\w-]{20,}",
        REDACTED,
    ),
    (r"\b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}", REDACTED),  # Discord's tokens
)
"""Patterns of unknown secrets, and their replacements."""


class Redaction:
    """Removes secrets from texts; secrets can be added at any time, but not removed."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Add secrets."""
        self._secrets = tuple(dict.fromkeys((*self._secrets, *secrets)))

    def __call__(self, text: str) -> str:
        """Return the text without the secrets."""
        text = remove_secrets(text, self._secrets)
        for pattern, instead in _secret_patterns():
            text = pattern.sub(instead, text)
        return text


_current: Callable[[str], str] = Redaction()


def set_redaction(redaction: Callable[[str], str]) -> Callable[[str], str]:
    """Make `redact` use this redaction in the whole process; return the previous one."""
    global _current
    before, _current = _current, redaction
    return before


def redact(text: str) -> str:
    """Return the text without the secrets of this process's settings and environment."""
    return _current(text)


def remove_secrets(text: str, secrets: Iterable[str]) -> str:
    """Replace every secret in `text`, also as written in URLs, JSON, Python, HTML and Base64."""
    pattern = _compile_pattern(tuple(dict.fromkeys(secrets)))
    return pattern.sub(REDACTED, text) if pattern else text


def find_url_password(address: str) -> str:
    """Return the password in `https://user:password@host`, or the user if there is none; "" without either."""
    try:
        parts = urlsplit(address)
    except ValueError:  # an incomplete IPv6 address
        return ""
    return parts.password or parts.username or ""


def find_proxy_passwords(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the passwords of the proxies in an environment; a proxy that refuses may repeat its own."""
    proxies = (value for name, value in environment.items() if name.upper().endswith("_PROXY"))
    return tuple(filter(None, map(find_url_password, proxies)))


@cache
def _secret_patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), instead) for pattern, instead in _LOOKS_SECRET)


@lru_cache(maxsize=64)
def _compile_pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern for any of the secrets; None if none is long enough."""
    known = {each for secret in secrets for each in (secret.strip(), unquote(secret.strip()))}
    # The longest first, since a secret may be the beginning of another.
    visible = (each for each in known if sum(c.isprintable() and c != " " for c in each) >= MIN_SECRET_LENGTH)
    known_first = sorted(visible, key=lambda each: (-len(each), each))
    forms = ["".join(map(_spelling_pattern, re.findall(r"\\+|[^\\]", each))) for each in known_first]
    encoded = {form for each in known_first for form in _base64_forms(each.encode("utf-8", "replace"))}
    forms += map(re.escape, sorted(encoded, key=lambda form: (-len(form), form)))
    return re.compile("|".join(forms)) if forms else None


def _spelling_pattern(character: str) -> str:
    """Return a pattern of all spellings of a character, or of a run of backslashes."""
    if character[0] == "\\":  # each level of quoting doubles them
        count = len(character)
        return rf"(?:\\{{{count},{8 * count}}}|(?i:(?:%(?:25)*5c){{{count}}}))"
    if re.fullmatch(r"[A-Za-z0-9]", character):  # never escaped
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
        ways.append("")  # a terminal does not show it
    return "(?:" + "|".join(dict.fromkeys(ways)) + ")"


def _base64_forms(secret: bytes) -> Iterator[str]:
    """Yield the Base64 forms of a secret inside other data, without the characters that depend on its neighbours."""
    from base64 import b64encode, urlsafe_b64encode

    for before in range(3):
        first, last = (before * 8 + 5) // 6, (before + len(secret)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            form = encode(bytes(before) + secret).decode()[first:last]
            if len(form) >= MIN_BASE64_LENGTH:
                yield form
