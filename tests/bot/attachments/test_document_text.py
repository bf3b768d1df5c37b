"""From a document's bytes to its text."""

import asyncio
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfWriter

from bot.attachments import document_text, pdf_worker
from bot.attachments.child_process import start_child
from bot.attachments.document_text import READING_SECONDS, DocumentText, is_picture, read_document
from tests.fakes.pdf_file import build_pdf, pdf_stream, pdf_with_streams, text_pdf, text_stream
from tests.fakes.table_test import table_test


async def read(content: bytes, **options: Any) -> DocumentText:
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(content)
        return await read_document(file, **options)


LETTER = "Dear Ann,\nthe key lies under the stone."


@table_test(
    ("content", "name", "kind"),
    [
        ("# Oslo\n\nRain.", "trip.md", "Markdown"),
        ("a,b\n1,2\n", "TABLE.CSV", "CSV"),
        ('{"a": 1}', "x.json", "JSON"),
        ("<p>Hello</p>", "page.html", "HTML"),
        ("def f() -> None: ...", "f.py", "code"),
        ("Just words", "readme", "text"),
        ("Just words", "report.pdf", "text"),
        ("BMW is a car", "bmw", "text"),
    ],
)
async def test_text_is_read_whatever_it_is_called(content: str, name: str, kind: str) -> None:
    document = await read(content.encode(), name=name)
    assert document == DocumentText(kind, content, len(content))  # type: ignore[arg-type]
    assert document.is_whole


@table_test("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
async def test_text_is_read_in_the_encodings_that_people_have(encoding: str) -> None:
    document = await read("Größe: 3 m²\r\nfür Zoë".encode(encoding))
    assert document.text == "Größe: 3 m²\nfür Zoë"


@table_test(
    ("content", "why"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"PK\x03\x04" + bytes(40), "office document or an archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(40), "office document"),
        (b"\x7fELF\x02\x01\x01" + bytes(40), "isn't text"),
        (random.Random(1).randbytes(4000).replace(b"\0", b"x"), "isn't text"),
        (b"\xff\xd8\xff\xe0" + bytes(40), "picture"),
    ],
)
async def test_what_is_no_text_is_told_in_a_sentence(content: bytes, why: str) -> None:
    document = await read(content, name="notes.txt")
    assert not document.text
    assert why in document.problem
    assert document.problem.endswith(".")


async def test_text_that_tells_of_pdf_files_is_text() -> None:
    content = b'is_pdf = content.startswith(b"%PDF-")\n'
    assert await read(content, name="a.py") == DocumentText("code", content.decode(), len(content))


async def test_long_text_is_cut_and_its_length_told() -> None:
    document = await read(b"x" * 1000, max_characters=10)
    assert (document.text, document.characters, document.is_whole) == ("x" * 10, 1000, False)


@pytest.mark.thorough
@table_test(
    "unit",
    [b"plain words\n", "Größe 明日\r\n".encode(), b"caf\xe9\r\n", b"\xe9", b"\r", b"\xf0\x9f", b" "],
)
def test_no_step_of_a_large_text_keeps_the_others_waiting_for_long(unit: bytes) -> None:
    content = unit * (8 * document_text.PIECE_BYTES // len(unit))
    text, longest = document_text._TextCollector(content, 20_001), 0.0
    for at in range(0, len(content), document_text.PIECE_BYTES):
        began = time.thread_time()
        text.add(content[at : at + document_text.PIECE_BYTES])
        longest = max(longest, time.thread_time() - began)
    text_stream, characters = text.end()
    assert longest < 0.1
    assert characters >= len(text_stream) == 20_001


async def test_a_text_that_takes_too_long_is_cut_and_its_length_not_told() -> None:
    content = b"word " * (1 << 20)
    document = await read(content, max_characters=100, seconds=0.0)
    assert (document.text, document.characters) == ("word " * 20, None)


def test_pictures_are_known_by_what_they_hold() -> None:
    assert is_picture(b"RIFF\0\0\0\0WEBPVP8 ")
    assert is_picture(b"GIF89a")
    assert is_picture(b"\0\0\0\x18ftypheic")
    assert not is_picture(b"RIFF\0\0\0\0WAVEfmt ")
    assert not is_picture(b"\0\0\0\x18ftypM4A ")


# -- PDF --------------------------------------------------------------------------------------------------------


async def test_a_pdf_gives_its_text_page_by_page() -> None:
    document = await read(text_pdf(LETTER, "", "Yours, Bo"), name="letter.txt")
    assert document.text == f"{LETTER}\n\nYours, Bo"
    assert (document.kind, document.pages, document.pages_read) == ("PDF", 3, 3)
    assert document.is_whole


@pytest.mark.thorough
async def test_a_long_pdf_is_read_no_further_than_wanted() -> None:
    document = await read(text_pdf(*["word " * 20] * 50), max_characters=250)
    assert len(document.text) == 250
    assert (document.pages, document.pages_read) == (50, 3)
    assert document.characters is None
    assert not document.is_whole


def lines(content: bytes, limit: int = 10_000) -> list[dict[str, str | int]]:
    """What the process would write, without one."""
    return list(pdf_worker.read_pages(io.BytesIO(content), limit))


def test_a_scan_without_text_gives_none() -> None:
    assert lines(pdf_with_streams([pdf_stream(b"q Q")])) == [{"pages": 1}, {"page": 1, "text": ""}]


def encrypted(password: str) -> bytes:
    writer = PdfWriter(clone_from=io.BytesIO(text_pdf(LETTER)))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_a_locked_one_is_told_and_one_locked_against_printing_alone_is_read() -> None:
    assert lines(encrypted("secret")) == [{"problem": "locked"}]
    assert lines(encrypted(""))[1]["text"] == LETTER


def test_a_damaged_page_spoils_no_other() -> None:
    broken = b"<< /Filter /FlateDecode /Length 4 >>\nstream\nnope\nendstream"
    found = lines(pdf_with_streams([text_stream("one"), broken, text_stream("three")]))
    assert [line.get("text") or "" for line in found] == ["", "one", "", "three"]


def test_what_only_begins_like_a_pdf_is_damaged() -> None:
    assert lines(b"%PDF-1.7\nnothing more") == [{"problem": "damaged"}]


@table_test(
    ("found", "ended_well", "why"),
    [
        ([{"pages": 2}, {"page": 1, "text": ""}, {"page": 2, "text": ""}], True, "may be a scan"),
        ([{"problem": "locked"}], True, "password"),
        ([{"problem": "damaged"}], True, "damaged"),
        ([{"problem": "memory"}], True, "too much memory"),
        ([], False, "too long"),
        ([{"pages": 3}], False, "too long"),
    ],
)
def test_why_there_is_no_text_is_told(found: list[dict[str, str | int]], ended_well: bool, why: str) -> None:
    assert why in document_text._parse_pdf_output(found, 100, ended_well=ended_well).problem


def test_what_was_read_before_it_broke_off_counts() -> None:
    found: list[dict[str, str | int]] = [{"pages": 9}, {"page": 1, "text": "one"}]
    document = document_text._parse_pdf_output(found, 100, ended_well=False)
    assert (document.text, document.pages_read, document.is_whole) == ("one", 1, False)


def own_parent() -> bytes:
    return build_pdf(
        {1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"}
    )


def doubling_tree() -> bytes:
    """Each level has the next one twice: 2^40 pages in 2 kB."""
    objects = {1: b"<< /Type /Catalog /Pages 2 0 R >>"}
    for level in range(2, 42):
        objects[level] = b"<< /Type /Pages /Kids [%d 0 R %d 0 R] /Count 1000000000 >>" % (
            level + 1,
            level + 1,
        )
    objects[42] = b"<< /Type /Page /MediaBox [0 0 1 1] >>"
    return build_pdf(objects)


def deep_nesting() -> bytes:
    return pdf_with_streams([pdf_stream(b"[" * 200_000 + b"]" * 200_000 + b" TJ")])


def endless_stream() -> bytes:
    return pdf_with_streams([pdf_stream(b"BT (x) Tj ET\n" * 20_000_000, packed=True)])


def recursive_form() -> bytes:
    """A drawing that draws itself, twice."""
    form = pdf_stream(b"/X Do /X Do").replace(
        b"<< ",
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >> ",
        1,
    )
    return build_pdf(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            4: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 6 0 R "
            b"/Resources << /XObject << /X 5 0 R >> >> >>",
            5: form,
            6: pdf_stream(b"/X Do"),
        }
    )


def length_of_itself() -> bytes:
    return pdf_with_streams([b"<< /Length 11 0 R >>\nstream\nBT ET\nendstream"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "make",
    [
        own_parent,
        *(
            pytest.param(make, marks=pytest.mark.thorough)
            for make in (length_of_itself, doubling_tree, deep_nesting, recursive_form, endless_stream)
        ),
    ],
)
async def test_a_file_made_to_do_harm_costs_no_more_than_a_while(make: Callable[[], bytes]) -> None:
    content = make()
    start = time.monotonic()
    document = await read(content)
    assert time.monotonic() - start < READING_SECONDS + 5
    assert document.kind == "PDF"
    assert document.problem or not document.is_whole or len(document.text) < 100


@pytest.fixture
def sleeper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """In the place of Python: writes its process id into this file, and sleeps."""
    told, script = tmp_path / "pid", tmp_path / "python"
    script.write_text(f"#!/bin/sh\necho $$ > {told}.new\nmv {told}.new {told}\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    return told


@pytest.mark.thorough
async def test_a_process_that_takes_too_long_is_killed(sleeper: Path) -> None:
    document = await read(text_pdf(LETTER), seconds=0.3)
    assert "too long" in document.problem
    with pytest.raises(ProcessLookupError):
        os.kill(int(sleeper.read_text()), 0)


async def test_a_process_that_nobody_waits_for_any_more_is_killed(sleeper: Path) -> None:
    reading = asyncio.create_task(read(text_pdf(LETTER)))
    async with asyncio.timeout(10):
        while not sleeper.exists():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    with pytest.raises(ProcessLookupError):
        os.kill(int(sleeper.read_text()), 0)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bound a process's memory")
def test_the_process_cannot_take_all_memory() -> None:
    code = (
        "from bot.attachments.child_limits import limit_this_process as limit\n"
        f"limit(memory_bytes={pdf_worker.MEMORY_BYTES}, cpu_seconds=20); bytearray({pdf_worker.MEMORY_BYTES})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.strip().endswith("MemoryError")


async def test_the_process_is_told_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    teller = tmp_path / "python"
    teller.write_text("#!/bin/sh\nenv\n")
    teller.chmod(0o755)
    monkeypatch.setenv("COMMONPLACE_TELEGRAM__TOKEN", "123:hush-hush")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hush-hush")
    monkeypatch.setattr(sys, "executable", str(teller))
    with tempfile.TemporaryFile() as file:
        process = await start_child("bot.attachments.pdf_worker", "1", file=file)
    out, _ = await process.communicate()
    assert b"PYTHONPATH=" in out
    assert b"hush-hush" not in out


def test_lines_are_read_as_they_come_and_what_is_cut_counts_for_nothing() -> None:
    lines = document_text._PdfOutput(max_characters=10)
    whole = json.dumps({"page": 1, "text": "x"}).encode() + b"\n"
    assert lines.take(whole[:4])
    assert lines.take(whole[4:] + whole[:5])
    assert lines.found == [{"page": 1, "text": "x"}]


@table_test(
    "written",
    [b'{"page": 1, "text": "0123456789+"}\n', b"x" * (2 << 20), b"no json\n", b'{"page": 1}\n' * 20_000],
)
def test_a_process_that_writes_what_it_should_not_is_not_listened_to(written: bytes) -> None:
    assert not document_text._PdfOutput(max_characters=10).take(written)
