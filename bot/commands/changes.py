"""Slash commands for the record of changes: list them, undo one, and redo it."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import Standing
from bot.buttons import buttons_for
from bot.change_list import ChangeList, ChangeReader, name_changes, read_change_list, read_one
from bot.change_names import ChangeNames
from bot.change_texts import (
    WantedChanges,
    describe_change,
    describe_coverage,
    describe_refusal,
    format_period,
    format_row,
    is_number,
    parse_wanted,
    quote_lines,
)
from bot.commands.command import CommandCall, CommandReply
from bot.language.text import join_sentences, localize
from bot.line_origin import find_replaced
from bot.messages import Choice
from bot.note_refs import format_note_ref, parse_note_ref
from bot.services import Services
from bot.state.changes import Change
from bot.undo import Undone, UndoRefused, UndoService
from bot.visible_names import escape_path
from memory.errors import NoteMissing

if TYPE_CHECKING:
    from apsw import Connection

USUAL_COUNT = 10
MAX_COUNT = 50
"""The most changes in one answer."""


async def show_changes(call: CommandCall, services: Services) -> str | CommandReply:
    """List changes, newest first: one's own, for owners everybody's; or show one in full."""
    wanted = parse_wanted(call.options.get("what", ""), now=services.now())
    await UndoService(services.note_writer, services.state).settle_open()
    if wanted.number:
        return await _show_one(wanted.number, call, services)
    path, problem = await _resolve_path(wanted.path, services)
    limit = min(wanted.limit or (MAX_COUNT if wanted.since else USUAL_COUNT), MAX_COUNT)

    read = partial(
        read_change_list, reader=_reader(call, services), limit=limit, since=wanted.since, path=path
    )
    found = await services.state.read(read)
    if problem and not found.shown:
        return join_sentences([problem, phrases.CHANGES_USAGE])
    told = [_format_list(found, wanted, path, call, services)]
    if found.has_more and limit < MAX_COUNT:
        told.append(phrases.CHANGES_MORE.format(count=min(3 * limit, MAX_COUNT)))
    return _with_coverage(join_sentences(told), services)


def _format_list(
    found: ChangeList, wanted: WantedChanges, path: str, call: CommandCall, services: Services
) -> str:
    all_ = call.standing is Standing.OWNER
    if not found.shown:
        if path:
            phrase = phrases.CHANGES_NONE_OF_NOTE if all_ else phrases.CHANGES_NONE_OF_NOTE_OWN
            return phrase.format(
                path=escape_path(path), period=format_period(phrases.CHANGES_PERIOD, services.settings)
            )
        if wanted.since:
            return phrases.CHANGES_NONE_TODAY if all_ else phrases.CHANGES_NONE_TODAY_OWN
        return phrases.CHANGES_NONE if all_ else phrases.CHANGES_NONE_OWN
    head = phrases.CHANGES_ALL if all_ else phrases.CHANGES_OWN
    if path:
        head = phrases.CHANGES_OF_NOTE if all_ else phrases.CHANGES_OF_NOTE_OWN
    elif wanted.since:
        head = phrases.CHANGES_OF_TODAY if all_ else phrases.CHANGES_OF_TODAY_OWN
    rows = "\n".join(format_row(each, found.names, services.now()) for each in found.shown)
    hint = next(
        (
            phrases.CHANGES_HINT_UNDO.format(number=each.change.number)
            for each in found.shown
            if each.can_undo
        ),
        phrases.CHANGES_HINT.format(number=found.shown[0].change.number),
    )
    return f"{head.format(path=escape_path(path))}\n\n{rows}\n\n{hint}"


async def _show_one(number: int, call: CommandCall, services: Services) -> str | CommandReply:
    def read(db: "Connection") -> tuple[ChangeList, tuple[Change, ...], ChangeNames]:
        found = read_one(db, _reader(call, services), number)
        replaced = [earlier for each in found.shown for earlier in find_replaced(db, each.change)]
        changes = (*(each.change for each in found.shown), *replaced)
        return found, tuple(replaced), name_changes(db, _reader(call, services), *changes)

    found, replaced, names = await services.state.read(read)
    if not found.shown:
        return _unknown(number, call.standing, services)
    (shown,) = found.shown
    others = _name_others(replaced, shown.change, names, call)
    text = describe_change(shown, names, services.now(), touches=others)
    choices = [_undo_button(number)] if shown.can_undo else []
    return CommandReply(text, buttons_for(choices)) if choices else text


async def undo_change(call: CommandCall, services: Services) -> str | CommandReply:
    """Undo a change: the latest of one's own, or the one with this number."""
    asked = call.options.get("number", "").removeprefix("#")
    if asked and not is_number(asked):
        return phrases.UNDO_USAGE
    undoing = UndoService(services.note_writer, services.state)
    own = await _find_own(call, services)
    try:
        if not asked:
            undone = await undoing.undo_last(own, key=call.key, origin=call.origin)
            if undone is None:
                is_owner = call.standing is Standing.OWNER
                nothing = phrases.UNDO_NOTHING_OWNER if is_owner else phrases.UNDO_NOTHING
                return _with_coverage(nothing, services)
        else:
            await undoing.settle_open()
            find = partial(read_one, reader=_reader(call, services), number=int(asked))
            if not (await services.state.read(find)).shown:
                return _unknown(int(asked), call.standing, services)
            undone = await undoing.undo(int(asked), key=call.key, origin=call.origin)
    except UndoRefused as refusal:
        told = await _explain(refusal, call, services)
        return told if asked else f"{told}\n\n{phrases.UNDO_EARLIER_HINT}"
    return await _format_undone(undone, call, services)


async def redo_change(call: CommandCall, services: Services) -> str | CommandReply:
    """Redo the change that one undid last."""
    undoing = UndoService(services.note_writer, services.state)
    own = await _find_own(call, services)
    try:
        undone = await undoing.redo_last(own, key=call.key, origin=call.origin)
    except UndoRefused as refusal:
        return await _explain(refusal, call, services)
    if undone is None:
        return _with_coverage(phrases.REDO_NOTHING, services)
    return await _format_undone(undone, call, services)


async def _format_undone(undone: Undone, call: CommandCall, services: Services) -> str | CommandReply:
    original, made = undone.original, undone.change

    def read(db: "Connection") -> tuple[tuple[Change, ...], ChangeNames]:
        replaced = find_replaced(db, original if not undone.is_redo else made)
        return replaced, name_changes(db, _reader(call, services), original, *replaced)

    replaced, names = await services.state.read(read)
    is_own = original.origin.person in names.own
    whose = "" if is_own else phrases.UNDONE_WHOSE.format(by=names.by(original))
    removed, put_back = quote_lines(undone.removed), quote_lines(undone.put_back)
    told = []
    if removed or put_back:
        told.append(
            (
                phrases.UNDONE_BOTH
                if removed and put_back
                else phrases.UNDONE_REMOVED
                if removed
                else phrases.UNDONE_PUT_BACK
            ).format(removed=removed, put_back=put_back)
        )
    if others := _name_others(replaced, original, names, call):
        told.append(phrases.UNDO_TOUCHES.format(by=others))
    number = original.undoes or original.number
    if undone.is_redo:
        told.append(phrases.REDO_HOW_TO_UNDO.format(number=made.number))
    else:
        told.append(phrases.UNDO_HOW_TO_REDO)
    place = (
        format_note_ref(undone.path, undone.line_start, undone.line_end)
        if undone.put_back
        else escape_path(undone.path)
    )
    phrase = phrases.REDONE if undone.is_redo else phrases.UNDONE
    text = "\n\n".join([phrase.format(number=number, place=place, whose=whose), *told])
    if undone.is_redo:
        return text
    return CommandReply(text, buttons_for([Choice(phrases.REDO_BUTTON, "/redo")]))


async def _explain(refusal: UndoRefused, call: CommandCall, services: Services) -> str:
    """Return why a change was not undone; a later change by somebody else is not named by its number."""
    if refusal.by:
        find = partial(read_one, reader=_reader(call, services), number=refusal.by)
        if not (await services.state.read(find)).shown:
            return phrases.UNDO_REFUSED_BY_OTHERS
    return describe_refusal(refusal)


def _name_others(replaced: Sequence[Change], change: Change, names: ChangeNames, call: CommandCall) -> str:
    """Return by whom the lines were that a change replaced, besides its own author; only owners see names."""
    others = [each for each in replaced if each.origin.person != change.origin.person]
    named = (
        names.by(each)
        if call.standing is Standing.OWNER or each.origin.person in names.own
        else phrases.BY_SOMEBODY_ELSE
        for each in others
    )
    return phrases.COMMA.join(dict.fromkeys(named))


def _unknown(number: int, standing: Standing, services: Services) -> str:
    phrase = phrases.CHANGE_UNKNOWN if standing is Standing.OWNER else phrases.CHANGE_UNKNOWN_OWN
    return _with_coverage(phrase.format(number=number), services)


def _with_coverage(text: str, services: Services) -> str:
    """Return a text with a notice of what other instances may have changed, if any share the notes."""
    return "\n\n".join(filter(None, [text, describe_coverage(services.settings)]))


def _undo_button(number: int) -> Choice:
    return Choice(phrases.UNDO_BUTTON.format(number=number), f"/undo {number}")


async def _find_own(call: CommandCall, services: Services) -> Sequence[str]:
    ids = await services.state.read(lambda db: services.access.find_ids(db, call.message.sender))
    return sorted(map(str, ids))


def _reader(call: CommandCall, services: Services) -> ChangeReader:
    return ChangeReader(
        services.access,
        services.settings.channels,
        call.message.sender,
        sees_all=call.standing is Standing.OWNER,
        here=str(call.message.chat),
    )


async def _resolve_path(asked: str, services: Services) -> tuple[str, str]:
    """Return the path of a note, and what is wrong with it: a note that is gone may still have changes."""
    if not asked:
        return "", ""
    path = parse_note_ref(asked).path
    try:
        return await services.memory.resolve_path(path), ""
    except NoteMissing as missing:
        return (path if path.endswith(".md") else f"{path}.md"), localize(missing)
