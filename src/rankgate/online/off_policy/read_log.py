"""Read a log of decisions with propensities, and the policy to be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data.column_map import column_pairs
from rankgate.data.logs.items import read_frame
from rankgate.online.off_policy.bandit_log import BanditLog
from rankgate.online.off_policy.log_rows import LogRows, encode_column, number_column
from rankgate.online.off_policy.target_policy import UNIFORM, TargetLike, target_policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import ColumnsLike, TableLike
    from rankgate.data.place import RowLocation

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

COLUMN_ALIASES: Mapping[str, tuple[str, ...]] = {
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

_REQUIRED_COLUMNS = ("action", "reward", "propensity")


def parse_columns(columns: ColumnsLike | None) -> dict[str, str]:
    """The names of columns that a call gives, by ours.

    Raises:
        UsageError: a name that is not one of our columns, or that is there twice.
    """
    names: dict[str, str] = {}
    for role, column in column_pairs(columns or {}):
        if role not in COLUMN_ALIASES:
            problem = (
                f"no column of a log is called {role!r}; there are {', '.join(COLUMN_ALIASES)}."
            )
            raise UsageError(problem, code="unknown-column")
        if role in names:
            raise UsageError(f"columns: {role} is named twice.", code="duplicate-name")
        names[role] = column
    return names


def read_log(log: TableLike, target: TargetLike, columns: ColumnsLike | None = None) -> BanditLog:
    """A log with the weights of a target policy.

    Args:
        log: a table with a row for each decision: action, reward, propensity (P(action) when it
            was logged); with slates a row for each slot, with slate and position, the propensity
            being that of the action at its position given those above; with time a change of the
            logging is looked for.
        target: ``uniform``, ``uniform:50``; a column of the log with the target's probability of
            its action; or a table (file, frame or dict of columns) of action, probability and,
            where it depends on it, position.
        columns: what columns of both tables are called.

    Raises:
        InputError: a missing column or value, several columns that could be the same one, a
            propensity that is not above 0 and at most 1, a slate with two rows of one position,
            a target without any action of the log.
        UsageError: no such target or column; fewer actions than the log has.
    """
    column_names = parse_columns(columns)
    frame, location = read_frame(log, "log")
    names = _find_columns(frame, column_names, location, target)
    rows = _read_rows(frame, names, location, time_named="time" in column_names)
    policy = target_policy(frame, rows, target, location, {**names, **column_names})
    weight = policy.chances / rows.propensity
    if rows.slate is None:
        bandit_log = BanditLog(
            rows.reward[:, None],
            weight[:, None],
            np.ones((len(weight), 1), np.bool_),
            rows.action[:, None],
            rows.place[:, None],
            policy.table,
            policy.unsupported,
            time=rows.time,
        )
    else:
        bandit_log = _slates_of_rows(rows, weight, policy.table, policy.unsupported, location)
    return replace(bandit_log, unseen_actions=policy.unseen_actions)


def _find_columns(
    frame: pl.DataFrame, column_names: Mapping[str, str], location: RowLocation, target: TargetLike
) -> dict[str, str]:
    """The log's column of each of ours; the target's own column is not one of them."""
    target_column = target if isinstance(target, str) and target != UNIFORM else None
    columns: dict[str, str] = {}
    for role, aliases in COLUMN_ALIASES.items():
        column = column_names.get(role)
        candidates = [column] if column else [alias for alias in aliases if alias != target_column]
        matches = [name for name in candidates if name in frame.columns]
        if role == "probability":  # of the target's table
            continue
        # our own name is meant, but two propensities are of two policies
        if len(matches) > 1 and (role not in matches or role == "propensity"):
            problem = (
                f"{' and '.join(matches)} could each be the {role}; name the right one with "
                f"--columns {role}=COLUMN."
            )
            raise InputError(problem, source=location.label, line=1, code="ambiguous-column")
        if matches:
            columns[role] = matches[0]
        elif column or role in _REQUIRED_COLUMNS:
            problem = (
                f"no column {column or role!r}; the columns are {', '.join(frame.columns[:12])}. "
                f"Name it with --columns {role}=COLUMN."
            )
            raise InputError(problem, source=location.label, line=1, code="missing-column")
    if frame.is_empty():
        raise InputError("no rows.", source=location.label, code="no-rows")
    return columns


def _read_rows(
    frame: pl.DataFrame, columns: Mapping[str, str], location: RowLocation, *, time_named: bool
) -> LogRows:
    action, names = encode_column(frame, columns["action"], location)
    position, places = (
        encode_column(frame, columns["position"], location)
        if "position" in columns
        else (np.zeros(len(frame), np.int64), pl.Series([""]))
    )
    reward = number_column(frame, columns["reward"], location)
    propensity = number_column(frame, columns["propensity"], location)
    is_invalid = (propensity <= 0) | (propensity > 1)
    if is_invalid.any():
        row = int(is_invalid.argmax())
        problem = (
            f"propensity {propensity[row]:g} of {int(is_invalid.sum()):,} rows: P(action) when "
            "it was "
            "logged must be above 0 and at most 1; log the probability with which it was drawn."
        )
        raise InputError(
            problem, source=location.file(row), line=location.line(row), code="invalid-propensity"
        )
    slate = encode_column(frame, columns["slate"], location)[0] if "slate" in columns else None
    time = (
        _rank_times(frame, columns["time"], location, named=time_named)
        if "time" in columns
        else None
    )
    return LogRows(action, names, position, places, reward, propensity, slate, time)


def _rank_times(
    frame: pl.DataFrame, column: str, location: RowLocation, *, named: bool
) -> Ints | None:
    """The rank of each row's time: a number, a date, or a text of ISO 8601.

    A column that has the name of a time, but holds no times, is left alone.
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
        raise InputError(
            problem, source=location.file(row), line=location.line(row), code="invalid-time"
        )
    return values.rank("dense").to_numpy().astype(np.int64)


def _slates_of_rows(
    rows: LogRows, weight: Floats, policy: Floats | None, unsupported: float, location: RowLocation
) -> BanditLog:
    """One row of the arrays a slate, its slots in the order of their positions."""
    assert rows.slate is not None
    order = np.lexsort((_position_order(rows.places)[rows.place], rows.slate))
    slate = rows.slate[order]
    is_first = np.r_[True, slate[1:] != slate[:-1]]
    slot = np.arange(len(slate)) - np.maximum.accumulate(
        np.where(is_first, np.arange(len(slate)), 0)
    )
    same = ~is_first & np.r_[False, rows.place[order][1:] == rows.place[order][:-1]]
    if same.any():
        row = int(order[same.argmax()])
        problem = f"a slate has two rows of position {rows.places[int(rows.place[row])]!r}."
        raise InputError(
            problem, source=location.file(row), line=location.line(row), code="duplicate-slot"
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


def _position_order(places: pl.Series) -> Ints:
    """The order of positions: by number where all are numbers, else by name."""
    numbers = places.cast(pl.Float64, strict=False)
    sort_keys = numbers if not numbers.null_count() else places
    return sort_keys.rank("ordinal").to_numpy().astype(np.int64)
