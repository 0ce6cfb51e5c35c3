"""What a report rests on: hashes, the choices of the convention, the words that make it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.present.document import Code, Section, Table
from rankgate.present.grid import Grid
from rankgate.reports.documents.result_tables import word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankgate.data.comparison import Comparison
    from rankgate.present.document import Block


def basis(blocks: Sequence[Block], again: str = "") -> Section:
    """The last part of every report."""
    more = (f"Make it again with rankgate {_version()}:", Code(again)) if again else ()
    return Section("basis", "What it rests on", (*blocks, *more), "Basis")


def of_convention(told: Mapping[str, Any]) -> list[Block]:
    """Name and hash, and every choice."""
    rows = tuple((str(name), word(value)) for name, value in told["axes"].items())
    heading = f"every choice of the convention {told['name']} (hash {told['hash']})"
    return [Table(heading, Grid(("axis", "choice"), rows, frozenset({0, 1})), folded=True)]


def of_hashes(rows: Sequence[tuple[str, str, str]]) -> Table:
    """Name, what it is, and hash."""
    return Table("", Grid(("name", "what", "SHA-256"), tuple(rows), frozenset(range(3))))


def of_comparisons(told: Sequence[Comparison], policy: str = "") -> list[Block]:
    """Hashes, tests and the convention of comparisons with one baseline."""
    first = told[0]
    systems = [first.baseline, *(each.candidate for each in told)]
    hashes = [(first.qrels, "judgments", first.qrels_sha256)]
    hashes += [(who.name, "run", who.sha256) for who in systems]
    drawn = f"; {first.resamples:,} resamples, seed {first.seed}" if first.resamples else ""
    test = (
        f"p: {first.test} test, corrected by {first.correction}. Interval: {first.interval}, "
        f"level {first.level:g}; power {first.power:g}{drawn}."
    )
    lines = [test, *([f"Policy: {policy}."] if policy else [])]
    return [of_hashes(hashes), *lines, *of_convention(first.convention)]


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - slow to load

    return version("rankgate")
