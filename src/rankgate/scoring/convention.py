"""Everything on which tools disagree, as a value with named axes.

A convention acts in three places only: where rankings are formed (``align``), where a
metric's parameters get their defaults, and where values become a mean. No kernel knows one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rankgate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.metrics.declare import Metric

Ties = Literal["doc_id_desc", "doc_id_asc", "file_order"]
Precision = Literal["float64", "float32"]
Missing = Literal["zero", "leave_out"]


@dataclass(frozen=True)
class Convention:
    """How a tool turns judgments and a ranking into a number.

    Attributes:
        name: the tool, or the user's own name.
        title: what it reproduces.
        ties: the order of documents with equal scores; ids compare by their bytes.
        precision: scores are compared in this type, so that near scores may be equal.
        depth: documents of a ranking that count; None is all.
        judged_only: documents without a grade of 0 or more are taken out before ranks are given.
        missing: a judged query that the run lacks counts as an empty ranking, or not at all.
        without_relevant: the value where a metric is undefined for lack of relevant documents;
            None leaves the query out of the mean.
        nothing_retrieved: the value where it is undefined because the ranking is empty.
        parameters: defaults of kernel parameters, by metric.
        empties: ``without_relevant`` and ``nothing_retrieved`` for single metrics.
    """

    name: str
    title: str = ""
    ties: Ties = "doc_id_desc"
    precision: Precision = "float64"
    depth: int | None = None
    judged_only: bool = False
    missing: Missing = "zero"
    without_relevant: float | None = 0.0
    nothing_retrieved: float | None = 0.0
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    empties: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    @property
    def axes(self) -> dict[str, Any]:
        """Every choice, without the names."""
        return {k: v for k, v in asdict(self).items() if k not in ("name", "title")}

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits of the axes: equal choices, equal hash."""
        text = json.dumps(self.axes, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_dict(self) -> dict[str, Any]:
        """Name, hash and axes, as results carry them."""
        axes = json.loads(json.dumps(self.axes).replace("NaN", "null"))
        return {"name": self.name, "hash": self.hash, "axes": axes}

    def defaults(self, metric: Metric) -> Mapping[str, Any]:
        """The parameters that this convention gives a metric."""
        return self.parameters.get(metric.name, {})

    def empty(self, metric: Metric, kind: Literal["without_relevant", "nothing_retrieved"]) -> Any:  # noqa: ANN401
        """The value of one kind of empty for a metric; None leaves the query out."""
        return self.empties.get(metric.name, {}).get(kind, getattr(self, kind))


_NAN = float("nan")

TREC = Convention(
    "trec",
    "trec_eval 10, averaged over all judged queries (its -c)",
    parameters={
        "nDCG": {"levels": "truncated"},
        "RBP": {"gain": "scaled"},
    },
    empties={name: {"nothing_retrieved": _NAN} for name in ("IPrec", "IPrec11")},
)
TREC9 = Convention(
    "trec9",
    "trec_eval 9: scores as 32-bit floats, recall points by adding 0.9",
    precision="float32",
    missing="leave_out",
    parameters={
        "nDCG": {"levels": "truncated"},
        "RBP": {"gain": "scaled"},
        "IPrec": {"points": "ceil9"},
        "IPrec11": {"points": "ceil9"},
    },
    empties={name: {"nothing_retrieved": _NAN} for name in ("IPrec", "IPrec11")},
)
PYTREC_EVAL = Convention(
    "pytrec_eval",
    "pytrec_eval and pytrec_eval-terrier: trec_eval 9 called from Python",
    **{k: v for k, v in vars(TREC9).items() if k not in ("name", "title")},
)

CONVENTIONS = {each.name: each for each in (TREC, TREC9, PYTREC_EVAL)}
"""The named conventions."""


def convention(name: str | Convention) -> Convention:
    """A convention by its name.

    Raises:
        UsageError: there is none of that name.
    """
    if isinstance(name, Convention):
        return name
    if name not in CONVENTIONS:
        raise UsageError(f"unknown convention '{name}'; known are {', '.join(CONVENTIONS)}.")
    return CONVENTIONS[name]
