"""What recommender libraries return is read as it is: implicit, RecBole, LensKit."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
import scipy.sparse

import rankgate
from rankgate.core.errors import InputError
from rankgate.data import read_qrels, read_run
from rankgate.data.collection import Collection, Items
from support.wording import raises

ITEMS = np.array([[3, 1, 0], [2, 0, 1]], np.int32)  # implicit takes the last one out
SCORES = np.array([[0.9, 0.5, 0.1], [0.7, 0.2, np.finfo(np.float32).min]], np.float32)
TEST = {0: {1}, 1: {0}}


class Key(NamedTuple):
    user_id: int


class ItemList:
    """As LensKit's, as far as it is read."""

    def __init__(
        self,
        ids: list[str],
        scores: list[float] | None = None,
        *,
        ordered: bool = False,
        rating: list[float] | None = None,
    ) -> None:
        self._ids, self._scores, self.ordered, self._rating = ids, scores, ordered, rating

    def ids(self) -> np.ndarray:
        return np.array(self._ids)

    def scores(self) -> np.ndarray | None:
        return None if self._scores is None else np.array(self._scores)

    def field(self, name: str) -> np.ndarray | None:
        return None if self._rating is None or name != "rating" else np.array(self._rating)


class ItemListCollection:
    """As LensKit's, as far as it is read."""

    __module__ = "lenskit.data.collection"

    def __init__(self, lists: dict[int, ItemList], key_fields: tuple[str, ...] = ("user_id",)):
        self._lists, self.key_fields = lists, key_fields

    def items(self) -> Any:
        return ((Key(user), items) for user, items in self._lists.items())

    def lists(self) -> Any:
        return self._lists.values()


@pytest.mark.parametrize("pair", [(ITEMS, SCORES), (SCORES, ITEMS)])
def test_items_and_scores_are_one_run(pair: tuple[np.ndarray, np.ndarray]) -> None:
    result = rankgate.evaluate(Collection(TEST, items=Items(catalogue=4)), pair, ["RR", "Coverage@2"])
    assert result.means.rows() == [("run1", 0.5, 1.0)]
    assert rankgate.scorecard({"0": {"1": 1}}, pair, ["RR"], resamples=2).users == 1
    assert read_run(pair).table.height == 5


def test_minus_infinity_is_not_ranked() -> None:
    scores = np.where(np.isclose(SCORES, 0.2), -np.inf, SCORES)
    assert rankgate.evaluate(TEST, (scores, ITEMS), ["RR"]).means["RR"][0] == 0.25


def test_two_matrices_are_two_runs() -> None:
    result = rankgate.evaluate(TEST, (np.eye(2), np.eye(2)[::-1]), ["RR"])
    assert len(result.runs) == 2


def test_sparse_matrices_are_runs_by_name() -> None:
    runs = {name: scipy.sparse.csr_matrix(np.eye(2)[::-1]) for name in ("old", "new")}
    assert rankgate.evaluate(TEST, runs, ["RR"]).means.rows() == [("old", 1.0), ("new", 1.0)]


def test_labels_have_grades_in_tables_only() -> None:
    with pytest.raises(InputError) as refused:
        Collection({"1": ["a"]}, grades={"Exact": 1}).qrels()
    assert refused.value.code == "wrong-type"


def test_an_item_list_collection_is_a_run() -> None:
    lists = ItemListCollection(
        {1: ItemList(["a", "b", "c"], [0.1, 0.9, float("nan")]), 2: ItemList(["c", "a"], ordered=True)}
    )
    result = rankgate.evaluate({"1": {"a"}, "2": {"c"}}, lists, ["RR"], convention="lenskit")
    assert result.values["value"].to_list() == [0.5, 1.0]


def test_an_item_list_collection_is_judgments() -> None:
    rated = ItemListCollection({1: ItemList(["a", "b"], rating=[4.0, 2.0]), 2: ItemList(["c"])})
    assert read_qrels(rated).table.rows() == [("1", "a", 4.0), ("1", "b", 2.0), ("2", "c", 1.0)]


def test_lists_that_lenskit_saved_are_rows(tmp_path: Path) -> None:
    lists = pl.DataFrame(
        {
            "user_id": ["1", "2", "3"],
            "items": [
                [{"item_id": "a", "score": 0.1}, {"item_id": "b", "score": 0.9}],
                [{"item_id": "c", "score": 0.5}],
                [],
            ],
        }
    )
    lists.write_parquet(tmp_path / "lists.parquet")
    for run in (tmp_path / "lists.parquet", lists, lists.to_pandas()):
        rows = read_run(run).table.rows()
        assert sorted(rows) == [("1", "a", 0.1), ("1", "b", 0.9), ("2", "c", 0.5)]
    result = rankgate.evaluate({"1": {"b"}, "2": {"c"}}, tmp_path / "lists.parquet", ["RR"])
    assert result.means["RR"][0] == 1.0


def test_what_cannot_be_read_is_refused() -> None:
    with raises("missing-column", InputError):
        read_run(ItemListCollection({1: ItemList(["a"])}))
    with raises("wrong-type", InputError):
        read_run(ItemListCollection({1: ItemList(["a"], [1.0])}, ("user_id", "seq")))


@pytest.fixture(scope="module")
def lenskit() -> Any:
    """LensKit's module of data, which imports PyTorch."""
    return importlib.import_module("lenskit.data")


@pytest.mark.lenskit
def test_lists_of_lenskit_itself(lenskit: Any, tmp_path: Path) -> None:
    ItemList, Lists = lenskit.ItemList, lenskit.ItemListCollection
    scored = {q: ItemList(item_ids=["a", "b", "c"], scores=[0.1, 0.9, 0.5]) for q in "12"}
    ordered_lists = {q: ItemList(item_ids=["b", "c", "a"], ordered=True) for q in "12"}
    rated = {q: ItemList(item_ids=["a", "c"], rating=[3.0, 1.0]) for q in "12"}
    truth = Lists.from_dict(rated, key="user_id")
    for lists in (scored, ordered_lists):
        run = Lists.from_dict(lists, key="user_id")
        result = rankgate.evaluate(truth, run, ["RR", "nDCG@3"])
        ranking_scores = {"b": 3.0, "c": 2.0, "a": 1.0}
        plain = rankgate.evaluate(
            {q: {"a": 3, "c": 1} for q in "12"}, dict.fromkeys("12", ranking_scores), ["RR", "nDCG@3"]
        )
        assert result.means.rows() == plain.means.rows()
        for layout in ("native", "flat"):
            run.save_parquet(tmp_path / "run.parquet", layout=layout)
            truth.save_parquet(tmp_path / "truth.parquet", layout=layout)
            saved = rankgate.evaluate(tmp_path / "truth.parquet", tmp_path / "run.parquet", ["RR", "nDCG@3"])
            assert [row[1:] for row in saved.means.rows()] == [row[1:] for row in plain.means.rows()]


def test_scores_that_are_arrays_of_one_number_are_numbers():
    run = {"q": {"a": np.array(0.5), "b": np.array(0.9)}}
    assert rankgate.evaluate({"q": {"a": np.array(1)}}, run, ["RR"]).means["RR"][0] == 1 / 2
