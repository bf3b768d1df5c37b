"""What an index depends on beside the notes, and how two such differ."""

from memory import chunker, tokenizer
from memory.settings import ChunkSettings

_PARTS = (
    "the program's version",
    "the program's version",
    "memory.chunk.target_tokens",
    "memory.chunk.overlap_tokens",
)


def compute_fingerprint(chunk: ChunkSettings) -> str:
    """What an index depends on beside the notes: made by another version, or otherwise, it is made anew."""
    return f"{tokenizer.VERSION}/{chunker.VERSION}/{chunk.target_tokens}/{chunk.overlap_tokens}"


def describe_difference(mine: str, theirs: str) -> str:
    """What differs, for people: `memory.chunk.target_tokens is 400 here and 300 there`."""
    here, there = mine.split("/"), theirs.split("/")
    if not len(here) == len(there) == len(_PARTS):
        return "the program's version differs"
    told = [
        f"{name} is {one} here and {other} there" if name.startswith("memory.") else f"{name} differs"
        for name, one, other in zip(_PARTS, here, there, strict=True)
        if one != other
    ]
    return ", ".join(dict.fromkeys(told))
