"""The current settings, which can be reloaded while the program runs."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot import phrases
from bot.config.errors import ConfigError, format_key
from bot.language.text import join_sentences

if TYPE_CHECKING:
    from pydantic import BaseModel

    from bot.config.settings import Settings
    from bot.supervisor import Supervisor

log = logging.getLogger(__name__)

Keys = tuple[str, ...]
ApplySettings = Callable[["Settings"], None]


@dataclass(frozen=True, slots=True)
class SettingsChanges:
    """Full keys of the settings that differ from those in force."""

    live: tuple[str, ...] = ()
    """Settings that can change while the program runs."""
    restart: tuple[str, ...] = ()
    """Settings that take effect after a restart."""
    removed: tuple[str, ...] = ()
    """Those of `live` that are gone, such as a table that was deleted."""


def _reread(settings: "Settings") -> "Settings":
    from bot.config.settings import read_again

    return read_again(settings)


def _resolve(settings: "Settings") -> None:
    del settings


class LiveSettings:
    """Holds the settings in force and notifies subscribers when they change.

    Settings without a subscriber stay as they were at the start.
    """

    def __init__(self, settings: "Settings", *, read: Callable[["Settings"], "Settings"] = _reread) -> None:
        """`read` returns the settings of file and environment now; it may block, and raises ConfigError."""
        self.settings = settings
        self._read = read
        self._subscribers: list[tuple[tuple[Keys, ...], ApplySettings]] = []
        self._on_read: list[ApplySettings] = []
        self._restart_checks: list[Callable[[Settings], tuple[str, ...]]] = []
        self._lock = asyncio.Lock()

    def on_change(self, *sections: str, take: ApplySettings = _resolve) -> Callable[[], None]:
        """Call `take` with the new settings when something in these sections or keys (`discord.threads`) changes.

        `take` must not wait, and must raise before it changes anything or not at all. Without `take`, the keys only
        count as live: their users read `settings` each time. Returns a function that unsubscribes.
        """
        subscriber = tuple(tuple(each.split(".")) for each in sections), take
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def on_read(self, take: ApplySettings) -> None:
        """Call `take` with all settings as soon as they are read, before they are in force."""
        self._on_read.append(take)

    def on_restart_check(self, differs: Callable[["Settings"], tuple[str, ...]]) -> None:
        """Add a function that returns names of things that the new settings change only after a restart."""
        self._restart_checks.append(differs)

    async def pending_changes(self) -> SettingsChanges:
        """Return how file and environment differ from the settings in force. Raises ConfigError."""
        return self._compare(await self._read_fresh())

    async def reload(self) -> SettingsChanges:
        """Reload the settings; return what took effect and what needs a restart.

        Raises ConfigError if the settings cannot be used; nothing has changed then.
        """
        async with self._lock:
            fresh = await self._read_fresh()
            changes = self._compare(fresh)
            if changes.live:
                self._apply(fresh)
            return changes

    async def _read_fresh(self) -> "Settings":
        fresh = await asyncio.to_thread(self._read, self.settings)
        for take in self._on_read:
            take(fresh)
        return fresh

    def _compare(self, fresh: "Settings") -> SettingsChanges:
        differing = list(_find_differing(self.settings, fresh))
        restart = [format_key(keys) for keys in differing if not self.is_live(keys)]
        restart += [
            name for differs in self._restart_checks for name in differs(fresh) if name not in restart
        ]
        live = [keys for keys in differing if self.is_live(keys)]
        return SettingsChanges(
            tuple(map(format_key, live)),
            tuple(restart),
            tuple(format_key(keys) for keys in live if _is_removed(keys, fresh)),
        )

    def _apply(self, fresh: "Settings") -> None:
        """Apply the changes without waiting, so that no other task sees only some of them."""
        before = self.settings
        differing = [keys for keys in _find_differing(before, fresh) if self.is_live(keys)]
        after: Settings = self._keep_unfollowed(fresh, before, ())
        affected = [
            take
            for sections, take in self._subscribers
            if any(_is_in_section(keys, section) for keys in differing for section in sections)
        ]
        done: list[ApplySettings] = []
        self.settings = after
        try:
            for take in affected:
                done.append(take)
                take(after)
        except BaseException:
            self.settings = before
            for take in done[:-1]:
                take(before)
            raise

    def _keep_unfollowed(self, fresh: Any, old: Any, keys: Keys) -> Any:
        """Return the new settings, with the old values for those without a subscriber."""
        from pydantic import BaseModel

        kept = {}
        for name in type(fresh).model_fields:
            now, before, path = getattr(fresh, name), getattr(old, name), (*keys, name)
            if now == before or self.is_live(path):
                continue
            kept[name] = self._keep_unfollowed(now, before, path) if isinstance(now, BaseModel) else before
        return fresh.model_copy(update=kept)

    def is_live(self, keys: tuple[str | int, ...]) -> bool:
        """Return whether a setting can change while the program runs; others need a restart."""
        return any(_is_in_section(keys, section) for sections, _ in self._subscribers for section in sections)


@asynccontextmanager
async def reload_on_hangup(live_settings: LiveSettings, supervisor: "Supervisor") -> AsyncIterator[None]:
    """Reload the settings on SIGHUP; but if SIGHUP comes because the terminal is gone, end the program."""
    hung_up = asyncio.Event()
    loop = asyncio.get_running_loop()
    had_terminal = os.isatty(0)

    def hang_up(*_: object) -> None:
        if had_terminal and not os.isatty(0):
            os.kill(os.getpid(), signal.SIGTERM)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(hung_up.set)

    async def reload() -> None:
        while True:
            await hung_up.wait()
            hung_up.clear()
            try:
                log.info("%s", format_changes(await live_settings.reload()))
            except ConfigError as error:
                log.error("%s", phrases.CONFIG_UNUSABLE.format(reason=error))

    signal.signal(signal.SIGHUP, hang_up)
    task = supervisor.start("settings reload", reload)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nothing may interrupt the shutdown


def format_changes(changes: SettingsChanges, *, same: str = "") -> str:
    """Return a text about settings that were reloaded; `same` says that nothing has changed."""
    active = [key for key in changes.live if key not in changes.removed]
    told = (
        (phrases.CONFIG_ACTIVE, active),
        (phrases.CONFIG_REMOVED, changes.removed),
        (phrases.CONFIG_AFTER_RESTART, changes.restart),
    )
    parts = [phrase.format(keys=phrases.COMMA.join(keys)) for phrase, keys in told if keys]
    return join_sentences([phrases.CONFIG_RELOADED, *(parts or [same or phrases.CONFIG_SAME])])


async def describe_pending(live_settings: LiveSettings) -> str:
    """Return a text about changes of file and environment that are not in force yet; "" if there are none."""
    try:
        changes = await live_settings.pending_changes()
    except ConfigError as error:
        return phrases.CONFIG_WOULD_FAIL.format(reason=error)
    told = [phrases.CONFIG_CHANGED.format(keys=phrases.COMMA.join(changes.live))] if changes.live else []
    if changes.restart:
        told.append(phrases.CONFIG_AFTER_RESTART.format(keys=phrases.COMMA.join(changes.restart)))
    return "\n".join(told)


def _find_differing(old: "BaseModel", new: "BaseModel", keys: Keys = ()) -> Iterator[Keys]:
    """Yield the key of each setting that differs; for an added or removed table, the table's key."""
    from pydantic import BaseModel

    for name in type(old).model_fields:
        before, after, path = getattr(old, name), getattr(new, name), (*keys, name)
        if before == after:
            continue
        if isinstance(before, BaseModel):
            yield from _find_differing(before, after, path)
        elif isinstance(before, dict):
            for entry in {**before, **after}:
                if isinstance(before.get(entry), BaseModel) and entry in after:
                    yield from _find_differing(before[entry], after[entry], (*path, entry))
                elif before.get(entry) != after.get(entry):
                    yield (*path, entry)
        else:
            yield path


def _is_removed(keys: Keys, fresh: "BaseModel") -> bool:
    """Return whether the new settings lack the entry of a table that `keys` lead to."""
    place: Any = fresh
    for key in keys:
        if isinstance(place, dict) and key not in place:
            return True
        place = place[key] if isinstance(place, dict) else getattr(place, key)
    return False


def _is_in_section(keys: tuple[str | int, ...], section: Keys) -> bool:
    return keys[: len(section)] == section
