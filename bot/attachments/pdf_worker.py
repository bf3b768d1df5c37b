"""The process that reads one PDF within limits: the file is its input, its output a line of JSON for each page.

A PDF may loop, nest and unpack without end; only this process suffers from that.
"""

import json
import logging
import sys
from collections.abc import Iterator
from typing import BinaryIO

from bot.attachments.child_limits import limit_this_process

MEMORY_BYTES = 256 << 20
"""Address space, including Python's own; beyond it, the file has the problem `memory`."""
CPU_SECONDS = 20
MAX_PAGES = 2000
LINE_CHARACTERS = 1 << 14
"""Characters of a page in one line, so that its reader is never busy for long."""

PageLine = dict[str, str | int]


def read_pages(file: BinaryIO, max_characters: int) -> Iterator[PageLine]:
    """Yield `{"pages": 12}`, then `{"page": 1, "text": …}` until there is enough, or `{"problem": …}`.

    A page with much text has several lines in a row. Problems: `locked`, `damaged`, `memory`.
    """
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(file)
        if reader.is_encrypted and not _opens_without_password(reader):
            yield {"problem": "locked"}
            return
        count = len(reader.pages)
        yield {"pages": count}
    except MemoryError:
        yield {"problem": "memory"}
        return
    except Exception:  # noqa: BLE001 - pypdf raises anything for a damaged file
        yield {"problem": "damaged"}
        return
    left = max_characters
    for number in range(min(count, MAX_PAGES)):
        try:
            text = reader.pages[number].extract_text().strip()
        except Exception:  # noqa: BLE001 - only this page is damaged
            yield {"page": number + 1, "problem": "damaged"}
            continue
        for start in range(0, max(1, min(left, len(text))), LINE_CHARACTERS):
            yield {"page": number + 1, "text": text[start : min(left, start + LINE_CHARACTERS)]}
        left -= len(text)
        if left <= 0:
            return


def _opens_without_password(reader: object) -> bool:
    try:
        return bool(reader.decrypt(""))  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - a cipher that pypdf needs another library for, or a damaged one
        return False


def main() -> None:
    """Read standard input; `sys.argv[1]`: the maximum number of characters."""
    import pypdf  # noqa: F401 - before the limits: an import that runs out of memory leaves half a module

    limit_this_process(memory_bytes=MEMORY_BYTES, cpu_seconds=CPU_SECONDS)
    for line in read_pages(sys.stdin.buffer, int(sys.argv[1])):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
