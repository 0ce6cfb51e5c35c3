"""Verdicts for CI: JUnit XML, and GitHub's workflow commands."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from rankgate.core.present.grid import printable

if TYPE_CHECKING:
    from rankgate.decisions.gating.verdict import RuleResult, Verdict

_COMMANDS = {"fail": "error", "inconclusive": "warning", "pass": "notice"}


def junit(verdict: Verdict) -> str:
    """One test case a rule: a failed rule that blocks is a failure.

    An inconclusive one is an error: it could not be tested. Rules that warn or inform are skipped
    with their reason where they did not pass.
    """
    cases = "".join(_case(each, verdict) for each in verdict.rules)
    blocking = [each for each in verdict.rules if each.rule.tier == "block"]
    failures = sum(each.outcome.status == "fail" for each in blocking)
    errors = sum(each.outcome.status == "inconclusive" for each in blocking)
    skipped = sum(
        each.outcome.status != "pass" for each in verdict.rules if each.rule.tier != "block"
    )
    name = quoteattr(f"rankgate: {_plain(verdict.names[1])} against {_plain(verdict.names[0])}")
    counts = (
        f'tests="{len(verdict.rules)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    )
    notes = "\n".join(map(_plain, verdict.notes))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites {counts}>\n<testsuite name={name} {counts}>\n{cases}"
        f"<system-out>{escape(notes)}</system-out>\n</testsuite>\n</testsuites>\n"
    )


def _case(each: RuleResult, verdict: Verdict) -> str:
    rule, outcome = each.rule, each.outcome
    head = f"name={quoteattr(_plain(rule.id))} classname={quoteattr(f'rankgate.{rule.kind}')}"
    words = _plain(outcome.reason) + (f"\nnext: {_plain(outcome.next)}" if outcome.next else "")
    if outcome.status == "pass":
        return f"<testcase {head}><system-out>{escape(words)}</system-out></testcase>\n"
    tag = "skipped"
    if rule.tier == "block":
        tag = "failure" if outcome.status == "fail" else "error"
    kind = "" if tag == "skipped" else f" type={quoteattr(outcome.status)}"
    message = quoteattr(_plain(outcome.reason))
    lost = [row for row in verdict.queries if row["metric"] == rule.get("metric")][:5]
    more = "".join(f"\n{_plain(row['query_id'])}: {row['delta']:+.4f}" for row in lost)
    return (
        f"<testcase {head}><{tag} message={message}{kind}>{escape(words + more)}</{tag}>"
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
    for each in verdict.rules:
        rule, outcome = each.rule, each.outcome
        kind = _COMMANDS[outcome.status]
        if kind == "error" and rule.tier != "block":
            kind = "warning" if rule.tier == "warn" else "notice"
        after = f" Next: {outcome.next}." if outcome.next else ""
        stop = "" if outcome.reason.endswith("…") else "."
        lines.append(_command(kind, f"rankgate: {rule.id}", f"{outcome.reason}{stop}{after}"))
    return "".join(lines)


def _command(kind: str, title: str, words: str) -> str:
    head = printable(title)
    for sign, code in (("%", "%25"), (":", "%3A"), (",", "%2C")):
        head = head.replace(sign, code)
    return f"::{kind} title={head}::{printable(words).replace('%', '%25')}\n"


def _plain(words: str) -> str:
    """Words that XML can hold."""
    return "\n".join(printable(line) for line in words.split("\n"))
