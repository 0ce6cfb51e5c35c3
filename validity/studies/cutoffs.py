"""A threshold of scores keeps its demand, whatever the scores are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankgate.data.read import read_qrels, read_run
from rankgate.measurement.stats.score_thresholds import Demand, QuestionScores
from studies.populations import FOLDER
from tables import marked, percent, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rankgate.measurement.stats.score_thresholds import Keep, Subject

    Floats = NDArray[np.float64]

REPETITIONS = 10_000
SIZE = 50_000  # questions of a simulated population
ALPHA, SILENT, KEPT = 0.05, 0.95, 0.9
REAL = {
    "cranfield": ("cranqrel.trec.txt", 5),
    "cacm": ("qrels.cacm.txt", 4),
    "cast2021": ("trec-cast-qrels-docs.2021.qrel.gz", 5),
    "trec-covid-r1": ("qrels.covid-round1.txt", 6),
}
"""The judgments of collections, and the number of their runs that are taken, by name."""


@dataclass(frozen=True)
class Population:
    """All questions with and without an answer.

    Attributes:
        name: a description.
        tops: the highest score of each question without an answer.
        scores: the scores of relevant documents, by question.
        counts: their number, for each question with an answer.
    """

    name: str
    tops: Floats
    scores: Floats
    counts: NDArray[np.int64]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def ordered(self) -> dict[str, tuple[Floats, Floats]]:
        """Scores from the highest down, and what is kept if they and all before them are."""
        owner = np.repeat(np.arange(len(self.counts)), self.counts)
        units = {
            "share": (self.scores, 1 / self.counts[owner] / len(self.counts)),
            "documents": (self.scores, np.full(len(self.scores), 1 / len(self.scores))),
            "one": (
                np.maximum.reduceat(self.scores, self.starts),
                np.full(len(self.counts), 1 / len(self.counts)),
            ),
            "all": (
                np.minimum.reduceat(self.scores, self.starts),
                np.full(len(self.counts), 1 / len(self.counts)),
            ),
        }
        result = {}
        for name, (scores, weights) in units.items():
            order = np.argsort(-scores, kind="stable")
            result[name] = -scores[order], np.append(0, np.cumsum(weights[order]))
        return result

    @cached_property
    def ordered_tops(self) -> Floats:
        return np.sort(self.tops)

    def silent(self, threshold: float) -> float:
        """The share of all questions without an answer for which nothing is shown."""
        return float(np.searchsorted(self.ordered_tops, threshold) / len(self.tops))

    def kept(self, threshold: float, keep: str) -> float:
        """The share of all that is kept."""
        negative, kept = self.ordered[keep]
        return float(kept[np.searchsorted(negative, -threshold, side="right")])

    def sample(
        self, rng: np.random.Generator, n: int, keep: Keep = "share", copies: int = 1
    ) -> QuestionScores:
        """Questions drawn independently, or each several times."""
        tops = np.repeat(rng.choice(self.tops, n // copies), copies)
        questions = np.repeat(rng.integers(len(self.counts), size=n // copies), copies)
        counts = self.counts[questions]
        owner = np.repeat(np.arange(len(questions)), counts)
        position = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return QuestionScores(
            tops, self.scores[np.repeat(self.starts[questions], counts) + position], owner, keep
        )


@dataclass(frozen=True)
class Cell:
    """One demand on samples of one population.

    Attributes:
        group: the table that it is in.
        name: the population.
        subject: silent, or kept and what is kept.
        n: the number of questions.
        broken: the share of repetitions in which the demand does not hold at the chosen threshold.
        missing: the share of repetitions with too few questions for a threshold.
        naive: the same as broken, for the sample's own quantile.
        documents: the same, for a binomial bound over documents, of documents kept; or None.
        average: the same, for conformal risk control, which holds on average over samples.
    """

    group: str
    name: str
    subject: str
    n: int
    broken: float
    missing: float
    naive: float | None = None
    documents: float | None = None
    average: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the demand is broken as seldom as promised, within two standard errors."""
        return self.broken <= ALPHA + 2 * (ALPHA * (1 - ALPHA) / REPETITIONS) ** 0.5


def run(seed: int = 17) -> list[Cell]:
    """Every population."""
    rng = np.random.default_rng(seed)
    cells = []
    simulated = list(_simulated(rng))
    for population in simulated:
        for n in (59, 100, 400):
            cells.append(_silent("simulated", population, n, rng))
        for n in (40, 100, 400):
            cells.append(_kept("simulated", population, n, "share", rng))
    for population in simulated:
        cells += [_kept("simulated", population, 100, keep, rng) for keep in ("one", "all")]
    for population in _real():
        cells += [_silent("real", population, 100, rng), _kept("real", population, 100, "share", rng)]
    cells += [_slices(simulated[:5], n, rng) for n in (100, 200)]
    cells += [_both(population, rng) for population in simulated[:3]]
    return [*cells, _silent("copies", simulated[0], 200, rng, copies=5)]


def _simulated(rng: np.random.Generator) -> Iterator[Population]:
    """Populations that are hard in different ways."""
    counts = rng.integers(1, 8, SIZE)
    owner = np.repeat(np.arange(SIZE), counts)
    noise = rng.normal(size=len(owner))
    yield Population("normal scores", rng.normal(0, 1, SIZE), 2 + noise, counts)
    tails = rng.standard_cauchy(SIZE), 2 + rng.standard_cauchy(len(owner))
    yield Population("heavy tails (Cauchy)", *tails, counts)
    levels = rng.integers(0, 5, SIZE).astype(float), np.clip(np.round(3 + noise), 0, 4)
    yield Population("five scores, all tied", *levels, counts)
    alike = rng.normal(size=SIZE)[owner] + 0.1 * noise
    many = np.where(rng.random(SIZE) < 0.1, 40, 1)
    owner = np.repeat(np.arange(SIZE), many)
    yield Population("documents of a question alike", rng.normal(0, 1, SIZE), 2 + alike, counts)
    skewed = rng.normal(size=SIZE)[owner] - 2.0 * (many[owner] > 1) + 0.1 * rng.normal(size=len(owner))
    yield Population("a tenth of the questions has 40 hard ones", rng.normal(0, 1, SIZE), 2 + skewed, many)
    hidden = np.where(rng.random(SIZE) < 0.06, 5.0, -np.inf)
    yield Population(
        "silence, but for 6%", hidden, np.where(rng.random(SIZE) < 0.11, 0.0, 1.0), np.ones(SIZE, int)
    )


def _real() -> Iterator[Population]:
    """Runs on collections: without an answer are their questions without the relevant documents."""
    for name, (judgments, count) in REAL.items():
        folder = FOLDER / name
        if not folder.is_dir():
            continue
        grades = {
            row[:2]: row[2]
            for row in read_qrels(folder / judgments).table.select("query_id", "doc_id", "grade").iter_rows()
        }
        judged = {query for query, _ in grades}
        for path in sorted((folder / "runs").iterdir())[:count]:
            scores: dict[str, list[float]] = {}
            tops: dict[str, float] = {}
            for query, document, score in read_run(path).table.iter_rows():
                if grades.get((query, document), 0) >= 1:
                    scores.setdefault(query, []).append(score)
                elif query in judged:
                    tops[query] = max(score, tops.get(query, -np.inf))
            counts = np.array([len(values) for values in scores.values()])
            flat = np.concatenate([*scores.values()])
            yield Population(f"{name}, {path.name.split('.')[0]}", np.array([*tops.values()]), flat, counts)


def _silent(group: str, population: Population, n: int, rng: np.random.Generator, copies: int = 1) -> Cell:
    demand, results = Demand(SILENT, ALPHA), []
    for _ in range(REPETITIONS):
        scores = population.sample(rng, n, copies=copies)
        threshold = scores.choose("silent", demand)
        ordered = np.sort(scores.tops)
        quantile = np.nextafter(ordered[int(np.ceil(SILENT * n)) - 1], np.inf)
        allowed = int((1 - SILENT) * (n + 1) - 1)  # losses with (losses + 1) / (n + 1) of at most 5 %
        average = np.nextafter(ordered[-1 - allowed], np.inf) if allowed >= 0 else np.inf
        results.append(
            [
                threshold is not None,
                *(
                    population.silent(t) >= SILENT
                    for t in (np.inf if threshold is None else threshold, quantile, average)
                ),
            ]
        )
    found, holds, naive, crc = np.mean(results, axis=0)
    return Cell(group, population.name, "silent", n, 1 - holds, 1 - found, 1 - naive, None, 1 - crc)


def _kept(group: str, population: Population, n: int, keep: Keep, rng: np.random.Generator) -> Cell:
    demand, results = Demand(KEPT, ALPHA, keep != "share"), []
    by_document = Demand(KEPT, ALPHA)
    for _ in range(REPETITIONS):
        scores = population.sample(rng, n, keep)
        threshold = scores.choose("kept", demand)
        documents = replace(scores, owner=np.arange(len(scores.scores)), keep="all")
        limits = [
            threshold,
            documents.choose("kept", by_document),
            _largest(scores, KEPT),
            _largest(scores, KEPT + (1 - KEPT) / n),
        ]
        ends = [-np.inf if limit is None else limit for limit in limits]
        units = (keep, "documents", keep, keep)
        results.append(
            [
                threshold is not None,
                *(population.kept(end, unit) >= KEPT - 1e-12 for end, unit in zip(ends, units, strict=True)),
            ]
        )
    found, holds, documents_hold, naive, crc = np.mean(results, axis=0)
    documents_broken = 1 - documents_hold if keep == "share" else None
    return Cell(
        group,
        population.name,
        f"kept ({keep})",
        n,
        1 - holds,
        1 - found,
        1 - naive,
        documents_broken,
        1 - crc,
    )


def _largest(scores: QuestionScores, floor: float) -> float:
    """The largest threshold at which the sample itself keeps the floor."""
    low, high = 0, len(scores.ends) - 1
    while high - low > 1:
        middle = (low + high) // 2
        is_kept = scores.shares("kept", scores.ends[middle]).mean() >= floor
        low, high = (middle, high) if is_kept else (low, middle)
    return float(scores.ends[low])


def _slices(populations: Sequence[Population], n: int, rng: np.random.Generator) -> Cell:
    """All slices together, each with its share of the error."""
    demand, results = Demand(SILENT, ALPHA / len(populations)), []
    for _ in range(REPETITIONS):
        thresholds = [population.sample(rng, n).choose("silent", demand) for population in populations]
        holds = [
            threshold is None or population.silent(threshold) >= SILENT
            for population, threshold in zip(populations, thresholds, strict=True)
        ]
        results.append((all(holds), None not in thresholds))
    holds, found = np.mean(results, axis=0)
    return Cell("together", f"{len(populations)} slices", "silent", n, 1 - holds, 1 - found)


def _both(population: Population, rng: np.random.Generator) -> Cell:
    """Both demands of one sample, each at its own error."""
    demands: dict[Subject, Demand] = {
        "silent": Demand(SILENT, ALPHA),
        "kept": Demand(KEPT, ALPHA, exact=False),
    }
    results = []
    for _ in range(REPETITIONS):
        scores = population.sample(rng, 100)
        silent, kept = (scores.choose(subject, demand) for subject, demand in demands.items())
        results.append(population.silent(silent) >= SILENT and population.kept(kept, "share") >= KEPT)
    return Cell("together", f"{population.name}, both demands", "both", 100, 1 - np.mean(results), 0.0)


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    titles = {
        "simulated": "Simulated scores",
        "real": "Real systems: scores of relevant documents, and the highest score where those are taken out of the corpus",
        "together": "Several demands together",
        "copies": "Questions that are not independent: five copies of each, without a column `cluster`",
    }
    parts = []
    for group, title in titles.items():
        rows = [
            (
                cell.name,
                cell.subject,
                f"{cell.n}",
                marked(cell.broken, cell.broken <= ALPHA * (2 if cell.subject == "both" else 1) + 0.0044),
                percent(cell.missing),
                *(
                    "–" if share is None else percent(share)
                    for share in (cell.naive, cell.average, cell.documents)
                ),
            )
            for cell in cells
            if cell.group == group
        ]
        head = (
            "scores",
            "demand",
            "questions",
            "broken",
            "labels missing",
            "by the sample's quantile",
            "by conformal risk control",
            "by documents",
        )
        parts.append(f"{title}.\n\n{table(head, rows)}")
    independent = [cell for cell in cells if cell.group in {"simulated", "real"}]
    low, high = (f(1 - cell.broken for cell in independent) for f in (min, max))
    naive = [cell.naive for cell in independent if cell.naive is not None]
    average = [cell.average for cell in independent if cell.average is not None]
    tables = "\n".join(parts)
    return (
        f"## Thresholds of scores\n\n`rankgate cutoff` chooses a threshold by n questions; the demand holds in "
        f"all questions of the population in {percent(low)} to {percent(high)} of {REPETITIONS:,} repetitions "
        f"each, where 95 % are promised. Demands: {SILENT:.0%} of the questions without an answer return nothing; "
        f"{KEPT:.0%} is kept. Broken: the share of repetitions in which the demand does not hold at the "
        f"threshold. A threshold by the sample's own quantile is broken in up to {percent(max(naive))}, and one by "
        f"conformal risk control, which holds on average over samples, in up to {percent(max(average))}; a binomial bound over "
        f"documents takes those of a question as independent. Two demands have an error each, so both hold in 90 % at least. "
        f"Where questions are not independent the promise is broken: state a column `cluster`.\n\n{tables}"
    )
