"""Reads changes to the notes for somebody who may see them, with names, and encodes them as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.access import Access
from bot.change_names import ChangeNames, read_names
from bot.change_texts import ShownChange, load_shown_change
from bot.messages import PersonId
from bot.state.changes import Change, find_change, read_changes
from bot.undo import Undone

if TYPE_CHECKING:
    from apsw import Connection

    from bot.config.channel import ChannelSettings


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """Who reads the changes."""

    access: Access
    channels: "Mapping[str, ChannelSettings]"
    person: PersonId | None
    """None for a program."""
    sees_all: bool
    here: str = ""
    """The chat (`channel:name`) in which they are shown; "" for none."""
    client: str = ""
    """The program that reads them over MCP, and sees its own; "" for none."""
    on_page: bool = False
    """Whether they are shown on the page, whose user has no account."""


@dataclass(frozen=True, slots=True)
class ChangeList:
    """Changes, newest first."""

    shown: tuple[ShownChange, ...]
    names: ChangeNames
    has_more: bool


def read_change_list(
    db: "Connection",
    reader: ChangeReader,
    *,
    limit: int,
    before: int = 0,
    since: str = "",
    path: str = "",
) -> ChangeList:
    """Return the changes that a reader may see, at most `limit`; the other arguments as in `read_changes`."""
    people, client = None, ""
    if not reader.sees_all and reader.client:
        client = reader.client
    elif not reader.sees_all:
        people = sorted(map(str, reader.access.find_ids(db, reader.person))) if reader.person else []
    found = read_changes(
        db, limit=limit + 1, before=before, since=since, path=path, people=people, client=client
    )
    names = name_changes(db, reader, *found)
    return ChangeList(
        tuple(load_shown_change(db, each) for each in found[:limit]), names, has_more=len(found) > limit
    )


def read_one(db: "Connection", reader: ChangeReader, number: int) -> ChangeList:
    """Return the change with this number if the reader may see it, as a list."""
    change = find_change(db, number)
    names = name_changes(db, reader, *([change] if change else []))
    if change is None or not (reader.sees_all or change.origin.person in names.own):
        return ChangeList((), names, has_more=False)
    return ChangeList((load_shown_change(db, change),), names, has_more=False)


def name_changes(db: "Connection", reader: ChangeReader, *changes: Change) -> ChangeNames:
    """Return the names of everybody and every chat in some changes."""
    return read_names(
        db,
        changes,
        access=reader.access,
        channels=reader.channels,
        reader=reader.person,
        here=reader.here,
        on_page=reader.on_page,
    )


def encode_change(shown: ShownChange, names: ChangeNames) -> dict[str, Any]:
    """Return a change as JSON, the same on the command line and over JSON-RPC."""
    change = shown.change
    return {
        "number": change.number,
        "at": change.at,
        "path": change.path,
        "moved_from": change.moved_from,
        "moved_to": change.moved_to,
        "line": change.lines.line,
        "old": list(change.lines.old),
        "new": list(change.lines.new),
        "who": names.author(change),
        "person": change.origin.person,
        "chat": change.origin.chat,
        "made_by": change.origin.made_by,
        "client": change.origin.client,
        "model": change.origin.model,
        "says": list(change.origin.says),
        "undoes": change.undoes,
        "undone_by": shown.next_undo,
        "stands": shown.stands,
        "forgotten": change.forgotten,
    }


def encode_undone(undone: Undone) -> dict[str, Any]:
    """Return what an undo has done as JSON."""
    return {
        "number": undone.original.undoes or undone.original.number,
        "change": undone.change.number,
        "redone": undone.is_redo,
        "path": undone.path,
        "line_start": undone.line_start,
        "line_end": undone.line_end,
        "removed": list(undone.removed),
        "put_back": list(undone.put_back),
    }
