"""The way from a matrix or lists of numbers to values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.data.memory.arrays import pieces_of
from rankgate.data.place import Place
from rankgate.data.run import Run
from rankgate.scoring.score import SHOWN, fill, refuse, summed_up
from rankgate.scoring.sheets import Seen, aligned_blocks
from rankgate.scoring.tally import Job, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.data.memory.matrices import Source
    from rankgate.data.scores import Scores
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.coded import Coded
    from rankgate.scoring.convention import Alignment, Convention


def score_by_number(
    index: Coded,
    source: Source,
    metrics: Sequence[tuple[str, Metric]],
    how: Convention,
    seen: Seen | None = None,
    *,
    strict: bool = True,
) -> Scores:
    """As ``score``, for rankings that are a matrix or lists: the same values, and no id touched.

    A matrix is looked at as deep as the metrics look; ties that stand deeper are not counted.

    Args:
        index: the judgments.
        source: the rankings.
        metrics: each with the label that results carry.
        how: the convention.
        seen: what leaves the rankings.
        strict: whether rankings of users that are all without judgments are an error.

    Raises:
        InputError: as ``score``; a score is infinite.
        DuplicateError: an item stands twice in a list.
    """
    jobs = [Job.of(label, metric, how) for label, metric in metrics]
    tally = Tally.of(jobs, [how.alignment], index, SHOWN)
    for each in tally.facts:
        depth = depth_of([job for job, _ in tally.jobs[each]], each)
        for aligned in aligned_blocks(source, index, each, depth, seen):
            tally.add(aligned, each)
    fill(tally)
    values = [(job, found) for some in tally.jobs.values() for job, found in some]
    by_label = {job.label: (job, found) for job, found in values}
    facts = tally.facts[how.alignment]
    run = Run(source.name, lambda: pieces_of(source), place=Place(source.name))
    if strict or facts.present.any():
        refuse(facts, run, index, how)
    return summed_up([by_label[label] for label, _ in metrics], facts, run, index, how)


def depth_of(jobs: Sequence[Job], how: Alignment) -> int | None:
    """How far rankings have to be looked at; None is to their end."""
    if how.judged_only or any("no_hit" in job.how.forced for job in jobs):
        return None
    cuts = [job.metric.depth(job.defaults) for job in jobs]
    known = [cut for cut in cuts if cut is not None]
    return max([SHOWN, *known]) if len(known) == len(jobs) else None
