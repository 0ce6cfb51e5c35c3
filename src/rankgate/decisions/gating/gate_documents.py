"""Documents of gating: common tables and words, policies, saved baselines, self-checks.

Documents of policies show all keys, or the rules of one policy. Documents of saved baselines show
contents, noise and looks. Self-checks of a gate show shares of flipped verdicts, and the noise of
each metric.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.document_model import (
    Document,
    Entries,
    Entry,
    Grid,
    PlainRows,
    Section,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import UNDEFINED, count_noun, format_decimal, format_setting
from rankgate.decisions.gating.policy_settings import COMMON
from rankgate.decisions.gating.verdict import METRICS

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.policy_keys import PolicyKeys
    from rankgate.decisions.gating.saved.saved_baselines import BaselineSummary, SavedBaselines
    from rankgate.decisions.gating.verdict import GateCheck


_FILES = ("train", "items", "obvious", "earlier")
_EVERY_RULE = "Keys of every rule; the keys of each kind follow."


def keys_document(result: PolicyKeys) -> Document:
    """Every key with its default and meaning, table by table."""
    tables = result.schema["properties"]
    gate, lists, rules = (tables[name] for name in ("gate", "lists", "rules"))
    kinds = rules["items"]["oneOf"]
    common = {parameter.name: parameter for parameter in COMMON}
    parts: list[tuple[str, JsonObject, Any]] = [
        ("[gate]", gate, gate["properties"]),
        ("[lists]", lists, lists["properties"]),
        *(
            (f"[{name}]", tables[name], tables[name]["properties"])
            for name in ("experiment", "budget", "earlier")
        ),
        ("[[ramp]]", tables["ramp"]["items"], tables["ramp"]["items"]["properties"]),
        ("[[rules]]", {"description": _EVERY_RULE, "required": ["kind"]}, _common_keys(kinds)),
    ]
    parts += [
        (
            f'kind = "{kind["title"]}"',
            kind,
            {name: schema for name, schema in kind["properties"].items() if name not in common},
        )
        for kind in kinds
    ]
    rows = [
        (table, *row) for table, table_schema, properties in parts for row in _rows(table_schema, properties)
    ]
    return Document(
        "all keys of a policy",
        sections=tuple(_section(*table_parts) for table_parts in parts),
        rows=PlainRows(("table", "key", "default", "meaning"), rows),
    )


def policy_document(result: Policy) -> Document:
    """The demands of one policy, rule by rule."""
    entries = []
    if any(result.lists[name] for name in _FILES):
        entries.append(Entry("[lists]", (_settings_text(result.lists),)))
    tables = {name: getattr(result, name) for name in ("experiment", "budget", "earlier")}
    entries += [Entry(f"[{name}]", (_settings_text(table),)) for name, table in tables.items() if table]
    entries += [Entry("[[ramp]]", (_settings_text(step),)) for step in result.ramp]
    for rule in result.rules:
        slice_label = f" where {rule.slice}" if rule.slice else ""
        lines = (f"{rule.id} ({rule.tier}){slice_label}", _settings_text(rule.values))
        entries.append(Entry(rule.kind, tuple(filter(None, lines))))
    rows = [
        (rule.id, rule.kind, rule.tier, rule.slice, name, format_setting(value))
        for rule in result.rules
        for name, value in rule.values.items()
        if value is not None
    ]
    header = ("rule", "kind", "tier", "slice", "key", "value")
    count = len(result.rules)
    title = f"{count_noun(count, 'rule')} of {result.source}"
    return made(title, Entries(tuple(entries)), rows=PlainRows(header, rows))


def _common_keys(kinds: list[dict[str, Any]]) -> dict[str, Json]:
    """The keys of every rule, from a kind that has all; ``kind`` is one of the kinds."""
    schemas = {name: schema for kind in kinds for name, schema in kind["properties"].items()}
    names = [kind["title"] for kind in kinds]
    description = next(parameter.help for parameter in COMMON if parameter.name == "kind")
    kind_schema = {"kind": {"description": description, "enum": names}}
    return {parameter.name: {**schemas, **kind_schema}[parameter.name] for parameter in COMMON}


def _section(title: str, schema: Mapping[str, Any], properties: Mapping[str, Any]) -> Section:
    rows = tuple(_rows(schema, properties))
    grid = Grid(("key", "default", "meaning"), rows, frozenset(range(3)))
    blocks = [schema["description"], *([Table("", grid, prose=True)] if rows else [])]
    anchor = "".join(sign for sign in title.replace(" ", "-") if sign.isalnum() or sign in "-_")
    return Section(anchor, title, tuple(blocks))


def _rows(schema: Mapping[str, Any], properties: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    required = schema.get("required", ())
    return [
        (name, "required" if name in required else _default_text(key_schema), _meaning_text(key_schema))
        for name, key_schema in properties.items()
    ]


def _default_text(schema: JsonObject) -> str:
    return format_setting(schema["default"]) if schema.get("default", []) != [] else ""


def _meaning_text(schema: Mapping[str, Any]) -> str:
    parts, choices = [schema["description"]], schema.get("enum", ())
    if any(choice not in schema["description"] for choice in choices):
        parts.append(f"one of {', '.join(choices)}")
    if "maximum" in schema:
        parts.append(f"{schema['minimum']:g} to {schema['maximum']:g}")
    elif "minimum" in schema:
        parts.append(f"{schema['minimum']:g} or more")
    return "; ".join(parts)


def _settings_text(values: JsonObject) -> str:
    return ", ".join(
        f"{name} {format_setting(value)}"
        for name, value in values.items()
        if value is not None and value not in ((), [])
    )


_LOOKS = 10


def baseline_document(result: SavedBaselines) -> Document:
    """The full contents of one baseline; a row each for several."""
    table = result.to_polars()
    rows = PlainRows(tuple(table.columns), table.rows())
    warnings = Warnings.from_notices(result.notices)
    if len(result) != 1:
        title = count_noun(len(result), "saved baseline") if len(result) else "no baseline is saved here"
        return made(title, Table("", _baseline_grid(result)), warnings, rows=rows)
    (baseline,) = result.baselines
    means = tuple(
        (metric, format_decimal(mean), format_decimal(baseline.noise.get(metric)))
        for metric, mean in baseline.means.items()
    )
    title = (
        f"{baseline.name}: run {baseline.run['name']}, {count_noun(baseline.queries, 'query')}, convention "
        f"{baseline.convention['name']}, judgments {baseline.qrels['sha256'][:12]}"
    )
    return made(
        title,
        f"in {baseline.file}",
        Table("", Grid(("metric", "mean", "noise"), means)),
        _look_table(baseline),
        warnings,
        rows=rows,
    )


def _baseline_grid(result: SavedBaselines) -> Grid:
    rows = tuple(
        (
            baseline.name,
            baseline.run["name"],
            str(baseline.queries),
            baseline.convention["name"],
            baseline.qrels["sha256"][:12],
            str(len(baseline.looks)),
        )
        for baseline in result.baselines
    )
    header = ("name", "run", "queries", "convention", "judgments", "looks")
    return Grid(header, rows, frozenset({0, 1, 3, 4}))


def _look_table(baseline: BaselineSummary) -> Table:
    rows = tuple(
        tuple(look.get(name) or UNDEFINED for name in ("at", "candidate", "verdict"))
        for look in baseline.looks[-_LOOKS:]
    )
    count = len(baseline.looks)
    heading = "1 look" if count == 1 else f"{count} looks, the last {len(rows)}"
    return Table(heading, Grid(("at", "candidate", "verdict"), rows, frozenset(range(3))))


_MAX_PAIRS = 10
_EVENTS = {
    "flip": "a verdict other than that of most pairs",
    "false fail": "fail, though nothing changed",
    "false improvement": "an improvement, though nothing changed",
    "inconclusive": "no verdict (inconclusive)",
}


def gate_check_document(result: GateCheck) -> Document:
    """Counts of verdicts, rates with intervals, noise against margins, and pairs that disagree."""
    pairs_by_verdict = Counter(result.verdicts["verdict"].to_list())
    verdict_counts = ", ".join(f"{count:,} {verdict}" for verdict, count in pairs_by_verdict.most_common())
    return made(
        f"self-check of the gate: {count_noun(len(result.runs), 'snapshot')} of one system, "
        f"{count_noun(len(result.verdicts), 'pair')}: {verdict_counts}",
        Table("pairs with", _rates(result)),
        Table("noise", METRICS.grid(result.metrics)),
        *_disagreeing_tables(result, pairs_by_verdict.most_common(1)[0][0]),
        Warnings.from_notices(result.notices),
        f"Each snapshot is gated against every other. Intervals ({result.level:.0%}, Wilson) count the "
        f"{count_noun(result.independent, 'pair')} without a snapshot in common. Noise is the largest "
        "difference of means between any two snapshots.",
        f"policy: {make_printable(result.policy)}",
        status=result.verdict,
        rows=PlainRows(tuple(result.verdicts.columns), list(result.verdicts.iter_rows())),
    )


def _rates(result: GateCheck) -> Grid:
    rows = tuple(
        (
            _EVENTS[row["event"]],
            f"{row['pairs']:,}",
            f"{row['share']:.1%}",
            f"[{row['low']:.1%}, {row['high']:.1%}]",
        )
        for row in result.rates.iter_rows(named=True)
    )
    return Grid(("", "pairs", "share", f"{result.level:.0%} interval"), rows)


def _disagreeing_tables(result: GateCheck, usual_verdict: str) -> tuple[Table, ...]:
    """The first pairs whose verdict differs from the most frequent one."""
    disagreeing = [row for row in result.verdicts.iter_rows(named=True) if row["verdict"] != usual_verdict]
    rows = tuple(
        (row["candidate"], row["baseline"], row["verdict"], make_printable(row["reason"]))
        for row in disagreeing[:_MAX_PAIRS]
    )
    if not rows:
        return ()
    grid = Grid(("candidate", "baseline", "verdict", "why"), rows, frozenset(range(4)))
    return (Table(f"other verdicts ({len(rows)} of {len(disagreeing):,})", grid),)
