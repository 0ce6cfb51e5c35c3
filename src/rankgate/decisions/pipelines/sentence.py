"""The bottleneck of a pipeline in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.core.present.figures import format_interval
from rankgate.core.present.grid import make_printable

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.stages import Pipeline


def sentence(result: Pipeline) -> str:
    """Stages that lower the metric, then the present bottleneck, in sentences."""
    return " ".join([*_lowering_sentences(result), _bottleneck_sentence(result)])


def _lowering_sentences(result: Pipeline) -> Iterator[str]:
    """Sentences on stages that lower the metric, and so can be left out."""
    for row in result.steps.iter_rows(named=True):
        if row["metric"] == result.target and row["delta"] < 0 and not (row["high"] or -1) > 0:
            ends = format_interval(row["low"], row["high"])
            certainty = "" if row["high"] is None else f" ({result.level:.0%} interval {ends})"
            yield (
                f"{make_printable(row['stage'])} lowers {result.target} by {-row['delta']:.4f} "
                f"against {make_printable(row['against'])}{certainty}."
            )


def _bottleneck_sentence(result: Pipeline) -> str:
    """The bottleneck, and the significance of its difference to the next loss."""
    bottleneck = result.bottleneck
    if bottleneck is None:
        return f"Nothing is lost: the last stage has the best {result.target} there is."
    missing = float(result.losses["lost"].sum())
    name = make_printable(bottleneck.stage)
    cause = {
        "retrieval": f"retrieval: the first {result.depth} documents of {name} lack relevant ones",
        "depth": f"the depth of {name}: relevant documents are below those that it looks at",
        "cut": f"{name}: it takes relevant documents out of its candidates",
        "order": f"the order of {name}: the documents are there, and others are above them",
    }[bottleneck.why]
    first = (
        f"The bottleneck now is {cause}. That costs {bottleneck.lost:.4f} of the {missing:.4f} "
        f"{result.target} that are missing ({bottleneck.share:.0%})."
    )
    if bottleneck.next_stage is None or bottleneck.next_lost is None:
        return f"{first} Nothing else is lost."
    next_cause = {
        "retrieval": f"retrieval by {make_printable(bottleneck.next_stage)}",
        "depth": f"the depth of {make_printable(bottleneck.next_stage)}",
        "cut": f"what {make_printable(bottleneck.next_stage)} takes out",
        "order": f"the order of {make_printable(bottleneck.next_stage)}",
    }[str(bottleneck.next_why)]
    conclusion = (
        "show that it is less"
        if bottleneck.significant
        else "cannot show which of the two is larger"
    )
    ends = format_interval(bottleneck.low, bottleneck.high)
    return (
        f"{first} Next is {next_cause}, {bottleneck.next_lost:.4f}; these queries {conclusion} "
        f"(difference {bottleneck.lost - bottleneck.next_lost:+.4f}, {result.level:.0%} "
        f"interval {ends})."
    )
