"""The verb ``evaluate`` with the side inputs of list metrics as keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.evaluation.context import Context
from rankgate.evaluation.evaluate import evaluate as service_evaluate
from rankgate.metrics.names import DEFAULT_METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rankgate.data.inputs import QrelsLike, RunLike, RunsLike, TableLike
    from rankgate.data.logs.interactions import LogLike
    from rankgate.evaluation.evaluation import Evaluation
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Convention
    from rankgate.scoring.overrides import Overrides


def evaluate(
    qrels: QrelsLike,
    runs: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    overrides: Overrides | Sequence[str] = (),
    bounds: bool = False,
    extra: Sequence[Metric] = (),
    columns: Mapping[str, str] | None = None,
    catalogue: int | Iterable[object] | None = None,
    train: LogLike | None = None,
    items: TableLike | None = None,
    features: Sequence[str] = (),
    category: str | None = None,
    group: str | None = None,
    obvious: RunLike | None = None,
    earlier: Mapping[str, Any] | None = None,
    drop_seen: bool = False,
    drawn: Mapping[str, Sequence[Any]] | None = None,
    judged_users_only: bool = False,
) -> Evaluation:
    """Score one run or several against judgments, by rankings and by what lists are like.

    Args:
        qrels: judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``,
            ``{query: {doc, …}}``; a matrix of grades (NumPy, SciPy, torch, jax, DLPack) with a
            row a query, or ``rankgate.Lists`` of items by number.
        runs: a run, as one of these, ``{query: [doc, …]}`` the best first; a list of runs;
            ``{name: run}``.
        metrics: names such as ``"nDCG@10"`` or ``"Coverage@10"``, or metrics such as
            ``nDCG(gain="exp") @ 10``.
        convention: whose rules the numbers follow: a name, a TOML file, or what
            ``rankgate.convention`` gives.
        overrides: axes that are chosen otherwise: ``{"ties": "doc_id_asc", "nDCG.gain": "exp"}``,
            or as words, ``["nDCG.gain=exp"]``.
        bounds: also the least and greatest value that any grades of the unjudged documents give
            (``low``, ``high``), and the values if they were all irrelevant, and all best.
        extra: additional metrics that can be named.
        columns: our column (``query_id``, ``doc_id``, ``grade``, ``score``) -> that of a frame,
            where it has no usual name.
        catalogue: how many items there are, numbered from 0, or their ids; those of training,
            items, judgments, matrices and lists are of the catalogue anyway.
        train: what systems learned from: a log, or a matrix in which 0 is nothing.
        items: a table of items.
        features: its columns of numbers.
        category: its column of categories, several between bars.
        group: its column of groups.
        obvious: the run of an obvious system, such as the most popular items.
        earlier: for each run that of an earlier time, by name.
        drop_seen: whether items of training leave users' rankings.
        drawn: for a system that draws its rankings other runs of it, by name, for expected
            exposure (EEL, EED, EER).
        judged_users_only: whether metrics of lists look at users with judgments only, and not at
            every user that a system serves.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown metric, convention, axis or choice; a metric of lists that needs
            what was not given.

    >>> result = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR", "P@1"])
    >>> result.means.row(0)
    ('run1', 0.5, 0.0)
    >>> result = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR"], bounds=True)
    >>> result.bounds.row(0)
    ('run1', 'RR', 0.5, 0.5, 1.0)
    """
    context = Context(
        train=train,
        items=items,
        features=tuple(features),
        category=category,
        group=group,
        baseline=obvious,
        earlier=earlier,
        drop_seen=drop_seen,
        drawn=drawn,
        judged_users_only=judged_users_only,
    )
    return service_evaluate(
        qrels,
        runs,
        metrics,
        convention,
        overrides=overrides,
        bounds=bounds,
        extra=extra,
        context=context,
        catalogue=catalogue,
        columns=columns,
    )
