import io

from hypothesis import given
from hypothesis import strategies as st

from memory.charset import PieceDecoder, decode, decode_lines, read_raw_lines
from tests.fakes.table_test import table_test


@table_test(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        ("Übung\n".encode(), "Übung\n", "utf-8"),
        (b"\xef\xbb\xbfa\r\nb\rc", "a\nb\nc", "utf-8"),
        (b"\xff\xfe" + "明日\r\n".encode("utf-16-le"), "明日\n", "utf-16-le"),
        (b"\xfe\xff" + "😀".encode("utf-16-be"), "😀", "utf-16-be"),
        (b"\xff\xfe\0\0" + "a\n".encode("utf-32-le"), "a\n", "utf-32-le"),
        (b"\0\0\xfe\xff" + "a\n".encode("utf-32-be"), "a\n", "utf-32-be"),
        (b"caf\xe9 \x80\n", "café €\n", "windows-1252"),
        (b"\x81\n", "\ufffd\n", "windows-1252"),
        (b"caf\xe9\n" + "明日\n".encode(), "café\n明日\n", "windows-1252"),
        ("- torn 明".encode()[:-1], "- torn æ˜", "windows-1252"),
    ],
)
def test_notes_in_any_encoding_are_read(data: bytes, text: str, encoding: str) -> None:
    decoded = decode(data)
    assert (decoded.text, decoded.encoding) == (text, encoding)


@given(st.binary(), st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_invalid_bytes_are_encoded_unchanged(body: bytes, mark: bytes) -> None:
    decoded = decode(mark + body)
    if decoded.unit == 1:
        assert decoded.mark + decoded.encode(decoded.raw) == mark + body
    assert len(decoded.shown) == len(decoded.raw)
    decoded.text.encode()


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=6),
            st.sampled_from(["明日", "ü", "\r\n", "\r", "😀"]).map(lambda text: text.encode()),
        ),
        max_size=8,
    ).map(b"".join),
    st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff"]),
    st.integers(min_value=1, max_value=7),
)
def test_decoding_in_pieces_gives_the_same_text(body: bytes, mark: bytes, size: int) -> None:
    data = mark + body
    decoder = PieceDecoder(data[:4])
    text = "".join(decoder.decode(data[at : at + size]) for at in range(0, len(data), size))
    assert text + decoder.decode(b"", final=True) == decode(data).text


@given(
    st.lists(st.sampled_from(["a", "é", "明", "\n", "\r\n", "\r", "\u2028", "\x0b", "\x85"])).map("".join),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"]),
)
def test_decoding_line_by_line_gives_the_same_text(text: str, codec: str) -> None:
    data = text.encode(codec, "replace")
    lines = list(read_raw_lines(io.BufferedReader(io.BytesIO(data))))
    assert decode_lines(lines) == decode(data).text
    whole = decode(data).text
    assert len(lines) == whole.count("\n") + (not whole.endswith("\n") if whole else 0)
