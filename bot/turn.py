"""One reply in the making: a task that can be stopped while what it has said so far is still being shown."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from bot import phrases
from bot.messages import Choice, ReplyPart, Sending
from bot.state.database import to_the_end


async def _nothing_to_note(reply: str) -> None:
    del reply


class Turn:
    """Runs as soon as it is made; `parts` is for whoever shows them, and may be read again from what is there."""

    def __init__(
        self,
        reply: AsyncGenerator[ReplyPart, None],
        *,
        in_words: Callable[[BaseException], str],
        stopped: Callable[[str], Awaitable[None]] = _nothing_to_note,
        waits: Callable[[BaseException], bool] = lambda error: False,
        answers: Sequence[str] = (),
    ) -> None:
        """`in_words` makes of an error what the person is told of it; `answers` may grow until the end.

        `stopped` is told all of a reply that was stopped, before anybody is shown its end. An error that `waits` is
        not the end: the reply goes on in another turn.
        """
        self.goes_on = False
        """Whether it broke off with an error after which it goes on in another turn."""
        self.sending = Sending()
        """Of the reply, once it is whole."""
        self.ended_at = 0.0
        """By `time.monotonic`; 0 before."""
        self._in_words = in_words
        self._stopped = stopped
        self._waits = waits
        self._answers = answers
        self._text = ""
        self._choices: tuple[Choice, ...] = ()
        self._ending: str | None = None
        """What stands below the text at the end; None as long as there may be more."""
        self._news = asyncio.Event()
        self._begun = False
        self._task = asyncio.create_task(self._make(reply))
        self._task.add_done_callback(self._come_to_its_end)

    async def _make(self, reply: AsyncGenerator[ReplyPart, None]) -> None:
        self._begun = True
        try:
            async with aclosing(reply):
                async for part in reply:
                    self._text, self._choices = part.text, part.choices
                    if not part.final:
                        self._news.set()
        except asyncio.CancelledError:
            await to_the_end(self._stopped(_below(self._text, phrases.STOPPED_HERE)))
            raise

    async def parts(self) -> AsyncGenerator[ReplyPart, None]:
        """Yield what there is whenever there is more (a slow reader misses what was in between), then the whole."""
        while self._ending is None:
            await self._news.wait()
            self._news.clear()
            if self._ending is None:
                yield ReplyPart(self._text)
        answers = () if self.goes_on else tuple(self._answers)
        choices = () if self._ending else self._choices
        text = _below(self._text, self._ending)
        yield ReplyPart(text, final=not self.goes_on, choices=choices, answers=answers)

    def _come_to_its_end(self, task: "asyncio.Task[None]") -> None:
        """Put an error in words here and not in `parts`: it must come to light also where nobody shows the reply."""
        self._ending = phrases.STOPPED_HERE if task.cancelled() else ""
        self.ended_at = time.monotonic()
        self._news.set()
        if not task.cancelled() and (error := task.exception()):
            self.goes_on = self._waits(error)
            self._ending = self._in_words(error)

    def stop(self) -> bool:
        """End it now; return false where it has ended already."""
        if self._begun:
            return self._task.cancel()
        # A task that is cancelled before its first step does nothing at all, not even note what was said.
        asyncio.get_running_loop().call_soon(self._task.cancel)
        return True

    async def ended(self) -> None:
        """Wait for its end, however it comes."""
        await asyncio.wait([self._task])

    async def end(self) -> None:
        """Stop it where it still runs, and wait until it has put down what it must."""
        self._task.cancel()
        await self.ended()


def _below(text: str, ending: str) -> str:
    return "\n\n".join(filter(None, (text.rstrip(), ending)))
