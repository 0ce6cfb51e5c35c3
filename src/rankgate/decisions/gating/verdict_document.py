"""Documents of verdicts, and verdicts for CI.

A document has the verdict, then the rules with their reasons, then the worst queries. Verdicts for
CI are JUnit XML, and GitHub's workflow commands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from rankgate.core.present.base_result import ReportOptions
from rankgate.core.present.document_model import (
    SIGNS,
    Document,
    Entries,
    Entry,
    Grid,
    Points,
    Section,
    Table,
    make_printable,
    nonempty_blocks,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import format_decimal, format_signed
from rankgate.core.present.pages.page import document_page
from rankgate.core.present.text_tables import WIDTH
from rankgate.core.present.write_results import render_result
from rankgate.data.run_scores import GIVEN_VALUES
from rankgate.decisions.comparison.documents import comparison_report
from rankgate.decisions.comparison.documents.comparison_grids import row_sentence
from rankgate.decisions.gating.bounds import MIN_QUERIES

if TYPE_CHECKING:
    from rankgate.decisions.gating.verdict import RuleResult, Verdict


VERDICT_FORMS = ("text", "json", "markdown", "junit", "github", "html")
"""The forms of a verdict, by the name that ``--format`` takes."""

_WORST, _LEAD = 10, 3


def render(result: Verdict, form: str, width: int = WIDTH) -> str:
    """The verdict in one of `FORMS`; a page is a report with its comparison."""
    if form == "junit":
        return junit(result)
    if form == "github":
        return workflow(result)
    return (
        document_page(page_document(result, ReportOptions()))
        if form == "html"
        else render_result(result, form, width)
    )


def verdict_document(result: Verdict) -> Document:
    """The rules with their outcomes, the queries that lost most, notes, inputs."""
    baseline, candidate = result.names
    heading = f"worst queries ({_shown_queries_text(result)})"
    rules, means, worst = (
        Entries(tuple(map(rule_entry, result.rules))),
        Table("", mean_grid(result)),
        Table(heading, lost_query_grid(result)),
    )
    # what a few queries show comes before the reason why they cannot decide
    is_few = result.verdict == "inconclusive" and any(row["n"] < MIN_QUERIES for row in result.means)
    return made(
        f"{candidate} against {baseline}",
        *((means, worst, rules) if is_few else (rules, means, flip_rate_note(result), worst)),
        Table("states of queries", state_grid(result)),
        Points(result.notes),
        input_line(result),
        lead=_lead(result),
        status=result.verdict,
    )


def page_document(result: Verdict, options: ReportOptions) -> Document:
    """A page: the rules, then the comparison that the verdict is based on."""
    baseline, candidate = result.names
    comparison = result.comparison
    comparison_warnings = comparison.warnings if comparison else ()
    notes = Points(tuple(note for note in result.notes if note not in comparison_warnings))
    blocks = (
        Table("", rule_grid(result)),
        flip_rate_note(result),
        Table("states of queries", state_grid(result)),
        notes,
        input_line(result),
    )
    lead = tuple(filter(None, (*_lead(result), *_decisive_reasons(result))))
    comparison_sections: list[Section] = []
    if comparison is not None:
        lead = (*lead, comparison_report.source_sentence(comparison))
        own_options = replace(options, two_sided=True)
        comparison_sections = comparison_report.sections(comparison, options.place, own_options)
    elif result.queries:
        heading = f"{_shown_queries_text(result)}"
        comparison_sections = [Section("worst", "Worst queries", (Table(heading, lost_query_grid(result)),))]
    rules_section = Section(
        "verdict", f"Rules: {candidate} against {baseline}", nonempty_blocks(blocks), "Rules"
    )
    return Document(
        f"{candidate} against {baseline}", result.verdict, lead, (rules_section, *comparison_sections)
    )


def _decisive_reasons(result: Verdict) -> tuple[str, ...]:
    """The reasons of the blocking rules with the outcome of the verdict."""
    reasons = [
        f"{result_of_rule.rule.id}: {result_of_rule.outcome.reason}"
        for result_of_rule in result.rules
        if result_of_rule.rule.tier == "block" and result_of_rule.outcome.status == result.verdict
    ]
    further_reasons = f"; and {len(reasons) - _LEAD} more" if len(reasons) > _LEAD else ""
    return (f"{'; '.join(reasons[:_LEAD])}{further_reasons}.",) if reasons else ()


def _lead(result: Verdict) -> tuple[str, ...]:
    """The sentence on the verdict, after the subset that is answered if it is one."""
    return (*([f"{result.coverage}."] if result.subset else []), verdict_sentence(result))


def verdict_sentence(result: Verdict) -> str:
    """A sentence on the verdict: queries, the mean, and the loss that the policy allows."""
    if not result.means:
        return ""
    row = result.means[0]
    if result.subset and row["wins"] == row["losses"] == 0:
        row = {**row, "n": result.subset[0]}  # queries without answers are not unchanged
    limits = (
        result_of_rule.outcome
        for result_of_rule in result.rules
        if result_of_rule.rule.kind == "noninferiority"
        and result_of_rule.rule.slice is None
        and result_of_rule.rule["metric"] == row["metric"]
    )
    outcome = next(limits, None)
    if outcome is None or outcome.margin is None:
        return row_sentence(row)
    loss = f"{outcome.margin:g}"
    ending = {
        "pass": f", and a loss of more than {loss}, which the policy allows, can be excluded",
        "fail": f", a loss of more than the {loss} that the policy allows",
        "inconclusive": f"; a loss of more than {loss}, which the policy allows, cannot be excluded",
    }[outcome.status]
    return row_sentence(row, ending)


def mean_grid(result: Verdict) -> Grid:
    """The means of both systems by the metrics of the rules."""
    rows = tuple(
        (
            row["metric"],
            format_decimal(row["baseline"]),
            format_decimal(row["candidate"]),
            format_signed(row["delta"]),
        )
        for row in result.means
    )
    return Grid(("metric", *map(make_printable, result.names), "delta"), rows)


def rule_grid(result: Verdict) -> Grid:
    """Each rule with its status, its reason and the next step."""
    rows = tuple(
        (
            f"{SIGNS[result_of_rule.outcome.status]} {result_of_rule.outcome.status}",
            result_of_rule.rule.id,
            result_of_rule.rule.tier,
            result_of_rule.outcome.reason,
            result_of_rule.outcome.next,
        )
        for result_of_rule in result.rules
    )
    return Grid(("status", "rule", "tier", "why", "next"), rows, frozenset(range(5)))


def lost_query_grid(result: Verdict) -> Grid:
    """The queries that lost most; metrics of rules come first."""
    rows = tuple(
        (
            row["query_id"],
            row["metric"],
            format_decimal(row["baseline"]),
            format_decimal(row["candidate"]),
            format_signed(row["delta"]),
        )
        for row in result.queries[:_WORST]
    )
    baseline, candidate = map(make_printable, result.names)
    return Grid(("query", "metric", baseline, candidate, "delta"), rows, frozenset({0, 1}), keys=2)


def state_grid(result: Verdict) -> Grid:
    """The number of queries of each system by state; empty if every query has a list."""
    names = dict(zip(("baseline", "candidate"), map(make_printable, result.names), strict=True))
    rows = [(names[row["system"]], row["state"], f"{row['queries']:,}") for row in result.states]
    if all(row["state"] == "ok" for row in result.states):
        rows = []
    return Grid(("system", "state", "queries"), tuple(rows), frozenset({0, 1}))


def flip_rate_note(result: Verdict) -> str:
    """The share of resampled sets of queries that change the verdict, with its meaning."""
    flip_rate = result.again
    if flip_rate is None:
        return ""
    other_shares = [
        f"{share:.0%} {name}"
        for name, share in flip_rate.verdicts.items()
        if share and name != result.verdict
    ]
    rule_shares = sorted(flip_rate.rules.items(), key=lambda rule_and_share: -rule_and_share[1])
    changed_rules = [f"{name} {share:.0%}" for name, share in rule_shares[:_LEAD] if share]
    more = f" ({', '.join(other_shares)})" if other_shares else ""
    more += f"; rules that change: {', '.join(changed_rules)}" if changed_rules else ""
    return (
        f"would it decide the same again? {flip_rate.share:.0%} of {flip_rate.draws} resampled sets of these "
        f"queries give another verdict{more}. It shows how much the verdict depends on the sample of "
        "queries, not the probability that the verdict is wrong; judgments and the systems' lists stay as "
        "they are."
    )


def _shown_queries_text(result: Verdict) -> str:
    """The number of shown queries, of all that lost by a metric."""
    lost_count = len({row["query_id"] for row in result.queries})
    shown_count = len({row["query_id"] for row in result.queries[:_WORST]})
    return f"{shown_count} of {lost_count:,} that lost"


def input_line(result: Verdict) -> str:
    """A line with policy, judgments, convention and their hashes."""
    digests = {name: digest[:12] for name, digest in result.hashes.items() if digest}
    policy_digest = digests.pop("policy", None)
    parts = [f"policy: {make_printable(result.policy)}" + (f" ({policy_digest})" if policy_digest else "")]
    if result.convention.get("name") == GIVEN_VALUES:
        digests["values"] = digests.pop("qrels", "")
    elif result.convention:
        parts.append(f"convention {result.convention['name']} ({result.convention['hash']})")
    parts += [f"{name} {digest}" for name, digest in digests.items()]
    if result.looks:
        parts.append(f"look {result.looks} at these queries")
    return ", ".join(parts)


def rule_entry(result: RuleResult) -> Entry:
    """The status of a rule, its reason, and the next step."""
    rule, outcome = result.rule, result.outcome
    tier = "" if rule.tier == "block" else f" ({rule.tier})"
    next_lines = (f"next: {outcome.next}",) if outcome.next else ()
    label = f"{SIGNS[outcome.status]} {outcome.status}"
    return Entry(label, (f"{rule.id}{tier}", outcome.reason, *next_lines))


_COMMANDS = {"fail": "error", "inconclusive": "warning", "pass": "notice"}


def junit(verdict: Verdict) -> str:
    """One test case per rule: a failed blocking rule is a failure.

    An inconclusive blocking rule is an error, as it could not be tested. Rules that warn or inform
    are skipped with their reason if they did not pass.
    """
    cases = "".join(_test_case(result, verdict) for result in verdict.rules)
    blocking = [result for result in verdict.rules if result.rule.tier == "block"]
    failures = sum(result.outcome.status == "fail" for result in blocking)
    errors = sum(result.outcome.status == "inconclusive" for result in blocking)
    skipped = sum(result.outcome.status != "pass" for result in verdict.rules if result.rule.tier != "block")
    name = quoteattr(f"rankgate: {_xml_text(verdict.names[1])} against {_xml_text(verdict.names[0])}")
    counts = f'tests="{len(verdict.rules)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    notes = "\n".join(map(_xml_text, verdict.notes))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites {counts}>\n<testsuite name={name} {counts}>\n{cases}"
        f"<system-out>{escape(notes)}</system-out>\n</testsuite>\n</testsuites>\n"
    )


def _test_case(result: RuleResult, verdict: Verdict) -> str:
    rule, outcome = result.rule, result.outcome
    attributes = f"name={quoteattr(_xml_text(rule.id))} classname={quoteattr(f'rankgate.{rule.kind}')}"
    text = _xml_text(outcome.reason) + (f"\nnext: {_xml_text(outcome.next)}" if outcome.next else "")
    if outcome.status == "pass":
        return f"<testcase {attributes}><system-out>{escape(text)}</system-out></testcase>\n"
    tag = "skipped"
    if rule.tier == "block":
        tag = "failure" if outcome.status == "fail" else "error"
    kind = "" if tag == "skipped" else f" type={quoteattr(outcome.status)}"
    message = quoteattr(_xml_text(outcome.reason))
    lost_queries = [row for row in verdict.queries if row["metric"] == rule.get("metric")][:5]
    query_text = "".join(f"\n{_xml_text(row['query_id'])}: {row['delta']:+.4f}" for row in lost_queries)
    return (
        f"<testcase {attributes}><{tag} message={message}{kind}>{escape(text + query_text)}</{tag}>"
        "</testcase>\n"
    )


def workflow(verdict: Verdict) -> str:
    """One workflow command per rule, and one for the verdict.

    A rule that does not block never gives an error.
    """
    baseline, candidate = verdict.names
    lines = [
        _command(_COMMANDS[verdict.verdict], "rankgate", f"{verdict.verdict}: {candidate} against {baseline}")
    ]
    for result in verdict.rules:
        rule, outcome = result.rule, result.outcome
        kind = _COMMANDS[outcome.status]
        if kind == "error" and rule.tier != "block":
            kind = "warning" if rule.tier == "warn" else "notice"
        next_sentence = f" Next: {outcome.next}." if outcome.next else ""
        stop = "" if outcome.reason.endswith("…") else "."
        lines.append(_command(kind, f"rankgate: {rule.id}", f"{outcome.reason}{stop}{next_sentence}"))
    return "".join(lines)


def _command(kind: str, title: str, message: str) -> str:
    escaped_title = make_printable(title)
    for sign, code in (("%", "%25"), (":", "%3A"), (",", "%2C")):
        escaped_title = escaped_title.replace(sign, code)
    return f"::{kind} title={escaped_title}::{make_printable(message).replace('%', '%25')}\n"


def _xml_text(text: str) -> str:
    """The text, limited to characters that XML allows."""
    return "\n".join(make_printable(line) for line in text.split("\n"))
