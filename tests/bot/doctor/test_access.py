from bot.doctor.access import check_access, explain_no_match
from tests.bot.doctor.sample_state import about, everything, find_check, statuses
from tests.fakes.table_test import table_test

TELEGRAM = {"telegram": {"token": "123456:abc"}}


def test_without_a_channel_the_terminal_is_enough() -> None:
    assert statuses(check_access(about())) == {"ok"}


def test_a_channel_without_an_owner_is_told_with_the_mend() -> None:
    check = find_check(check_access(about(**TELEGRAM)), "owners")
    assert check.status == "warn"
    assert '"/pair CODE owner"' in check.fix
    assert statuses(check_access(about(**TELEGRAM), ["telegram:42"])) == {"ok"}
    told = check_access(about(**TELEGRAM, access={"pairing": False}))
    assert find_check(told, "nobody").status == "warn"


def test_with_an_owner_all_is_well() -> None:
    assert statuses(check_access(about(**TELEGRAM, access={"owners": ["telegram:42"]}))) == {"ok"}


@table_test(
    ("entry", "fault"),
    [
        ("telegram:42", ""),
        ("telegram:*", ""),
        ("discord:123456789012345678", ""),
        ("discord:123456789012345678/@223456789012345678", ""),
        ("Telegram:42", "write telegram"),
        ("telgram:42", "the channels are"),
        ("telegram:042", "begin with 0"),
        ("telegram:123456", "the bot itself"),
        ("discord:9876", "too short"),
        ("terminal:owner", "always the owner"),
    ],
)
def test_entries_that_match_nobody_are_told(entry: str, fault: str) -> None:
    found = explain_no_match(entry, key="owners", channels=about(telegram={"token": "123456:abc"}).channels)
    assert (fault in found) if fault else not found
    named = explain_no_match(entry, key="people", channels=about(telegram={"token": "123456:abc"}).channels)
    assert named == ("" if entry == "terminal:owner" else found.partition(": use your own id")[0])


@table_test(
    ("access", "name", "told"),
    [
        ({"owners": ["telegram:42", "telgram:1"]}, "no match", "'telgram:1'"),
        (
            {"owners": ["telegram:42", "discord:123456789012345678"]},
            "no channel",
            "discord is not configured",
        ),
        ({"owners": ["telegram:42", "telegram:-100"]}, "group", "everybody who can post as the group"),
        ({"owners": ["telegram:42"], "allow": ["telegram:*"]}, "everybody", "telegram:*"),
        (
            {"owners": ["telegram:42"], "allow": ["telegram:7"], "guests": ["telegram:7"]},
            "both",
            "telegram:7",
        ),
    ],
)
def test_what_is_likely_not_meant_is_told(access: dict[str, object], name: str, told: str) -> None:
    check = find_check(check_access(about(**TELEGRAM, access=access)), name)
    assert check.status == "warn"
    assert told in check.detail
    assert check.fix


def test_no_token_is_told() -> None:
    assert "abc" not in everything(check_access(about(**TELEGRAM)))
