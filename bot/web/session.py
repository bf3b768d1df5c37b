"""The session cookie, its expiry signed with the token, and the marks of the forms that a session may send."""

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


def new_form_token(session: str, token: str) -> str:
    """Return what each form of a session's pages holds, which no other site can know."""
    return _digest(f"commonplace form {session}", token)


def is_form_token(value: str, session: str, token: str) -> bool:
    """Return whether a form comes from a page of this session."""
    return value.isascii() and hmac.compare_digest(value, new_form_token(session, token))


def _sign(until: str, token: str) -> str:
    return _digest(f"commonplace session {until}", token)


def _digest(text: str, token: str) -> str:
    return hmac.new(token.encode(), text.encode(), sha256).hexdigest()
