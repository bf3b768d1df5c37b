"""Counters and histograms of the service for `/metrics`; a few microseconds for each turn."""

import asyncio
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Literal

from bot.models.protocol import Answer, Usage

BUCKET_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds: the upper bounds of the histogram buckets."""

Stage = Literal["waiting", "attachments", "recall", "first_text", "turn", "delivery"]
"""`waiting`: from a message's arrival until its turn. `attachments`: reading attachments. `recall`: reading the notes
that a new conversation begins with, or searching them for a message. `first_text`: from the beginning of a turn to its
first text. `turn`: a whole answered turn. `delivery`: from the end of a turn until its reply is shown in full."""
STAGES: tuple[Stage, ...] = ("waiting", "attachments", "recall", "first_text", "turn", "delivery")

TurnOutcome = Literal["answered", "command", "told", "refused", "stopped", "failed", "parked"]
"""`answered`: by a model. `command`: a slash command ran. `told`: answered by a fixed sentence, since there was nothing
to ask a model. `refused`: a stranger, too many messages, or the day's tokens are used up. `stopped`: by a person.
`failed`: with an error that was shown. `parked`: interrupted by a shutdown or a full disk; it goes on later."""
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
"""Label for every tool name that a model has invented."""


class Histogram:
    """A histogram of durations."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKET_BOUNDS) + 1)
        """One for each of BUCKET_BOUNDS (inclusive), and one for everything above."""
        self.seconds = 0.0
        """Sum of all durations."""

    def add(self, seconds: float) -> None:
        """Add one duration."""
        self.counts[bisect_left(BUCKET_BOUNDS, seconds)] += 1
        self.seconds += seconds

    @property
    def count(self) -> int:
        """Number of durations."""
        return sum(self.counts)


class TurnTimer:
    """Times one turn and counts how it ended."""

    __slots__ = ("_began", "_channel", "_metrics", "_shown", "outcome")

    def __init__(self, metrics: "Metrics", channel: str) -> None:
        self._metrics = metrics
        self._channel = channel
        self._began = metrics.clock()
        self._shown = False
        self.outcome: TurnOutcome = "answered"
        """The outcome known so far."""

    def mark_first_text(self) -> None:
        """Record the first text of a model; later calls do nothing."""
        if not self._shown:
            self._shown = True
            self._metrics.record_stage("first_text", since=self._began)

    def end(self) -> None:
        """Count the turn as ended."""
        if self.outcome == "answered":
            self._metrics.record_stage("turn", since=self._began)
        self._metrics.turns[self._channel, self.outcome] += 1

    def fail(self, error: BaseException, *, goes_on: bool) -> None:
        """Count the turn as ended by an error; `goes_on`: it will be continued later."""
        stopped = isinstance(error, asyncio.CancelledError | GeneratorExit)
        self.outcome = "parked" if goes_on else "stopped" if stopped else "failed"
        self.end()


class Metrics:
    """Counts since the start of this process; for the thread of the event loop only.

    Keys are names from the settings and the code, never text that people write.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: monotonic seconds."""
        self.clock = clock
        self.started_at = time.time()
        """Seconds since 1970."""
        self.messages = Counter[str]()
        """Accepted messages by channel."""
        self.turns = Counter[tuple[str, TurnOutcome]]()
        """By channel and outcome."""
        self.stages: dict[Stage, Histogram] = {stage: Histogram() for stage in STAGES}
        self.deliveries = Counter[tuple[str, bool]]()
        """Attempts to show something, by channel and success."""
        self.tools = Counter[tuple[str, bool]]()
        """Calls by tool and success."""
        self.tool_times = defaultdict[str, Histogram](Histogram)
        self.model_tries = Counter[str]()
        """Requests by model; requests that were stopped count only here."""
        self.model_errors = Counter[tuple[str, str]]()
        """Failed requests by model and kind of error."""
        self.fallbacks = Counter[tuple[str, str]]()
        """By the model that was left and the one asked next."""
        self.first_tokens = defaultdict[str, Histogram](Histogram)
        """By model: seconds from the request to the first sign of an answer."""
        self.answers = defaultdict[str, Histogram](Histogram)
        """By model: seconds from the request to the end of the answer."""
        self.usage = defaultdict[str, Usage](Usage)
        """By model."""

    def begin_turn(self, channel: str) -> TurnTimer:
        """Return a timer for a turn that begins now."""
        return TurnTimer(self, channel)

    def count_refusal(self, channel: str) -> None:
        """Count a message that was not accepted: its sender may not talk, or wrote too much."""
        self.turns[channel, "refused"] += 1

    def record_stage(self, stage: Stage, *, since: float) -> None:
        """Record the end of a stage; `since`: when it began, by `clock`."""
        self.stages[stage].add(self.clock() - since)

    def count_delivery(self, channel: str, *, well: bool) -> None:
        """Count an attempt to show something."""
        self.deliveries[channel, well] += 1

    def record_tool(self, tool: str, *, since: float, well: bool) -> None:
        """Record a tool call; UNKNOWN_TOOL for a tool that does not exist."""
        self.tools[tool, well] += 1
        self.tool_times[tool].add(self.clock() - since)

    def count_request(self, model: str) -> None:
        """Count a request to a model."""
        self.model_tries[model] += 1

    def count_failure(self, model: str, kind: str) -> None:
        """Count a failed request; `kind` as in `ModelError`."""
        self.model_errors[model, kind or "unknown"] += 1

    def record_answer(self, model: str, answer: Answer, *, seconds: float) -> None:
        """Record the answer of a model."""
        if answer.first_token_seconds:  # unknown if the whole answer came at once
            self.first_tokens[model].add(answer.first_token_seconds)
        self.answers[model].add(seconds)
        if answer.usage.input_tokens or answer.usage.output_tokens:
            self.usage[model] += answer.usage

    def count_fallback(self, model: str, then: str) -> None:
        """Count that the model `then` is asked instead of `model`."""
        self.fallbacks[model, then] += 1
