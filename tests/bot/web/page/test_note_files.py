"""Pictures and other files beside the notes, as the page serves them."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from bot.web.page.note_files import MAX_FILE_BYTES, detect_picture
from tests.fakes.note_pages import get
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 600_000
PICTURES = {
    "a.png": (PNG, "image/png"),
    "b.jpg": (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
    "c.gif": (b"GIF89arest", "image/gif"),
    "d.webp": (b"RIFF\x10\0\0\0WEBPVP8 rest", "image/webp"),
    "e.avif": (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miafrest", "image/avif"),
    "really-a-png.txt": (PNG, "image/png"),
}
OTHERS = {
    "x.svg": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "x.html": b"<script>alert(1)</script>",
    "not-really.png": b"<script>alert(1)</script>",
    "mp4.avif": b"\0\0\0\x14ftypisom\0\0\0\0isomavif",
    "x.pdf": b"%PDF-1.7",
    "empty.png": b"",
}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        (tmp_path / "memory/sub").mkdir(parents=True)
        for name, data in {**{name: data for name, (data, _) in PICTURES.items()}, **OTHERS}.items():
            (tmp_path / "memory/sub" / name).write_bytes(data)
        yield site


@pytest.mark.parametrize("name", PICTURES)
async def test_a_picture_is_shown_by_what_its_bytes_are(site: WebClient, name: str) -> None:
    async with site.client.get(f"/files/sub/{name}", headers=site.token) as answer:
        assert answer.status == 200
        assert await answer.read() == PICTURES[name][0]
        assert answer.headers["Content-Type"] == PICTURES[name][1]
        assert answer.headers["Content-Disposition"].startswith("inline")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'; sandbox" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize("name", OTHERS)
async def test_anything_else_is_only_downloaded(site: WebClient, name: str) -> None:
    async with site.client.get(f"/files/sub/{name}", headers=site.token) as answer:
        assert await answer.read() == OTHERS[name]
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer.headers["Content-Security-Policy"]
    async with site.client.head(f"/files/sub/{name}", headers=site.token) as answer:
        assert (answer.status, await answer.read()) == (200, b"")


async def test_a_name_cannot_write_a_header(site: WebClient) -> None:
    name = 'a";\u202e x=ü.bin'
    (site.folder / "memory" / name).write_bytes(b"x")
    async with site.client.get(f"/files/{quote(name)}", headers=site.token) as answer:
        assert answer.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{quote(name, safe='')}"


@pytest.mark.parametrize(
    "path",
    [
        "../config.toml",
        "%2e%2e/config.toml",
        "..%2fconfig.toml",
        "%2fetc/passwd",
        "a%00.png",
        "..%5cconfig.toml",
        ".commonplace/state.db",
        ".hidden/a.png",
        ".env",
        "%ff.png",
        "note.md",
        "NOTE.MD",
        "link.png",
        "pipe.png",
        "sub",
        "sub/",
        "nothing.png",
    ],
)
async def test_nothing_else_is_served(site: WebClient, path: str) -> None:
    memory = site.folder / "memory"
    (site.folder / "config.toml").write_text("secret")
    (memory / ".hidden").mkdir()
    for name in (".hidden/a.png", ".env", "note.md", "NOTE.MD"):
        (memory / name).write_text("secret")
    (memory / "link.png").symlink_to("../config.toml")
    os.mkfifo(memory / "pipe.png")
    status, shown = await get(site, f"/files/{path}")
    assert (status in (404, 503), "secret" in shown) == (True, False), status


async def test_a_file_that_is_too_large_is_not_sent(site: WebClient) -> None:
    with (site.folder / "memory/big.png").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    status, shown = await get(site, "/files/big.png")
    assert (status, "MiB" in shown or "MB" in shown) == (503, True)


async def test_hidden_lines_are_not_had_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/a.md").write_text("xylophagous\n")
    (tmp_path / "vault/copy.png").symlink_to("a.md")
    folders = [{"path": str(tmp_path / "vault"), "name": "vault"}]
    async with open_web_client(tmp_path, token=TOKEN, memory={"folders": folders}) as site:
        for path in ("vault/a.md", "vault/copy.png", "vault/./a.md"):
            assert (await get(site, f"/files/{path}"))[0] == 404


async def test_a_note_shows_the_pictures_beside_it(site: WebClient) -> None:
    (site.folder / "memory/note.md").write_text(
        "![[a.png|120]] ![logo](sub/b.jpg) ![](sub/x.svg) [[x.pdf]] ![gone](gone.png)\n"
    )
    _, shown = await get(site, "/notes/note.md")
    assert '<img src="/files/sub/a.png" alt="a.png" width="120" loading="lazy">' in shown
    assert '<img src="/files/sub/b.jpg" alt="logo" loading="lazy">' in shown
    assert '<a href="/files/sub/x.svg">' in shown
    assert '<a href="/files/sub/x.pdf">x.pdf</a>' in shown
    assert shown.count("<img") == 2


async def test_it_needs_what_a_note_needs(tmp_path: Path, site: WebClient) -> None:
    async with site.client.get("/files/sub/a.png") as answer:
        assert answer.status == 401
    async with site.client.get(
        "/files/sub/a.png", headers={**site.token, "Sec-Fetch-Site": "cross-site"}
    ) as answer:
        assert answer.status == 403
    async with open_web_client(tmp_path / "open") as other:
        (tmp_path / "open/memory").mkdir()
        (tmp_path / "open/memory/a.png").write_bytes(PNG)
        assert (await get_status(other, "/files/a.png")) == 200


async def get_status(site: WebClient, path: str) -> int:
    async with site.client.get(path) as answer:
        return answer.status


def test_a_short_beginning_is_no_picture() -> None:
    for data in (b"", b"\x89PNG", b"RIFF", b"\0\0\0\x08ftyp", b"\xff\xff\xff\xffftyp"):
        assert detect_picture(data) == ""
