"""Rankings and judgments of recommender libraries, none of which is imported.

- implicit's ``recommend`` and RecBole's ``full_sort_topk``: a pair of arrays with the same shape,
  the items of each user by number and their scores, in either order;
- LensKit's ``ItemListCollection``: an item list for each user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import InputError
from rankgate.data.memory.matrices import Lists, to_numpy

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputKind

_PAIR_LENGTH = 2
_UNRANKED = float(np.finfo(np.float32).min)
"""The score of an item that implicit took out of a list; RecBole has minus infinity there."""


def is_pair(table: object) -> bool:
    """True for a pair of matrices with items and scores of users: one shape, but two dtypes.

    Two runs as matrices are both scores, so they are not such a pair.
    """
    if not isinstance(table, tuple) or len(table) != _PAIR_LENGTH:
        return False
    shapes = [tuple(getattr(array, "shape", ())) for array in table]
    return (
        len(shapes[0]) == _PAIR_LENGTH
        and shapes[0] == shapes[1]
        and len({_has_integers(array) for array in table}) > 1
    )


def _has_integers(array: object) -> bool:
    return str(getattr(array, "dtype", "")).rpartition(".")[2].startswith(("int", "uint"))


def padded_lists(first_array: object, second_array: object) -> Lists:
    """The items of users by number, and their scores, in either order.

    >>> padded_lists(np.array([[0.9, 0.2]]), np.array([[3, 1]])).items.tolist()
    [[3, 1]]
    """
    item_numbers, scores = (
        (first_array, second_array) if _has_integers(first_array) else (second_array, first_array)
    )
    float_scores = to_numpy(scores).astype(np.float64)
    return Lists(item_numbers, values=np.where(float_scores > _UNRANKED, float_scores, np.nan))


def lists_by_user(collection: Any, input_kind: InputKind) -> dict[str, Any]:
    """The lists of LensKit's ``ItemListCollection`` as a dictionary.

    Args:
        collection: the item lists.
        input_kind: the kind of input to read; read as judgments, item lists with ratings have
            grades.

    Raises:
        InputError: item lists have several keys, or neither scores nor an order of items.
    """
    if len(collection.key_fields) != 1:
        keys = ", ".join(collection.key_fields)
        problem = f"item lists by {keys}; give a collection with one key, such as user_id."
        raise InputError(problem, source="item lists", code="wrong-type")
    read = _grades if input_kind == "qrels" else _ranking
    return {str(key[0]): read(str(key[0]), item_list) for key, item_list in collection.items()}


def _ranking(user: str, item_list: Any) -> list[str]:
    """The items of a user, best first; items with the score NaN are not ranked."""
    ids = np.asarray([str(item_id) for item_id in item_list.ids()], dtype=object)
    if not getattr(item_list, "ordered", False):
        scores_or_none = item_list.scores()
        if scores_or_none is None:
            problem = f"the list of '{user}' has no order and no scores; score it first."
            raise InputError(problem, source="item lists", code="missing-column")
        scores = np.asarray(scores_or_none, np.float64)
        order = np.argsort(-scores, kind="stable")
        ids = ids[order[~np.isnan(scores[order])]]
    return list(ids)


def _grades(_: str, item_list: Any) -> dict[str, float]:
    """The grade of each item: its rating, or 1 without ratings."""
    ids, ratings = [str(item_id) for item_id in item_list.ids()], item_list.field("rating")
    grades = np.ones(len(ids)) if ratings is None else np.asarray(ratings, np.float64)
    return dict(zip(ids, grades.tolist(), strict=True))
