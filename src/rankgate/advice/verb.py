"""The verb ``advise``, whose result shows itself in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.advice import advise as service
from rankgate.advice.documents import advice as report
from rankgate.advice.documents.policy import policy
from rankgate.advice.facts import DEPTH, MARGIN, PAGE, Answers
from rankgate.evaluation.conventions import conventions
from rankgate.present import as_html
from rankgate.present.grid import Grid
from rankgate.reports.notebook.reporting import Reported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.scoring import Convention
    from rankgate.scoring.overrides import Overrides


@dataclass(frozen=True)
class Advice(service.Advice, Reported):
    """Metrics for a task, with reasons and sources; shows itself as tables."""

    @property
    def policy(self) -> str:
        """The advice as TOML that ``rankgate.gating`` takes once it is in a file."""
        return policy(self, [each.name for each in conventions()])

    def _repr_html_(self) -> str:
        rows = [
            (each.metric, each.role, "; ".join(reason.words for reason in each.reasons),
             each.blind_to)
            for each in (*self.choices, *self.avoided)
        ]  # fmt: skip
        head = ("metric", "role", "why", "blind to")
        parts = [as_html.paragraph(report.title(self)),
                 as_html.table(Grid(head, tuple(rows), frozenset(range(4))))]  # fmt: skip
        parts += [as_html.table(grid) for _, grid in report.grids(self)]
        return "".join([*parts, *(as_html.paragraph(each.words) for each in self.cautions)])


def advise(
    qrels: Any = None,  # noqa: ANN401 - a path, a frame, a dict of dicts
    runs: Any = (),  # noqa: ANN401 - a run, a list, or {name: run}
    *,
    task: str = "explore",
    stage: str = "final",
    page: int = PAGE,
    depth: int = DEPTH,
    margin: float = MARGIN,
    alpha: float = 0.05,
    power: float = 0.8,
    queries: int | None = None,
    grades: int | None = None,
    complete: float | None = None,
    convention: str | Convention = "trec",
    overrides: Overrides | Sequence[str] = (),
) -> Advice:
    """Advise on metrics: what to decide by, to watch and to report, by your own data.

    Args:
        qrels: judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``;
            None where there are none yet.
        runs: a run, a list of runs, or ``{name: run}``; their differences to the first show what
            the queries can carry.
        task: navigational, find-one, explore, recall or recommend.
        stage: retrieval, reranking or final.
        page: how many documents people see.
        depth: how many candidates are handed on, or looked through.
        margin: the loss that the gate shall allow.
        alpha: of a false pass.
        power: of a right pass.
        queries: without judgments, of how many queries they will be.
        grades: without judgments, how many grades they will have; else 4.
        complete: without judgments, the share of a page that they will cover.
        convention: whose rules the numbers follow.
        overrides: axes of the convention that are chosen otherwise.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown task, stage or convention.

    >>> qrels = {f"q{i}": {"a": 3, "b": 1, "c": 0} for i in range(20)}
    >>> told = advise(qrels, task="find-one")
    >>> [(each.metric, each.role) for each in told.choices][:2]
    [('RR@10', 'gate'), ('nDCG@10', 'watch')]
    """
    answers = Answers(task, stage, page, depth, margin, alpha, power, queries, grades, complete)
    told = service.advise(qrels, runs, answers, convention, overrides=overrides)
    return Advice(**{each.name: getattr(told, each.name) for each in fields(told)})
