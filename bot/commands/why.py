"""`/why`: which message led to a line of a note."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import Standing
from bot.change_names import ChangeNames, read_names
from bot.change_texts import describe_coverage, format_period, format_time
from bot.commands.command import CommandCall
from bot.language.text import join_sentences
from bot.line_origin import LineOrigin, find_line_origin
from bot.note_refs import parse_note_ref
from bot.sanitize import one_line, strip_controls
from bot.searchable_chats import searchable_chats
from bot.services import Services
from bot.undo import UndoService
from bot.visible_names import escape_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from apsw import Connection

QUOTED_CHARS = 200
"""The most characters of a message that are quoted."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A line with what is known of it, and who asks."""

    origin: LineOrigin
    names: ChangeNames
    chats: "Collection[str]"
    """The chats whose messages may be quoted here."""
    call: CommandCall
    services: Services

    @property
    def author(self) -> str:
        """Who said it (`channel:id`); "" if nobody did."""
        message = self.origin.message
        return (message.by if message else "") or self.origin.change.origin.person

    @property
    def is_own(self) -> bool:
        """Return whether it was said or written by who asks."""
        return not self.names.own.isdisjoint((self.author, self.origin.change.origin.person))


async def explain_line(call: CommandCall, services: Services) -> str:
    """Say which message led to a line of a note, or what else wrote it.

    People who are not owners are only told about what is theirs.
    """
    place = parse_note_ref(call.options["place"].strip().strip("`"))
    if not place.line:
        return phrases.WHY_USAGE
    path = await services.memory.resolve_path(place.path)
    await UndoService(services.note_writer, services.state).settle_open()
    note = await services.memory.get(path, line=place.line, limit=1)
    text = note.text.rstrip("\r\n")
    if not text.strip():
        return phrases.WHY_BLANK.format(path=escape_path(path), line=place.line)
    quoted = f"> {one_line(text, limit=QUOTED_CHARS)}"
    find = partial(find_line_origin, path=path, line=place.line, text=text)
    told = phrases.WHY_UNKNOWN.format(record=format_period(phrases.CHANGES_RECORD, services.settings))
    if origin := await services.state.read(find):
        told = "\n\n".join(_explain(await _ask(origin, call, services), path))
    return "\n\n".join(filter(None, [quoted, told, describe_coverage(services.settings)]))


async def _ask(origin: LineOrigin, call: CommandCall, services: Services) -> _Asked:
    said = call.message
    chats = await searchable_chats(services, said.sender, said.chat, groups=said.groups)

    def read(db: "Connection") -> ChangeNames:
        return read_names(
            db,
            [origin.change],
            access=services.access,
            channels=services.settings.channels,
            reader=said.sender,
            here=str(said.chat),
            also=[origin.message.by] if origin.message else (),
        )

    return _Asked(origin, await services.state.read(read), chats, call, services)


def _explain(asked: _Asked, path: str) -> "Iterator[str]":
    if asked.call.standing is not Standing.OWNER and not asked.is_own:
        yield phrases.WHY_NOT_YOURS
        return
    origin, change = asked.origin, asked.origin.change
    yield from _explain_source(asked)
    details = []
    if change.path != path:
        details.append(phrases.WHY_MOVED.format(path=escape_path(change.path)))
    if change.origin.model:
        details.append(phrases.WHY_MODEL.format(model=one_line(change.origin.model)))
    if change.origin.says:
        says = one_line(phrases.COMMA.join(change.origin.says))
        details.append(phrases.WHY_SAYS.format(whose=asked.names.whose(asked.author), says=says))
    if origin.put_back_by and not change.undoes:
        details.append(phrases.WHY_PUT_BACK.format(number=origin.put_back_by))
    details.append(phrases.WHY_CHANGE.format(number=change.number))
    yield join_sentences(details)


def _explain_source(asked: _Asked) -> "Iterator[str]":
    """Yield what led to the line, and the message if it may be quoted here."""
    change, message, names = asked.origin.change, asked.origin.message, asked.names
    origin = change.origin
    time = format_time(message.at if message else change.at, asked.services.now())
    told = {"chat": names.chat(origin.chat), "time": time, "who": names.person(origin.person)}
    if change.undoes:
        yield _capitalize(phrases.WHY_PUT_BACK_ONLY.format(**told | {"who": names.author(change)}))
    elif message:
        phrase = phrases.WHY_FLUSH_MESSAGE if origin.made_by == "flush" else phrases.WHY_MESSAGE
        whose, may = names.whose(asked.author), origin.chat in asked.chats
        yield phrase.format(**told, whose=whose, colon=phrases.COLON if may else phrases.FULL_STOP)
        if may:
            yield _quote(message.text)
        else:
            yield phrases.WHY_NOT_QUOTED if asked.is_own else phrases.WHY_OTHERS_CHAT
    elif origin.made_by == "import":
        imported = asked.origin.imported
        phrase = phrases.WHY_IMPORT if imported else phrases.WHY_IMPORT_UNKNOWN
        run, file = (imported.run, escape_path(imported.file)) if imported else (0, "")
        yield phrase.format(**told, run=run, file=file)
    else:
        phrase = phrases.WHY_MADE_BY[origin.made_by]
        yield _capitalize(phrase.format(**told | ({"who": names.author(change)} if origin.client else {})))


def _quote(text: str) -> str:
    text = strip_controls(text).strip()
    shown = text if len(text) <= QUOTED_CHARS else f"{text[:QUOTED_CHARS].rstrip()}…"
    return "\n".join(f"> {line}".rstrip() for line in shown.splitlines())


def _capitalize(text: str) -> str:
    """Return a sentence with a capital letter, unless it begins with an id such as `telegram:1`."""
    return text if ":" in text.partition(" ")[0] else text[:1].upper() + text[1:]
