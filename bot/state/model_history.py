"""state.db: hourly statistics of models for the last days."""

from collections.abc import Iterable
from dataclasses import dataclass

import apsw

from bot.models.health import CallOutcome

HOUR_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class ModelHour:
    """One model's statistics of one hour, for all of its keys; hours without calls are left out."""

    start: float
    """Seconds since 1970; a full hour in UTC."""
    model: str
    calls: int
    """Each counts once, however often it was tried."""
    failures: int
    """Unanswered calls."""
    first_token_seconds: float
    """Mean time to the first token; 0 without answers."""
    slowest_seconds: float
    """The longest time to the first token."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Cached input tokens."""


def m014_model_history(db: apsw.Connection) -> None:
    """Statistics by hour and model; `first_token_seconds` is a sum over `first_tokens` answers."""
    db.execute(
        """
        CREATE TABLE model_hours (
            start INTEGER NOT NULL,
            model TEXT NOT NULL,
            calls INTEGER NOT NULL,
            failures INTEGER NOT NULL,
            first_tokens INTEGER NOT NULL,
            first_token_seconds REAL NOT NULL,
            slowest_seconds REAL NOT NULL,
            input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL,
            cached_tokens INTEGER NOT NULL,
            PRIMARY KEY (start, model)
        ) STRICT, WITHOUT ROWID;
        """
    )


def add_outcomes(db: apsw.Connection, outcomes: Iterable[CallOutcome]) -> None:
    """Add calls to the hours in which they ended; inside a transaction."""
    db.executemany(
        "INSERT INTO model_hours VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "calls = calls + 1, failures = failures + excluded.failures, "
        "first_tokens = first_tokens + excluded.first_tokens, "
        "first_token_seconds = first_token_seconds + excluded.first_token_seconds, "
        "slowest_seconds = max(slowest_seconds, excluded.slowest_seconds), "
        "input_tokens = input_tokens + excluded.input_tokens, "
        "output_tokens = output_tokens + excluded.output_tokens, "
        "cached_tokens = cached_tokens + excluded.cached_tokens",
        [_row(outcome) for outcome in outcomes],
    )


def read_hours(db: apsw.Connection, *, since: float) -> tuple[ModelHour, ...]:
    """Return the hour of a time (seconds since 1970) and all later ones, by time, then by model."""
    rows = db.execute(
        "SELECT start, model, calls, failures, first_token_seconds / max(first_tokens, 1), slowest_seconds, "
        "input_tokens, output_tokens, cached_tokens FROM model_hours WHERE start > ? ORDER BY start, model",
        (since - HOUR_SECONDS,),
    )
    return tuple(ModelHour(float(start), *others) for start, *others in rows)


def prune(db: apsw.Connection, *, before: float) -> None:
    """Delete hours that began before a time, in seconds since 1970."""
    db.execute("DELETE FROM model_hours WHERE start < ?", (before,))


def _row(outcome: CallOutcome) -> tuple[int | float | str, ...]:
    waited = outcome.first_token_seconds if outcome.error is None else 0.0
    return (
        int(outcome.at // HOUR_SECONDS) * HOUR_SECONDS,
        outcome.route.model,
        int(outcome.error is not None),
        int(waited > 0),
        waited,
        waited,
        outcome.usage.input_tokens,
        outcome.usage.output_tokens,
        outcome.usage.cached_tokens,
    )
