"""Which metric when: the rules of ``rankgate advise``, asked for every task and stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _pages.words import MADE, label, prose, table
from rankgate.decisions.advice.advice_inputs import DEPTH, PAGE, STAGES, TASKS, DataFacts
from rankgate.decisions.advice.advice_rules import CAUTIONS, ROLES, RULES, SOURCES, fill_cutoffs, fill_facts
from rankgate.decisions.advice.advise import choices
from rankgate.measurement.metrics.metric_name_parser import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIST = {"retrieval": "candidates", "reranking": "an order of candidates", "final": "what people see"}
_SIZES = (
    (
        "One person, a few days",
        "25 to 50 queries, 10 documents each, one rater",
        (
            "nDCG@10 or RR@10, one of them in the gate with a margin of 0.05 or more; Judged@10 besides it. "
            "[Start here](../start/ci.md)."
        ),
    ),
    (
        "A team",
        "100 to 200 queries, sampled from logs (`rankgate pool --queries`), two raters on a fifth",
        (
            "a margin of 0.02 to 0.03; a second metric for the blind spots of the first (`rankgate "
            "blindspots`); queries that must not drop; agreement before every use. "
            "[Judging](../guides/judging.md)."
        ),
    ),
    (
        "An organisation",
        "several hundred queries by slices, several raters, language models admitted by evidence",
        (
            "a gate by slice, stages each with their own metric (`rankgate stages`), metrics on lists "
            "(`rankgate scorecard`), and A/B tests that have the last word."
        ),
    ),
)


def pages() -> Iterator[tuple[str, str]]:
    """The page by its place below ``reference``."""
    yield "which-metric.md", _page()


def _facts(task: str, stage: str, *, graded: bool, **other: object) -> DataFacts:
    """Data in good order: 200 queries, well judged, of five relevant documents each."""
    usual = {
        "task": task,
        "stage": stage,
        "page": PAGE,
        "depth": DEPTH,
        "queries": 200,
        "judgments": 4000,
        "grades": (0.0, 1.0, 2.0, 3.0) if graded else (0.0, 1.0),
        "graded": graded,
        "irrelevant": True,
        "relevant": 12.0,
        "single": 0.0,
        "without": 0.0,
        "over_page": 0.2,
        "over_depth": 0.0,
        "runs": 2,
        "judged": {"old": 1.0, "new": 1.0},
        "latency": True,
    }
    return DataFacts(**{**usual, **other})


def _page() -> str:
    parts = [
        MADE,
        "# Which metric when\n",
        (
            "The rules of [`rankgate advise`](commands/advise.md), asked here for every task and stage with "
            f"pages of {PAGE} and {DEPTH} candidates. The command answers these questions for your judgments "
            f"and runs, reports what your number of queries can show, and writes the policy of the gate.\n"
        ),
    ]
    for task, description in TASKS.items():
        parts += [f"## {task}: {description}\n", _task(task)]
    parts += [
        label("team-size") + "## By the size of the team\n",
        (
            "A margin that a gate can hold is a matter of how many queries are judged. On TREC data 50 "
            "queries show a difference of 0.02 in nDCG@20 with a chance of 19 %, 100 with 30 % "
            f"{_ref('urbano2019')}; `rankgate advise` says it of yours, and [Do verdicts "
            "hold?](../validity.md) of simulations. What a team of each size can carry, after the guide's "
            f"division of organisations {_ref('guide')}:\n"
        ),
        table(("team", "judgments that it can make", "metrics and gate"), _SIZES),
        "## What the data adds\n",
        _holes(),
        "## What no choice of metrics fixes\n",
        _cautions(),
        "## Sources\n",
        *(
            label(key) + f"{number}\\. {prose(citation)}\n"
            for number, (key, citation) in enumerate(SOURCES.items(), start=1)
        ),
    ]
    return "\n".join(parts)


def _task(task: str) -> str:
    rows = []
    for stage in STAGES:
        result = {graded: _cells(_facts(task, stage, graded=graded)) for graded in (True, False)}
        name = f"**{stage}**, {_LIST[stage]}"
        if result[True] == result[False]:
            rows.append((name, "any", *result[True]))
        else:
            rows += [(name, "several", *result[True]), ("", "yes or no", *result[False])]
    return table(("stage", "grades", "decide by", "watch", "report", "do not decide by"), rows)


def _cells(facts: DataFacts) -> list[str]:
    """The metrics of each role, each with the sources of its rules."""
    metric_choices = choices(facts)
    return [
        ", ".join(
            _cited(choice.metric, [reason.source for reason in choice.reasons])
            for choice in metric_choices
            if choice.role == role
        )
        for role in ROLES
    ]


def _cited(metric: str, sources: list[str]) -> str:
    """A metric with the numbers of its sources."""
    result = " ".join(map(_ref, dict.fromkeys(sources)))
    return f"[{metric}](metrics/{parse(metric).name}.md) {result}"


def _ref(source: str) -> str:
    return f"[[{list(SOURCES).index(source) + 1}]](#{source})"


def _holes() -> str:
    """The sentences of rules that need other data than the table has."""
    plain = _facts("explore", "final", graded=True)
    holes = _facts("explore", "final", graded=True, judged={"old": 0.6, "new": 0.6})
    few_queries = _facts("explore", "final", graded=True, queries=40)
    rows = [
        (
            result,
            _cited(fill_cutoffs(rule.metric, PAGE, DEPTH, 3), [rule.source]),
            prose(fill_facts(rule.reason, facts)),
        )
        for result, facts in (("a page is judged to 60 %", holes), ("40 queries", few_queries))
        for rule in RULES
        if rule.when(facts) and not rule.when(plain)
    ]
    return table(("where", "report too", "because"), rows)


def _cautions() -> str:
    facts = _facts("explore", "final", graded=True, judged={"old": 0.6}, queries=40, single=0.95)
    return "".join(
        f"- {prose(fill_facts(caution.words, facts))} {_ref(caution.source)}\n" for caution in CAUTIONS
    )
