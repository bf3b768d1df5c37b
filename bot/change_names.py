"""Names of people, and of chats where changes to the notes are shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import TERMINAL, Access
from bot.messages import ChatId, PersonId
from bot.pairing_requests import format_person, sanitize_name
from bot.sanitize import one_line
from bot.searchable_chats import is_private
from bot.state.access import read_name
from bot.state.changes import Change
from bot.state.flushes import read_chat
from bot.state.imports import IMPORTED

if TYPE_CHECKING:
    from apsw import Connection

    from bot.config.channel import ChannelSettings

MAX_NAME_CHARS = 40


@dataclass(frozen=True, slots=True)
class ChangeNames:
    """Names for one reader."""

    own: frozenset[str] = frozenset()
    """The reader's ids (`channel:id`) on all channels."""
    here: str = ""
    """The chat (`channel:name`) in which it is shown; "" for none."""
    people: Mapping[str, str] = field(default_factory=dict)
    chats: Mapping[str, str] = field(default_factory=dict)
    uses_page: bool = False
    """Whether what was done on the page was done by the reader: with its token, one acts as an owner."""

    def person(self, person: str) -> str:
        """Return "you", the name of another person, or "somebody" for ""."""
        if person in self.own:
            return phrases.CHANGE_YOU
        return self.people.get(person, person) or phrases.SOMEBODY

    def chat(self, chat: str) -> str:
        """Return "this chat", or the name of another chat."""
        return phrases.CHANGE_HERE if chat == self.here else self.chats.get(chat, chat)

    def author(self, change: Change) -> str:
        """Return who made a change, or the means (such as an import) if nobody did."""
        origin = change.origin
        if origin.person:
            return self.person(origin.person)
        if change.is_by_page:
            return phrases.CHANGE_YOU_ON_PAGE if self.uses_page else phrases.CHANGED_ON_PAGE
        if origin.client:
            return phrases.CHANGED_BY_CLIENT.format(client=one_line(origin.client, limit=MAX_NAME_CHARS))
        if origin.made_by in phrases.CHANGED_BY:
            return phrases.CHANGED_BY[origin.made_by]
        return phrases.CHANGED_BY_SEVERAL.format(chat=self.chat(origin.chat))

    def by(self, change: Change) -> str:
        """Return `author` within a sentence: "by you", "on the command line"."""
        origin = change.origin
        if origin.person in self.own:
            return phrases.BY_YOU
        if change.is_by_page:
            return phrases.BY_YOU_ON_PAGE if self.uses_page else phrases.BY_OWNER_ON_PAGE
        if origin.person or origin.client:
            return phrases.BY_NAME.format(name=self.author(change))
        if origin.made_by in phrases.BY_MEANS:
            return phrases.BY_MEANS[origin.made_by]
        return phrases.BY_SEVERAL.format(chat=self.chat(origin.chat))


def read_names(
    db: "Connection",
    changes: Iterable[Change],
    *,
    access: Access,
    channels: "Mapping[str, ChannelSettings]",
    reader: PersonId | None,
    here: str = "",
    also: Iterable[str] = (),
    on_page: bool = False,
) -> ChangeNames:
    """Return the names of everybody and every chat in some changes; `also`: further people.

    `on_page`: the reader uses the page.
    """
    origins = [each.origin for each in changes]
    people = {*(each.person for each in origins), *also} - {""}
    chats = {each.chat for each in origins} - {""}
    return ChangeNames(
        frozenset(map(str, access.find_ids(db, reader))) if reader else frozenset(),
        here,
        {each: name_person(db, PersonId.parse(each), access, channels) for each in people},
        {each: _name_chat(db, ChatId.parse(each), people, channels) for each in chats},
        (on_page or reader is not None) and access.has_one_owner(db, reader),
    )


def name_person(
    db: "Connection", person: PersonId, access: Access, channels: "Mapping[str, ChannelSettings]"
) -> str:
    """Return what a person is called: in the settings, or on their channel; else their id."""
    if person.channel == TERMINAL and not access.find_name(person):
        return phrases.CHANGED_AT_TERMINAL
    return find_name(db, person, access, channels) or one_line(str(person))


def find_name(
    db: "Connection", person: PersonId, access: Access, channels: "Mapping[str, ChannelSettings]"
) -> str:
    """Return what a person is called: in the settings, when owners decided, or on their channel; "" if unknown."""
    if name := access.find_name(person) or read_name(db, str(person)):
        return one_line(name, limit=MAX_NAME_CHARS)
    channel = channels.get(person.channel)
    private = channel.private_chat(person.id) if channel else ""
    name = read_chat(db, str(ChatId(person.channel, private)))[0] if private else ""
    return one_line(name, limit=MAX_NAME_CHARS)


def describe_person(
    db: "Connection", person: PersonId, access: Access, channels: "Mapping[str, ChannelSettings]"
) -> str:
    """Return somebody's name with their id, `Ann (telegram:7)`, fit to stand in Markdown; or only the id."""
    return format_person(sanitize_name(find_name(db, person, access, channels)), str(person))


def _name_chat(
    db: "Connection", chat: ChatId, people: Iterable[str], channels: "Mapping[str, ChannelSettings]"
) -> str:
    if chat.channel == IMPORTED:
        return phrases.CHANGE_IMPORT
    if chat.channel == TERMINAL:
        return phrases.CHANGE_TERMINAL
    settings = channels.get(chat.channel)
    channel = settings.title if settings else chat.channel
    if any(is_private(PersonId.parse(each), chat, channels) for each in people):
        return phrases.CHANGE_PRIVATE.format(channel=channel)
    name = one_line(read_chat(db, str(chat))[0], limit=MAX_NAME_CHARS)
    if not name:
        return phrases.CHANGE_ROOM.format(channel=channel)
    return phrases.CHAT_OF_CHANNEL.format(name=name, channel=channel)
