"""Judgments of real collections are hidden, so that what unjudged documents hide is known.

Lists are cut to their first ten judged documents. Runs are real, or drawn here for collections
whose judgments alone are there: quality times the root of the grade, an error that systems of one
family share, and one of each system. nDCG@10 is written anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data import read_qrels, read_run
from rankgate.data.run_scores import LISTS, QUERIES, SCORES, ScoredRun
from studies.populations import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from rankgate.decisions.unjudged.hole_model import HoleModel

    Floats = NDArray[np.float64]
    Grades = Mapping[str, Mapping[str, float]]
    Lists = Mapping[str, list[str]]

DEPTH, KEYS = 10, ["query_id", "doc_id"]
MOST, SYSTEMS = 50, 12  # queries of a trial; systems that are simulated
RUNS = {
    "TREC-COVID": "trec-covid-r1",
    "CAsT 2021": "cast2021",
    "TREC DL 2020": "dl20-doc",
    "Cranfield": "cranfield",
}
JUDGED = {
    "TREC-8": "qrels.adhoc.401-450.txt.gz",
    "Core 2017": "qrels.core17.txt.gz",
    "DL 2019 passages": "qrels.dl19-passage.txt.gz",
    "DL 2021 passages": "qrels.dl21-passage.txt.gz",
    "Web 2010": "qrels.web.51-100.txt.gz",
    "Microblog 2011": "qrels.microblog2011.txt.gz",
}
WAYS = (
    ("at random", 0.15),
    ("at random", 0.3),
    ("at random", 0.5),
    ("candidate's", 0.15),
    ("candidate's", 0.3),
    ("candidate's", 0.5),
    ("all of the candidate's", 1.0),
    ("candidate not pooled", 1.0),
    ("candidate not pooled", 1.0),
    ("neither pooled", 1.0),
)
_POOLED = 3  # other systems whose first ten are judged
_DISCOUNT = 1 / np.log2(np.arange(2, DEPTH + 2))


@dataclass(frozen=True)
class Collection:
    """Judgments and what systems show.

    Attributes:
        name: of the collection.
        grades: of every judged document of each query.
        runs: the first ten judged documents of each query, by system.
    """

    name: str
    grades: Grades
    runs: Mapping[str, Lists]


@dataclass(frozen=True)
class Hidden:
    """Two systems before and after some judgments are hidden.

    Attributes:
        way, share: how they were hidden.
        pair: names of baseline and candidate.
        queries: that are compared.
        lists: of the baseline and of the candidate.
        grades: with all judgments.
        left: without those that are hidden.
    """

    way: str
    share: float
    pair: tuple[str, str]
    queries: tuple[str, ...]
    lists: tuple[Lists, Lists]
    grades: Grades
    left: Grades

    @cached_property
    def sides(self) -> tuple[ScoredRun, ScoredRun]:
        """Both systems as `hole_model.modelled` takes them: their lists with known grades."""
        first, second = (self._side(lists) for lists in self.lists)
        return first, second

    def _side(self, lists: Lists) -> ScoredRun:
        rows = [
            (query, rank, document, self.left[query].get(document))
            for query in self.queries
            for rank, document in enumerate(lists[query], 1)
        ]
        empty = [pl.DataFrame(schema=schema) for schema in (SCORES, QUERIES)]
        table = pl.DataFrame(rows, schema=LISTS, orient="row")
        return ScoredRun("", None, "", "", "", {}, (), DEPTH, empty[0], table, empty[1])

    def gains(self, grades: Grades) -> Floats:
        """(T,) differences of nDCG@10 by query."""
        return np.array([self._gain(query, grades[query]) for query in self.queries])

    def _gain(self, query: str, grades: Mapping[str, float]) -> float:
        ideal_grades = sorted(grades.values(), reverse=True)[:DEPTH]
        ideal = float(np.dot(ideal_grades, _DISCOUNT[: len(ideal_grades)]))
        first_dcg, second_dcg = (
            sum(_DISCOUNT[i] * grades.get(document, 0.0) for i, document in enumerate(lists[query]))
            for lists in self.lists
        )
        return (second_dcg - first_dcg) / ideal if ideal > 0 else 0.0

    def drawn(self, found: HoleModel, grades: Floats) -> Floats:
        """(T, S) differences under drawn grades of the holes."""
        result = np.repeat(self.gains(self.left)[:, None], grades.shape[1], axis=1)
        row_of_query = {query: i for i, query in enumerate(self.queries)}
        grades_by_query: dict[str, dict[str, Floats]] = {}
        rows = found.table.select(KEYS).iter_rows()
        for (query, document), hole_grades in zip(rows, np.maximum(grades, 0.0), strict=True):
            grades_by_query.setdefault(query, {})[document] = hole_grades
        for query, holes in grades_by_query.items():
            result[row_of_query[query]] = self._drawn(query, holes)
        return result

    def _drawn(self, query: str, holes: Mapping[str, Floats]) -> Floats:
        judged_grades = self.left[query]
        top_grades = sorted(judged_grades.values(), reverse=True)[:DEPTH]
        hole_grades = np.stack(list(holes.values()))
        all_grades = np.concatenate(
            [np.repeat(np.array(top_grades)[:, None], hole_grades.shape[1], axis=1), hole_grades]
        )
        first = -np.sort(-all_grades, axis=0)[:DEPTH]
        ideal = (first * _DISCOUNT[: len(first), None]).sum(axis=0)
        first_dcg, second_dcg = (
            sum(
                _DISCOUNT[i] * holes.get(document, judged_grades.get(document, 0.0))
                for i, document in enumerate(lists[query])
            )
            for lists in self.lists
        )
        return np.asarray(np.where(ideal > 0, (second_dcg - first_dcg) / np.where(ideal > 0, ideal, 1), 0))


def collections() -> Iterator[Collection]:
    """Every collection that is there."""
    for name, folder in RUNS.items():
        if (FOLDER / folder).is_dir():
            yield _real(name, FOLDER / folder)
    for name, file in JUDGED.items():
        path = FOLDER / "qrels-pack" / file
        if path.is_file():
            yield _simulated(name, path)


def hidden(collection: Collection, i: int, rng: np.random.Generator) -> Hidden | None:
    """The i-th trial of a collection; None where nothing is hidden or left."""
    names = sorted(collection.runs)
    first_name, second_name, *other_names = (names[j] for j in rng.permutation(len(names)))
    lists = collection.runs[first_name], collection.runs[second_name]
    common = sorted(set(lists[0]) & set(lists[1]))
    size = min(MOST, (len(common) + 1) // 2)
    queries = tuple(common[j] for j in sorted(rng.permutation(len(common))[:size]))
    method, share = WAYS[i % len(WAYS)]
    pool = [collection.runs[name] for name in other_names[:_POOLED]]
    grades = {query: collection.grades[query] for query in queries}
    remaining_grades = {}
    for query in queries:
        candidates = dict.fromkeys(lists[0][query] + lists[1][query])
        if method not in {"at random", "neither pooled"}:
            candidates = dict.fromkeys(
                document for document in lists[1][query] if document not in lists[0][query]
            )
        if method.endswith("not pooled") or method == "neither pooled":
            documents_in_pool = {document for run in pool for document in run.get(query, ())}
            candidates = dict.fromkeys(
                document for document in candidates if document not in documents_in_pool
            )
        hidden_documents = {document for document in candidates if rng.random() < share}
        remaining_grades[query] = {
            document: g for document, g in grades[query].items() if document not in hidden_documents
        }
    if remaining_grades == grades or not any(remaining_grades.values()):
        return None
    return Hidden(method, share, (first_name, second_name), queries, lists, grades, remaining_grades)


def shown_again(trial: Hidden, documents: set[tuple[str, str]]) -> Hidden:
    """The same with the judgments of some documents known again."""
    remaining_grades = {
        query: dict(query_grades)
        | {
            document: trial.grades[query][document]
            for document in trial.grades[query]
            if (query, document) in documents
        }
        for query, query_grades in trial.left.items()
    }
    return replace(trial, left=remaining_grades)


def _real(name: str, place: Path) -> Collection:
    patterns = ("cranqrel.graded*", "*qrels*", "*.qrel*")
    path = next(
        candidate for pattern in patterns for candidate in sorted(place.rglob(pattern)) if candidate.is_file()
    )
    judged = read_qrels(path).table.filter(pl.col("grade") >= 0)
    runs = {}
    for file in sorted((place / "runs").iterdir()):
        judged_rows = (
            read_run(file)
            .table.join(judged, on=KEYS, how="semi")
            .sort("query_id", "score", "doc_id", descending=[False, True, True])
        )
        runs[file.name] = dict(
            judged_rows.group_by("query_id", maintain_order=True)
            .agg(pl.col("doc_id").head(DEPTH))
            .iter_rows()
        )
    return Collection(name, _by_query(judged), runs)


def _simulated(name: str, path: Path) -> Collection:
    rng = np.random.default_rng([0, *name.encode()])
    grades = _by_query(read_qrels(path).table.with_columns(pl.col("grade").clip(0, None)))
    family, quality = rng.integers(3, size=SYSTEMS), rng.uniform(0.3, 1.6, SYSTEMS)
    runs: dict[str, dict[str, list[str]]] = {f"system {i}": {} for i in range(SYSTEMS)}
    for query, query_grades in grades.items():
        documents = sorted(query_grades)
        if len(documents) < DEPTH + DEPTH // 2:
            continue
        root = np.sqrt([query_grades[document] for document in documents])
        ease, common = rng.normal(0, 0.5), rng.normal(0, 0.5, root.size)
        shared = rng.normal(0, 0.8, (3, root.size))
        for i, run in enumerate(runs.values()):
            system_noise = rng.normal(0, 0.8, root.size)
            score = (quality[i] + ease) * root + common + shared[family[i]] + system_noise
            run[query] = [documents[j] for j in np.argsort(-score)[:DEPTH]]
    return Collection(name, grades, runs)


def _by_query(judged: pl.DataFrame) -> dict[str, dict[str, float]]:
    result: dict[str, dict[str, float]] = {}
    for query, document, grade in judged.select(*KEYS, "grade").iter_rows():
        result.setdefault(query, {})[document] = float(grade)
    return result
