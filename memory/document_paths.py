"""Paths of filed documents, which are notes in a folder of their own, named by day and title; pure."""

import re

FOLDER = "documents"

_NAME = re.compile(rf"{FOLDER}/(\d{{4}}-\d{{2}}-\d{{2}})-([^/]+)\.md")
_UNTITLED = "document"
_UNTITLED_NAME = re.compile(rf"{_UNTITLED}(?:-\d+)?")


def document_path(name: str) -> str:
    """Return the path of the note for a document."""
    return f"{FOLDER}/{name}.md"


def is_document(path: str) -> bool:
    """Return whether a note is in the folder of filed documents."""
    return path.startswith(f"{FOLDER}/")


def parse_title(path: str) -> str:
    """Return a document's title from its note's path, without the day; "" if there is none."""
    match = _NAME.fullmatch(path)
    return match[2] if match and not _UNTITLED_NAME.fullmatch(match[2]) else ""


def describe_document(path: str) -> str:
    """Return what people call a filed document, `document yearly-report`; "" if the note is none."""
    title = parse_title(path)
    return f"{_UNTITLED} {title}" if title else f"a {_UNTITLED}" if _NAME.fullmatch(path) else ""


def untitled_path(path: str, number: int) -> str:
    """Return the path without its title, once that is to be forgotten: the day and a number from 2 on."""
    match = _NAME.fullmatch(path)
    assert match
    return document_path(f"{match[1]}-{_UNTITLED}{f'-{number}' if number > 1 else ''}")
