"""The session cookie: its expiry, signed with the token."""

import hmac
from hashlib import sha256

SESSION = "commonplace_session"
SESSION_SECONDS = 30 * 24 * 3600


def new_session(token: str, *, now: float) -> str:
    """Return a cookie value that is valid until the token changes or 30 days are over; `now`: seconds since 1970."""
    until = str(int(now) + SESSION_SECONDS)
    return f"{until}.{_sign(until, token)}"


def is_session(value: str, token: str, *, now: float) -> bool:
    """Return whether a cookie value is valid; `now`: seconds since 1970."""
    until, _, signature = value.partition(".")
    if not (until.isascii() and until.isdigit() and len(until) < 20 and signature.isascii()):
        return False
    return hmac.compare_digest(signature, _sign(until, token)) and now < int(until)


def _sign(until: str, token: str) -> str:
    return hmac.new(token.encode(), f"commonplace session {until}".encode(), sha256).hexdigest()
