"""Files that people send, got from a server that behaves like Telegram's."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot import phrases
from bot.messages import Attachment, AttachmentLost, ChannelFault
from tests.adapters.telegram.life import Life, life
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.media import File
from tests.fakes.bot_api.server import BotApi
from tests.fakes.fetch_file import fetch_bytes


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Life]:
    async with BotApi() as api, life(api, tmp_path, receives=False) as here:
        yield here


def sent(here: Life, data: bytes = b"alpha", *, size: int | None = None) -> tuple[File, Attachment]:
    file = here.api.files.add("documents", data, name="a.txt", ending=".txt", size=size)
    return file, Attachment("document", file.id, "a.txt")


async def test_a_file_is_got_as_it_was_sent(here: Life) -> None:
    _, attachment = sent(here)
    assert await fetch_bytes(here.adapter, attachment, max_bytes=5) == b"alpha"


async def test_more_than_telegram_gives_bots_is_told(here: Life) -> None:
    _, attachment = sent(here, size=21 << 20)
    with pytest.raises(AttachmentLost, match="larger than 20 MB"):
        await fetch_bytes(here.adapter, attachment, max_bytes=50 << 20)


async def test_what_turns_out_larger_than_told_is_not_taken(here: Life) -> None:
    _, attachment = sent(here, b"alpha" * 10, size=5)
    with pytest.raises(AttachmentLost, match="larger than"):
        await fetch_bytes(here.adapter, attachment, max_bytes=10)


async def test_what_telegram_does_not_know_any_more_is_lost(here: Life) -> None:
    with pytest.raises(AttachmentLost) as lost:
        await fetch_bytes(here.adapter, Attachment("document", "no-file-of-this-server"), max_bytes=100)
    assert str(lost.value) == phrases.ATTACHMENT_GONE


async def test_a_file_of_this_computer_is_never_taken_for_one_that_was_sent(
    here: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, attachment = sent(here)
    (tmp_path / file.path).parent.mkdir()
    (tmp_path / file.path).write_bytes(b"mine!")
    monkeypatch.chdir(tmp_path)
    assert await fetch_bytes(here.adapter, attachment, max_bytes=100) == b"alpha"


async def test_a_server_on_this_computer_tells_where_it_has_put_it(here: Life, tmp_path: Path) -> None:
    file, attachment = sent(here)
    there = tmp_path / here.api.token / "documents" / "a.txt"
    there.parent.mkdir(parents=True)
    there.write_bytes(b"alpha")
    here.api.files.by_id[file.id] = replace(file, path=str(there))
    here.api.calls.clear()
    assert await fetch_bytes(here.adapter, attachment, max_bytes=5) == b"alpha"
    assert [call.method for call in here.api.calls] == ["getFile"]
    there.write_bytes(b"alpha" * 10)
    with pytest.raises(AttachmentLost, match="larger than"):
        await fetch_bytes(here.adapter, attachment, max_bytes=5)


@pytest.mark.parametrize("way", ["elsewhere", "back out", "a link", "a pipe"])
async def test_no_server_has_us_read_what_it_has_not_put_there(here: Life, tmp_path: Path, way: str) -> None:
    file, attachment = sent(here)
    (tmp_path / "config.toml").write_bytes(b"mine!")
    folder = tmp_path / here.api.token / "documents"
    folder.mkdir(parents=True)
    named = {
        "elsewhere": tmp_path / "config.toml",
        "back out": folder / "../../config.toml",
        "a link": folder / "link",
        "a pipe": folder / "pipe",
    }[way]
    (folder / "link").symlink_to(tmp_path / "config.toml")
    os.mkfifo(folder / "pipe")
    here.api.files.by_id[file.id] = replace(file, path=str(named))
    with pytest.raises(AttachmentLost) as lost:
        await fetch_bytes(here.adapter, attachment, max_bytes=100)
    assert str(lost.value) == phrases.ATTACHMENT_GONE


@pytest.mark.parametrize("method", ["getFile", "file"])
@pytest.mark.parametrize("fault", [Fault.status(502), Fault.reset_before()])
async def test_what_fails_on_its_way_is_told_without_the_token(here: Life, method: str, fault: Fault) -> None:
    _, attachment = sent(here)
    here.api.fail(method, fault, times=None)
    with pytest.raises(ChannelFault) as failed:
        await fetch_bytes(here.adapter, attachment, max_bytes=100)
    assert here.api.token not in str(failed.value)
