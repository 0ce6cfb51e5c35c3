"""Render advice: recommended metrics with reasons, power, blind spots and sources."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.core.present.document import Code, Document, Entries, Entry, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import number, whole
from rankgate.core.present.forms.as_text import shortened
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import UNDEFINED, decimal

if TYPE_CHECKING:
    from rankgate.core.present.document import Block
    from rankgate.decisions.advice.advice import Advice, AdvisedMetric

_ROLES = {
    "gate": "decide by: a loss beyond the margin blocks",
    "watch": "watch: a loss beyond the margin warns",
    "report": "report as well",
}


def document(
    advice: Advice, *, commands: Sequence[Sequence[str]] = (), columns: int = 78
) -> Document:
    """What to decide by and why, what the queries can show, cautions, what to run next, sources.

    Args:
        advice: the advice.
        commands: to run next, their words.
        columns: of the lines of these commands.
    """
    margin = advice.answers.margin
    blocks: list[Block] = [Warnings(tuple(notice.text for notice in advice.input_notices))]
    blocks += [
        Entries(
            tuple(Entry(each.metric, _lines(each, margin)) for each in advice.of(role)), heading
        )
        for role, heading in _ROLES.items()
    ]
    avoided = tuple(Entry(each.metric, tuple(_reasons(each))) for each in advice.avoided)
    blocks.append(Entries(avoided, "do not decide by"))
    blocks += [Table(heading, grid) for heading, grid in grids(advice)]
    blocks += [_notes(advice)] if carried(advice).rows else []
    cautions = tuple(Entry("-", (f"{each.words} [{each.source}]",)) for each in advice.cautions)
    blocks.append(Entries(cautions, "to know"))
    if commands:
        blocks += ["to run next", Code("\n".join(shell(words, columns) for words in commands))]
    sources = tuple(Entry(f"[{key}]", (words,)) for key, words in advice.sources.items())
    return made(title(advice), *blocks, Entries(sources, "sources"))


def shell(words: Sequence[str], width: int) -> str:
    r"""A command as a shell takes it, broken where a line would be too long.

    >>> print(shell(["rankgate", "eval", "my qrels.txt", "a.run", "-m", "RR"], 34))
    rankgate eval 'my qrels.txt' \
      a.run -m RR
    """
    lines = [""]
    for word in map(shlex.quote, words):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if len(longer) > width - 2 and lines[-1]:
            lines.append(f"  {word}")
        else:
            lines[-1] = longer
    return " \\\n".join(lines)


def title(advice: Advice) -> str:
    """What was asked, and what was looked at."""
    said, facts = advice.answers, advice.facts
    grades = ", ".join(f"{grade:g}" for grade in facts.grades[:8])
    more = ", …" if len(facts.grades) > 8 else ""
    runs = ", ".join(map(printable, advice.runs)) or "no runs"
    asked = (
        f"Metrics for task {said.task}, stage {said.stage}, pages of {said.page}, {said.depth} "
        "candidates; "
    )
    if not advice.qrels:
        return f"{asked}no judgments yet: {facts.queries:,} queries, grades {grades}{more} assumed"
    return (
        f"{asked}judgments {printable(advice.qrels)}: {facts.queries:,} queries, "
        f"{facts.judgments:,} judged documents, grades {grades}{more}, {facts.relevant:g} relevant "
        f"a query (median); {runs}; convention {advice.convention['name']} "
        f"({advice.convention['hash']})"
    )


def verdict(choice: AdvisedMetric, margin: float) -> str:
    """Whether the queries carry a metric, in a sentence; empty where nothing is known."""
    advice = choice.carrying
    if advice is None or advice.needed is None or advice.margin is None:
        return ""
    if advice.carries:
        return (
            f"{advice.n} queries carry a margin of {margin:g}, which takes {whole(advice.needed)}; "
            f"they detect a difference of {decimal(advice.detectable)}."
        )
    return (
        f"{advice.n} queries do not carry a margin of {margin:g}, which takes "
        f"{whole(advice.needed)}; they carry one of {decimal(advice.margin)}."
    )


def grids(advice: Advice) -> list[tuple[str, Grid]]:
    """The tables: what the queries carry, and how much of each page is judged."""
    tables = [
        ("what the queries can show, by these runs", carried(advice)),
        ("how much is judged", judged(advice)),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def carried(advice: Advice) -> Grid:
    """Power and reliability of each chosen metric."""
    rows = []
    for each in advice.choices:
        found = each.carrying
        if found is None or found.sd is None:
            continue
        rho = UNDEFINED
        if found.e_rho2 is not None:
            rho = f"{found.e_rho2:.2f} [{number(found.low, 2)}, {number(found.high, 2)}]"
        still = UNDEFINED if found.unmoved is None else f"{found.unmoved:.0%}"
        rows.append((each.metric, str(found.n), decimal(found.sd), decimal(found.detectable),
                     decimal(found.margin), whole(found.needed), still, rho))  # fmt: skip
    margin = f"{advice.answers.margin:g}"
    head = (
        "metric",
        "n",
        "sd",
        "detectable",
        "margin\ncarried",
        f"queries\nfor {margin}",
        "changed,\nunmoved",
        "Eρ²",
    )
    return Grid(head, tuple(rows))


def judged(advice: Advice) -> Grid:
    """The share of judged documents on each run's page."""
    rows = tuple(
        (shortened(printable(name), 40), UNDEFINED if share is None else f"{share:.1%}")
        for name, share in advice.facts.judged
    )
    return Grid(("run", f"judged@{advice.facts.page}"), rows)


def _notes(advice: Advice) -> str:
    said = advice.answers
    return (
        f"sd: of the differences to {printable(advice.runs[0])}, by the run that differs most "
        f"unevenly. Detectable: the smallest true difference shown with a power of {said.power:.0%}"
        f", two-sided, alpha {said.alpha:g}. Margin carried: at it a candidate that is as good "
        f"passes the gate with that power, one-sided. Changed, unmoved: lists with another page for"
        f" which the metric does not change. Eρ²: how far other queries would give these runs "
        f"the same order, from 0 to 1, for three runs or more."
    )


def _lines(choice: AdvisedMetric, margin: float) -> tuple[str, ...]:
    lines = [*_reasons(choice), f"sees: {choice.sees}", f"blind to: {choice.blind_to}"]
    words = verdict(choice, margin) if choice.role != "report" else ""
    return tuple([*lines, words] if words else lines)


def _reasons(choice: AdvisedMetric) -> list[str]:
    return [f"{reason.words} [{reason.source}]" for reason in choice.reasons]
