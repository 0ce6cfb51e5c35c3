"""Advice: what to decide by and why, what the queries carry, what is not seen, and the sources."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rankgate.present import as_json, as_markdown
from rankgate.present.as_text import WIDTH, fitted, shortened
from rankgate.present.figures import number, whole
from rankgate.present.grid import Grid, printable
from rankgate.present.numbers import UNDEFINED, decimal
from rankgate.present.paragraphs import beside, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankgate.advice.advise import Advice, Choice

FORMS = ("text", "json", "markdown", "policy")
"""The forms of advice, by the name that ``--format`` takes; a policy is TOML for the gate."""

_ROLES = {
    "gate": "decide by: a loss beyond the margin blocks",
    "watch": "watch: a loss beyond the margin warns",
    "report": "report beside them",
}
_LINE = 100
_LONGEST = 16


def render(
    told: Advice, form: str, width: int = WIDTH, commands: Sequence[Sequence[str]] = ()
) -> str:
    """The advice as text, JSON or Markdown; for the policy see ``advice_policy``.

    Args:
        told: the advice.
        form: one of `FORMS`.
        width: of a text.
        commands: to run next, their words.
    """
    if form == "json":
        return as_json.dumped(told.to_dict())
    markdown = form == "markdown"
    said: Callable[[str], str] = as_markdown.escaped if markdown else str
    parts = ["\n".join(wrapped(said(title(told)), min(width, _LINE)))]
    for role, heading in _ROLES.items():
        if chosen := told.of(role):
            parts.append(_head(heading, markdown))
            parts += [_entry(each, told.answers.margin, width, markdown) for each in chosen]
    if told.avoided:
        parts.append(_head("do not decide by", markdown))
        parts.append(_list([(c.metric, _reasons(c)) for c in told.avoided], width, markdown))
    for heading, grid in grids(told):
        parts.append(_head(heading, markdown))
        parts.append(as_markdown.table(grid) if markdown else fitted(grid, width))
    if carried(told).rows:
        parts.append("\n".join(wrapped(said(_notes(told)), min(width, _LINE))))
    parts.append(_head("to know", markdown))
    parts.append(
        _list([("-", f"{each.words} [{each.source}]") for each in told.cautions], width, markdown)
    )
    if commands:
        parts.append(_head("to run next", markdown))
        lines = "\n".join(shell(words, width) for words in commands)
        parts.append(f"```\n{lines}\n```" if markdown else lines)
    parts.append(_head("sources", markdown))
    parts.append(_list([(f"[{k}]", words) for k, words in told.sources.items()], width, markdown))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


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


def title(told: Advice) -> str:
    """What was asked, and what was looked at."""
    said, facts = told.answers, told.facts
    grades = ", ".join(f"{grade:g}" for grade in facts.grades[:8])
    more = ", …" if len(facts.grades) > 8 else ""  # noqa: PLR2004 - as above
    runs = ", ".join(map(printable, told.runs)) or "no runs"
    asked = (
        f"Metrics for task {said.task}, stage {said.stage}, pages of {said.page}, {said.depth} "
        "candidates; "
    )
    if not told.qrels:
        return f"{asked}no judgments yet: {facts.queries:,} queries, grades {grades}{more} supposed"
    return (
        f"{asked}judgments {printable(told.qrels)}: {facts.queries:,} queries, "
        f"{facts.judgments:,} judged documents, grades {grades}{more}, {facts.relevant:g} relevant "
        f"a query (median); {runs}; convention {told.convention['name']} "
        f"({told.convention['hash']})"
    )


def verdict(choice: Choice, margin: float) -> str:
    """Whether the queries carry a metric, in a sentence; empty where nothing is known."""
    told = choice.carrying
    if told is None or told.needed is None or told.margin is None:
        return ""
    if told.carries:
        return (
            f"{told.n} queries carry a margin of {margin:g}, which takes {whole(told.needed)}; "
            f"they detect a difference of {decimal(told.detectable)}."
        )
    return (
        f"{told.n} queries do not carry a margin of {margin:g}, which takes "
        f"{whole(told.needed)}; they carry one of {decimal(told.margin)}."
    )


def grids(told: Advice) -> list[tuple[str, Grid]]:
    """The tables: what the queries carry, and how much of each page is judged."""
    tables = [
        ("what the queries carry, by the runs at hand", carried(told)),
        ("how much is judged", judged(told)),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def carried(told: Advice) -> Grid:
    """Power and reliability of each chosen metric."""
    rows = []
    for each in told.choices:
        found = each.carrying
        if found is None or found.sd is None:
            continue
        rho = UNDEFINED
        if found.e_rho2 is not None:
            rho = f"{found.e_rho2:.2f} [{number(found.low, 2)}, {number(found.high, 2)}]"
        still = UNDEFINED if found.unmoved is None else f"{found.unmoved:.0%}"
        rows.append((each.metric, str(found.n), decimal(found.sd), decimal(found.detectable),
                     decimal(found.margin), whole(found.needed), still, rho))  # fmt: skip
    margin = f"{told.answers.margin:g}"
    head = ("metric", "n", "sd", "detectable", "margin\ncarried", f"queries\nfor {margin}",
            "changed,\nunmoved", "Eρ²")  # fmt: skip
    return Grid(head, tuple(rows))


def judged(told: Advice) -> Grid:
    """The share of judged documents on each run's page."""
    rows = tuple(
        (shortened(printable(name), 40), UNDEFINED if share is None else f"{share:.1%}")
        for name, share in told.facts.judged
    )
    return Grid(("run", f"judged@{told.facts.page}"), rows)


def _notes(told: Advice) -> str:
    said = told.answers
    return (
        f"sd: of the differences to {printable(told.runs[0])}, by the run that differs most "
        f"unevenly. Detectable: the smallest true difference shown with a power of {said.power:.0%}"
        f", two-sided, alpha {said.alpha:g}. Margin carried: at it a candidate that is as good "
        f"passes the gate with that power, one-sided. Changed, unmoved: lists with another page for"
        f" which the metric stands still. Eρ²: how far other queries would order these runs alike,"
        f" from 0 to 1, of three runs or more."
    )


def _entry(choice: Choice, margin: float, width: int, markdown: bool) -> str:  # noqa: FBT001 - of `render`
    lines = {
        "why": _reasons(choice),
        "sees": [choice.sees],
        "blind to": [choice.blind_to],
    }
    if choice.role != "report" and (words := verdict(choice, margin)):
        lines["carried"] = [words]
    if markdown:
        told = [f"- {label}: {as_markdown.escaped(line)}" for label, some in lines.items()
                for line in some]  # fmt: skip
        return "\n".join([f"**{as_markdown.escaped(choice.metric)}**", "", *told])
    body = "".join(beside([label], some, [8], width - 2) for label, some in lines.items() if some)
    indented = "\n".join(f"  {line}" for line in body.splitlines())
    return f"{choice.metric}\n{indented}"


def _reasons(choice: Choice) -> list[str]:
    return [f"{reason.words} [{reason.source}]" for reason in choice.reasons]


def _head(text: str, markdown: bool) -> str:  # noqa: FBT001 - of `render`
    return f"## {text[0].upper()}{text[1:]}" if markdown else text


def _list(pairs: list[tuple[str, str | list[str]]], width: int, markdown: bool) -> str:  # noqa: FBT001
    told = [(label, [words] if isinstance(words, str) else words) for label, words in pairs]
    if markdown:
        return "\n".join(
            f"- {'' if label == '-' else as_markdown.escaped(label) + ': '}"
            f"{as_markdown.escaped('; '.join(words))}"
            for label, words in told
        )
    room = min(max(len(label) for label, _ in told), _LONGEST)
    return "".join(beside([label], words, [room], width) for label, words in told)
