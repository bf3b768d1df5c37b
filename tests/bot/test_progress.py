import asyncio
import io

import pytest

from bot.progress import REFRESH_SECONDS, format_download, format_progress, show_progress
from memory.embeddings.model_files import DownloadProgress as Download
from memory.progress import JobProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_tells_rate_and_time_left() -> None:
    assert (
        format_progress(JobProgress("embedding", 300, 1200, 12))
        == "embedding 300 of 1200, 25 a second, 36 s left"
    )
    assert format_progress(JobProgress("indexing", 3, 6, 2)) == "indexing 3 of 6, 1.5 a second, 2 s left"
    assert format_progress(JobProgress("indexing", 0, 6, 2)) == "indexing 0 of 6"


def test_a_download_tells_what_is_known() -> None:
    assert format_download(Download(35_000_000, 121_000_000, 12.3)) == "35 of 121 MB, 12 s left"
    assert format_download(Download(35_000_000, None, None)) == "35 MB"


async def test_the_line_is_renewed_and_cleared_at_the_end() -> None:
    terminal = Terminal()
    said = iter(["embedding 1 of 2", "embedding 2 of 2\x1b[2J"])
    async with show_progress(lambda: next(said, "embedding 2 of 2"), terminal), asyncio.timeout(20):
        while "2 of 2" not in terminal.getvalue():  # noqa: ASYNC110
            await asyncio.sleep(REFRESH_SECONDS / 4)
    assert terminal.getvalue() == "\r\x1b[Kembedding 1 of 2\r\x1b[Kembedding 2 of 2\r\x1b[K"


@pytest.mark.thorough
async def test_no_line_where_nobody_watches() -> None:
    stream = io.StringIO()
    async with show_progress(lambda: "embedding", stream):
        await asyncio.sleep(REFRESH_SECONDS * 1.5)
    assert stream.getvalue() == ""


async def test_what_fails_within_is_told_with_the_line_cleared() -> None:
    terminal = Terminal()
    with pytest.raises(OSError, match="full"):
        async with show_progress(lambda: "embedding", terminal):
            raise OSError("full")
    assert terminal.getvalue() == "\r\x1b[K"
