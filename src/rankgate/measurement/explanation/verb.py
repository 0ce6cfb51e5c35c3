"""The verb ``reconcile`` in its three forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from rankgate.core.errors import UsageError
from rankgate.measurement.explanation.reconcile import bridge
from rankgate.measurement.explanation.reconcile import reconcile as reconciled
from rankgate.measurement.explanation.reported import find_reported

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.measurement.explanation.bridge import Bridge
    from rankgate.measurement.explanation.finding import Finding
    from rankgate.measurement.explanation.reconciliation import Reconciliation
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring.convention import Convention

    Given = Any
    """A path, a frame, a dict of dicts."""


@overload
def reconcile(
    collection: Collection | Given,
    run: Given,
    metric: str | Metric,
    *,
    from_: str | Convention,
    to: str | Convention,
) -> Bridge: ...


@overload
def reconcile(
    collection: Collection | Given,
    run: Given,
    metric: str | Metric,
    *,
    value: str | float,
    conventions: Sequence[str | Convention] = ...,
) -> Finding: ...


@overload
def reconcile(
    collection: Collection | Given,
    run: Given,
    metric: str | Metric,
    *,
    conventions: Sequence[str | Convention] = ...,
) -> Reconciliation: ...


def reconcile(
    collection: Collection | Given,
    run: Given,
    metric: str | Metric,
    *,
    from_: str | Convention | None = None,
    to: str | Convention | None = None,
    value: str | float | None = None,
    conventions: Sequence[str | Convention] = (),
) -> Reconciliation | Bridge | Finding:
    """Explain why one metric on the same data has several numbers.

    Without more, the run is scored under every convention: who agrees, and what separates the
    others. With ``from_`` and ``to`` the conventions are connected one axis at a
    time. With ``value`` the conventions and cutoffs are searched that give this number.

    Args:
        collection: judgments, or a `Collection` of them with what metrics of lists need.
        run: one run, as ``evaluate`` takes it.
        metric: one metric or its name.
        from_: the convention to start from: a name, a TOML file, or a convention.
        to: the convention to arrive at.
        value: a number as it was reported; as a word, ``"0.430"``, its last digit counts too.
        conventions: those to look through; none is all that have a name, of a metric on lists
            those of the tools that have it, besides our own.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: several metrics, an unknown name, forms that do not go together.

    >>> qrels, run = {"q": {"a": 3, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}
    >>> some = ["trec", "trec9", "esci"]
    >>> [group.conventions for group in reconcile(qrels, run, "nDCG@10", conventions=some).groups]
    [('trec', 'trec9'), ('esci',)]
    >>> way = reconcile(qrels, run, "nDCG@10", from_="trec", to="esci")
    >>> [(step.axes, round(step.effect, 4)) for step in way.steps if step.moves]
    [(('nDCG.gain',), -0.0869)]
    >>> finding = reconcile(qrels, run, "nDCG@10", value="0.710", conventions=some)
    >>> finding.fits[0].conventions
    ('esci',)
    """
    if (from_ is None) != (to is None):
        raise UsageError("from_ and to go together; name both conventions.", code="missing-input")
    searched = list(conventions) or None
    if from_ is not None and to is not None:
        if value is not None or searched:
            raise UsageError(
                "from_ and to name the conventions; leave out value and conventions.",
                code="conflicting-options",
            )
        return bridge(collection, run, metric, from_, to)
    if value is not None:
        return find_reported(collection, run, metric, value, searched)
    return reconciled(collection, run, metric, searched)
