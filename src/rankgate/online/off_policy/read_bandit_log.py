"""Read a log of decisions with propensities, and the policy to be evaluated.

Columns of a log become arrays. The policy to be evaluated is uniform, a column of the log, or
a table of probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.column_map import column_pairs
from rankgate.data.logs.item_tables import read_frame
from rankgate.online.off_policy.bandit_log import BanditLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats, Ints
    from rankgate.data.input_types import ColumnsLike, TableLike
    from rankgate.data.table_rows import RowLocation


@dataclass(frozen=True)
class LogRows:
    """The columns of a log.

    Attributes:
        action: (R,) the number of the action in ``names``.
        names: (A,) the names of the actions, in their order.
        place: (R,) number of the position in ``places``.
        places: (P,) the positions.
        reward: (R,) the rewards.
        propensity: (R,) P(action) when it was logged.
        slate: (R,) number of the slate; None without slates.
        time: (R,) rank of the time; None without times.
    """

    action: Ints
    names: pl.Series
    place: Ints
    places: pl.Series
    reward: Floats
    propensity: Floats
    slate: Ints | None
    time: Ints | None


def encode_column(frame: pl.DataFrame, column: str, location: RowLocation) -> tuple[Ints, pl.Series]:
    """Encode values as numbers in sorted order; return the numbers and the values."""
    texts = frame[column].cast(pl.String)
    empty = texts.is_null() | (texts == "")
    if empty.any():
        row = int(empty.arg_max() or 0)
        raise location.error(f"no {column}.", row, "empty-value")
    names = texts.unique().sort()
    order = dict(zip(names, range(len(names)), strict=True))
    return texts.replace_strict(order, return_dtype=pl.Int64).to_numpy(), names


def number_column(frame: pl.DataFrame, column: str, location: RowLocation) -> Floats:
    """The numbers of a column, which must be finite."""
    values = frame[column].cast(pl.Float64, strict=False)
    is_invalid = values.is_null() | ~values.is_finite()
    if is_invalid.any():
        row = int(is_invalid.arg_max() or 0)
        problem = f"{column} {frame[column][row]!r} is not a number."
        raise location.error(problem, row, "not-a-number")
    return values.to_numpy()


UNIFORM = "uniform"
TargetLike: TypeAlias = "TableLike"
"""``uniform`` or ``uniform:50``, a column of the log, or a table (file, frame, dict of columns)."""

_SUM_TOLERANCE = 1e-3  # tolerance for probabilities that must sum to 1
_ROUNDING = 1e-9


@dataclass(frozen=True)
class TargetPolicy:
    """A target's probabilities.

    Attributes:
        chances: (R,) the probability of the action of each row of the log.
        table: (A, P) the probability of every action of the log at each position; None if only
            ``chances`` are known.
        unsupported: the share of the target's probability on actions that the log never shows.
        unseen_actions: the actions of the target's table that the log never shows, most likely
            first.
    """

    chances: Floats
    table: Floats | None
    unsupported: float
    unseen_actions: tuple[str, ...] = ()


def target_name(target: TargetLike) -> str:
    """The name of a target's file or column."""
    if not isinstance(target, str | Path):
        return "target"
    return Path(target).name if Path(target).is_file() else str(target)


def target_policy(
    frame: pl.DataFrame, rows: LogRows, target: TargetLike, location: RowLocation, columns: Mapping[str, str]
) -> TargetPolicy:
    """The target's probabilities of the log's actions.

    Args:
        frame: the log.
        rows: the columns of the log.
        target: uniform, over the actions of the log or, as uniform:50, over so many; a column of
            the log, or a table of action, probability and perhaps position.
        location: the location of the log, for errors.
        columns: the names of the target's columns, by our names.

    Raises:
        InputError: a table that cannot be read, or has no action of the log; probabilities that
            are not from 0 to 1, or do not sum to 1.
        UsageError: no such target; fewer actions than the log has.
    """
    unseen: tuple[str, ...] = ()
    count = _uniform_actions(target, len(rows.names))
    if count is not None:
        table = np.full((len(rows.names), len(rows.places)), 1 / count)
    elif isinstance(target, str) and target in frame.columns:
        chances = number_column(frame, target, location)
        _refuse_invalid_probabilities(chances, location, target)
        return TargetPolicy(chances, None, 0.0)
    elif not isinstance(target, str | Path) or Path(target).is_file():
        table, unseen = _read_policy_table(target, rows, columns)
    else:
        problem = (
            f"no target {str(target)!r}: name {UNIFORM}, {UNIFORM}:ACTIONS, a column of the log with the "
            "target's probability of its action, or a table of action and probability."
        )
        raise UsageError(problem, code="unknown-target")
    is_logged = np.zeros(table.shape)
    is_logged[rows.action, rows.place] = 1
    share = np.bincount(rows.place, minlength=len(rows.places)) / len(rows.place)
    unsupported = float(((1 - (table * is_logged).sum(axis=0)) * share).sum())
    return TargetPolicy(
        table[rows.action, rows.place], table, unsupported if unsupported > _ROUNDING else 0.0, unseen
    )


def _uniform_actions(target: TargetLike, logged: int) -> int | None:
    """Count the actions of a uniform target; None for another target.

    Raises:
        UsageError: not a number of actions, or fewer than the log has.
    """
    if not isinstance(target, str) or target.partition(":")[0] != UNIFORM:
        return None
    number = target.partition(":")[2]
    if target == UNIFORM:
        return logged
    if not (number.isascii() and number.isdigit() and int(number)):
        problem = f"target {target!r}: write the number of actions, as in {UNIFORM}:50."
        raise UsageError(problem, code="invalid-parameter")
    if int(number) < logged:
        problem = f"the log has {count_noun(logged, 'action')}, more than {number}."
        raise UsageError(problem, code="too-few-actions")
    return int(number)


def _refuse_invalid_probabilities(chances: Floats, location: RowLocation, column: str) -> None:
    is_invalid = (chances < 0) | (chances > 1)
    if is_invalid.any():
        row = int(is_invalid.argmax())
        problem = f"{column} {chances[row]:g}: a probability must be from 0 to 1."
        raise location.error(problem, row, "invalid-probability")


def _read_policy_table(
    target: TargetLike, rows: LogRows, columns: Mapping[str, str]
) -> tuple[Floats, tuple[str, ...]]:
    """(A, P) from a table of action, probability and position; and the actions not in the log."""
    frame, location = read_frame(target, "target")
    action, probability, position = (
        _find_column(frame, role, columns, location) for role in ("action", "probability", "position")
    )
    assert action is not None
    assert probability is not None
    chances = number_column(frame, probability, location)
    _refuse_invalid_probabilities(chances, location, probability)
    numbers_of_actions = dict(zip(rows.names, range(len(rows.names)), strict=True))
    numbers_of_places = dict(zip(rows.places, range(len(rows.places)), strict=True))
    policy = np.zeros((len(numbers_of_actions), len(numbers_of_places)))
    total = np.zeros(len(numbers_of_places))
    unseen: dict[str, float] = {}
    positions = frame[position].cast(pl.String).to_list() if position else None
    for row, name in enumerate(frame[action].cast(pl.String)):
        position_index = slice(None) if positions is None else numbers_of_places.get(positions[row])
        if position_index is None:
            continue
        total[position_index] += chances[row]
        if name in numbers_of_actions:
            policy[numbers_of_actions[name], position_index] += chances[row]
        elif chances[row] > 0:
            unseen[str(name)] = unseen.get(str(name), 0.0) + chances[row]
    if (np.abs(total - 1) > _SUM_TOLERANCE).any():
        problem = f"probabilities must sum to 1, not {total[np.abs(total - 1).argmax()]:.4g}."
        raise InputError(problem, source=location.label, code="invalid-probability")
    if not policy.any():
        problem = (
            f"no action of the target is in the log: the target has {_first_names(unseen)}; the log has "
            f"{_first_names(rows.names)}. Write the target's actions as they are in the log."
        )
        raise InputError(problem, source=location.label, code="no-common-actions")
    return policy, tuple(sorted(unseen, key=lambda name: -unseen[name]))


def _find_column(
    frame: pl.DataFrame, role: str, columns: Mapping[str, str], location: RowLocation
) -> str | None:
    """The column of the target, by its name in the call, in the log, or by our name."""
    column_name = columns.get(role)
    for name in (column_name, role):
        if name in frame.columns:
            return name
    if role == "position":
        return None
    problem = (
        f"no column {column_name or role}; a target has action, probability and perhaps position. Name it "
        f"with --columns {role}=COLUMN."
    )
    raise InputError(problem, source=location.label, line=1, code="missing-column")


def _first_names(names: Mapping[str, float] | pl.Series) -> str:
    first_names = [str(name) for name in names][:3]
    return ", ".join(first_names) + (", ..." if len(names) > len(first_names) else "")


COLUMN_ALIASES: Mapping[str, tuple[str, ...]] = {
    "action": ("action", "item_id", "doc_id", "arm"),
    "reward": ("reward", "click", "clicked"),
    "propensity": ("propensity", "propensity_score", "pscore"),
    "position": ("position", "rank", "slot"),
    "slate": ("slate", "slate_id", "query_event_id", "request"),
    "time": ("time", "timestamp", "datetime", "date"),
    "probability": ("probability",),
}
"""Our columns, and their names by default. ``probability`` is of the target's table; its action and
position have the names of the log."""

_REQUIRED_COLUMNS = ("action", "reward", "propensity")


def parse_columns(columns: ColumnsLike | None) -> dict[str, str]:
    """The column names in a call, by our names.

    Raises:
        UsageError: a name that is not one of our columns, or that occurs twice.
    """
    names: dict[str, str] = {}
    for role, column in column_pairs(columns or {}):
        if role not in COLUMN_ALIASES:
            problem = f"unknown column of a log {role!r}; known: {', '.join(COLUMN_ALIASES)}."
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
        columns: the names of columns in both tables.

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
    """The log's columns by our names; the target's own column is excluded."""
    target_column = target if isinstance(target, str) and target != UNIFORM else None
    columns: dict[str, str] = {}
    for role, aliases in COLUMN_ALIASES.items():
        column = column_names.get(role)
        candidates = [column] if column else [alias for alias in aliases if alias != target_column]
        matches = [name for name in candidates if name in frame.columns]
        if role == "probability":  # of the target's table
            continue
        # our own name wins, but two propensities would be of two policies
        if len(matches) > 1 and (role not in matches or role == "propensity"):
            problem = (
                f"{' and '.join(matches)} could each be the {role}; name the right one with --columns "
                f"{role}=COLUMN."
            )
            raise InputError(problem, source=location.label, line=1, code="ambiguous-column")
        if matches:
            columns[role] = matches[0]
        elif column or role in _REQUIRED_COLUMNS:
            problem = (
                f"no column {column or role!r}; the columns are {', '.join(frame.columns[:12])}. Name it "
                f"with --columns {role}=COLUMN."
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
            f"propensity {propensity[row]:g} of {count_noun(int(is_invalid.sum()), 'row')}: P(action) at "
            "logging time must be above 0 and at most 1; log the probability of the draw."
        )
        raise location.error(problem, row, "invalid-propensity")
    slate = encode_column(frame, columns["slate"], location)[0] if "slate" in columns else None
    time = _rank_times(frame, columns["time"], location, named=time_named) if "time" in columns else None
    return LogRows(action, names, position, places, reward, propensity, slate, time)


def _rank_times(frame: pl.DataFrame, column: str, location: RowLocation, *, named: bool) -> Ints | None:
    """The rank of each row's time; times are numbers, dates or ISO 8601 texts.

    A column that has the name of a time but holds no times is ignored.
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
            f"{column} {frame[column][row]!r} is not a time such as 2026-01-31 or 2026-01-31T12:00:00, nor a "
            "number."
        )
        raise location.error(problem, row, "invalid-time")
    return values.rank("dense").to_numpy().astype(np.int64)


def _slates_of_rows(
    rows: LogRows, weight: Floats, policy: Floats | None, unsupported: float, location: RowLocation
) -> BanditLog:
    """One row of the arrays per slate, with slots in the order of positions."""
    assert rows.slate is not None
    # the order of positions: by number if all are numbers, else by name
    numbers = rows.places.cast(pl.Float64, strict=False)
    sort_keys = numbers if not numbers.null_count() else rows.places
    order = np.lexsort((sort_keys.rank("ordinal").to_numpy().astype(np.int64)[rows.place], rows.slate))
    slate = rows.slate[order]
    is_first = np.r_[True, slate[1:] != slate[:-1]]
    slot = np.arange(len(slate)) - np.maximum.accumulate(np.where(is_first, np.arange(len(slate)), 0))
    same = ~is_first & np.r_[False, rows.place[order][1:] == rows.place[order][:-1]]
    if same.any():
        row = int(order[same.argmax()])
        problem = f"a slate has two rows of position {rows.places[int(rows.place[row])]!r}."
        raise location.error(problem, row, "duplicate-slot")
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
