"""The server of the index: whether it answers, has what it takes, lets us, and keeps secrets on the way."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from bot.doctor.check import Check, Topic, counted, how_large, several
from bot.doctor.pgvector import may_switch_on
from memory.errors import IndexBroken, IndexUnavailable
from memory.index.fingerprint import fingerprint_of
from memory.postgres.address import shown_address

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from memory.index.postgres.checkup import ServerCheckup

TOPIC = Topic("index")
OLDEST = 140_000
"""Older ones are not looked after by their makers any more."""


def look_at_server(settings: "Settings") -> "ServerCheckup | IndexBroken | IndexUnavailable":
    """What is on the server, or why that cannot be told."""
    from bot.index_server import index_server

    try:
        server = index_server(settings)
        assert server
        from memory.index.postgres.checkup import check_server

        try:
            return check_server(server, fingerprint=fingerprint_of(settings.memory.chunk))
        finally:
            server.close()
    except (IndexBroken, IndexUnavailable) as error:
        return error


def check_server_of(
    settings: "Settings",
    found: "ServerCheckup | IndexBroken | IndexUnavailable",
    *,
    alive: bool,
    now: datetime,
) -> Iterator[Check]:
    """Tell of the server and of the index on it; `alive`: whether a process of ours has the workspace open."""
    from memory.postgres.server import check_library

    shown = shown_address(settings.index.url.get_secret_value())
    try:
        check_library()
    except IndexUnavailable as error:
        told, _, mend = str(error).partition(": ")
        yield TOPIC.fail("server", f"index.url is set, but {told}", f"{mend}; or remove index.url")
        return
    if isinstance(found, IndexUnavailable):
        mend = "mend that there, or index.url; until then notes are found without it, only slower, and nothing is lost"
        yield TOPIC.fail("server", str(found), mend)
        return
    if isinstance(found, IndexBroken):
        mend = "nothing is lost: commonplace memory index --rebuild builds it anew from the notes"
        yield TOPIC.warn("server", str(found), mend)
        return
    if found.number < OLDEST:
        mend = "update it; 16 and 18 are tried"
        yield TOPIC.fail("server", f"{shown} is PostgreSQL {found.version}, which is too old", mend)
        return
    yield TOPIC.ok("server", f"{shown} answers: PostgreSQL {found.version}")
    yield _pgvector(settings, found)
    yield from _rights(found)
    if found.is_encrypted or found.is_local:
        yield TOPIC.ok("encrypted", "yes" if found.is_encrypted else "no, and the server is on this machine")
    else:
        mend = "add ?sslmode=verify-full to index.url (or sslmode=require), and switch on ssl on the server"
        yield TOPIC.warn("encrypted", "no: words of your notes cross the network as they are", mend)
    if found.made_by_newer:
        mend = "update this instance too"
        yield TOPIC.fail("tables", "a newer version of Commonplace has made them", mend)
        return
    yield from _index(settings, found, alive=alive, now=now)


def _pgvector(settings: "Settings", found: "ServerCheckup") -> Check:
    if found.pgvector:
        return TOPIC.ok("pgvector", found.pgvector)
    if found.pgvector_at_hand:
        try:
            may = may_switch_on(settings)
        except IndexUnavailable as error:  # it has gone since
            return TOPIC.fail("pgvector", str(error), "start the server, and call doctor again")
        if may:
            return TOPIC.ok("pgvector", f"{found.pgvector_at_hand}, to be switched on at the first use")
        mend = "as a superuser, in this very database: CREATE EXTENSION vector"
        return TOPIC.fail("pgvector", "the server has it, but this user may not switch it on", mend)
    version = found.number // 10_000
    mend = (
        f"install it on the server's machine: apt install postgresql-{version}-pgvector on Debian, "
        f"or the Docker image pgvector/pgvector:pg{version}"
    )
    return TOPIC.fail("pgvector", "it is not installed on the server", mend)


def _rights(found: "ServerCheckup") -> Iterator[Check]:
    if not found.lets_write:
        mend = "name all hosts in index.url and add ?target_session_attrs=read-write"
        yield TOPIC.fail("rights", "this server is a replica and takes no changes", mend)
    elif not found.may_create and found.index is None:
        mend = "GRANT CREATE ON DATABASE … TO this user, or let it own the database"
        yield TOPIC.fail("rights", "this user may not make tables in the database", mend)
    else:
        yield TOPIC.ok("rights", "sufficient")


def _index(settings: "Settings", found: "ServerCheckup", *, alive: bool, now: datetime) -> Iterator[Check]:
    from bot.doctor.notes import check_age

    index = found.index
    if index is None:
        yield TOPIC.ok("tables", "none yet; commonplace memory index fills them from the notes")
        return
    if not index.is_current:
        users = f", by {several(found.users)}" if found.users else ""
        mend = "give all instances the same version and the same [memory.chunk]; one alone makes it anew by itself"
        yield TOPIC.warn("tables", f"the index was made with other settings or another version{users}", mend)
        return
    vectors = sum(model.count for model in index.vectors)
    held = f"{counted(len(index.stamps), 'note')} in {counted(index.chunks, 'chunk')}"
    yield TOPIC.ok("tables", f"{held}, {counted(vectors, 'vector')}, {how_large(found.size)}")
    if found.users:
        yield TOPIC.ok("used by", several(found.users))
    if index.faults:
        yield TOPIC.warn("not UTF-8", several(sorted(index.faults)), "save it as UTF-8")
    yield from check_age(settings, index, alive=alive, now=now)
