"""Write ``conformance/vectors``: the table of tools' values as JSON, one file for each tool.

``python oracle/conformance.py`` reads ``tests/golden/conventions.csv.gz`` and writes the files again.
The rules of a tool are its named convention; files hold only choices, and ``rules.json`` says what
each one decides. A rule decides a value if the value is another without it: each choice of a
convention is taken back, one at a time, as ``tests/golden/test_choices.py`` does; some defaults are
replaced by another choice.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankgate.measurement.evaluation.convention_details import axes
from rankgate.measurement.scoring import CONVENTIONS, Convention

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "golden" / "conventions.csv.gz"
FOLDER = ROOT / "conformance" / "vectors"
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
OTHER_CHOICES: dict[str, Any] = {
    "ties": "doc_id_asc",
    "precision": "float32",
    "missing": "leave_out",
    "unknown": "zero",
}
"""What is tried instead of a default that decides many values."""

OPTIONS = re.compile(r"(.*?) ?\[(.*)\]")


def read_table() -> list[dict[str, str]]:
    """The rows of the table as they are."""
    with gzip.open(TABLE, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def lists_of(text: str, sign: str) -> dict[str, list[list[Any]]]:
    """``1:a=3,b=2;2:`` as ``{"1": [["a", 3], ["b", 2]], "2": []}``; what is no number stays text."""
    lists: dict[str, list[list[Any]]] = {}
    for ranking in text.split(";") if text else []:
        query, _, items = ranking.partition(":")
        pairs = [item.rpartition(sign) for item in items.split(",") if item]
        lists.setdefault(query, []).extend([doc_id, number_of(value)] for doc_id, _, value in pairs)
    return lists


def number_of(text: str) -> float | str | None:
    """A number; None for ``null``; any other text, such as ``nan``, unchanged."""
    if text == "null":
        return None
    number: float = json.loads(text) if NUMBER.fullmatch(text) else math.nan
    return text if math.isnan(number) else number


def reasons_of(tool: str) -> dict[tuple[str, str, str], list[str]]:
    """The rules that decide the values of a tool, by judgments, run and metric."""
    from golden import test_choices

    convention = CONVENTIONS[tool]
    usual = {axis: replace(convention, **{axis: choice}) for axis, choice in OTHER_CHOICES.items()}
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for collection, wanted in test_choices.ROWS[tool].items():
        values = test_choices.values(convention, collection, wanted)
        if values is None:
            continue
        agreeing = {
            metric: pair for metric, pair in wanted.items() if test_choices.agrees(values, {metric: pair})
        }
        for key, variant in (usual | test_choices.choices(convention)).items():
            touched = test_choices.touched(key, agreeing, convention)
            other_values = test_choices.values(variant, collection, touched) if touched else {}
            for metric, pair in touched.items():
                if not test_choices.agrees(other_values, {metric: pair}):
                    reasons.setdefault((*collection, metric), []).append(choice_text(convention, key))
    return reasons


def choice_text(convention: Convention, key: str) -> str:
    """A choice as ``--override`` takes it: ``ties=doc_id_desc``, ``nDCG.gain=exp``."""
    table, _, name = key.partition(".")
    metric, _, parameter = name.rpartition(".")
    value = getattr(convention, table)[metric][parameter] if name else getattr(convention, key)
    text = json.dumps(value).strip('"').replace("null", "none")
    return f"{(parameter if metric == '*' else name) or key}={text}"


def vector_of(row: dict[str, str], version: str, decided_by: list[str]) -> dict[str, Any]:
    """One value of a tool; fields that say nothing are left out."""
    parts = OPTIONS.fullmatch(row["metric"])
    vector: dict[str, Any] = {"id": row["id"], "metric": parts[1] if parts else row["metric"]}
    if parts:
        vector["options"] = parts[2]
    if row["value"].startswith("error: "):
        vector["error"] = row["value"].removeprefix("error: ")
    else:
        vector["value"] = number_of(row["value"])
    if row["tolerance"]:
        vector["tolerance"] = json.loads(row["tolerance"])
    if decided_by:
        vector["decided_by"] = decided_by
    if row["note"]:
        vector["note"] = row["note"]
    if row["reproducible"] != "yes":
        vector["not_reproducible"] = row["reproducible"].removeprefix("no: ")
    if row["tool_version"] != version:
        vector["version"] = row["tool_version"]
    return vector


def file_of(tool: str, rows: list[dict[str, str]], reasons: dict[str, list[str]]) -> str:
    """The text of a tool's file: its rules, and its values by input, one value a line."""
    version = Counter(row["tool_version"] for row in rows).most_common(1)[0][0]
    head: dict[str, Any] = {"tool": tool, "version": version}
    if tool in CONVENTIONS:
        convention = CONVENTIONS[tool]
        head |= {"title": convention.title} | ({"source": convention.source} if convention.source else {})
        head["rules"] = convention.to_dict()["axes"]
    cases: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        cases.setdefault((row["qrels"], row["run"]), []).append(row)
    lines = [f" {line_of(name)}: {line_of(value)}," for name, value in head.items()]
    return "\n".join(
        ["{", *lines, ' "cases": [', ",\n".join(case_lines(cases, version, reasons)), " ]", "}", ""]
    )


def case_lines(
    cases: dict[tuple[str, str], list[dict[str, str]]], version: str, reasons: dict[str, list[str]]
) -> list[str]:
    """The text of each case."""
    texts = []
    for (qrels, run), rows in cases.items():
        inputs = f'"qrels": {line_of(lists_of(qrels, "="))},\n   "run": {line_of(lists_of(run, "@"))}'
        values = ",\n".join(
            f"    {line_of(vector_of(row, version, reasons.get(row['id'], [])))}" for row in rows
        )
        texts.append(f'  {{{inputs},\n   "values": [\n{values}\n   ]}}')
    return texts


def line_of(value: object) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def files(reasons: dict[str, list[str]]) -> dict[str, str]:
    """The text of every file, by its name.

    Args:
        reasons: the rules that decide a value, by its id.
    """
    tables: dict[str, list[dict[str, str]]] = {}
    for row in read_table():
        tables.setdefault(row["convention"], []).append(row)
    texts = {f"{tool}.json": file_of(tool, rows, reasons) for tool, rows in tables.items()}
    rules = {
        axis["name"]: {name: axis[name] for name in ("about", "takes", "default")}
        for axis in axes().to_dict()["axes"]
    }
    texts["rules.json"] = json.dumps(rules, indent=1, ensure_ascii=False) + "\n"
    return texts


def all_reasons() -> dict[str, list[str]]:
    """The rules that decide each value, by its id."""
    reasons = {
        tool: reasons_of(tool) for tool in {row["convention"] for row in read_table()} & {*CONVENTIONS}
    }
    return {
        row["id"]: reasons.get(row["convention"], {}).get((row["qrels"], row["run"], row["metric"]), [])
        for row in read_table()
        if row["reproducible"] == "yes"
    }


def main() -> None:
    """Write the files again; this takes a minute."""
    sys.path.insert(0, str(ROOT / "tests"))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name, text in files(all_reasons()).items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
