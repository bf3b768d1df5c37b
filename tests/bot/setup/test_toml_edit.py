"""TOML that is edited as text."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config.example import example_config
from bot.setup.toml_edit import NotEditable, add_table, set_value
from tests.fakes.table_test import table_test

FILES = {
    "plain": '# top\n[access]\npairing = true # yes\n\n# about telegram\n[telegram]\nmode = "polling"\n',
    "dotted": 'telegram.mode = "polling"\naccess.pairing = true\n',
    "inline": 'access = { pairing = true }\n[telegram]\nmode="polling"',
    "spread": '[memory]\npath="m"\n# c\n[access]\npairing=true\n[memory.search]\nfinal_top_k=3\n',
    "empty": "",
    "only comments": "# hello\n",
    "below": "[memory.search]\nfinal_top_k = 4\n[access.people]\nanna=['telegram:1']\n",
    "lists": '[access]\nowners = [\n  "telegram:7", # Anna\n]\n[[memory.folders]]\npath = "/v" # vault\n',
    "example": example_config(),
}
VALUES: dict[tuple[str, ...], Any] = {
    ("access", "owners"): ["telegram:7", "telegram:8"],
    ("timezone",): 'a "quoted" \\ text # with é',
    ("providers", "my-server", "base_url"): "http://x",
    ("providers", "odd name", "api_key"): "k",
    ("memory", "path"): "notes",
    ("models", "chain"): ["a/b", "builtin/notebook"],
}


def lines_with_comments(text: str) -> set[str]:
    return {line for line in text.splitlines() if "#" in line and "=" not in line}


@table_test("name", FILES)
@table_test("keys", list(VALUES))
def test_a_value_is_set_and_nothing_else_changes(name: str, keys: tuple[str, ...]) -> None:
    before, after = FILES[name], set_value(FILES[name], keys, VALUES[keys])
    wanted = tomllib.loads(before)
    table = wanted
    for key in keys[:-1]:
        table = table.setdefault(key, {})
    table[keys[-1]] = VALUES[keys]
    assert tomllib.loads(after) == wanted
    assert lines_with_comments(before) <= lines_with_comments(after)


def test_a_key_stands_in_its_table_and_not_below_the_comment_of_the_next() -> None:
    assert set_value(FILES["plain"], ("access", "owners"), ["telegram:7"]) == (
        '# top\n[access]\npairing = true # yes\nowners = ["telegram:7"]\n\n# about telegram\n[telegram]\n'
        'mode = "polling"\n'
    )


def test_a_list_keeps_the_comments_of_its_entries() -> None:
    edited = set_value(FILES["lists"], ("access", "owners"), ["telegram:7", "telegram:8"])
    assert '"telegram:7", # Anna' in edited


def test_what_would_lose_a_comment_is_refused_with_what_to_do() -> None:
    with pytest.raises(NotEditable, match=r'set access\.owners = \["telegram:8"\]'):
        set_value(FILES["lists"], ("access", "owners"), ["telegram:8"])


def test_the_example_changes_in_the_one_line() -> None:
    before = example_config().splitlines()
    after = set_value(example_config(), ("timezone",), "Europe/Berlin").splitlines()
    assert [line for line in after if line not in before] == ['timezone = "Europe/Berlin"']
    assert len(before) == len(after)


def test_tables_of_a_list_that_are_apart_stay_where_they_are() -> None:
    """tomlkit would move them together."""
    text = (
        '[[memory.folders]]\npath = "/v"\n\n[memory.search]\nfinal_top_k = 3\n\n# mine\n'
        '[[memory.folders]]\npath = "/w"\n'
    )
    assert set_value(text, ("timezone",), "UTC") == f'timezone = "UTC"\n\n{text}'


def test_tables_of_a_list_are_added_in_turn() -> None:
    for text in FILES.values():
        before = tomllib.loads(text).get("memory", {}).get("folders", [])
        for path in ("/one", "/two"):
            text = add_table(text, ("memory", "folders"), {"path": path, "write": True})
        found = tomllib.loads(text)["memory"]["folders"]
        assert found == [*before, {"path": "/one", "write": True}, {"path": "/two", "write": True}]


@given(st.text())
def test_any_text_comes_back_as_it_was_set(value: str) -> None:
    value = value.encode("utf-8", "replace").decode()
    for text in ("", "[a]\nb = 1 # one\n", "a = { b = 1 }\n"):
        assert tomllib.loads(set_value(text, ("a", "c"), value))["a"]["c"] == value
