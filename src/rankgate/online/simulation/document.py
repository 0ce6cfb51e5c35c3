"""A simulation as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from rankgate.online.simulation.simulation import Simulation

_RANKS = 10


def document(result: Simulation) -> Document:
    """Clicks of each variant with the truth, rates by rank, and the check of the simulator."""
    searches, clicks = result.variants["searches"].sum(), result.variants["clicks"].sum()
    variants = tuple(
        (printable(row["variant"]), f"{row['searches']:,}", f"{row['clicks']:,}",
         f"{row['clicks_per_search']:.4f}", f"{row['expected']:.4f}")
        for row in result.variants.iter_rows(named=True)
    )  # fmt: skip
    head = ("variant", "searches", "clicks", "clicks a\nsearch", "true\nvalue")
    return made(
        f"{searches:,} simulated searches with {clicks:,} clicks, by {result.user}",
        Table("", Grid(head, variants)),
        Table("clicks by rank", _ranks(result)),
        _reliability(result),
        Warnings(tuple(each.text for each in result.notices)),
        *([f"Written to {printable(result.output)}."] if result.output else []),
    )


def _ranks(result: Simulation) -> Grid:
    observed = result.by_rank["observed"].is_not_null().any()
    rows = []
    for row in result.by_rank.head(_RANKS).iter_rows(named=True):
        cells = [str(row["rank"]), f"{row['simulated']:.4f}", f"{row['expected']:.4f}"]
        if observed:
            known = row["observed"] is not None
            cells += [f"{row['observed']:.4f}" if known else "–",
                      f"{row['error']:.4f}" if known else "–"]  # fmt: skip
        rows.append(tuple(cells))
    head = ("rank", "simulated", "true\nvalue")
    more = ("in unseen\nsearches", "standard\nerror") if observed else ()
    return Grid((*head, *more), tuple(rows))


def _reliability(result: Simulation) -> str:
    found = result.reliability
    if not found:
        return ""
    order = (
        "no two lists of a query were shown often enough to compare"
        if found["agreement"] is None
        else f"{found['agreement']:.1%} of {found['pairs']:.0f} pairs of lists are in the order of "
        "the log"
    )
    return (
        f"Check of the simulator: {found['ranks']:.0f} ranks differ from unseen searches by more "
        f"than three standard errors; {order}. {'Passed' if result.trusted else 'Not passed'}."
    )
