"""Does `rankgate attribute` name what was changed?

Two evaluations are recorded, between which one thing is changed, or two at once; one world in ten
does not keep its inputs. The truth is computed from the changes themselves: the values with either
of two changes alone and with both (Shapley).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.workspace.records.attribution import attribute
from rankgate.workspace.records.provenance import Provenance
from rankgate.workspace.records.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

METRIC, TARGET = "nDCG@10", 0.95
WORLDS, PAIRED, KEPT = 80, 20, 0.9  # worlds for each cause, and for each two of them
CAUSES = ("system", "judge", "judgments", "corpus", "ids", "queries", "convention")
OF_RUN = {"system", "corpus", "ids"}
SHOWN = "two of system, corpus, ids"
JUDGED = "judge, with judgments or queries"
CONVENTIONS = ("gdeval", "ntcir")
DEPTH, TINY = 20, 1e-9


@dataclass(frozen=True)
class Cell:
    """How often the cause is named.

    Attributes:
        kind: what was changed.
        worlds: in how many.
        unknown: share of them in which the answer is unknown.
        kept: the same where inputs are kept.
        right: share of the others in which the answer is the true cause.
    """

    kind: str
    worlds: int
    unknown: float
    kept: float
    right: float

    @property
    def holds(self) -> bool:
        """Whether answers are right."""
        return self.right >= TARGET


@dataclass(frozen=True)
class _Side:
    """What an evaluation is made of; arrays are of queries by documents."""

    scores: Floats
    grades: Ints
    judged: Mask
    present: Mask  # documents of the corpus
    asked: Mask  # queries
    renamed: Mask  # documents with another id
    convention: str = "trec"
    revision: str = "1"
    corpus: str = "1"
    judge: str = "1"

    def qrels(self) -> dict[str, dict[str, int]]:
        return {
            f"q{q}": {f"d{d}": int(self.grades[q, d]) for d in np.flatnonzero(self.judged[q])}
            for q in np.flatnonzero(self.asked)
        }

    def run(self) -> dict[str, dict[str, float]]:
        names = [f"{'new-' if is_renamed else ''}d{d}" for d, is_renamed in enumerate(self.renamed)]
        best_docs = np.argsort(np.where(self.present, -self.scores, np.inf), axis=1)[:, :DEPTH]
        best_docs = best_docs[:, : int(self.present.sum())]
        return {
            f"q{q}": {names[d]: float(self.scores[q, d]) for d in best_docs[q]} for q in range(len(best_docs))
        }

    def evaluated(self) -> Any:  # noqa: ANN401 - an evaluation
        return evaluate(self.qrels(), {"app": self.run()}, [METRIC], self.convention)

    def value(self) -> float:
        return float(self.evaluated()["app", METRIC])


def run(worlds: int = WORLDS, paired: int = PAIRED, seed: int = 2027) -> list[Cell]:
    """Every cause alone, and every two of them."""
    kinds: dict[str, list[tuple[str, ...]]] = {cause: [(cause,)] * worlds for cause in CAUSES}
    kinds |= {"two at once": [], JUDGED: [], SHOWN: []}
    for two in combinations(CAUSES, 2):
        of_run, by_judge = (set(two) <= OF_RUN, set(two) in ({"judge", "judgments"}, {"judge", "queries"}))
        kinds[SHOWN if of_run else JUDGED if by_judge else "two at once"] += [two] * paired
    cells = []
    for number, (kind, changes) in enumerate(kinds.items()):
        rng = np.random.default_rng([seed, number])
        rows = [_answered(causes, rng) for causes in changes]
        lost = [inputs_kept for answer, _, inputs_kept in rows if answer == "unknown"]
        correct = [answer == truth for answer, truth, _ in rows if answer != "unknown"]
        with_inputs = sum(inputs_kept for _, _, inputs_kept in rows)
        cells.append(
            Cell(
                kind,
                len(rows),
                len(lost) / len(rows),
                sum(lost) / with_inputs,
                float(np.mean(correct)) if correct else 1.0,
            )
        )
    return cells


def _answered(causes: tuple[str, ...], rng: np.random.Generator) -> tuple[str, str, bool]:
    """The answer, the truth, and whether inputs are kept."""
    keep_inputs = bool(rng.random() < KEPT)
    old = _world(rng)
    changes = [_change(cause, old, rng, by_judge="judge" in causes) for cause in causes]
    new = replace(old, **{name: value for change in changes for name, value in change.items()})
    with TemporaryDirectory() as folder:
        for day, side in enumerate((old, new), 1):
            labels = {"corpus": side.corpus, "judge": side.judge}
            record(
                side.evaluated(),
                folder,
                at=f"2027-01-0{day}",
                labels=labels,
                provenance=Provenance(side.revision),
                qrels=side.qrels(),
                runs={"app": side.run()},
                keep=keep_inputs,
            )
        answer = attribute("2027-01-01", "2027-01-02", folder).answer
    return (answer, _truth(causes, old, [replace(old, **change) for change in changes], new), keep_inputs)


def _world(rng: np.random.Generator) -> _Side:
    queries, docs = int(rng.integers(12, 50)), int(rng.integers(25, 80))
    relevance = rng.normal(size=(queries, docs))
    return _Side(
        relevance + rng.uniform(0.3, 3) * rng.normal(size=relevance.shape),
        np.digitize(relevance, (0.3, 1.0, 1.7)),
        rng.random(relevance.shape) < rng.uniform(0.3, 1),
        rng.random(docs) < 0.9,
        rng.random(queries) < 0.9,
        np.zeros(docs, np.bool_),
    )


def _change(cause: str, old: _Side, rng: np.random.Generator, *, by_judge: bool) -> dict[str, Any]:
    """What is other afterwards; from hardly anything to most of it."""
    share = 10 ** rng.uniform(-2, -0.2)
    shape = old.scores.shape
    if cause == "system":
        return {"scores": old.scores + 3 * share * rng.normal(size=shape), "revision": "2"}
    if cause == "corpus":
        return {"present": old.present ^ _some(share, old.present.shape, rng), "corpus": "2"}
    if cause == "ids":
        return {"renamed": rng.random(shape[1]) > 0.03 * rng.random()}
    if cause in {"queries", "convention"}:
        new_queries, new_convention = (
            old.asked ^ _some(share, old.asked.shape, rng),
            rng.choice(CONVENTIONS),
        )
        return {"asked": new_queries} if cause == "queries" else {"convention": str(new_convention)}
    if cause == "judgments" and (by_judge or rng.random() < 0.5):
        return {"judged": old.judged ^ _some(share, shape, rng)}
    moved = old.grades + rng.choice([-1, 1], shape) * (rng.random(shape) < share)
    return {"grades": np.clip(moved, 0, 3)} | ({"judge": "2"} if cause == "judge" else {})


def _some(share: float, shape: tuple[int, ...], rng: np.random.Generator) -> Mask:
    """At random, and at least one of them."""
    return np.asarray((rng.random(shape) < share) | (np.arange(shape[-1]) == 1), np.bool_)


def _truth(causes: Sequence[str], old: _Side, alone: Sequence[_Side], new: _Side) -> str:
    """The cause with the larger part."""
    first, last = old.value(), new.value()
    if len(causes) == 1:
        return causes[0] if abs(last - first) > TINY else "none"
    first_value, second_value = (side.value() for side in alone)
    sizes = [abs(first_value - first + last - second_value), abs(second_value - first + last - first_value)]
    if max(sizes) <= TINY:
        return "none"
    return causes[int(np.argmax(sizes))] if abs(sizes[0] - sizes[1]) > TINY else "several"


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, percent, table

    text = (
        "`rankgate attribute` is asked about two recorded evaluations between which one thing was changed, "
        "or two at once, by simulation: 12 to 50 queries, 25 to 80 documents, changes from 1 % of the "
        "grades, scores, pairs, queries or documents to most of them. Every tenth world keeps no inputs. The "
        "labels `judge` and `corpus` and the revision are given as they are. An answer is right where it is "
        "the cause with the larger part (of two changes: Shapley, from the values with either and both), or "
        "*none* where no value moved. The former judge's grades of new pairs and queries are part of that "
        "truth and are not recorded; and one run shows two changes of it only together. At least "
        f"{TARGET:.0%} of the answers other than *unknown* should be right. New ids leave up to 3 % of the "
        "documents unchanged, by chance up to 7 % of the documents that the runs show. A new system over a "
        "new corpus is *unknown*, and so are new ids with either of them where the runs share more than 5 %."
    )
    header = ("changed", "worlds", "unknown", "unknown, inputs kept", "right of the others")
    rows = [
        (c.kind, f"{c.worlds:,}", percent(c.unknown), percent(c.kept), marked(c.right, c.holds))
        for c in cells
    ]
    return f"## What a change is attributed to\n\n{text}\n\n{table(header, rows)}"
