"""Which ids are one person, by the rules alone."""

from collections.abc import Collection, Mapping, Sequence

from bot.linked_people import find_linked
from tests.fakes.table_test import table_test

CHAIN = (("discord:2", "telegram:1"), ("discord:2", "terminal:owner"))
NAMED = {"anna": ("telegram:1", "discord:9")}


@table_test(
    ("person", "people", "links", "barred", "found"),
    [
        ("telegram:1", {}, (), (), {"telegram:1"}),
        ("telegram:1", {}, CHAIN, (), {"telegram:1", "discord:2", "terminal:owner"}),
        ("terminal:owner", {}, CHAIN, (), {"telegram:1", "discord:2", "terminal:owner"}),
        ("telegram:5", {}, CHAIN, (), {"telegram:5"}),
        ("telegram:1", {}, CHAIN, ("discord:2",), {"telegram:1"}),  # no link leads through who was denied
        ("telegram:1", {}, CHAIN, ("terminal:owner",), {"telegram:1", "discord:2"}),
        ("telegram:1", NAMED, (), (), {"telegram:1", "discord:9"}),
        ("telegram:1", NAMED, (), ("discord:9",), {"telegram:1"}),
        ("telegram:1", NAMED, CHAIN, (), {"telegram:1", "discord:9"}),  # the settings beat the links
        ("discord:2", NAMED, CHAIN, (), {"discord:2", "terminal:owner"}),
        ("telegram:1", {"anna": ("telegram:1",)}, CHAIN, (), {"telegram:1"}),
    ],
)
def test_the_settings_name_a_person_or_else_the_chain_of_links_does(
    person: str,
    people: Mapping[str, Sequence[str]],
    links: Sequence[tuple[str, str]],
    barred: Collection[str],
    found: set[str],
) -> None:
    assert find_linked(person, people, links, counts=lambda each: each not in barred) == found
