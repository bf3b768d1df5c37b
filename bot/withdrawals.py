"""Messages that their senders withdraw before they are answered."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from bot.channels import Channels
from bot.delivery import Delivery
from bot.state.inbox import InboxMessage


class Withdrawals:
    """Removes withdrawn messages from their chat's queue; a turn that has begun goes on."""

    def __init__(self, channels: Channels, delivery: Delivery) -> None:
        self._channels = channels
        self._delivery = delivery

    async def withdraw(self, queue: deque[InboxMessage], message: str) -> None:
        """Leave a message and its edits unanswered; `message` is the platform's id."""
        await self._drop(
            queue, [each for each in queue if message in (each.message.id, each.message.edit_of)]
        )

    async def check_next(
        self, queue: deque[InboxMessage], next_in: Callable[[deque[InboxMessage]], Sequence[InboxMessage]]
    ) -> None:
        """Leave the next messages unanswered if they were withdrawn without the channel being told."""
        known = set[int]()
        while row := [each for each in next_in(queue) if _is_waiting(each) and each.number not in known]:
            known |= {each.number for each in row}
            gone = await asyncio.gather(*(self._channels.is_withdrawn(each.message) for each in row))
            await self._drop(queue, [each for each, is_gone in zip(row, gone, strict=True) if is_gone])

    async def _drop(self, queue: deque[InboxMessage], withdrawn: Iterable[InboxMessage]) -> None:
        numbers = {each.number for each in withdrawn if _is_waiting(each)}
        kept = [each for each in queue if each.number not in numbers]
        if len(kept) < len(queue):
            queue.clear()
            queue.extend(kept)
        for number in numbers:
            await self._delivery.mark_done(number)


def _is_waiting(received: InboxMessage) -> bool:
    return received.state == "waiting"
