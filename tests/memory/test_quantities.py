from memory.quantities import format_size


def test_sizes_are_told_as_people_do() -> None:
    said = {
        0: "0 bytes", 999: "999 bytes", 1000: "1.0 kB", 1234: "1.2 kB", 9_949: "9.9 kB", 9_960: "10 kB",
        999_499: "999 kB", 999_999: "1.0 MB", 25e6: "25 MB", 3.4e9: "3.4 GB", 2e12: "2,000 GB",
    }  # fmt: skip
    assert {count: format_size(count) for count in said} == said
