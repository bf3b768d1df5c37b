"""Other versions of a model: a new address or prefix may leave its vectors unchanged."""

from typing import TYPE_CHECKING, Any

from memory.embeddings.protocol import ModelId, Vector, split_stored_name
from memory.index.postgres.schema import VECTORS_LOCK, PostgresTables
from memory.index.postgres.vectors import find_model, pack_numbers, read_texts
from memory.index.protocol import UnembeddedText
from memory.postgres.lock_keys import lock_key

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]


def other_versions(db: "Db", model: ModelId) -> list[ModelId]:
    """See `Index.other_versions`."""
    named = [
        ModelId(model.provider, model.model, int(row[1]), split_stored_name(row[0])[1])
        for row in db.execute(
            "SELECT model, dimensions FROM commonplace.models WHERE provider = %s ORDER BY seen DESC, id DESC",
            [model.provider],
        )
        if model.is_version_of(row[0])
    ]
    return [] if any(each.version == model.version for each in named) else named


def last_model(db: "Db", model: ModelId) -> ModelId:
    """Return this provider's last used model, of the same name if `model` has one; `model` if there is none."""
    for stored_name, dimensions in db.execute(
        "SELECT model, dimensions FROM commonplace.models WHERE provider = %s ORDER BY seen DESC, id DESC",
        [model.provider],
    ):
        name, version = split_stored_name(stored_name)
        if model.model in {"", name} and model.dimensions in {0, dimensions}:
            return ModelId(model.provider, name, int(dimensions), version)
    return model


def sample_vectors(
    tables: PostgresTables, model_id: int, *, limit: int
) -> list[tuple[UnembeddedText, Vector]]:
    """See `Index.sample_vectors`.

    Ordered by digest, which is independent of where and when a text was written.
    """
    rows = tables.run(
        "SELECT DISTINCT ON (t.digest) t.id, t.embedding, s.note, s.first, s.last, s.heading FROM"
        " (SELECT t.id, t.digest, e.embedding::float4[] AS embedding FROM commonplace.texts AS t"
        " JOIN commonplace.embeddings AS e ON e.model = %s AND e.text = t.id"
        " WHERE t.uses > 0 ORDER BY t.digest LIMIT %s) AS t"
        " JOIN commonplace.segments@ AS s ON s.text = t.id ORDER BY t.digest, s.note, s.first",
        [model_id, limit],
    ).fetchall()
    places = {row[0]: (row[2], row[3], row[4], row[5]) for row in rows}
    found = read_texts(tables, places) if places else {}
    return [(found[row[0]], pack_numbers(row[1])) for row in rows if row[0] in found]


def adopt_vectors(db: "Db", other: ModelId, model: ModelId) -> bool:
    """See `Index.adopt_vectors`. Returns whether anything changed."""
    db.execute("SELECT pg_advisory_xact_lock(%s)", [lock_key("index", VECTORS_LOCK)])
    other_id = find_model(db, other)
    if other_id is None or find_model(db, model) is not None:
        return False
    db.execute("UPDATE commonplace.models SET model = %s WHERE id = %s", [model.stored_name, other_id])
    return True
