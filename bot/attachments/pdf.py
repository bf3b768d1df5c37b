"""The process that reads one PDF: the file comes in, a line of JSON for each page goes out, within limits.

A PDF is a program of a stranger's: it may loop, nest and unpack without end. What does happens in here alone.
"""

import io
import json
import logging
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress

MEMORY_BYTES = 512 << 20
CPU_SECONDS = 20
MOST_PAGES = 2000

Line = dict[str, str | int]


def lines_of(content: bytes, most_characters: int) -> Iterator[Line]:
    """Yield `{"pages": 12}`, then `{"page": 1, "text": …}` until there is enough; or `{"problem": …}`.

    Problems: `locked`, `damaged`, `memory`.
    """
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(content))
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
    for number in range(min(count, MOST_PAGES)):
        try:
            text = reader.pages[number].extract_text().strip()
        except Exception:  # noqa: BLE001 - this page alone is damaged
            yield {"page": number + 1, "problem": "damaged"}
            continue
        yield {"page": number + 1, "text": text[:left]}
        left -= len(text)
        if left <= 0:
            return


def _opens_without_password(reader: object) -> bool:
    try:
        return bool(reader.decrypt(""))  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - a cipher that pypdf has only with another library, or a damaged one
        return False


def _limit() -> None:
    """Take what a stranger's file could misuse; a system that does not know one of these has the others."""
    limits = (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, most in limits:
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))
    with suppress(OSError):
        os.nice(5)


def main() -> None:
    """Read standard input; `sys.argv[1]`: how many characters are wanted."""
    content = sys.stdin.buffer.read()
    import pypdf  # noqa: F401 - before the limits: an import that lacks memory leaves half a module

    _limit()
    for line in lines_of(content, int(sys.argv[1])):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
