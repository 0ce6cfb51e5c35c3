"""Results of interleaving as documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.online.interleaving.preference import Preference
    from rankgate.online.interleaving.sensitivity import Sensitivity

_DASH = "–"
_MAX_SLOTS = 10


def document(result: Preference) -> Document:
    """The preferred system, wins and credits of each pair, and the shares of slots."""
    return made(
        _title(result),
        f"{result.clicks:,} clicks on {result.requests:,} lists; {result.clicked:,} of "
        f"{result.units:,} {result.unit}s have a click. The systems rank {result.competitive:.1%} "
        f"of the shown documents differently. Lists are mixed by {result.method}.",
        Table("wins", _wins(result)),
        *([Table("credit of a click", _credits(result))] if result.test == "sign" else []),
        *(
            [Chart("rankgate.online.interleaving.charts:preferences", result)]
            if len(result.pairs)
            else []
        ),
        Table("slots and clicks by system", _slots(result)),
        Warnings(tuple(notice.text for notice in result.notices)),
        _describe_method(result),
        f"Known limit of {result.method}: {result.bias}." if result.bias else "",
        status=result.verdict,
    )


def _describe_method(result: Preference) -> str:
    signs = result.test == "sign"
    test_name = "of the sign test on wins" if signs else "of the t-test on credits"
    reason = (
        ""
        if signs
        else (
            f" (wins of {result.method} are not equally frequent where users click at random, only "
            "mean credits are)"
        )
    )
    holm = ", p corrected by Holm" if len(result.pairs) > 1 else ""
    estimate = (
        "(wins of the second + ties / 2) / all - 50 %"
        if signs
        else f"the credit of the second less that of the first, a {result.unit} with a click"
    )
    return (
        f"Preference is {estimate}; its interval and p are {test_name}{reason}{holm}. "
        f"Needed are {result.unit}s with a {'winner' if signs else 'click'} for a power of 80 % at "
        "this effect."
    )


def _title(result: Preference) -> str:
    if result.verdict:
        return "no preference: the shares of the systems do not fit the draw"
    decided_pairs = [row for row in result.pairs.iter_rows(named=True) if row["preferred"]]
    if len(result.pairs) == 1:
        row = result.pairs.row(0, named=True)
        if not decided_pairs:
            return f"no preference shown between {row['one']} and {row['other']}"
        loser = row["one"] if row["preferred"] == row["other"] else row["other"]
        return f"users prefer {row['preferred']} to {loser}"
    return f"{len(decided_pairs)} of {len(result.pairs)} pairs of systems show a preference"


def _wins(result: Preference) -> Grid:
    rows = tuple(
        (
            make_printable(row["one"]),
            make_printable(row["other"]),
            f"{row['wins_one']:,}",
            f"{row['wins_other']:,}",
            f"{row['ties']:,}",
            _format_preference(row["preference"], result),
            _interval(row["low"], row["high"], result),
            _format_p_value(row["p_value"]),
            _DASH if row["needed"] is None else f"{row['needed']:,}",
            row["preferred"] or _DASH,
        )
        for row in result.pairs.iter_rows(named=True)
    )
    header = (
        "first",
        "second",
        "first\nwins",
        "second\nwins",
        "ties",
        "preference",
        "interval",
        "p",
        "needed",
        "preferred",
    )
    return Grid(header, rows, frozenset({0, 1, 9}), keys=2)


def _credits(result: Preference) -> Grid:
    rows = tuple(
        (
            make_printable(row["one"]),
            make_printable(row["other"]),
            _DASH if row["credit"] is None else f"{row['credit']:+.4f}",
            _DASH
            if row["credit_low"] is None
            else f"{row['credit_low']:+.4f} to {row['credit_high']:+.4f}",
            _format_p_value(row["p_t"]),
        )
        for row in result.pairs.iter_rows(named=True)
    )
    header = ("first", "second", f"second less first,\na {result.unit}", "interval", "p (t)")
    return Grid(header, rows, frozenset({0, 1}), keys=2)


def _slots(result: Preference) -> Grid:
    table = result.slots.filter(result.slots["slot"] <= _MAX_SLOTS)
    counts_of_slot = {(row[0], row[1]): row[2:] for row in table.iter_rows()}
    rows = tuple(
        (
            str(slot),
            *(
                f"{counts[1]:,}/{counts[0]:,}"
                if (counts := counts_of_slot.get((slot, name)))
                else _DASH
                for name in result.systems
            ),
        )
        for slot in sorted({slot for slot, _ in counts_of_slot})
    )
    return Grid(("slot", *map(make_printable, result.systems)), rows)


def _format_preference(value: float | None, result: Preference) -> str:
    """A preference of wins in per cent, one of credits as it is."""
    if value is None:
        return _DASH
    return f"{value:+.1%}" if result.test == "sign" else f"{value:+.4f}"


def _interval(low: float | None, high: float | None, result: Preference) -> str:
    if low is None or high is None:
        return _DASH
    return f"{_format_preference(low, result)} to {_format_preference(high, result)}"


def _format_p_value(value: float | None) -> str:
    return _DASH if value is None else f"{value:.4f}" if value >= 1e-4 else "<0.0001"


def sensitivity(result: Sensitivity) -> Document:
    """The searches that each method and an A/B test need, and their agreement."""
    rows = tuple(
        (
            row["test"],
            row["design"],
            f"{row['effect']:+.4f}",
            f"{row['spread']:.4f}",
            _DASH if row["needed"] is None else f"{row['needed']:,}",
            _DASH if row["times_fewer"] is None else f"{row['times_fewer']:.3g}x",
            row["better"] or _DASH,
        )
        for row in result.tests.iter_rows(named=True)
    )
    header = (
        "test",
        "design",
        "effect\na search",
        "standard\ndeviation",
        "searches\nneeded",
        "fewer than\nbest A/B",
        "better",
    )
    return made(
        _sensitivity_title(result),
        Table("", Grid(header, rows, frozenset({0, 1, 6}))),
        Warnings(tuple(notice.text for notice in result.notices)),
        f"{result.searches:,} simulated searches for each test, by {result.user} users. Needed are "
        "searches in all arms together for a power of 80 % at 5 %, two-sided; – where the "
        "simulation shows no effect. Simulated users prefer what judgments call better: real ones "
        "may need more. Interleaving says which list is preferred, not what revenue, latency or "
        "return visits will be: an A/B test follows.",
    )


def _sensitivity_title(result: Sensitivity) -> str:
    detected = [row for row in result.tests.iter_rows(named=True) if row["needed"] is not None]
    interleaving_tests = [row for row in detected if row["design"] == "interleaving"]
    if not interleaving_tests:
        return f"interleaving shows no preference between {' and '.join(result.systems)}"
    best = min(interleaving_tests, key=lambda row: row["needed"])
    return (
        f"{best['test']} needs {best['needed']:,} searches to tell {' from '.join(result.systems)}"
    )
