import logging

import pytest

from bot.hot_swap import HotSwap


class Thing:
    def __init__(self, name: str, *, breaks: bool = False) -> None:
        self.name = name
        self.closed = 0
        self._breaks = breaks

    async def close(self) -> None:
        self.closed += 1
        if self._breaks:
            raise OSError("it will not close")


async def test_who_has_begun_with_one_ends_with_it_and_then_it_is_closed() -> None:
    first, second, third = (Thing(name) for name in ("first", "second", "third"))
    holder = HotSwap(first, first.close)
    with holder.use() as one, holder.use() as same:
        holder.replace(second, second.close)
        holder.replace(third, third.close)
        with holder.use() as new:
            assert (one.name, same.name, new.name, holder.now.name) == ("first", "first", "third", "third")
        assert (first.closed, third.closed) == (0, 0)
    await holder.close()
    assert (first.closed, second.closed, third.closed) == (1, 1, 1)


async def test_all_is_closed_in_the_end_also_what_is_in_use() -> None:
    first, second = Thing("first"), Thing("second")
    holder = HotSwap(first, first.close)
    with holder.use():
        holder.replace(second, second.close)
        await holder.close()
        assert (first.closed, second.closed) == (1, 1)
    assert first.closed == 1


async def test_one_that_does_not_close_keeps_nobody_from_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    first, second = Thing("first", breaks=True), Thing("second")
    holder = HotSwap(first, first.close)
    holder.replace(second, second.close)
    with caplog.at_level(logging.ERROR):
        await holder.close()
    assert (first.closed, second.closed) == (1, 1)
    assert "could not close a replaced service" in caplog.text
