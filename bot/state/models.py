"""state.db: health and usage of models, and the model chosen for a chat."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import apsw

from bot.models.health import CallOutcome, Health, after, close_breaker
from bot.models.protocol import Usage
from bot.state.rows import insert, select
from memory.redaction import redact


@dataclass(frozen=True, slots=True)
class DayUsage:
    """One model's usage on one day of the owner's time zone."""

    day: str
    """ISO date."""
    model: str
    answers: int
    usage: Usage


def m002_models(db: apsw.Connection) -> None:
    """Health by model and key, usage by day, and each chat's choice."""
    db.execute(
        """
        CREATE TABLE model_health (
            model TEXT NOT NULL,
            key TEXT NOT NULL,
            calls INTEGER NOT NULL,
            failures INTEGER NOT NULL,
            input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL,
            cached_tokens INTEGER NOT NULL,
            success REAL NOT NULL,
            first_token_seconds REAL NOT NULL,
            tokens_per_second REAL NOT NULL,
            last_answer_at REAL NOT NULL,
            last_failure_at REAL NOT NULL,
            last_error_kind TEXT NOT NULL,
            last_error TEXT NOT NULL,
            failed_in_a_row INTEGER NOT NULL,
            rest_seconds REAL NOT NULL,
            rests_until REAL NOT NULL,
            window INTEGER NOT NULL,
            window_at REAL NOT NULL,
            tokens_ratio REAL NOT NULL,
            PRIMARY KEY (model, key)
        ) STRICT;
        CREATE TABLE model_usage (
            day TEXT NOT NULL,
            model TEXT NOT NULL,
            answers INTEGER NOT NULL,
            input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL,
            cached_tokens INTEGER NOT NULL,
            PRIMARY KEY (day, model)
        ) STRICT;
        CREATE TABLE chosen_models (
            chat TEXT PRIMARY KEY,
            model TEXT NOT NULL
        ) STRICT;
        """
    )


def m017_told_no_model(db: apsw.Connection) -> None:
    """Chats that have been told that no language model answers."""
    db.execute("CREATE TABLE told_no_model (chat TEXT PRIMARY KEY) STRICT")


def read_health(db: apsw.Connection) -> tuple[Health, ...]:
    """Return the health of all models, by name."""
    return tuple(select(db, Health, "FROM model_health ORDER BY model, key"))


def read_errors_with_secrets(db: apsw.Connection) -> Mapping[str, str]:
    """Return stored error texts that contain a secret, with their redacted forms."""
    errors = [
        error
        for (error,) in db.execute("SELECT DISTINCT last_error FROM model_health WHERE last_error != ''")
    ]
    return {error: clean for error in errors if (clean := redact(error)) != error}


def redact_errors(db: apsw.Connection) -> None:
    """Redact the stored error texts; inside a transaction."""
    for error, clean in read_errors_with_secrets(db).items():
        db.execute("UPDATE model_health SET last_error = ? WHERE last_error = ?", (clean, error))


def add_outcomes(db: apsw.Connection, outcomes: Iterable[CallOutcome], *, day: str) -> None:
    """Add calls to the stored health, which another process may have changed; inside a transaction."""
    known = {health.route: health for health in read_health(db)}
    for outcome in outcomes:
        known[outcome.route] = after(known.get(outcome.route) or Health(outcome.route), outcome)
        insert(db, "model_health", known[outcome.route], conflict="REPLACE")
        if outcome.error is None:
            _add_usage(db, day, outcome.route.model, outcome.usage)


def reset_health(db: apsw.Connection, model: str) -> None:
    """Close the breakers of a model, of all models for ""; inside a transaction."""
    for health in read_health(db):
        if model in ("", health.route.model):
            insert(db, "model_health", close_breaker(health), conflict="REPLACE")


def read_usage(db: apsw.Connection, first_day: str) -> tuple[DayUsage, ...]:
    """Return usage since a day: the latest day first, then by model."""
    return tuple(select(db, DayUsage, "FROM model_usage WHERE day >= ? ORDER BY day DESC, model", first_day))


def read_choice(db: apsw.Connection, chat: str) -> str:
    """Return the model chosen for a chat; "" for none."""
    model: str | None = db.execute("SELECT model FROM chosen_models WHERE chat = ?", (chat,)).get
    return model or ""


def write_choice(db: apsw.Connection, chat: str, model: str) -> None:
    """Choose a model for a chat; "" for none. Inside a transaction."""
    if model:
        db.execute("INSERT OR REPLACE INTO chosen_models (chat, model) VALUES (?, ?)", (chat, model))
    else:
        db.execute("DELETE FROM chosen_models WHERE chat = ?", (chat,))


def was_told_no_model(db: apsw.Connection, chat: str) -> bool:
    """Return whether a chat has been told that no language model answers."""
    return bool(db.execute("SELECT 1 FROM told_no_model WHERE chat = ?", (chat,)).get)


def mark_told_no_model(db: apsw.Connection, chat: str) -> None:
    """Store that a chat has been told so. Inside a transaction."""
    db.execute("INSERT OR IGNORE INTO told_no_model (chat) VALUES (?)", (chat,))


def _add_usage(db: apsw.Connection, day: str, model: str, usage: Usage) -> None:
    db.execute(
        "INSERT INTO model_usage (day, model, answers, input_tokens, output_tokens, cached_tokens) "
        "VALUES (?, ?, 1, ?, ?, ?) ON CONFLICT (day, model) DO UPDATE SET answers = answers + 1, "
        "input_tokens = input_tokens + excluded.input_tokens, "
        "output_tokens = output_tokens + excluded.output_tokens, "
        "cached_tokens = cached_tokens + excluded.cached_tokens",
        (day, model, usage.input_tokens, usage.output_tokens, usage.cached_tokens),
    )
