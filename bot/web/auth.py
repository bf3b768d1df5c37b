"""Who may come in: one check that every request passes, whatever it asks for."""

import hmac
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bot import phrases
from bot.web.session import SESSION, is_session

log = logging.getLogger(__name__)

SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
MAX_WRONG_TOKENS = 10
"""Wrong tokens from one address within `WRONG_TOKEN_SECONDS`, after which it has to wait."""
LONG_TOKEN_CHARS = 16
"""Letters of a token that nobody guesses, however often: so many are looked at also of an address that has to wait.
Else whoever shares it, behind a proxy or at home, could keep the owner out."""
WRONG_TOKEN_SECONDS = 60.0
MAX_ADDRESSES = 1000
"""Of which wrong tokens are counted; more would only come of somebody who has many."""
FORWARDED_FOR: Final = "X-Forwarded-For"
MAX_HOPS = 20
"""Of X-Forwarded-For, the latest ones; no chain of proxies is longer."""
MAX_HOST_CHARS = 261
"""Characters of a `Host` header: the longest name of DNS and a port."""

Network = IPv4Network | IPv6Network

Refuse = Callable[[web.Request, int, str], web.StreamResponse]
"""Make the answer for whoever may not come in: status and one sentence."""


class FailedLogins:
    """How many wrong tokens each address has sent lately."""

    def __init__(
        self, *, proxies: Sequence[Network] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`proxies`: networks of those that tell where a request comes from, and are believed."""
        self._proxies = proxies
        self._clock = clock
        self._seen: OrderedDict[str, list[float]] = OrderedDict()
        self._warned: dict[str, float] = {}
        """When the log was last told of an address; only of those in `_seen`."""

    def client_key(self, request: web.Request) -> str:
        """Whose tokens are counted together: where a request comes from, beyond all proxies that are believed."""
        told = ",".join(request.headers.getall(FORWARDED_FOR, [])).rsplit(",", MAX_HOPS)[-MAX_HOPS:]
        return rate_limit_key(client_address(request.remote or "", told, self._proxies))

    def refusal(self, request: web.Request, said: str, token: str) -> str:
        """Why what somebody says does not let them in; "" where it is the token. Wrong ones are counted."""
        sender = self.client_key(request)
        waits = self.must_wait(sender)
        if waits and len(token) < LONG_TOKEN_CHARS:
            return phrases.WEB_TOO_MANY
        if is_token(said, token):
            return ""
        if waits:
            return phrases.WEB_TOO_MANY
        self.count_failure(sender)
        return phrases.WEB_WRONG

    def count_failure(self, address: str) -> None:
        """Count one more; the log is told, once a minute, of an address that has to wait from now on."""
        now = self._clock()
        self._seen[address] = [*self._recent_failures(address), now]
        self._seen.move_to_end(address)
        while len(self._seen) > MAX_ADDRESSES:
            forgotten, _ = self._seen.popitem(last=False)
            self._warned.pop(forgotten, None)
        # Who goes on has a try again as each of his ten grows old: that is no news.
        is_news = now - self._warned.get(address, -math.inf) >= WRONG_TOKEN_SECONDS
        if is_news and self.must_wait(address):
            self._warned[address] = now
            log.warning("ten wrong tokens from %s within a minute: its next ones have to wait", address)

    def must_wait(self, address: str) -> bool:
        """Whether it has to wait."""
        return len(self._recent_failures(address)) >= MAX_WRONG_TOKENS

    def _recent_failures(self, address: str) -> list[float]:
        return [at for at in self._seen.get(address, ()) if self._clock() - at < WRONG_TOKEN_SECONDS]


wrong_key = web.AppKey("wrong", FailedLogins)


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
        # A target such as http://other.example/ has a name too, and the library then hides that of the header.
        hosts = (request.host, *request.headers.getall("Host", ()))
        if not token and not all(map(is_local_host, hosts)):
            return refuse(request, 403, phrases.WEB_FOREIGN_HOST)
        if is_cross_site(request):
            return refuse(request, 403, phrases.WEB_FOREIGN_SITE)
        if token and not _has_session(request, token):
            if not (said := _given_token(request)):
                return refuse(request, 401, phrases.WEB_SIGN_IN_FIRST)
            if told := request.app[wrong_key].refusal(request, said, token):
                return refuse(request, 429 if told == phrases.WEB_TOO_MANY else 401, told)
        return await handler(request)

    return check


def is_local_host(host: str) -> bool:
    """Whether a `Host` header names this machine as seen from itself: `localhost`, 127.0.0.1, [::1], with any port."""
    if len(host) > MAX_HOST_CHARS or "@" in host:
        return False
    try:
        parts = urlsplit(f"//{host}")
        name = (parts.hostname or "").removesuffix(".")
        _ = parts.port  # raises ValueError for what is no port
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def is_cross_site(request: web.Request) -> bool:
    """Whether another site has led a browser here, in a way that reads what is here or changes it.

    To follow a link from elsewhere changes nothing, and the other site sees nothing of what comes.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        follows_link = request.method in SAFE_METHODS and request.headers.get("Sec-Fetch-Mode") == "navigate"
        return site not in ("same-origin", "none") and not follows_link
    origin = request.headers.get("Origin")
    if origin is None or request.method in SAFE_METHODS:
        return False
    try:
        return urlsplit(origin).netloc.lower() != request.host.lower()
    except ValueError:
        return True


def _has_session(request: web.Request, token: str) -> bool:
    """Whether a browser has signed in before; a cookie cannot be guessed, so no tries are counted.

    Who sends a token as well is judged by that alone. A password of a proxy in front of us is no token.
    """
    return not _given_token(request) and is_session(_session_cookie(request), token, now=time.time())


def _session_cookie(request: web.Request) -> str:
    """Return the value of our cookie, "" for none; the library's parser takes 20 ms for 8 kB of others."""
    for cookie in request.headers.get("Cookie", "").split(";"):
        name, _, value = cookie.partition("=")
        if name.strip() == SESSION:
            return value.strip().strip('"')
    return ""


def _given_token(request: web.Request) -> str:
    scheme, _, said = request.headers.get("Authorization", "").partition(" ")
    return said.strip() if scheme.lower() == "bearer" else ""


def client_address(remote: str, told: Sequence[str], proxies: Sequence[Network]) -> str:
    """Pure: the address from which a request came to the first proxy of ours.

    `remote` has called us; `told` is what X-Forwarded-For says, the latest hop last. Each proxy adds who has called it:
    what one of `proxies` says is believed, and nothing that stands further to the left than the first other address.
    """
    sender = remote
    for hop in reversed(told):
        if not is_in_networks(sender, proxies):
            break
        hop = hop.strip()
        if hop.startswith("["):  # with a port, as some proxies write it
            hop = hop[1:].partition("]")[0]
        elif hop.count(":") == 1:
            hop = hop.partition(":")[0]
        if _parse_address(hop) is None:
            break  # "unknown", or a name: then it is the proxy's
        sender = hop
    return sender


def rate_limit_key(sender: str) -> str:
    """An address; of IPv6 the network, in which anybody has more addresses than can be counted."""
    address = _parse_address(sender)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return str(address or sender)


def is_in_networks(sender: str, networks: Sequence[Network]) -> bool:
    address = _parse_address(sender)
    return address is not None and any(address in each for each in networks)


def _parse_address(address: str) -> IPv4Address | IPv6Address | None:
    """An address; IPv4 as such, however it is written."""
    try:
        read = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return (read.ipv4_mapped or read) if isinstance(read, IPv6Address) else read
