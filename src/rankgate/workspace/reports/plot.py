"""The verb ``plot``: a picture straight from judgments and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankgate.core.declare import Cutoff
from rankgate.data import read_run
from rankgate.decisions.comparison.compared import named
from rankgate.workspace.reports.kinds import kind as kind_of
from rankgate.workspace.reports.pictured import CUTOFFS, ChartRequest, result_for

if TYPE_CHECKING:
    from rankgate.core.present.charts.picture import Picture
    from rankgate.data.inputs import QrelsLike, RunsLike
    from rankgate.decisions.comparison.inference import Unequal
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention


def plot(
    kind: str,
    qrels: QrelsLike,
    runs: RunsLike = (),
    metrics: str | Sequence[str] = (),
    convention: str | Convention = "trec",
    *,
    query: str | None = None,
    cutoffs: Sequence[int] = CUTOFFS,
    depth: Cutoff | None = None,
    labels: Mapping[float, str] | None = None,
    unequal: Unequal = "refuse",
    extra: Sequence[Metric] = (),
) -> Picture:
    """Draw a kind of picture, as ``rankgate plot`` does.

    Args:
        kind: deltas, cutoffs, scatter, forest and so on: see ``rankgate plot --help``.
        qrels: judgments: a path, a frame, ``{query: {doc: grade}}``; of agreement, ratings; or the
            JSON file of a result, which is drawn as it is.
        runs: a run, a list of runs, or ``{name: run}``, in the order that the kind has for them.
        metrics: names; without them what the kind takes.
        convention: whose rules the numbers follow.
        query: for the kind explain, the id of the query.
        cutoffs: of cutoffs, where metrics without @ are taken.
        depth: the depth of the lists, for kinds that show lists.
        labels: the names of grades.
        unequal: what queries are that only one system ran: refuse, zero or drop.
        extra: additional metrics that can be named.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown kind; too few runs or too many; nothing to draw.
        MissingExtraError: the extra ``plots`` is not installed.
    """
    opened = tuple(read_run(run, name) if name else run for name, run in named(runs))
    asked = ChartRequest(
        qrels,
        opened,
        (metrics,) if isinstance(metrics, str) else tuple(metrics),
        convention,
        tuple(cutoffs),
        query,
        depth,
        unequal,
        extra,
        labels or {},
    )
    found = kind_of(kind)
    return found.draw(result_for(found.needs, asked))
