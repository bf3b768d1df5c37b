"""URLs of PostgreSQL servers, and how they are shown; pure."""

import re
from urllib.parse import parse_qsl, quote, urlsplit

SCHEMES = ("postgresql", "postgres")
_ENCODED = "in user, password and values write @ : / ? # [ ] % as %40 %3A %2F %3F %23 %5B %5D %25"
_SHOWN = ("sslmode", "host", "port", "dbname", "user", "target_session_attrs")


def parse_postgres_url(value: str) -> str:
    """Return `value` if it is a PostgreSQL URL or empty; raise ValueError otherwise.

    Also raises for a URL that libpq would parse differently than meant: its errors, and `format_url`, would
    show a part of the password.
    """
    try:
        scheme, rest = urlsplit(value).scheme.lower(), value.partition("://")[2]
    except ValueError:  # an incomplete IPv6 address
        scheme = rest = ""
    if value and not (scheme in SCHEMES and rest and value.isprintable() and " " not in value):
        raise ValueError("an address that begins with postgresql://, such as postgresql://user@host/database")
    if value and not _is_well_formed(rest):
        raise ValueError(f"an address with a host, a port that is a number, and ?name=value; {_ENCODED}")
    return value


def _is_well_formed(rest: str) -> bool:
    """Return whether all delimiters of the part after `//` are in their places."""
    before, mark, query = rest.partition("?")
    authority, _, name = before.partition("/")
    who, _, hosts = authority.rpartition("@")
    return (
        not re.search("%(?![0-9A-Fa-f]{2})|%00", rest)
        and "@" not in who + name
        and all(re.fullmatch(r"(\[[^]]*\]|[^:\[\]]*)(:\d*)?", host) for host in hosts.split(","))
        and (not mark or all(re.fullmatch("[A-Za-z_]+=[^=]*", each) for each in query.split("&")))
    )


def format_url(value: str) -> str:
    """Return the URL without password and parameters: `postgresql://user@host:5432/db`."""
    scheme, _, rest = value.partition("://")
    before, mark, query = rest.partition("?")
    who, at, where = before.rpartition("@")
    who = who.partition(":")[0]
    kept = "&".join(f"{key}={quote(each)}" for key, each in parse_qsl(query) if key in _SHOWN) if mark else ""
    return f"{scheme}://{who}{at}{where}{'?' if kept else ''}{kept}"


def find_passwords(value: str) -> tuple[str, ...]:
    """Return every secret in the URL, as written."""
    rest = value.partition("://")[2]
    before, _, query = rest.partition("?")
    password = before.rpartition("@")[0].partition(":")[2]
    others = re.findall(r"(?:^|&)(?:ssl)?password=([^&]*)", query, flags=re.IGNORECASE)
    return tuple(filter(None, (password, *others)))
