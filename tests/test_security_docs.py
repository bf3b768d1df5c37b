"""docs/security.md promises nothing that is not held: threats, tests, settings and files that it names are there."""

import re

import pytest

from bot.config.schema import known_keys
from bot.config.settings import Settings
from scripts.bounds import BOUNDS, Bound, bound_location, format_bound
from tests.document_claims import ROOT, missing, sections, table_rows

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
SECTIONS = sections(PAGE)
THREATS = (
    "A stranger in the chat",
    "Words that pose as orders",
    "Carrying something off in a reply",
    "A leaked token or key",
    "A curious roommate in a group",
    "Somebody else whom you let in",
    "A malicious file",
    "A hostile provider",
    "Another site in your browser",
    "Somebody on your network",
    "Others on the same machine",
)
NAMED = re.compile(r"`(tests/[\w/]+\.py::\w+)`")


@pytest.mark.parametrize("threat", THREATS)
def test_each_threat_has_its_measures_and_each_measure_its_test(threat: str) -> None:
    found = table_rows(SECTIONS[threat])
    assert len(found) > 3
    for happens, protects, held_by in found:
        assert happens
        assert protects
        assert NAMED.search(held_by), happens


def test_the_bounds_are_those_of_the_code_and_no_constant_is_named_that_is_gone() -> None:
    found = [row for row in table_rows(SECTIONS["Bounds"]) if row[1]]
    bounds = [bound for group in BOUNDS.values() for bound in group]
    assert [row[0] for row in found] == [bound.what for bound in bounds]
    for row, bound in zip(found, bounds, strict=True):
        assert row[1:] == [format_bound(bound), bound.beyond, bound_location(bound)]
    with pytest.raises(LookupError, match="is gone"):
        format_bound(Bound("x", "bot.reminders:NO_SUCH_BOUND", "", ""))
    with pytest.raises(LookupError, match="is gone"):
        format_bound(Bound("x", "limits.no_such_key", "", ""))
    with pytest.raises(LookupError, match="no bound"):
        format_bound(Bound("x", "limits.daily_tokens", "", ""))


def test_every_test_that_is_named_exists() -> None:
    named = NAMED.findall(PAGE)
    assert len(named) > 60
    assert missing(named) == []


def test_no_test_is_named_in_another_way() -> None:
    assert PAGE.count("tests/") == len(NAMED.findall(PAGE))


def test_every_setting_that_is_named_exists() -> None:
    keys = {".".join(map(str, keys)) for keys in known_keys(Settings)}
    parts = {key.partition(".")[0] for key in keys if "." in key}
    named = set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)(?: = [^`]+)?`", PAGE))
    settings = {
        each for each in named if each.partition(".")[0] in parts and not each.endswith((".db", ".md"))
    }
    assert len(settings) > 12
    assert settings <= keys


def test_each_threat_is_found_from_the_top() -> None:
    top = PAGE.partition("## In short")[0]
    for threat in THREATS:
        assert f"(#{threat.lower().replace(' ', '-')})" in top, threat
