"""Every choice of every named convention is noticed by some value, or named in a list.

Each choice is undone, one at a time: an axis is set to its default, a parameter or a choice for a
single metric is removed. Then a row of the table (the collections with most metrics are tried) or a
value written out in ``tests/scoring/test_ir_tools.py`` must be another. What nothing here notices
is in ``unnoticed.txt``; a choice that is there and is noticed, or neither, fails. ``python
tests/golden/test_choices.py`` rewrites the list. The table has rankings alone: what a convention
chooses for metrics of lists is noticed by ``make oracle`` (``oracle/lists.py``).
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import pytest

from rankgate.core.errors import RankgateError
from rankgate.data import read_qrels, read_run
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.metric_selection import find_metrics
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.scoring import CONVENTIONS, Convention
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.convention import DESCRIPTIVE_FIELDS
from scoring import test_ir_tools
from support.golden import rows

HERE = Path(__file__).resolve().parent
LIST = HERE / "unnoticed.txt"
MOST = 20  # collections of a convention that are tried for each choice

PLAIN = Convention("plain")
MAPS = ("parameters", "special")
OF_LISTS = {metric.name for metric in LIST_METRICS}


def choices(how):
    """Every choice of a convention with the convention that lacks it."""
    variants = {}
    for field in fields(Convention):
        value = getattr(how, field.name)
        if field.name not in (*DESCRIPTIVE_FIELDS, *MAPS) and value != getattr(PLAIN, field.name):
            variants[field.name] = replace(how, **{field.name: getattr(PLAIN, field.name)})
    for table in MAPS:
        for metric, settings in getattr(how, table).items():
            for key in () if metric in OF_LISTS else settings:
                remaining = {name: value for name, value in settings.items() if name != key}
                tables = {**getattr(how, table), metric: remaining}
                variants[f"{table}.{metric}.{key}"] = replace(how, **{table: tables})
    return variants


def written_out():
    """By convention the values that ``test_ir_tools`` writes out, and the means of ``rag_tools.json``."""
    cases = defaultdict(list)
    golden = json.loads((HERE / "rag_tools.json").read_text())
    for name, tool in golden["tools"].items():
        queries = list(tool["values"].values())
        means = {metric: (sum(row[metric] for row in queries) / len(queries), 1e-9) for metric in queries[0]}
        cases[name].append(((golden["qrels"], golden["run"]), means))
    for name, metric, qrels, run, value in test_ir_tools.CHOICES:
        cases[name].append(((qrels, run), {metric: (float(value), 1e-9)}))
    return cases


def numbers(text, sign):
    """``1:a=3,b=2;2:`` as ``{"1": {"a": 3.0, "b": 2.0}, "2": {}}``; None if a pair repeats."""
    read = {}
    for ranking in text.split(";") if text else []:
        query, _, items = ranking.partition(":")
        pairs = [item.rpartition(sign) for item in items.split(",") if item]
        pairs = [(name, float(value)) for name, _, value in pairs if value not in ("null", "-inf")]
        if query in read or len(dict(pairs)) < len(pairs):
            return None
        read[query] = dict(pairs)
    return read


def collections():
    """The rows with a number by convention and collection, rows with most metrics first."""
    by_convention = defaultdict(lambda: defaultdict(dict))
    for row in rows():
        plain = "[" not in row["metric"] and not row["value"].startswith("error")
        if plain and row["value"] != "null":
            collection = (row["qrels"], row["run"])
            tolerance = float(row["tolerance"] or 0)
            by_convention[row["convention"]][collection][row["metric"]] = (float(row["value"]), tolerance)
    return by_convention


ROWS = collections()


def values(how, given, metrics):
    """The value of each metric; None if the tool cannot take the data."""
    try:
        qrels, run = tables(*given) if isinstance(given[0], str) else given
        return evaluate(qrels, run, list(metrics), how).runs[0].means
    except (RankgateError, ValueError):
        return None


@cache
def tables(qrels, run):
    """The data of a row, read once for all choices."""
    qrels, run = numbers(qrels, "="), numbers(run, "@")
    if qrels is None or run is None:
        raise ValueError("a pair repeats")
    return JudgmentIndex.from_judgments(read_qrels(qrels)), read_run(run)


def agrees(got, wanted):
    if got is None:
        return False
    return all(
        (math.isnan(got[name]) and math.isnan(value)) or abs(got[name] - value) <= tolerance
        for name, (value, tolerance) in wanted.items()
    )


def unnoticed(name):
    """The choices of a convention that no row notices."""
    convention = CONVENTIONS[name]
    remaining = choices(convention)
    groups = sorted(ROWS[name].items(), key=lambda group: -len(group[1]))
    for collection, expected in [*written_out()[name], *groups[:MOST]]:
        if not remaining:
            break
        now = values(convention, collection, expected)
        if now is None:
            continue
        matching = {metric: pair for metric, pair in expected.items() if agrees(now, {metric: pair})}
        remaining = {
            key: variant
            for key, variant in remaining.items()
            if not (touched_metrics := touched(key, matching, convention))
            or agrees(values(variant, collection, touched_metrics), touched_metrics)
        }
    return sorted(remaining)


def touched(choice, wanted, how):
    """The metrics that a choice can change: metrics with its name, or all."""
    table, _, key = choice.partition(".")
    name = re.match(r"[^(@.]*", key)[0]
    if not wanted or table not in MAPS or name == "*":
        return wanted
    return {label: wanted[label] for label in wanted if name_of(label, how.name) in (name, None)}


@cache
def name_of(label, convention_name):
    """The name of a metric of the table; None if it is known under another label."""
    metrics = dict(find_metrics([label], CONVENTIONS[convention_name], FACET_METRICS))
    return metrics[label].name if label in metrics else None


def listed():
    return [line.split(" ", 1) for line in LIST.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.separate
@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_choice_that_nothing_notices_is_listed(name):
    assert unnoticed(name) == [choice for convention, choice in listed() if convention == name]


def test_most_choices_are_noticed():
    total = sum(len(choices(convention)) for convention in CONVENTIONS.values())
    assert len(listed()) < 0.6 * total


if __name__ == "__main__":
    lines = [f"{name} {choice}\n" for name in CONVENTIONS for choice in unnoticed(name)]
    LIST.write_text("".join(lines))
