"""Each example plug-in, installed as a package, through the command line, Python and a report."""

from __future__ import annotations

import json

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.separate]  # wheels, and a process for each command
QUERIES = [f"q{i}" for i in range(30)]
ONE_METRIC = ("-m", "nDCG@10")


@pytest.fixture
def folder(tmp_path):
    """Judgments, two runs, and the input files of the examples."""
    grades = "".join(f"{q} 0 a 2\n{q} 0 b 0\n{q} 0 c 1\n" for q in QUERIES)
    (tmp_path / "qrels.txt").write_text(grades)
    for name, orders in (("old", ["bac"]), ("new", ["bca", "acb", "acb", "acb"])):
        lines = [
            f"{q} Q0 {doc} {rank} {9 - rank} t\n"
            for i, q in enumerate(QUERIES)
            for rank, doc in enumerate(orders[i % len(orders)])
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    return tmp_path


def test_all_are_listed_with_what_they_add(call, installed):
    listing = json.loads(call("plugins", "--format", "json", sites=[installed]).stdout)
    assert {(plugin["adds"], *plugin["names"]) for plugin in listing["plugins"]} == {
        ("metric", "TimedGain"),
        ("convention", "msmarco"),
        ("format", "msmarco"),
        ("engine", "bm25"),
        ("rule", "worse_share"),
        ("report block", "concentration"),
        ("KPI", "deep_click_share"),
    }
    assert {(*plugin["versions"], plugin["status"]) for plugin in listing["plugins"]} == {("1", "works")}
    assert all(plugin["place"].startswith(str(installed)) for plugin in listing["plugins"])


def test_a_metric_is_scored_and_reported(call, installed, folder):
    arguments = ("qrels.txt", "old.run", "-m", "TimedGain@2")
    scored = json.loads(call("eval", *arguments, "--format", "json", sites=[installed]).stdout)
    # a is second: behind one document with grade 0
    value = 0.64 * 0.77 * 2 ** (-(4.4 + 0.39 * 25.8) / 224)
    assert scored["runs"][0]["mean"]["TimedGain@2"] == pytest.approx(value)
    call("report", *arguments, "-o", "report.html", sites=[installed])
    assert "TimedGain@2" in (folder / "report.html").read_text()


def test_a_convention_and_a_format_of_one_package(call, installed, folder):
    """The script takes ranks as they are written, for every order of lines."""
    lines = [f"{q}\t{doc}\t{rank}\n" for q in QUERIES[:15] for rank, doc in ((3, "c"), (2, "a"))]
    (folder / "run.tsv").write_text("".join(lines))
    arguments = ("qrels.txt", "msmarco:run.tsv", "-m", "RR@10", "--convention", "msmarco")
    scored = json.loads(call("eval", *arguments, "--format", "json", sites=[installed]).stdout)
    assert scored["convention"]["name"] == "msmarco"
    assert scored["runs"][0]["mean"]["RR@10"] == 0.5  # a is first in half of the queries
    call("convert", "msmarco:run.tsv", "run.trec", sites=[installed])
    assert (folder / "run.trec").read_text().startswith("q0 Q0 a 1 ")
    assert "msmarco" in call("formats", sites=[installed]).stdout
    assert "msmarco" in call("conventions", sites=[installed]).stdout


def test_an_engine_is_asked(call, installed, folder):
    documents = [{"doc_id": "d1", "title": "red shoes"}, {"doc_id": "d2", "title": "blue shoes"}]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "e.toml").write_text('[engine]\nkind = "bm25"\ndocuments = "docs.jsonl"\n')
    (folder / "queries.tsv").write_text("1\tred shoes\n2\thats\n")
    process = call("snapshot", "e.toml", "queries.tsv", "-o", "bm25.run", sites=[installed])
    assert "1 with results, 1 without" in process.stdout
    run = [line.split()[:4] for line in (folder / "bm25.run").read_text().splitlines()]
    assert run == [["1", "Q0", "d1", "1"], ["1", "Q0", "d2", "2"]]
    assert "engine.k1" in call("engines", "show", "bm25", sites=[installed]).stdout


@pytest.mark.parametrize(("at_most", "status"), [(0.3, 0), (0.2, 1)])
def test_a_rule_decides(call, installed, folder, at_most, status):
    """Of 30 queries 8 get worse: c goes before a."""
    rule = f'[[rules]]\nkind = "worse_share"\nmetric = "nDCG@10"\nat_most = {at_most}\n'
    (folder / "policy.toml").write_text(rule)
    files = ("qrels.txt", "old.run", "new.run", "--policy", "policy.toml", "--format", "json")
    process = call("gate", *files, sites=[installed], check=False)
    assert process.returncode == status, process.stderr
    assert "26.7% of 30 queries" in json.loads(process.stdout)["rules"][0]["reason"]
    assert "worse_share" in call("policy", sites=[installed]).stdout


def test_a_block_is_added_to_a_report(call, installed, folder):
    arguments = ("report", "qrels.txt", "old.run", "new.run", *ONE_METRIC)
    call(*arguments, "--add", "concentration", "-o", "report.html", sites=[installed])
    assert "Where the difference comes from" in (folder / "report.html").read_text()
    call(*arguments, "-o", "plain.html", sites=[installed])
    assert "Where the difference" not in (folder / "plain.html").read_text()


def test_a_kpi_is_computed(call, installed, folder):
    rows = [("search", ""), ("click", "1"), ("click", "7"), ("click", "9")]
    lines = [
        f"s1,u1,2026-01-05T10:00:0{i}Z,{kind},q1,shoes,d{i},{rank}" for i, (kind, rank) in enumerate(rows)
    ]
    header = "session,user,at,kind,query_event_id,query,doc_id,rank"
    (folder / "log.csv").write_text("\n".join([header, *lines]))
    columns = {name: name for name in header.split(",")} | {"action": "kind"}
    columns.pop("kind")
    mapping = "\n".join(f'{name} = "{column}"' for name, column in columns.items())
    (folder / "map.toml").write_text(f"[columns]\n{mapping}\n")
    arguments = ("online", "kpi", "log.csv", "--mapping", "map.toml", "-k", "deep_click_share")
    result = json.loads(call(*arguments, "--format", "json", sites=[installed]).stdout)
    (total,) = [row for row in result["values"] if row["by"] == "all"]
    assert (total["value"], total["n"]) == (pytest.approx(2 / 3), 3)


def test_python_finds_them_all(call, installed, folder):
    code = """
import rankgate
from rankgate import extend
result = rankgate.evaluate("qrels.txt", "old.run", ["TimedGain@2"], "msmarco")
print(result.convention["name"])
print(rankgate.convention("msmarco").order)
compared = rankgate.compare("qrels.txt", "old.run", "new.run", "nDCG@10")
print(compared.report("page.html", add=("concentration",)).read_text().count("Where the diff") > 0)
with extend.using():
    print(rankgate.read_run("msmarco:m.tsv").table.height)
"""
    (folder / "m.tsv").write_text("q0\ta\t1\n")
    process = call(code=code, sites=[installed])
    assert process.stdout.split() == ["msmarco", "file", "True", "1"]
