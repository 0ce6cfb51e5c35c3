"""What a rule is: its kind, its settings, what it looks at, and what it finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

    import numpy as np
    from numpy.typing import NDArray

    from rankgate.data.comparison import Comparison

Status = Literal["pass", "fail", "inconclusive"]
TIERS = ("block", "warn", "info")
"""A blocking rule decides; a warning is told at the top; information is told."""


@dataclass(frozen=True)
class Parameter:
    """One setting, checked by this line and documented by it.

    Attributes:
        name: its key.
        type: ``number``, ``integer``, ``string``, ``boolean``, ``strings``, or ``allow``: a list
            of ``{query, until}``.
        help: a sentence.
        required: it must be given.
        default: what holds otherwise.
        low, high: the smallest and largest value.
        above: the value must be larger than this.
        choices: the values there are.
    """

    name: str
    type: str
    help: str
    required: bool = False
    default: Any = None
    low: float | None = None
    high: float | None = None
    above: float | None = None
    choices: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Kind:
    """A kind of rule.

    Attributes:
        name: as it stands in a policy.
        help: a sentence.
        parameters: its settings beside those that all rules have.
        decide: what it finds.
    """

    name: str
    help: str
    parameters: tuple[Parameter, ...]
    decide: Callable[[Rule, Evidence], Finding]


@dataclass(frozen=True)
class Rule:
    """A rule of a policy.

    Attributes:
        id: unique in the policy.
        kind: the name of its kind.
        tier: one of `TIERS`.
        slice: ``tag=value``: only these queries; None: all.
        settings: every parameter of the kind.
    """

    id: str
    kind: str
    tier: str = "block"
    slice: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """How a rule ended, with the figures behind it; None where a figure has no sense."""

    status: Status
    reason: str
    next: str | None = None
    n: int | None = None
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    margin: float | None = None
    mde: float | None = None


@dataclass(frozen=True)
class Ruled:
    """A finding with the rule that it is of."""

    rule: Rule
    finding: Finding

    def to_dict(self) -> dict[str, Any]:
        """Flat, in the order of the verdict's JSON."""
        figures = asdict(self.finding)
        reason, step = figures.pop("reason"), figures.pop("next")
        return {
            "id": self.rule.id,
            "kind": self.rule.kind,
            "tier": self.rule.tier,
            "status": figures.pop("status"),
            "metric": self.rule.settings.get("metric"),
            "slice": self.rule.slice,
            **figures,
            "reason": reason,
            "next": step,
        }


@dataclass(frozen=True)
class Hole:
    """What documents without judgments could do to one metric.

    Attributes:
        low, high: the mean difference, if they were judged as badly, as well, as can be.
        flip: probability that judging them turns the verdict; None: not known.
        judge: ``query_id document`` pairs to judge, the most influential first.
    """

    low: float
    high: float
    flip: float | None = None
    judge: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Evidence:
    """All that rules look at.

    Attributes:
        comparison: what lies between baseline and candidate.
        alpha: of each rule, after what earlier looks have spent.
        power: that ``mde`` is for.
        interval: t, bca, percentile or basic.
        seed: of bootstrap intervals.
        flip: a larger probability that judging turns a rule makes it inconclusive.
        holes: by metric; empty: not looked at.
        noise: by metric, how far two runs of the same system lay apart.
        today: for what expires.
    """

    comparison: Comparison
    alpha: float
    power: float
    interval: str
    seed: int
    flip: float
    holes: Mapping[str, Hole]
    noise: Mapping[str, float]
    today: date

    def queries(self, rule: Rule) -> pl.DataFrame:
        """The rows of the rule's metric and slice."""
        table = self.comparison.deltas(rule.settings["metric"])
        if rule.slice is None:
            return table
        tag, _, value = rule.slice.partition("=")
        if tag not in table.columns:
            return table.clear()
        return table.filter(pl.col(tag).cast(pl.String) == value)

    def column(self, rule: Rule, name: str) -> NDArray[np.float64]:
        """One column of these rows, without what is undefined."""
        return self.queries(rule)[name].drop_nulls().drop_nans().to_numpy()

    def mean(self, metric: str) -> float:
        """The baseline's mean of a metric."""
        row = self.comparison.metrics.filter(pl.col("metric") == metric)
        return float(row["baseline"][0] or 0.0)

    def changed(self) -> bool:
        """Whether any list differs within the depth that is kept."""
        lists = self.comparison.lists
        if lists.is_empty():
            return self.comparison.baseline.sha256 != self.comparison.candidate.sha256
        key = ["query_id", "rank", "doc_id"]
        first, second = (
            lists.filter(pl.col("system") == name).select(key) for name in ("baseline", "candidate")
        )
        return first.height != second.height or bool(first.join(second, on=key, how="anti").height)
