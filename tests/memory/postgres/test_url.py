import pytest

from memory.postgres.url import find_passwords, format_url, parse_postgres_url
from tests.fakes.table_test import table_test


@table_test(
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
def test_a_url_is_shown_without_secrets(address: str, shown: str, secrets: tuple[str, ...]) -> None:
    assert parse_postgres_url(address) == address
    assert format_url(address) == shown
    assert find_passwords(address) == secrets


@table_test("wrong", ["http://db/x", "postgresql://", "db/x", "postgresql://a b/x", "host=x dbname=y"])
def test_an_invalid_url_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="postgresql://user@host/database"):
        parse_postgres_url(wrong)


@table_test(
    "secret", ["sec%ret", "100%", "p@ssw0rd", "pa/ssw0rd", "12/34", "se?cr3t", "12?cr3t", "a&b?c=d", "%00x"]
)
def test_an_ambiguous_password_is_refused_and_not_shown(secret: str) -> None:
    for address in (f"postgresql://me:{secret}@db/notes", f"postgresql://db/notes?x={secret}&y"):
        with pytest.raises(ValueError, match="%40") as refused:
            parse_postgres_url(address)
        assert secret not in str(refused.value)


@table_test(
    "address",
    [
        "postgresql://me:a%25b%40c@one.example:5433,[::1]:2/notes?sslmode=verify-full&sslrootcert=/etc/ca.pem",
        "postgresql://me:a:b!$&'()*+,;=~#@db/notes",
        "postgresql:///notes?host=/run/pg&user=me@home&password=a@b:c/d?e",
        "postgresql://me@%2Frun%2Fpg/notes",
    ],
)
def test_a_url_that_libpq_accepts_is_not_refused(address: str) -> None:
    from psycopg.conninfo import conninfo_to_dict

    assert conninfo_to_dict(parse_postgres_url(address))


def test_an_empty_url_is_accepted() -> None:
    assert parse_postgres_url("") == ""
