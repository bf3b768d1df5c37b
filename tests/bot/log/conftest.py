"""Tests of the log change that of the whole process: afterwards it is as it was."""

from collections.abc import Iterator

import pytest

from tests.fakes.restore_logging import restore_logging


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    with restore_logging():
        yield
