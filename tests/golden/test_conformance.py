"""The vectors in ``conformance`` are the table of tools' values, and its runner tells right from wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from golden.test_conventions import OWN, call
from support.golden import assert_rows, evaluated
from support.programs import tool

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "conformance"
PROGRAM = tool("oracle/conformance.py")
TOOLS = sorted(path.stem for path in (FOLDER / "vectors").glob("*.json") if path.stem != "rules")
COLUMNS = ("id", "section", "convention", "tool_version", "metric", "qrels", "run", "value", "tolerance")


def decoded():
    """The rows of the table, read from the vectors."""
    rows = {}
    for name in TOOLS:
        document = json.loads((FOLDER / "vectors" / f"{name}.json").read_text())
        for case in document["cases"]:
            qrels, run = text_of(case["qrels"], "="), text_of(case["run"], "@")
            for vector in case["values"]:
                options = (
                    f"{' ' if '[' not in vector['metric'] else ''}[{vector['options']}]"
                    if "options" in vector
                    else ""
                )
                rows[vector["id"]] = {
                    "id": vector["id"],
                    "section": vector["id"].rpartition("-")[0],
                    "convention": name,
                    "tool_version": vector.get("version", document["version"]),
                    "metric": vector["metric"] + options,
                    "qrels": qrels,
                    "run": run,
                    "value": f"error: {vector['error']}"
                    if "error" in vector
                    else number_text(vector["value"]),
                    "tolerance": vector.get("tolerance", ""),
                    "reproducible": f"no: {vector['not_reproducible']}"
                    if "not_reproducible" in vector
                    else "yes",
                    "note": vector.get("note", ""),
                }
    return rows


def text_of(lists, sign):
    return ";".join(
        f"{query}:" + ",".join(f"{doc_id}{sign}{number_text(value)}" for doc_id, value in pairs)
        for query, pairs in lists.items()
    )


def number_text(value):
    return "null" if value is None else str(value)


def stored_reasons():
    """The rules that decide each value, as the files have them."""
    documents = [json.loads((FOLDER / "vectors" / f"{name}.json").read_text()) for name in TOOLS]
    cases = [case for document in documents for case in document["cases"]]
    return {vector["id"]: vector.get("decided_by", []) for case in cases for vector in case["values"]}


def test_the_files_are_up_to_date():
    texts = {path.name: path.read_text("utf-8") for path in (FOLDER / "vectors").iterdir()}
    assert texts == PROGRAM.files(stored_reasons()), "python oracle/conformance.py"
    assert max(map(len, texts.values())) < 1 << 19


def test_rules_that_decide_values_are_those_without_which_the_value_is_another():
    reasons = stored_reasons()
    assert sum(map(bool, reasons.values())) > 1000
    rows = decoded()
    tools = ("quepid", "pyvespa", "rre", "phoenix")
    made = {name: PROGRAM.reasons_of(name) for name in tools}
    own = [row for row in rows.values() if row["convention"] in tools and row["reproducible"] == "yes"]
    table = {row["id"]: row for row in PROGRAM.read_table()}
    for row in own:
        key = tuple(table[row["id"]][name] for name in ("qrels", "run", "metric"))
        assert reasons[row["id"]] == made[row["convention"]].get(key, []), row["id"]
    assert "ties=doc_id_desc" in reasons["2.1-0012"]


def test_every_row_of_the_table_is_in_them():
    table = PROGRAM.read_table()
    rows = decoded()
    assert len(table) == len(rows) == 9157
    for row in table:
        vector = rows[row["id"]]
        different = {name for name in row if vector[name] != row[name]}
        assert different <= {"metric", "value", "tolerance", "qrels", "run"}, row["id"]
        assert vector["metric"].replace(" ", "") == row["metric"].replace(" ", "")
        for name in different & {"value", "tolerance"}:
            assert float(vector[name]) == float(row[name])
        for name in different & {"qrels", "run"}:
            assert PROGRAM.lists_of(vector[name], "=@"[name == "run"]) == PROGRAM.lists_of(
                row[name], "=@"[name == "run"]
            )


def test_named_conventions_give_the_values():
    rows = decoded()
    own = [rows[row["id"]] for row in OWN[::3] if row["value"] != "empty result"]
    assert len(own) > 800
    assert_rows(own, evaluated({row["id"]: call(row) for row in own}))


def run_runner(name, *command):
    return subprocess.run(
        [sys.executable, "-I", FOLDER / "run.py", name, *command], capture_output=True, text=True, check=False
    )


def answering(tmp_path, expression):
    """A command that answers each request with an expression of ``vectors`` and ``request``."""
    program = tmp_path / "answers.py"
    program.write_text(
        "import json, sys\n"
        f"cases = json.load(open({str(FOLDER / 'vectors' / 'trec.json')!r}))['cases']\n"
        "vectors = {vector['id']: vector for case in cases for vector in case['values']}\n"
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    vector = vectors[request['id']]\n"
        f"    print(json.dumps({{'id': request['id'], **{expression}}}))\n"
    )
    return run_runner("trec", sys.executable, program)


RIGHT = "({'error': 'x'} if 'error' in vector else {'value': vector['value']})"


@pytest.mark.parametrize(
    ("expression", "code", "line"),
    [
        (RIGHT, 0, "trec: 994 agree, 0 differ, 0 skipped"),
        ("{'skip': 'all'}", 2, "trec: 0 agree, 0 differ, 994 skipped"),
        ("{'value': 0.123456}", 1, "trec: 0 agree, 994 differ, 0 skipped"),
        (
            f"({{'value': 0}} if request['id'] == '2.1-0002' else {RIGHT})",
            1,
            "trec: 993 agree, 1 differ, 0 skipped",
        ),
        (
            f"({{'value': 0.5 + 2e-9}} if request['id'] == '2.1-0002' else {RIGHT})",
            1,
            "trec: 993 agree, 1 differ, 0 skipped",
        ),
        (f"({{}} if request['id'] == '2.1-0002' else {RIGHT})", 1, "trec: 993 agree, 1 differ, 0 skipped"),
    ],
)
def test_the_runner_fails_on_a_wrong_implementation(tmp_path, expression, code, line):
    outcome = answering(tmp_path, expression)
    assert (outcome.returncode, outcome.stdout.splitlines()[-1]) == (code, line), outcome.stderr
    if "2.1-0002" in expression:
        assert outcome.stdout.startswith("2.1-0002 RR")


def test_the_runner_names_the_tools():
    for name in ("treceval", "rules"):
        outcome = run_runner(name, "true")
        assert outcome.returncode == 1
        assert outcome.stderr == f"no values of {name}; tools: {', '.join(TOOLS)}\n"
    assert "COMMAND" in run_runner("trec").stderr


@pytest.mark.parametrize("program", ["print('no JSON')", "print(1)", "raise SystemExit(3)"])
def test_a_command_that_fails_is_named(program):
    outcome = run_runner("trec", sys.executable, "-c", program)
    assert outcome.returncode == 1
    assert outcome.stderr.endswith("; write a line of JSON with an id for each request\n")
    assert "Traceback" not in outcome.stderr
    assert "nothing-of-that-name" in run_runner("trec", "nothing-of-that-name").stderr


@pytest.mark.node
def test_the_example_in_another_language(tmp_path):
    example = FOLDER / "examples" / "trec.mjs"
    outcome = run_runner("trec", "node", example)
    assert outcome.returncode == 0, outcome.stdout
    for page in (FOLDER / "README.md", ROOT / "docs" / "conformance.md"):
        assert outcome.stdout in page.read_text("utf-8")
    wrong = tmp_path / "trec.mjs"
    wrong.write_text(example.read_text().replace("byBytes(b, a)", "byBytes(a, b)"))
    outcome = run_runner("trec", "node", wrong)
    assert outcome.returncode == 1
    assert "tie" in outcome.stdout


@pytest.mark.parametrize("page", ["conformance/README.md", "docs/conformance.md"])
def test_the_pages_document_every_field(page):
    text = (ROOT / page).read_text("utf-8")
    documents = [json.loads((FOLDER / "vectors" / f"{name}.json").read_text()) for name in TOOLS]
    cases = [case for document in documents for case in document["cases"]]
    fields = {
        name
        for level in (documents, cases, [v for case in cases for v in case["values"]])
        for item in level
        for name in item
    }
    assert len(fields) == 18
    assert {name for name in fields if f"`{name}`" not in text} == set()
    assert f"{sum(len(case['values']) for case in cases):,} values" in text
    assert page.endswith("README.md") or f"{len(TOOLS)} tools" in text
