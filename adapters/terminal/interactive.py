"""The interactive terminal: a line editor with history and completion, and replies shown as they grow."""

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
STOP = "/stop"


class InteractiveTerminal:
    """A person at a terminal. Ctrl-C stops the running turn; Ctrl-D and `exit` leave."""

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
        how_to_leave: str,
        language: str = "",
    ) -> None:
        """`commands`: names and descriptions for completion after a slash; `language`: as in IncomingMessage."""
        self.name = chat.channel
        self._chat = chat
        self._sender = sender
        self._now = now
        self._stop = stop
        self._commands = commands
        self._history = history
        self._greeting = greeting
        self._how_to_leave = how_to_leave
        self._language = language
        # The terminal itself, even while standard output is patched for the line editor.
        self._console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
        self._answered: dict[str, asyncio.Event] = {}
        self._session: PromptSession[str] | None = None
        self._context = copy_context()

    async def run(self, accept: AcceptMessage) -> None:
        """Prompt for messages and wait for their replies until the person leaves."""
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
        # Always raw: a key pressed between two prompts would otherwise be lost or raise a signal.
        with session.app.input.raw_mode():
            while (text := await self._next_line(session)) is not None:
                if is_exit(text):
                    return
                if text:
                    await self._say(text, accept, session)

    async def _next_line(self, session: PromptSession[str]) -> str | None:
        """Return the next input, possibly ""; None at the end."""
        try:
            with _print_logs_above():
                return strip_controls(await session.prompt_async(handle_sigint=False)).strip()
        except KeyboardInterrupt:
            self._console.print(self._how_to_leave, style="dim")
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
            language=self._language,
            alone=True,
        )
        answered = self._answered[message.id] = asyncio.Event()
        try:
            with self._keep_typed_keys(session):
                await accept(message)
                await answered.wait()
        except NotAccepted as error:  # the input can be recalled from the history
            self._console.print(str(error), style="red", markup=False)
        finally:
            del self._answered[message.id]

    @property
    def health(self) -> ChannelHealth:
        """Always up: the channel ends with its terminal."""
        return ChannelHealth("up")

    def home_of(self, person: PersonId) -> ChatId | None:
        """Return None: the terminal only shows replies to its own messages."""
        del person
        return None

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        """Raise AttachmentLost: lines have no attachments."""
        raise AttachmentLost

    def serves(self, chat: ChatId) -> bool:
        """Return whether this is the terminal's chat."""
        return chat == self._chat

    async def render(self, reply: Reply) -> None:
        """Show a reply as it grows; an unexpected one is shown above the line being typed."""
        answered = self._answered.get(reply.to.id) if reply.to else None
        if answered is None:
            asked = reply.to.text if reply.to else ""  # asked before a crash and answered now
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
            # The reply's task has another context, which lacks the line editor.
            await asyncio.create_task(show_in_place(), context=self._context)
        else:
            show_both()

    @contextmanager
    def _keep_typed_keys(self, session: PromptSession[str]) -> Iterator[None]:
        """During a turn, stop it on Ctrl-C and /stop, and keep other keys for the next line without echo."""
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
    """Show log lines above the line being typed instead of within it."""
    return patch_stdout(raw=True) if sys.stderr.isatty() and not is_dumb_terminal() else nullcontext()


def _keys_to_text(keys: Iterable[KeyPress]) -> str:
    """Return the last line that the keys form."""
    return "".join(press.data for press in keys).rpartition("\r")[2].strip().lower()


def _drop_last_line(keys: list[KeyPress]) -> None:
    """Drop the unfinished line; complete ones will be sent."""
    while keys and keys[-1].key != Keys.ControlM:
        keys.pop()


class _DumbOutput(Vt100_Output):
    """For terminals without escape sequences; prompt-toolkit would send one anyway."""

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
    """The history in a file; errors of the disk only cost the history."""

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
