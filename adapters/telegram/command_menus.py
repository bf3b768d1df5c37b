"""Telegram's command menus: for everybody, for groups, and for each person with access."""

import asyncio
import hashlib
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence

from telegram import (
    Bot,
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllGroupChats,
    BotCommandScopeChat,
    BotCommandScopeDefault,
)
from telegram.error import TelegramError

from adapters.api_errors import ApiRefused, ChatGone
from adapters.telegram.api_calls import CALL_SECONDS, translate_error
from adapters.telegram.connection_health import translate_library_errors
from bot.access import Standing
from bot.channel_store import ChannelStore
from bot.commands.command import Command, commands_for
from bot.commands.translations import MENU_LANGUAGES, translated_help
from bot.messages import ChannelFault, PersonId
from bot.sanitize import one_line

log = logging.getLogger(__name__)

FOR_ALL = ("start", "help")
"""Shown to strangers too."""
IN_GROUPS = ("help", "new", "stop", "retry", "status", "remind", "reminders")
"""Shown to all members of a group; access is checked when a command is used."""
MAX_PEOPLE = 500
"""In a bot open to all, further people see the menu for all; /help tells them the rest."""
BETWEEN = 0.1
"""Seconds between two calls; replies have priority."""
PAUSES = (5.0, 30.0, 120.0, 600.0, 1800.0)
"""Seconds before each retry of a call; the last one repeats."""

_PREFIX = "menu:"
_CHAT = "chat:"
_LANGUAGES = ("", *MENU_LANGUAGES)
"""The first is for all other languages."""


class CommandMenus:
    """Sets menus that are not up to date, one call after another.

    What was set is stored. Refusals by Telegram are logged; other errors are raised.
    """

    def __init__(
        self,
        bot: Bot,
        store: ChannelStore,
        *,
        commands: Sequence[Command],
        owners: Sequence[str],
        max_people: int = MAX_PEOPLE,
        between: float = BETWEEN,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`owners`: as in the settings, for any channel."""
        self.settled = asyncio.Event()
        """Set while no work is left."""
        self._bot = bot
        self._store = store
        self._commands = commands
        self._owners = owners
        self._max_people = max_people
        self._between = between
        self._sleep = sleep
        self._wanted: deque[tuple[PersonId, Standing]] = deque()
        self._woken = asyncio.Event()
        self._seen: dict[PersonId, Standing] = {}
        """Last known standing by person."""
        self._having: set[str] = set()
        """Keys of people who have their own menu."""
        self._logged = False
        """Whether a delay was logged."""

    async def register(self) -> None:
        """Set the menus for everybody, groups and owners, then for each new person; runs until cancelled.

        May be called again after a failure. Raises StateFault.
        """
        self._having = {key.removeprefix(_PREFIX) for key in await self._store.list_prefix(_PREFIX + _CHAT)}
        await self._set_menu("all", BotCommandScopeDefault(), self._find_commands(FOR_ALL))
        await self._set_menu("groups", BotCommandScopeAllGroupChats(), self._find_commands(IN_GROUPS))
        for owner in self._owners:
            channel, _, name = owner.partition(":")
            if channel == "telegram":
                await self._set_for_person(PersonId(channel, name), Standing.OWNER)
        while True:
            self._woken.clear()
            while self._wanted:
                wanted = self._wanted.popleft()
                try:
                    await self._set_for_person(*wanted)
                except BaseException:  # also on cancellation: `register` may be called again
                    if all(person != wanted[0] for person, _ in self._wanted):
                        self._wanted.append(wanted)  # at the end, so that it delays no others
                    raise
            self.settled.set()
            await self._woken.wait()

    async def register_for(self, person: PersonId, standing: Standing) -> None:
        """Queue a person who has just written for `register`; returns at once."""
        if standing is Standing.STRANGER:
            if _menu_key(person) not in self._having:
                return  # nothing is kept about strangers, however many there are
            self._seen.pop(person, None)
        elif self._seen.get(person) is standing:
            return
        else:
            self._seen[person] = standing
        self._wanted.append((person, standing))
        self.settled.clear()
        self._woken.set()

    async def _set_for_person(self, person: PersonId, standing: Standing) -> None:
        key = _menu_key(person)
        if not person.id.isdecimal():
            return
        if standing is Standing.STRANGER:
            await self._set_menu(key, BotCommandScopeChat(int(person.id)), ())
            self._having.discard(key)
        elif key in self._having or len(self._having) < self._max_people:
            self._having.add(key)
            commands = commands_for(standing, self._commands)
            if not await self._set_menu(key, BotCommandScopeChat(int(person.id)), commands):
                self._having.discard(key)

    async def _set_menu(self, key: str, scope: BotCommandScope, commands: Sequence[Command]) -> bool:
        """Set a menu in all languages, or delete an empty one; return whether it is up to date."""
        menu = {
            language: [(command.name, translated_help(command, language)) for command in commands]
            for language in _LANGUAGES
        }
        digest = self._digest(menu) if commands else ""
        try:
            if await self._store.get(_PREFIX + key) == digest:
                return True
            for language, entries in menu.items():
                await self._call_until_accepted(self._make_call(scope, language, entries))
                await self._sleep(self._between)
            await self._store.put(_PREFIX + key, digest)
            self._logged = False
        except ChatGone as gone:  # such as an owner who has not written to this bot yet
            log.info("could not set the menu for %s: %s", key, one_line(str(gone)))
        except ApiRefused as refused:
            log.warning("could not set the menu for %s: %s", key, one_line(str(refused)))
        else:
            return True
        return False

    def _make_call(
        self, scope: BotCommandScope, language: str, entries: Sequence[tuple[str, str]]
    ) -> Callable[[], Awaitable[bool]]:
        code = language or None
        if not entries:
            return lambda: self._bot.delete_my_commands(scope, code)
        commands = [BotCommand(name, told) for name, told in entries]
        return lambda: self._bot.set_my_commands(commands, scope, code)

    async def _call_until_accepted(self, call: Callable[[], Awaitable[bool]]) -> None:
        """Make a call until Telegram accepts it. Raises ApiRefused."""
        pauses = list(PAUSES)
        while True:
            try:
                with translate_library_errors():
                    async with asyncio.timeout(CALL_SECONDS):
                        await call()
            except (TelegramError, TimeoutError) as error:
                reason = (
                    translate_error(error) if isinstance(error, TelegramError) else ChannelFault("no answer")
                )
                if not isinstance(reason, ChannelFault):
                    raise reason from error
                if not self._logged:
                    log.warning("the command menus have to wait: %s", one_line(str(reason)))
                self._logged = True
                await self._sleep(max(pauses[0], reason.retry_after))
                if len(pauses) > 1:
                    del pauses[0]
            else:
                return

    def _find_commands(self, names: Sequence[str]) -> list[Command]:
        known = {command.name: command for command in self._commands}
        return [known[name] for name in names if name in known]

    def _digest(self, menu: Mapping[str, Sequence[tuple[str, str]]]) -> str:
        # Includes the bot's id, which is not secret: another bot has no menus yet.
        number = self._bot.token.partition(":")[0]
        return hashlib.sha256(json.dumps([number, menu]).encode()).hexdigest()[:32]


def _menu_key(person: PersonId) -> str:
    return f"{_CHAT}{person.id}"
