"""Documents of verdicts, and verdicts for CI.

A document has the verdict, its evidence, the rules, and the largest losses; all reasons, methods and
hashes where details are wanted. Verdicts for CI are JUnit XML, and GitHub's workflow commands.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import file_digest
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import polars as pl

from rankgate.core.present.base_result import ReportOptions
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, QUERY_ID
from rankgate.core.present.document_model import (
    SIGNS,
    Document,
    Entries,
    Entry,
    Points,
    QueryLists,
    Section,
    Warnings,
    make_printable,
    nonempty_blocks,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.layout import View, fill
from rankgate.core.present.pages.page import document_page
from rankgate.core.present.text_tables import WIDTH, shorten_middle
from rankgate.core.present.write_results import render_result, to_json
from rankgate.data.run_scores import GIVEN_VALUES
from rankgate.decisions.comparison.documents import comparison_report
from rankgate.decisions.comparison.documents.comparison_grids import row_sentence
from rankgate.decisions.gating.bounds import MIN_QUERIES
from rankgate.decisions.gating.outcome_sentences import limit_percent
from rankgate.decisions.gating.pull_requests import run_url
from rankgate.decisions.gating.verdict import exit_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankgate.core.present.document_model import Block
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.decisions.gating.rule import Outcome
    from rankgate.decisions.gating.verdict import RuleResult, Verdict


VERDICT_FORMS = ("text", "json", "markdown", "junit", "github", "html", "comment", "intoto")
"""The forms of a verdict, by the name that ``--format`` takes; a command writes the last two."""

_WORST, _SHORT, _LEAD = 10, 3, 3


def render(result: Verdict, form: str, width: int = WIDTH, *, details: bool = False) -> str:
    """The verdict in one of `FORMS`; a page is a report with its comparison.

    Args:
        result: the verdict.
        form: one of `FORMS`.
        width: columns of text.
        details: true for methods, hashes, the reasons of all rules and more losses in text and Markdown.
    """
    if form == "junit":
        return junit(result)
    if form == "github":
        return workflow(result)
    return (
        document_page(page_document(result, ReportOptions(queries=result.texts)))
        if form == "html"
        else render_result(result, form, width, **({"details": True} if details and form != "json" else {}))
    )


def verdict_document(result: Verdict, *, details: bool = False) -> Document:
    """The means, the rules, the queries that lost most, and notes.

    Args:
        result: the verdict.
        details: true for methods, hashes, the reasons of all rules and more losses.
    """
    loss_count = _WORST if details else _SHORT
    rules = Entries(tuple(rule.entry(short=not details) for rule in result.rules), "rules")
    means = [*_means(result).blocks(result)]
    worst = [*_lost_queries(result, loss_count).blocks(result)]
    # what a few queries show comes before the reason why they cannot decide
    is_few = result.verdict == "inconclusive" and any(row["n"] < MIN_QUERIES for row in result.means)
    closing_blocks = (
        (flip_rate_note(result), Points(result.methods), input_line(result))
        if details
        else (stability_line(result), Points(_next_steps(result)))
    )
    blocks: list[Block] = [*means, *worst, rules] if is_few else [*means, rules, *worst]
    return made(
        result.claim,
        *blocks,
        *_states(result).blocks(result),
        Warnings(result.notes if details else _short_notes(result)),
        *closing_blocks,
        lead=_lead(result),
        status=result.verdict,
    )


_MOVED = 5  # queries that lost most, of a comment


def comment_document(result: Verdict) -> Document:
    """The means, the rules, and both lists of the queries that moved most."""
    rules = Entries(tuple(_one_sentence(rule.entry(short=True)) for rule in result.rules), "rules")
    lists: list[Block] = []
    if result.comparison is not None:
        options = ReportOptions(worst=_MOVED, queries=result.texts)
        changes = comparison_report.make_changes(result.comparison, options.place, options)
        lists = [block for block in changes.queries if isinstance(block, QueryLists)]
    return made(
        result.claim,
        *_means(result).blocks(result),
        rules,
        *_states(result).blocks(result),
        Warnings(_short_notes(result)),
        stability_line(result),
        *(lists or _lost_queries(result, _MOVED).blocks(result)),
        lead=_lead(result),
        status=result.verdict,
    )


def _one_sentence(entry: Entry) -> Entry:
    """An entry for a cell of a table: the rule, its reason and the next step in one text."""
    name, *sentences = entry.lines
    text = ". ".join(sentences).replace(". next: ", ". Next: ")
    return Entry(entry.label, (f"{name}: {text}.",)) if sentences else entry


def _short_notes(result: Verdict) -> tuple[str, ...]:
    """The notes, without those about a metric that no rule names."""
    ruled_metrics = {row["metric"] for row in result.means}
    other_metrics = (row["metric"] for row in result.all_means if row["metric"] not in ruled_metrics)
    beginnings = tuple(f"{metric}: " for metric in other_metrics)
    return tuple(note for note in result.notes if not note.startswith(beginnings))


def _next_steps(result: Verdict) -> tuple[str, ...]:
    """The policy, and the commands that show more."""
    commands = [f"look at one: rankgate compare … --query {row['query_id']}" for row in result.queries[:1]]
    return (
        f"policy: {make_printable(result.policy)}",
        *(commands if result.convention.get("name") != GIVEN_VALUES else ()),
        "methods, hashes and more losses: add --details",
    )


def page_document(result: Verdict, options: ReportOptions) -> Document:
    """A page: the rules, then the comparison that the verdict is based on."""
    baseline, candidate = result.names
    comparison = result.comparison
    comparison_warnings = comparison.warnings if comparison else ()
    notes = Points((*result.methods, *(note for note in result.notes if note not in comparison_warnings)))
    blocks: tuple[Block, ...] = (
        *_rules(result).blocks(result),
        flip_rate_note(result),
        *_states(result).blocks(result),
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
        losses = tuple(_lost_queries(result, _WORST).blocks(result))
        comparison_sections = [Section("worst", "Largest losses", losses)]
    rules_section = Section(
        "verdict", f"Rules: {candidate} against {baseline}", nonempty_blocks(blocks), "Rules"
    )
    return Document(result.claim, result.verdict, lead, (rules_section, *comparison_sections))


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
    outcome = _loss_outcome(result, row["metric"])
    if outcome is None or outcome.margin is None:
        return row_sentence(row)
    ending = {
        "pass": "; a loss larger than the allowed {margin:g} is ruled out",
        "fail": ": the loss is larger than the allowed {margin:g}",
        "inconclusive": "; a loss larger than the allowed {margin:g} is not ruled out",
    }[outcome.status]
    if outcome.status == "inconclusive" and _is_worse(row, outcome):
        ending = "; it is worse, and whether by more than the allowed {margin:g} is not settled"
    return row_sentence(row, fill(ending, outcome))


def _loss_outcome(result: Verdict, metric: str) -> Outcome | None:
    """The outcome of the rule on the loss of a metric over all queries, if there is one."""
    outcomes = (
        rule_result.outcome
        for rule_result in result.rules
        if rule_result.rule.kind == "noninferiority"
        and rule_result.rule.slice is None
        and rule_result.rule["metric"] == metric
    )
    return next(outcomes, None)


def _is_lower_better(row: Mapping[str, Any]) -> bool:
    return bool(row["gain"] * row["delta"] < 0)


def _is_worse(row: Mapping[str, Any], outcome: Outcome) -> bool:
    """True if the interval of a difference is on the side of losses."""
    end = outcome.low if _is_lower_better(row) else outcome.high
    return end is not None and (end > 0 if _is_lower_better(row) else end < 0)


def _means(result: Verdict) -> View:
    """The means of both systems by the metrics of the rules, and the bound that a pass needs."""
    ruled_metrics = {row["metric"] for row in result.means}
    rows = []
    for row in result.all_means:
        outcome = _loss_outcome(result, row["metric"])
        bound = None if outcome is None else outcome.high if _is_lower_better(row) else outcome.low
        is_ruled = row["metric"] in ruled_metrics
        rows.append({**row, "bound": bound if is_ruled else None, "remark": "" if is_ruled else "not gated"})
    table = pl.DataFrame(rows, _MEANS)
    level = "" if result.level is None else f" {limit_percent(result.level)}"
    return View(
        table,
        cells=_MEAN_CELLS if table["bound"].count() else _MEAN_CELLS[:4],
        columns=_MEANS,
        headers={**_NAMES, "bound": f"one-sided{level}\nbound"},
        optional=("remark",),
    )


def _shorten(text: str | None) -> str:
    return shorten_middle(make_printable(text or ""), 40)


_NAMES = {"baseline": "{names[0]}", "candidate": "{names[1]}"}
_VALUES = Columns(
    "One row per metric.",
    METRIC,
    Column("baseline", pl.Float64, "the value of the baseline"),
    Column("candidate", pl.Float64, "the value of the candidate"),
    Column("delta", pl.Float64, "candidate − baseline", "signed"),
)
_MEANS = Columns(
    "One row per metric.",
    _VALUES,
    Column("bound", pl.Float64, "the one-sided bound of delta", "signed"),
    Column("remark", pl.String, "why there is no bound", header=" "),
)
_MEAN_CELLS = tuple(_MEANS)
_LOSSES = Columns(
    "One row per query and metric.",
    QUERY_ID,
    Column("text", pl.String, "the text of the query", _shorten),
    _VALUES,
)
_STATES = Columns(
    "One row per system and state.",
    Column("system", pl.String, "baseline or candidate"),
    Column("state", pl.String, "the state of queries"),
    Column("queries", pl.Int64, "how many queries have it"),
)
_RULES = Columns(
    "One row per rule.",
    Column("status", pl.String, "the outcome, with its sign"),
    Column("rule", pl.String, "the id of the rule"),
    Column("tier", pl.String, "what the rule may do"),
    Column("why", pl.String, "the reason of the outcome"),
    Column("next", pl.String, "the next step"),
)


def _rules(result: Verdict) -> View:
    """Each rule with its status, its reason and the next step."""
    rows = [
        (f"{SIGNS[outcome.status]} {outcome.status}", rule.id, rule.tier, outcome.reason, outcome.next)
        for rule, outcome in ((rule_result.rule, rule_result.outcome) for rule_result in result.rules)
    ]
    return View(pl.DataFrame(rows, _RULES, orient="row"), columns=_RULES)


def _lost_queries(result: Verdict, count: int) -> View:
    """The first queries that lost most, with their texts if these are known; metrics of rules come first."""
    table = pl.DataFrame(result.queries[:count], _LOSSES)
    return View(
        table,
        _losses_heading(result, count),
        columns=_LOSSES,
        headers=_NAMES,
        keys=3,
        optional=("text",),
        varying=("metric",),  # the heading names a single one
    )


def _states(result: Verdict) -> View:
    """The number of queries of each system by state; no rows if every query has a list."""
    rows = [row for row in result.states if any(row["state"] != "ok" for row in result.states)]
    names = dict(zip(("baseline", "candidate"), result.names, strict=True))
    table = pl.DataFrame(rows, _STATES).with_columns(pl.col("system").replace(names))
    return View(table, "states of queries", columns=_STATES, keys=2)


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
    more = " ({other_shares})" if other_shares else ""
    more += "; rules that change: {changed_rules}" if changed_rules else ""
    text = (
        f"stability: {{share:.0%}} of {{draws:d}} resampled sets of these queries give another "
        f"verdict{more}. It shows how much the verdict depends on the sample of queries, not the probability "
        "that the verdict is wrong; judgments and the systems' lists stay as they are."
    )
    return fill(text, flip_rate, {"other_shares": other_shares, "changed_rules": changed_rules})


def stability_line(result: Verdict) -> str:
    """The share of resampled sets of queries that give the same verdict."""
    if result.again is None:
        return ""
    share = 1 - result.again.share
    return f"stability: {share:.0%} of {result.again.draws} resamples of these queries give this verdict."


def _losses_heading(result: Verdict, count: int) -> str:
    """The number of shown queries, of all that lost; by the metric, where it is the same in all rows."""
    metrics = {row["metric"] for row in result.queries[:count]}
    rows = [row for row in result.queries if row["metric"] in metrics]
    lost_count = len({row["query_id"] for row in rows})
    shown_count = len({row["query_id"] for row in rows[:count]})
    by_metric = f" by {metrics.pop()}" if len(metrics) == 1 else ""
    return f"largest losses{by_metric} ({shown_count} of {lost_count:,} queries that lost)"


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
    lines = [_command(_COMMANDS[verdict.verdict], "rankgate", f"{verdict.verdict}: {verdict.claim}")]
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


_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"


def statement(verdict: Verdict, files: Sequence[str] = (), candidate: str = "") -> str:
    """An in-toto statement (v1): the verdict as a result of tests, one per rule, with digests of files.

    The subject is the candidate. A verdict that stops a merge is FAILED, an inconclusive one too. Digests
    under ``sha256`` are those of the bytes of files.

    Args:
        verdict: the verdict.
        files: the files that were read.
        candidate: the file of the candidate; without it the subject has the digest of the rows.
    """
    digests: dict[str, Json] = {path: {"sha256": _file_digest(path)} for path in files}
    rows: Json = {"rankgateRowsSha256": verdict.hashes.get("candidate") or ""}  # the same in any file
    subject = {"name": candidate, "digest": digests.pop(candidate, rows)}
    tests: dict[str, list[Json]] = {"passedTests": [], "warnedTests": [], "failedTests": []}
    for result in verdict.rules:
        stops = result.rule.tier == "block" and exit_code(result.outcome.status, verdict.exit)
        kind = "passed" if result.outcome.status == "pass" else "failed" if stops else "warned"
        tests[f"{kind}Tests"].append(result.rule.id)
    predicate: JsonObject = {
        "result": "FAILED" if verdict.status else "WARNED" if tests["warnedTests"] else "PASSED",
        "configuration": [{"name": path, "digest": digest} for path, digest in digests.items()],
        **({"url": run_url()} if run_url() else {}),
        **tests,
    }
    return to_json(
        {"_type": _STATEMENT, "subject": [subject], "predicateType": _PREDICATE, "predicate": predicate}
    )


def _file_digest(path: str) -> str:
    with open(path, "rb") as stream:  # noqa: PTH123 - hashlib reads a stream
        return file_digest(stream, "sha256").hexdigest()


def _xml_text(text: str) -> str:
    """The text, limited to characters that XML allows."""
    return "\n".join(make_printable(line) for line in text.split("\n"))
