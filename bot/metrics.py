"""What the service counts about itself while it runs, for `/metrics`: plain numbers, a few microseconds a turn."""

import asyncio
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Literal

from bot.models.protocol import Answer, Usage

BUCKET_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds: where the classes of a histogram end."""

Stage = Literal["waiting", "attachments", "recall", "first_text", "turn", "delivery"]
"""`waiting`: from a message's arrival until it is its turn. `attachments`: reading what came along. `recall`: looking
up what a new conversation begins with. `first_text`: from the beginning of a turn until there is something to show.
`turn`: all of a turn that was answered. `delivery`: from the end of a turn until its reply is shown in full."""
STAGES: tuple[Stage, ...] = ("waiting", "attachments", "recall", "first_text", "turn", "delivery")

TurnOutcome = Literal["answered", "command", "told", "refused", "stopped", "failed", "parked"]
"""`answered`: by a model. `command`: a slash command ran. `told`: by a sentence of ours, since there was nothing to ask
a model. `refused`: a stranger, too many messages, or the day's tokens are used up. `stopped`: by a person. `failed`:
the person was told so. `parked`: broken off by the end of the program or a full disk; it goes on later."""
TURN_OUTCOMES: tuple[TurnOutcome, ...] = (
    "answered",
    "command",
    "told",
    "refused",
    "stopped",
    "failed",
    "parked",
)
UNKNOWN_TOOL = "unknown"
"""Stands for every tool that a model has made up."""


class Histogram:
    """How long something took, by classes."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKET_BOUNDS) + 1)
        """One for each of BOUNDS, which belongs to its class, and one for whatever took longer."""
        self.seconds = 0.0
        """Of all together."""

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BUCKET_BOUNDS, seconds)] += 1
        self.seconds += seconds

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.counts)


class TurnTimer:
    """One turn on its way; tells how it ended, and how long it took."""

    __slots__ = ("_began", "_channel", "_measures", "_shown", "outcome")

    def __init__(self, measures: "Metrics", channel: str) -> None:
        self._measures = measures
        self._channel = channel
        self._began = measures.clock()
        self._shown = False
        self.outcome: TurnOutcome = "answered"
        """As far as is known so far."""

    def mark_first_text(self) -> None:
        """Tell that there is text of a model to be shown; the first time counts."""
        if not self._shown:
            self._shown = True
            self._measures.record_stage("first_text", since=self._began)

    def end(self) -> None:
        """Tell that it came to its end."""
        if self.outcome == "answered":
            self._measures.record_stage("turn", since=self._began)
        self._measures.turns[self._channel, self.outcome] += 1

    def fail(self, error: BaseException, *, goes_on: bool) -> None:
        """Tell that it ended with an error; `count_fallback`: another time, where it broke off."""
        stopped = isinstance(error, asyncio.CancelledError | GeneratorExit)
        self.outcome = "parked" if goes_on else "stopped" if stopped else "failed"
        self.end()


class Metrics:
    """Counts since the start of this process. To be used in the thread of the event loop alone.

    Its keys are names from the settings and from the code, never what anybody can say.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: seconds from some moment on."""
        self.clock = clock
        self.started_at = time.time()
        """Seconds since 1970."""
        self.messages = Counter[str]()
        """Taken in, by channel."""
        self.turns = Counter[tuple[str, TurnOutcome]]()
        """By channel and how they ended."""
        self.stages: dict[Stage, Histogram] = {stage: Histogram() for stage in STAGES}
        self.deliveries = Counter[tuple[str, bool]]()
        """Tries to show something, by channel and whether they succeeded."""
        self.tools = Counter[tuple[str, bool]]()
        """Calls, by tool and whether they succeeded."""
        self.tool_times = defaultdict[str, Histogram](Histogram)
        self.model_tries = Counter[str]()
        """Requests that were sent, by model; those that were stopped count here alone."""
        self.model_errors = Counter[tuple[str, str]]()
        """Requests that were sent in vain, by model and kind of error."""
        self.fallbacks = Counter[tuple[str, str]]()
        """By the model that was left and the one that was asked next."""
        self.first_tokens = defaultdict[str, Histogram](Histogram)
        """By model: from the asking to the first sign of its answer."""
        self.answers = defaultdict[str, Histogram](Histogram)
        """By model: from the asking to the end of its answer."""
        self.usage = defaultdict[str, Usage](Usage)
        """By model."""

    def begin_turn(self, channel: str) -> TurnTimer:
        """Tell that what is to be done with a message begins."""
        return TurnTimer(self, channel)

    def count_refusal(self, channel: str) -> None:
        """Tell that a message was not taken in, since its sender may not talk, or not that much."""
        self.turns[channel, "refused"] += 1

    def record_stage(self, stage: Stage, *, since: float) -> None:
        """Tell that a stage is over; `since`: when it began, by `clock`."""
        self.stages[stage].add(self.clock() - since)

    def count_delivery(self, channel: str, *, well: bool) -> None:
        """Tell that it was tried to show something."""
        self.deliveries[channel, well] += 1

    def record_tool(self, tool: str, *, since: float, well: bool) -> None:
        """Tell that a tool has run; NO_TOOL for one that there is not."""
        self.tools[tool, well] += 1
        self.tool_times[tool].add(self.clock() - since)

    def count_request(self, model: str) -> None:
        """Tell that a model is asked."""
        self.model_tries[model] += 1

    def count_failure(self, model: str, kind: str) -> None:
        """Tell that a request was sent in vain; `kind` as in `ModelError`."""
        self.model_errors[model, kind or "unknown"] += 1

    def record_answer(self, model: str, answer: Answer, *, seconds: float) -> None:
        """Tell that a model has answered."""
        if answer.first_token_seconds:  # nobody looks for it where the answer is there at once
            self.first_tokens[model].add(answer.first_token_seconds)
        self.answers[model].add(seconds)
        if answer.usage.input_tokens or answer.usage.output_tokens:
            self.usage[model] += answer.usage

    def count_fallback(self, model: str, then: str) -> None:
        """Tell that another model is asked in a model's place."""
        self.fallbacks[model, then] += 1
