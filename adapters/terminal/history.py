"""The terminal's input history, in a private file."""

import os
from contextlib import suppress
from pathlib import Path

from memory import disk
from memory.forgetting import WordsToForget


def delete_lines(path: Path, words: WordsToForget) -> int:
    """Delete matching inputs from the history; return how many. Raises OSError.

    The file has prompt_toolkit's format: for each input a line `# time`, then its lines, each after a `+`.
    """
    try:
        lines = path.read_text("utf-8", "surrogateescape").split("\n")
    except FileNotFoundError:
        return 0
    kept: list[str] = []
    gone = at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end].startswith("+"):
            end += 1
        if end == at:
            kept.append(lines[at])
            at += 1
        elif words.is_in("\n".join(line[1:] for line in lines[at:end])):
            while kept and kept[-1] and not kept[-1].startswith("+"):
                kept.pop()
            gone, at = gone + 1, end
        else:
            kept += lines[at:end]
            at = end
    if gone:
        data = "\n".join(kept).encode("utf-8", "surrogateescape")
        with disk.open_private_folder(path.parent) as folder:
            old = disk.open_file(path.name, os.O_RDONLY, folder=folder)
            try:
                with disk.write_draft(f"{path.name}.new", data, folder=folder, like=old):
                    os.rename(f"{path.name}.new", path.name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                os.close(old)
            with suppress(OSError):
                disk.sync_folder(folder)
    return gone
