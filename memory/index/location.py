"""Where the index lives: in a file of this workspace, or on a server that instances share."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from memory.index.protocol import Index

if TYPE_CHECKING:
    from memory.postgres.notifications import ChangeNotifications
    from memory.postgres.server import Server

VectorBackend = Literal["sqlite-vec", "numpy", "pgvector"]

_FTS_DESCRIPTION = "words folded and stemmed, single characters where scripts have no spaces"


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """How vectors are compared."""

    name: VectorBackend
    reason: str
    """Why it is this one."""


_BACKEND_REASONS: dict[VectorBackend, str] = {
    "numpy": "in memory, for a service that searches often: about 40 times as fast as sqlite-vec",
    "sqlite-vec": "for a single search: numpy takes longer to load than this to read them all; the service uses numpy",
    "pgvector": "by the server; a service keeps one bit per number in memory to choose what to compare",
}


class IndexLocation(Protocol):
    """Opens the same index as often as it is called, each for one thread."""

    @property
    def shown(self) -> str:
        """Where it is, for people; no secret."""
        ...

    @property
    def file(self) -> Path | None:
        """The file that it is in; None where it is in none of ours."""
        ...

    @property
    def problem(self) -> str:
        """Why it cannot be asked, as last seen; "" while it can. Asks nobody."""
        ...

    @property
    def words(self) -> str:
        """How text becomes words, and what matches them."""
        ...

    def open(self) -> Index:
        """The index, which can compare vectors, if slowly; asks nobody yet."""
        ...

    def open_with_backend(self, *, lasting: bool) -> tuple[Index, BackendChoice]:
        """The index with the best way of comparing vectors; `lasting`: many searches will come."""
        ...

    def news(self) -> "ChangeNotifications | None":
        """What tells that others have changed it; None where it is of no use to know."""
        ...


class IndexFileLocation:
    """`IndexLocation` in one SQLite file."""

    words = f"{_FTS_DESCRIPTION} (FTS5)"
    problem = ""

    def __init__(self, private: Path, *, fingerprint: str) -> None:
        """`private` is the workspace's folder of such files."""
        self.file = private / "index.db"
        self._fingerprint = fingerprint
        self.shown = f"{private.name}/index.db"

    def open(self) -> Index:
        """See `IndexLocation.open`."""
        from memory.index.sqlite import SqliteIndex

        return SqliteIndex(self.file, fingerprint=self._fingerprint)

    def open_with_backend(self, *, lasting: bool) -> tuple[Index, BackendChoice]:
        """See `IndexLocation.open_comparing`."""
        from memory.index.sqlite import SqliteIndex
        from memory.index.vector_search.factory import open_vector_searcher

        nearest = open_vector_searcher(lasting=lasting)
        index = SqliteIndex(self.file, fingerprint=self._fingerprint, nearest=nearest)
        return index, BackendChoice(nearest.name, nearest.reason or _BACKEND_REASONS[nearest.name])

    def news(self) -> None:
        """See `IndexLocation.news`: whoever shares the file shares the folder too, which is watched."""


class IndexServerLocation:
    """`IndexLocation` in a PostgreSQL database."""

    words = f"{_FTS_DESCRIPTION} (tsvector)"
    file = None

    def __init__(self, server: "Server", *, fingerprint: str, user: str = "", member: str = "") -> None:
        """`user` is what other instances are told of this one, `member` by what its announcements are known."""
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
        """See `IndexLocation.open_comparing`."""
        from memory.index.postgres.binary_quantization import open_vector_searcher
        from memory.index.postgres.index import PostgresIndex

        index = PostgresIndex(
            self._server,
            fingerprint=self._fingerprint,
            user=self._user,
            member=self._member,
            nearest=open_vector_searcher(lasting=lasting),
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
