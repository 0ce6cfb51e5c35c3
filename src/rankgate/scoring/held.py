"""A run held in memory as ranks, to be scored again and again from one reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankgate.data.run import ScatteredError
from rankgate.errors import DuplicateError, RankgateError
from rankgate.scoring.align import align, meet
from rankgate.scoring.score import SHOWN, complete, refuse, summed_up
from rankgate.scoring.tally import Job, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankgate.data.run import Batch, Duplicates, Run
    from rankgate.data.scores import Scores
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.align import Aligned
    from rankgate.scoring.convention import Alignment, Convention
    from rankgate.scoring.index import Index
    from rankgate.scoring.tally import Facts, Values

_Formed = dict["Alignment", list["Aligned"]]


@dataclass
class Held:
    """The rankings of one run under as many conventions as one likes.

    Of each way to form rankings only the judged documents and their ranks are kept. A way that
    was not announced to ``read`` costs one more reading of the run.

    Attributes:
        run: the rankings.
        index: the judgments.
    """

    run: Run
    index: Index
    _formed: dict[Duplicates, _Formed] = field(default_factory=dict)
    _twice: DuplicateError | None = None

    def score(
        self, metrics: Sequence[tuple[str, Metric]], hows: Sequence[Convention]
    ) -> list[Scores | RankgateError]:
        """What ``score`` gives for each convention, or why it cannot take these data."""
        ways = [
            way.alignment
            for how in hows
            for way in (how, *(how.for_metric(metric) for _, metric in metrics))
        ]
        self.read(ways)
        try:
            return self._scored(metrics, hows)
        except RankgateError:  # one of them; which one is found out one by one
            return [self._alone(metrics, how) for how in hows]

    def read(self, ways: Iterable[Alignment]) -> None:
        """Form rankings in several ways at one reading, where they are not formed yet."""
        if self._twice is None:
            try:
                self._form(list(dict.fromkeys(ways)), "error")
            except DuplicateError as error:
                self._twice = error

    def _rule(self, how: Convention) -> Duplicates:
        """How duplicates count; where there are none, every way is the same."""
        return "error" if self._twice is None else how.duplicates

    def _alone(
        self, metrics: Sequence[tuple[str, Metric]], how: Convention
    ) -> Scores | RankgateError:
        try:
            return self._scored(metrics, [how])[0]
        except RankgateError as error:
            return error

    def _scored(
        self, metrics: Sequence[tuple[str, Metric]], hows: Sequence[Convention]
    ) -> list[Scores | RankgateError]:
        jobs = [[Job.of(label, metric, how) for label, metric in metrics] for how in hows]
        every = [job for some in jobs for job in some]
        values: dict[int, Values] = {}
        facts: dict[tuple[Duplicates, Alignment], Facts] = {}
        for rule in dict.fromkeys(self._rule(each) for each in (*hows, *(j.how for j in every))):
            chosen = [job for job in every if self._rule(job.how) == rule]
            also = [how.alignment for how in hows if self._rule(how) == rule]
            tally = self._tallied(chosen, also, rule)
            values |= {id(job): found for some in tally.jobs.values() for job, found in some}
            facts |= {(rule, way): found for way, found in tally.facts.items()}
        found: list[Scores | RankgateError] = []
        for how, own in zip(hows, jobs, strict=True):
            known = facts[self._rule(how), how.alignment]
            try:
                refuse(known, self.run, self.index, how)
            except RankgateError as error:
                found.append(error)
            else:
                told = [(job, values[id(job)]) for job in own]
                found.append(summed_up(told, known, self.run, self.index, how))
        return found

    def _tallied(self, jobs: Sequence[Job], also: Sequence[Alignment], rule: Duplicates) -> Tally:
        if rule == "error" and self._twice is not None:
            raise self._twice
        tally = Tally.of(jobs, also, self.index, SHOWN)
        formed = self._form(list(tally.facts), rule)
        for way in tally.facts:
            for aligned in formed[way]:
                tally.add(aligned, way)
        complete(tally, self.run, self.index)
        return tally

    def _form(self, ways: Sequence[Alignment], rule: Duplicates) -> _Formed:
        formed = self._formed.setdefault(rule, {})
        fresh = [way for way in ways if way not in formed]
        if not fresh:
            return formed
        try:
            found = self._over(self.run.batches(rule), fresh)
        except ScatteredError:  # a query came back after others: all rows at once
            found = self._over([self.run.whole(rule)], fresh)
        formed |= found
        return formed

    def _over(self, parts: Iterable[Batch], ways: Sequence[Alignment]) -> _Formed:
        found: _Formed = {way: [] for way in ways}
        for batch in parts:
            met = meet(batch, self.index)
            for way, pieces in found.items():
                pieces.append(align(met, way))
        return found
