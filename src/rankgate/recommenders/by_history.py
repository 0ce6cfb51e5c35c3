"""Score repeated and new items separately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.progress import progress
from rankgate.data import read_qrels
from rankgate.data.logs.user_items import read_meetings
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.rankings import named_runs
from rankgate.measurement.evaluation.training import restrict_run

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RunsLike
    from rankgate.data.logs.interactions import LogLike
    from rankgate.measurement.evaluation.evaluation import Evaluation
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

_PAIR = ["query_id", "doc_id"]


def by_history(
    qrels: QrelsLike,
    runs: RunsLike,
    train: LogLike,
    metrics: Sequence[str | Metric],
    convention: str | Convention = "trec",
) -> Mapping[str, Evaluation]:
    """Score repeat items and new items apart.

    Of both judgments and rankings, ``repeat`` has the pairs of user and item that training has,
    ``new`` all others; a ranking is closed up before metrics cut it. Users without a judgment
    left in a part are left out of it. A system that only repeats is good at one and bad at the
    other, which one mean over both hides.

    Args:
        qrels: judgments.
        runs: as of `rankgate.evaluate`; their lists must hold repeat items too.
        train: the training log of the systems.
        metrics: of rankings.
        convention: whose rules the numbers follow.

    Returns:
        ``repeat`` and ``new``, without a part that has no judgments.

    Raises:
        InputError: data that cannot be read; no judgments in either part.
        UsageError: an unknown metric or convention.
    """
    judged, had, systems = read_qrels(qrels), read_meetings(train), named_runs(runs)
    found: dict[str, Evaluation] = {}
    for part, way in (("repeat", "semi"), ("new", "anti")):
        table = judged.table.join(had.frame, on=_PAIR, how=way)  # type: ignore[arg-type]
        if table.is_empty():
            continue
        own = replace(judged, table=table, unjudged=(), name=f"{judged.name}.{part}")
        users = table["query_id"].unique()
        served = pl.DataFrame({"query_id": users, "state": ["zero"] * len(users)})
        lists = {
            run.name: replace(restrict_run(run, had, inside=part == "repeat"), queries=served)
            for run in systems
        }
        with progress(None):
            found[part] = evaluate(own, lists, list(metrics), convention)
    if not found:
        raise InputError("no judgments found.", source=judged.name, code="no-judgments")
    return found
