import pytest

from memory.postgres.address import passwords_in, postgres_address, shown_address


@pytest.mark.parametrize(
    ("address", "shown", "secrets"),
    [
        (
            "postgresql://me:pw1%40@db.example:5433/notes",
            "postgresql://me@db.example:5433/notes",
            ("pw1%40",),
        ),
        ("postgres://db/notes?password=pw2&sslmode=require", "postgres://db/notes?sslmode=require", ("pw2",)),
        ("postgresql://me@[::1]/notes", "postgresql://me@[::1]/notes", ()),
        (
            "postgresql://me:a:b@one:1,two:2/n?sslpassword=x&target_session_attrs=read-write",
            "postgresql://me@one:1,two:2/n?target_session_attrs=read-write",
            ("a:b", "x"),
        ),
        ("postgresql:///notes?host=/run/pg", "postgresql:///notes?host=/run/pg", ()),
    ],
)
def test_it_is_shown_without_what_is_secret(address: str, shown: str, secrets: tuple[str, ...]) -> None:
    assert postgres_address(address) == address
    assert shown_address(address) == shown
    assert passwords_in(address) == secrets


@pytest.mark.parametrize(
    "wrong", ["http://db/x", "postgresql://", "db/x", "postgresql://a b/x", "host=x dbname=y"]
)
def test_what_is_none_is_told(wrong: str) -> None:
    with pytest.raises(ValueError, match="postgresql://user@host/database"):
        postgres_address(wrong)


def test_none_is_fine() -> None:
    assert postgres_address("") == ""
