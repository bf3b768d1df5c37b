"""Tests of the log change that of the whole process: afterwards it is as it was."""

from collections.abc import Iterator

import pytest

from tests.fakes.logging_state import logging_as_it_was


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    with logging_as_it_was():
        yield
