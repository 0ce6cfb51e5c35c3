"""Write advice as a TOML policy for ``rankgate gate``, with a reason above each rule."""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING

from rankgate.core.present.figures import whole
from rankgate.core.present.grid import printable
from rankgate.measurement.scoring import CONVENTIONS

if TYPE_CHECKING:
    from rankgate.decisions.advice.advice import Advice, AdvisedMetric

_COMPLETE = 0.8
_RISE = 1.2
_WIDTH = 96
_TIERS = {"gate": "block", "watch": "warn"}


def policy(advice: Advice) -> str:
    """The advice as a policy file; a convention of the user's own is left to be filled in."""
    said, facts = advice.answers, advice.facts
    about = (
        f"Advised for task {said.task}, stage {said.stage}, {said.page} documents a page and "
        f"{said.depth} candidates, by {_judgments(advice)} ({facts.queries} queries) and "
        f"{_runs(advice)}."
    )
    rules = [_rule(each, advice) for each in advice.choices if each.role in _TIERS]
    known = frozenset(CONVENTIONS)
    return "\n".join([_comment(about), *_settings(advice, known), *rules, *_further(advice)])


def _settings(advice: Advice, known: frozenset[str]) -> list[str]:
    said, name = advice.answers, str(advice.convention.get("name", "trec"))
    lines = ["", "[gate]"]
    if name in known:
        lines.append(f"convention = {json.dumps(name)}")
    else:
        lines.append(
            _comment(f"numbers here follow {printable(name)}; name its file: convention = …")
        )
    reported = [each.metric for each in advice.of("report")]
    lines.append(f"metrics = {json.dumps(reported)}  # reported in addition to those of the rules")
    lines += [f"alpha = {said.alpha!r}", f"power = {said.power!r}"]
    lines.append(f"depth = {max(said.page, 10)}")
    return lines


def _rule(choice: AdvisedMetric, advice: Advice) -> str:
    said = advice.answers
    lines = ["", *(_comment(f"{r.words} ({advice.sources[r.source]})") for r in choice.reasons)]
    lines.append(_comment(f"blind to {choice.blind_to}"))
    carried = choice.carrying
    if carried and carried.needed is not None and carried.margin is not None:
        enough = "enough" if carried.carries else f"too few: they carry {carried.margin:.3f}"
        lines.append(
            _comment(
                f"this margin takes {whole(carried.needed)} queries, by these runs; "
                f"{carried.n} are {enough}"
            )
        )
    lines += [
        "[[rules]]",
        f'id = "{_slug(choice.metric)}"',
        'kind = "noninferiority"',
        f"metric = {json.dumps(choice.metric)}",
        f"margin = {said.margin!r}",
        f'tier = "{_TIERS[choice.role]}"',
    ]
    return "\n".join(lines)


def _further(advice: Advice) -> list[str]:
    """Rules that any gate wants: holes, blindness, dead ends, latency."""
    page = advice.answers.page
    rules = [
        ("sees-the-change", "unseen", "", "what no metric of this gate sees"),
        (
            "no-dead-ends",
            "states",
            'state = "zero"\nmore = 0.0\n',
            "queries that return nothing, beyond the baseline's",
        ),
    ]
    if advice.answers.task != "recommend":  # a log judges what was shown, and no page is covered
        rules.insert(
            1,
            (
                "judged",
                "judged",
                f"at_least = {_COMPLETE}\nk = {page}\n",
                "unjudged documents count as not relevant",
            ),
        )
    if advice.facts.latency and advice.answers.stage == "final":
        rules.append(
            (
                "latency",
                "latency",
                f"max_ratio = {_RISE}\n",
                "relevance and latency decide together",
            )
        )
    return [
        f'\n{_comment(about)}\n[[rules]]\nid = "{name}"\nkind = "{kind}"\n{own}tier = "warn"'
        for name, kind, own, about in rules
    ] + [""]


def _judgments(advice: Advice) -> str:
    return f"judgments {printable(advice.qrels)}" if advice.qrels else "judgments still to be made"


def _runs(advice: Advice) -> str:
    names = ", ".join(map(printable, advice.runs))
    return f"runs {names}" if names else "no runs"


def _slug(metric: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", metric.lower()).strip("-")


def _comment(text: str) -> str:
    return textwrap.fill(
        printable(text),
        _WIDTH,
        initial_indent="# ",
        subsequent_indent="#   ",
        break_on_hyphens=False,
    )
