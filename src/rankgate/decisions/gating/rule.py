"""Declare a rule: its kind, parameters, inputs and result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from rankgate.core.declare import Declared
from rankgate.core.frozen import dataclass
from rankgate.data.parts import PARTS, Need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankgate.core.declare import Parameter
    from rankgate.data.parts import MissingPart, Part, Supply
    from rankgate.decisions.gating.evidence import Drift, Evidence, HypotheticalValues
    from rankgate.decisions.gating.kpi_evidence import KpiEvidence

Status = Literal["pass", "fail", "inconclusive"]
Tier = Literal["block", "warn", "info"]
TIERS: tuple[Tier, ...] = ("block", "warn", "info")


@dataclass(frozen=True)
class RuleKind(Declared):
    """A kind of rule: everything that the gate uses of it is declared here.

    Attributes:
        name: its name in policies.
        title: its demand, in a sentence.
        takes: its own parameters, in addition to those that every rule has.
        decide: a rule of this kind and the evidence to its outcome.
        statistical: True if it infers from a sample of queries; the others count.
        sliced: True if it can look at the queries of a slice alone.
        one_of: parameters of which exactly one must be given.
        any_of: parameters of which one or more must be given.
        check: the problem of the values, with the key; None where they are right.
        difference: the parameter that a difference of the metric is compared with.
        limits: the limited quantity: the mean ``loss`` (checked against the noise floor), the mean
            ``gain``, or the ``drop`` of single queries, which a metric of all lists together does
            not have.
        bounds: parameters that the value of the metric is compared with.
        depth: parameters with a number of first documents.
        needs: the parts of scores that it looks at; a rule about a slice or single queries needs
            values too.
        reads_admission: True if it needs the admission of a judge, in ``file``.
        statuses: (S,) the status under each set of drawn grades of unjudged documents; None where
            judging them cannot change it.
        redrawn: (S,) the status under each resample of its queries, from (n, S) rows of them;
            None takes ``statuses``, and where there is none either, the rule is not evaluated
            again.
        without_comparison: the outcome where a saved baseline and the candidate have different
            judgments, so that nothing can be compared; None leaves the rule inconclusive.
        of_experiment: a rule on a KPI and what users did to its outcome; the gate leaves such
            rules to the watch of the experiment.
    """

    takes: tuple[Parameter, ...]
    decide: Callable[[Rule, Evidence], Outcome]
    statistical: bool = False
    sliced: bool = False
    one_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    check: Callable[[Mapping[str, Any]], tuple[str, str] | None] | None = None
    difference: str = ""
    limits: Literal["", "loss", "gain", "drop"] = ""
    bounds: tuple[str, ...] = ()
    depth: tuple[str, ...] = ()
    needs: frozenset[Part] = frozenset({"lists"})
    reads_admission: bool = False
    without_comparison: Callable[[Rule, Drift], Outcome] | None = None
    of_experiment: Callable[[Rule, KpiEvidence], Outcome] | None = None
    statuses: Callable[[Rule, Evidence, HypotheticalValues], NDArray[np.str_]] | None = None
    redrawn: Callable[[Rule, Evidence, NDArray[np.int64]], NDArray[np.str_]] | None = None

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its own parameters by name."""
        return {parameter.name: parameter for parameter in self.takes}

    def lack(self, rule: Rule, supply: Supply) -> MissingPart | None:
        """The reason why a supply of parts cannot decide a rule of this kind; None where it can."""
        of_queries = rule.slice is not None or self.limits == "drop"
        parts = {*self.needs, "values"} if of_queries else self.needs
        lacks = (supply.lack(Need(need)) for need in PARTS if need in parts)
        return next((lack for lack in lacks if lack is not None), None)

    def problem(self, values: Mapping[str, Any]) -> tuple[str, str] | None:
        """The problem of values that are right one by one, with the key."""
        names = {name for name, value in values.items() if value is not None}
        if self.one_of and len(names.intersection(self.one_of)) != 1:
            return f"say {' or '.join(self.one_of)}, one of them.", ""
        if self.any_of and names.isdisjoint(self.any_of):
            return f"say {' or '.join(self.any_of)}.", ""
        return self.check(values) if self.check else None


@dataclass(frozen=True)
class Rule:
    """One rule of a policy.

    Attributes:
        id: its name, unique in the policy.
        kind: the name of its kind.
        tier: block, warn or inform.
        slice: ``tag=value``, the queries it looks at; None is all of them.
        values: its parameters, defaults filled in.
    """

    id: str
    kind: str
    tier: Tier = "block"
    slice: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a number, a word, a list
        return self.values[name]

    def get(self, name: str) -> Any:  # noqa: ANN401 - as above
        """A parameter, None where its kind does not have it."""
        return self.values.get(name)


@dataclass(frozen=True)
class Outcome:
    """The result of a rule.

    Attributes:
        status: pass, fail or inconclusive.
        reason: why, in a sentence with the figures.
        next: a step that would settle or fix it; empty after a pass.
        n, delta, low, high, margin, mde: the figures, None where a rule has none.
        caution: the losses that a pass cannot exclude; empty if there are none.
        queries: those that the rule is about, worst first.
        code: of the reason, for programs, where nothing could be inferred because of weights:
            few-effective-queries or heavy-weights.
    """

    status: Status
    reason: str
    next: str = ""
    n: int | None = None
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    margin: float | None = None
    mde: float | None = None
    queries: tuple[str, ...] = ()
    caution: str = ""
    code: str = ""
