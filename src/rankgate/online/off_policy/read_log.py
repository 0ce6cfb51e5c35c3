"""Read a log of decisions with propensities, and the policy to be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data.logs.items import read_frame
from rankgate.errors import InputError, UsageError
from rankgate.frozen import dataclass
from rankgate.online.off_policy.bandit_log import BanditLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import TableLike
    from rankgate.data.place import Place

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

NAMES: Mapping[str, tuple[str, ...]] = {
    "action": ("action", "item_id", "doc_id", "arm"),
    "reward": ("reward", "click", "clicked"),
    "propensity": ("propensity", "propensity_score", "pscore"),
    "position": ("position", "rank", "slot"),
    "slate": ("slate", "slate_id", "query_event_id", "request"),
}
"""Our columns, and what they are called where ``columns`` does not say it."""

_NEEDED = ("action", "reward", "propensity")
_EXACT = 1e-3  # of probabilities that must sum to 1
_ROUNDING = 1e-9
UNIFORM = "uniform"


@dataclass(frozen=True)
class _Rows:
    """The columns of a log."""

    action: Ints
    names: pl.Series
    place: Ints
    places: pl.Series
    reward: Floats
    propensity: Floats
    slate: Ints | None


def read_log(
    table: TableLike,
    target: str | Path,
    columns: Mapping[str, str] | None = None,
    actions: int | None = None,
) -> BanditLog:
    """A log with the weights of a target policy.

    Args:
        table: a row for each decision, or for each slot of a slate: action, reward, propensity;
            position and slate where there are several slots.
        target: ``uniform``; a column of the log with the target's probability of its action; or a
            table of action, probability and, where it depends on it, position.
        columns: what columns of the log are called.
        actions: how many there are; by default those of the log.

    Raises:
        InputError: a missing column or value, a propensity that is not above 0 and at most 1, a
            slate with two rows of one position.
        UsageError: no such target; fewer actions than the log has.
    """
    frame, place = read_frame(table, "log")
    found = _columns(frame, columns or {}, place)
    rows = _rows(frame, found, place)
    chances, policy, unsupported = _target(frame, rows, target, actions, place)
    weight = chances / rows.propensity
    if rows.slate is None:
        return BanditLog(
            rows.reward[:, None], weight[:, None], np.ones((len(weight), 1), np.bool_),
            rows.action[:, None], rows.place[:, None], policy, unsupported,
        )  # fmt: skip
    return _slates(rows, weight, policy, unsupported, place)


def with_model(log: BanditLog, folds: int = 5, strength: float = 20.0) -> BanditLog:
    """The log with rewards that a model expects, fitted on other folds.

    q(a) at a position is (sum of rewards + strength * mean of the position) / (rows + strength).
    It is used only where the target's probability of every action is known.

    Args:
        log: as ``read_log`` makes it.
        folds: decision i is in fold i modulo folds.
        strength: how many rows of the mean each action begins with.
    """
    if log.policy is None:
        return log
    fold = np.arange(log.units) % min(folds, log.units)
    predicted, expected = np.zeros(log.reward.shape), np.zeros(log.reward.shape)
    for each in range(int(fold.max()) + 1):
        inside, outside = fold == each, fold != each
        q = _rewards(log, outside if outside.any() else inside, strength)
        predicted[inside] = q[log.action[inside], log.place[inside]]
        expected[inside] = (log.policy * q).sum(axis=0)[log.place[inside]]
    return replace(log, predicted=predicted * log.shown, expected=expected * log.shown)


def _rewards(log: BanditLog, chosen: NDArray[np.bool_], strength: float) -> Floats:
    """(A, P) the mean reward of each action at each position, drawn to that of the position."""
    assert log.policy is not None
    size = log.policy.shape
    shown = log.shown[chosen]
    cells = (log.action[chosen] * size[1] + log.place[chosen])[shown]
    total = np.bincount(cells, log.reward[chosen][shown], size[0] * size[1]).reshape(size)
    count = np.bincount(cells, minlength=size[0] * size[1]).reshape(size)
    middle = total.sum(axis=0) / np.maximum(count.sum(axis=0), 1)
    return np.asarray((total + strength * middle) / (count + strength))


def _columns(frame: pl.DataFrame, columns: Mapping[str, str], place: Place) -> dict[str, str]:
    unknown = sorted(set(columns) - set(NAMES))
    if unknown:
        problem = f"no column of a log is called {unknown[0]!r}; there are {', '.join(NAMES)}."
        raise UsageError(problem, code="unknown-column")
    found = {}
    for ours, aliases in NAMES.items():
        named = columns.get(ours)
        here = [each for each in ([named] if named else aliases) if each in frame.columns]
        if here:
            found[ours] = here[0]
        elif named or ours in _NEEDED:
            problem = (
                f"no column {named or ours!r}; the columns are {', '.join(frame.columns[:12])}. "
                f"Name it with --columns {ours}=COLUMN."
            )
            raise InputError(problem, source=place.label, line=1, code="missing-column")
    if frame.is_empty():
        raise InputError("no rows.", source=place.label, code="no-rows")
    return found


def _rows(frame: pl.DataFrame, found: Mapping[str, str], place: Place) -> _Rows:
    action, names = _codes(frame, found["action"], place)
    at, places = (
        _codes(frame, found["position"], place)
        if "position" in found
        else (np.zeros(len(frame), np.int64), pl.Series([""]))
    )
    reward = _numbers(frame, found["reward"], place)
    propensity = _numbers(frame, found["propensity"], place)
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
    slate = _codes(frame, found["slate"], place)[0] if "slate" in found else None
    return _Rows(action, names, at, places, reward, propensity, slate)


def _codes(frame: pl.DataFrame, column: str, place: Place) -> tuple[Ints, pl.Series]:
    """Values as numbers in their order, and the values."""
    words = frame[column].cast(pl.String)
    empty = words.is_null() | (words == "")
    if empty.any():
        row = int(empty.arg_max() or 0)
        raise InputError(f"no {column}.", source=place.file(row), line=place.line(row),
                         code="empty-value")  # fmt: skip
    names = words.unique().sort()
    order = dict(zip(names, range(len(names)), strict=True))
    return words.replace_strict(order, return_dtype=pl.Int64).to_numpy(), names


def _numbers(frame: pl.DataFrame, column: str, place: Place) -> Floats:
    numbers = frame[column].cast(pl.Float64, strict=False)
    wrong = numbers.is_null() | ~numbers.is_finite()
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        problem = f"{column} {frame[column][row]!r} is not a number."
        raise InputError(problem, source=place.file(row), line=place.line(row), code="not-a-number")
    return numbers.to_numpy()


def _target(
    frame: pl.DataFrame, rows: _Rows, target: str | Path, actions: int | None, place: Place
) -> tuple[Floats, Floats | None, float]:
    """The target's chance of each logged action; of every action; the share it has no support."""
    known = len(rows.names)
    count = known if actions is None else actions
    if count < known:
        problem = f"the log has {known} actions, more than {count}."
        raise UsageError(problem, code="too-few-actions")
    if str(target) == UNIFORM:
        policy = np.full((known, len(rows.places)), 1 / count)
    elif str(target) in frame.columns:
        chances = _numbers(frame, str(target), place)
        _refuse_chances(chances, place, str(target))
        return chances, None, 0.0
    elif Path(target).is_file():
        policy = _policy(target, rows)
    else:
        problem = (
            f"no target {str(target)!r}: name {UNIFORM}, a column of the log with the target's "
            "probability of its action, or a file of action and probability."
        )
        raise UsageError(problem, code="unknown-target")
    seen = np.zeros(policy.shape)
    seen[rows.action, rows.place] = 1
    share = np.bincount(rows.place, minlength=len(rows.places)) / len(rows.place)
    unsupported = float(((1 - (policy * seen).sum(axis=0)) * share).sum())
    return policy[rows.action, rows.place], policy, unsupported if unsupported > _ROUNDING else 0.0


def _refuse_chances(chances: Floats, place: Place, column: str) -> None:
    wrong = (chances < 0) | (chances > 1)
    if wrong.any():
        row = int(wrong.argmax())
        problem = f"{column} {chances[row]:g}: a probability must be from 0 to 1."
        raise InputError(
            problem, source=place.file(row), line=place.line(row), code="invalid-probability"
        )


def _policy(path: str | Path, rows: _Rows) -> Floats:
    """(A, P) from a table of action, probability and position."""
    frame, place = read_frame(path, "target")
    for name in ("action", "probability"):
        if name not in frame.columns:
            problem = f"no column {name}; a target has action, probability and perhaps position."
            raise InputError(problem, source=place.label, line=1, code="missing-column")
    chances = _numbers(frame, "probability", place)
    _refuse_chances(chances, place, "probability")
    numbers = dict(zip(rows.names, range(len(rows.names)), strict=True))
    places = dict(zip(rows.places, range(len(rows.places)), strict=True))
    policy = np.zeros((len(numbers), len(places)))
    total = np.zeros(len(places))
    by_place = frame["position"].cast(pl.String).to_list() if "position" in frame.columns else None
    for row, action in enumerate(frame["action"].cast(pl.String)):
        where = slice(None) if by_place is None else places.get(by_place[row])
        if where is None:
            continue
        total[where] += chances[row]
        if action in numbers:
            policy[numbers[action], where] += chances[row]
    if (np.abs(total - 1) > _EXACT).any():
        problem = f"probabilities must sum to 1, not {total[np.abs(total - 1).argmax()]:.4g}."
        raise InputError(problem, source=place.label, code="invalid-probability")
    return policy


def _slates(
    rows: _Rows, weight: Floats, policy: Floats | None, unsupported: float, place: Place
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

    return BanditLog(
        packed(rows.reward, 0),
        packed(weight, 1),
        packed(np.ones(len(slate), np.bool_), 0),
        packed(rows.action, 0),
        packed(rows.place, 0),
        policy,
        unsupported,
    )


def _in_order(places: pl.Series) -> Ints:
    """The order of positions: by number where all are numbers, else by name."""
    numbers = places.cast(pl.Float64, strict=False)
    known = numbers if not numbers.null_count() else places
    return known.rank("ordinal").to_numpy().astype(np.int64)
