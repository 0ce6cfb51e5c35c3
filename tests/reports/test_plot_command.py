"""rankgate plot: pictures on the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from online.logs import honest, written
from rankgate import online
from rankgate.core.present.base_result import result_class
from rankgate.interface.cli import rankgate as program
from rankgate.interface.kinds_of_results import CLASSES
from rankgate.workspace.reports.chart_kinds import CHART_KINDS, RESULT_CHART_KINDS
from support.command import assert_refused


@pytest.fixture
def files(tmp_path):
    qrels = [f"q{i} 0 {d} {g}\n" for i in range(9) for d, g in (("a", 2), ("b", 1), ("c", 0))]
    old = [f"q{i} Q0 {d} {r} {9 - r} old\n" for i in range(9) for r, d in enumerate("cba", 1)]
    new = [
        f"q{i} Q0 {d} {r} {9 - r} new\n" for i in range(9) for r, d in enumerate("abc" if i % 3 else "xcb", 1)
    ]
    for name, lines in (("qrels.txt", qrels), ("old.run", old), ("new.run", new)):
        (tmp_path / name).write_text("".join(lines))
    return tmp_path


@pytest.fixture
def plot(run, files, monkeypatch):
    """``rankgate plot`` with some words, in the folder of the files."""
    monkeypatch.chdir(files)
    return lambda *words: run("plot", *words)


@pytest.mark.parametrize("form", ["svg", "png", "pdf", "html", "json"])
def test_a_file_has_the_form_that_its_name_says(files, form, plot):
    result = plot("deltas", "qrels.txt", "old.run", "new.run", "-o", f"out.{form}")
    assert (result.code, result.out) == (0, "")
    assert all(line.startswith("! ") for line in result.err.splitlines())
    begins = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!doctype html>", "json": b"{"}
    assert (files / f"out.{form}").read_bytes().startswith(begins[form])


def test_two_processes_write_the_same_bytes(files, plot, start):
    arguments = ("plot", "scatter", "qrels.txt", "old.run", "new.run", "-o")
    process = start(*arguments, "one.svg", cwd=files)
    out, notices = process.communicate()
    assert (out, process.returncode) == (b"", 0)
    assert notices.startswith(b"! judged@10 is 1.00 for the baseline and 0.89 for the candidate")
    plot(*arguments[1:], "two.svg")
    assert (files / "one.svg").read_bytes() == (files / "two.svg").read_bytes()


def test_without_a_file_deltas_are_bars_of_text(plot):
    result = plot("deltas", "qrels.txt", "old.run", "new.run", "-m", "RR")
    assert result.code == 0
    lines = result.out.splitlines()
    # the old list has its first relevant document at 2, the new one at 1, or at 3 for every third
    assert lines[0] == ("RR: new minus old, mean +0.2778 over 9 queries; 6 won, 0 tied, 3 lost")
    assert sum("█" in line for line in lines) == 6
    assert sum("░" in line for line in lines) == 3


def test_without_a_file_heat_is_the_queries_on_which_systems_differ_most(plot):
    result = plot("heat", "qrels.txt", "old.run", "new.run", "-m", "RR")
    lines = result.out.splitlines()
    assert lines[0] == "RR: 9 queries, those on which systems differ most first"
    assert lines[2].split() == ["query", "spread", "new", "old"]
    # of RR of 1/2 the new list makes 1, or 1/3 for every third query
    assert lines[3].split() == ["q1", "0.5000", "1.0000", "0.5000"]
    assert lines[-1].split() == ["q6", "0.1667", "0.3333", "0.5000"]


def test_without_a_file_cutoffs_are_lines_of_means(plot):
    result = plot("cutoffs", "qrels.txt", "old.run", "-m", "P", "-m", "R", "-k", "1,3")
    # relevant are b at 2 and a at 3
    assert result.out.splitlines() == [
        "old: metrics at k, means over 9 queries",
        "",
        "        @1     @3",
        "P   0.0000 0.6667  ▁▆",
        "R   0.0000 1.0000  ▁█",
    ]
    two_runs = plot("cutoffs", "qrels.txt", "old.run", "new.run", "-m", "P", "-k", "1,3")
    assert two_runs.out.splitlines()[0] == "P at k of 2 runs, means over 9 queries"
    assert [line.split()[0] for line in two_runs.out.splitlines()[3:]] == ["old", "new"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("deltas", "qrels.txt", "old.run", "new.run", "-o", "out.bmp"), "unknown-format"),
        (("scatter", "qrels.txt", "old.run", "new.run"), "binary-output"),
        (("deltas", "qrels.txt", "old.run"), "wrong-run-count"),
        (("explain", "qrels.txt", "old.run", "-o", "out.svg"), "missing-input"),
        (("pie", "qrels.txt", "old.run"), "bad-parameter"),
        (("cutoffs", "qrels.txt", "old.run", "-k", "0,x", "-o", "out.svg"), "bad-parameter"),
    ],
)
def test_what_cannot_be_drawn_is_reported_in_one_line(files, words, code, plot):
    assert_refused(plot(*words), code)
    assert not (files / "out.svg").exists()


def test_cutoffs_take_metrics_and_places(files, plot):
    plot("cutoffs", "qrels.txt", "old.run", "-m", "P", "-m", "RR@2", "-k", "1,3", "-o", "out.json")
    result = json.loads((files / "out.json").read_text())
    rows = [row for layer in result["layer"] for row in layer["data"]["values"] if "k" in row]
    assert {(row["metric"], row["k"]): row["value"] for row in rows} == {
        ("P", 1): 0,
        ("P", 3): pytest.approx(2 / 3),
    }


def test_grades_have_the_names_that_are_said(files, plot):
    labels = ("--label", "2=Exact", "--label", "1=Substitute")
    for kind in ("grades", "stages"):
        result = plot(kind, "qrels.txt", "old.run", "new.run", *labels, "-o", "out.svg")
        assert result.code == 0, result.err
        svg = (files / "out.svg").read_text()
        assert "Exact</text>" in svg
        assert "Substitute</text>" in svg
        assert "grade 0</text>" in svg
    result = plot("grades", "qrels.txt", "old.run", "--label", "best", "-o", "out.svg")
    assert_refused(result, "invalid-syntax")


def test_the_help_names_every_kind():
    result = CliRunner().invoke(program, ["plot", "--help"]).output
    assert all(f"{kind.name}  " in result for kind in CHART_KINDS)


def test_the_page_of_pictures_names_every_kind():
    page = (Path(__file__).parents[2] / "docs" / "pictures.md").read_text()
    assert re.findall(r"^\| `([a-z-]+)` ", page, re.MULTILINE) == [kind.name for kind in CHART_KINDS]


def test_eval_starts_without_altair(files):
    code = (
        "import sys; from rankgate.interface.cli import rankgate as program\n"
        f"program(['eval', {str(files / 'qrels.txt')!r}, {str(files / 'old.run')!r}], "
        "standalone_mode=False)\n"
        "sys.exit(any(name in sys.modules for name in ('altair', 'vl_convert')))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert process.returncode == 0


def test_python_starts_without_altair():
    code = "import sys, rankgate; rankgate.compare; sys.exit('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_chart_of_a_result_can_be_drawn_from_a_file():
    kind_names = {chart_kind.name for chart_kind in (*CHART_KINDS, *RESULT_CHART_KINDS)}
    for kind in CLASSES:
        assert set(result_class(kind).charts) <= kind_names, kind


def test_a_saved_result_is_drawn(tmp_path, files, run):
    saved = tmp_path / "kpi.json"
    table = online.kpi(written(tmp_path / "log.ndjson", honest(3000)), ("search_ctr",))
    saved.write_text(json.dumps(table.to_dict()))
    result = CliRunner().invoke(program, ["plot", "kpi-days", str(saved), "-o", str(tmp_path / "a.svg")])
    assert result.exit_code == 0, result.output
    assert "search ctr" in (tmp_path / "a.svg").read_text()
    refused = run("plot", "kpi-days", str(files / "qrels.txt"), "-o", str(tmp_path / "b.svg"))
    assert_refused(refused, "missing-input")
