"""The verb ``gate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.evaluation.context import EVERY, Context
from rankgate.gating.gate import gate as gated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from rankgate.data.inputs import QrelsLike, RunLike, TableLike
    from rankgate.data.logs.interactions import LogLike
    from rankgate.gating.policy import Policy
    from rankgate.gating.verdict import Verdict
    from rankgate.metrics.declare import Metric


def gate(
    qrels: QrelsLike,
    baseline: RunLike,
    candidate: RunLike,
    policy: str | Path | Policy | None = None,
    *,
    tags: str | Path | pl.DataFrame | None = None,
    noise: Sequence[Any] = (),
    train: LogLike | None = None,
    items: TableLike | None = None,
    features: Sequence[str] = (),
    category: str | None = None,
    group: str | None = None,
    obvious: RunLike | None = None,
    earlier: RunLike | None = None,
    drop_seen: bool = False,
    judged_users_only: bool = False,
    catalogue: int | Iterable[object] | None = None,
    record: bool = True,
    extra: Sequence[Metric] = (),
    folder: str | Path = ".",
) -> Verdict:
    """Decide whether a candidate may replace a baseline.

    Args:
        qrels: judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``.
        baseline: a run: a path, a frame, ``{query: {doc: score}}``; or the name of a saved
            baseline, or its file.
        candidate: a run.
        policy: what is demanded, in TOML, or a `Policy`. Without it: ``rankgate.toml``, or
            ``[tool.rankgate]`` of ``pyproject.toml``; else nDCG@10 may lose no more than 0.02.
        tags: CSV, JSONL or a frame with ``query_id`` and columns of tags, for rules on slices.
        noise: further runs of the baseline's system, from which the noise floor is measured.
        train: the log that systems learned from; it and what follows are for metrics of lists,
            and what is not given is the policy's.
        items: a table of items.
        features: its columns of numbers.
        category: its column of categories, several between bars.
        group: its column of groups.
        obvious: the run of an obvious system, such as the most popular items.
        earlier: what users were shown at an earlier time.
        drop_seen: whether items of training leave users' rankings.
        judged_users_only: whether metrics of lists look at users with judgments only, and not at
            every user that a system serves.
        catalogue: how many items there are, numbered from 0, or their ids.
        record: log this look next to the saved baseline.
        extra: user-defined metrics that the policy names.
        folder: where the project is, its policy, and its saved baselines below it.

    Raises:
        InputError: data or a policy that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ, a margin below the noise floor.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> gate(qrels, run, run).verdict
    'pass'
    """
    shown = None if earlier is None else {EVERY: earlier}
    context = Context(
        train,
        items,
        tuple(features),
        category,
        group,
        obvious,
        shown,
        drop_seen=drop_seen,
        judged_users_only=judged_users_only,
        catalogue=catalogue,
    )
    return gated(qrels, baseline, candidate, policy, tags=tags, noise=noise, context=context,
                 record=record, extra=extra, folder=Path(folder))  # fmt: skip
