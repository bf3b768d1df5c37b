"""Parametrised tests as one test: each parametrised case would cost 4 ms of overhead."""

from collections.abc import Callable, Iterable, Sequence

import pytest


def table_test(
    names: str | Sequence[str], rows: Iterable[object]
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Run a test for each row like `pytest.mark.parametrize`, but as one test that reports all failing rows."""
    alone = isinstance(names, str)
    columns = (names,) if isinstance(names, str) else tuple(names)
    table = [dict(zip(columns, [row] if alone else row, strict=True)) for row in rows]  # type: ignore[call-overload]

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            assert table, "no rows"
            failures: list[BaseException] = []
            told: list[str] = []
            for row in table:
                try:
                    check(**row)
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - raised below
                    failure.add_note(f"The row: {row}")
                    failures.append(failure)
                    told.append(f"\n{row}")
            if failures:  # a traceback shows only the first fifteen of a group
                raise BaseExceptionGroup(f"{len(told)} of {len(table)} rows:{''.join(told)}", failures)

        test.__name__, test.__qualname__, test.__module__ = (
            check.__name__,
            check.__qualname__,
            check.__module__,
        )
        test.__doc__ = check.__doc__
        return test

    return decorate
