"""Parametrised tests as one test: each parametrised case would cost 4 ms of overhead."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def table_test(
    names: str | Sequence[str], rows: Iterable[object]
) -> Callable[[Callable[..., Any]], Callable[[], Any]]:
    """Run a test for each row like `pytest.mark.parametrize`, but as one test that reports all failing rows.

    Two of them, one above the other, run each row of the one with each row of the other.
    """
    alone = isinstance(names, str)
    columns = (names,) if isinstance(names, str) else tuple(names)
    table = [dict(zip(columns, _values(row, alone=alone), strict=True)) for row in rows]

    def decorate(check: Callable[..., Any]) -> Callable[[], Any]:
        def test(**outer: object) -> None:  # what a table above this one gives
            outcomes = _Outcomes()
            for row in table:
                with outcomes.of(row):
                    check(**row, **outer)
            outcomes.raise_failures()

        async def test_async(**outer: object) -> None:
            outcomes = _Outcomes()
            for row in table:
                with outcomes.of(row):
                    await check(**row, **outer)
            outcomes.raise_failures()

        made = test_async if inspect.iscoroutinefunction(check) else test
        made.__name__, made.__qualname__, made.__module__ = (
            check.__name__,
            check.__qualname__,
            check.__module__,
        )
        made.__doc__ = check.__doc__
        return made

    return decorate


def first_at_once(rows: Iterable[object]) -> list[object]:
    """Return the rows for `pytest.mark.parametrize`, of which `make test` tries only the first."""
    first, *others = rows
    return [first, *map(_thorough, others)]


def _thorough(row: object) -> object:
    if isinstance(row, _Param):
        return pytest.param(*row.values, marks=[*row.marks, pytest.mark.thorough], id=row.id)
    return pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.thorough)


def _values(row: object, *, alone: bool) -> Sequence[object]:
    if isinstance(row, _Param):
        return row.values
    return [row] if alone else row  # type: ignore[return-value]


_Param = type(pytest.param())


class _Outcomes:
    """How the rows of a table fared."""

    def __init__(self) -> None:
        self._row: dict[str, object] = {}
        self._rows = 0
        self._failures: list[BaseException] = []
        self._told: list[str] = []

    def of(self, row: dict[str, object]) -> "_Outcomes":
        """Return the context manager within which a row is checked."""
        self._row = row
        return self

    def __enter__(self) -> None:
        self._rows += 1

    def __exit__(self, kind: object, failure: BaseException | None, trace: object) -> bool:
        if not isinstance(failure, Exception | pytest.fail.Exception):
            return False
        failure.add_note(f"The row: {self._row}")
        self._failures.append(failure)
        self._told.append(f"\n{self._row}")
        return True

    def raise_failures(self) -> None:
        """Raise all failures as one; a traceback shows only the first fifteen of a group, so they are listed."""
        assert self._rows, "no rows"
        if self._failures:
            raise BaseExceptionGroup(
                f"{len(self._told)} of {self._rows} rows:{''.join(self._told)}", self._failures
            )
