"""The bottleneck of a pipeline in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.figures import interval
from rankgate.present.grid import printable

if TYPE_CHECKING:
    from rankgate.pipelines.stages import Pipeline


def sentence(result: Pipeline) -> str:
    """Which stage is the bottleneck now, and whether the difference to the next is significant."""
    found = result.bottleneck
    if found is None:
        return f"Nothing is lost: the last stage has the best {result.target} there is."
    missing = float(result.losses["lost"].sum())
    name = printable(found.stage)
    why = {
        "retrieval": f"retrieval: the first {result.depth} documents of {name} lack relevant ones",
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
