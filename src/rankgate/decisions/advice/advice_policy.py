"""Advice as a TOML policy for ``rankgate gate``, with a reason above each rule."""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING

from rankgate.core.present.document_model import make_printable
from rankgate.core.present.number_formats import count_noun, format_query_count
from rankgate.measurement.scoring import CONVENTIONS

if TYPE_CHECKING:
    from rankgate.decisions.advice.advise import Advice, AdvisedMetric


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
