"""Offline and online values of the same units: past experiments, or queries of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.items import read_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import QrelsLike, TableLike
    from rankgate.data.place import RowLocation
    from rankgate.online.clicks.packed import PackedSearches
    from rankgate.online.events.events import EventsLike

    Floats = NDArray[np.float64]

SIDES = ("offline", "online")
_DIGITS = 12
_REQUIRED_COLUMNS = ("experiment", "side", "name", "delta")


@dataclass(frozen=True)
class Observations:
    """U units with M metrics and K KPIs.

    Attributes:
        units: their names.
        metrics: (M,) names; ``offline`` and ``offline_error``: (U, M), NaN where not measured.
        kpis: (K,) names; ``online`` and ``online_error``: (U, K), NaN where not measured.
        differences: whether values are differences of two systems, whose sign has a meaning.
    """

    units: tuple[str, ...]
    metrics: tuple[str, ...]
    kpis: tuple[str, ...]
    offline: Floats
    offline_error: Floats
    online: Floats
    online_error: Floats
    differences: bool


def read_experiments(table: TableLike) -> Observations:
    """Past experiments.

    Args:
        table: a row for each experiment and metric or KPI: ``experiment``, ``side`` (offline or
            online), ``name``, ``delta``, ``standard_error`` (needed online).

    Raises:
        InputError: a missing column or value, a side that is neither, an error that is not above
            0, a value twice, no experiment with both sides.
    """
    frame, location = read_frame(table, "experiments")
    for name in _REQUIRED_COLUMNS:
        if name not in frame.columns:
            problem = (
                f"no column {name}; a table of experiments has {', '.join(_REQUIRED_COLUMNS)} and "
                "standard_error."
            )
            raise InputError(problem, source=location.label, line=1, code="missing-column")
    if "standard_error" not in frame.columns:
        frame = frame.with_columns(standard_error=pl.lit(None, pl.String))
    values: dict[str, dict[tuple[str, str], tuple[float, float]]] = {side: {} for side in SIDES}
    for row, record in enumerate(frame.iter_rows(named=True)):
        side = str(record["side"] or "").strip().lower()
        if side not in values:
            _refuse_row(
                f"side {record['side']!r} is neither offline nor online.",
                location,
                row,
                "unknown-side",
            )
        key = str(record["experiment"]), str(record["name"])
        if key in values[side]:
            _refuse_row(f"{key[1]} of {key[0]} is there twice.", location, row, "duplicate-value")
        delta = _parse_number(record["delta"], "delta", location, row)
        error = _parse_number(
            record["standard_error"], "standard_error", location, row, empty=side == "offline"
        )
        if error <= 0:
            _refuse_row(
                f"standard_error {error:g} must be above 0.", location, row, "invalid-value"
            )
        values[side][key] = delta, error
    units = tuple(dict.fromkeys(unit for side in SIDES for unit, _ in values[side]))
    names = {side: tuple(dict.fromkeys(name for _, name in values[side])) for side in SIDES}
    common_units = {unit for unit, _ in values["offline"]} & {unit for unit, _ in values["online"]}
    if not common_units:
        problem = "no experiment has an offline and an online value; give them the same name."
        raise InputError(problem, source=location.label, code="no-common-experiments")
    tables = {side: _value_tables(values[side], units, names[side]) for side in SIDES}
    return Observations(
        units,
        names["offline"],
        names["online"],
        *tables["offline"],
        *tables["online"],
        differences=True,
    )


def _refuse_row(problem: str, location: RowLocation, row: int, code: str) -> None:
    raise InputError(problem, source=location.file(row), line=location.line(row), code=code)


def _parse_number(
    value: object, column: str, location: RowLocation, row: int, *, empty: bool = False
) -> float:
    if empty and (value is None or str(value).strip() == ""):
        return float("nan")
    try:
        number = float(str(value))
    except ValueError:
        number = float("nan")
    if not np.isfinite(number):
        _refuse_row(f"{column} {value!r} is not a number.", location, row, "not-a-number")
    return number


def _value_tables(
    values: Mapping[tuple[str, str], tuple[float, float]],
    units: Sequence[str],
    names: Sequence[str],
) -> tuple[Floats, Floats]:
    """(U, N) values and their errors."""
    values_and_errors = np.full((2, len(units), len(names)), np.nan)
    for (unit, name), pair in values.items():
        values_and_errors[:, units.index(unit), names.index(name)] = pair
    return values_and_errors[0], values_and_errors[1]


def observations_of_log(
    events: EventsLike | PackedSearches,
    qrels: QrelsLike,
    metrics: Sequence[str],
    min_searches: int = 10,
) -> Observations:
    """Queries of a log: the metrics of the lists that were shown, and what users did.

    KPIs are ``clicked`` (searches with a click) and ``mrr_first_click``.

    Args:
        events: what users did, or packed searches.
        qrels: judgments, whose query ids are the words of the log.
        metrics: of the shown lists.
        min_searches: of a query, at least.

    Raises:
        InputError: a log that cannot be read; fewer than three judged queries with so many
            searches.
    """
    from rankgate.online.clicks.click_counts import pack_events
    from rankgate.online.clicks.packed import PackedSearches
    from rankgate.online.events.events import Events

    if isinstance(events, PackedSearches):
        searches = events
    else:
        with Events.of(events).open() as log:
            searches = pack_events(log.base)
    scores = _scores(searches, qrels, metrics)
    weight = searches.weight
    has_click = np.asarray(searches.clicked.any(axis=1))
    reciprocal_rank = np.where(has_click, 1 / (searches.clicked.argmax(axis=1) + 1), 0.0)
    query = _queries(searches)
    has_scores = np.asarray(np.isfinite(scores).all(axis=1))
    names_of = np.array(query)
    names = sorted({name for name, is_judged in zip(query, has_scores, strict=True) if is_judged})
    rows = []
    for name in names:
        is_query = np.asarray(names_of == name) & has_scores
        total = float(weight[is_query].sum())
        if total >= min_searches:
            share = weight[is_query] / total
            means = np.array([share @ has_click[is_query], share @ reciprocal_rank[is_query]])
            variance = np.array(
                [
                    share @ (has_click[is_query] - means[0]) ** 2,
                    share @ (reciprocal_rank[is_query] - means[1]) ** 2,
                ]
            )
            floor = 0.25 / (total + 1)  # all searches alike do not show a spread of 0
            error = np.sqrt(np.maximum(variance, floor) / total)
            mean = np.round(share @ scores[is_query], _DIGITS)  # equal lists have equal means
            rows.append((name, mean, means, error))
    if len(rows) < 3:
        problem = (
            f"only {len(rows)} judged queries have {min_searches} searches or more; ids of queries "
            "of judgments must be the words of the log."
        )
        raise InputError(problem, code="too-few-queries")
    units, offline, online, error = zip(*rows, strict=True)
    return Observations(
        tuple(units),
        tuple(metrics),
        ("clicked", "mrr_first_click"),
        np.array(offline),
        np.full((len(units), len(metrics)), np.nan),
        np.array(online),
        np.array(error),
        differences=False,
    )


def _queries(searches: PackedSearches) -> list[str]:
    """(N,) the query of each packed search."""
    first_position = searches.shown.argmax(axis=1)
    ids = searches.pairs["query_id"].to_list()
    return [ids[pair] for pair in searches.pair[np.arange(len(first_position)), first_position]]


def _scores(searches: PackedSearches, qrels: QrelsLike, metrics: Sequence[str]) -> Floats:
    """(N, M) the metrics of each list; NaN for queries without judgments."""
    from rankgate.data.read import read_qrels
    from rankgate.measurement.evaluation.evaluate import evaluate
    from rankgate.measurement.scoring.input_cautions import refuse_no_shared_document

    keys = np.where(searches.shown, searches.pair, -1)
    lists, inverse = np.unique(keys, axis=0, return_inverse=True)
    rows, positions = np.nonzero(lists >= 0)
    pairs = searches.pairs[lists[rows, positions]]
    run = pairs.with_columns(
        list=pl.Series(rows).cast(pl.String), score=pl.Series(-positions.astype(np.float64))
    )
    judged = read_qrels(qrels).by_document().table.select("query_id", "doc_id", "grade")
    of_list = run.select("list", "query_id").unique().join(judged, on="query_id")
    if of_list.is_empty():
        problem = "no query of the log is judged; ids of queries must be the words of the log."
        raise InputError(problem, code="no-common-queries")
    grades = of_list.select(query_id="list", doc_id="doc_id", grade="grade")
    judged_lists = grades["query_id"].unique().implode()
    shown_run = run.select(query_id="list", doc_id="doc_id", score="score").filter(
        pl.col("query_id").is_in(judged_lists)
    )
    evaluation = evaluate(grades, {"shown": shown_run}, metrics)
    refuse_no_shared_document("the log", evaluation.runs[0].counts.cautions)
    table = np.full((len(lists), len(metrics)), np.nan)
    for column, name in enumerate(evaluation.metrics):
        metric_values = evaluation.values.filter(pl.col("metric") == name)
        list_index = metric_values["query_id"].cast(pl.Int64).to_numpy()
        table[list_index, column] = (
            metric_values["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        )
    return np.asarray(table[inverse.ravel()])
