"""The policy to be evaluated: uniform, a column of the log, or a table of probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.items import read_frame
from rankgate.online.off_policy.log_rows import LogRows, number_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import TableLike
    from rankgate.data.place import RowLocation

    Floats = NDArray[np.float64]

UNIFORM = "uniform"
TargetLike: TypeAlias = "TableLike"
"""``uniform`` or ``uniform:50``, a column of the log, or a table (file, frame, dict of columns)."""

_SUM_TOLERANCE = 1e-3  # of probabilities that must sum to 1
_ROUNDING = 1e-9


@dataclass(frozen=True)
class TargetPolicy:
    """A target's probabilities.

    Attributes:
        chances: (R,) of the action of each row of the log.
        table: (A, P) of every action of the log at each position; None where only ``chances`` are
            known.
        unsupported: the share of its probability on actions that the log never shows.
        unseen_actions: of its table, those that the log never shows, the likeliest first.
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
    frame: pl.DataFrame,
    rows: LogRows,
    target: TargetLike,
    location: RowLocation,
    columns: Mapping[str, str],
) -> TargetPolicy:
    """The target's probabilities of the log's actions.

    Args:
        frame: the log.
        rows: its columns.
        target: uniform, over the actions of the log or, as uniform:50, over so many; a column of
            the log, or a table of action, probability and perhaps position.
        location: the log's.
        columns: names of the target's columns other than ours.

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
            f"no target {str(target)!r}: name {UNIFORM}, {UNIFORM}:ACTIONS, a column of the log "
            "with the target's probability of its action, or a table of action and probability."
        )
        raise UsageError(problem, code="unknown-target")
    is_logged = np.zeros(table.shape)
    is_logged[rows.action, rows.place] = 1
    share = np.bincount(rows.place, minlength=len(rows.places)) / len(rows.place)
    unsupported = float(((1 - (table * is_logged).sum(axis=0)) * share).sum())
    return TargetPolicy(
        table[rows.action, rows.place],
        table,
        unsupported if unsupported > _ROUNDING else 0.0,
        unseen,
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
        problem = f"the log has {logged} actions, more than {number}."
        raise UsageError(problem, code="too-few-actions")
    return int(number)


def _refuse_invalid_probabilities(chances: Floats, location: RowLocation, column: str) -> None:
    is_invalid = (chances < 0) | (chances > 1)
    if is_invalid.any():
        row = int(is_invalid.argmax())
        problem = f"{column} {chances[row]:g}: a probability must be from 0 to 1."
        raise InputError(
            problem, source=location.file(row), line=location.line(row), code="invalid-probability"
        )


def _read_policy_table(
    target: TargetLike, rows: LogRows, columns: Mapping[str, str]
) -> tuple[Floats, tuple[str, ...]]:
    """(A, P) from a table of action, probability and position, and actions not in the log."""
    frame, location = read_frame(target, "target")
    action, probability, position = (
        _find_column(frame, role, columns, location)
        for role in ("action", "probability", "position")
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
            f"no action of the target is in the log: the target has {_first_names(unseen)}; the "
            "log has "
            f"{_first_names(rows.names)}. Actions must be written in both as they are in the log."
        )
        raise InputError(problem, source=location.label, code="no-common-actions")
    return policy, tuple(sorted(unseen, key=lambda name: -unseen[name]))


def _find_column(
    frame: pl.DataFrame, role: str, columns: Mapping[str, str], location: RowLocation
) -> str | None:
    """The target's column: called as in the call or in the log, or as we call it."""
    column_name = columns.get(role)
    for name in (column_name, role):
        if name in frame.columns:
            return name
    if role == "position":
        return None
    problem = (
        f"no column {column_name or role}; a target has action, probability and perhaps position. "
        f"Name it with --columns {role}=COLUMN."
    )
    raise InputError(problem, source=location.label, line=1, code="missing-column")


def _first_names(names: Mapping[str, float] | pl.Series) -> str:
    first_names = [str(name) for name in names][:3]
    return ", ".join(first_names) + (", ..." if len(names) > len(first_names) else "")
