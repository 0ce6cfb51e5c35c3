"""The suffix of a file name sets the format, for every command that writes a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import click
import pytest

import rankgate
from rankgate.core.errors import UsageError
from rankgate.core.output_files import SUFFIXES, find_form
from rankgate.core.present.lazy_names import load_name
from rankgate.interface.cli import _COMMANDS, COMMANDS
from support.wording import raises

DATA = "qrels.txt old.run new.run"
COMPARING = f"{DATA} -m RR"
CALLS = {
    "rating-accuracy": "qrels.txt old.run",
    "describe": DATA,
    "validate": "qrels.txt",
    "convert": "qrels.txt out.csv",
    "advise": DATA,
    "eval": COMPARING,
    "explain": "qrels.txt old.run --query q1 -m RR",
    "reconcile": "qrels.txt old.run -m RR",
    "compare": COMPARING,
    "blindspots": COMPARING,
    "cutoff": "qrels.txt old.run",
    "holes": f"{DATA} -m RR@10 --draws 2",
    "total-error": "j:1=qrels.txt j:2=qrels.txt --baseline old.run --candidate new.run -m RR",
    "next": "old.run new.run --predicted qrels.txt",
    "gate": DATA,
    "policy": "",
    "pool": "old.run new.run",
    "collect": "sheet.csv",
    "resolve": "ratings.csv",
    "agree": "ratings.csv",
    "admit-plan": "qrels.txt",
    "admit": f"qrels.txt {DATA}",
    "reusability": f"{DATA} third.run",
    "stages": "qrels.txt old.run new.run -m nDCG@10",
    "split": "log.csv",
    "scorecard": "qrels.txt old.run new.run -m nDCG@10 --resamples 2",
    "report": COMPARING,
    "rank-similarity": "old.run new.run",
    "migrate": "old.run new.run",
    "audit": "table.md",
    "sweep": "sweep.toml",
    "history": "nDCG@10 --from history",
    "reanchor": "qrels.txt docs.jsonl docs.jsonl",
    "attribute": "2026-03-01 2026-03-02 --from history",
}
"""Each command that writes its result to a file, with what it needs."""

OTHERS = {"open", "plot", "rate", "sheet"}
"""Commands with an output of their own kind: a page, pictures, a journal, a folder of sheets."""

READ = {
    "json": json.loads,
    "csv": lambda text: list(csv.reader(text.splitlines(), strict=True))[1],
    "jsonl": lambda text: [json.loads(line) for line in text.splitlines()],
    "html": lambda text: text.index("<!doctype html>"),
    "markdown": lambda text: text.index("|"),
    "junit": lambda text: text.index("<testsuites"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    queries = [f"q{i}" for i in range(24)]
    qrels = "".join(f"{q} 0 a 1\n{q} 0 b 0\n{q} 0 c 2\n" for q in queries)
    Path("qrels.txt").write_text(qrels)
    for name, docs in (("old", "bac"), ("new", "acb"), ("third", "cba")):
        Path(f"{name}.run").write_text(
            "".join(f"{q} Q0 {d} {r} {9 - r + len(q)} t\n" for q in queries for r, d in enumerate(docs))
        )
    rows = [f"{q},{d},{rater},{len(d + q) % 2}\n" for q in queries for d in "abc" for rater in ("x", "y")]
    Path("ratings.csv").write_text("query_id,doc_id,rater,grade\n" + "".join(rows))
    Path("sheet.csv").write_text("query,document,rater,grade\n" + "".join(rows[::2]))
    Path("table.md").write_text("| system | n | P@10 |\n|--|--|--|\n| a | 50 | 0.452 |\n")
    docs = (f'{{"_id": "{d}", "text": "words of the document {d}"}}\n' for d in "abc")
    Path("docs.jsonl").write_text("".join(docs))
    Path("sweep.toml").write_text(
        '[sweep]\nqrels = "qrels.txt"\n[fuse]\nruns = ["old.run", "new.run"]\n'
        'parameters = {k = "{{k}}"}\n[dials]\nk = [1, 60]\n[baseline]\nk = 60\n'
    )
    for day, run in ((1, "old"), (2, "new")):
        evaluation = rankgate.evaluate("qrels.txt", f"{run}.run", ["nDCG@10"])
        rankgate.record(evaluation, "history", at=f"2026-03-0{day}", system="app")
    log = (f"u{u},i{(u + i) % 9},{u * 10 + i}\n" for u in range(12) for i in range(5))
    Path("log.csv").write_text("user_id,item_id,timestamp\n" + "".join(log))
    return tmp_path


def commands():
    for name in COMMANDS:
        command = load_name(_COMMANDS[name])
        if isinstance(command, click.Group):
            continue
        options = {option.name: option for option in command.params}
        if "output" in options:
            yield name, getattr(options.get("form"), "type", None)


def test_every_command_that_writes_a_file_is_listed():
    assert {name for name, _ in commands()} == {*CALLS} | OTHERS


@pytest.mark.parametrize("name", CALLS)
def test_a_suffix_that_a_command_cannot_write_is_refused(run, folder, name):
    result = run(name, *CALLS[name].split(), "-o", "out.docx")
    assert result.code == 2, result.err
    assert "out.docx" in result.err
    forms = dict(commands())[name].choices
    assert all(SUFFIXES[form][0] in result.err for form in forms if form in SUFFIXES)
    assert not (folder / "out.docx").exists()


@pytest.mark.parametrize("name", CALLS)
def test_the_suffix_is_the_form(run, folder, name):
    forms = dict(commands())[name].choices
    form = next(choice for choice in ("json", "csv", "html") if choice in forms[1:])
    out = f"result{SUFFIXES[form][0]}"
    result = run(name, *CALLS[name].split(), "-o", out)
    assert result.code in {0, 1, 3}, result.err
    assert READ[form]((folder / out).read_text()) is not None


@pytest.mark.parametrize("form", ["json", "csv", "html", "markdown"])
def test_every_form_of_a_result(run, folder, form):
    out = f"result{SUFFIXES[form][-1]}"
    assert run("eval", *COMPARING.split(), "-o", out).code == 0
    assert READ[form]((folder / out).read_text()) is not None


def test_what_the_user_names_wins_over_the_suffix(run, folder):
    assert run("eval", *COMPARING.split(), "-o", "means.txt", "--format", "json").code == 0
    assert json.loads((folder / "means.txt").read_text())
    assert run("eval", *COMPARING.split(), "-o", "means").code == 0
    assert (folder / "means").read_text().startswith("run")
    assert run("eval", *COMPARING.split(), "-o", "means.json.gz").code == 0
    assert (folder / "means.json.gz").read_bytes().startswith(b"\x1f\x8b")


@pytest.mark.parametrize(
    "words",
    [
        ("pool", "old.run", "--strata", "1:1,2:0.5", "--rest", "rest.csv"),
        ("resolve", "ratings.csv", "--unresolved", "left.xlsx"),
        ("rate", "pool.csv", "-o", "ratings.csv"),
        ("sheet", "pool.csv", "--raters", "ann", "-o", "ann.json"),
        ("plot", "deltas", *COMPARING.split(), "-o", "deltas.docx"),
    ],
)
def test_other_files_keep_to_their_suffix(run, folder, words):
    (folder / "pool.csv").write_text("query_id,doc_id\nq1,a\n")
    result = run(*words)
    assert result.code == 2, result.err
    assert words[-1] in result.err


def test_one_sheet_is_what_its_name_says(run, folder):
    (folder / "pool.csv").write_text("query_id,doc_id\nq1,a\n")
    assert run("sheet", "pool.csv", "--raters", "ann", "-o", "ann.xlsx").code == 0
    assert (folder / "ann.xlsx").read_bytes().startswith(b"PK")


def test_a_suffix_of_no_form():
    with raises("unknown-format", UsageError):
        find_form("a.xyz", ["json", "csv"])
    with raises("unknown-format", UsageError):
        find_form("a", ["json", "csv"], ", or give --format")
