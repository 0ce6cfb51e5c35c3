"""A threshold of scores keeps its demand, whatever the scores are."""

from __future__ import annotations

from dataclasses import dataclass
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

    from rankgate.decisions.cutoffs.demands import Keep
    from rankgate.measurement.stats.score_thresholds import Subject

    Floats = NDArray[np.float64]

REPETITIONS = 10_000
SIZE = 50_000  # questions of a simulated population
ALPHA, SILENT, KEPT = 0.05, 0.95, 0.9
REAL = {
    "cranfield": ("cranqrel.trec.txt", 4),
    "cacm": ("qrels.cacm.txt", 4),
    "cast2021": ("trec-cast-qrels-docs.2021.qrel.gz", 4),
    "dl20-doc": ("qrels.dl20-doc.txt.gz", 4),
    "trec-covid-r1": ("qrels.covid-round1.txt", 4),
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
        """Where the scores of each question begin."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def ordered(self) -> dict[str, tuple[Floats, Floats]]:
        """Scores from the highest down, and what is kept if they and all before them are."""
        owner = np.repeat(np.arange(len(self.counts)), self.counts)
        single = np.full(len(self.counts), 1 / len(self.counts))
        units = {
            "share": (self.scores, 1 / self.counts[owner] / len(self.counts)),
            "documents": (self.scores, np.full(len(self.scores), 1 / len(self.scores))),
            "one": (np.maximum.reduceat(self.scores, self.starts), single),
            "all": (np.minimum.reduceat(self.scores, self.starts), single),
        }
        result = {}
        for name, (scores, weights) in units.items():
            order = np.argsort(-scores, kind="stable")
            result[name] = -scores[order], np.append(0, np.cumsum(weights[order]))
        return result

    @cached_property
    def ordered_tops(self) -> Floats:
        """The highest scores in order."""
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
    ) -> tuple[QuestionScores, Floats]:
        """Questions drawn independently, or each several times; and all their relevant scores."""
        tops = np.repeat(rng.choice(self.tops, n // copies), copies)
        questions = rng.integers(len(self.counts), size=n)
        counts, starts = self.counts[questions], self.starts[questions]
        first = np.cumsum(counts) - counts
        position = np.arange(counts.sum()) - np.repeat(first, counts)
        documents = self.scores[np.repeat(starts, counts) + position]
        relevant = {
            "share": documents[first + (rng.random(n) * counts).astype(np.int64)],
            "one": np.maximum.reduceat(documents, first),
            "all": np.minimum.reduceat(documents, first),
        }
        return QuestionScores(tops, relevant[keep]), documents


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
        promised = 2 * ALPHA if self.subject == "both" else ALPHA
        return bool(self.broken <= promised + 2 * (promised * (1 - promised) / REPETITIONS) ** 0.5)


def run(seed: int = 17) -> list[Cell]:
    """Every population."""
    rng = np.random.default_rng(seed)
    cells = []
    simulated = list(_simulated(rng))
    for population in simulated:
        cells += [_silent("simulated", population, n, rng) for n in (59, 100, 400)]
        cells += [_kept("simulated", population, n, "share", rng) for n in (29, 100, 400)]
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
            yield Population(
                f"{name}, {path.name.removesuffix('.gz').rpartition('.')[0] or path.stem}",
                np.array([*tops.values()]),
                flat,
                counts,
            )


def _silent(group: str, population: Population, n: int, rng: np.random.Generator, copies: int = 1) -> Cell:
    demand, results = Demand(SILENT, ALPHA), []
    allowed = int((1 - SILENT) * (n + 1) - 1 + 1e-9)  # losses with (losses + 1) / (n + 1) of at most 5 %
    for _ in range(REPETITIONS):
        scores, _documents = population.sample(rng, n, copies=copies)
        threshold = scores.choose("silent", demand)
        ordered = np.append(np.sort(scores.tops), np.inf)
        limits = (
            np.inf if threshold is None else threshold,
            np.nextafter(ordered[int(np.ceil(SILENT * n - 1e-9)) - 1], np.inf),
            np.nextafter(ordered[n - 1 - allowed], np.inf),
        )
        results.append([threshold is None, *(population.silent(limit) < SILENT for limit in limits)])
    missing, broken, naive, average = np.mean(results, axis=0)
    return Cell(group, population.name, "silent", n, broken, missing, naive, None, average)


def _kept(group: str, population: Population, n: int, keep: Keep, rng: np.random.Generator) -> Cell:
    demand, results = Demand(KEPT, ALPHA), []
    allowed = int((1 - KEPT) * (n + 1) - 1 + 1e-9)
    for _ in range(REPETITIONS):
        scores, documents = population.sample(rng, n, keep)
        threshold = scores.choose("kept", demand)
        by_documents = QuestionScores(scores.tops, documents).choose("kept", demand)
        ordered = np.sort(scores.relevant)
        limits = (
            (threshold, keep),
            (ordered[int((1 - KEPT) * n + 1e-9)], keep),
            (ordered[allowed] if allowed >= 0 else -np.inf, keep),
            (by_documents, "documents"),
        )
        kept = [1 if limit is None else population.kept(limit, unit) for limit, unit in limits]
        results.append([threshold is None, *(share < KEPT - 1e-12 for share in kept)])
    missing, broken, naive, average, by_document = np.mean(results, axis=0)
    documents_broken = by_document if keep == "share" else None
    return Cell(
        group, population.name, f"kept ({keep})", n, broken, missing, naive, documents_broken, average
    )


def _slices(populations: Sequence[Population], n: int, rng: np.random.Generator) -> Cell:
    """All slices together, each with its share of the error."""
    demand, results = Demand(SILENT, ALPHA / len(populations)), []
    for _ in range(REPETITIONS):
        pairs = [
            (population, population.sample(rng, n)[0].choose("silent", demand)) for population in populations
        ]
        thresholds = [(population, limit) for population, limit in pairs if limit is not None]
        is_broken = any(population.silent(limit) < SILENT for population, limit in thresholds)
        results.append((is_broken, len(thresholds) < len(pairs)))
    broken, missing = np.mean(results, axis=0)
    return Cell("together", f"{len(populations)} slices", "silent", n, broken, missing)


def _both(population: Population, rng: np.random.Generator) -> Cell:
    """Both demands of one sample, each with its own error."""
    demands: dict[Subject, Demand] = {"silent": Demand(SILENT, ALPHA), "kept": Demand(KEPT, ALPHA)}
    broken = 0
    for _ in range(REPETITIONS):
        scores, _documents = population.sample(rng, 100)
        silent, kept = (scores.choose(subject, demand) for subject, demand in demands.items())
        assert silent is not None
        assert kept is not None
        broken += population.silent(silent) < SILENT or population.kept(kept, "share") < KEPT - 1e-12
    return Cell("together", population.name, "both", 100, broken / REPETITIONS, 0.0)


_TITLES = {
    "simulated": "Simulated scores",
    "real": "Real systems. Without an answer are their questions if the relevant documents are taken out",
    "together": "Several demands together; both have an error each, so that 10 % are allowed",
    "copies": "Not independent: five copies of each question, without a column `cluster`",
}
_HEAD = (
    *("scores", "demand", "questions", "broken", "labels missing"),
    *("sample's quantile", "conformal", "by documents"),
)


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    parts = []
    for group, title in _TITLES.items():
        rows = [
            (
                cell.name,
                cell.subject,
                f"{cell.n}",
                marked(cell.broken, cell.holds),
                percent(cell.missing),
                *(
                    "–" if share is None else percent(share)
                    for share in (cell.naive, cell.average, cell.documents)
                ),
            )
            for cell in cells
            if cell.group == group
        ]
        parts.append(f"{title}.\n\n{table(_HEAD, rows)}")
    promised = [cell for cell in cells if cell.group in {"simulated", "real"} and cell.missing < 1]
    low, high = (end(1 - cell.broken for cell in promised) for end in (min, max))
    most = [
        percent(max(getattr(cell, name) or 0 for cell in cells if cell.group != "copies"))
        for name in ("naive", "average", "documents")
    ]
    real = {cell.name for cell in cells if cell.group == "real"}
    tables = "\n".join(parts)
    return (
        f"## Thresholds of scores\n\n`rankgate cutoff` chooses a threshold by n questions. The demand "
        f"({SILENT:.0%} of the questions without an answer return nothing, {KEPT:.0%} is kept) then holds in "
        f"the whole population in {percent(low)} to {percent(high)} of {REPETITIONS:,} repetitions, for each "
        f"kind of scores and each of {len(real)} systems on {len(REAL)} collections; 95 % are promised. "
        f"Broken: the share of repetitions in which it does not hold. A threshold by the sample's own "
        f"quantile is broken in up to {most[0]}; one by conformal risk control, which holds on average over "
        f"samples, in up to {most[1]}; one by a binomial bound over documents, which are not independent, in "
        f"up to {most[2]}. No threshold holds for copies of questions that count as independent: a column "
        f"`cluster` names them.\n\n{tables}"
    )
