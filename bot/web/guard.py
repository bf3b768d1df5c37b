"""Who may come in: one check that every request passes, whatever it asks for."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bot import phrases
from bot.web.session import SESSION, is_session

SAFE: Final = ("GET", "HEAD", "OPTIONS")
MOST_WRONG = 10
"""Wrong tokens from one address within `WRONG_SECONDS`, after which its tokens are not looked at."""
WRONG_SECONDS = 60.0
MOST_ADDRESSES = 1000
"""Of which wrong tokens are counted; more would only come of somebody who has many."""

Refuse = Callable[[web.Request, int, str], web.StreamResponse]
"""Make the answer for whoever may not come in: status and one sentence."""


class WrongTokens:
    """How many wrong tokens each address has sent lately."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: OrderedDict[str, list[float]] = OrderedDict()

    def note(self, address: str) -> None:
        """Count one more."""
        self._seen[address] = [*self._lately(address), self._clock()]
        self._seen.move_to_end(address)
        while len(self._seen) > MOST_ADDRESSES:
            self._seen.popitem(last=False)

    def too_many(self, address: str) -> bool:
        """Whether it has to wait."""
        return len(self._lately(address)) >= MOST_WRONG

    def _lately(self, address: str) -> list[float]:
        return [at for at in self._seen.get(address, ()) if self._clock() - at < WRONG_SECONDS]


wrong_key = web.AppKey("wrong", WrongTokens)


def is_token(said: str, token: str) -> bool:
    """Whether it is the token; takes as long for any."""
    return hmac.compare_digest(
        sha256(said.encode("utf-8", "replace")).digest(), sha256(token.encode()).digest()
    )


def guard(token: str, *, open_paths: Iterable[str], refuse: Refuse) -> Middleware:
    """Let in who knows the token; where there is none, who calls this machine by its own name.

    `open_paths` have a check of their own or nothing to hide. A browser must not be led here by another site: it
    says so in `Sec-Fetch-Site` and `Origin`, and a name of another site that leads to this machine (DNS rebinding)
    shows in `Host`.
    """
    anybody = frozenset(open_paths)

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in anybody:
            return await handler(request)
        if not token and not names_this_machine(request.host):
            return refuse(request, 403, phrases.WEB_FOREIGN_HOST)
        if comes_from_elsewhere(request):
            return refuse(request, 403, phrases.WEB_FOREIGN_SITE)
        if token and not _is_known(request, token):
            if request.app[wrong_key].too_many(_address(request)):
                return refuse(request, 429, phrases.WEB_TOO_MANY)
            if not (said := _said(request)):
                return refuse(request, 401, phrases.WEB_SIGN_IN_FIRST)
            if not is_token(said, token):
                request.app[wrong_key].note(_address(request))
                return refuse(request, 401, phrases.WEB_WRONG)
        return await handler(request)

    return check


def names_this_machine(host: str) -> bool:
    """Whether a `Host` header names this machine as seen from itself: `localhost`, 127.0.0.1, [::1], with any port."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def comes_from_elsewhere(request: web.Request) -> bool:
    """Whether another site has led a browser here, in a way that reads what is here or changes it.

    To follow a link from elsewhere changes nothing, and the other site sees nothing of what comes.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        follows_link = request.method in SAFE and request.headers.get("Sec-Fetch-Mode") == "navigate"
        return site not in ("same-origin", "none") and not follows_link
    origin = request.headers.get("Origin")
    if origin is None or request.method in SAFE:
        return False
    try:
        return urlsplit(origin).netloc.lower() != request.host.lower()
    except ValueError:
        return True


def check_sign_in(request: web.Request, said: str, token: str) -> str:
    """What to tell whoever tried to sign in with this; "" where it is the token."""
    wrong = request.app[wrong_key]
    if wrong.too_many(_address(request)):
        return phrases.WEB_TOO_MANY
    if is_token(said, token):
        return ""
    wrong.note(_address(request))
    return phrases.WEB_WRONG


def _is_known(request: web.Request, token: str) -> bool:
    """Whether a browser has signed in before; a cookie cannot be guessed, so no tries are counted.

    Who sends a token as well is judged by that alone. A password of a proxy in front of us is no token.
    """
    return not _said(request) and is_session(request.cookies.get(SESSION, ""), token, now=time.time())


def _said(request: web.Request) -> str:
    scheme, _, said = request.headers.get("Authorization", "").partition(" ")
    return said.strip() if scheme.lower() == "bearer" else ""


def _address(request: web.Request) -> str:
    """Where it comes from; of IPv6 the network, in which anybody has more addresses than can be counted."""
    remote = request.remote or ""
    try:
        address = ip_address(remote.partition("%")[0])
    except ValueError:
        return remote
    if not isinstance(address, IPv6Address):
        return remote
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))
