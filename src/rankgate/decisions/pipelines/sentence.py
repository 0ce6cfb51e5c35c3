"""The bottleneck of a pipeline in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.core.present.figures import interval
from rankgate.core.present.grid import printable

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.stages import Pipeline


def sentence(result: Pipeline) -> str:
    """Stages that lower the metric first, then which stage is the bottleneck now."""
    return " ".join([*_lowering(result), _bottleneck(result)])


def _lowering(result: Pipeline) -> Iterator[str]:
    """The stages after which the metric is lower than before, which can be left out at once."""
    for row in result.steps.iter_rows(named=True):
        if row["metric"] == result.target and row["delta"] < 0 and not (row["high"] or -1) > 0:
            ends = interval(row["low"], row["high"])
            certainty = "" if row["high"] is None else f" ({result.level:.0%} interval {ends})"
            yield (
                f"{printable(row['stage'])} lowers {result.target} by {-row['delta']:.4f} against "
                f"{printable(row['against'])}{certainty}."
            )


def _bottleneck(result: Pipeline) -> str:
    """Where most is lost, and whether the difference to the next is significant."""
    found = result.bottleneck
    if found is None:
        return f"Nothing is lost: the last stage has the best {result.target} there is."
    missing = float(result.losses["lost"].sum())
    name = printable(found.stage)
    why = {
        "retrieval": f"retrieval: the first {result.depth} documents of {name} lack relevant ones",
        "depth": f"the depth of {name}: relevant documents are below those that it looks at",
        "cut": f"{name}: it takes relevant documents out of its candidates",
        "order": f"the order of {name}: the documents are there, and others are above them",
    }[found.why]
    first = (
        f"The bottleneck now is {why}. That costs {found.lost:.4f} of the {missing:.4f} "
        f"{result.target} that are missing ({found.share:.0%})."
    )
    if found.next_stage is None or found.next_lost is None:
        return f"{first} Nothing else is lost."
    after = {
        "retrieval": f"retrieval by {printable(found.next_stage)}",
        "depth": f"the depth of {printable(found.next_stage)}",
        "cut": f"what {printable(found.next_stage)} takes out",
        "order": f"the order of {printable(found.next_stage)}",
    }[str(found.next_why)]
    words = (
        "show that it is less" if found.significant else "cannot show which of the two is larger"
    )
    ends = interval(found.low, found.high)
    return (
        f"{first} Next is {after}, {found.next_lost:.4f}; these queries {words} (difference "
        f"{found.lost - found.next_lost:+.4f}, {result.level:.0%} interval {ends})."
    )
