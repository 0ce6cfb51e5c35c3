"""Sentences on the stages that lower the metric of a pipeline, and on its bottleneck."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.core.present.document_model import make_printable
from rankgate.core.present.number_formats import count_noun, format_interval

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.stages import Pipeline


def lowering_sentences(result: Pipeline) -> Iterator[str]:
    """Sentences on stages that lower the metric and can therefore be left out."""
    for row in result.steps.iter_rows(named=True):
        if row["metric"] == result.target and (row["delta"] or 0) < 0 and not (row["high"] or -1) > 0:
            ends = format_interval(row["low"], row["high"])
            certainty = "" if row["high"] is None else f" ({result.level:.0%} interval {ends})"
            yield (
                f"{make_printable(row['stage'])} lowers {result.target} by {-row['delta']:.4f} against "
                f"{make_printable(row['against'])}{certainty}."
            )


def bottleneck_sentence(result: Pipeline) -> str:
    """The bottleneck, and the significance of its difference to the next loss."""
    bottleneck = result.bottleneck
    if bottleneck is None:
        return f"Nothing is lost: the last stage has the best {result.target} there is."
    missing = float(result.losses["lost"].sum())
    name = make_printable(bottleneck.stage)
    cause = {
        "retrieval": f"retrieval: the first {count_noun(result.depth, 'document')} of {name} lack relevant "
        "ones",
        "approximation": f"the approximation by {name}: its search misses relevant documents that the stage "
        "before it finds",
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
        "retrieval": "retrieval by {}",
        "approximation": "the approximation by {}",
        "depth": "the depth of {}",
        "cut": "what {} takes out",
        "order": "the order of {}",
    }[str(bottleneck.next_why)].format(make_printable(bottleneck.next_stage))
    conclusion = (
        "show that it is less" if bottleneck.significant else "cannot show which of the two is larger"
    )
    ends = format_interval(bottleneck.low, bottleneck.high)
    return (
        f"{first} Next is {next_cause}, {bottleneck.next_lost:.4f}; these queries {conclusion} (difference "
        f"{bottleneck.lost - bottleneck.next_lost:+.4f}, {result.level:.0%} interval {ends})."
    )
