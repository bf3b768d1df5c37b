from bot.recent_dict import RecentDict


def test_the_entry_that_was_set_longest_ago_is_dropped() -> None:
    recent: RecentDict[str, int] = RecentDict(2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        recent[key] = value
    assert dict(recent) == {"a": 3, "c": 4}
