"""The terminal as a person uses it: a line with history and completion, replies that grow."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import copy_context
from datetime import datetime
from pathlib import Path
from secrets import token_hex

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session, run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.utils import is_dumb_terminal
from rich.console import Console

from adapters.terminal.exit_words import is_exit
from adapters.terminal.rendering import show, show_growing
from bot.messages import (
    AcceptMessage,
    Attachment,
    AttachmentLost,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    NotAccepted,
    PersonId,
    Reply,
    WriteChunk,
)
from bot.sanitize import strip_controls

PROMPT = "› "
HOW_TO_LEAVE = "To leave, type exit or press Ctrl-D."
STOP = "/stop"


class InteractiveTerminal:
    """A person at a real terminal. Ctrl-C stops the turn that runs; Ctrl-D and `exit` leave."""

    def __init__(
        self,
        *,
        chat: ChatId,
        sender: PersonId,
        now: Callable[[], datetime],
        stop: Callable[[ChatId], Awaitable[bool]],
        commands: Mapping[str, str],
        history: Path,
        greeting: str,
    ) -> None:
        """`commands` is what Tab offers after a slash: names and what they do."""
        self.name = chat.channel
        self._chat = chat
        self._sender = sender
        self._now = now
        self._stop = stop
        self._commands = commands
        self._history = history
        self._greeting = greeting
        # The terminal itself, also while something stands in for standard output that writes where the cursor is.
        self._console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
        self._answered: dict[str, asyncio.Event] = {}
        self._session: PromptSession[str] | None = None
        self._context = copy_context()

    async def run(self, accept: AcceptMessage) -> None:
        """Prompt, hand over, wait for the reply, until the person leaves."""
        with create_app_session(output=_make_output()):
            self._context = copy_context()
            await self._run_dialog(accept)

    async def _run_dialog(self, accept: AcceptMessage) -> None:
        session: PromptSession[str] = PromptSession(
            PROMPT,
            history=_open_history(self._history),
            completer=_CommandCompleter(self._commands),
            key_bindings=_make_key_bindings(),
            complete_while_typing=True,
            enable_suspend=True,
        )
        self._session = session
        self._console.print(self._greeting, style="dim", markup=False, soft_wrap=True)
        # Raw from beginning to end: a key that is pressed between two prompts would else be lost, or be a signal.
        with session.app.input.raw_mode():
            while (text := await self._next_line(session)) is not None:
                if is_exit(text):
                    return
                if text:
                    await self._say(text, accept, session)

    async def _next_line(self, session: PromptSession[str]) -> str | None:
        """Give what was typed, which may be nothing; None at the end."""
        try:
            with _print_logs_above():
                return strip_controls(await session.prompt_async(handle_sigint=False)).strip()
        except KeyboardInterrupt:
            self._console.print(HOW_TO_LEAVE, style="dim")
            return ""
        except EOFError:
            return None

    async def _say(self, text: str, accept: AcceptMessage, session: PromptSession[str]) -> None:
        message = IncomingMessage(
            id=token_hex(8),
            chat=self._chat,
            sender=self._sender,
            text=text,
            sent_at=self._now(),
            alone=True,
        )
        answered = self._answered[message.id] = asyncio.Event()
        try:
            with self._keep_typed_keys(session):
                await accept(message)
                await answered.wait()
        except NotAccepted as error:  # what was typed is in the history, an arrow up away
            self._console.print(str(error), style="red", markup=False)
        finally:
            del self._answered[message.id]

    @property
    def health(self) -> ChannelHealth:
        """Tell that it is up: a terminal that is gone has ended."""
        return ChannelHealth("up")

    def home_of(self, person: PersonId) -> ChatId | None:
        """Nobody is told anything here that was not said here."""
        del person
        return None

    async def fetch(self, attachment: Attachment, write: WriteChunk, *, most: int) -> None:
        """Refuse: nothing comes along with a line."""
        raise AttachmentLost

    def serves(self, chat: ChatId) -> bool:
        """Tell whether a chat is the one that is held here."""
        return chat == self._chat

    async def render(self, reply: Reply) -> None:
        """Show a reply as it grows; what was not asked for just now, above the line that is being typed."""
        answered = self._answered.get(reply.to.id) if reply.to else None
        if answered is None:
            asked = reply.to.text if reply.to else ""  # before a crash, and answered only now
            await self._show_above(asked, "".join([part.text async for part in reply.parts][-1:]))
            return
        try:
            await show_growing(self._console, reply.parts)
        finally:
            answered.set()

    async def _show_above(self, asked: str, text: str) -> None:
        def show_both() -> None:
            if asked:
                self._console.print(PROMPT + strip_controls(asked), style="dim", markup=False)
            show(self._console, text)

        async def show_in_place() -> None:
            await run_in_terminal(show_both)

        if self._session is not None and self._session.app.is_running:
            # Whoever has something to show runs elsewhere, where nothing is known of the line that is being typed.
            await asyncio.create_task(show_in_place(), context=self._context)
        else:
            show_both()

    @contextmanager
    def _keep_typed_keys(self, session: PromptSession[str]) -> Iterator[None]:
        """While a turn runs, Ctrl-C and /stop stop it; what else is typed is kept for the next line and not echoed."""
        source, kept, stopping = session.app.input, list[KeyPress](), set[asyncio.Task[bool]]()

        def read() -> None:
            for press in source.read_keys():
                if press.key == Keys.ControlC or (press.key == Keys.ControlM and _keys_to_text(kept) == STOP):
                    _drop_last_line(kept)
                    stopping.add(task := asyncio.ensure_future(self._stop_turn()))
                    task.add_done_callback(stopping.discard)
                else:
                    kept.append(press)

        with source.attach(read):
            yield
        store_typeahead(source, [*kept, *source.flush_keys()])

    async def _stop_turn(self) -> bool:
        return await self._stop(self._chat)


def _print_logs_above() -> AbstractContextManager[None]:
    """Have log lines appear above the line that is being typed instead of in the middle of it."""
    return patch_stdout(raw=True) if sys.stderr.isatty() and not is_dumb_terminal() else nullcontext()


def _keys_to_text(keys: Iterable[KeyPress]) -> str:
    """The line that they would make."""
    return "".join(press.data for press in keys).rpartition("\r")[2].strip().lower()


def _drop_last_line(keys: list[KeyPress]) -> None:
    """Take away what is not entered yet; lines that are will be said."""
    while keys and keys[-1].key != Keys.ControlM:
        keys.pop()


class _DumbOutput(Vt100_Output):
    """For a terminal that knows no escape sequences; prompt-toolkit sends it one all the same."""

    def show_cursor(self) -> None:
        pass


def _make_output() -> Output | None:
    return _DumbOutput.from_pty(sys.stdout, term="dumb") if is_dumb_terminal() else None


class _CommandCompleter(Completer):
    def __init__(self, commands: Mapping[str, str]) -> None:
        self._commands = commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        del complete_event
        typed = document.text
        if not typed.startswith("/"):
            return
        for name, help_text in self._commands.items():
            if f"/{name}".startswith(typed.lower()):
                yield Completion(f"/{name} ", start_position=-len(typed), display_meta=help_text)


def _make_key_bindings() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt(), style="class:aborting")

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


class _PrivateHistory(FileHistory):
    """Lines typed before; a disk that takes no more costs the history, not the talk."""

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(strip_controls(string))


def _open_history(path: Path) -> History:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError:
        return InMemoryHistory()
    return _PrivateHistory(str(path))
