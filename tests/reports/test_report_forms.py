"""``rankgate report`` as Markdown, LaTeX, CSV and PDF."""

from __future__ import annotations

import csv
import io
import json
import re
import stat

import pytest

from rankgate.core.present.markup_tables import escape_latex
from rankgate.core.present.number_formats import DIGITS, LETTERS, system_mark
from support.command import assert_refused

SYSTEMS = ("base_line", "=1+1", "50%", "a&b{c}")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Sixteen queries and four systems with names that are special in spreadsheets and TeX."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("".join(f"=q{i} 0 +good 1\n" for i in range(16)))
    for turn, name in enumerate(SYSTEMS):
        rows = []
        for i in range(16):
            docs = ["x", "y", "z"]
            docs.insert((turn + i % 2) % 4, "+good")
            rows += [f"=q{i} Q0 {d} {r} {9 - r} t\n" for r, d in enumerate(docs)]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    return ["qrels.txt", *(f"{name}.run" for name in SYSTEMS)]


def test_latex_marks_what_tukey_tells_apart(run, data):
    result = run("report", *data, "-m", "RR", "--format", "latex")
    assert result.code == 0, result.err
    systems = json.loads(run("compare", *data, "-m", "RR", "--format", "json").out)["systems"]
    worse_marks = {name: set() for name in SYSTEMS}
    for row in systems["pairs"]:
        if row["p_tukey"] < 0.05:
            better, worse = (row["first"], row["second"])[:: 1 if row["delta"] > 0 else -1]
            worse_marks[better].add("abcd"[SYSTEMS.index(worse)])
    assert any(worse_marks.values())
    table = result.out[: result.out.index(r"\end{tabular}")]
    lines = [line for line in table.splitlines() if line.startswith(r"\textsuperscript")]
    assert len(lines) == 4
    lines_by_name = {name: line for name in SYSTEMS for line in lines if f"}} {escape_latex(name)} &" in line}
    assert set(lines_by_name) == set(SYSTEMS)
    for name, line in lines_by_name.items():
        value = line.split(" & ")[1]
        assert set(re.findall(r"textsuperscript\{(\w)\}", value)) == worse_marks[name]


def test_latex_is_tex(run, data):
    text = run("report", *data, "-m", "RR", "-m", "nDCG@10", "--gate", "--format", "latex").out
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 4
    for line in text.splitlines():
        plain = re.sub(r"\\[&%$#_{}]", "", line)
        if line.startswith("%"):
            continue
        assert plain.count("{") == plain.count("}")
        assert "%" not in plain
        assert "#" not in plain
        assert all(ord(sign) < 0x2000 for sign in line), line
    for block in re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end", text, re.DOTALL):
        columns, body = block
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(columns)}


@pytest.mark.tex
def test_tex_takes_it(run, data, tmp_path):
    import subprocess

    text = run("report", *data, "-m", "RR", "--gate", "--format", "latex").out
    preamble = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs}\begin{document}"
    (tmp_path / "t.tex").write_text(f"{preamble}\n{text}\n\\end{{document}}\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0


def test_no_cell_of_csv_is_a_formula(run, data):
    result = run("report", *data, "-m", "RR", "--format", "csv")
    header, *rows = csv.reader(io.StringIO(result.out))
    assert header == ["part", "table", "row", "column", "value"]
    assert any(row[-1] == " =q1" for row in rows)
    text_cells = [cell for row in rows for cell in row if not re.fullmatch(r"[-+]?[\d.]+%?", cell)]
    assert not [cell for cell in text_cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_markdown_says_what_the_page_says(run, data):
    result = run("report", *data[:3], "-m", "RR", "--gate", "--format", "markdown").out
    assert re.match(
        r"# (✔ PASS|✘ FAIL|\? INCONCLUSIVE): [a-z ]*=1\+1 may (not )?replace base\\_line\n", result
    )
    for heading in ("Rules: ", "What the metrics do not see", "Inputs and how to reproduce"):
        assert f"\n## {heading}" in result
    tables = re.findall(r"(?:^\|.*\n)+", result, re.MULTILINE)
    assert len(tables) > 8
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_marks_never_run_out():
    marks = [system_mark(i) for i in range(200)]
    assert len(set(marks)) == 200
    read = re.compile(f"[{LETTERS}][{DIGITS}]*")
    assert read.findall("".join(marks)) == marks  # next to each other they remain distinct


def test_pdf_needs_a_file_and_a_browser(run, data, monkeypatch, tmp_path):
    result = run("report", *data, "-m", "RR", "--format", "pdf")
    assert_refused(result, "binary-output")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("rankgate.workspace.reports.report.BROWSERS", ("chromium", "chrome"))
    result = run("report", *data, "-m", "RR", "--format", "pdf", "-o", "r.pdf")
    assert_refused(result, "no-browser")
    arguments = ("--format", "pdf", "-o", "r.pdf", "--browser", "nobrowser")
    result = run("report", *data, "-m", "RR", *arguments)
    assert_refused(result, "no-browser")


def test_pdf_is_what_the_browser_printed(run, data, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(
        '#!/bin/sh\nfor word in "$@"; do case $word in --print-to-pdf=*) to=${word#*=};; file:*) '
        'from=${word#file://};; esac; done\ncp "$from" "$to"\n'
    )
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    arguments = [*data, "-m", "RR", "-o", "r.pdf"]
    result = run("report", *arguments, "--format", "pdf", "--browser", browser)
    assert result.code == 0, result.err
    assert (tmp_path / "r.pdf").read_text().startswith("<!doctype html>")
    browser.write_text("#!/bin/sh\necho 'it broke' >&2\n")
    result = run("report", *arguments, "--format", "pdf", "--browser", browser)
    assert_refused(result, "browser-failed")
