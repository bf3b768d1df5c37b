"""Pure: the session cookie, its times signed with the token, and the marks of the forms that a session may send."""

import hmac
import re
from hashlib import sha256

SESSION = "commonplace_session"
SESSION_SECONDS = 30 * 24 * 3600
"""A session ends when it has not been used for so long."""
MAX_SESSION_SECONDS = 180 * 24 * 3600
"""A session ends so long after signing in, however much it is used."""
RENEWAL_SECONDS = 24 * 3600
"""Interval between two renewals of a session in use."""

_COOKIE = re.compile(r"([0-9]{1,19})\.([0-9]{1,19})\.([0-9a-f]{64})")


def new_session(token: str, *, now: float) -> str:
    """Return a cookie value for somebody who has just signed in; `now`: seconds since 1970.

    It holds when the session began, which stays, and when it ends.
    """
    return _encode(int(now), int(now) + SESSION_SECONDS, token)


def is_session(value: str, token: str, *, now: float) -> bool:
    """Return whether a cookie value was made with this token and has not ended; `now`: seconds since 1970."""
    found = _COOKIE.fullmatch(value)
    if found is None:
        return False
    began, until, signature = found.groups()
    return hmac.compare_digest(signature, _sign(began, until, token)) and now < int(until)


def renew_session(session: str, token: str, *, now: float) -> str:
    """Return a valid session's cookie value with a later end, "" if its end is as late as it can be, or nearly."""
    began, until = map(int, session.split(".")[:2])
    later = min(int(now) + SESSION_SECONDS, began + MAX_SESSION_SECONDS)
    return _encode(began, later, token) if later - until >= RENEWAL_SECONDS else ""


def session_end(session: str) -> int:
    """Return when a valid session ends, in seconds since 1970."""
    return int(session.split(".")[1])


def new_form_token(session: str, token: str) -> str:
    """Return what each form of a session's pages holds, which no other site can know; renewals do not change it."""
    return _form_token(session.partition(".")[0], token)


def is_form_token(value: str, session: str, token: str) -> bool:
    """Return whether a form comes from a page of this session."""
    return value.isascii() and hmac.compare_digest(value, new_form_token(session, token))


def was_form_token(value: str, token: str) -> bool:
    """Return whether a form comes from a page of any session, which may have ended."""
    return value.isascii() and hmac.compare_digest(value, _form_token(value.partition(".")[0], token))


def _encode(began: int, until: int, token: str) -> str:
    return f"{began}.{until}.{_sign(str(began), str(until), token)}"


def _sign(began: str, until: str, token: str) -> str:
    return _digest(f"commonplace session {began}.{until}", token)


def _form_token(began: str, token: str) -> str:
    return f"{began}.{_digest(f'commonplace form {began}', token)}"


def _digest(text: str, token: str) -> str:
    return hmac.new(token.encode(), text.encode(), sha256).hexdigest()
