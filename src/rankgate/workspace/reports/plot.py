"""The verb ``plot``: a picture straight from judgments and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankgate.core.declare import Cutoff
from rankgate.decisions.comparison.compared import iterate_candidates
from rankgate.workspace.reports.kinds import find_chart_kind as kind_of
from rankgate.workspace.reports.pictured import ChartRequest, compute_result

if TYPE_CHECKING:
    from rankgate.core.present.charts.picture import Picture
    from rankgate.data.collection import Collection
    from rankgate.data.inputs import QrelsLike, RunsLike
    from rankgate.measurement.scoring import Convention


def plot(
    kind: str,
    collection: Collection | QrelsLike,
    runs: RunsLike = (),
    metrics: str | Sequence[str] = (),
    convention: str | Convention = "trec",
    *,
    query: str | None = None,
    depth: Cutoff | None = None,
    labels: Mapping[float, str] | None = None,
) -> Picture:
    """Draw a kind of picture, as ``rankgate plot`` does.

    Args:
        kind: deltas, cutoffs, scatter, forest and so on: see ``rankgate plot --help``.
        collection: judgments, or a `Collection`, as ``evaluate`` takes them; of agreement, ratings;
            or the JSON file of a result, which is drawn as it is.
        runs: a run, a list of runs, or ``{name: run}``, in the order that the kind has for them.
        metrics: names; without them what the kind takes. For the kind cutoffs, those without @
            are taken at 1, 3, 5, 10, 20, 50 and 100.
        convention: whose rules the numbers follow.
        query: for the kind explain, the id of the query.
        depth: the depth of the lists, for kinds that show lists.
        labels: the names of grades.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown kind; too few runs or too many; nothing to draw.
        MissingExtraError: the extra ``plots`` is not installed.
    """
    named_runs = tuple({name: run} if name else run for name, run in iterate_candidates(runs))
    request = ChartRequest(
        collection,
        named_runs,
        (metrics,) if isinstance(metrics, str) else tuple(metrics),
        convention,
        query=query,
        depth=depth,
        labels=labels or {},
    )
    picture_kind = kind_of(kind)
    return picture_kind.draw(compute_result(picture_kind.needs, request))
