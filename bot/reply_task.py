"""The task that makes a reply; it can be stopped while its text so far is still being shown."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from bot import phrases
from bot.messages import Choice, ReplyPart, Sending
from bot.state.database import run_to_completion


async def _ignore_reply(reply: str) -> None:
    del reply


class ReplyTask:
    """Starts at once; `stream_parts` yields the reply, and can be called again."""

    def __init__(
        self,
        reply: AsyncGenerator[ReplyPart, None],
        *,
        explain: Callable[[BaseException], str],
        stopped: Callable[[str], Awaitable[None]] = _ignore_reply,
        is_resumable: Callable[[BaseException], bool] = lambda error: False,
        answers: Sequence[str] = (),
    ) -> None:
        """`explain` returns what the person is told about an error; `answers` may grow until the end.

        `stopped` gets the complete text of a stopped reply before its end is shown. After an error for which
        `is_resumable` is true, the reply goes on in another turn.
        """
        self.goes_on = False
        """Whether an error ended it after which the reply goes on in another turn."""
        self.sending = Sending()
        """State of the sending, once the reply is complete."""
        self.ended_at = 0.0
        """By `time.monotonic`; 0 until then."""
        self._explain = explain
        self._stopped = stopped
        self._is_resumable = is_resumable
        self._answers = answers
        self._text = ""
        self._choices: tuple[Choice, ...] = ()
        self._ending: str | None = None
        """Text to append at the end; None until the reply has ended."""
        self._news = asyncio.Event()
        self._begun = False
        self._task = asyncio.create_task(self._run(reply))
        self._task.add_done_callback(self._finish)

    async def _run(self, reply: AsyncGenerator[ReplyPart, None]) -> None:
        self._begun = True
        try:
            async with aclosing(reply):
                async for part in reply:
                    self._text, self._choices = part.text, part.choices
                    if not part.final:
                        self._news.set()
        except asyncio.CancelledError:
            await run_to_completion(self._stopped(_append_ending(self._text, phrases.STOPPED_HERE)))
            raise

    async def stream_parts(self) -> AsyncGenerator[ReplyPart, None]:
        """Yield the reply whenever it grows (a slow reader misses intermediate states), then the complete reply."""
        while self._ending is None:
            await self._news.wait()
            self._news.clear()
            if self._ending is None:
                yield ReplyPart(self._text)
        answers = () if self.goes_on else tuple(self._answers)
        choices = () if self._ending else self._choices
        text = _append_ending(self._text, self._ending)
        yield ReplyPart(text, final=not self.goes_on, choices=choices, answers=answers)

    def _finish(self, task: "asyncio.Task[None]") -> None:
        """Handle an error here and not in `stream_parts`, so that it is logged even if nobody shows the reply."""
        self._ending = phrases.STOPPED_HERE if task.cancelled() else ""
        self.ended_at = time.monotonic()
        self._news.set()
        if not task.cancelled() and (error := task.exception()):
            self.goes_on = self._is_resumable(error)
            self._ending = self._explain(error)

    def stop(self) -> bool:
        """Stop it now; return False if it has already ended."""
        if self._begun:
            return self._task.cancel()
        # A task that is cancelled before its first step runs no code, and would not store what was said.
        asyncio.get_running_loop().call_soon(self._task.cancel)
        return True

    async def wait(self) -> None:
        """Wait until it has ended."""
        await asyncio.wait([self._task])

    async def stop_and_wait(self) -> None:
        """Stop it if it is still running, and wait until it has stored its state."""
        self._task.cancel()
        await self.wait()


def _append_ending(text: str, ending: str) -> str:
    return "\n\n".join(filter(None, (text.rstrip(), ending)))
