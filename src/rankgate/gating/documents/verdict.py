"""Verdicts: the word first, then the rules with their reasons, then the worst queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gating.documents import verdict_ci, verdict_html
from rankgate.present import as_json, as_markdown
from rankgate.present.as_text import WIDTH, fitted
from rankgate.present.figures import signed
from rankgate.present.grid import Grid, printable
from rankgate.present.numbers import decimal
from rankgate.present.paragraphs import beside, wrapped

if TYPE_CHECKING:
    from rankgate.gating.verdict import Ended, Verdict

FORMS = ("text", "json", "markdown", "junit", "github", "html")
"""The forms of a verdict, by the name that ``--format`` takes."""

WORDS = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE"}
_SIGNS = {"pass": "✔", "fail": "✘", "inconclusive": "?"}
_WORST = 10


def render(told: Verdict, form: str, width: int = WIDTH) -> str:
    """The verdict in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    if form == "junit":
        return verdict_ci.junit(told)
    if form == "github":
        return verdict_ci.workflow(told)
    if form == "html":
        return verdict_html.page(told)
    return _markdown(told) if form == "markdown" else _text(told, width)


def headline(told: Verdict) -> str:
    """The verdict in a line."""
    baseline, candidate = map(printable, told.names)
    return f"{WORDS[told.verdict]}: {candidate} against {baseline}"


def rules(told: Verdict) -> Grid:
    """How each rule ended, why, and what to do next."""
    rows = tuple(
        (f"{_SIGNS[each.outcome.status]} {each.outcome.status}", each.rule.id, each.rule.tier,
         each.outcome.reason, each.outcome.next)
        for each in told.rules
    )  # fmt: skip
    return Grid(("status", "rule", "tier", "why", "next"), rows, frozenset(range(5)))


def worst(told: Verdict) -> Grid:
    """The queries that lost most, by the metrics that rules look at first."""
    rows = tuple(
        (row["query_id"], row["metric"], decimal(row["baseline"]), decimal(row["candidate"]),
         signed(row["delta"]))
        for row in told.queries[:_WORST]
    )  # fmt: skip
    baseline, candidate = map(printable, told.names)
    return Grid(("query", "metric", baseline, candidate, "delta"), rows, frozenset({0, 1}), keys=2)


def _some(told: Verdict) -> str:
    """How many of the losses are shown; a query may lose in several metrics."""
    count = len(told.queries)
    single = len({row["metric"] for row in told.queries}) == 1
    return f"{min(count, _WORST)} of {count:,} {'that lost' if single else 'losses'}"


def basis(told: Verdict) -> str:
    """What the verdict rests on: policy, judgments, convention, hashes."""
    digests = {name: digest[:12] for name, digest in told.hashes.items() if digest}
    own = digests.pop("policy", None)
    parts = [f"policy: {printable(told.policy)}" + (f" ({own})" if own else "")]
    if told.convention:
        parts.append(f"convention {told.convention['name']} ({told.convention['hash']})")
    parts += [f"{name} {digest}" for name, digest in digests.items()]
    if told.looks:
        parts.append(f"look {told.looks} at these queries")
    return ", ".join(parts)


def _text(told: Verdict, width: int) -> str:
    parts = [headline(told), "".join(_rule(each, width) for each in told.rules).rstrip()]
    if told.queries:
        parts.append(f"worst queries ({_some(told)})\n{fitted(worst(told), width)}")
    parts += ["\n".join(wrapped(f"- {note}", min(width, 100))) for note in told.notes]
    parts.append("\n".join(wrapped(basis(told), min(width, 100))))
    return "\n\n".join(parts) + "\n"


def _rule(each: Ended, width: int) -> str:
    rule, told = each.rule, each.outcome
    lines = [told.reason, *([f"next: {told.next}"] if told.next else [])]
    label = f"{_SIGNS[told.status]} {WORDS[told.status].lower()}"
    tier = "" if rule.tier == "block" else f" ({rule.tier})"
    return beside([label], [f"{rule.id}{tier}", *lines], [14], width)


def _markdown(told: Verdict) -> str:
    escaped = as_markdown.escaped
    baseline, candidate = (escaped(name) for name in told.names)
    parts = [f"## {_SIGNS[told.verdict]} {WORDS[told.verdict]}: {candidate} against {baseline}"]
    parts.append(as_markdown.table(rules(told)))
    if told.queries:
        parts += [f"### Worst queries ({_some(told)})", as_markdown.table(worst(told))]
    if told.notes:
        parts.append("\n".join(f"- {escaped(note)}" for note in told.notes))
    parts.append(f"<sub>{escaped(basis(told))}</sub>")
    return "\n\n".join(parts) + "\n"
