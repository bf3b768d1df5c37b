"""The index in one SQLite file: FTS5 finds chunks, vectors find segments, other tables hold their passages."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from memory.embeddings.protocol import ModelId, Vector
from memory.errors import IndexCorrupted, IndexUnavailable
from memory.folder_scope import FolderScope
from memory.index import sqlite_model_versions, sqlite_vectors
from memory.index.mean_centering import MeanVector
from memory.index.note_graph import LEAD_REACH, ResolvedLink, build_candidates, find_mentions, list_links
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
from memory.index.sqlite_file import FileTransaction, IndexFile
from memory.index.sqlite_full_text import SqliteFullText, merge_deleted_words
from memory.index.sqlite_links import SqliteLinks, read_lines
from memory.index.sqlite_notes import read_dated, read_notes, read_stamps, write_notes
from memory.index.sqlite_passage_runs import Similarities, read_chunk_spans, read_day_spans, read_runs
from memory.index.sqlite_schema import SqliteTables, check_text, count_uses
from memory.index.sqlite_scope import SqliteScope
from memory.index.vector_search.binary_quantization import BinaryVectorSearcher
from memory.index.vector_search.protocol import VectorSearcher
from memory.ranking.candidates import DayRange, SearchCandidates
from memory.tokenizer import Term


class SqliteIndex:
    """`Index` in one file. It notices if the file was deleted, replaced or damaged."""

    _is_live = True
    """False for a shadow."""

    def __init__(self, file: Path, *, fingerprint: str, searcher: VectorSearcher | None = None) -> None:
        """Open nothing yet. `searcher` compares vectors and belongs to this index alone.

        `fingerprint`: if the stored one differs, the index is outdated; see `Index.is_outdated`.
        """
        self._path = file
        self._fingerprint = fingerprint
        self._file = IndexFile(file, fingerprint=fingerprint)
        self._searcher: VectorSearcher = searcher or BinaryVectorSearcher()
        self._wanted: ModelId | None = None
        self._own_changes = (0, 0)
        self._numbers: tuple[str, ModelId, VectorCounts] | None = None
        self._all_embedded: tuple[str, ModelId] | None = None
        self._stamps: tuple[Mapping[str, tuple[int, int, int]], Mapping[str, str]] | None = None
        self._stamps_of = (0, 0)
        self._scope: SqliteScope | None = None
        self._mean_of: tuple[str, int, FolderScope | None] = ("", 0, None)
        self._mean: MeanVector | None = None

    def track_model(self, model: ModelId | None) -> None:
        """See `Index.track_model`."""
        self._wanted = model

    def identity(self) -> str:
        """See `Index.identity`."""
        with self._file.reading():
            return self._file.identity

    def is_outdated(self) -> bool:
        """See `Index.is_outdated`."""
        with self._file.reading() as tx:
            return self._file.is_outdated(tx)

    def version(self) -> str:
        """See `Index.version`. It changes with notes, not with vectors."""
        with self._file.reading() as tx:
            return self._version(tx)

    def stamps(self) -> tuple[Mapping[str, tuple[int, int, int]], Mapping[str, str]]:
        """See `Index.stamps`."""
        with self._file.reading() as tx:
            # Of many notes, reading them takes as long as a part of the walk. Every write to notes counts a change.
            version = (self._file.openings, tx.count("changes"))
            if self._stamps is None or version != self._stamps_of or not self._is_live:
                self._stamps, self._stamps_of = read_stamps(self._tables(tx)), version
            return self._stamps

    def dated_notes(self) -> Sequence[tuple[str, int]]:
        """See `Index.dated_notes`."""
        with self._file.reading() as tx:
            return read_dated(self._tables(tx))

    def known(self, paths: Collection[str] | None = None) -> Mapping[str, KnownNote]:
        """See `Index.known`."""
        with self._file.reading() as tx:
            return read_notes(self._tables(tx), paths)

    def claim(self, paths: Sequence[str]) -> Collection[str]:
        """Return all paths: changes by other processes show in `version`."""
        return paths

    def release(self, paths: Collection[str]) -> None:
        """See `Index.release`."""

    def write_batch(
        self,
        notes: Sequence[IndexedNote],
        *,
        deleted: Collection[str] = (),
        restamped: Mapping[str, Stamp] | None = None,
        version: str = "",
    ) -> None:
        """See `Index.write_batch`."""
        with self._file.writing() as tx:
            if (version and version != self._version(tx)) or (self._is_live and self._file.is_outdated(tx)):
                raise IndexChanged
            wanted = sqlite_vectors.find_model(tx.db, self._wanted) or 0 if self._wanted else None
            asked = write_notes(
                self._tables(tx),
                notes,
                deleted=deleted,
                restamped=restamped or {},
                clock=tx.clock,
                wanted=wanted,
                counts_uses=self._is_live,
            )
            tx.add("hits", asked.hits)
            tx.add("misses", asked.misses)
            if self._is_live:
                tx.count_note_change()
        self._own_changes = (self._file.openings, self._known_own_changes() + 1)

    def shadow(self) -> "SqliteShadow":
        """See `Index.shadow`."""
        return SqliteShadow(self._path, fingerprint=self._fingerprint, wanted=self._wanted)

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
        with self._file.reading() as tx:
            tables = self._tables(tx)
            scope = None if within is None else self._find_scope(tx, FolderScope.of(within))
            full_text = scope.full_text(tables) if scope else SqliteFullText(tables)
            proposal = propose(full_text, terms, limit=limit, today=today)
            found = read_chunk_spans(tables, proposal.chunks)
            folders = scope.folders if scope else None
            found += read_day_spans(tables, days, folders)
            links = SqliteLinks(tables)
            mentions = find_mentions(links, phrases, folders)
            found += ((note, 0, LEAD_REACH) for note in links.find_notes(mentions).values())
            compare: Similarities | None = None
            model = sqlite_vectors.find_model(tx.db, vector_query.model) if vector_query else None
            if vector_query and model is not None:
                found += sqlite_vectors.most_similar_segments(
                    tables,
                    self._searcher,
                    model,
                    vector_query,
                    version=self._state(tx),
                    today=today,
                    scope=scope,
                )
                compare = partial(
                    sqlite_vectors.read_similarities,
                    tx.db,
                    self._searcher,
                    model,
                    vector_query,
                    self._mean_vector(tx, model, scope, size=len(vector_query.vector)),
                )
            runs = read_runs(tables, found, compare)
            return build_candidates(links, runs, mentions, proposal, folders)

    def links(
        self, paths: Collection[str], *, within: Collection[str] | None = None
    ) -> Sequence[ResolvedLink]:
        """See `Index.links`."""
        with self._file.reading() as tx:
            folders = None if within is None else FolderScope.of(within)
            return list_links(SqliteLinks(self._tables(tx)), paths, folders)

    def lines(self, places: Sequence[tuple[str, int]]) -> Sequence[str]:
        """See `Index.lines`."""
        with self._file.reading() as tx:
            return read_lines(self._tables(tx), places)

    def _find_scope(self, tx: FileTransaction, folders: FolderScope) -> SqliteScope:
        tables, state = self._tables(tx), self._state(tx)
        if self._scope is None or not self._scope.is_of(tables, folders, state):
            self._scope = SqliteScope(tables, folders, state)
        return self._scope

    def _mean_vector(
        self, tx: FileTransaction, model: int, scope: SqliteScope | None, *, size: int
    ) -> MeanVector | None:
        wanted = (self._state(tx), model, scope.folders if scope else None)
        if self._mean_of != wanted:
            among = scope.texts(self._tables(tx)) if scope else None
            mean = sqlite_vectors.read_mean_vector(tx.db, model, size=size, among=among)
            self._mean_of, self._mean = wanted, mean
        return self._mean

    def list_unembedded(self, model: ModelId, *, limit: int) -> list[UnembeddedText]:
        """See `Index.list_unembedded`."""
        with self._file.reading() as tx:
            state = self._state(tx)
            if self._all_embedded == (state, model):
                return []
            found = sqlite_vectors.list_unembedded(self._tables(tx), model, limit=limit)
        if not found and limit > 0:
            self._all_embedded = (state, model)
        return found

    def store_vectors(
        self, model: ModelId, vectors: Mapping[bytes, Vector], refused: Mapping[bytes, str] | None = None
    ) -> None:
        """See `Index.store_vectors`. Raises `ValueError` if a vector's length is not the model's."""
        with self._file.writing() as tx:
            sqlite_vectors.store_vectors(tx.db, model, vectors, refused or {}, clock=tx.clock)

    def retry_refused(self, model: ModelId) -> None:
        """See `Index.retry_refused`."""
        with self._file.writing() as tx:
            sqlite_vectors.retry_refused(tx.db, model)

    def resolve_dimensions(self, model: ModelId) -> ModelId:
        """See `Index.resolve_dimensions`."""
        if model.dimensions and model.is_known:
            return model
        with self._file.reading() as tx:
            if not model.is_known:
                return sqlite_model_versions.last_model(tx.db, model)
            return replace(model, dimensions=sqlite_vectors.last_dimensions(tx.db, model))

    def other_versions(self, model: ModelId) -> list[ModelId]:
        """See `Index.other_versions`."""
        with self._file.reading() as tx:
            return sqlite_model_versions.other_versions(tx.db, model)

    def sample_vectors(self, model: ModelId, *, limit: int) -> list[tuple[UnembeddedText, Vector]]:
        """See `Index.sample_vectors`."""
        with self._file.reading() as tx:
            model_id = sqlite_vectors.find_model(tx.db, model)
            return (
                sqlite_model_versions.sample_vectors(self._tables(tx), model_id, limit=limit)
                if model_id
                else []
            )

    def adopt_vectors(self, other: ModelId, model: ModelId) -> None:
        """See `Index.adopt_vectors`."""
        with self._file.writing() as tx:
            other_id = sqlite_vectors.find_model(tx.db, other)
            if other_id and sqlite_vectors.find_model(tx.db, model) is None:
                sqlite_model_versions.adopt_vectors(tx.db, other_id, model)

    def count_vectors(self, model: ModelId) -> VectorCounts:
        """See `Index.count_vectors`."""
        with self._file.reading() as tx:
            state = self._state(tx)
            if self._numbers and self._numbers[:2] == (state, model):
                return self._numbers[2]
            numbers = sqlite_vectors.count_vectors(
                self._tables(tx), model, hits=tx.count("hits"), misses=tx.count("misses")
            )
        self._numbers = (state, model, numbers)
        return numbers

    def evict_unused(self, *, limit: int, wanted_models: Collection[ModelId]) -> int:
        """See `Index.evict_unused`."""
        with self._file.writing() as tx:
            # A shadow holds texts that no note uses yet.
            if self._file.is_rebuilt(tx):
                return 0
            return sqlite_vectors.evict_unused(tx.db, limit=limit, wanted_models=wanted_models)

    def purge(self) -> None:
        """See `Index.purge`."""
        with self._file.writing() as tx:
            if self._file.is_rebuilt(tx):
                raise IndexUnavailable("the index is being rebuilt right now")
            sqlite_vectors.delete_all_unused(tx.db)
            merge_deleted_words(self._tables(tx))
        self._file.vacuum()

    def numbers(self) -> IndexCounts:
        """See `Index.numbers`."""
        with self._file.reading() as tx:
            tables = self._tables(tx)
            return IndexCounts(
                notes=tables.count("SELECT count(*) FROM notes@"),
                chunks=tables.count("SELECT count(*) FROM chunks@"),
                last_indexed_at=check_text(tx.about.get("last_indexed_at", "")),
            )

    def reset(self) -> None:
        """See `Index.reset`. Undamaged vectors are kept."""
        self._file.reset()

    def close(self) -> None:
        """See `Index.close`."""
        self._file.close()

    def _tables(self, tx: FileTransaction) -> SqliteTables:
        return SqliteTables(tx.db, tx.generation)

    def _version(self, tx: FileTransaction) -> str:
        return f"{self._file.openings}:{tx.count('changes') - self._known_own_changes()}"

    def _known_own_changes(self) -> int:
        opening, changes = self._own_changes
        return changes if opening == self._file.openings else 0

    def _state(self, tx: FileTransaction) -> str:
        """Return an id of the file's state; it changes with every change by anyone."""
        return f"{self._file.identity}/{tx.clock}"


class SqliteShadow(SqliteIndex):
    """`Shadow` in the other generation of tables in the same file.

    It holds a lock until it is closed. If its process dies, the next opening of the file removes its tables.
    Uses of texts are counted on promotion: counting them earlier too would double the writes.
    """

    _is_live = False

    def __init__(self, file: Path, *, fingerprint: str, wanted: ModelId | None) -> None:
        """Start empty. Raises `IndexUnavailable` if another process has a shadow."""
        super().__init__(file, fingerprint=fingerprint)
        self.track_model(wanted)
        self._identity = ""
        self._lock = self._file.lock_rebuild()
        try:
            with self._file.writing() as tx:
                tx.drop_shadow()  # an earlier version that used the file may have left some of its tables
                SqliteTables(tx.db, tx.other_generation).create()
                tx.put("shadow", tx.clock)
            self._identity = self._file.identity
        except BaseException:
            self.close()
            raise

    def promote(self) -> None:
        """See `Shadow.promote`."""
        with self._file.writing() as tx:
            mine = self._tables(tx).generation
            SqliteTables(tx.db, tx.generation).drop()
            tx.put("generation", mine)
            tx.db.execute("DELETE FROM about WHERE key = 'shadow'")
            count_uses(tx.db, mine, clock=tx.clock)
            tx.count_note_change()
            self._file.renew(tx)
        self._identity = ""
        self.close()

    def is_outdated(self) -> bool:
        """Return False: it is filled from scratch."""
        return False

    def reset(self) -> None:
        """Start empty again."""
        with self._file.writing() as tx:
            tables = self._tables(tx)
            tables.drop()
            tables.create()

    def close(self) -> None:
        """Close the shadow; its tables are removed unless it was promoted."""
        if self._identity:
            # The next opening removes what cannot be removed now.
            with contextlib.suppress(IndexCorrupted, IndexUnavailable), self._file.writing() as tx:
                self._tables(tx)
                tx.drop_shadow()
            self._identity = ""
        super().close()
        self._lock.release()

    def _tables(self, tx: FileTransaction) -> SqliteTables:
        if self._file.identity != self._identity or "shadow" not in tx.about:
            raise IndexUnavailable("the index was started over during the rebuild")
        return SqliteTables(tx.db, tx.other_generation)

    def _version(self, tx: FileTransaction) -> str:
        return "shadow"  # no other process can change it
