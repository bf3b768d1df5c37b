"""The index on a PostgreSQL server: tsvector finds chunks, pgvector finds segments, tables hold their passages."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from memory.embeddings.protocol import ModelId, Vector
from memory.errors import IndexCorrupted, IndexUnavailable
from memory.folder_scope import FolderScope
from memory.index.mean_centering import MeanVector
from memory.index.note_graph import LEAD_REACH, ResolvedLink, build_candidates, find_mentions, list_links
from memory.index.postgres import active_instances, claims, model_versions
from memory.index.postgres import vectors as stored
from memory.index.postgres.full_text import PostgresFullText
from memory.index.postgres.initialization import IndexRecreated, check_state, prepare, recreate
from memory.index.postgres.links import PostgresLinks, read_lines
from memory.index.postgres.liveness_lock import LivenessLock
from memory.index.postgres.notes import merge_lexemes, read_dated, read_notes, read_stamps, write_notes
from memory.index.postgres.passage_runs import Similarities, read_chunk_spans, read_day_spans, read_runs
from memory.index.postgres.purge import rewrite_tables, transaction_id
from memory.index.postgres.schema import (
    SHADOW_LOCK,
    IndexState,
    PostgresTables,
    lock_index,
    read_snapshot_state,
    read_state,
)
from memory.index.postgres.scope import PostgresScope
from memory.index.postgres.vector_search import ExactServerSearcher, ServerSearcher
from memory.index.proposals import propose
from memory.index.protocol import (
    IndexChanged,
    IndexCounts,
    IndexedNote,
    KnownNote,
    Stamp,
    UnembeddedText,
    VectorCounts,
    VectorQuery,
)
from memory.postgres.lock_keys import lock_key
from memory.postgres.notifications import notify_change
from memory.postgres.server import Server
from memory.ranking.candidates import DayRange, SearchCandidates
from memory.tokenizer import Term

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class ServerTransaction:
    """A transaction and the state of the index in it."""

    db: "Db"
    state: IndexState
    tables: PostgresTables

    @property
    def version(self) -> str:
        """An id of the state; it changes with every change by anyone."""
        return f"{self.state.identity}/{self.state.changes}"


class GenerationIndex:
    """`Index` on one generation of tables; it notices if another instance recreated the index.

    This is what the index and its shadow have in common: everything except starting a shadow.
    """

    _is_live = True
    """False for a shadow."""

    def __init__(
        self,
        server: Server,
        *,
        fingerprint: str,
        user: str = "",
        member: str = "",
        searcher: ServerSearcher | None = None,
    ) -> None:
        """Connect to nothing yet. `searcher` compares vectors and belongs to this index alone.

        `fingerprint`: if the stored one differs, the index is outdated; see `Index.is_outdated`. `user` is the
        name that other instances see, `member` the id in our notifications.
        """
        self._server = server
        self._fingerprint = fingerprint
        self._stored_fingerprint = fingerprint  # when last prepared
        self._user = active_instances.instance_name(user)
        self._is_nameless = not user
        self._searcher: ServerSearcher = searcher or ExactServerSearcher()
        self._liveness = LivenessLock(server)
        self._holder = self._liveness.name
        self._member = member or self._holder
        self._claimed: set[str] = set()
        self._has_claims = False
        self._newest_seen: int | None = None
        self._is_prepared = False
        self._seen_at = float("-inf")
        self._wanted: ModelId | None = None
        self._numbers: tuple[str, ModelId, VectorCounts] | None = None
        self._all_embedded: tuple[str, ModelId] | None = None
        self._scope: tuple[tuple[str, FolderScope], PostgresScope] | None = None
        self._mean_of: tuple[str, int, FolderScope | None] = ("", 0, None)
        self._mean: MeanVector | None = None

    def track_model(self, model: ModelId | None) -> None:
        """See `Index.track_model`."""
        self._wanted = model

    def identity(self) -> str:
        """See `Index.identity`."""
        return self._read_state().identity

    def is_outdated(self) -> bool:
        """See `Index.is_outdated`."""
        return self._read_state().fingerprint != self._fingerprint

    def version(self) -> str:
        """See `Index.version`. It changes only with the whole index, since claims protect single notes."""
        state = self._read_state()
        return f"{state.identity}:{state.renewals}"

    def stamps(self) -> tuple[Mapping[str, tuple[int, int, int]], Mapping[str, str]]:
        """See `Index.stamps`."""
        self._record_use()
        stamps, faults, self._newest_seen = self._run_read(lambda tx: read_stamps(tx.tables))
        return stamps, faults

    def dated_notes(self) -> Sequence[tuple[str, int]]:
        """See `Index.dated_notes`."""
        return self._run_read(lambda tx: read_dated(tx.tables))

    def known(self, paths: Collection[str] | None = None) -> Mapping[str, KnownNote]:
        """See `Index.known`."""
        return self._run_read(lambda tx: read_notes(tx.tables, paths))

    def claim(self, paths: Sequence[str]) -> Collection[str]:
        """See `Index.claim`."""
        self._ensure_visible()
        ours = self._run_write(lambda tx: claims.claim_notes(tx.db, paths, self._holder), counts=False)
        if (rest := set(paths) - ours) and self._end_dead_claims():
            ours |= self._run_write(lambda tx: claims.claim_notes(tx.db, rest, self._holder), counts=False)
        self._claimed |= ours
        return ours

    def release(self, paths: Collection[str]) -> None:
        """See `Index.release`."""
        self._claimed.difference_update(paths)
        self._run_write(lambda tx: claims.release_notes(tx.db, paths, self._holder), counts=False)

    def write_batch(
        self,
        notes: Sequence[IndexedNote],
        *,
        deleted: Collection[str] = (),
        restamped: Mapping[str, Stamp] | None = None,
        version: str = "",
    ) -> None:
        """See `Index.write_batch`."""

        def change(tx: ServerTransaction) -> None:
            if version and version != f"{tx.state.identity}:{tx.state.renewals}":
                raise IndexChanged
            if self._is_live and tx.state.fingerprint != self._fingerprint:
                raise IndexChanged
            # Lock all claims first, in the same order as everybody else.
            done = [*(note.path for note in notes), *(restamped or ())]
            ours = self._filter_claimed(tx.db, done)
            wanted = stored.find_model(tx.db, self._wanted) or 0 if self._wanted else None
            changed = write_notes(
                tx.tables,
                list({note.path: note for note in notes if note.path in ours}.values()),
                deleted=deleted,
                restamped={path: stamp for path, stamp in (restamped or {}).items() if path in ours},
                newest=self._newest_seen,
                wanted=wanted,
                counts_uses=self._is_live,
            )
            claims.release_notes(tx.db, done, self._holder)
            tx.db.execute(
                "UPDATE commonplace.index_state SET hits = hits + %s, misses = misses + %s,"
                " last_indexed_at = CASE WHEN %s THEN now() ELSE last_indexed_at END",
                (changed.hits, changed.misses, self._is_live),
            )

        self._run_write(change)
        self._claimed.difference_update(note.path for note in notes)
        self._claimed.difference_update(restamped or ())

    def candidates(
        self,
        terms: Sequence[Term],
        *,
        limit: int,
        vector_query: VectorQuery | None = None,
        days: Sequence[DayRange] = (),
        today: date = date.max,
        within: Collection[str] | None = None,
        phrases: Collection[str] = (),
    ) -> SearchCandidates:
        """See `Index.candidates`."""
        if not terms and not vector_query and not days:
            return SearchCandidates((), {}, 0)

        def look(tx: ServerTransaction) -> SearchCandidates:
            tables = tx.tables
            scope = None if within is None else self._find_scope(tx, FolderScope.of(within))
            full_text = scope.full_text(tables) if scope else PostgresFullText(tables)
            proposal = propose(full_text, terms, limit=limit, today=today)
            found = read_chunk_spans(tables, proposal.chunks)
            found += read_day_spans(tables, days, scope.notes if scope else None)
            folders, links = scope.folders if scope else None, PostgresLinks(tables)
            mentions = find_mentions(links, phrases, folders)
            found += ((note, 0, LEAD_REACH) for note in links.find_notes(mentions).values())
            compare: Similarities | None = None
            model = stored.find_model(tx.db, vector_query.model) if vector_query else None
            if vector_query and model is not None:
                found += stored.most_similar_segments(
                    tables,
                    self._searcher,
                    model,
                    vector_query,
                    state=tx.version,
                    today=today,
                    scope=scope,
                )
                mean = self._mean_vector(tx, model, scope, size=len(vector_query.vector))
                compare = partial(stored.read_similarities, tx.db, self._searcher, model, vector_query, mean)
            runs = read_runs(tables, found, compare)
            return build_candidates(links, runs, mentions, proposal, folders)

        return self._run_read(look)

    def links(
        self, paths: Collection[str], *, within: Collection[str] | None = None
    ) -> Sequence[ResolvedLink]:
        """See `Index.links`."""
        folders = None if within is None else FolderScope.of(within)
        return self._run_read(lambda tx: list_links(PostgresLinks(tx.tables), paths, folders))

    def lines(self, places: Sequence[tuple[str, int]]) -> Sequence[str]:
        """See `Index.lines`."""
        return self._run_read(lambda tx: read_lines(tx.tables, places))

    def _find_scope(self, tx: ServerTransaction, folders: FolderScope) -> PostgresScope:
        if self._scope is None or self._scope[0] != (tx.version, folders):
            self._scope = ((tx.version, folders), PostgresScope(tx.tables, folders))
        return self._scope[1]

    def _mean_vector(
        self, tx: ServerTransaction, model: int, scope: PostgresScope | None, *, size: int
    ) -> MeanVector | None:
        wanted = (tx.version, model, scope.folders if scope else None)
        if self._mean_of != wanted:
            among = scope.texts(tx.tables) if scope else None
            mean = stored.read_mean_vector(tx.db, model, size=size, among=among)
            self._mean_of, self._mean = wanted, mean
        return self._mean

    def list_unembedded(self, model: ModelId, *, limit: int) -> list[UnembeddedText]:
        """See `Index.list_unembedded`. Leaves out texts that other instances are embedding now."""

        def look(tx: ServerTransaction) -> tuple[list[UnembeddedText], bool]:
            if self._all_embedded == (tx.version, model):
                return [], False
            others = claims.texts_claimed_by_others(tx.db, model, self._holder)
            found = stored.list_unembedded(tx.tables, model, limit=limit, without=others)
            if not found and limit > 0 and not others:
                self._all_embedded = (tx.version, model)
            return found, bool(others)

        while True:
            found, has_others = self._run_read(look)
            if has_others and self._end_dead_claims():
                continue
            if not found:
                return []
            self._ensure_visible()
            digests = [text.digest for text in found]
            ours = self._run_write(
                lambda tx, digests=digests: claims.claim_texts(tx.db, model, digests, self._holder),  # type: ignore[misc]
                counts=False,
            )
            if ours:
                return [text for text in found if text.digest in ours]

    def store_vectors(
        self, model: ModelId, vectors: Mapping[bytes, Vector], refused: Mapping[bytes, str] | None = None
    ) -> None:
        """See `Index.store_vectors`. Raises `ValueError` if a vector's length is not the model's."""

        def keep(tx: ServerTransaction) -> bool:
            kept = stored.store_vectors(tx.db, model, vectors, refused or {})
            claims.release_texts(tx.db, model, [*vectors, *(refused or ())], self._holder)
            return kept

        self._run_write(keep)

    def retry_refused(self, model: ModelId) -> None:
        """See `Index.retry_refused`."""
        self._run_write(lambda tx: stored.retry_refused(tx.db, model))

    def resolve_dimensions(self, model: ModelId) -> ModelId:
        """See `Index.resolve_dimensions`."""
        if not model.is_known:
            return self._run_read(lambda tx: model_versions.last_model(tx.db, model))
        if model.dimensions:
            return model
        dimensions = self._run_read(lambda tx: stored.last_dimensions(tx.db, model))
        return replace(model, dimensions=dimensions)

    def other_versions(self, model: ModelId) -> list[ModelId]:
        """See `Index.other_versions`."""
        return self._run_read(lambda tx: model_versions.other_versions(tx.db, model))

    def sample_vectors(self, model: ModelId, *, limit: int) -> list[tuple[UnembeddedText, Vector]]:
        """See `Index.sample_vectors`."""

        def look(tx: ServerTransaction) -> list[tuple[UnembeddedText, Vector]]:
            model_id = stored.find_model(tx.db, model)
            return (
                model_versions.sample_vectors(tx.tables, model_id, limit=limit)
                if model_id is not None
                else []
            )

        return self._run_read(look)

    def adopt_vectors(self, other: ModelId, model: ModelId) -> None:
        """See `Index.adopt_vectors`."""
        self._run_write(lambda tx: model_versions.adopt_vectors(tx.db, other, model))

    def count_vectors(self, model: ModelId) -> VectorCounts:
        """See `Index.count_vectors`."""

        def look(tx: ServerTransaction) -> VectorCounts:
            if self._numbers and self._numbers[:2] == (tx.version, model):
                return self._numbers[2]
            state = tx.state
            numbers = stored.count_vectors(tx.tables, model, hits=state.hits, misses=state.misses)
            self._numbers = (tx.version, model, numbers)
            return numbers

        return self._run_read(look)

    def evict_unused(self, *, limit: int, wanted_models: Collection[ModelId]) -> int:
        """See `Index.evict_unused`."""

        def forget(tx: ServerTransaction) -> int:
            # A shadow holds texts that no note uses yet.
            if not _is_without_shadow(tx.db):
                return 0
            return stored.evict_unused(tx.db, limit=limit, wanted_models=wanted_models)

        return self._run_write(forget)

    def purge(self) -> None:
        """See `Index.purge`. The server's write-ahead log and backups are its administrator's responsibility."""

        def forget(tx: ServerTransaction) -> tuple[str, str]:
            if not _is_without_shadow(tx.db):
                raise IndexUnavailable("the index is being rebuilt right now")
            stored.delete_all_unused(tx.db)
            PostgresTables(tx.db, _other_generation(tx.state.generation)).empty()
            merge_lexemes(tx.tables)
            return tx.state.generation, transaction_id(tx.db)

        generation, forgotten_in = self._run_write(forget)
        rewrite_tables(self._server, generation, forgotten_in=forgotten_in)

    def numbers(self) -> IndexCounts:
        """See `Index.numbers`."""

        def look(tx: ServerTransaction) -> IndexCounts:
            row = tx.db.execute(
                "SELECT notes, chunks FROM commonplace.index_sums WHERE generation = %s",
                [tx.tables.generation],
            ).fetchone() or (0, 0)
            return IndexCounts(notes=row[0], chunks=row[1], last_indexed_at=tx.state.last_indexed_at)

        return self._run_read(look)

    def reset(self) -> None:
        """See `Index.reset`. Undamaged vectors are kept."""
        self._is_prepared = False
        prepare_broken(self._server)
        recreate(self._server, name=self._user, fingerprint=self._fingerprint)
        self._is_prepared = True

    def close(self) -> None:
        """See `Index.close`. The server is closed by its opener."""
        if self._has_claims:
            self._has_claims = False
            self._claimed.clear()
            with suppress(IndexUnavailable, IndexCorrupted), self._server.transaction() as db:
                claims.release_all(db, self._holder)  # otherwise they expire
            self._liveness.end()
        if self._is_nameless and self._is_prepared:
            # Otherwise the next process, perhaps with other settings, would take this one to be running.
            with suppress(IndexUnavailable, IndexCorrupted), self._server.transaction() as db:
                active_instances.end_use(db, self._user)

    def _read_state(self) -> IndexState:
        """Read only the index's state, in one round trip."""

        def ask() -> IndexState:
            with self._server.transaction() as db:
                return self._check_state(read_state(db))

        return self._with_schema(ask)

    def _run_read(self, look: Callable[[ServerTransaction], _Result]) -> _Result:
        """Run `look` in one snapshot of the index. Raises `IndexCorrupted`, `IndexUnavailable`."""

        def ask() -> _Result:
            with self._open_read() as tx:
                return look(tx)

        return self._with_schema(ask)

    def _run_write(self, change: Callable[[ServerTransaction], _Result], *, counts: bool = True) -> _Result:
        """Run `change` while others may write; with `counts`, it changes `version`.

        A change that returns False or 0 found nothing to do, and others are not notified. Raises
        `IndexCorrupted`, `IndexUnavailable`.
        """

        def ask() -> _Result:
            with self._open_write() as tx:
                result = change(tx)
                if counts and (result is None or bool(result)):
                    # Last, since the next writer waits for this row until the transaction ends.
                    tx.db.execute("UPDATE commonplace.index_state SET changes = changes + 1")
                    if self._is_live:
                        notify_change(tx.db, self._member)
                return result

        return self._with_schema(ask)

    @contextmanager
    def _open_read(self) -> Iterator[ServerTransaction]:
        with self._server.transaction() as db:
            state = self._check_state(read_snapshot_state(db))
            yield ServerTransaction(db, state, self._tables(db, state))

    @contextmanager
    def _open_write(self) -> Iterator[ServerTransaction]:
        with self._server.transaction() as db:
            lock_index(db, "ROW EXCLUSIVE")
            state = self._check_state(read_state(db))
            yield ServerTransaction(db, state, self._tables(db, state))

    def _check_state(self, state: IndexState | None) -> IndexState:
        return check_state(state, self._fingerprint, self._stored_fingerprint)

    def _tables(self, db: "Db", state: IndexState) -> PostgresTables:
        return PostgresTables(db, state.generation)

    def _with_schema(self, ask: Callable[[], _Result]) -> _Result:
        if self._is_prepared:
            try:
                return ask()
            except IndexRecreated:
                self._is_prepared = False
        self._ensure_schema()
        try:
            return ask()
        except IndexRecreated:
            raise IndexUnavailable("the index keeps being started over") from None

    def _ensure_schema(self) -> None:
        if not self._is_prepared:
            self._stored_fingerprint = prepare(self._server, name=self._user, fingerprint=self._fingerprint)
            self._is_prepared = True

    def _record_use(self) -> None:
        if time.monotonic() - self._seen_at >= active_instances.SEEN_EVERY:
            self._run_write(
                lambda tx: active_instances.renew_use(tx.db, self._user, self._fingerprint),
                counts=False,
            )
            self._run_write(lambda tx: claims.delete_expired(tx.db), counts=False)
            self._seen_at = time.monotonic()

    def _ensure_visible(self) -> None:
        """Hold the liveness lock; without it, our claims would be treated as those of a dead process."""
        self._has_claims = True
        self._liveness.show()

    def _end_dead_claims(self) -> int:
        return self._run_write(lambda tx: claims.release_claims_of_dead(tx.db), counts=False)

    def _filter_claimed(self, db: "Db", paths: Sequence[str]) -> set[str]:
        """Return the notes that nobody else has claimed; of our own, those whose claim has not been lost."""
        claimed = [path for path in paths if path in self._claimed]
        others = [path for path in paths if path not in self._claimed]
        ours = claims.keep_claims(db, claimed, self._holder) if claimed else set()
        return ours | claims.claim_notes(db, others, self._holder) if others else ours


def prepare_broken(server: Server) -> None:
    """Prepare schema and extension before the tables are recreated."""
    from memory.index.postgres.initialization import ensure_pgvector
    from memory.index.postgres.schema import PART, STEPS
    from memory.postgres.migrations import migrate

    with server.transaction() as db:
        ensure_pgvector(db, server.shown)
        migrate(db, PART, STEPS)


def _other_generation(generation: str) -> str:
    return "b" if generation == "a" else "a"


def _is_without_shadow(db: "Db") -> bool:
    """Return whether there is no shadow; none can start before the transaction ends."""
    row = db.execute("SELECT pg_try_advisory_xact_lock(%s)", [lock_key("index", SHADOW_LOCK)]).fetchone()
    return bool(row and row[0])
