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
from rankgate.online.off_policy.log_rows import LogRows, numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import TableLike
    from rankgate.data.place import Place

    Floats = NDArray[np.float64]

UNIFORM = "uniform"
TargetLike: TypeAlias = "TableLike"
"""``uniform``, a column of the log, or a table: a file, a frame, a dict of columns."""

_EXACT = 1e-3  # of probabilities that must sum to 1
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
    actions: int | None,
    place: Place,
    columns: Mapping[str, str],
) -> TargetPolicy:
    """The target's probabilities of the log's actions.

    Args:
        frame: the log.
        rows: its columns.
        target: uniform, a column of the log, or a table of action, probability and perhaps
            position.
        actions: how many there are; by default those of the log.
        place: the log's.
        columns: names of the target's columns other than ours.

    Raises:
        InputError: a table that cannot be read, or has no action of the log; probabilities that
            are not from 0 to 1, or do not sum to 1.
        UsageError: no such target; fewer actions than the log has.
    """
    logged = len(rows.names)
    count = logged if actions is None else actions
    if count < logged:
        problem = f"the log has {logged} actions, more than {count}."
        raise UsageError(problem, code="too-few-actions")
    unseen: tuple[str, ...] = ()
    if isinstance(target, str) and target == UNIFORM:
        table = np.full((logged, len(rows.places)), 1 / count)
    elif isinstance(target, str) and target in frame.columns:
        chances = numbers(frame, target, place)
        _refuse_chances(chances, place, target)
        return TargetPolicy(chances, None, 0.0)
    elif not isinstance(target, str | Path) or Path(target).is_file():
        table, unseen = _table(target, rows, columns)
    else:
        problem = (
            f"no target {str(target)!r}: name {UNIFORM}, a column of the log with the target's "
            "probability of its action, or a table of action and probability."
        )
        raise UsageError(problem, code="unknown-target")
    seen = np.zeros(table.shape)
    seen[rows.action, rows.place] = 1
    share = np.bincount(rows.place, minlength=len(rows.places)) / len(rows.place)
    unsupported = float(((1 - (table * seen).sum(axis=0)) * share).sum())
    return TargetPolicy(
        table[rows.action, rows.place],
        table,
        unsupported if unsupported > _ROUNDING else 0.0,
        unseen,
    )


def _refuse_chances(chances: Floats, place: Place, column: str) -> None:
    wrong = (chances < 0) | (chances > 1)
    if wrong.any():
        row = int(wrong.argmax())
        problem = f"{column} {chances[row]:g}: a probability must be from 0 to 1."
        raise InputError(
            problem, source=place.file(row), line=place.line(row), code="invalid-probability"
        )


def _table(
    target: TargetLike, rows: LogRows, columns: Mapping[str, str]
) -> tuple[Floats, tuple[str, ...]]:
    """(A, P) from a table of action, probability and position, and actions not in the log."""
    frame, place = read_frame(target, "target")
    action, probability, position = (
        _column(frame, ours, columns, place) for ours in ("action", "probability", "position")
    )
    assert action is not None
    assert probability is not None
    chances = numbers(frame, probability, place)
    _refuse_chances(chances, place, probability)
    numbers_of_actions = dict(zip(rows.names, range(len(rows.names)), strict=True))
    numbers_of_places = dict(zip(rows.places, range(len(rows.places)), strict=True))
    policy = np.zeros((len(numbers_of_actions), len(numbers_of_places)))
    total = np.zeros(len(numbers_of_places))
    unseen: dict[str, float] = {}
    positions = frame[position].cast(pl.String).to_list() if position else None
    for row, name in enumerate(frame[action].cast(pl.String)):
        at = slice(None) if positions is None else numbers_of_places.get(positions[row])
        if at is None:
            continue
        total[at] += chances[row]
        if name in numbers_of_actions:
            policy[numbers_of_actions[name], at] += chances[row]
        elif chances[row] > 0:
            unseen[str(name)] = unseen.get(str(name), 0.0) + chances[row]
    if (np.abs(total - 1) > _EXACT).any():
        problem = f"probabilities must sum to 1, not {total[np.abs(total - 1).argmax()]:.4g}."
        raise InputError(problem, source=place.label, code="invalid-probability")
    if not policy.any():
        problem = (
            f"no action of the target is in the log: the target has {_some(unseen)}; the log has "
            f"{_some(rows.names)}. Actions must be written in both as they are in the log."
        )
        raise InputError(problem, source=place.label, code="no-common-actions")
    return policy, tuple(sorted(unseen, key=lambda name: -unseen[name]))


def _column(frame: pl.DataFrame, ours: str, columns: Mapping[str, str], place: Place) -> str | None:
    """The target's column: called as in the call or in the log, or as we call it."""
    named = columns.get(ours)
    for name in (named, ours):
        if name in frame.columns:
            return name
    if ours == "position":
        return None
    problem = (
        f"no column {named or ours}; a target has action, probability and perhaps position. Name "
        f"it with --columns {ours}=COLUMN."
    )
    raise InputError(problem, source=place.label, line=1, code="missing-column")


def _some(names: Mapping[str, float] | pl.Series) -> str:
    first = [str(name) for name in names][:3]
    return ", ".join(first) + (", ..." if len(names) > len(first) else "")
