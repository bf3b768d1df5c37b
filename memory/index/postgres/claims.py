"""Which notes are whose to index: so that several instances share the work, and none writes over a newer state.

A claim ends by itself after some time, and for those who ask for it as soon as its holder is not there any more.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from memory.embeddings.protocol import ModelId
from memory.index.postgres.liveness_lock import IS_GONE
from memory.index.protocol import CLAIM_SECONDS

if TYPE_CHECKING:
    from psycopg import Connection

TEXT_SECONDS = 180
"""So long a text stays claimed whose vector does not come: a model on this machine may take that long for a batch."""


def claim_notes(
    db: "Connection[tuple[Any, ...]]", paths: Collection[str], holder: str, *, seconds: int = CLAIM_SECONDS
) -> set[str]:
    """Those of the notes that are the holder's from now on, for so long; taken in the order of the paths.

    Others' are left out before: a conflict locks a row, also where nothing is done to it.
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
    """Those of the notes that are the holder's, and stay so until the end of the transaction."""
    rows = db.execute(
        "SELECT path FROM commonplace.claims WHERE path = ANY(%s) AND holder = %s"
        ' ORDER BY path COLLATE "C" FOR UPDATE',
        (list(paths), holder),
    )
    return {row[0] for row in rows}


def release_notes(db: "Connection[tuple[Any, ...]]", paths: Collection[str], holder: str) -> None:
    """Claims that are done with; in the order of the paths, as everybody takes them."""
    db.execute(
        "DELETE FROM commonplace.claims WHERE path IN (SELECT path FROM commonplace.claims"
        ' WHERE path = ANY(%s) AND holder = %s ORDER BY path COLLATE "C" FOR UPDATE)',
        (list(paths), holder),
    )


def delete_expired(db: "Connection[tuple[Any, ...]]") -> None:
    """Remove what somebody has left who died."""
    db.execute(
        "DELETE FROM commonplace.claims WHERE path IN (SELECT path FROM commonplace.claims"
        " WHERE until < now() - interval '1 minute' FOR UPDATE SKIP LOCKED)"
    )


def release_claims_of_dead(db: "Connection[tuple[Any, ...]]") -> int:
    """Remove the claims of those who are not there any more; tells how many. Nobody is waited for."""
    return db.execute(
        "DELETE FROM commonplace.claims WHERE path IN (SELECT path FROM commonplace.claims"  # noqa: S608
        f" WHERE {IS_GONE} FOR UPDATE SKIP LOCKED)".encode()
    ).rowcount


def claim_texts(
    db: "Connection[tuple[Any, ...]]", model: ModelId, digests: Collection[bytes], holder: str
) -> set[bytes]:
    """Those of the texts that are the holder's to have vectors made of: it is paid for once."""
    names = {f"{_text_claim_prefix(model)}{digest.hex()}": digest for digest in digests}
    return {names[name] for name in claim_notes(db, names, holder, seconds=TEXT_SECONDS)}


def release_texts(
    db: "Connection[tuple[Any, ...]]", model: ModelId, digests: Collection[bytes], holder: str
) -> None:
    """Texts that have their vectors, or are refused."""
    release_notes(db, [f"{_text_claim_prefix(model)}{digest.hex()}" for digest in digests], holder)


def texts_claimed_by_others(db: "Connection[tuple[Any, ...]]", model: ModelId, holder: str) -> list[int]:
    """The texts that somebody else has vectors made of just now."""
    prefix = _text_claim_prefix(model)
    claimed = db.execute(
        "SELECT path FROM commonplace.claims WHERE starts_with(path, %s) AND holder <> %s AND until >= now()",
        (prefix, holder),
    ).fetchall()
    digests = [bytes.fromhex(row[0].removeprefix(prefix)) for row in claimed]
    rows = db.execute("SELECT id FROM commonplace.texts WHERE digest = ANY(%s)", [digests]) if digests else ()
    return [row[0] for row in rows]


def release_all(db: "Connection[tuple[Any, ...]]", holder: str) -> None:
    """The holder has no claim any more."""
    db.execute(
        "DELETE FROM commonplace.claims WHERE path IN (SELECT path FROM commonplace.claims"
        ' WHERE holder = %s ORDER BY path COLLATE "C" FOR UPDATE)',
        [holder],
    )


def _text_claim_prefix(model: ModelId) -> str:
    # No note is called so.
    return f"/{model.provider}/{model.stored_name}/{model.dimensions}/"
