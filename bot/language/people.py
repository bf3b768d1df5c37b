"""Finds the language to speak with somebody: their own choice, the owner's setting, or what their app says."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.language.codes import closest_language
from bot.recent_dict import RecentDict
from bot.state import languages
from bot.state.database import State, StateFault
from bot.state.languages import PersonLanguage

if TYPE_CHECKING:
    import apsw

    from bot.messages import ChatId, IncomingMessage, PersonId

MAX_CODE_CHARS = 35
"""The longest language code that is stored, as BCP 47 recommends."""
MAX_KNOWN = 10_000
"""People whose language is kept in memory."""


class PeopleLanguages:
    """The language of each person, a key of `LANGUAGES`."""

    def __init__(self, state: State, *, setting: Callable[[], str] = lambda: "") -> None:
        """`setting` returns `agent.language`."""
        self._state = state
        self._setting = setting
        self._known: RecentDict[str, PersonLanguage] = RecentDict(MAX_KNOWN)
        """By person (`channel:id`), as last read."""

    async def load(self, person: "PersonId", *, told: str) -> str:
        """Return a person's language, and remember what their app says; `told`: "" for nothing.

        A fault of state.db is no reason to say nothing: then their own choice does not count.
        """
        id, told = str(person), told[:MAX_CODE_CHARS]  # noqa: A001
        known = PersonLanguage(told=told)
        with suppress(StateFault):
            known = await self._state.read(lambda db: languages.read_language(db, id))
            if told and told != known.told:
                known = replace(known, told=told)
                await self._state.change(lambda db: languages.save_told(db, id, told))
        self._known[id] = known
        return self._choose(known)

    def of(self, message: "IncomingMessage") -> str:
        """Return the language to answer a message in, by what was loaded before; at once, without state.db."""
        told = PersonLanguage(told=message.language)
        return self._choose(self._known.get(str(message.sender), told))

    async def of_chat(self, chat: "ChatId") -> str:
        """Return the language for a text in a chat that answers nobody: that of whoever wrote there last."""
        with suppress(StateFault):
            return await self._state.read(lambda db: self.read_of_chat(db, str(chat)))
        return self._choose(PersonLanguage())

    async def choose(self, person: "PersonId", code: str) -> str:
        """Store a person's choice, "" for none; return the language to speak with them now. Raises StateFault."""

        def write(db: "apsw.Connection") -> PersonLanguage:
            languages.save_chosen(db, str(person), code)
            return languages.read_language(db, str(person))

        known = await self._state.change(write)
        self._known[str(person)] = known
        return self._choose(known)

    async def is_chosen(self, person: "PersonId") -> bool:
        """Return whether a person chose the language. Raises StateFault."""
        return bool((await self._state.read(lambda db: languages.read_language(db, str(person)))).chosen)

    def read(self, db: "apsw.Connection", person: str) -> str:
        """Return a person's language (`channel:id`), within a transaction."""
        return self._choose(languages.read_language(db, person))

    def read_of_chat(self, db: "apsw.Connection", chat: str) -> str:
        """Return a chat's language, within a transaction; a chat in which nobody wrote may be called after one."""
        return self.read(db, languages.read_last_speaker(db, chat) or chat)

    def _choose(self, known: PersonLanguage) -> str:
        return closest_language(known.chosen, self._setting(), known.told)
