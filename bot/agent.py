"""The agent loop: ask the model, run its tools, repeat until it has answered."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from bot import phrases
from bot.conversations.conversation import Conversation, find_open_calls, interrupted_result
from bot.false_claims import deny_false_claims
from bot.messages import ReplyPart
from bot.metrics import UNKNOWN_TOOL, Metrics
from bot.model_error_text import explain_fallback
from bot.models.errors import ContextTooLong, EmptyAnswer, ModelError
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    LanguageModel,
    Message,
    ModelRequest,
    StartedOver,
    TextDelta,
    ToolCall,
    ToolResult,
    UserMessage,
)
from bot.models.tool_calls import new_call_id
from bot.prompt import room_prompt
from bot.requested_notes import RequestedNotes
from bot.state.database import run_to_completion
from bot.tools.toolbox import Toolbox, ToolUse
from bot.turn_context import TurnContext

log = logging.getLogger(__name__)

LAST_STEP_PROMPT = (
    "This is the last step of this turn, without tools: answer with what you have, and say what is missing."
)

HIDDEN_RESULT = '{"note": "Not shown here: it comes from notes that the people in this turn may not use."}'

MAX_CALLS_PER_STEP = 20
"""Further calls of one step are dropped, and the model sees that."""
MAX_CALLS_PER_TURN = 100
"""After these the model has to answer, so that nobody can make it flood the notes."""
SHOWN_PIECEWISE_CHARS = 4_000
"""Characters up to which each piece of a growing reply is shown by itself. Of a longer reply several pieces are shown
together, since each update joins the whole reply."""
SHOWN_FRACTION = 64
"""One part in this many of a longer reply has to be new before it is shown again."""
TYPING_PLACEHOLDER = "…"
"""Shown as long as there is no text."""
STOP_GRACE = 1.0
"""Seconds that running tools have to end after a stop."""


class Agent:
    """A model, its tools, and the prompt of each turn."""

    def __init__(
        self,
        model: LanguageModel,
        toolbox: Toolbox,
        *,
        prompt: Callable[[str], str],
        steps_per_turn: int,
        tokens_per_turn: int = 0,
        make_room: Callable[[Conversation], Awaitable[object]] | None = None,
        recall: Callable[[Conversation, str], Awaitable[object]] | None = None,
        metrics: Metrics | None = None,
        closed: Collection[str] = (),
        requested_notes: RequestedNotes | None = None,
    ) -> None:
        """`prompt` gets what the conversation recalls of the notes; `tokens_per_turn`: 0 for no limit.

        `make_room` compacts a conversation that is too long for every model; without it, requests are truncated.
        `recall` stores what the notes say about the latest messages, given the model to ask first; without it, nothing
        that was recalled is shown.
        `closed`: names of tools whose calls and results, in turns of other people in the chat, are hidden.
        `requested_notes` writes what people ask to remember and the model does not; None without the memory.
        """
        self._model = model
        self._toolbox = toolbox
        self._tool_names = frozenset(spec.name for spec in toolbox.specs)
        self._prompt = prompt
        self._steps_per_turn = steps_per_turn
        self._tokens_per_turn = tokens_per_turn
        self._make_room = make_room
        self._recall = recall
        self._metrics = metrics or Metrics()
        self._closed = frozenset(closed)
        self._requested_notes = requested_notes

    def set_limits(self, *, steps_per_turn: int, tokens_per_turn: int) -> None:
        """Use these limits for later turns; running turns keep theirs."""
        self._steps_per_turn = steps_per_turn
        self._tokens_per_turn = tokens_per_turn

    async def run_turn(
        self, conversation: Conversation, context: TurnContext
    ) -> AsyncGenerator[ReplyPart, None]:
        """Answer the end of a loaded conversation: yield the reply as it grows; the last part is `final`, never blank.

        A turn that a crash interrupted goes on after its last stored step. However a turn ends, what was shown is
        stored by then, with a result for each call; only a turn that is parked or waits for the disk keeps its calls
        open. Raises ModelError, StateFault.
        """
        await context.add_messages(conversation)
        if self._requested_notes:
            await self._requested_notes.settle(conversation, context)
        done = context.load_progress(conversation)
        progress = _TurnProgress.before(done, prefer=context.prefer)
        if _has_ended(done):  # only that was not marked
            told = await self._end_notes(conversation, context, progress)
            yield ReplyPart(_join_texts(*progress.texts, told), final=True)
            return
        try:
            if self._recall and not progress.texts:
                await self._recall(conversation, context.prefer)
            if calls := find_open_calls(done):
                await self._run_calls(conversation, calls, context)
            async with aclosing(self._run_steps(conversation, context, progress)) as parts:
                async for part in parts:
                    yield part
            told = await self._end_notes(conversation, context, progress)
            reply = _join_texts(progress.reply(prefer=context.prefer), told)
            progress.end()
            await conversation.append(*progress.last_step, also=context.mark_answered(reply))
        except BaseException as error:
            told = ""
            if isinstance(error, ModelError) and not context.parked:
                told = await self.write_requested(conversation, context, model=progress.next_model)
            if not context.parked:
                stopped = isinstance(error, asyncio.CancelledError | GeneratorExit)
                ended = _join_texts(*progress.texts, progress.shown, phrases.STOPPED_HERE)
                await conversation.interrupt(
                    progress.shown,
                    [interrupted_result(call) for call in progress.unanswered],
                    also=context.mark_answered(ended) if stopped else None,
                )
            if told:
                yield ReplyPart(_join_texts(*progress.texts, progress.shown, told))
            raise
        yield ReplyPart(reply, final=True)

    async def write_requested(self, conversation: Conversation, context: TurnContext, *, model: str) -> str:
        """Write what was asked to be remembered and is not written yet; return what the person is told, or "".

        `model`: the one that answered, as `provider/model`. Raises StateFault.
        """
        if self._requested_notes is None:
            return ""
        return _join_texts(*await self._requested_notes.write(conversation, context, model=model))

    async def _end_notes(
        self, conversation: Conversation, context: TurnContext, progress: "_TurnProgress"
    ) -> str:
        """Write what was asked to be remembered; return what the person is told of that, and of false claims."""
        told = await self.write_requested(conversation, context, model=progress.last_model)
        reply = _join_texts(*progress.texts, *(step.text for step in progress.last_step))
        denied = await asyncio.to_thread(  # a long reply takes a while, and so does the very first one
            deny_false_claims,
            reply,
            conversation,
            context,
            is_noted=bool(told),
            with_memory=self._requested_notes is not None,
        )
        return _join_texts(told, denied)

    async def _run_steps(
        self, conversation: Conversation, context: TurnContext, progress: "_TurnProgress"
    ) -> AsyncGenerator[ReplyPart, None]:
        """Ask the model and run its calls until a step has none; that last step is not stored yet."""
        system = self._prompt(conversation.recalled)
        if context.in_room:
            system = room_prompt(system)
        may_shorten = self._make_room is None
        steps, tokens = self._steps_per_turn, self._tokens_per_turn
        while True:
            if progress.texts:
                await context.join(conversation)
            last = (
                len(progress.texts) + 1 >= steps
                or 0 < tokens <= progress.tokens
                or progress.calls >= MAX_CALLS_PER_TURN
            )
            request = replace(
                self._request(system, self._history(conversation), last=last, steps=steps),
                prefer=progress.next_model,
                begun=progress.next_model != context.prefer,
                may_shorten=may_shorten,
                told_no_model=context.told_no_model,
            )
            try:
                async with aclosing(self._ask_step(request, progress)) as parts:
                    async for part in parts:
                        yield part
            except ContextTooLong:
                if may_shorten or self._make_room is None:
                    raise
                await self._make_room(conversation)
                may_shorten = True
                continue
            message = self._prepare_step(progress.answer, conversation.call_ids, last=last, steps=steps)
            if not message.calls:
                progress.last_step = (message,) if message.text.strip() else ()
                if not _join_texts(*progress.texts, message.text):
                    raise EmptyAnswer("neither text nor a tool call", model=self._model.name)
                return
            progress.unanswered = message.calls
            progress.add_step(message)
            await conversation.append(message, also=context.mark_progress())
            progress.unanswered = ()  # _run_calls answers them from here on
            await self._run_calls(conversation, message.calls, context)

    async def _ask_step(
        self, request: ModelRequest, progress: "_TurnProgress"
    ) -> AsyncGenerator[ReplyPart, None]:
        """Yield the reply as one step is answered."""
        progress.answer = None
        async with aclosing(
            self._model.stream(request)
        ) as events:  # close its connection before the turn ends
            try:
                async for event in events:
                    match event:
                        case Answer():
                            progress.count(event)
                        case StartedOver():
                            progress.start_over()
                            yield ReplyPart(_join_texts(*progress.texts) or TYPING_PLACEHOLDER)
                        case TextDelta(text):
                            progress.add(text)
                            if progress.is_due and (part := progress.part()):
                                yield part
            except ModelError:
                if part := progress.part():
                    yield part
                raise
        if part := progress.part():
            yield part

    def _request(self, system: str, history: tuple[Message, ...], *, last: bool, steps: int) -> ModelRequest:
        """Return the request for a step; the last one has no tools, so that the model has to answer."""
        if last and steps > 1:
            return ModelRequest(f"{system}\n\n{LAST_STEP_PROMPT}", history)
        return ModelRequest(system, history, () if last else self._toolbox.specs)

    def _history(self, conversation: Conversation) -> tuple[Message, ...]:
        """Return the history without the arguments and results of closed tools; the calls themselves stay."""
        history = conversation.messages(with_passages=self._recall is not None)
        return (
            tuple(_redact_closed_calls(self._closed, each) for each in history) if self._closed else history
        )

    def _prepare_step(
        self, answer: Answer | None, used: Collection[str], *, last: bool, steps: int
    ) -> AssistantMessage:
        """Return the step as it is stored: with unique call ids, and without calls at the last step."""
        if answer is None:
            raise EmptyAnswer("the stream ended without an answer", model=self._model.name)
        message = answer.message
        if message.calls and last:
            message = replace(message, calls=(), raw=None)
            if not message.text.strip():
                return replace(
                    message, text=phrases.OUT_OF_STEPS.format(steps=phrases.STEPS.format(count=steps))
                )
        calls = _renumber_calls(message.calls[:MAX_CALLS_PER_STEP], used)
        return message if calls == message.calls else replace(message, calls=calls, raw=None)

    async def _run_calls(
        self, conversation: Conversation, calls: Sequence[ToolCall], context: TurnContext
    ) -> None:
        """Run all calls at the same time; each result is stored as soon as its call ends.

        Results may be stored in another order than the calls; a model sees them in the order of the calls. If the disk
        fails or the program stops, calls without a result stay open and run again when the turn goes on.
        """
        running = {
            asyncio.create_task(self._run_call(call, context.tool_context(conversation, call.id))): call
            for call in calls
        }
        try:
            while running:
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                ended = [(task, call) for task, call in running.items() if task in done]
                for task, _ in ended:
                    del running[task]  # even if this is cancelled now, the append completes
                await conversation.append(*(_result_of(call, task) for task, call in ended))
        except asyncio.CancelledError:
            await run_to_completion(_cancel_calls(conversation, running, parked=context.parked))
            raise
        except BaseException:
            await run_to_completion(_cancel(running))
            raise

    async def _run_call(self, call: ToolCall, use: ToolUse) -> ToolResult:
        began = self._metrics.clock()
        result = await self._toolbox.run(call, use)
        name = call.name if call.name in self._tool_names else UNKNOWN_TOOL
        self._metrics.record_tool(name, since=began, well=not result.failed)
        return result


@dataclass(slots=True)
class _TurnProgress:
    """The state of a turn so far."""

    texts: list[str]
    """Text of each step that has ended and is stored."""
    next_model: str
    """The model to ask first: the person's choice, then the one that began to answer."""
    pieces: list[str] = field(default_factory=list)
    """Text of the current step."""
    unshown: int = 0
    """Characters of the current step that no part has shown yet."""
    length: int = 0
    """Characters of the whole reply so far."""
    unanswered: tuple[ToolCall, ...] = ()
    """Calls that may be stored while their results are not."""
    answer: Answer | None = None
    """The latest answer."""
    last_step: tuple[AssistantMessage, ...] = ()
    tries: list[ModelError] = field(default_factory=list)
    """Failed attempts before a model answered."""
    to_be_told: bool = False
    """Whether to say that another model answered."""
    tokens: int = 0
    calls: int = 0

    @classmethod
    def before(cls, done: Sequence[Message], *, prefer: str) -> "_TurnProgress":
        """Restore the state of a turn from its stored steps."""
        steps = [message for message in done if isinstance(message, AssistantMessage)]
        progress = cls([step.text for step in steps], steps[-1].model if steps else prefer)
        progress.calls = sum(len(step.calls) for step in steps)
        progress.length = sum(map(len, progress.texts))
        return progress

    @property
    def shown(self) -> str:
        """Text of the current step."""
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def is_due(self) -> bool:
        """Whether enough text has come to show the reply again."""
        return self.length <= SHOWN_PIECEWISE_CHARS or self.unshown * SHOWN_FRACTION >= self.length

    def add(self, text: str) -> None:
        """Add a piece to the current step."""
        self.pieces.append(text)
        self.unshown += len(text)
        self.length += len(text)

    def part(self) -> ReplyPart | None:
        """Return the reply so far; None if it has been shown already, or if the step is blank."""
        if not (self.unshown and self.shown.strip()):
            return None
        self.unshown = 0
        return ReplyPart(_join_texts(*self.texts, self.shown))

    def start_over(self) -> None:
        """Discard the current step: another model answers it from the beginning."""
        self._begin_step()
        self.to_be_told = True

    def _begin_step(self) -> None:
        self.pieces.clear()
        self.unshown, self.length = 0, sum(map(len, self.texts))

    @property
    def last_model(self) -> str:
        """The model that wrote the last step."""
        return self.last_step[0].model if self.last_step else self.next_model

    def count(self, answer: Answer) -> None:
        """Add a model's answer to the totals."""
        self.answer = answer
        self.tries += answer.tries
        self.to_be_told = self.to_be_told or answer.stands_in
        self.tokens += answer.usage.input_tokens + answer.usage.output_tokens

    def add_step(self, message: AssistantMessage) -> None:
        """Add a step that has ended."""
        self.texts.append(message.text)
        self.calls += len(message.calls)
        self.next_model = message.model
        self._begin_step()

    def end(self) -> None:
        """Add the last step, which is stored from here on."""
        self.texts += [step.text for step in self.last_step]
        self._begin_step()

    def reply(self, *, prefer: str) -> str:
        """Return the complete reply."""
        texts = [*self.texts, *(step.text for step in self.last_step)]
        cut = phrases.CUT_SHORT if self.answer is not None and self.answer.cut_short else ""
        instead = explain_fallback(self.last_model, self.tries, prefer=prefer, to_be_told=self.to_be_told)
        return _join_texts(*texts, cut, instead)


_RunningCalls = Mapping[asyncio.Task[ToolResult], ToolCall]


async def _cancel_calls(conversation: Conversation, running: _RunningCalls, *, parked: bool) -> None:
    """Cancel running calls and store a result of each; of a parked turn only of those that have ended."""
    await _cancel(running)
    results = [_result_of(call, task) for task, call in running.items() if not parked or _is_done(task)]
    await conversation.interrupt("", results)


async def _cancel(running: _RunningCalls) -> None:
    for task in running:
        task.cancel()
    if running:
        _, deaf = await asyncio.wait(running, timeout=STOP_GRACE)
        if deaf:
            log.warning("%d of %d tools did not stop in time", len(deaf), len(running))


def _result_of(call: ToolCall, task: asyncio.Task[ToolResult]) -> ToolResult:
    return task.result() if _is_done(task) else interrupted_result(call)


def _is_done(task: asyncio.Task[ToolResult]) -> bool:
    return task.done() and not task.cancelled()


def _has_ended(done: Sequence[Message]) -> bool:
    """Return whether the steps of a turn include its answer; a note that was asked for may come after it."""
    for message in reversed(done):
        if isinstance(message, UserMessage):
            return False
        if isinstance(message, AssistantMessage) and not message.calls:
            return True
    return False


def _redact_closed_calls(closed: Collection[str], message: Message) -> Message:
    match message:
        case ToolResult(name=name) if name in closed:
            return replace(message, content=HIDDEN_RESULT)
        case AssistantMessage(calls=calls) if any(call.name in closed for call in calls):
            redacted = [replace(call, arguments="{}") if call.name in closed else call for call in calls]
            return replace(message, calls=tuple(redacted), raw=None)
    return message


def _join_texts(*texts: str) -> str:
    """Join the texts of a turn's steps with blank lines; text from before a tool call stays on top."""
    return "\n\n".join(text.strip("\n") for text in texts if text.strip()).rstrip()


def _renumber_calls(calls: Iterable[ToolCall], used: Collection[str]) -> tuple[ToolCall, ...]:
    """Give new ids to calls whose id was used before: providers reject it, and a tool's effect happens once per id."""
    known = set(used)
    fresh = []
    for call in calls:
        unique = call if call.id and call.id not in known else replace(call, id=new_call_id())
        known.add(unique.id)
        fresh.append(unique)
    return tuple(fresh)
