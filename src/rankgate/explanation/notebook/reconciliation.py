"""The verb ``reconcile`` in its three forms, whose results show themselves as tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, overload

from rankgate.errors import UsageError
from rankgate.explanation.documents import reconciliation, reconciliation_grids
from rankgate.explanation.reconcile import Bridge as BaseBridge
from rankgate.explanation.reconcile import Reconciliation as BaseReconciliation
from rankgate.explanation.reconcile import bridge
from rankgate.explanation.reconcile import reconcile as service_reconcile
from rankgate.explanation.reported import Finding as BaseFinding
from rankgate.explanation.reported import reported
from rankgate.present import as_html
from rankgate.reports.notebook.picture import Picture, pictured
from rankgate.reports.notebook.reporting import Reported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankgate.evaluation.list_inputs import Beside
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Convention

    Given = Any
    """A path, a frame, a dict of dicts."""


@dataclass(frozen=True)
class Reconciliation(BaseReconciliation, Reported):
    """Conventions by the number they give; shows itself as a table."""

    def __str__(self) -> str:
        return reconciliation.render(self, "text")

    def plot(self, kind: str = "reconcile") -> Picture:
        """A picture of the numbers and who gives them.

        Raises:
            UsageError: no such picture of this result, or nothing to draw.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        return pictured(kind, {"reconcile": lambda: self})

    def _repr_html_(self) -> str:
        head = as_html.paragraph(reconciliation.title(self))
        tables = [as_html.table(reconciliation_grids.groups(self))]
        if self.refusals:
            tables.append(as_html.table(reconciliation_grids.refusals(self)))
        return head + "".join(tables)


@dataclass(frozen=True)
class Bridge(BaseBridge):
    """The way from one convention's number to another's; shows itself as a table."""

    def __str__(self) -> str:
        return reconciliation.render(self, "text")

    def _repr_html_(self) -> str:
        head = as_html.paragraph(reconciliation.title(self))
        return head + as_html.table(reconciliation_grids.steps(self))


@dataclass(frozen=True)
class Finding(BaseFinding):
    """What gives a number that somebody reported; shows itself as a table."""

    def __str__(self) -> str:
        return reconciliation.render(self, "text")

    def _repr_html_(self) -> str:
        words = as_html.paragraph(reconciliation.title(self))
        if not self.fits:
            words += as_html.paragraph(reconciliation.NOTHING)
        return words + as_html.table(reconciliation_grids.fits(self))


@overload
def reconcile(
    qrels: Given,
    run: Given,
    metric: str | Metric,
    *,
    from_: str | Convention,
    to: str | Convention,
    **beside: Given,
) -> Bridge: ...


@overload
def reconcile(
    qrels: Given,
    run: Given,
    metric: str | Metric,
    *,
    value: str | float,
    conventions: Sequence[str | Convention] = ...,
    **beside: Given,
) -> Finding: ...


@overload
def reconcile(
    qrels: Given,
    run: Given,
    metric: str | Metric,
    *,
    conventions: Sequence[str | Convention] = ...,
    **beside: Given,
) -> Reconciliation: ...


def reconcile(
    qrels: Given,
    run: Given,
    metric: str | Metric,
    *,
    from_: str | Convention | None = None,
    to: str | Convention | None = None,
    value: str | float | None = None,
    conventions: Sequence[str | Convention] = (),
    **beside: Given,
) -> Reconciliation | Bridge | Finding:
    """Tell why one metric on the same data has several numbers.

    Without more, the run is scored under every convention: who agrees, and what separates the
    others. With ``from_`` and ``to`` the way from one convention to the other is gone an axis at
    a time. With ``value`` the conventions and cutoffs are sought that give this number.

    Args:
        qrels: judgments, as ``evaluate`` takes them.
        run: one run, as ``evaluate`` takes it.
        metric: one metric or its name.
        from_: the convention to start from: a name, a TOML file, or a convention.
        to: the convention to arrive at.
        value: a number as it was reported; as a word, ``"0.430"``, its last digit counts too.
        conventions: those to look through; none is all that have a name, of a metric on lists
            those of the tools that have it, beside our own.
        beside: what metrics on lists need: train, items, features, category, group, obvious, as
            of ``evaluate``.

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
    >>> told = reconcile(qrels, run, "nDCG@10", value="0.710", conventions=some)
    >>> told.fits[0].conventions
    ('esci',)
    """
    if (from_ is None) != (to is None):
        raise UsageError("from_ and to go together; name both conventions.", code="missing-input")
    chosen, given = list(conventions) or None, _beside(beside)
    told: BaseReconciliation | BaseBridge | BaseFinding
    if from_ is not None and to is not None:
        if value is not None or chosen:
            raise UsageError(
                "from_ and to name the conventions; leave out value and conventions.",
                code="conflicting-options",
            )
        told = bridge(qrels, run, metric, from_, to, beside=given)
        return Bridge(**_fields(told))
    if value is not None:
        return Finding(**_fields(reported(qrels, run, metric, value, chosen, beside=given)))
    return Reconciliation(**_fields(service_reconcile(qrels, run, metric, chosen, beside=given)))


def _beside(given: Mapping[str, Given]) -> Beside | None:
    if not given:
        return None
    from rankgate.evaluation.list_inputs import Beside as Told  # noqa: PLC0415 - of lists only

    for name in given:
        if name not in _BESIDE:
            raise UsageError(
                f"reconcile takes no '{name}'; it takes {', '.join(_BESIDE)}.",
                code="unknown-choice",
            )
    return Told(**{_BESIDE[name]: value for name, value in given.items()})


_BESIDE = {"train": "train", "items": "items", "features": "features", "category": "category",
           "group": "group", "obvious": "baseline"}  # fmt: skip
"""What may be given for metrics on lists, and what the service calls it."""


def _fields(told: BaseReconciliation | BaseBridge | BaseFinding) -> dict[str, Any]:
    return {each.name: getattr(told, each.name) for each in fields(told)}
