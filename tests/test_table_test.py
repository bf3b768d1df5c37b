import asyncio

import pytest

from tests.fakes.table_test import table_test


def test_every_row_that_fails_is_named_and_the_others_are_checked_all_the_same() -> None:
    checked = []

    @table_test(("number", "half"), [(2, 1), (3, 1), (4, 2), (5, 1)])
    def halves(number: int, half: int) -> None:
        checked.append(number)
        assert number == 2 * half

    with pytest.raises(ExceptionGroup) as told:
        halves()
    assert told.value.message == "2 of 4 rows:\n{'number': 3, 'half': 1}\n{'number': 5, 'half': 1}"
    assert checked == [2, 3, 4, 5]
    assert [each.__notes__ for each in told.value.exceptions] == [
        ["The row: {'number': 3, 'half': 1}"],
        ["The row: {'number': 5, 'half': 1}"],
    ]


def test_what_should_have_been_raised_and_was_not_fails_its_row() -> None:
    @table_test("text", ["x", "1"])
    def refused(text: str) -> None:
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="1 of 2 rows") as told:
        refused()
    assert told.value.exceptions[0].__notes__ == ["The row: {'text': '1'}"]


def test_a_table_without_rows_tests_nothing_and_fails() -> None:
    @table_test("text", [])
    def nothing(text: str) -> None: ...

    with pytest.raises(AssertionError, match="no rows"):
        nothing()


async def test_an_asynchronous_test_has_its_table_too() -> None:
    @table_test("seconds", [0, 1, 0])
    async def no_wait(seconds: int) -> None:
        await asyncio.sleep(0)
        assert not seconds

    with pytest.raises(BaseExceptionGroup, match="1 of 3 rows") as told:
        await no_wait()
    assert told.value.exceptions[0].__notes__ == ["The row: {'seconds': 1}"]


def test_two_tables_run_each_row_of_the_one_with_each_of_the_other() -> None:
    checked = []

    @table_test("first", [1, pytest.param(2, id="two")])
    @table_test(("second", "third"), [(3, 4), (5, 6)])
    def all_of_them(first: int, second: int, third: int) -> None:
        checked.append((first, second, third))

    all_of_them()
    assert checked == [(1, 3, 4), (1, 5, 6), (2, 3, 4), (2, 5, 6)]
