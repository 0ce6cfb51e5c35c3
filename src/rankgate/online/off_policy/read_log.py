"""Read a log of decisions with propensities, and the policy to be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rankgate.core.declare import Count
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.data.column_map import column_pairs
from rankgate.data.logs.items import read_frame
from rankgate.online.off_policy.bandit_log import BanditLog
from rankgate.online.off_policy.log_rows import LogRows, coded, numbers
from rankgate.online.off_policy.target_policy import TargetLike, target_policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import ColumnsLike, TableLike
    from rankgate.data.place import Place

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

NAMES: Mapping[str, tuple[str, ...]] = {
    "action": ("action", "item_id", "doc_id", "arm"),
    "reward": ("reward", "click", "clicked"),
    "propensity": ("propensity", "propensity_score", "pscore"),
    "position": ("position", "rank", "slot"),
    "slate": ("slate", "slate_id", "query_event_id", "request"),
    "time": ("time", "timestamp", "datetime", "date"),
    "probability": ("probability",),
}
"""Our columns, and what they are called where ``columns`` does not say it. ``probability`` is of
the target's table, whose action and position are called as in the log."""

_NEEDED = ("action", "reward", "propensity")


@dataclass(frozen=True)
class DecisionLog(ByContent):
    """A log of decisions with propensities, and what its columns are called.

    Attributes:
        table: A table with a row for each decision: action, reward, propensity (P(action) when it
            was logged); with slates a row for each slot, with slate and position, the propensity
            being that of the action at its position given those above; with time a change of the
            logging is looked for.
        columns: What columns of the log and of the target's table are called, as in
            reward=bought,action=offer.
        actions: How many actions there are; by default those that the log shows.

    Raises:
        UsageError: A name that is none of our columns, or that is there twice; no action.
    """

    table: TableLike
    columns: ColumnsLike | None = None
    actions: Count | None = None

    def __post_init__(self) -> None:
        if self.actions is not None and self.actions < 1:
            raise UsageError("there is at least 1 action.", code="invalid-parameter")
        self.names()

    @classmethod
    def of(cls, log: DecisionLogLike) -> DecisionLog:
        """Return a log as it is, or that of a table."""
        return log if isinstance(log, DecisionLog) else cls(log)

    def names(self) -> dict[str, str]:
        """The names of columns that the call gives, by ours.

        Raises:
            UsageError: as of the class.
        """
        names: dict[str, str] = {}
        for ours, column in column_pairs(self.columns or {}):
            if ours not in NAMES:
                problem = f"no column of a log is called {ours!r}; there are {', '.join(NAMES)}."
                raise UsageError(problem, code="unknown-column")
            if ours in names:
                raise UsageError(f"columns: {ours} is named twice.", code="duplicate-name")
            names[ours] = column
        return names


DecisionLogLike: TypeAlias = "DecisionLog | TableLike"
"""A log of decisions, or its table."""


def read_log(log: DecisionLog, target: TargetLike) -> BanditLog:
    """A log with the weights of a target policy.

    Args:
        log: decisions with propensities.
        target: ``uniform``; a column of the log with the target's probability of its action; or a
            table (file, frame or dict of columns) of action, probability and, where it depends on
            it, position.

    Raises:
        InputError: a missing column or value, several columns that could be the same one, a
            propensity that is not above 0 and at most 1, a slate with two rows of one position,
            a target without any action of the log.
        UsageError: no such target; fewer actions than the log has.
    """
    frame, place = read_frame(log.table, "log")
    named = log.names()
    names = _columns(frame, named, place, target)
    rows = _rows(frame, names, place, time_named="time" in named)
    policy = target_policy(frame, rows, target, log.actions, place, {**names, **named})
    weight = policy.chances / rows.propensity
    if rows.slate is None:
        bandit_log = BanditLog(
            rows.reward[:, None], weight[:, None], np.ones((len(weight), 1), np.bool_),
            rows.action[:, None], rows.place[:, None], policy.table, policy.unsupported,
            time=rows.time,
        )  # fmt: skip
    else:
        bandit_log = _slates(rows, weight, policy.table, policy.unsupported, place)
    return replace(bandit_log, unseen_actions=policy.unseen_actions)


def _columns(
    frame: pl.DataFrame, named: Mapping[str, str], place: Place, target: TargetLike
) -> dict[str, str]:
    """The log's column of each of ours; the target's own column is not one of them."""
    own = target if isinstance(target, str) and target != "uniform" else None
    columns: dict[str, str] = {}
    for ours, aliases in NAMES.items():
        column = named.get(ours)
        candidates = [column] if column else [alias for alias in aliases if alias != own]
        matches = [name for name in candidates if name in frame.columns]
        if ours == "probability":  # of the target's table
            continue
        # our own name is meant, but two propensities are of two policies
        if len(matches) > 1 and (ours not in matches or ours == "propensity"):
            problem = (
                f"{' and '.join(matches)} could each be the {ours}; name the right one with "
                f"--columns {ours}=COLUMN."
            )
            raise InputError(problem, source=place.label, line=1, code="ambiguous-column")
        if matches:
            columns[ours] = matches[0]
        elif column or ours in _NEEDED:
            problem = (
                f"no column {column or ours!r}; the columns are {', '.join(frame.columns[:12])}. "
                f"Name it with --columns {ours}=COLUMN."
            )
            raise InputError(problem, source=place.label, line=1, code="missing-column")
    if frame.is_empty():
        raise InputError("no rows.", source=place.label, code="no-rows")
    return columns


def _rows(
    frame: pl.DataFrame, columns: Mapping[str, str], place: Place, *, time_named: bool
) -> LogRows:
    action, names = coded(frame, columns["action"], place)
    position, places = (
        coded(frame, columns["position"], place)
        if "position" in columns
        else (np.zeros(len(frame), np.int64), pl.Series([""]))
    )
    reward = numbers(frame, columns["reward"], place)
    propensity = numbers(frame, columns["propensity"], place)
    wrong = (propensity <= 0) | (propensity > 1)
    if wrong.any():
        row = int(wrong.argmax())
        problem = (
            f"propensity {propensity[row]:g} of {int(wrong.sum()):,} rows: P(action) when it was "
            "logged must be above 0 and at most 1; log the probability with which it was drawn."
        )
        raise InputError(
            problem, source=place.file(row), line=place.line(row), code="invalid-propensity"
        )
    slate = coded(frame, columns["slate"], place)[0] if "slate" in columns else None
    time = _times(frame, columns["time"], place, named=time_named) if "time" in columns else None
    return LogRows(action, names, position, places, reward, propensity, slate, time)


def _times(frame: pl.DataFrame, column: str, place: Place, *, named: bool) -> Ints | None:
    """The rank of each row's time: a number, a date, or a text of ISO 8601.

    A column that only looks like a time by its name, and is none, is left alone.
    """
    values = frame[column]
    if values.dtype == pl.String:
        as_numbers = values.cast(pl.Float64, strict=False)
        texts = values.str.to_datetime(strict=False, time_unit="us", time_zone="UTC")
        values = texts if as_numbers.null_count() else as_numbers
    if values.null_count() and not named:
        return None
    if values.null_count():
        row = int(values.is_null().arg_max() or 0)
        problem = (
            f"{column} {frame[column][row]!r} is not a time such as 2026-01-31 or "
            "2026-01-31T12:00:00, nor a number."
        )
        raise InputError(problem, source=place.file(row), line=place.line(row), code="invalid-time")
    return values.rank("dense").to_numpy().astype(np.int64)


def _slates(
    rows: LogRows, weight: Floats, policy: Floats | None, unsupported: float, place: Place
) -> BanditLog:
    """One row of the arrays a slate, its slots in the order of their positions."""
    assert rows.slate is not None
    order = np.lexsort((_in_order(rows.places)[rows.place], rows.slate))
    slate = rows.slate[order]
    first = np.r_[True, slate[1:] != slate[:-1]]
    slot = np.arange(len(slate)) - np.maximum.accumulate(np.where(first, np.arange(len(slate)), 0))
    same = ~first & np.r_[False, rows.place[order][1:] == rows.place[order][:-1]]
    if same.any():
        row = int(order[same.argmax()])
        problem = f"a slate has two rows of position {rows.places[int(rows.place[row])]!r}."
        raise InputError(
            problem, source=place.file(row), line=place.line(row), code="duplicate-slot"
        )
    shape = (int(slate.max()) + 1, int(slot.max()) + 1)

    def packed(values: NDArray[Any], empty: float) -> NDArray[Any]:
        table: NDArray[Any] = np.full(shape, empty, dtype=values.dtype)
        table[slate, slot] = values[order]
        return table

    time = None
    if rows.time is not None:
        time = np.full(shape[0], np.iinfo(np.int64).max)
        np.minimum.at(time, rows.slate, rows.time)
    return BanditLog(
        packed(rows.reward, 0),
        packed(weight, 1),
        packed(np.ones(len(slate), np.bool_), 0),
        packed(rows.action, 0),
        packed(rows.place, 0),
        policy,
        unsupported,
        time=time,
    )


def _in_order(places: pl.Series) -> Ints:
    """The order of positions: by number where all are numbers, else by name."""
    numbers = places.cast(pl.Float64, strict=False)
    known = numbers if not numbers.null_count() else places
    return known.rank("ordinal").to_numpy().astype(np.int64)
