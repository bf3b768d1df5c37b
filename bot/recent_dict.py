"""A dict that keeps only the latest entries."""

from collections import OrderedDict
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class RecentDict(OrderedDict[Key, Value]):
    """Drops the entry that was set longest ago when there are more than `limit`."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._most = limit

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
