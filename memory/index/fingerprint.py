"""The fingerprint of everything but the notes that an index depends on."""

from memory import chunker, note_references, tokenizer
from memory.settings import ChunkSettings

_PARTS = (
    "the program's version",
    "the program's version",
    "the program's version",
    "memory.chunk.target_tokens",
    "memory.chunk.overlap_tokens",
)


def compute_fingerprint(chunk: ChunkSettings) -> str:
    """Return a text that changes when the program's version or settings would produce a different index."""
    versions = f"{tokenizer.VERSION}/{chunker.VERSION}/{note_references.VERSION}"
    return f"{versions}/{chunk.target_tokens}/{chunk.overlap_tokens}"


def describe_difference(mine: str, theirs: str) -> str:
    """Describe how two fingerprints differ, such as `memory.chunk.target_tokens is 400 here and 300 there`."""
    here, there = mine.split("/"), theirs.split("/")
    if not len(here) == len(there) == len(_PARTS):
        return "the program's version differs"
    told = [
        f"{name} is {one} here and {other} there" if name.startswith("memory.") else f"{name} differs"
        for name, one, other in zip(_PARTS, here, there, strict=True)
        if one != other
    ]
    return ", ".join(dict.fromkeys(told))
