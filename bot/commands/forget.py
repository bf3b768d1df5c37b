"""`/forget`: show what is known about something, and remove it everywhere once confirmed."""

import re

from bot import phrases
from bot.commands.command import CommandCall, CommandReply
from bot.forgetting import (
    CODE_CHARS,
    CODE_MINUTES,
    MAX_LINES,
    AlreadyForgotten,
    ForgetOutcome,
    FoundText,
    NothingToForget,
)
from bot.language.text import join_sentences
from bot.messages import Choice
from bot.note_refs import format_note_ref
from bot.services import Services
from memory.forgetting import NoteLines

_CONFIRMED = re.compile(r"yes\s+(\w{4})", re.IGNORECASE)
_YES_WITHOUT_CODE = re.compile(r"yes[.!]?", re.IGNORECASE)
_CANCELLED = re.compile(f"no ([{CODE_CHARS}]{{4}})")
"""Capitals only, as a button sends it: `no milk` is a query."""


async def forget(call: CommandCall, services: Services) -> str | CommandReply:
    """Show what matches; or, given the code that was shown, remove or keep it."""
    asked, chat, person = call.options["query"], call.message.chat, call.message.sender
    if _YES_WITHOUT_CODE.fullmatch(asked.strip()):
        return phrases.FORGET_WHICH_CODE
    if left := _CANCELLED.fullmatch(asked.strip()):
        return phrases.FORGET_LEAVING[await services.forgetting.cancel(left[1], chat=chat, person=person)]
    code = _CONFIRMED.fullmatch(asked.strip())
    try:
        if code:
            # With the time, because a new state.db numbers its messages from 1 again.
            key = f"{call.key} {call.message.sent_at.isoformat()}"
            done = await services.forgetting.confirm(code[1], chat=chat, person=person, key=key)
            return _format_outcome(done, code[1].upper(), is_shared=services.memory.index_file is None)
        return _format_found(await services.forgetting.find(asked, chat=chat, person=person))
    except AlreadyForgotten:
        return phrases.FORGET_LEAVING["removed"]
    except NothingToForget:
        return phrases.FORGET_NO_CODE if code else phrases.FORGET_NOTHING


def _format_found(found: FoundText) -> CommandReply:
    if found.too_many:
        return CommandReply(phrases.FORGET_TOO_MANY.format(most=MAX_LINES))
    shown = [phrases.FORGET_LINES if found.lines else phrases.FORGET_NO_LINES]
    for each in found.lines:
        quotation = "\n".join(f"> {line}".rstrip() for line in each.text.split("\n"))
        shown.append(phrases.FORGET_LINE.format(place=_format_place(each), quotation=quotation))
    if found.messages:
        excerpts = [phrases.FORGET_EXAMPLES] if found.excerpts else []
        excerpts += [phrases.FORGET_EXCERPT.format(excerpt=each) for each in found.excerpts]
        messages = join_sentences([phrases.FORGET_MESSAGES.format(count=found.messages), *excerpts[:1]])
        shown.append("\n".join([messages, *excerpts[1:]]))
    if found.elsewhere:
        shown.append(phrases.FORGET_ELSEWHERE.format(count=found.elsewhere))
    shown += [phrases.FORGET_UNREAD.format(path=each.path, reason=each.reason) for each in found.unread]
    if found.read_only:
        folders = phrases.COMMA.join(f"{name}/" for name in found.read_only)
        shown.append(phrases.FORGET_STAYS.format(folders=folders))
    shown.append(phrases.FORGET_CONFIRM.format(minutes=CODE_MINUTES, code=found.code))
    return CommandReply(
        "\n\n".join(shown),
        (
            Choice(phrases.FORGET_CHOICE_REMOVE, f"/forget yes {found.code}"),
            Choice(phrases.FORGET_CHOICE_LEAVE, f"/forget no {found.code}"),
        ),
    )


def _format_outcome(done: ForgetOutcome, code: str, *, is_shared: bool) -> str:
    """Describe what was removed; `is_shared`: other instances may share the notes and have their own conversations."""
    counts = {"lines": done.lines, "messages": done.messages, "elsewhere": done.elsewhere}
    if done.fault:
        told = [phrases.FORGOTTEN_IN_PART.format(fault=done.fault, **counts)]
        if done.missed:
            told.append(phrases.FORGET_LEFT.format(places=phrases.COMMA.join(done.missed)))
        return "\n\n".join([*told, phrases.FORGET_AGAIN.format(code=code)])
    is_only_hidden = done.hidden and not any(counts.values())
    told = [phrases.FORGOTTEN_HIDDEN if is_only_hidden else phrases.FORGOTTEN.format(**counts)]
    if done.hidden:
        told.append(phrases.FORGET_HIDDEN.format(places=phrases.COMMA.join(done.hidden)))
    if done.missed:
        told.append(phrases.FORGET_MISSED.format(places=phrases.COMMA.join(done.missed)))
    if done.problem:
        told.append(phrases.FORGET_PROBLEM.format(problem=done.problem))
    if is_shared:
        told.append(phrases.FORGET_OTHER_INSTANCES)
    return "\n\n".join([*told, phrases.FORGET_NOT_MINE])


def _format_place(lines: NoteLines) -> str:
    return format_note_ref(lines.path, lines.line_start, lines.line_end)
