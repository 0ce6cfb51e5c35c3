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
    from rankgate.data.place import Place
    from rankgate.online.clicks.packed import PackedSearches
    from rankgate.online.events.events import EventsLike

    Floats = NDArray[np.float64]

SIDES = ("offline", "online")
_DIGITS = 12
_NEEDED = ("experiment", "side", "name", "delta")


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


def of_experiments(table: TableLike) -> Observations:
    """Past experiments.

    Args:
        table: a row for each experiment and metric or KPI: ``experiment``, ``side`` (offline or
            online), ``name``, ``delta``, ``standard_error`` (needed online).

    Raises:
        InputError: a missing column or value, a side that is neither, an error that is not above
            0, a value twice, no experiment with both sides.
    """
    frame, place = read_frame(table, "experiments")
    for name in _NEEDED:
        if name not in frame.columns:
            problem = (
                f"no column {name}; a table of experiments has {', '.join(_NEEDED)} and "
                "standard_error."
            )
            raise InputError(problem, source=place.label, line=1, code="missing-column")
    if "standard_error" not in frame.columns:
        frame = frame.with_columns(standard_error=pl.lit(None, pl.String))
    values: dict[str, dict[tuple[str, str], tuple[float, float]]] = {side: {} for side in SIDES}
    for row, each in enumerate(frame.iter_rows(named=True)):
        side = str(each["side"] or "").strip().lower()
        if side not in values:
            _refuse(
                f"side {each['side']!r} is neither offline nor online.", place, row, "unknown-side"
            )
        key = str(each["experiment"]), str(each["name"])
        if key in values[side]:
            _refuse(f"{key[1]} of {key[0]} is there twice.", place, row, "duplicate-value")
        delta = _number(each["delta"], "delta", place, row)
        error = _number(
            each["standard_error"], "standard_error", place, row, empty=side == "offline"
        )
        if error <= 0:
            _refuse(f"standard_error {error:g} must be above 0.", place, row, "invalid-value")
        values[side][key] = delta, error
    units = tuple(dict.fromkeys(unit for side in SIDES for unit, _ in values[side]))
    names = {side: tuple(dict.fromkeys(name for _, name in values[side])) for side in SIDES}
    both = {unit for unit, _ in values["offline"]} & {unit for unit, _ in values["online"]}
    if not both:
        problem = "no experiment has an offline and an online value; give them the same name."
        raise InputError(problem, source=place.label, code="no-common-experiments")
    tables = {side: _tables(values[side], units, names[side]) for side in SIDES}
    return Observations(
        units, names["offline"], names["online"], *tables["offline"], *tables["online"],
        differences=True,
    )  # fmt: skip


def _refuse(problem: str, place: Place, row: int, code: str) -> None:
    raise InputError(problem, source=place.file(row), line=place.line(row), code=code)


def _number(value: object, column: str, place: Place, row: int, *, empty: bool = False) -> float:
    if empty and (value is None or str(value).strip() == ""):
        return float("nan")
    try:
        number = float(str(value))
    except ValueError:
        number = float("nan")
    if not np.isfinite(number):
        _refuse(f"{column} {value!r} is not a number.", place, row, "not-a-number")
    return number


def _tables(
    values: Mapping[tuple[str, str], tuple[float, float]],
    units: Sequence[str],
    names: Sequence[str],
) -> tuple[Floats, Floats]:
    """(U, N) values and their errors."""
    found = np.full((2, len(units), len(names)), np.nan)
    for (unit, name), pair in values.items():
        found[:, units.index(unit), names.index(name)] = pair
    return found[0], found[1]


def of_log(
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
    from rankgate.online.clicks.click_counts import packed
    from rankgate.online.clicks.packed import PackedSearches
    from rankgate.online.events.events import Events

    if isinstance(events, PackedSearches):
        searches = events
    else:
        with Events.of(events).open() as log:
            searches = packed(log.base)
    scores = _scores(searches, qrels, metrics)
    weight = searches.weight
    hit = np.asarray(searches.clicked.any(axis=1))
    first = np.where(hit, 1 / (searches.clicked.argmax(axis=1) + 1), 0.0)
    query = _queries(searches)
    known = np.asarray(np.isfinite(scores).all(axis=1))
    names_of = np.array(query)
    names = sorted({each for each, good in zip(query, known, strict=True) if good})
    rows = []
    for name in names:
        chosen = np.asarray(names_of == name) & known
        total = float(weight[chosen].sum())
        if total >= min_searches:
            share = weight[chosen] / total
            means = np.array([share @ hit[chosen], share @ first[chosen]])
            spread = np.array([share @ (hit[chosen] - means[0]) ** 2,
                               share @ (first[chosen] - means[1]) ** 2])  # fmt: skip
            floor = 0.25 / (total + 1)  # all searches alike do not show a spread of 0
            error = np.sqrt(np.maximum(spread, floor) / total)
            mean = np.round(share @ scores[chosen], _DIGITS)  # equal lists have equal means
            rows.append((name, mean, means, error))
    if len(rows) < 3:
        problem = (
            f"only {len(rows)} judged queries have {min_searches} searches or more; ids of queries "
            "of judgments must be the words of the log."
        )
        raise InputError(problem, code="too-few-queries")
    units, offline, online, error = zip(*rows, strict=True)
    return Observations(
        tuple(units), tuple(metrics), ("clicked", "mrr_first_click"), np.array(offline),
        np.full((len(units), len(metrics)), np.nan), np.array(online), np.array(error),
        differences=False,
    )  # fmt: skip


def _queries(searches: PackedSearches) -> list[str]:
    """(N,) the query of each packed search."""
    first = searches.shown.argmax(axis=1)
    ids = searches.pairs["query_id"].to_list()
    return [ids[at] for at in searches.pair[np.arange(len(first)), first]]


def _scores(searches: PackedSearches, qrels: QrelsLike, metrics: Sequence[str]) -> Floats:
    """(N, M) the metrics of each list; NaN for queries without judgments."""
    from rankgate.data.read import read_qrels
    from rankgate.measurement.evaluation.evaluate import evaluate
    from rankgate.measurement.scoring.input_cautions import refuse_no_shared_document

    keys = np.where(searches.shown, searches.pair, -1)
    lists, inverse = np.unique(keys, axis=0, return_inverse=True)
    rows, places = np.nonzero(lists >= 0)
    pairs = searches.pairs[lists[rows, places]]
    run = pairs.with_columns(
        list=pl.Series(rows).cast(pl.String), score=pl.Series(-places.astype(np.float64))
    )
    judged = read_qrels(qrels).by_document().table.select("query_id", "doc_id", "grade")
    of_list = run.select("list", "query_id").unique().join(judged, on="query_id")
    if of_list.is_empty():
        problem = "no query of the log is judged; ids of queries must be the words of the log."
        raise InputError(problem, code="no-common-queries")
    grades = of_list.select(query_id="list", doc_id="doc_id", grade="grade")
    known = grades["query_id"].unique().implode()
    shown = run.select(query_id="list", doc_id="doc_id", score="score").filter(
        pl.col("query_id").is_in(known)
    )
    found = evaluate(grades, {"shown": shown}, metrics)
    refuse_no_shared_document("the log", found.runs[0].counts.cautions)
    table = np.full((len(lists), len(metrics)), np.nan)
    for place, name in enumerate(found.metrics):
        own = found.values.filter(pl.col("metric") == name)
        at = own["query_id"].cast(pl.Int64).to_numpy()
        table[at, place] = own["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.asarray(table[inverse.ravel()])
