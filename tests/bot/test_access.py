"""Who may do what, by the rules alone."""

from bot.access import Standing, standing_of
from bot.config.settings import AccessSettings
from bot.messages import PersonId
from bot.state.access import Decision
from tests.fakes.table_test import table_test

RULES = AccessSettings(
    owners=("telegram:1",),
    allow=("telegram:2", "discord:*", "telegram:5"),
    guests=("telegram:*", "discord:3", "telegram:5"),
)


def person_of(text: str) -> PersonId:
    channel, _, name = text.partition(":")
    return PersonId(channel, name)


@table_test(
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
        ("Telegram:1", Standing.STRANGER),
        ("telegram:01", Standing.GUEST),
        ("telegram: 1", Standing.GUEST),
    ],
)
def test_the_nearest_rule_counts_and_of_equal_ones_the_narrower(person: str, standing: Standing) -> None:
    assert standing_of(person_of(person), RULES) is standing


@table_test(
    ("person", "decision", "standing"),
    [
        ("telegram:2", "owner", Standing.OWNER),
        ("telegram:1", "denied", Standing.OWNER),
        ("telegram:1", "guest", Standing.OWNER),
        ("terminal:owner", "denied", Standing.OWNER),
        ("telegram:2", "denied", Standing.STRANGER),
        ("discord:3", "allowed", Standing.ALLOWED),
        ("discord:9", "guest", Standing.GUEST),
        ("signal:1", "allowed", Standing.ALLOWED),
        ("signal:1", None, Standing.STRANGER),
    ],
)
def test_what_an_owner_decided_beats_all_but_the_owners_of_the_settings(
    person: str, decision: Decision | None, standing: Standing
) -> None:
    assert standing_of(person_of(person), RULES, decision) is standing


def test_without_rules_nobody_is_known() -> None:
    assert standing_of(PersonId("telegram", "1"), AccessSettings()) is Standing.STRANGER


def test_nobody_becomes_owner_by_calling_himself_a_star() -> None:
    rules = AccessSettings.model_construct(owners=("telegram:*",), allow=(), guests=())
    assert standing_of(PersonId("telegram", "*"), rules) is Standing.STRANGER
