"""Claims on notes and texts, so that instances share the work and none overwrites a newer state.

A claim expires after some time, or as soon as another instance finds that its holder is gone.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from memory.embeddings.protocol import ModelId
from memory.index.postgres.liveness_lock import IS_GONE
from memory.index.protocol import CLAIM_SECONDS

if TYPE_CHECKING:
    from psycopg import Connection

TEXT_SECONDS = 180
"""Seconds until a text's claim expires; a local model may take that long for a batch."""


def claim_notes(
    db: "Connection[tuple[Any, ...]]", paths: Collection[str], holder: str, *, seconds: int = CLAIM_SECONDS
) -> set[str]:
    """Claim notes for `holder` for some seconds; return those that were claimed. Rows are taken in path order.

    Notes of other holders are left out first: even a conflict that does nothing locks a row.
    """
    rows = db.execute(
        "INSERT INTO commonplace.claims AS c (path, holder, until)"
        " SELECT path, %(holder)s, now() + make_interval(secs => %(seconds)s)"
        " FROM unnest(%(paths)s::text[]) AS s (path) WHERE NOT EXISTS (SELECT FROM commonplace.claims AS o"
        " WHERE o.path = s.path AND o.holder <> %(holder)s AND o.until >= now())"
        ' ORDER BY path COLLATE "C" ON CONFLICT (path) DO UPDATE'
        " SET holder = excluded.holder, until = excluded.until"
        " WHERE c.until < now() OR c.holder = excluded.holder RETURNING path",
        {"holder": holder, "seconds": seconds, "paths": sorted(set(paths))},
    )
    return {row[0] for row in rows}


def keep_claims(db: "Connection[tuple[Any, ...]]", paths: Sequence[str], holder: str) -> set[str]:
    """Return the holder's notes; their claims last at least until the transaction ends."""
    rows = db.execute(
        "SELECT path FROM commonplace.claims WHERE path = ANY(%s) AND holder = %s"
        ' ORDER BY path COLLATE "C" FOR UPDATE',
        (list(paths), holder),
    )
    return {row[0] for row in rows}


def release_notes(db: "Connection[tuple[Any, ...]]", paths: Collection[str], holder: str) -> None:
    """Release claims, in the path order that everybody uses."""
    db.execute(
        "DELETE FROM commonplace.claims WHERE path IN (SELECT path FROM commonplace.claims"
        ' WHERE path = ANY(%s) AND holder = %s ORDER BY path COLLATE "C" FOR UPDATE)',
        (list(paths), holder),
    )


def delete_expired(db: "Connection[tuple[Any, ...]]") -> None:
    """Delete claims that have expired."""
    db.execute(
        "DELETE FROM commonplace.claims WHERE path IN (SELECT path FROM commonplace.claims"
        " WHERE until < now() - interval '1 minute' FOR UPDATE SKIP LOCKED)"
    )


def release_claims_of_dead(db: "Connection[tuple[Any, ...]]") -> int:
    """Delete the claims of holders that are gone; return how many. Skips locked rows."""
    return db.execute(
        "DELETE FROM commonplace.claims WHERE path IN (SELECT path FROM commonplace.claims"  # noqa: S608
        f" WHERE {IS_GONE} FOR UPDATE SKIP LOCKED)".encode()
    ).rowcount


def claim_texts(
    db: "Connection[tuple[Any, ...]]", model: ModelId, digests: Collection[bytes], holder: str
) -> set[bytes]:
    """Claim texts for embedding, so that each is paid for once; return those that were claimed."""
    names = {f"{_text_claim_prefix(model)}{digest.hex()}": digest for digest in digests}
    return {names[name] for name in claim_notes(db, names, holder, seconds=TEXT_SECONDS)}


def release_texts(
    db: "Connection[tuple[Any, ...]]", model: ModelId, digests: Collection[bytes], holder: str
) -> None:
    """Release texts that were embedded or refused."""
    release_notes(db, [f"{_text_claim_prefix(model)}{digest.hex()}" for digest in digests], holder)


def texts_claimed_by_others(db: "Connection[tuple[Any, ...]]", model: ModelId, holder: str) -> list[int]:
    """Return the ids of texts that others are embedding now."""
    prefix = _text_claim_prefix(model)
    claimed = db.execute(
        "SELECT path FROM commonplace.claims WHERE starts_with(path, %s) AND holder <> %s AND until >= now()",
        (prefix, holder),
    ).fetchall()
    digests = [bytes.fromhex(row[0].removeprefix(prefix)) for row in claimed]
    rows = db.execute("SELECT id FROM commonplace.texts WHERE digest = ANY(%s)", [digests]) if digests else ()
    return [row[0] for row in rows]


def release_all(db: "Connection[tuple[Any, ...]]", holder: str) -> None:
    """Release every claim of the holder."""
    db.execute(
        "DELETE FROM commonplace.claims WHERE path IN (SELECT path FROM commonplace.claims"
        ' WHERE holder = %s ORDER BY path COLLATE "C" FOR UPDATE)',
        [holder],
    )


def _text_claim_prefix(model: ModelId) -> str:
    # No note has such a path.
    return f"/{model.provider}/{model.stored_name}/{model.dimensions}/"
