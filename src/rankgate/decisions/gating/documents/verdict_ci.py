"""Verdicts for CI: JUnit XML, and GitHub's workflow commands."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from rankgate.core.present.grid import make_printable

if TYPE_CHECKING:
    from rankgate.decisions.gating.verdict import RuleResult, Verdict

_COMMANDS = {"fail": "error", "inconclusive": "warning", "pass": "notice"}


def junit(verdict: Verdict) -> str:
    """One test case a rule: a failed rule that blocks is a failure.

    An inconclusive one is an error: it could not be tested. Rules that warn or inform are skipped
    with their reason where they did not pass.
    """
    cases = "".join(_test_case(result, verdict) for result in verdict.rules)
    blocking = [result for result in verdict.rules if result.rule.tier == "block"]
    failures = sum(result.outcome.status == "fail" for result in blocking)
    errors = sum(result.outcome.status == "inconclusive" for result in blocking)
    skipped = sum(
        result.outcome.status != "pass" for result in verdict.rules if result.rule.tier != "block"
    )
    name = quoteattr(
        f"rankgate: {_xml_text(verdict.names[1])} against {_xml_text(verdict.names[0])}"
    )
    counts = (
        f'tests="{len(verdict.rules)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    )
    notes = "\n".join(map(_xml_text, verdict.notes))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites {counts}>\n<testsuite name={name} {counts}>\n{cases}"
        f"<system-out>{escape(notes)}</system-out>\n</testsuite>\n</testsuites>\n"
    )


def _test_case(result: RuleResult, verdict: Verdict) -> str:
    rule, outcome = result.rule, result.outcome
    attributes = (
        f"name={quoteattr(_xml_text(rule.id))} classname={quoteattr(f'rankgate.{rule.kind}')}"
    )
    text = _xml_text(outcome.reason) + (
        f"\nnext: {_xml_text(outcome.next)}" if outcome.next else ""
    )
    if outcome.status == "pass":
        return f"<testcase {attributes}><system-out>{escape(text)}</system-out></testcase>\n"
    tag = "skipped"
    if rule.tier == "block":
        tag = "failure" if outcome.status == "fail" else "error"
    kind = "" if tag == "skipped" else f" type={quoteattr(outcome.status)}"
    message = quoteattr(_xml_text(outcome.reason))
    lost_queries = [row for row in verdict.queries if row["metric"] == rule.get("metric")][:5]
    query_text = "".join(
        f"\n{_xml_text(row['query_id'])}: {row['delta']:+.4f}" for row in lost_queries
    )
    return (
        f"<testcase {attributes}><{tag} message={message}{kind}>{escape(text + query_text)}</{tag}>"
        "</testcase>\n"
    )


def workflow(verdict: Verdict) -> str:
    """A workflow command a rule, and one for the whole.

    A rule that does not block never gives an error.
    """
    baseline, candidate = verdict.names
    lines = [
        _command(
            _COMMANDS[verdict.verdict],
            "rankgate",
            f"{verdict.verdict}: {candidate} against {baseline}",
        )
    ]
    for result in verdict.rules:
        rule, outcome = result.rule, result.outcome
        kind = _COMMANDS[outcome.status]
        if kind == "error" and rule.tier != "block":
            kind = "warning" if rule.tier == "warn" else "notice"
        next_sentence = f" Next: {outcome.next}." if outcome.next else ""
        stop = "" if outcome.reason.endswith("…") else "."
        lines.append(
            _command(kind, f"rankgate: {rule.id}", f"{outcome.reason}{stop}{next_sentence}")
        )
    return "".join(lines)


def _command(kind: str, title: str, message: str) -> str:
    escaped_title = make_printable(title)
    for sign, code in (("%", "%25"), (":", "%3A"), (",", "%2C")):
        escaped_title = escaped_title.replace(sign, code)
    return f"::{kind} title={escaped_title}::{make_printable(message).replace('%', '%25')}\n"


def _xml_text(text: str) -> str:
    """Text with characters that XML can hold."""
    return "\n".join(make_printable(line) for line in text.split("\n"))
