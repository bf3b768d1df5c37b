from bot.quantities import rough_duration_in_words


def test_a_rough_duration_is_as_exact_as_anybody_wants_to_know() -> None:
    said = {
        0: "0 s", 1: "1 s", 59: "59 s", 59.6: "1 min", 3500: "58 min", 3599: "1 h", 1e5: "28 h",
        47 * 3600: "47 h", 5 * 86400: "5 days",
    }  # fmt: skip
    assert {seconds: rough_duration_in_words(seconds) for seconds in said} == said
