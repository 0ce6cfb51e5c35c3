"""Verdicts: the word first, then the rules with their reasons, then the worst queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.present.document import (
    SIGNS,
    Document,
    Entries,
    Entry,
    Points,
    Section,
    Table,
    solid,
)
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import signed
from rankgate.core.present.forms.as_text import WIDTH
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import decimal
from rankgate.core.present.pages.page import page
from rankgate.core.present.result import ReportOptions
from rankgate.core.present.write import rendered
from rankgate.data.comparison import GIVEN
from rankgate.decisions.comparison.documents import changes
from rankgate.decisions.gating.documents import verdict_ci

if TYPE_CHECKING:
    from rankgate.decisions.gating.verdict import RuleResult, Verdict

FORMS = ("text", "json", "markdown", "junit", "github", "html")
"""The forms of a verdict, by the name that ``--format`` takes."""

_WORST, _LEAD = 10, 3


def render(result: Verdict, form: str, width: int = WIDTH) -> str:
    """The verdict in one of `FORMS`; a page is a report with its comparison."""
    if form == "junit":
        return verdict_ci.junit(result)
    if form == "github":
        return verdict_ci.workflow(result)
    return (
        page(page_document(result, ReportOptions()))
        if form == "html"
        else rendered(result, form, width)
    )


def document(result: Verdict) -> Document:
    """The rules with their outcomes, the queries that lost most, notes, inputs."""
    baseline, candidate = result.names
    heading = f"worst queries ({_some(result)})"
    return made(
        f"{candidate} against {baseline}",
        Entries(tuple(map(_entry, result.rules))),
        again(result),
        Table(heading, worst(result)),
        Table("states of queries", states(result)),
        Points(result.notes),
        inputs(result),
        status=result.verdict,
    )


def page_document(result: Verdict, options: ReportOptions) -> Document:
    """A page: the rules, then the comparison that the verdict is based on."""
    baseline, candidate = result.names
    comparison = result.comparison
    known = comparison.warnings if comparison else ()
    notes = Points(tuple(note for note in result.notes if note not in known))
    blocks = (
        Table("", rules(result)), again(result), Table("states of queries", states(result)), notes,
        inputs(result),
    )  # fmt: skip
    lead = _decisive(result)
    others: list[Section] = []
    if comparison is not None:
        lead = (*lead, changes.ground(comparison))
        own_options = replace(options, two_sided=True)
        others = changes.sections(comparison, options.place, own_options)
    elif result.queries:
        heading = f"{_some(result)}"
        others = [Section("worst", "Worst queries", (Table(heading, worst(result)),))]
    own = Section("verdict", f"Rules: {candidate} against {baseline}", solid(blocks), "Rules")
    return Document(f"{candidate} against {baseline}", result.verdict, lead, (own, *others))


def _decisive(result: Verdict) -> tuple[str, ...]:
    """The reasons of the blocking rules that have the outcome of the whole."""
    own = [
        f"{each.rule.id}: {each.outcome.reason}"
        for each in result.rules
        if each.rule.tier == "block" and each.outcome.status == result.verdict
    ]
    more = f"; and {len(own) - _LEAD} more" if len(own) > _LEAD else ""
    return (f"{'; '.join(own[:_LEAD])}{more}.",) if own else ()


def rules(result: Verdict) -> Grid:
    """How each rule ended, why, and what to do next."""
    rows = tuple(
        (
            f"{SIGNS[each.outcome.status]} {each.outcome.status}",
            each.rule.id,
            each.rule.tier,
            each.outcome.reason,
            each.outcome.next,
        )
        for each in result.rules
    )
    return Grid(("status", "rule", "tier", "why", "next"), rows, frozenset(range(5)))


def worst(result: Verdict) -> Grid:
    """The queries that lost most, by the metrics that rules look at first."""
    rows = tuple(
        (
            row["query_id"],
            row["metric"],
            decimal(row["baseline"]),
            decimal(row["candidate"]),
            signed(row["delta"]),
        )
        for row in result.queries[:_WORST]
    )
    baseline, candidate = map(printable, result.names)
    return Grid(("query", "metric", baseline, candidate, "delta"), rows, frozenset({0, 1}), keys=2)


def states(result: Verdict) -> Grid:
    """How many queries of each system are in each state; empty where all returned something."""
    names = dict(zip(("baseline", "candidate"), map(printable, result.names), strict=True))
    rows = [(names[row["system"]], row["state"], f"{row['queries']:,}") for row in result.states]
    if all(row["state"] == "ok" for row in result.states):
        rows = []
    return Grid(("system", "state", "queries"), tuple(rows), frozenset({0, 1}))


def again(result: Verdict) -> str:
    """How often resampled queries would change the verdict, and what that means."""
    found = result.again
    if found is None:
        return ""
    others = [
        f"{share:.0%} {name}"
        for name, share in found.verdicts.items()
        if share and name != result.verdict
    ]
    turned = sorted(found.rules.items(), key=lambda each: -each[1])
    changed = [f"{name} {share:.0%}" for name, share in turned[:_LEAD] if share]
    more = f" ({', '.join(others)})" if others else ""
    more += f"; rules that change: {', '.join(changed)}" if changed else ""
    return (
        f"would it decide the same again? {found.share:.0%} of {found.draws} resampled sets of "
        f"these queries give another verdict{more}. It says how much "
        "depends on which queries were drawn, not how probably the verdict is wrong; judgments "
        "and the systems' lists stay as they are."
    )


def _some(result: Verdict) -> str:
    """How many of the losses are shown; a query may lose in several metrics."""
    count = len(result.queries)
    single = len({row["metric"] for row in result.queries}) == 1
    return f"{min(count, _WORST)} of {count:,} {'that lost' if single else 'losses'}"


def inputs(result: Verdict) -> str:
    """Policy, judgments, convention and their hashes, in a line."""
    digests = {name: digest[:12] for name, digest in result.hashes.items() if digest}
    own = digests.pop("policy", None)
    parts = [f"policy: {printable(result.policy)}" + (f" ({own})" if own else "")]
    if result.convention.get("name") == GIVEN:
        digests["values"] = digests.pop("qrels", "")
    elif result.convention:
        parts.append(f"convention {result.convention['name']} ({result.convention['hash']})")
    parts += [f"{name} {digest}" for name, digest in digests.items()]
    if result.looks:
        parts.append(f"look {result.looks} at these queries")
    return ", ".join(parts)


def _entry(each: RuleResult) -> Entry:
    rule, outcome = each.rule, each.outcome
    tier = "" if rule.tier == "block" else f" ({rule.tier})"
    further = (f"next: {outcome.next}",) if outcome.next else ()
    label = f"{SIGNS[outcome.status]} {outcome.status}"
    return Entry(label, (f"{rule.id}{tier}", outcome.reason, *further))
