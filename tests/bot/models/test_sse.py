from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.sse import BYTE_ORDER_MARK, MAX_EVENT_BYTES, EventStream, EventTooLarge
from tests.fakes.table_test import table_test

SAMPLE = (
    b"\xef\xbb\xbfdata: after the mark\n\n"
    b": hello, this is a comment\n\n"
    b'event: message\nid: 7\ndata: {"text": "a"}\nretry: 10\n\n'
    b"data:no space\r\n\r\n"
    b"data:  two spaces\r\r"
    b"dataset: none of ours\n data: nor is this\n\n"
    b"data: first\ndata:\r\ndata: third\r: between\rdata: fourth\n\n"
    b"\n\n\r\n"
    b"data: \xe2\x82\xac\xf0\x9f\x8e\x89\n\n"
    b"data: no blank line after it"
)
EVENTS = [
    b"after the mark",
    b'{"text": "a"}',
    b"no space",
    b" two spaces",
    b"first\n\nthird\nfourth",
    "€🎉".encode(),
    b"no blank line after it",
]


def events_of(*pieces: bytes) -> list[bytes]:
    stream = EventStream()
    return [event for piece in pieces for event in stream.feed(piece)] + stream.end()


@table_test("ending", [b"", b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n"])
def test_wherever_a_stream_is_cut_its_events_are_the_same(ending: bytes) -> None:
    data = SAMPLE + ending
    assert events_of(data) == EVENTS
    for cut in range(len(data) + 1):
        assert events_of(data[:cut], data[cut:]) == EVENTS, cut
        assert events_of(data[:cut], b"", data[cut : cut + 1], data[cut + 1 :]) == EVENTS, cut
    assert events_of(*(data[at : at + 1] for at in range(len(data)))) == EVENTS


def test_an_event_is_given_as_soon_as_it_has_ended() -> None:
    for line_end in (b"\n", b"\r", b"\r\n"):
        stream = EventStream()
        assert stream.feed(b"data: one" + line_end) == []
        assert stream.feed(line_end) == [b"one"]
        assert stream.feed(b"data: two" + 2 * line_end + b"da") == [b"two"]
        assert stream.end() == []


def by_the_standard(data: bytes) -> list[bytes]:
    """The whole of it at once, the slow and simple way, as far as `data:` lines go."""
    lines = data.removeprefix(BYTE_ORDER_MARK).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    events: list[bytes] = []
    held: list[bytes] = []
    for line in [*lines, b""]:
        if line.startswith(b"data:"):
            held.append(line.removeprefix(b"data:").removeprefix(b" "))
        elif not line and held:
            events.append(b"\n".join(held))
            held = []
    return events


TOKENS = st.sampled_from(
    [
        b"data:",
        b"data",
        b" ",
        b":",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"id: 1",
        b"x",
        b"\xef",
        b"\xbb\xbf",
        b"\xff",
    ]
)


@given(st.lists(TOKENS, max_size=40), st.lists(st.integers(0, 80), max_size=6), st.booleans())
def test_any_stream_in_any_pieces_is_read_as_the_standard_has_it(
    tokens: list[bytes], cuts: list[int], marked: bool
) -> None:
    data = BYTE_ORDER_MARK * marked + b"".join(tokens)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(edges)]
    assert events_of(*pieces) == by_the_standard(data)


@table_test("piece", [b"data: " + b"x" * 65_536, b"data: " + b"x" * 65_536 + b"\n"])
def test_an_event_without_an_end_is_not_gathered_for_ever(piece: bytes) -> None:
    with pytest.raises(EventTooLarge):
        events_of(*[piece] * (MAX_EVENT_BYTES // 65_536 + 1))


def test_a_large_event_is_whole() -> None:
    text = b"x" * (MAX_EVENT_BYTES - 10)
    assert events_of(b"data: " + text[:1000], text[1000:], b"\n\n") == [text]


def test_json_that_is_no_event_comes_at_the_end() -> None:
    error = b'{\n  "error": {"code": 503}\n}\n'
    for cut in range(len(error)):
        event, stray = events_of(b"data: a\n\n" + error[:cut], error[cut:])
        assert (event, stray.rstrip()) == (b"a", error.rstrip()), cut
