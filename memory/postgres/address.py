"""Pure: addresses of PostgreSQL servers, and how they are shown."""

import re
from urllib.parse import parse_qsl, quote, urlsplit

SCHEMES = ("postgresql", "postgres")
_SHOWN = ("sslmode", "host", "port", "dbname", "user", "target_session_attrs")


def postgres_address(value: str) -> str:
    """Give back an address of a server, or the empty text; raise ValueError for anything else."""
    try:
        scheme, rest = urlsplit(value).scheme.lower(), value.partition("://")[2]
    except ValueError:  # half an IPv6 address
        scheme = rest = ""
    if value and not (scheme in SCHEMES and rest and value.isprintable() and " " not in value):
        raise ValueError("an address that begins with postgresql://, such as postgresql://user@host/database")
    return value


def shown_address(value: str) -> str:
    """The address without password, and without what else is nobody's business: `postgresql://user@host:5432/db`."""
    scheme, _, rest = value.partition("://")
    before, mark, query = rest.partition("?")
    who, at, where = before.rpartition("@")
    who = who.partition(":")[0]
    kept = "&".join(f"{key}={quote(each)}" for key, each in parse_qsl(query) if key in _SHOWN) if mark else ""
    return f"{scheme}://{who}{at}{where}{'?' if kept else ''}{kept}"


def passwords_in(value: str) -> tuple[str, ...]:
    """Every secret that such an address holds, as written."""
    rest = value.partition("://")[2]
    before, _, query = rest.partition("?")
    password = before.rpartition("@")[0].partition(":")[2]
    others = re.findall(r"(?:^|&)(?:ssl)?password=([^&]*)", query, flags=re.IGNORECASE)
    return tuple(filter(None, (password, *others)))
