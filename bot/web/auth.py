"""Authentication: one check for every request."""

import hmac
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bot import phrases
from bot.web.forms import FORM_FIELD, MAX_TEXT_FORM_BYTES, may_be_form, read_form
from bot.web.refused_form import read_form_of_anybody
from bot.web.session import is_form_token, is_session, renew_session
from bot.web.session_cookie import keep_session, session_cookie

log = logging.getLogger(__name__)

SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
MAX_WRONG_TOKENS = 10
"""Wrong tokens from one address within `WRONG_TOKEN_SECONDS` before it has to wait."""
LONG_TOKEN_CHARS = 16
"""A token of this length cannot be guessed, so it is checked even if the address has to wait. Otherwise, others behind
the same proxy could lock the owner out."""
WRONG_TOKEN_SECONDS = 60.0
MAX_ADDRESSES = 1000
"""Addresses whose wrong tokens are counted; only an attacker with many addresses needs more."""
FORWARDED_FOR: Final = "X-Forwarded-For"
MAX_HOPS = 20
"""Latest entries of X-Forwarded-For that are read; no chain of proxies is longer."""
MAX_HOST_CHARS = 261
"""Maximum length of a `Host` header: the longest DNS name and a port."""

Network = IPv4Network | IPv6Network

Refuse = Callable[[web.Request, int, str], web.StreamResponse]
"""Makes the response to a rejected request from a status and a sentence."""


class FailedLogins:
    """Counts the recent wrong tokens of each address."""

    def __init__(
        self, *, proxies: Sequence[Network] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`proxies`: networks of proxies whose X-Forwarded-For is trusted."""
        self._proxies = proxies
        self._clock = clock
        self._seen: OrderedDict[str, list[float]] = OrderedDict()
        self._warned: dict[str, float] = {}
        """When each address in `_seen` was last logged."""

    def client_key(self, request: web.Request) -> str:
        """Return the key for counting: the address of a request's client, behind all trusted proxies."""
        forwarded = ",".join(request.headers.getall(FORWARDED_FOR, [])).rsplit(",", MAX_HOPS)[-MAX_HOPS:]
        return rate_limit_key(client_address(request.remote or "", forwarded, self._proxies))

    def refusal(self, request: web.Request, given: str, *tokens: str) -> str:
        """Return why what was given is rejected, "" if it is one of the tokens. Counts wrong ones."""
        sender = self.client_key(request)
        waits = self.must_wait(sender)
        if waits and min(map(len, tokens)) < LONG_TOKEN_CHARS:
            return phrases.WEB_TOO_MANY
        matches = [is_token(given, token) for token in tokens]  # all: the time must not tell which one it is
        if any(matches):
            return ""
        if waits:
            return phrases.WEB_TOO_MANY
        self.count_failure(sender)
        return phrases.WEB_WRONG

    def count_failure(self, address: str) -> None:
        """Count a wrong token. Logs, at most once a minute, an address that has to wait from now on."""
        now = self._clock()
        self._seen[address] = [*self._recent_failures(address), now]
        self._seen.move_to_end(address)
        while len(self._seen) > MAX_ADDRESSES:
            forgotten, _ = self._seen.popitem(last=False)
            self._warned.pop(forgotten, None)
        # An address that goes on gets another try whenever one of its ten expires; do not log that again.
        is_news = now - self._warned.get(address, -math.inf) >= WRONG_TOKEN_SECONDS
        if is_news and self.must_wait(address):
            self._warned[address] = now
            log.warning("ten wrong tokens from %s within a minute: it has to wait now", address)

    def must_wait(self, address: str) -> bool:
        """Return whether an address has to wait."""
        return len(self._recent_failures(address)) >= MAX_WRONG_TOKENS

    def _recent_failures(self, address: str) -> list[float]:
        return [at for at in self._seen.get(address, ()) if self._clock() - at < WRONG_TOKEN_SECONDS]


wrong_key = web.AppKey("wrong", FailedLogins)
wrong_program_key = web.AppKey("wrong_program", FailedLogins)
"""Counts wrong tokens of programs on their own: one with an outdated token, which keeps trying, must not lock the owner
out of the page. A program's token is always too long to be guessed."""


def is_token(given: str, token: str) -> bool:
    """Return whether a text is the token, in constant time."""
    return hmac.compare_digest(
        sha256(given.encode("utf-8", "replace")).digest(), sha256(token.encode()).digest()
    )


def guard(
    token: str,
    *,
    is_public: Callable[[str], bool],
    refuse: Refuse,
    is_local: Callable[[web.Request], bool] = lambda request: True,
) -> Middleware:
    """Return a middleware that requires the token or, if there is none, a `Host` header with this machine's name.

    `is_public`: paths that are public or have a check of their own; without a token, only what `is_local` returns True
    for is answered. A session in use is renewed. Requests that another site makes a browser send are rejected by
    `Sec-Fetch-Site` and `Origin`, forms also by their hidden field, and DNS rebinding by `Host`.
    """

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if is_public(request.path):
            return await handler(request)
        if not token and not names_this_machine(request):
            return refuse(request, 403, phrases.WEB_FOREIGN_HOST)
        if is_cross_site(request):
            return refuse(request, 403, phrases.WEB_FOREIGN_SITE)
        if not token:
            return await handler(request) if is_local(request) else refuse(request, 403, phrases.WEB_LOCKED)
        if session := session_of(request, token):
            if is_navigation(request) and (renewed := renew_session(session, token, now=time.time())):
                keep_session(request, renewed)
            if request.method not in SAFE_METHODS and may_be_form(request):
                form = await read_form(request, max_bytes=MAX_TEXT_FORM_BYTES)
                if not is_form_token(form.get(FORM_FIELD, ""), session, token):
                    return refuse(request, 403, phrases.WEB_OLD_FORM)
            return await handler(request)
        if not (given := given_token(request)):
            if request.method == "POST" and wants_page(request):
                with suppress(web.HTTPException):  # then nothing of it is shown again
                    await read_form_of_anybody(request, token=token)
            return refuse(request, 401, phrases.WEB_SIGN_IN_FIRST)
        if reason := request.app[wrong_key].refusal(request, given, token):
            return refuse(request, 429 if reason == phrases.WEB_TOO_MANY else 401, reason)
        return await handler(request)

    return check


def wants_page(request: web.Request) -> bool:
    """Return whether a browser sent a request in order to show the response."""
    return request.method in ("GET", "POST") and "text/html" in request.headers.get("Accept", "")


def is_navigation(request: web.Request) -> bool:
    """Return whether a person opened a page or sent a form, as far as the browser says; a script asks by itself."""
    return request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate"


def names_this_machine(request: web.Request) -> bool:
    """Return whether a request was sent to this machine by one of its own names."""
    # A target such as http://other.example/ names a host too, which then hides the header in request.host.
    return all(map(is_local_host, (request.host, *request.headers.getall("Host", ()))))


def is_local_host(host: str) -> bool:
    """Return whether a `Host` header is `localhost`, 127.0.0.1 or [::1], with any port."""
    if len(host) > MAX_HOST_CHARS or "@" in host:
        return False
    try:
        parts = urlsplit(f"//{host}")
        name = (parts.hostname or "").removesuffix(".")
        _ = parts.port  # raises ValueError for an invalid port
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def is_cross_site(request: web.Request, *, safe_methods: Sequence[str] = SAFE_METHODS) -> bool:
    """Return whether another site made a browser send this request, in a way that could read or change something.

    Following a link from another site is harmless: it changes nothing, and that site cannot see the response.
    `safe_methods`: those that change nothing.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        follows_link = request.method in safe_methods and request.headers.get("Sec-Fetch-Mode") == "navigate"
        return site not in ("same-origin", "none") and not follows_link
    origin = request.headers.get("Origin")
    if origin is None or request.method in safe_methods:
        return False
    try:
        return urlsplit(origin).netloc.lower() != request.host.lower()
    except ValueError:
        return True


def session_of(request: web.Request, token: str) -> str:
    """Return the cookie of a browser that has signed in, "" for none; it cannot be guessed, so no attempts are counted.

    If the request has a token too, only the token counts. The password of a proxy in front of us is not a token.
    """
    cookie = session_cookie(request)
    return cookie if not given_token(request) and is_session(cookie, token, now=time.time()) else ""


def given_token(request: web.Request) -> str:
    """Return the bearer token of a request, "" for none."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def client_address(remote: str, forwarded: Sequence[str], proxies: Sequence[Network]) -> str:
    """Return the address of the client behind all trusted proxies.

    `remote` is the peer of the connection; `forwarded` has the entries of X-Forwarded-For, the latest hop last. Each
    proxy appends its own peer, so entries count from the right until one is not in `proxies`.
    """
    sender = remote
    for hop in reversed(forwarded):
        if not is_in_networks(sender, proxies):
            break
        hop = hop.strip()
        if hop.startswith("["):  # some proxies add the port
            hop = hop[1:].partition("]")[0]
        elif hop.count(":") == 1:
            hop = hop.partition(":")[0]
        if _parse_address(hop) is None:
            break  # "unknown", or a name: count the proxy instead
        sender = hop
    return sender


def rate_limit_key(sender: str) -> str:
    """Return an address or, for IPv6, its /64 network, in which one client has countless addresses."""
    address = _parse_address(sender)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return str(address or sender)


def is_in_networks(sender: str, networks: Sequence[Network]) -> bool:
    address = _parse_address(sender)
    return address is not None and any(address in each for each in networks)


def _parse_address(address: str) -> IPv4Address | IPv6Address | None:
    """Parse an address, mapped IPv4 as IPv4; None if it is invalid."""
    try:
        read = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return (read.ipv4_mapped or read) if isinstance(read, IPv6Address) else read
