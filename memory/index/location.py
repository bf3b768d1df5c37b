"""The location of the index: a file in the workspace, or a server that instances share."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from memory.index.protocol import Index
from memory.translatable import Translatable

if TYPE_CHECKING:
    from memory.postgres.notifications import ChangeNotifications
    from memory.postgres.server import Server

VectorBackend = Literal["sqlite-vec", "numpy", "pgvector"]


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """The vector backend that was chosen."""

    name: VectorBackend
    reason: str
    """Why it was chosen."""


_BACKEND_REASONS: dict[VectorBackend, str] = {
    "numpy": "in memory, for a service that searches often: about 40 times as fast as sqlite-vec",
    "sqlite-vec": "for a single search: numpy takes longer to load than this to read them all; the service uses numpy",
    "pgvector": "by the server; a service keeps one bit per number in memory to choose what to compare",
}


class IndexLocation(Protocol):
    """Opens the same index any number of times, once for each thread."""

    @property
    def shown(self) -> str:
        """Return the location for people, without secrets."""
        ...

    @property
    def file(self) -> Path | None:
        """Return the index file; None if the index is on a server."""
        ...

    @property
    def problem(self) -> str:
        """Return why the server was unreachable when last used; "" while it works. Makes no request."""
        ...

    @property
    def words(self) -> str:
        """Return how text is tokenized and matched."""
        ...

    def open(self) -> Index:
        """Return the index with a slow default for vectors; connects to nothing yet."""
        ...

    def open_with_backend(self, *, lasting: bool) -> tuple[Index, BackendChoice]:
        """Return the index with the best vector backend. Set `lasting` if many searches will follow."""
        ...

    def news(self) -> "ChangeNotifications | None":
        """Return notifications of other instances' changes; None if they are not needed."""
        ...


def redact_server_address(text: str, location: IndexLocation) -> str:
    """Return `text` without the index server's address, which must not appear in a chat.

    The server's own message, in parentheses after it (`quote_server`), is removed too, since it may name the host.
    """
    if location.file or location.shown not in text:
        return text
    if text == location.shown:
        return Translatable("the index server")
    if isinstance(text, Translatable):
        if isinstance(failure := text.fields.get("failure"), str):
            return redact_server_address(failure, location)
        fields = {
            name: redact_server_address(each, location) if isinstance(each, str) else each
            for name, each in text.fields.items()
        }
        return Translatable(text.template, **fields)
    return re.sub(r" \(.*\)", "", text.replace(location.shown, "the index server"))


class IndexFileLocation:
    """`IndexLocation` in a SQLite file."""

    words = Translatable("full-text search in all languages (FTS5)")
    problem = ""

    def __init__(self, private: Path, *, fingerprint: str, name: str = "index.db") -> None:
        """Store the location. `private` is the workspace's folder for such files, `name` the file's name in it."""
        self.file = private / name
        self._fingerprint = fingerprint
        self.shown = f"{private.name}/{name}"

    def open(self) -> Index:
        """See `IndexLocation.open`."""
        from memory.index.sqlite import SqliteIndex

        return SqliteIndex(self.file, fingerprint=self._fingerprint)

    def open_with_backend(self, *, lasting: bool) -> tuple[Index, BackendChoice]:
        """See `IndexLocation.open_with_backend`."""
        from memory.index.sqlite import SqliteIndex
        from memory.index.vector_search.factory import open_vector_searcher

        searcher = open_vector_searcher(lasting=lasting)
        index = SqliteIndex(self.file, fingerprint=self._fingerprint, searcher=searcher)
        return index, BackendChoice(searcher.name, searcher.reason or _BACKEND_REASONS[searcher.name])

    def news(self) -> None:
        """Return None: every process that shares the file also watches the same folder."""


class IndexServerLocation:
    """`IndexLocation` in a PostgreSQL database."""

    words = Translatable("full-text search in all languages (tsvector)")
    file = None

    def __init__(self, server: "Server", *, fingerprint: str, user: str = "", member: str = "") -> None:
        """Store the location.

        `user` is the name that other instances see, `member` the id in our notifications.
        """
        self._server = server
        self._fingerprint = fingerprint
        self._user = user
        self._member = member
        self.shown = server.shown

    @property
    def problem(self) -> str:
        """See `IndexLocation.problem`."""
        return self._server.problem

    def open(self) -> Index:
        """See `IndexLocation.open`."""
        from memory.index.postgres.index import PostgresIndex

        return PostgresIndex(
            self._server, fingerprint=self._fingerprint, user=self._user, member=self._member
        )

    def open_with_backend(self, *, lasting: bool) -> tuple[Index, BackendChoice]:
        """See `IndexLocation.open_with_backend`."""
        from memory.index.postgres.binary_quantization import open_vector_searcher
        from memory.index.postgres.index import PostgresIndex

        index = PostgresIndex(
            self._server,
            fingerprint=self._fingerprint,
            user=self._user,
            member=self._member,
            searcher=open_vector_searcher(lasting=lasting),
        )
        return index, BackendChoice("pgvector", _BACKEND_REASONS["pgvector"])

    def news(self) -> "ChangeNotifications":
        """See `IndexLocation.news`."""
        from memory.index.postgres import active_instances
        from memory.index.postgres.schema import CHANGES
        from memory.postgres.notifications import ChangeNotifications

        name = active_instances.instance_name(self._user)
        return ChangeNotifications(
            self._server,
            number=CHANGES,
            mine=self._member.__eq__,
            sign=lambda db: active_instances.renew_use(db, name, self._fingerprint),
            sign_every=active_instances.SEEN_EVERY,
        )
