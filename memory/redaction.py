"""Pure: blank out secrets in text that others wrote, in every form in which they may have repeated them."""

import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote, urlsplit

HIDDEN = "***"
SHORTEST = 4
"""Letters: a shorter secret is none, and to blank it out would only make words unreadable."""


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret blanked out, as it is, and as it stands in an address or in JSON."""
    forms = {form for secret in secrets for form in _forms(secret)}
    # The longest first: one secret may be the beginning of another.
    for form in sorted(forms, key=lambda form: (-len(form), form)):
        text = text.replace(form, HIDDEN)
    return text


def secret_of_address(address: str) -> str:
    """The password in `https://user:password@host`, or the user where that is all; "" without one."""
    try:
        parts = urlsplit(address)
    except ValueError:  # half an IPv6 address
        return ""
    return parts.password or parts.username or ""


def _forms(secret: str) -> Iterator[str]:
    secret = secret.strip()
    plain = unquote(secret)  # a password in an address is written like this already
    for known in {secret, plain}:
        quoted = json.dumps(known)[1:-1], json.dumps(known, ensure_ascii=False)[1:-1]
        for form in (
            known,
            quote(known, safe="", errors="replace"),
            quote_plus(known, errors="replace"),
            *quoted,
        ):
            if len(form) >= SHORTEST:
                yield form
