from memory.quantities import format_rough_duration, format_size


def test_sizes_are_told_as_people_do() -> None:
    said = {
        0: "0 bytes", 999: "999 bytes", 1000: "1.0 kB", 1234: "1.2 kB", 9_949: "9.9 kB", 9_960: "10 kB",
        999_499: "999 kB", 999_999: "1.0 MB", 25e6: "25 MB", 3.4e9: "3.4 GB", 2e12: "2,000 GB",
    }  # fmt: skip
    assert {count: format_size(count) for count in said} == said


def test_a_rough_duration_is_as_exact_as_anybody_wants_to_know() -> None:
    said = {
        0: "0 s", 1: "1 s", 59: "59 s", 59.6: "1 min", 3500: "58 min", 3599: "1 h", 1e5: "28 h",
        47 * 3600: "47 h", 5 * 86400: "5 days",
    }  # fmt: skip
    assert {seconds: format_rough_duration(seconds) for seconds in said} == said
