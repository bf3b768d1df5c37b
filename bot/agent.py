"""The loop: ask the model, run its tools, repeat until it has answered."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace

from bot import phrases
from bot.conversation import Conversation, interrupted
from bot.messages import ReplyPart
from bot.model_trouble import answered_instead
from bot.models.errors import EmptyAnswer, ModelError
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
from bot.state.database import to_the_end
from bot.tools import Toolbox

log = logging.getLogger(__name__)

LAST_STEP = (
    "This is the last step of this turn and no tool is left: answer with what you have, say what is missing."
)
OUT_OF_STEPS = (
    "I stopped after {steps} steps without coming to an end. Say “go on” and I will continue from here."
)

BEGINNING = "…"
"""What stands there while nothing does."""
STOP_GRACE = 1.0
"""Seconds that running tools get to end after a stop."""


class Agent:
    """A model, its tools, and the words that it is given at the start of each turn."""

    def __init__(
        self, model: LanguageModel, toolbox: Toolbox, *, prompt: Callable[[], str], steps_per_turn: int
    ) -> None:
        self._model = model
        self._toolbox = toolbox
        self._prompt = prompt
        self._steps_per_turn = steps_per_turn

    async def run_turn(
        self, conversation: Conversation, text: str, *, prefer: str = ""
    ) -> AsyncGenerator[ReplyPart, None]:
        """Answer what a person said, as `go_on` does; `prefer` is the model to be asked first."""
        await conversation.load()
        await to_the_end(conversation.append(UserMessage(text)))
        async with aclosing(self.go_on(conversation, prefer=prefer)) as parts:
            async for part in parts:
                yield part

    async def go_on(self, conversation: Conversation, *, prefer: str = "") -> AsyncGenerator[ReplyPart, None]:
        """Answer what the conversation ends with: yield the reply as it grows; the last part is `final`, never blank.

        However the turn ends (ModelError, StateFault, cancelled, closed), what was shown is on disk by then, and so
        is a result for each call.
        """
        said: list[str] = []  # text of the steps that ended
        shown = ""  # text of the step that is being answered
        unanswered: tuple[ToolCall, ...] = ()  # calls on disk whose results are not
        tries: list[ModelError] = []  # in vain, before those who answered
        to_be_told = False  # that it was another model who answered
        first = prefer  # whom to ask first: from the second step on who has begun
        try:
            system = self._prompt()
            for step in range(1, self._steps_per_turn + 1):
                last = step == self._steps_per_turn
                request = self._request(system, conversation.messages(), last=last)
                request = replace(request, prefer=first, begun=first != prefer)
                answer: Answer | None = None
                async with aclosing(
                    self._model.stream(request)
                ) as events:  # its connection does not outlive the turn
                    async for event in events:
                        match event:
                            case Answer():
                                answer = event
                            case StartedOver():
                                shown, to_be_told = "", True
                                yield ReplyPart(_joined(*said) or BEGINNING)
                            case TextDelta(text):
                                shown += text
                                if shown.strip():
                                    yield ReplyPart(_joined(*said, shown))
                message = self._settled(answer, request, last=last)
                if not (message.text.strip() or message.calls):
                    break
                shown, unanswered = "", message.calls
                said.append(message.text)
                await conversation.append(message)
                first = message.model
                if answer is not None:
                    tries += answer.tries
                    to_be_told = to_be_told or answer.stands_in
                if not message.calls:
                    break
                unanswered = ()  # from here on _run_calls sees to them
                await self._run_calls(conversation, message.calls)
        except BaseException:
            await conversation.interrupt(shown, [interrupted(call) for call in unanswered])
            raise
        reply = _joined(*said)
        if not reply:
            raise EmptyAnswer("neither text nor a tool call", model=self._model.name)
        cut = phrases.CUT_SHORT if answer is not None and answer.cut_short else ""
        instead = answered_instead(message.model, tries, prefer=prefer, to_be_told=to_be_told)
        yield ReplyPart(_joined(reply, cut, instead), final=True)

    def _request(self, system: str, history: tuple[Message, ...], *, last: bool) -> ModelRequest:
        """At the last step without tools: a model that cannot call has to answer."""
        if last and self._steps_per_turn > 1:
            return ModelRequest(f"{system}\n\n{LAST_STEP}", history)
        return ModelRequest(system, history, () if last else self._toolbox.specs)

    def _settled(self, answer: Answer | None, request: ModelRequest, *, last: bool) -> AssistantMessage:
        """Give the step as it is recorded: its calls with ids of their own, and no calls at the last step."""
        if answer is None:
            raise EmptyAnswer("the stream ended without an answer", model=self._model.name)
        message = answer.message
        if message.calls and last:
            message = replace(message, calls=(), raw=None)
            if not message.text.strip():
                return replace(message, text=OUT_OF_STEPS.format(steps=self._steps_per_turn))
        calls = _with_fresh_ids(message.calls, request.messages)
        return message if calls == message.calls else replace(message, calls=calls, raw=None)

    async def _run_calls(self, conversation: Conversation, calls: Sequence[ToolCall]) -> None:
        """Run all at once; record the results in the order of the calls."""
        tasks = [asyncio.create_task(self._toolbox.run(call)) for call in calls]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            await to_the_end(_stop_calls(conversation, calls, tasks))
            raise
        await conversation.append(*_results(calls, tasks))


async def _stop_calls(
    conversation: Conversation, calls: Sequence[ToolCall], tasks: Sequence[asyncio.Task[ToolResult]]
) -> None:
    for task in tasks:
        task.cancel()
    _, running = await asyncio.wait(tasks, timeout=STOP_GRACE)
    if running:
        log.warning("%d of %d tools did not end when they were stopped", len(running), len(tasks))
    await conversation.interrupt("", _results(calls, tasks))


def _results(calls: Sequence[ToolCall], tasks: Sequence[asyncio.Task[ToolResult]]) -> list[ToolResult]:
    return [
        task.result() if task.done() and not task.cancelled() else interrupted(call)
        for call, task in zip(calls, tasks, strict=True)
    ]


def _joined(*texts: str) -> str:
    """Put the texts of a turn's steps below each other; what was said before a tool ran stays above."""
    return "\n\n".join(text.strip("\n") for text in texts if text.strip()).rstrip()


def _with_fresh_ids(calls: Iterable[ToolCall], history: Iterable[Message]) -> tuple[ToolCall, ...]:
    """Rename calls whose id was used before: providers refuse a history in which two are the same."""
    used = {call.id for message in history if isinstance(message, AssistantMessage) for call in message.calls}
    fresh = []
    for call in calls:
        unique = call if call.id and call.id not in used else replace(call, id=new_call_id())
        used.add(unique.id)
        fresh.append(unique)
    return tuple(fresh)
