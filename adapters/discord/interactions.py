"""Accept commands and button presses, and acknowledge each one before Discord gives up on it."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from weakref import WeakValueDictionary

import discord
from discord import InteractionType
from discord.app_commands import Choice

from adapters.discord.autocomplete import Autocomplete, Suggestion
from adapters.discord.connection_health import describe_error
from adapters.discord.incoming import ReceivedMessage
from adapters.discord.incoming_interaction import ReceivedInteraction, read_interaction, read_partial_command
from bot import phrases
from bot.commands.command import Command
from bot.language.codes import closest_language
from bot.language.current import speaking
from bot.messages import ChatId, IncomingMessage, NotAccepted, PersonId
from bot.recent_dict import RecentDict
from bot.sanitize import one_line
from bot.state.database import StateFault
from bot.tasks import BackgroundTasks
from memory.errors import MemoryFault

log = logging.getLogger(__name__)

ACKNOWLEDGE_SECONDS = 1.5
"""Seconds after which a command not yet stored is acknowledged; Discord gives up after three."""
CALL_SECONDS = 10.0
"""Seconds spent on sending an answer; after that nobody waits for it."""
PAUSES = (0.2, 0.6)
"""Seconds before each retry of an answer that failed in transit."""
COMPLETE_SECONDS = 2.0
COMPLETED_AT_ONCE = 8
"""Further requests get no suggestions; the next key press asks again."""
REPEATED_PRESS_SECONDS = 5.0
"""Seconds within which a second press of a button counts as the same one: a double click or a slow answer."""
MAX_PRESSES = 1000
ACKNOWLEDGED_ALREADY = 40060
TOO_LATE = 10062

SendAnswer = Callable[[], Awaitable[object]]


class Interactions:
    """Accepts commands and button presses, and answers those that get no Reply."""

    def __init__(
        self,
        accept: Callable[[ReceivedMessage], Awaitable[bool]],
        *,
        commands: Sequence[Command],
        completion: Autocomplete,
        timeout_seconds: float = ACKNOWLEDGE_SECONDS,
        call_seconds: float = CALL_SECONDS,
        complete_seconds: float = COMPLETE_SECONDS,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        """`accept`: like AcceptMessage of `bot.messages`, but with the sender's roles."""
        self._accept = accept
        self._commands = {command.name: command for command in commands}
        self._completion = completion
        self._acknowledge_after = timeout_seconds
        self._call_seconds = call_seconds
        self._complete_seconds = complete_seconds
        self._pauses = pauses
        self._tasks = BackgroundTasks()
        self._unacknowledged: dict[str, asyncio.Event] = {}
        """By message; removed once Discord was told or that was given up."""
        self._locks: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()
        """One after another in each chat, in order of arrival."""
        self._completing = 0
        self._pressed: RecentDict[tuple[int, PersonId, str], float] = RecentDict(MAX_PRESSES)
        """Last press of each button, by message, person and command."""

    def listen(self, client: discord.Client) -> None:
        """Register for the client's interactions."""

        async def on_interaction(interaction: discord.Interaction) -> None:
            self.handle(interaction)

        client.event(on_interaction)

    def handle(self, interaction: discord.Interaction) -> None:
        """Start handling an interaction; what is answered at once is in the language of the sender's app."""
        with speaking(closest_language(interaction.locale.value)):
            self._start(interaction)

    def _start(self, interaction: discord.Interaction) -> None:
        if interaction.type is InteractionType.autocomplete:
            self._tasks.start(self._autocomplete(interaction))
        elif interaction.type in (InteractionType.application_command, InteractionType.component):
            try:
                asked = read_interaction(interaction, self._commands)
            except Exception:
                log.exception("could not read a command")
                self._tasks.start(self._refuse(interaction, phrases.OUR_FAULT))
                return
            if asked is None:
                self._tasks.start(self._refuse(interaction, phrases.NO_ANSWER_HERE))
                return
            if asked.is_anothers:
                self._tasks.start(self._refuse(interaction, phrases.NOT_YOUR_BUTTONS))
                return
            if self._is_pressed_again(asked):
                self._tasks.start(self._send_answer(interaction.response.defer))
                return
            self._unacknowledged[asked.said.message.id] = asyncio.Event()
            self._tasks.start(self._handle(interaction, asked))

    async def acknowledged(self, message: IncomingMessage) -> None:
        """Wait until an interaction is acknowledged or never will be; call this before answering it.

        Returns at once for one that an earlier process accepted, as nothing is known about it.
        """
        if waiting := self._unacknowledged.get(message.id):
            await waiting.wait()

    async def close(self) -> None:
        """Stop; accepted interactions stay accepted."""
        self._tasks.cancel()
        await self._tasks.wait()

    # -- commands and presses -------------------------------------------------------------------------------

    async def _handle(self, interaction: discord.Interaction, received: ReceivedInteraction) -> None:
        message = received.said.message
        accepting = asyncio.create_task(self._try_accept(received.said))
        try:
            await asyncio.wait([accepting], timeout=self._acknowledge_after)
            if not accepting.done() or not accepting.result():
                await self._send_answer(lambda: _send_deferred(interaction, received))
                self._set_acknowledged(message)
                if refusal := await accepting:
                    self._pressed.pop(_press_key(received), None)
                    await self._send_answer(lambda: _send_late(interaction, received, refusal))
            else:
                self._pressed.pop(_press_key(received), None)
                await self._refuse(interaction, accepting.result())
        finally:
            accepting.cancel()
            self._set_acknowledged(message)

    async def _try_accept(self, received: ReceivedMessage) -> str:
        """Accept an interaction; return "" if a Reply follows, otherwise a text that hides the reason."""
        lock = self._locks.setdefault(received.message.chat, asyncio.Lock())
        try:
            async with lock:
                return "" if await self._accept(received) else phrases.NO_ANSWER_HERE
        except NotAccepted as problem:
            log.warning("a command in %s was not accepted: %s", received.message.chat, one_line(str(problem)))
            return phrases.NOT_SAVED
        except Exception:
            log.exception("a command in %s was not accepted", received.message.chat)
            return phrases.OUR_FAULT

    def _is_pressed_again(self, received: ReceivedInteraction) -> bool:
        """Record a press; return whether it repeats the previous one."""
        if not received.answerable.buttons:
            return False
        key, now = _press_key(received), time.monotonic()
        before = self._pressed.get(key)
        if before is not None and now - before < REPEATED_PRESS_SECONDS:
            return True
        self._pressed[key] = now
        return False

    def _set_acknowledged(self, message: IncomingMessage) -> None:
        if waiting := self._unacknowledged.pop(message.id, None):
            waiting.set()

    async def _refuse(self, interaction: discord.Interaction, text: str) -> None:
        """Send a first answer that only the sender sees."""
        await self._send_answer(lambda: interaction.response.send_message(text, ephemeral=True))

    async def _send_answer(self, answer: SendAnswer) -> None:
        """Send an answer with retries; a failure is logged."""
        fault: Exception = TimeoutError()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._call_seconds):
                for pause in (*self._pauses, None):
                    try:
                        await answer()
                    except discord.HTTPException as error:
                        if error.code == ACKNOWLEDGED_ALREADY:
                            return  # the first attempt had arrived
                        fault = error
                        if error.status < 500 and error.status != 429:
                            break
                    except Exception as error:  # noqa: BLE001 - such as a session closed for a new one
                        fault = error  # the interaction was accepted in any case
                    else:
                        return
                    if pause is not None:
                        await asyncio.sleep(pause)
        is_late = isinstance(fault, discord.HTTPException) and fault.code == TOO_LATE
        why = "it arrived too late" if is_late else describe_error(fault)
        log.warning("could not acknowledge a command: %s", one_line(why))

    # -- autocomplete ---------------------------------------------------------------------------------------

    async def _autocomplete(self, interaction: discord.Interaction) -> None:
        offers: list[Suggestion] = []
        if self._completing < COMPLETED_AT_ONCE:
            self._completing += 1
            try:
                async with asyncio.timeout(self._complete_seconds):
                    offers = await self._make_suggestions(interaction)
            except (StateFault, MemoryFault, OSError) as fault:  # includes TimeoutError
                log.debug("no suggestions: %s", one_line(str(fault) or "it took too long"))
            except Exception:
                log.exception("could not make suggestions")
            finally:
                self._completing -= 1
        choices = [Choice(name=offer.label, value=offer.value) for offer in offers]
        with suppress(Exception):  # suggestions are optional
            async with asyncio.timeout(self._complete_seconds):
                await interaction.response.autocomplete(choices)

    async def _make_suggestions(self, interaction: discord.Interaction) -> list[Suggestion]:
        asked = read_interaction(interaction, self._commands)
        return await self._completion.offers(asked.said, read_partial_command(interaction)) if asked else []


def _press_key(received: ReceivedInteraction) -> tuple[int, PersonId, str]:
    message = received.said.message
    return received.answerable.buttons, message.sender, message.text


async def _send_deferred(interaction: discord.Interaction, received: ReceivedInteraction) -> None:
    """Announce a later answer: in a new message, or in place of the one with the buttons."""
    answerable = received.answerable
    await interaction.response.defer(
        ephemeral=answerable.private and not answerable.replaces, thinking=not answerable.replaces
    )


async def _send_late(interaction: discord.Interaction, received: ReceivedInteraction, text: str) -> None:
    """Send text in place of the announced answer; next to the buttons if those stay."""
    if received.answerable.replaces:
        await interaction.followup.send(text, ephemeral=True)
    else:
        await interaction.edit_original_response(content=text)
