"""Whatever comes in over HTTP: it is answered within a bound, never as a fault of ours, and leaves no traceback."""

import asyncio
import gzip
import json
import re
import tempfile
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.web.rpc import protocol
from tests.fakes.error_log import ErrorLog
from tests.fakes.http_service import HttpService, serve_http

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

quick = settings(
    max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)

Result = TypeVar("Result")
NOTED = "The boat is called Linnea."
STATUS = re.compile(rb"(?:^|\r\n\r\n|\n)HTTP/1\.[01] ([0-9]{3}) ")
CODES = {
    *(protocol.PARSE_ERROR, protocol.INVALID_REQUEST, protocol.METHOD_NOT_FOUND, protocol.INVALID_PARAMS),
    *(protocol.SERVER_ERROR, protocol.NOT_FOUND),
}
"""Not among them: that a method broke."""


class Site:
    """A server that runs while somebody talks to it."""

    def __init__(self, runner: asyncio.Runner, served: HttpService, complaints: ErrorLog) -> None:
        self._runner = runner
        self._served = served
        self._complaints = complaints

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        result = self._runner.run(work)
        self._complaints.assert_none()
        return result

    def say(self, *requests: bytes, pause: float = 0.0) -> list[bytes]:
        """Send each over a connection of its own, all at once, and give what came back."""

        async def all_at_once() -> list[bytes]:
            said = (self._served.say(each, ends=b"close\r\n" not in each, pause=pause) for each in requests)
            return await asyncio.gather(*said)

        return self.run(all_at_once())

    def is_well(self) -> None:
        (answer,) = self.say(request(b"GET", b"/healthz"))
        assert answer.startswith(b"HTTP/1.1 200 "), answer


def open_site(token: str) -> Iterator[Site]:
    with ErrorLog() as complaints, tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        stack = AsyncExitStack()
        served, parts = runner.run(stack.enter_async_context(serve_http(Path(folder), token=token)))
        runner.run(parts.memory.write(NOTED, target="core"))
        site = Site(runner, served, complaints)
        yield site
        site.is_well()
        runner.run(stack.aclose())


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    yield from open_site("")


@pytest.fixture(scope="module")
def closed() -> Iterator[Site]:
    """One that asks for a token, which nobody here knows."""
    yield from open_site("correct horse battery staple")


def request(
    method: bytes, target: bytes, *headers: bytes, body: bytes = b"", host: bytes = b"127.0.0.1"
) -> bytes:
    """A whole request, as to its frame; the connection is to be closed after it."""
    lines = [method + b" " + target + b" HTTP/1.1", b"Host: " + host, *headers]
    lines += [b"Content-Length: %d" % len(body), b"Connection: close", b"", body]
    return b"\r\n".join(lines)


def statuses(answer: bytes) -> list[int]:
    return [int(status) for status in STATUS.findall(answer)]


JSON = b"Content-Type: application/json"
FORM = b"Content-Type: application/x-www-form-urlencoded"
CALL = b'{"jsonrpc":"2.0","method":"memory.status","id":1}'


def packed(how: bytes, body: bytes, *, target: bytes = b"/rpc", kind: bytes = JSON) -> bytes:
    return request(b"POST", target, kind, b"Content-Encoding: " + how, body=body)


def framed(*headers: bytes, body: bytes = b"", target: bytes = b"/rpc", kind: bytes = JSON) -> bytes:
    """A POST whose frame its headers tell."""
    return b"\r\n".join([b"POST " + target + b" HTTP/1.1", b"Host: localhost", kind, *headers, b"", body])


CHUNKED = b"Transfer-Encoding: chunked"


def parts_of(*headers: bytes, boundary: bytes = b"; boundary=x") -> bytes:
    body = b"\r\n".join([b"--x", *headers, b"", b"abc", b"--x--", b""])
    return request(b"POST", b"/sign-in", b"Content-Type: multipart/form-data" + boundary, body=body)


NAMED = b'Content-Disposition: form-data; name="token"'
HARD = [
    # bodies that are not what they say
    packed(b"gzip", b"no gzip"),
    packed(b"gzip", gzip.compress(CALL)[:-12]),
    packed(b"gzip", gzip.compress(b" " * 20_000_000)),
    packed(b"deflate", b"\x01\x02xx"),
    packed(b"br", b"\x01\x02xx"),
    packed(b"zstd", b"\x01\x02xx"),
    packed(b"nonsense", CALL),
    packed(b"gzip", b"no gzip", target=b"/sign-in", kind=FORM),
    packed(b"gzip", b"no gzip", target=b"/rebuild", kind=FORM),
    packed(b"gzip", b"no gzip", target=b"/nowhere"),
    # forms
    *(
        request(b"POST", b"/sign-in", FORM + b"; charset=" + name, body=b"token=1")
        for name in (b"nope", b"utf-16", b"rot13", b"base64", b'"')
    ),
    request(b"POST", b"/sign-in", FORM, body=b"token=%ff%fe\xff&then=%00\xff"),
    request(b"POST", b"/sign-in", FORM, body=b"&".join(b"f%d=1" % number for number in range(20_000))),
    request(b"POST", b"/sign-in", FORM, body=b"a" * 2_000_000),
    *(
        request(b"POST", b"/sign-in", FORM, body=b"token=1&then=" + then)
        for then in (
            b"//evil.example",
            b"/a%0d%0aSet-Cookie:x",
            b"/%ed%a0%80",
            b"/\xe6\x97\xa5?q=%C3%A9",
            b"http://[",
        )
    ),
    parts_of(NAMED, boundary=b""),
    parts_of(NAMED, boundary=b"; boundary=y"),
    parts_of(NAMED, boundary=b"; boundary=" + b"x" * 200),
    parts_of(NAMED, b"Content-Transfer-Encoding: nonsense"),
    parts_of(NAMED, b"Content-Transfer-Encoding: base64"),
    parts_of(NAMED, b"Content-Type: multipart/mixed; boundary=y"),
    parts_of(b"A: " + b"b" * 100_000),
    parts_of(),
    # frames: lengths and chunks, and what could be read in two ways
    framed(CHUNKED, body=b"zz\r\nhello\r\n0\r\n\r\n"),
    framed(CHUNKED, body=b"-1\r\nhello\r\n0\r\n\r\n"),
    framed(CHUNKED, body=b"ffffffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
    framed(CHUNKED, body=b"5\r\nhelloXX\r\n0\r\n\r\n"),
    framed(CHUNKED, body=b"2;" + b"a" * 20_000 + b"\r\n{}\r\n0\r\n\r\n"),
    framed(CHUNKED, body=b"2\r\n{}\r\n0\r\nA: " + b"x" * 20_000 + b"\r\n\r\n"),
    framed(CHUNKED, b"Content-Length: 4", body=b"2\r\n{}\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    framed(CHUNKED, b"Transfer-Encoding: identity", body=b"2\r\n{}\r\n0\r\n\r\n"),
    framed(b"Transfer-Encoding: xchunked", body=b"2\r\n{}\r\n0\r\n\r\n"),
    framed(b"Transfer-Encoding:\x0bchunked", body=b"2\r\n{}\r\n0\r\n\r\n"),
    *(
        framed(b"Content-Length: " + length, body=b"hello!")
        for length in (b"-5", b"+5", b"5, 6", b"0x5", b"5_0", b"9" * 25, b"", b"100")
    ),
    framed(b"Content-Length: 5", b"Content-Length: 6", body=b"hello!"),
    framed(b"Content-Length: 100", target=b"/sign-in", kind=FORM, body=b"token"),
    framed(b"Content-Length: 4", body=b"nullGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
    b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 100,
    # heads
    *(
        head + b"\r\n\r\n"
        for head in (
            *(
                b"",
                b"GARBAGE",
                b"\x00" * 100,
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500,
            ),
            *(
                b"PRI * HTTP/2.0",
                b"GET / HTTP/3.7\r\nHost: a",
                b"GET / HTTP/1.0",
                b"GET /",
                b"GET  / HTTP/1.1",
            ),
            *(b"GET / HTTP/1.1", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b", b"GET / HTTP/1.1\r\nHost : a"),
            *(b"GET / HTTP/1.1\r\nHost localhost", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b"),
            b"GET / HTTP/1.1\nHost: localhost\nConnection: close\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20_000,
            b"GET / HTTP/1.1\r\n" + b"\r\n".join(b"X%d: a" % number for number in range(3000)),
            *(b"GET /" + b"a" * 20_000 + b" HTTP/1.1", b"A" * 9000 + b" / HTTP/1.1", b"G@T / HTTP/1.1"),
        )
    ),
    *(
        request(b"GET", target)
        for target in (
            *(b"*", b"//[", b"//evil.example/", b"http://evil.example/", b"http://[/", b"http://a:99999999/"),
            *(
                b"?a",
                b"/#fragment",
                b"/%7e%25%2f;a=b",
                b"/healthz/../rpc",
                b"/%",
                b"/%zz",
                b"nonsense",
                b"/\xff",
            ),
        )
    ),
    *(
        request(b"GET", b"/", host=host)
        for host in (b"[::1", b"a:b:c", b"127.0.0.1:x", b"\xff", b"", b"[::1%25a]")
    ),
    request(b"CONNECT", b"evil.example:80"),
    request(b"OPTIONS", b"*"),
    request(b"GET", b"/", b"Upgrade: websocket", b"Connection: upgrade", b"Sec-WebSocket-Key: x"),
    request(b"POST", b"/rpc", JSON, b"Expect: nonsense", body=CALL),
    request(b"POST", b"/rpc", JSON, b"Origin: http://[", body=CALL),
    request(b"POST", b"/rpc", JSON + b'; charset="', body=CALL),
    request(b"POST", b"/rpc", JSON + b"; charset*=utf-8''%zz", body=CALL),
]


def test_what_is_not_quite_http_is_refused_without_a_word_in_the_log(site: Site) -> None:
    for hard, answer in zip(HARD, site.say(*HARD, pause=0.1), strict=True):
        assert [status for status in statuses(answer) if status >= 500] == [], (hard[:200], answer[:200])
    site.is_well()


def test_without_the_token_nothing_of_it_shows_anything(closed: Site) -> None:
    for hard, answer in zip(HARD, closed.say(*HARD, pause=0.1), strict=True):
        assert [status for status in statuses(answer) if status >= 500] == [], (hard[:200], answer[:200])
        assert b'"result"' not in answer
        assert b"Linnea" not in answer


@pytest.mark.thorough
def test_who_sends_slowly_is_heard_or_cut_off(site: Site) -> None:
    async def drip(raw: bytes) -> bytes:
        return await site._served.say(*(raw[at : at + 1] for at in range(len(raw))), pause=0.002)

    async def all_of_them() -> list[bytes]:
        return await asyncio.gather(*(drip(each) for each in HARD if len(each) < 400))

    for answer in site.run(all_of_them()):
        assert [status for status in statuses(answer) if status >= 500] == []
    site.is_well()


# -- requests that are whole, with anything in them ----------------------------------------------------------------

ROUTES = [
    b"/",
    b"/search",
    b"/progress",
    b"/rebuild",
    b"/notes/",
    b"/metrics",
    b"/rpc",
    b"/sign-in",
    b"/sign-out",
]
odd = st.sampled_from(
    [
        *(
            b"%00",
            b"%ff",
            b"%ed%a0%80",
            b"%C2%B2",
            b"..",
            b"%2e%2e%2f",
            b"%0d%0a",
            b"\xc3\xa9",
            b"MEMORY.md",
            b"+",
        ),
        *(
            b"a=",
            b"q=",
            b"&",
            b"limit=",
            b"page=",
            b"from=",
            b"-1",
            b"9" * 400,
            b"nan",
            b"<script>",
            b'"',
            b"'",
            b"#",
        ),
    ]
)
pieces = st.lists(odd | st.binary(max_size=4), max_size=5).map(b"".join)
targets = st.builds(
    lambda route, path, query: (route + path + b"?" + query).translate(None, b"\r\n \t\x00"),
    st.sampled_from(ROUTES),
    st.just(b"") | pieces,
    pieces,
)
header_names = st.sampled_from(
    [
        *(
            b"Cookie",
            b"Authorization",
            b"Origin",
            b"Referer",
            b"Accept",
            b"Accept-Encoding",
            b"Accept-Language",
        ),
        *(
            b"Sec-Fetch-Site",
            b"Sec-Fetch-Mode",
            b"X-Forwarded-Proto",
            b"X-Forwarded-For",
            b"Range",
            b"Content-Type",
        ),
        *(b"If-None-Match", b"If-Modified-Since", b"Content-Encoding", b"Content-Language", b"X-Anything"),
    ]
)
header_pieces = st.sampled_from(
    [
        *(
            b"commonplace_session=",
            b"1.2",
            b"=",
            b";",
            b",",
            b'"',
            b"\\377",
            b"Bearer ",
            b"Basic ",
            b"null",
            b"http://[",
        ),
        *(
            b"text/html",
            b"application/json",
            b"; charset=",
            b"utf-16",
            b"gzip",
            b"bytes=5-1",
            b"\xff\xfe",
            b"q=nan",
        ),
        *(b"same-origin", b"cross-site", b"navigate", b"http://127.0.0.1", b"99999999999999999999", b"\t"),
    ]
)
headers = st.lists(
    st.builds(
        lambda name, parts: name + b": " + b"".join(parts).translate(None, b"\r\n\x00"),
        header_names,
        st.lists(header_pieces | st.binary(max_size=3), max_size=4),
    ),
    max_size=4,
)
hosts = st.sampled_from([b"127.0.0.1", b"localhost:8321", b"[::1]"]) | st.binary(max_size=6).map(
    lambda host: host.translate(None, b"\r\n\x00")
)
requests = st.builds(
    lambda method, target, headers, body, host: request(method, target, *headers, body=body, host=host),
    st.sampled_from([b"GET", b"POST", b"HEAD", b"PUT", b"DELETE", b"OPTIONS"]),
    targets,
    headers,
    st.just(b"") | st.binary(max_size=40) | st.just(CALL),
    hosts,
)


def assert_no_fault_of_ours(site: Site, said: list[bytes]) -> list[bytes]:
    answers = site.say(*said)
    for each, answer in zip(said, answers, strict=True):
        assert len(statuses(answer)) >= 1, (each, answer)
        assert max(statuses(answer)) < 500, (each, answer)
    return answers


@quick
@given(st.lists(requests, min_size=8, max_size=8))
def test_every_request_is_answered(site: Site, said: list[bytes]) -> None:
    assert_no_fault_of_ours(site, said)


@pytest.mark.thorough
@settings(quick, max_examples=120)
@given(st.lists(requests, min_size=8, max_size=8))
def test_every_one_of_many_requests_is_answered(site: Site, said: list[bytes]) -> None:
    assert_no_fault_of_ours(site, said)


@pytest.mark.thorough
@settings(quick, max_examples=60)
@given(st.lists(requests, min_size=8, max_size=8))
def test_without_the_token_no_request_is_shown_anything(closed: Site, said: list[bytes]) -> None:
    answers = assert_no_fault_of_ours(closed, said)
    assert b"Linnea" not in b"".join(answers)


# -- requests that were damaged on their way ---------------------------------------------------------------------

WHOLE = [
    request(b"POST", b"/rpc", JSON, body=CALL),
    request(b"POST", b"/sign-in", FORM, body=b"token=a&then=/"),
    request(b"GET", b"/search?q=boat&limit=3", b"Cookie: commonplace_session=1.a", b"Accept: text/html"),
    request(b"GET", b"/notes/MEMORY.md"),
    framed(CHUNKED, b"Connection: close", body=b"31\r\n" + CALL + b"\r\n0\r\n\r\n"),
    packed(b"gzip", gzip.compress(CALL)),
]
damages = st.tuples(st.floats(0, 1), st.integers(0, 12), st.binary(max_size=4) | header_pieces)


def damaged(whole: bytes, damage: list[tuple[float, int, bytes]]) -> bytes:
    for at, gone, instead in damage:
        start = int(at * len(whole))
        whole = whole[:start] + instead + whole[start + gone :]
    return whole


broken = st.builds(damaged, st.sampled_from(WHOLE), st.lists(damages, min_size=1, max_size=3))


def assert_survived(site: Site, said: list[bytes]) -> None:
    for each, answer in zip(
        said, site.say(*(each.replace(b"close", b"c1ose") for each in said)), strict=True
    ):
        assert [status for status in statuses(answer) if status >= 500] == [], (each, answer)


@settings(quick, max_examples=6)
@given(st.lists(broken, min_size=12, max_size=12))
def test_damaged_requests_do_no_harm(site: Site, said: list[bytes]) -> None:
    assert_survived(site, said)


@pytest.mark.thorough
@settings(quick, max_examples=25)
@given(st.lists(broken | st.binary(max_size=60), min_size=50, max_size=50))
def test_many_damaged_requests_do_no_harm(site: Site, said: list[bytes]) -> None:
    assert_survived(site, said)


# -- JSON-RPC ----------------------------------------------------------------------------------------------------

texts = st.sampled_from(
    [
        "",
        "boat",
        "MEMORY.md",
        "../x.md",
        "a\0.md",
        "2026-11-21.md",
        "last week",
        '"*" OR (',
        "日本 語",
        " ",
        "x" * 300,
    ]
) | st.text(max_size=20)
numbers = st.integers(-1, 60) | st.sampled_from([10**400, -(2**63), 1.5, 1e300])
wild = st.recursive(
    st.none() | st.booleans() | numbers | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
METHODS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "memory.status": {},
    "memory.rebuild": {"wait": st.booleans()},
    "memory.search": {"query": texts, "limit": numbers},
    "memory.get": {"path": texts, "line": numbers, "limit": numbers},
    "memory.write": {"content": texts, "target": st.sampled_from(["core", "daily"])},
    "models.status": {},
    "sessions.list": {"limit": numbers},
    "rpc.discover": {},
}


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    """A request that is nearly as it should be, or just so."""
    method = draw(st.sampled_from(list(METHODS)))
    params = {
        name: draw(fitting if draw(st.integers(0, 4)) else wild)
        for name, fitting in METHODS[method].items()
        if draw(st.integers(0, 9))
    }
    document = {"jsonrpc": "2.0", "method": method, "params": params, "id": draw(numbers | texts | wild)}
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):
        member = draw(st.sampled_from([*document, "more"]))
        if draw(st.booleans()):
            document.pop(member, None)
        else:
            document[member] = draw(wild)
    return document


documents = st.builds(
    lambda document, ascii_only: json.dumps(document, ensure_ascii=ascii_only).encode(),
    calls() | st.lists(calls(), min_size=1, max_size=4),
    st.booleans(),
)
broken_bodies = st.one_of(
    st.binary(max_size=60),
    wild.map(json.dumps).map(str.encode),
    st.builds(damaged, documents, st.lists(damages, min_size=1, max_size=2)),
)


def assert_answered_by_the_standard(site: Site, body: bytes) -> None:
    (answer,) = site.say(request(b"POST", b"/rpc", JSON, body=body))
    assert statuses(answer) in ([200], [204]), (body, answer)
    head, _, told = answer.partition(b"\r\n\r\n")
    if b" 204 " in head[:20]:
        assert told == b""
        return
    document = json.loads(told, parse_constant=pytest.fail)
    for each in document if isinstance(document, list) else [document]:
        assert set(each) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), body
        assert each["jsonrpc"] == "2.0"
        assert "result" in each or each["error"]["code"] in CODES, (body, each)
        assert "result" in each or len(each["error"]["message"]) < 2000
    assert document != []


@settings(quick, max_examples=50)
@given(documents)
def test_every_call_is_answered_by_the_standard(site: Site, body: bytes) -> None:
    assert_answered_by_the_standard(site, body)


@quick
@given(broken_bodies)
def test_every_body_is_answered_by_the_standard(site: Site, body: bytes) -> None:
    assert_answered_by_the_standard(site, body)


@pytest.mark.thorough
@settings(quick, max_examples=300)
@given(documents | broken_bodies)
def test_every_one_of_many_bodies_is_answered_by_the_standard(site: Site, body: bytes) -> None:
    assert_answered_by_the_standard(site, body)
