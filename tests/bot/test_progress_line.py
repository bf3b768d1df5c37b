import asyncio
import io

import pytest

from bot.progress_line import SECONDS, duration, fetching_in_words, in_words, progress_shown
from memory.embeddings.model_files import Progress as Download
from memory.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0 s"), (59.4, "59 s"), (725, "12 min 5 s"), (12_000, "3 h 20 min")]
)
def test_a_duration(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_progress_tells_rate_and_time_left() -> None:
    assert in_words(Progress("embedding", 300, 1200, 12)) == "embedding 300 of 1200, 25 a second, 36 s left"
    assert in_words(Progress("indexing", 3, 6, 2)) == "indexing 3 of 6, 1.5 a second, 2 s left"
    assert in_words(Progress("indexing", 0, 6, 2)) == "indexing 0 of 6"


def test_a_download_tells_what_is_known() -> None:
    assert fetching_in_words(Download(35_000_000, 121_000_000, 7e6, 12.3)) == "35 of 121 MB, 12 s left"
    assert fetching_in_words(Download(35_000_000, None, 7e6, None)) == "35 MB"


async def test_the_line_is_renewed_and_cleared_at_the_end() -> None:
    terminal = Terminal()
    said = iter(["embedding 1 of 2", "embedding 2 of 2\x1b[2J"])
    async with progress_shown(lambda: next(said, "embedding 2 of 2"), terminal), asyncio.timeout(20):
        while "2 of 2" not in terminal.getvalue():  # noqa: ASYNC110
            await asyncio.sleep(SECONDS / 4)
    assert terminal.getvalue() == "\r\x1b[Kembedding 1 of 2\r\x1b[Kembedding 2 of 2\r\x1b[K"


async def test_no_line_where_nobody_watches() -> None:
    stream = io.StringIO()
    async with progress_shown(lambda: "embedding", stream):
        await asyncio.sleep(SECONDS * 1.5)
    assert stream.getvalue() == ""


async def test_what_fails_within_is_told_with_the_line_cleared() -> None:
    terminal = Terminal()
    with pytest.raises(OSError, match="full"):
        async with progress_shown(lambda: "embedding", terminal):
            raise OSError("full")
    assert terminal.getvalue() == "\r\x1b[K"
