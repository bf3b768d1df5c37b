"""The process that reads one PDF: the file comes in, a line of JSON for each page goes out, within limits.

A PDF is a program of a stranger's: it may loop, nest and unpack without end. What does happens in here alone.
"""

import json
import logging
import sys
from collections.abc import Iterator
from typing import BinaryIO

from bot.attachments.child_limits import limit_this_process

MEMORY_BYTES = 256 << 20
"""Of addresses, Python's own included; more is refused, and told as a problem."""
CPU_SECONDS = 20
MAX_PAGES = 2000
LINE_CHARACTERS = 1 << 14
"""Of a page's text in one line: whoever reads the lines is not busy with one for long."""

PageLine = dict[str, str | int]


def read_pages(file: BinaryIO, most_characters: int) -> Iterator[PageLine]:
    """Yield `{"pages": 12}`, then `{"page": 1, "text": …}` until there is enough; or `{"problem": …}`.

    A page with much text has several lines one after the other. Problems: `locked`, `damaged`, `memory`.
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
    except Exception:  # noqa: BLE001 - pypdf raises whatever a damaged file leads it to
        yield {"problem": "damaged"}
        return
    left = most_characters
    for number in range(min(count, MAX_PAGES)):
        try:
            text = reader.pages[number].extract_text().strip()
        except Exception:  # noqa: BLE001 - this page alone is damaged
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
    except Exception:  # noqa: BLE001 - a cipher that pypdf has only with another library, or a damaged one
        return False


def main() -> None:
    """Read standard input; `sys.argv[1]`: how many characters are wanted."""
    import pypdf  # noqa: F401 - before the limits: an import that lacks memory leaves half a module

    limit_this_process(memory_bytes=MEMORY_BYTES, cpu_seconds=CPU_SECONDS)
    for line in read_pages(sys.stdin.buffer, int(sys.argv[1])):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
