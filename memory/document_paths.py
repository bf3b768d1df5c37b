"""Pure: documents that were filed are notes in a folder of their own, named by day and title."""

import re

FOLDER = "documents"

_NAME = re.compile(rf"{FOLDER}/(\d{{4}}-\d{{2}}-\d{{2}})-([^/]+)\.md")
_UNTITLED = "document"
_UNTITLED_NAME = re.compile(rf"{_UNTITLED}(?:-\d+)?")


def document_path(name: str) -> str:
    """The note that a document is filed in."""
    return f"{FOLDER}/{name}.md"


def parse_title(path: str) -> str:
    """What is told of a document by the name of its note, without the day; "" where nothing is."""
    match = _NAME.fullmatch(path)
    return match[2] if match and not _UNTITLED_NAME.fullmatch(match[2]) else ""


def untitled_path(path: str, number: int) -> str:
    """The name that it has once its title is to be forgotten: the day alone, and a number from 2 on."""
    match = _NAME.fullmatch(path)
    assert match
    return document_path(f"{match[1]}-{_UNTITLED}{f'-{number}' if number > 1 else ''}")
