"""How long one call over HTTP may still take."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from bot.models.dialect import AnswerStage
from bot.models.timeouts import Timeouts

T = TypeVar("T")


class Deadline:
    """How long the call in hand may still take."""

    def __init__(self, limits: Timeouts) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.time()
        self._last = self._start
        self._stage: AnswerStage = "waiting"
        self._paused_at = self._start
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[Any] | None = None
        self._rang = False
        self.first_token = 0.0
        """Seconds from the start; 0 while there is none."""
        self.bytes_read = 0

    async def wait_for(self, coming: Awaitable[T]) -> T:
        """Wait until the deadline at most; raise TimeoutError.

        One timer, moved on when it rings too early: a new one for each piece would cost more than to read the piece.
        """
        task = asyncio.current_task()
        assert task
        cancelled_before = task.cancelling()
        self._waiting, self._rang = task, False
        deadline = self.expires_at()
        if self._timer is None or deadline < self._timer.when():
            self._schedule(deadline)
        try:
            return await coming
        except asyncio.CancelledError as error:
            if self._rang and task.cancelling() <= cancelled_before + 1:  # nobody else wants it to end
                raise TimeoutError from error
            raise
        finally:
            self._waiting = None
            if self._rang:
                task.uncancel()

    def stop(self) -> None:
        """Nothing more is waited for."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _schedule(self, moment: float) -> None:
        self.stop()
        self._timer = self._loop.call_at(moment, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._waiting is None:  # whoever reads the answer takes their time: the next wait sees to it
            return
        deadline = self.expires_at()
        if self._loop.time() < deadline:
            self._schedule(deadline)
        else:
            self._rang = True
            self._waiting.cancel()

    def record_progress(self, stage: AnswerStage) -> None:
        """Something came; the answer is at this stage now."""
        if stage == "waiting":  # a ping is no sign of an answer
            return
        self._last = self._loop.time()
        self.first_token = self.first_token or self._last - self._start
        self._stage = stage

    def pause(self) -> None:
        """Whoever reads the answer has the word: the time they take is not the model's."""
        self._paused_at = self._loop.time()

    def resume(self) -> None:
        """Whoever reads the answer wants more."""
        away = self._loop.time() - self._paused_at
        self._start += away
        self._last += away

    def expires_at(self) -> float:
        """Until when something more has to come, on the loop's clock."""
        limits = self._limits
        if self._stage == "waiting":
            return self._start + min(limits.first_token, limits.begin)
        whole = limits.begin if self._stage == "thinking" else limits.total
        return min(self._last + limits.idle, self._start + whole)

    def describe(self) -> str:
        """What to say when the deadline has passed."""
        limits = self._limits
        if self._stage == "waiting":
            return f"gave no sign of an answer within {min(limits.first_token, limits.begin):g} s"
        whole = limits.begin if self._stage == "thinking" else limits.total
        if self._last + limits.idle <= self._start + whole:
            return f"fell silent for {limits.idle:g} s in the middle of its answer"
        if self._stage == "thinking":
            return f"had not begun its answer after {limits.begin:g} s"
        return f"had not ended its answer after {limits.total:g} s"
