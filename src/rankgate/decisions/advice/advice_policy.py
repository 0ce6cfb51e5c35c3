"""Render advice as a document, or write it as a TOML policy for ``rankgate gate``.

The document shows the recommended metrics with reasons, power, blind spots and sources. The
policy has a reason above each rule.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.core.present.document_model import (
    Code,
    Document,
    Entries,
    Entry,
    Grid,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import (
    UNDEFINED,
    count_noun,
    format_decimal,
    format_number,
    format_query_count,
)
from rankgate.core.present.text_tables import shorten_middle
from rankgate.measurement.scoring import CONVENTIONS

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Block
    from rankgate.decisions.advice.advise import Advice, AdvisedMetric


_ROLES = {
    "gate": "decide by: a loss beyond the margin blocks",
    "watch": "watch: a loss beyond the margin warns",
    "report": "report as well",
}


def advice_document(advice: Advice, *, commands: Sequence[Sequence[str]] = (), columns: int = 78) -> Document:
    """Recommended metrics with reasons, power of the queries, cautions, next commands, sources.

    Args:
        advice: the advice.
        commands: arguments of the commands to run next.
        columns: the width of their lines.
    """
    margin = advice.answers.margin
    blocks: list[Block] = [Warnings.from_notices(advice.input_notices)]
    blocks += [
        Entries(
            tuple(Entry(choice.metric, _entry_lines(choice, margin)) for choice in advice.of(role)), heading
        )
        for role, heading in _ROLES.items()
    ]
    avoided = tuple(Entry(choice.metric, tuple(_reason_lines(choice))) for choice in advice.avoided)
    blocks.append(Entries(avoided, "do not decide by"))
    blocks += [Table(heading, grid) for heading, grid in grids(advice)]
    blocks += [_notes(advice)] if power_grid(advice).rows else []
    cautions = tuple(Entry("-", (f"{caution.words} [{caution.source}]",)) for caution in advice.cautions)
    blocks.append(Entries(cautions, "to know"))
    if commands:
        blocks += [
            "to run next",
            Code("\n".join(shell_command(arguments, columns) for arguments in commands)),
        ]
    sources = tuple(Entry(f"[{key}]", (citation,)) for key, citation in advice.sources.items())
    return made(title(advice), *blocks, Entries(sources, "sources"))


def shell_command(arguments: Sequence[str], width: int) -> str:
    r"""A command in shell syntax, with line breaks where a line would be too long.

    >>> print(shell_command(["rankgate", "eval", "my qrels.txt", "a.run", "-m", "RR"], 34))
    rankgate eval 'my qrels.txt' \
      a.run -m RR
    """
    lines = [""]
    for word in map(shlex.quote, arguments):
        longer_line = f"{lines[-1]} {word}" if lines[-1] else word
        if len(longer_line) > width - 2 and lines[-1]:
            lines.append(f"  {word}")
        else:
            lines[-1] = longer_line
    return " \\\n".join(lines)


def title(advice: Advice) -> str:
    """The task and the inputs, in one sentence."""
    answers, facts = advice.answers, advice.facts
    grades = ", ".join(f"{grade:g}" for grade in facts.grades[:8])
    more = ", …" if len(facts.grades) > 8 else ""
    runs = ", ".join(map(make_printable, advice.runs)) or "no runs"
    request = (
        f"Metrics for task {answers.task}, stage {answers.stage}, pages of {answers.page}, "
        f"{count_noun(answers.depth, 'candidate')}; "
    )
    if not advice.qrels:
        return (
            f"{request}no judgments yet: {count_noun(facts.queries, 'query')}, grades {grades}{more} assumed"
        )
    return (
        f"{request}judgments {make_printable(advice.qrels)}: "
        f"{count_noun(facts.queries, 'query')}, "
        f"{count_noun(facts.judgments, 'judged document')}, grades {grades}{more}, {facts.relevant:g} "
        f"relevant a query (median); {runs}; convention {advice.convention['name']} "
        f"({advice.convention['hash']})"
    )


def margin_sentence(choice: AdvisedMetric, margin: float) -> str:
    """A sentence on the margin that the queries carry; empty without an estimate."""
    carrying = choice.carrying
    if carrying is None or carrying.needed is None or carrying.margin is None:
        return ""
    if carrying.carries:
        return (
            f"{count_noun(carrying.n, 'query carries', 'queries carry')} a margin of {margin:g}, which takes "
            f"{format_query_count(carrying.needed)}; they detect a difference of "
            f"{format_decimal(carrying.detectable)}."
        )
    return (
        f"{count_noun(carrying.n, 'query does', 'queries do')} not carry a margin of {margin:g}, which takes "
        f"{format_query_count(carrying.needed)}; they carry one of {format_decimal(carrying.margin)}."
    )


def grids(advice: Advice) -> list[tuple[str, Grid]]:
    """The tables: power of the queries, and the judged share of each run's page."""
    tables = [
        ("differences that the queries can show, by these runs", power_grid(advice)),
        ("judged shares", judged_grid(advice)),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def power_grid(advice: Advice) -> Grid:
    """Power and reliability of each chosen metric."""
    rows = []
    for choice in advice.choices:
        carrying = choice.carrying
        if carrying is None or carrying.sd is None:
            continue
        rho = UNDEFINED
        if carrying.e_rho2 is not None:
            low, high = format_number(carrying.low, 2), format_number(carrying.high, 2)
            rho = f"{carrying.e_rho2:.2f} [{low}, {high}]"
        unmoved_share = UNDEFINED if carrying.unmoved is None else f"{carrying.unmoved:.0%}"
        rows.append(
            (
                choice.metric,
                str(carrying.n),
                format_decimal(carrying.sd),
                format_decimal(carrying.detectable),
                format_decimal(carrying.margin),
                format_query_count(carrying.needed),
                unmoved_share,
                rho,
            )
        )
    margin = f"{advice.answers.margin:g}"
    header = (
        "metric",
        "n",
        "sd",
        "detectable",
        "margin\ncarried",
        f"queries\nfor {margin}",
        "changed,\nunmoved",
        "Eρ²",
    )
    return Grid(header, tuple(rows))


def judged_grid(advice: Advice) -> Grid:
    """The share of judged documents on each run's page."""
    rows = tuple(
        (shorten_middle(make_printable(name), 40), UNDEFINED if share is None else f"{share:.1%}")
        for name, share in advice.facts.judged
    )
    return Grid(("run", f"judged@{advice.facts.page}"), rows)


def _notes(advice: Advice) -> str:
    answers = advice.answers
    return (
        f"sd: of the differences to {make_printable(advice.runs[0])}, by the run that differs most unevenly. "
        "Detectable: the smallest true difference shown with a power of "
        f"{answers.power:.0%}, two-sided, alpha {answers.alpha:g}. Margin carried: at it a candidate that is "
        "as good passes the gate with that power, one-sided. Changed, unmoved: lists with other documents at "
        "the top but an equal value of the metric. Eρ²: how far other queries would give these runs the same "
        "order, from 0 to 1, for three runs or more."
    )


def _entry_lines(choice: AdvisedMetric, margin: float) -> tuple[str, ...]:
    lines = [*_reason_lines(choice), f"sees: {choice.sees}", f"blind to: {choice.blind_to}"]
    sentence = margin_sentence(choice, margin) if choice.role != "report" else ""
    return tuple([*lines, sentence] if sentence else lines)


def _reason_lines(choice: AdvisedMetric) -> list[str]:
    return [f"{reason.words} [{reason.source}]" for reason in choice.reasons]


_MIN_JUDGED = 0.8
_MAX_LATENCY_RATIO = 1.2
_WIDTH = 96
_TIERS = {"gate": "block", "watch": "warn"}


def policy(advice: Advice) -> str:
    """The advice as the text of a policy file; the user must fill in a custom convention."""
    answers, facts = advice.answers, advice.facts
    summary = (
        f"Advised for task {answers.task}, stage {answers.stage}, "
        f"{count_noun(answers.page, 'document')} a page and "
        f"{count_noun(answers.depth, 'candidate')}, by {_judgments_text(advice)} "
        f"({count_noun(facts.queries, 'query')}) and {_runs_text(advice)}."
    )
    rules = [_rule(choice, advice) for choice in advice.choices if choice.role in _TIERS]
    convention_names = frozenset(CONVENTIONS)
    return "\n".join(
        [_comment(summary), *_settings(advice, convention_names), *rules, *_common_rules(advice)]
    )


def _settings(advice: Advice, convention_names: frozenset[str]) -> list[str]:
    answers, name = advice.answers, str(advice.convention.get("name", "trec"))
    lines = ["", "[gate]"]
    if name in convention_names:
        lines.append(f"convention = {json.dumps(name)}")
    else:
        lines.append(_comment(f"numbers here follow {make_printable(name)}; name its file: convention = …"))
    reported_metrics = [choice.metric for choice in advice.of("report")]
    lines.append(f"metrics = {json.dumps(reported_metrics)}  # reported in addition to those of the rules")
    lines += [f"alpha = {answers.alpha!r}", f"power = {answers.power!r}"]
    lines.append(f"depth = {max(answers.page, 10)}")
    return lines


def _rule(choice: AdvisedMetric, advice: Advice) -> str:
    answers = advice.answers
    lines = [
        "",
        *(_comment(f"{reason.words} ({advice.sources[reason.source]})") for reason in choice.reasons),
    ]
    lines.append(_comment(f"blind to {choice.blind_to}"))
    carrying = choice.carrying
    if carrying and carrying.needed is not None and carrying.margin is not None:
        sufficiency = "enough" if carrying.carries else f"too few: they carry {carrying.margin:.3f}"
        lines.append(
            _comment(
                f"this margin takes {format_query_count(carrying.needed)} queries, by these runs; "
                f"{carrying.n} are {sufficiency}"
            )
        )
    lines += [
        "[[rules]]",
        f'id = "{_slug(choice.metric)}"',
        'kind = "noninferiority"',
        f"metric = {json.dumps(choice.metric)}",
        f"margin = {answers.margin!r}",
        f'tier = "{_TIERS[choice.role]}"',
    ]
    return "\n".join(lines)


def _common_rules(advice: Advice) -> list[str]:
    """Rules that every gate should have: holes, blind spots, dead ends, latency."""
    page = advice.answers.page
    rules = [
        ("sees-the-change", "unseen", "", "changes that no metric of this gate detects"),
        (
            "no-dead-ends",
            "states",
            'state = "zero"\nmore = 0.0\n',
            "queries that return nothing, beyond the baseline's",
        ),
    ]
    if advice.answers.task != "recommend":  # a log covers shown documents only
        rules.insert(
            1,
            (
                "judged",
                "judged",
                f"at_least = {_MIN_JUDGED}\nk = {page}\n",
                "unjudged documents count as not relevant",
            ),
        )
    if advice.facts.latency and advice.answers.stage == "final":
        rules.append(
            (
                "latency",
                "latency",
                f"max_ratio = {_MAX_LATENCY_RATIO}\n",
                "relevance and latency decide together",
            )
        )
    return [
        f'\n{_comment(purpose)}\n[[rules]]\nid = "{name}"\nkind = "{kind}"\n{settings}tier = "warn"'
        for name, kind, settings, purpose in rules
    ] + [""]


def _judgments_text(advice: Advice) -> str:
    return f"judgments {make_printable(advice.qrels)}" if advice.qrels else "judgments still to be made"


def _runs_text(advice: Advice) -> str:
    names = ", ".join(map(make_printable, advice.runs))
    return f"runs {names}" if names else "no runs"


def _slug(metric: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", metric.lower()).strip("-")


def _comment(text: str) -> str:
    return textwrap.fill(
        make_printable(text), _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False
    )
