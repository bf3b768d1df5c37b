from datetime import UTC, datetime, timedelta

from discord.utils import time_snowflake

from adapters.discord.interaction_handle import LIFETIME, MARGIN, InteractionHandle, parse_handle
from tests.fakes.table_test import table_test

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@table_test(
    "answerable",
    [
        InteractionHandle(1, 2, "token"),
        InteractionHandle(time_snowflake(NOON), 2**63, 'a"b\\c,', private=True, replaces=True, buttons=2**62),
    ],
)
def test_what_is_written_is_read_again(answerable: InteractionHandle) -> None:
    assert parse_handle(answerable.written) == answerable


@table_test(
    "handle", ["", "4711", "1/2/3 https://cdn", "[]", "[1,2]", '{"a":1}', '["1",2,"t",true,true,0]', "[1,2"]
)
def test_what_others_have_written_is_none(handle: str) -> None:
    assert parse_handle(handle) is None


def test_it_is_good_for_a_little_less_than_fifteen_minutes() -> None:
    until = InteractionHandle(time_snowflake(NOON), 2, "token").until
    assert until == NOON + LIFETIME - MARGIN
    assert timedelta(minutes=14) < until - NOON < timedelta(minutes=15)


def test_the_token_is_not_shown() -> None:
    assert "s3cret" not in repr(InteractionHandle(1, 2, "s3cret"))
