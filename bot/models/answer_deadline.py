"""The deadline of one answer, for models behind HTTP and in a process of their own."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from bot.models.dialect import AnswerStage
from bot.models.timeouts import Timeouts

T = TypeVar("T")


class AnswerDeadline:
    """The deadline of the running answer, moved by each sign of progress."""

    def __init__(self, limits: Timeouts) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._start = self._last = self._loop.time()
        self._stage: AnswerStage = "waiting"
        self._paused_at = self._start
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[Any] | None = None
        self._rang = False
        self.first_token = 0.0
        """Seconds from the start; 0 until then."""
        self.bytes_read = 0

    async def wait_for(self, coming: Awaitable[T]) -> T:
        """Wait for an awaitable until the deadline. Raises TimeoutError.

        One timer is rescheduled if it fires too early: a new timer for each piece would cost more than
        reading it.
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
            if self._rang and task.cancelling() <= cancelled_before + 1:  # cancelled by the timer alone
                raise TimeoutError from error
            raise
        finally:
            self._waiting = None
            if self._rang:
                task.uncancel()

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _schedule(self, moment: float) -> None:
        self.stop()
        self._timer = self._loop.call_at(moment, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._waiting is None:  # the consumer is working; the next wait checks the deadline
            return
        deadline = self.expires_at()
        if self._loop.time() < deadline:
            self._schedule(deadline)
        else:
            self._rang = True
            self._waiting.cancel()

    def record_progress(self, stage: AnswerStage) -> None:
        """Record that something arrived and which stage the answer has reached."""
        if stage == "waiting":  # a ping is not part of an answer
            return
        self.record_life()
        self.first_token = self.first_token or self._last - self._start
        self._stage = stage

    def record_life(self) -> None:
        """Record that the model is at work, such as on reading the request."""
        self._last = self._loop.time()

    def pause(self) -> None:
        """Stop counting while the consumer works: that time is not the model's."""
        self._paused_at = self._loop.time()

    def resume(self) -> None:
        """Count again: the consumer wants more."""
        away = self._loop.time() - self._paused_at
        self._start += away
        self._last += away

    def expires_at(self) -> float:
        """Return the loop time by which something more must arrive."""
        return min(self._last + self._silence, self._start + self._whole)

    def check_total(self) -> None:
        """Raise TimeoutError if the whole answer has taken too long, however steadily it comes."""
        if self._loop.time() >= self._start + self._whole:
            raise TimeoutError

    def describe(self) -> str:
        """Describe which limit was exceeded."""
        if self._stage == "waiting" and self._last == self._start:
            return f"did not respond within {min(self._silence, self._whole):g} s"
        if self._last + self._silence <= self._start + self._whole:
            where = "before its answer" if self._stage == "waiting" else "in the middle of its answer"
            return f"sent nothing for {self._silence:g} s {where}"
        if self._stage == "answering":
            return f"had not finished its answer after {self._whole:g} s"
        return f"had not begun to answer after {self._whole:g} s"

    @property
    def _silence(self) -> float:
        return self._limits.first_token if self._stage == "waiting" else self._limits.idle

    @property
    def _whole(self) -> float:
        return self._limits.total if self._stage == "answering" else self._limits.begin
