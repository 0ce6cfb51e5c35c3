"""``rankgate conventions``, and what ``--override`` and ``--bounds`` do to ``rankgate eval``."""

from __future__ import annotations

import csv
import io
import json

import pytest

from rankgate.core.console import terminal_output
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.convention import axes
from support.command import assert_refused


def test_every_convention_is_listed(run):
    _, _, table = run("conventions").out.partition("what it reproduces\n")
    assert [line.split()[0] for line in table.splitlines() if line[0] != " "] == [*CONVENTIONS]
    result = json.loads(run("conventions", "--format", "json").out)
    assert [convention["name"] for convention in result["conventions"]] == [*CONVENTIONS]


@pytest.mark.parametrize("name", CONVENTIONS)
def test_one_is_shown_with_every_axis_source_and_defects(run, name):
    text = run("conventions", "show", name).out
    convention, flat = CONVENTIONS[name], " ".join(run("conventions", "show", name).out.split())
    assert text.startswith(f"{name} ({convention.hash})\n")
    assert max(map(len, text.splitlines())) <= 80
    for passage in (convention.title, convention.source, convention.versions, *convention.defects):
        assert " ".join(passage.split()) in flat
    for axis in axes():
        assert f"\n  {axis} " in text
    result = json.loads(run("conventions", "show", name, "--format", "json").out)
    assert [choice["axis"] for choice in result["choices"]] == [*axes()]
    assert result["hash"] == convention.hash
    assert result["versions"] == convention.versions


def test_every_convention_of_a_tool_has_versions_that_it_was_checked_against():
    """Conventions without a tool come from documents that print formulas or code."""
    assert {name for name in CONVENTIONS if not CONVENTIONS[name].versions} == {
        *("guide", "esci", "note", "leaf")
    }


def test_a_choice_of_its_own_is_marked(run):
    lines = [line.split() for line in run("conventions", "show", "trec9").out.splitlines()]
    assert ["precision", "*", "float32"] in [fields[:3] for fields in lines]
    assert ["ties", "doc_id_desc"] in [fields[:2] for fields in lines]


def test_an_overridden_convention_can_be_shown(run):
    text = run("conventions", "show", "trec", "--override", "ties=doc_id_asc").out
    assert text.startswith("trec+ (")
    assert "ties *" in text


def test_every_axis_tells_who_chooses_what(run):
    result = json.loads(run("conventions", "axes", "--format", "json").out)["axes"]
    assert [axis["name"] for axis in result[: len(axes())]] == [*axes()]
    for axis in result:
        names = [name for convention_names in axis["chosen"].values() for name in convention_names]
        assert sorted(names) == sorted(CONVENTIONS)
    (precision,) = [axis for axis in result if axis["name"] == "precision"]
    assert "trec9" in precision["chosen"]["float32"]
    text = run("conventions", "axes").out
    assert "\n  float32  trec9, " in text


def test_an_unknown_convention(run):
    assert_refused(run("conventions", "show", "trek"), "unknown-convention")


def test_set_changes_the_value_and_the_name(run, small):
    arguments = ("eval", *small, "-m", "RR", "--format", "json")
    plain = json.loads(run(*arguments).out)
    result = json.loads(run(*arguments, "--override", "RR.without_relevant=none").out)
    assert plain["runs"][0]["mean"]["RR"] == 2 / 4
    assert result["runs"][0]["mean"]["RR"] == 2 / 3
    assert result["convention"]["name"] == "trec+"
    assert result["convention"]["hash"] != plain["convention"]["hash"]
    assert result["convention"]["axes"]["special"]["RR"] == {"without_relevant": None}


def test_explain_takes_the_same_words(run, small):
    arguments = ("explain", *small, "--query", "1", "-m", "RR")
    text = run(*arguments, "--override", "ties=doc_id_asc").out
    assert "trec+" in text


@pytest.mark.parametrize("word", ["tise=x", "ties=up", "nDCG.gian=exp", "ties"])
def test_a_setting_that_there_is_not(run, small, word):
    result = run("eval", *small, "--override", word)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1


def test_a_convention_from_a_file(run, small, tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text("title = 'Ours'\nmissing = 'leave_out'\n")
    result = json.loads(run("eval", *small, "-m", "RR", "--convention", path, "--format", "json").out)
    assert result["convention"]["name"] == "ours"
    assert result["runs"][0]["mean"]["RR"] == 2 / 3
    assert "Ours" in run("conventions", "show", path).out
    path.write_text("tise = 1\n")
    assert_refused(run("eval", *small, "--convention", path), "invalid-convention", path, 1)


def test_bounds_stand_beside_each_mean(run, small):
    # query 1 is a, u and b (tied), c; u is unjudged. In query 2 y is; 3 and 4 have none.
    arguments = ("eval", *small, "-m", "P@2", "-m", "Judged@2", "--bounds")
    means = ((1 + 1) / 2 / 4, (2 + 2) / 2 / 4)
    assert f"{means[0]:.4f} [{means[0]:.4f}, {means[1]:.4f}]" in run(*arguments).out
    result = json.loads(run(*arguments, "--format", "json", "--per-query").out)["runs"][0]
    assert result["low"] == {"P@2": means[0], "Judged@2": None}
    assert result["high"] == {"P@2": means[1], "Judged@2": None}
    assert result["per_query_high"] == {"P@2": {"1": 1.0, "2": 1.0, "3": 0.0, "4": 0.0}}
    table = list(csv.DictReader(io.StringIO(run(*arguments, "--format", "csv").out)))
    assert table[0]["high"] == str(means[1])
    assert (table[1]["low"], table[1]["high"]) == ("", "")


def test_without_bounds_nothing_speaks_of_them(run, small):
    result = json.loads(run("eval", *small, "--format", "json").out)["runs"][0]
    assert not {"low", "high"} & set(result)


@pytest.mark.parametrize(
    ("tty", "colour", "words", "painted"),
    [
        (True, "", ("text",), True),
        (True, "1", ("text",), False),
        (False, "", ("text",), False),
        (True, "", ("json",), False),
        (True, "", ("text", "file"), False),
    ],
)
def test_colour_is_for_terminals(monkeypatch, tty, colour, words, painted):
    monkeypatch.setattr("sys.stdout.isatty", lambda: tty)
    monkeypatch.setenv("NO_COLOR", colour)
    monkeypatch.setenv("TERM", "xterm")
    assert ("\x1b" in terminal_output.style_output("trec\n", *words)) == painted


@pytest.mark.parametrize(("columns", "width"), [("40", 40), ("120", 120), ("300", 160)])
def test_the_width_is_the_terminal_s(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert terminal_output.output_width() == width
    assert terminal_output.output_width("file") == 80
