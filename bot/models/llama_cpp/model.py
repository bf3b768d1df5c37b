"""A local chat model as a `LanguageModel`: one process with the file loaded, one answer at a time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

from bot.models.answer_deadline import AnswerDeadline
from bot.models.errors import (
    BadRequest,
    ContextTooLong,
    EmptyAnswer,
    ModelError,
    ModelNotFound,
    Overloaded,
    ServerFailed,
    TimedOut,
    error_of_kind,
)
from bot.models.llama_cpp.chat import chat_of, tools_of
from bot.models.llama_cpp.output_parser import OutputParser
from bot.models.llama_cpp.worker_process import WorkerDied, WorkerEvent, WorkerProcess
from bot.models.options import ModelOptions
from bot.models.protocol import Answer, AssistantMessage, ModelRequest, TextDelta, Usage
from bot.models.timeouts import Timeouts
from memory.disk import reason
from memory.embeddings.model_files import GGUF

LOAD_SECONDS = 300.0
"""Maximum seconds to load a file: 40 GB from a slow disk."""
STOP_SECONDS = 2.0
"""Seconds that a process may take to stop before it is killed."""
UNLOAD_SECONDS = 900.0
"""Seconds without a request after which the memory is released."""


def open_llama_cpp(options: ModelOptions, model_path: Path) -> "LlamaCppModel":
    """Return the model of this file; nothing is read or started before the first request."""
    return LlamaCppModel(options, model_path)


class LlamaCppModel:
    """Loads its file on the first request, and keeps it loaded while it is used.

    Requests wait for each other, in order, for at most `limits.first_token`; then the model counts as
    overloaded. Loading has a limit of its own. The other limits start when a loaded model gets the request.
    Each part of the prompt that it has read counts as progress, so only `limits.begin` bounds the reading;
    what it has read stays cached for the next attempt. If a request is cancelled while the model loads,
    loading goes on for the next one.
    """

    def __init__(
        self,
        options: ModelOptions,
        model_path: Path,
        *,
        load_seconds: float = LOAD_SECONDS,
        stop_seconds: float = STOP_SECONDS,
        unload_seconds: float = UNLOAD_SECONDS,
    ) -> None:
        self._options = options
        self._path = model_path
        self._load_seconds = load_seconds
        self._stop_seconds = stop_seconds
        self._unload_seconds = unload_seconds
        self._turn = asyncio.Lock()
        self._child: WorkerProcess | None = None
        self._unloading: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """`provider/model`, as in the chain."""
        return self._options.name

    @property
    def pid(self) -> int | None:
        """Process id of the worker with the model; None if it does not run."""
        return None if self._child is None or self._child.has_ended else self._child.pid

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        """Ask, and yield the answer as it comes. Raises ModelError if there is none."""
        try:
            ask = self._ask(request)
        except ValueError as error:
            raise BadRequest(str(error), model=self.name) from error
        asked = asyncio.get_running_loop().time()
        await self._acquire()
        try:
            child = await self._load_worker()
            answering = _AnswerSoFar(self._options.limits)
            waited = asyncio.get_running_loop().time() - asked
            reader = OutputParser(request.tools)
            child.send({"ask": ask})
            event: WorkerEvent = {}
            try:
                while not _is_last(event):
                    answering.deadline.check_total()
                    event = await child.next_event(answering.deadline.expires_at())
                    if event.get("in_thought"):
                        reader = OutputParser(request.tools, in_thought=True)
                    text = reader.end() if "end" in event else reader.feed(event.get("text", ""))
                    answering.add_event(event, begun=reader.begun)
                    if text:
                        answering.text += text
                        yield TextDelta(text)
            except TimeoutError as error:
                raise TimedOut(answering.deadline.describe(), model=self.name) from error
            finally:
                if not _is_last(event):
                    await self._stop(child)
            if "error" in event:
                raise self._error(event)
            yield self._answer(answering, reader, waited)
        except WorkerDied as death:
            raise self._death_error(death) from death
        finally:
            self._release()

    async def close(self) -> None:
        """End the process; pending requests fail."""
        self._closed = True
        self._schedule_unload()
        if self._child:
            self._child.kill()
            await self._child.wait_closed()

    # -- queueing ----------------------------------------------------------------------------------------

    async def _acquire(self) -> None:
        limit = self._options.limits.first_token
        try:
            async with asyncio.timeout(limit):
                await self._turn.acquire()
        except TimeoutError as error:
            raise Overloaded(f"was busy with other answers for {limit:g} s", model=self.name) from error
        self._schedule_unload()

    def _release(self) -> None:
        self._turn.release()
        if not self._closed:
            self._unloading = asyncio.get_running_loop().call_later(self._unload_seconds, self._unload)

    def _schedule_unload(self) -> None:
        if self._unloading:
            self._unloading.cancel()
            self._unloading = None

    def _unload(self) -> None:
        if self._child and not self._turn.locked():
            self._child.kill()

    # -- the process -------------------------------------------------------------------------------------

    async def _load_worker(self) -> WorkerProcess:
        """Return the process with the model loaded. Raises ModelError or WorkerDied."""
        if self._closed:
            raise ServerFailed("was closed", model=self.name)
        if self._child and self._child.has_ended:
            await self._child.wait_closed()
            self._child = None
        if self._child is None:
            self._check_gguf()
            try:
                self._child = await WorkerProcess.start(self._path, self._options.context_window)
            except OSError as error:
                raise ServerFailed(f"cannot be started: {reason(error)}", model=self.name) from error
        child = self._child
        if self._closed:  # closed while it was starting
            child.kill()
        if not child.window:
            try:
                event = await child.next_event(child.started + self._load_seconds)
            except TimeoutError as error:
                child.kill()
                words = f"was not loaded within {self._load_seconds:g} s"
                raise TimedOut(words, model=self.name) from error
            if "error" in event:
                child.kill()
                raise self._error(event)
            child.window = event["loaded"]
        return child

    def _check_gguf(self) -> None:
        fix = "correct the provider's model_path"
        try:
            with self._path.open("rb") as file:
                start = file.read(len(GGUF))
        except FileNotFoundError:
            raise ModelNotFound(f"there is no file {self._path}: {fix}", model=self.name) from None
        except OSError as error:
            words = f"{self._path} cannot be read ({reason(error)}): {fix}"
            raise ModelNotFound(words, model=self.name) from error
        if start != GGUF:
            raise ModelNotFound(f"{self._path} is not a GGUF file: {fix}", model=self.name)

    async def _stop(self, child: WorkerProcess) -> None:
        """Have the process stop its answer, or else kill the process."""
        child.send({"stop": True})
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._stop_seconds
        event: WorkerEvent = {}
        with suppress(TimeoutError, WorkerDied):
            try:
                while not _is_last(event) and loop.time() < deadline:
                    event = await child.next_event(deadline)
            finally:
                if not _is_last(event):
                    child.kill()

    # -- messages ----------------------------------------------------------------------------------------

    def _ask(self, request: ModelRequest) -> dict[str, object]:
        effort = self._options.reasoning_effort
        thinking = {} if effort is None else {"reasoning_effort": effort, "enable_thinking": effort != "none"}
        return {
            "messages": chat_of(request),
            "tools": tools_of(request.tools),
            "settings": thinking,
            "temperature": self._options.temperature,
            "max_tokens": self._options.max_tokens,
        }

    def _answer(self, answering: "_AnswerSoFar", reader: OutputParser, waited: float) -> Answer:
        if not answering.text and not reader.calls:
            why = " before it had finished reasoning" if answering.cut_short and not reader.begun else ""
            raise EmptyAnswer(f"wrote nothing{why}", model=self.name)
        return Answer(
            AssistantMessage(answering.text, tuple(reader.calls), self.name),
            answering.usage,
            cut_short=answering.cut_short,
            first_token_seconds=waited + answering.deadline.first_token,
        )

    def _error(self, event: WorkerEvent) -> ModelError:
        kind = error_of_kind(event["error"])
        if kind is ContextTooLong:
            return ContextTooLong(event["detail"], model=self.name, window=event["window"])
        return kind(event["detail"], model=self.name)

    def _death_error(self, death: WorkerDied) -> ModelError:
        return ServerFailed("was closed" if self._closed else f"ended {death}", model=self.name)


class _AnswerSoFar:
    def __init__(self, limits: Timeouts) -> None:
        self.text = ""
        self.usage = Usage()
        self.cut_short = False
        self.deadline = AnswerDeadline(limits)

    def add_event(self, event: WorkerEvent, *, begun: bool) -> None:
        """Add what arrived; `begun`: the answer itself has begun."""
        match event:
            case {"begin": tokens, "known": known}:
                self.usage = Usage(input_tokens=tokens, cached_tokens=known)
            case {"text": _}:
                self.deadline.record_progress("answering" if begun else "thinking")
            case {"end": how, "written": written}:
                self.usage += Usage(output_tokens=written)
                self.cut_short = how == "length"
        self.deadline.record_life()


def _is_last(event: WorkerEvent) -> bool:
    return "end" in event or "error" in event
