"""The settings that count just now: read anew while everything runs, as far as that can be."""

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

if TYPE_CHECKING:
    from pydantic import BaseModel

    from bot.config.settings import Settings
    from bot.supervisor import Supervisor

log = logging.getLogger(__name__)

Keys = tuple[str, ...]
ApplySettings = Callable[["Settings"], None]


@dataclass(frozen=True, slots=True)
class SettingsChanges:
    """In what the settings differ from those that count, by their whole keys."""

    live: tuple[str, ...] = ()
    """What can change while everything runs."""
    restart: tuple[str, ...] = ()
    """What takes effect after a restart."""


def _reread(settings: "Settings") -> "Settings":
    from bot.config.settings import read_again

    return read_again(settings)


def _resolve(settings: "Settings") -> None:
    del settings


class LiveSettings:
    """Holds the settings that count, and tells the parts that follow them when they change.

    What nobody follows stays as it was at the start.
    """

    def __init__(self, settings: "Settings", *, read: Callable[["Settings"], "Settings"] = _reread) -> None:
        """`read` gives what file and environment say by now; it raises ConfigError, and may block."""
        self.settings = settings
        self._read = read
        self._following: list[tuple[tuple[Keys, ...], ApplySettings]] = []
        self._told: list[ApplySettings] = []
        self._indirect: list[Callable[[Settings], tuple[str, ...]]] = []
        self._one_at_a_time = asyncio.Lock()

    def on_change(self, *sections: str, take: ApplySettings = _resolve) -> Callable[[], None]:
        """Have `take` be called when something in these sections (or keys: `discord.threads`) has changed.

        It is given all settings that count from then on, and puts them in force at once; it does not wait, and fails
        at its beginning or not at all. Without it: who needs these looks them up here each time. Gives what ends that.
        """
        following = tuple(tuple(each.split(".")) for each in sections), take
        self._following.append(following)
        return lambda: self._following.remove(following)

    def on_read(self, take: ApplySettings) -> None:
        """Have `take` be given all that is read, before anything is done with it: also what is not in force yet."""
        self._told.append(take)

    def on_restart_check(self, differs: Callable[["Settings"], tuple[str, ...]]) -> None:
        """Have `differs` name what follows from settings but would be different only after a restart."""
        self._indirect.append(differs)

    async def pending_changes(self) -> SettingsChanges:
        """What file and environment say by now that is not in force. Raises ConfigError where they cannot be used."""
        return self._compare(await self._read_fresh())

    async def reload(self) -> SettingsChanges:
        """Put in force what can be; tell what that was, and what has to wait for a restart.

        Raises ConfigError where the settings cannot be used: then nothing has changed.
        """
        async with self._one_at_a_time:
            fresh = await self._read_fresh()
            changes = self._compare(fresh)
            if changes.live:
                self._apply(fresh)
            return changes

    async def _read_fresh(self) -> "Settings":
        fresh = await asyncio.to_thread(self._read, self.settings)
        for take in self._told:
            take(fresh)
        return fresh

    def _compare(self, fresh: "Settings") -> SettingsChanges:
        differing = list(_find_differing(self.settings, fresh))
        restart = [format_key(keys) for keys in differing if not self._is_followed(keys)]
        restart += [name for differs in self._indirect for name in differs(fresh) if name not in restart]
        return SettingsChanges(
            tuple(format_key(keys) for keys in differing if self._is_followed(keys)), tuple(restart)
        )

    def _apply(self, fresh: "Settings") -> None:
        """All at once: nothing else of the event loop runs meanwhile, so that nobody sees half of it."""
        before = self.settings
        differing = [keys for keys in _find_differing(before, fresh) if self._is_followed(keys)]
        after: Settings = self._keep_unfollowed(fresh, before, ())
        taking = [
            take
            for sections, take in self._following
            if any(_is_in_section(keys, section) for keys in differing for section in sections)
        ]
        done: list[ApplySettings] = []
        self.settings = after
        try:
            for take in taking:
                done.append(take)
                take(after)
        except BaseException:
            self.settings = before
            for take in done[:-1]:
                take(before)
            raise

    def _keep_unfollowed(self, fresh: Any, old: Any, keys: Keys) -> Any:
        """The new settings, but what nobody follows is as it was."""
        from pydantic import BaseModel

        kept = {}
        for name in type(fresh).model_fields:
            now, before, path = getattr(fresh, name), getattr(old, name), (*keys, name)
            if now == before or self._is_followed(path):
                continue
            kept[name] = self._keep_unfollowed(now, before, path) if isinstance(now, BaseModel) else before
        return fresh.model_copy(update=kept)

    def _is_followed(self, keys: Keys) -> bool:
        return any(_is_in_section(keys, section) for sections, _ in self._following for section in sections)


@asynccontextmanager
async def reload_on_hangup(current: LiveSettings, supervisor: "Supervisor") -> AsyncIterator[None]:
    """Read the settings anew at each SIGHUP; one that comes since the terminal is gone ends the program instead."""
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
                log.info("%s", format_changes(await current.reload()))
            except ConfigError as error:
                log.error("%s", phrases.CONFIG_UNUSABLE.format(reason=error))

    signal.signal(signal.SIGHUP, hang_up)
    task = supervisor.start("settings reload", reload)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        signal.signal(
            signal.SIGHUP, signal.SIG_IGN
        )  # the program is leaving, and nothing is to cut that short


def format_changes(changes: SettingsChanges) -> str:
    """What has become of settings that were read anew."""
    told = [phrases.CONFIG_TAKEN.format(keys=", ".join(changes.live))] if changes.live else []
    if changes.restart:
        told.append(phrases.CONFIG_AFTER_RESTART.format(keys=", ".join(changes.restart)))
    return " ".join(told) or phrases.CONFIG_SAME


def _find_differing(old: "BaseModel", new: "BaseModel", keys: Keys = ()) -> Iterator[Keys]:
    """The key of each setting that is not the same; of a table that has come or gone, its own."""
    from pydantic import BaseModel

    for name in type(old).model_fields:
        before, after, path = getattr(old, name), getattr(new, name), (*keys, name)
        if before == after:
            continue
        if isinstance(before, BaseModel):
            yield from _find_differing(before, after, path)
        elif isinstance(before, dict):
            for entry in {**before, **after}:
                if entry in before and entry in after:
                    yield from _find_differing(before[entry], after[entry], (*path, entry))
                else:
                    yield (*path, entry)
        else:
            yield path


def _is_in_section(keys: Keys, section: Keys) -> bool:
    return keys[: len(section)] == section
