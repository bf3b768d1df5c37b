"""Event loops that run step by step in simulated time, and that can be killed.

Each loop stands for a process: several share a disk and a clock, and take turns. Everything depends only on
the program and a seed, so a run can be repeated exactly. The only threads are those of `asyncio.to_thread`,
and while one of them runs everything else waits for it.
"""

import asyncio
import heapq
import inspect
import random
import selectors
import threading
import warnings
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import Executor, Future
from contextlib import suppress
from contextvars import Context
from itertools import count
from typing import Any, TypeVar, cast

Result = TypeVar("Result")

_HOPS = (0, 0, 0, 1, 3)
"""Numbers of iterations until work in a thread begins, or its result arrives."""
_STUCK_SECONDS = 20.0


class Killed(BaseException):
    """Raised in the threads of a killed process."""


class Deadlock(AssertionError):
    """Nothing more can happen, or the awaited event did not."""


class Machine:
    """The computer on which the loops run."""

    def __init__(self, seed: int) -> None:
        self.seconds = 0.0
        """Simulated time."""
        self.chance = random.Random(seed)
        self.loops: list[DeterministicLoop] = []
        """The running loops."""
        self._jobs: deque[_Job] = deque()
        """Work for threads, one at a time; the first one runs."""

    def start(self) -> "DeterministicLoop":
        """Start a process."""
        loop = DeterministicLoop(self)
        self.loops.append(loop)
        return loop

    def step(self) -> None:
        """Let one process run an iteration or two; if all are waiting, advance the time. Raises Deadlock."""
        self.settle()
        busy = [loop for loop in self.loops if loop.next_wakeup() <= self.seconds]
        if busy:
            self.chance.choice(busy).run(self.chance.choice((1, 1, 2, 5)))
            return
        wakes_at = min((loop.next_wakeup() for loop in self.loops), default=float("inf"))
        if wakes_at == float("inf"):
            raise Deadlock("everybody waits, and nothing will ever happen")
        self.seconds = wakes_at

    def run(
        self, work: Coroutine[Any, Any, Result], loop: "DeterministicLoop", *, steps: int = 100_000
    ) -> Result:
        """Run a coroutine to its end. Raises Deadlock."""
        task = loop.create_task(work)
        for _ in range(steps):
            if task.done():
                return task.result()
            self.step()
        raise Deadlock(f"this does not come to its end: {task}")

    @property
    def is_in_thread(self) -> bool:
        """Return whether a thread has work."""
        return bool(self._jobs)

    def submit(self, job: "_Job") -> None:
        """Queue work for a thread."""
        self._jobs.append(job)

    def settle(self) -> None:
        """Wait until the running thread, if any, waits for its loop; start the next one if it has ended."""
        while self._jobs:
            job = self._jobs[0]
            job.settle()
            if not job.ended:
                return
            self._jobs.popleft()

    def end_jobs(self, loop: "DeterministicLoop") -> None:
        """End the threads of a process."""
        for job in [job for job in self._jobs if job.loop is loop]:
            job.kill()
            self._jobs.remove(job)


class _Job:
    """Work in a thread, which may have its loop run something meanwhile."""

    def __init__(
        self,
        loop: "DeterministicLoop",
        work: Callable[[], Any],
        done: Callable[[Any, BaseException | None], None],
    ):
        self.loop = loop
        self.ended = False
        self._work = work
        self._done = done
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._asked: list[tuple[Future[Any], Coroutine[Any, Any, Any]]] = []
        self._answered = 0
        self._outcome: tuple[Any, BaseException | None] | None = None

    def settle(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            _JOBS[self._thread] = self
            self._thread.start()
        with self._changed:
            if not self._changed.wait_for(self._is_settled, _STUCK_SECONDS):
                raise Deadlock("a thread waits for something that is not its loop")
        if self._outcome is not None:
            self._end()
            self._done(*self._outcome)

    def begin_wait(self, callback: Callable[..., object]) -> None:
        """Record that the thread is about to wait for its loop; called in the thread."""
        # The function that asyncio.run_coroutine_threadsafe has its loop call.
        told = inspect.getclosurevars(callback).nonlocals
        future = told["future"]
        future.add_done_callback(self._is_answered)
        with self._changed:
            self._asked.append((future, told["coro"]))
            self._changed.notify()

    def kill(self) -> None:
        if self._thread is None:
            return
        for future, asked in self._asked:
            if not future.done():
                bury(asked)
                future.set_exception(Killed())
        self._end()

    def _is_answered(self, future: "Future[Any]") -> None:
        with self._changed:
            self._answered += 1

    def _is_settled(self) -> bool:
        return self._outcome is not None or len(self._asked) > self._answered

    def _run(self) -> None:
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = self._work(), None
        except BaseException as error:  # noqa: BLE001
            outcome = None, error
        with self._changed:
            self._outcome = outcome
            self._changed.notify()

    def _end(self) -> None:
        assert self._thread is not None
        self._thread.join(_STUCK_SECONDS)
        del _JOBS[self._thread]
        self.ended = True


_JOBS: dict[threading.Thread, _Job] = {}


class _Selector(selectors.SelectSelector):
    """A selector that never waits, but tells its loop how long it would have."""

    loop: "DeterministicLoop"

    def select(self, timeout: float | None = None) -> list[Any]:
        self.loop.on_select(timeout)
        return []


class _Task(asyncio.Task[Any]):
    """A task hashed by its number, so that sets of tasks iterate in a stable order."""

    def __init__(self, coro: Any, *, number: int, loop: asyncio.AbstractEventLoop, context: Context | None):
        self.number = number
        super().__init__(coro, loop=loop, context=context)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


class DeterministicExecutor(Executor):
    """Replaces a single-threaded `ThreadPoolExecutor` whose work asks nothing of the loop: it runs here."""

    def __init__(self, loop: "DeterministicLoop") -> None:
        self._loop = loop
        self._queue: deque[Callable[[], None]] = deque()
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[Any] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001
                future.set_exception(error)
            else:
                future.set_result(result)

        self._queue.append(run)
        self._loop.call_after_steps(lambda: self._queue.popleft()())
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        del wait, cancel_futures
        self._closed = True


class DeterministicLoop(asyncio.SelectorEventLoop):
    """One process."""

    # Attribute of every asyncio loop, missing in typeshed.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _timer_cancelled_count: int

    def __init__(self, machine: Machine) -> None:
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)
        self._machine = machine
        self._iterations = 0
        self._queues: dict[Executor, deque[Callable[[], None]]] = {}
        self._numbers = count(1)
        self.is_dead = False
        self.set_task_factory(self._make_task)

    # -- steps --------------------------------------------------------------------------------------------

    def time(self) -> float:
        return self._machine.seconds

    def next_wakeup(self) -> float:
        """Return when there is something to do; now or earlier if there is already."""
        if self._ready:
            return 0.0
        while self._scheduled and self._scheduled[0].cancelled():
            heapq.heappop(self._scheduled)._scheduled = False  # type: ignore[attr-defined]
            self._timer_cancelled_count -= 1
        return self._scheduled[0].when() if self._scheduled else float("inf")

    def run(self, iterations: int) -> None:
        """Run up to `iterations` iterations, fewer if there is nothing to do."""
        self._iterations = iterations
        self.run_forever()

    def on_select(self, timeout: float | None) -> None:
        """Called once per iteration."""
        self._machine.settle()
        self._iterations -= 1
        if self._iterations <= 0 or timeout is None or timeout > 0:
            self.stop()

    # -- threads ------------------------------------------------------------------------------------------

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        future: asyncio.Future[Any] = self.create_future()

        def told(result: Any, error: BaseException | None) -> None:
            def tell() -> None:
                if future.done():
                    return
                if error is not None:
                    future.set_exception(error)
                else:
                    future.set_result(result)

            self.call_after_steps(tell)

        if executor is None:
            job = _Job(self, lambda: func(*args), told)
            self.call_after_steps(lambda: self._machine.submit(job))
            return future
        # Executors with one thread ask nothing of the loop, so their work runs here, in order.
        queue = self._queues.setdefault(executor, deque())

        def run() -> None:
            try:
                result, error = func(*args), None
            except BaseException as raised:  # noqa: BLE001
                result, error = None, raised
            told(result, error)

        queue.append(run)
        self.call_after_steps(lambda: queue.popleft()())
        return future

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if job := _JOBS.get(threading.current_thread()):
            if self.is_dead:
                raise Killed
            handle = self.call_soon(callback, *args, context=context)
            job.begin_wait(callback)
            return handle
        return self.call_soon(callback, *args, context=context)

    def call_after_steps(self, work: Callable[[], None]) -> None:
        """Run `work` in one of the next iterations."""

        def hop(left: int) -> None:
            if left:
                self.call_soon(hop, left - 1)
            else:
                work()

        self.call_soon(hop, self._machine.chance.choice(_HOPS))

    # -- the end ------------------------------------------------------------------------------------------

    def kill(self) -> None:
        """End it as kill -9 does: nothing is finished or cleaned up.

        Cleanup code of tasks has no effect, since they have no loop.
        """
        self.is_dead = True
        self._machine.loops.remove(self)
        self._machine.end_jobs(self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for task in asyncio.all_tasks(self):
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                bury(cast(Coroutine[Any, Any, Any], task.get_coro()))
            self._ready.clear()
            self._scheduled.clear()
            self.close()

    def leave(self) -> None:
        """End it after an orderly shutdown."""
        self._machine.loops.remove(self)
        self.close()

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, coro: Any, context: Context | None = None
    ) -> "asyncio.Task[Any]":
        return _Task(coro, number=next(self._numbers), loop=loop, context=context)

    def _asyncgen_finalizer_hook(self, agen: Any) -> None:
        if not self.is_dead:
            super()._asyncgen_finalizer_hook(agen)  # type: ignore[misc]

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.is_dead:
            super().call_exception_handler(context)

    def _make_self_pipe(self) -> None:
        """Nothing outside wakes the loop."""

    def _close_self_pipe(self) -> None:
        """Nothing to close."""


def bury(dead: Coroutine[Any, Any, Any]) -> None:
    """Close a coroutine that no loop will run again; whatever it awaits while closing is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(100):
            try:
                dead.throw(GeneratorExit)
            except BaseException:  # noqa: BLE001
                return


def bury_generator(dead: AsyncGenerator[Any, Any]) -> None:
    """Close an asynchronous generator in the same way."""
    closing = dead.aclose()
    with warnings.catch_warnings(), suppress(BaseException):
        warnings.simplefilter("ignore")
        closing.send(None)
