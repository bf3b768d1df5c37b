import pytest

from bot.access import Standing, standing_of
from bot.config import AccessSettings
from bot.messages import PersonId

RULES = AccessSettings(
    owners=("telegram:1",),
    allow=("telegram:2", "discord:*", "telegram:5"),
    guests=("telegram:*", "discord:3", "telegram:5"),
)


@pytest.mark.parametrize(
    ("person", "standing"),
    [
        ("telegram:1", Standing.OWNER),
        ("discord:1", Standing.ALLOWED),
        ("telegram:2", Standing.ALLOWED),
        ("telegram:77", Standing.GUEST),
        ("discord:3", Standing.GUEST),
        ("telegram:5", Standing.GUEST),
        ("signal:1", Standing.STRANGER),
        ("terminal:owner", Standing.OWNER),
    ],
)
def test_the_nearest_rule_counts_and_of_equal_ones_the_narrower(person: str, standing: Standing) -> None:
    channel, _, name = person.partition(":")
    assert standing_of(PersonId(channel, name), RULES) is standing


def test_without_rules_nobody_is_known() -> None:
    assert standing_of(PersonId("telegram", "1"), AccessSettings()) is Standing.STRANGER


def test_nobody_becomes_owner_by_calling_himself_a_star() -> None:
    rules = AccessSettings.model_construct(owners=("telegram:*",), allow=(), guests=())
    assert standing_of(PersonId("telegram", "*"), rules) is Standing.STRANGER
