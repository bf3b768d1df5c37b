"""Rows that describe Prometheus metrics, and the metrics that they give for a scrape."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any, Generic, Literal, TypeVar

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from bot.metrics import BUCKET_BOUNDS, Histogram

BUCKETS = [*(str(bound) for bound in BUCKET_BOUNDS), "+Inf"]

Source = TypeVar("Source")
Value = float | str | Histogram


@dataclass(frozen=True, slots=True)
class MetricRow(Generic[Source]):
    """One metric: what it is called, and where its values come from."""

    name: str
    """A counter's is without `_total`, which the library adds."""
    kind: Literal["gauge", "counter", "histogram", "state", "time"]
    """`state`: a gauge for each of `states`, 1 for the current one. `time`: a gauge in seconds since 1970."""
    help: str
    read: Callable[[Source], Value | Mapping[Any, Value] | None]
    """Return the value, or the values by label, or None if there is no such metric now.

    A state is its name, a time is in ISO 8601 or "" for never.
    """
    labels: tuple[str, ...] = ()
    states: Sequence[str] = ()


def read_metrics(rows: Iterable[MetricRow[Source]], source: Source) -> Iterator[Metric]:
    """Yield the metrics of the rows that have values."""
    for row in rows:
        found = row.read(source)
        if found is None:
            continue
        values = found if isinstance(found, Mapping) else {(): found}
        labelled = {key if isinstance(key, tuple) else (key,): value for key, value in values.items()}
        if row.kind == "histogram":
            yield _histograms(row, labelled)
        elif (numbers := _numbers(row, labelled)) is not None:
            family = CounterMetricFamily if row.kind == "counter" else GaugeMetricFamily
            metric = family(row.name, row.help, labels=row.labels)
            for key, number in sorted(numbers.items()):
                metric.add_metric(key, number)
            yield metric


def _numbers(
    row: MetricRow[Any], values: Mapping[tuple[str, ...], Any]
) -> Mapping[tuple[str, ...], float] | None:
    if row.kind == "state":
        return {(*key, state): float(state == value) for key, value in values.items() for state in row.states}
    if row.kind == "time":
        return {key: datetime.fromisoformat(at).timestamp() for key, at in values.items() if at} or None
    return {key: float(value) for key, value in values.items()}


def _histograms(row: MetricRow[Any], values: Mapping[tuple[str, ...], Any]) -> Metric:
    family = HistogramMetricFamily(row.name, row.help, labels=row.labels)
    for key, each in sorted(values.items()):
        buckets = list(zip(BUCKETS, map(float, accumulate(each.counts)), strict=True))
        family.add_metric(key, buckets, each.seconds)
    return family
