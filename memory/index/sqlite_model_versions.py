"""Other versions of a model: a new address or prefix may leave its vectors unchanged."""

import apsw

from memory.embeddings.protocol import ModelId, Vector, split_stored_name
from memory.index.protocol import UnembeddedText
from memory.index.sqlite_schema import SqliteTables, check_bytes, check_integer, check_text
from memory.index.sqlite_vectors import read_unembedded_text


def other_versions(db: apsw.Connection, model: ModelId) -> list[ModelId]:
    """See `Index.other_versions`."""
    named = [
        ModelId(model.provider, model.model, check_integer(row[1]), split_stored_name(check_text(row[0]))[1])
        for row in db.execute(
            "SELECT model, dimensions FROM models WHERE provider = ? ORDER BY seen DESC, id DESC",
            (model.provider,),
        )
        if model.is_version_of(check_text(row[0]))
    ]
    return [] if any(each.version == model.version for each in named) else named


def last_model(db: apsw.Connection, model: ModelId) -> ModelId:
    """Return this provider's last used model, of the same name if `model` has one; `model` if there is none."""
    for row in db.execute(
        "SELECT model, dimensions FROM models WHERE provider = ? ORDER BY seen DESC, id DESC",
        (model.provider,),
    ):
        name, version = split_stored_name(check_text(row[0]))
        if model.model in {"", name} and model.dimensions in {0, row[1]}:
            return ModelId(model.provider, name, check_integer(row[1]), version)
    return model


def sample_vectors(tables: SqliteTables, model_id: int, *, limit: int) -> list[tuple[UnembeddedText, Vector]]:
    """See `Index.sample_vectors`.

    Ordered by digest, which is independent of where and when a text was written.
    """
    rows = tables.run(
        "SELECT texts.id, embedding, s.id, s.last, s.heading FROM"
        " (SELECT texts.id, embedding FROM texts CROSS JOIN vectors ON vectors.model = ? AND vectors.text = texts.id"
        " WHERE uses > 0 ORDER BY digest LIMIT ?) AS texts"
        " CROSS JOIN segments@ AS s ON s.text = texts.id GROUP BY texts.id",
        (model_id, limit),
    ).fetchall()
    return [
        (
            read_unembedded_text(
                tables,
                check_integer(text_id),
                check_integer(segment),
                check_integer(last),
                check_text(heading),
            ),
            check_bytes(vector),
        )
        for text_id, vector, segment, last, heading in rows
    ]


def adopt_vectors(db: apsw.Connection, other_id: int, model: ModelId) -> None:
    """See `Index.adopt_vectors`."""
    db.execute("UPDATE models SET model = ? WHERE id = ?", (model.stored_name, other_id))
