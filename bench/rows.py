"""What was measured, as rows of one table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from contestants import Contestant
    from measure import Repeated

TOLERANCE = 1e-6
"""How far two means may be apart and still agree."""


@dataclass(frozen=True)
class Row:
    """One contestant on one workload.

    Attributes:
        workload: its name.
        title: its size.
        contestant: its name.
        best: the shortest wall time in seconds; None where the contestant did not end in time.
        median: the median wall time.
        longest: the longest wall time; None where it was not written down.
        cpu: the median processor time; None for one that times itself.
        memory: the most anonymous bytes; None for one that times itself.
        times: executions that counted.
        means: the five means; None for a floor.
        agrees: whether they are those of rankgate; None for a floor.
        circumstances: the machine, the versions and the day.
    """

    workload: str
    title: str
    contestant: str
    best: float | None
    median: float | None
    longest: float | None
    cpu: float | None
    memory: int | None
    times: int
    means: Mapping[str, float] | None
    agrees: bool | None = None
    circumstances: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return asdict(self)


def row(workload: str, title: str, contestant: Contestant, measured: Repeated) -> Row:
    """What one contestant did; whether its means agree is not known yet."""
    cpu: float | None = measured.cpu
    memory: int | None = measured.memory
    if not measured.finished:
        return Row(workload, title, contestant.name, None, None, None, cpu, memory, 0, None)
    means = contestant.means(measured.result)
    if contestant.inside:
        best_seconds = min(run.result["best"] for run in measured.runs)
        middle = median(run.result["median"] for run in measured.runs)
        longest = max(run.result["longest"] for run in measured.runs)
        cpu = memory = None
    else:
        best_seconds, middle, longest = measured.best, measured.median, measured.longest
    times, seconds = len(measured.runs), (best_seconds, middle, longest)
    return Row(workload, title, contestant.name, *seconds, cpu, memory, times, means)


def agree(means: Mapping[str, float], ours: Mapping[str, float]) -> bool:
    """Whether the same five means are as good as equal."""
    return set(means) == set(ours) and all(abs(means[metric] - ours[metric]) <= TOLERANCE for metric in ours)


def markdown(rows: Sequence[Row], limit: float) -> str:
    """A table for all rows of equal circumstances, those that were measured last first.

    The ratio is of the best time to our own best on the same workload.
    """
    tables: dict[str, list[Row]] = {row.circumstances: [] for row in rows}
    for row in rows:
        tables[row.circumstances].append(row)
    return "\n".join(
        f"{circumstances}\n\n{_table(tables[circumstances], limit)}"
        for circumstances in sorted(tables, reverse=True)
    )


def _table(rows: Sequence[Row], limit: float) -> str:
    lines = [
        "| workload | contestant | best s | median s | longest s | ratio | CPU s | MB | agrees |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | :---: |",
    ]
    for entry in rows:
        prefix = "> " if entry.best is None else ""
        best_text = f"> {limit:.0f}" if entry.best is None else f"{entry.best:.3f}"
        middle = "" if entry.median is None else f"{entry.median:.3f}"
        longest = "" if entry.longest is None else f"{entry.longest:.3f}"
        ratio = prefix + _ratio(entry, rows, entry.best or limit)
        cpu = "" if entry.cpu is None else f"{entry.cpu:.2f}"
        memory = "" if entry.memory is None else f"{entry.memory / 1e6:,.0f}"
        verdict = {None: "", True: "yes", False: "NO"}[entry.agrees]
        seconds = [best_text, middle, longest]
        cells = [entry.title, entry.contestant, *seconds, ratio, cpu, memory, verdict]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _ratio(entry: Row, rows: Sequence[Row], seconds: float) -> str:
    """Times our own on the same workload, in memory or from files as the contestant."""
    in_memory = entry.contestant.endswith(("dicts", "frames"))
    name = "rankgate, dicts" if in_memory else "rankgate eval"
    rankgate_row = next((r for r in rows if (r.workload, r.contestant) == (entry.workload, name)), None)
    return f"{seconds / rankgate_row.best:.2f}" if rankgate_row and rankgate_row.best else ""
