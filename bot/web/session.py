"""The cookie of a browser that has signed in: until when, and a signature that only who knows the token can make."""

import hmac
from hashlib import sha256

SESSION = "commonplace_session"
SESSION_SECONDS = 30 * 24 * 3600


def new_session(token: str, *, now: float) -> str:
    """A cookie's value; `now` is in seconds since 1970. With another token it is worth nothing."""
    until = str(int(now) + SESSION_SECONDS)
    return f"{until}.{_sign(until, token)}"


def is_session(value: str, token: str, *, now: float) -> bool:
    """Whether such a value is ours and not too old."""
    until, _, signature = value.partition(".")
    if not (until.isascii() and until.isdigit() and len(until) < 20 and signature.isascii()):
        return False
    return hmac.compare_digest(signature, _sign(until, token)) and now < int(until)


def _sign(until: str, token: str) -> str:
    return hmac.new(token.encode(), f"commonplace session {until}".encode(), sha256).hexdigest()
