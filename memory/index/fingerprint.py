"""The fingerprint of everything but the notes that an index depends on."""

import zlib
from collections.abc import Sequence
from itertools import zip_longest

from memory import chunker, note_references, tokenizer
from memory.settings import ChunkSettings, FolderSettings
from memory.translatable import Translatable, join_texts

_PARTS = (
    "the program's version",
    "the program's version",
    "the program's version",
    "memory.chunk.target_tokens",
    "memory.chunk.overlap_tokens",
    "memory.folders",
)


def compute_fingerprint(chunk: ChunkSettings, *, folders: Sequence[FolderSettings] = ()) -> str:
    """Return a text that changes when the program's version or settings would produce a different index.

    `folders` are given for an index that instances share: an instance without one of them would drop its notes.
    """
    versions = [tokenizer.VERSION, chunker.VERSION, note_references.VERSION]
    parts = [*versions, chunk.target_tokens, chunk.overlap_tokens]
    if folders:
        named = sorted((folder.shown_name, *folder.exclude) for folder in folders)
        parts.append(zlib.crc32(repr(named).encode()))
    return "/".join(map(str, parts))


def describe_difference(mine: str, theirs: str) -> str:
    """Describe how two fingerprints differ, such as `memory.chunk.target_tokens is 400 here and 300 there`."""
    here, there = mine.split("/"), theirs.split("/")
    if not {len(here), len(there)} <= {len(_PARTS) - 1, len(_PARTS)}:
        return Translatable("the program's version differs")
    told = [
        Translatable("{name} is {here} here and {there} there", name=name, here=one, there=other)
        if name.startswith("memory.chunk.")
        else Translatable("{name} differs", name=name)
        for name, one, other in zip_longest(_PARTS, here, there, fillvalue="")
        if one != other
    ]
    return join_texts(*dict.fromkeys(told))
