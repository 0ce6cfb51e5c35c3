"""Rankings and judgments as recommender libraries return them; none of these is imported.

- implicit's ``recommend`` and RecBole's ``full_sort_topk``: a pair of arrays with the same shape,
  the items of each user by number, and their scores, in either order;
- LensKit's ``ItemListCollection``: an item list for each user.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankgate.core.errors import InputError
from rankgate.data.memory.devices import home
from rankgate.data.memory.matrices import Lists

_PAIR = 2
_UNRANKED = float(np.finfo(np.float32).min)
"""The score of an item that implicit took out of a list; RecBole has minus infinity there."""


def from_library(table: Any, *, judged: bool = False) -> Any:
    """A library's result as `Lists` or a dictionary; anything else as it is.

    Args:
        table: a run or judgments in any form.
        judged: whether it is judgments: then item lists with ratings have grades.

    Raises:
        InputError: item lists by several keys, or without the scores or the order of items.

    >>> pair = np.array([[3, 1]]), np.array([[0.9, 0.2]])
    >>> from_library(pair).items.tolist()
    [[3, 1]]
    """
    if _is_collection(table):
        return dict(_judged(table) if judged else _ranked(table))
    return _lists(*table) if is_pair(table) else table


def is_pair(table: object) -> bool:
    """Whether something is items and scores of users: two matrices of one shape, not of one kind.

    Two runs as matrices are both scores, and so are not such a pair.
    """
    if not isinstance(table, tuple) or len(table) != _PAIR:
        return False
    shapes = [tuple(getattr(each, "shape", ())) for each in table]
    return (
        len(shapes[0]) == _PAIR and shapes[0] == shapes[1] and len({_whole(e) for e in table}) > 1
    )


def _whole(array: Any) -> bool:
    return str(getattr(array, "dtype", "")).rpartition(".")[2].startswith(("int", "uint"))


def _lists(one: Any, two: Any) -> Lists:
    items, scores = (one, two) if _whole(one) else (two, one)
    numbers = home(scores).astype(np.float64)
    return Lists(items, values=np.where(numbers > _UNRANKED, numbers, np.nan))


def _is_collection(table: object) -> bool:
    return all(hasattr(table, name) for name in ("key_fields", "lists", "items"))


def _item_lists(collection: Any) -> Iterator[tuple[str, Any]]:
    if len(collection.key_fields) != 1:
        keys = ", ".join(collection.key_fields)
        problem = f"item lists by {keys}; give a collection with one key, such as user_id."
        raise InputError(problem, source="item lists", code="wrong-type")
    for key, items in collection.items():
        yield str(key[0]), items


def _ranked(collection: Any) -> Iterator[tuple[str, list[str]]]:
    """The items of each user, the best first; NaN as a score is not ranked."""
    for user, items in _item_lists(collection):
        ids = np.asarray([str(each) for each in items.ids()], dtype=object)
        if not getattr(items, "ordered", False):
            found = items.scores()
            if found is None:
                problem = f"the list of '{user}' has no order and no scores; score it first."
                raise InputError(problem, source="item lists", code="missing-column")
            scores = np.asarray(found, np.float64)
            by = np.argsort(-scores, kind="stable")
            ids = ids[by[~np.isnan(scores[by])]]
        yield user, ids.tolist()


def _judged(collection: Any) -> Iterator[tuple[str, dict[str, float]]]:
    """The grade of each item: its rating, or 1."""
    for user, items in _item_lists(collection):
        ids, ratings = [str(each) for each in items.ids()], items.field("rating")
        grades = np.ones(len(ids)) if ratings is None else np.asarray(ratings, np.float64)
        yield user, dict(zip(ids, grades.tolist(), strict=True))
