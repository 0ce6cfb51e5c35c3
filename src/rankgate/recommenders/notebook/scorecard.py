"""``rankgate.scorecard``, and scorecards that show themselves in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankgate.recommenders import scorecard as service
from rankgate.recommenders.documents import scorecard as report
from rankgate.recommenders.tradeoff import tradeoff_of
from rankgate.reports.notebook.picture import Picture, pictured
from rankgate.reports.notebook.reporting import Reported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Convention


@dataclass(frozen=True)
class Scorecard(service.Scorecard, Reported):
    """Several systems by accuracy and by what their lists are like; tables are Polars frames."""

    def render(self, form: str = "text") -> str:
        """The card as text, Markdown, LaTeX, CSV, JSON, or as a page of HTML."""
        return report.render(self, form)

    def plot(self, kind: str = "scorecard") -> Picture:
        """A picture: scorecard, an axis a metric; pareto, accuracy against what lists are like.

        Raises:
            UsageError: no such picture of this result, or too little to draw.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        return pictured(kind, dict.fromkeys(("scorecard", "pareto"), lambda: tradeoff_of(self)))

    def _repr_html_(self) -> str:
        return report.fragment(self)


def scorecard(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    runs: Any,  # noqa: ANN401 - one of those, a list, or {name: run}
    metrics: Sequence[str | Metric] = (),
    convention: str | Convention = "trec",
    *,
    train: Any = None,  # noqa: ANN401 - a path or a frame
    items: Any = None,  # noqa: ANN401 - as above
    users: Any = None,  # noqa: ANN401 - as above
    features: Sequence[str] = (),
    category: str | None = None,
    group: str | None = None,
    obvious: Any = None,  # noqa: ANN401 - a run
    earlier: Mapping[str, Any] | None = None,
    candidates: Any = None,  # noqa: ANN401 - a path or a frame
    drop_seen: bool = False,
    drawn: Mapping[str, Sequence[Any]] | None = None,
    judged_users_only: bool = False,
    catalogue: int | Iterable[object] | None = None,
    slices: Sequence[str] = (),
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Scorecard:
    """Put systems on one card: accuracy beside coverage, novelty, diversity, fairness.

    Args:
        qrels: judgments: a path, a frame, ``{user: {item: grade}}``.
        runs: as of `evaluate`; the first is what the others are compared with.
        metrics: of accuracy and of lists; a choice of both without them.
        convention: the tool whose rules accuracy and ties follow.
        train: the log that systems learned from.
        items: a table of items.
        users: a table of users.
        features: its columns of numbers.
        category: its column of categories, several between bars.
        group: its column of groups.
        obvious: the run of an obvious system, such as the most popular items.
        earlier: for each system its run of an earlier time, by name.
        candidates: the items that lists may hold.
        drop_seen: whether items of training leave users' lists.
        drawn: for a system that draws its rankings other runs of it, by name, for expected
            exposure (EEL, EED, EER).
        judged_users_only: whether metrics of lists look at users with judgments only, and not at
            every user that a system serves.
        catalogue: how many items there are, numbered from 0, or their ids.
        slices: what users and items are told apart by: activity (new, light, heavy users),
            popularity (head and tail items), or columns of users and items.
        level: of the intervals.
        resamples: of users, for numbers about all lists together.
        seed: of the drawing.

    Raises:
        InputError: data that cannot be read.
        UsageError: an unknown metric, or one that needs what was not given.

    >>> same = {"u": {"a": 2.0}, "v": {"a": 2.0}}
    >>> runs = {"same": same, "own": {"u": {"a": 2.0}, "v": {"b": 2.0}}}
    >>> told = scorecard({"u": {"a": 1}, "v": {"b": 1}}, runs, ["P@1", "Coverage@1"])
    >>> told.figures.select("system", "metric", "value").rows()[2:]
    [('same', 'Coverage@1', 0.5), ('own', 'Coverage@1', 1.0)]
    >>> told.dominated
    (('same', 'own'),)
    """
    beside = service.Beside(
        train, items, tuple(features), category, group, obvious, earlier, candidates, drop_seen,
        users, drawn, judged_users_only, catalogue,
    )  # fmt: skip
    told = service.scorecard(
        qrels, runs, metrics, convention, beside, slices=slices, level=level,
        resamples=resamples, seed=seed,
    )  # fmt: skip
    return Scorecard(**vars(told))
