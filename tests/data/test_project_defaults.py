"""What a project file states in ``[collection]``, ``[test]`` and ``[output]`` holds everywhere."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from rankgate.core.errors import InputError, UsageError
from rankgate.interface.cli import rankgate as program

SHEET = "term,sku,label\n" + "".join(
    f"q{i},a,Exact\nq{i},b,{'Partial' if i % 2 else 'None'}\n" for i in range(24)
)
METRIC = """
from collections.abc import Sequence

import rankgate


@rankgate.metric
def first(grades: Sequence[float | None]) -> float:
    "The grade of the first document."
    return float(grades[0] or 0) if grades else 0.0
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a labelled sheet, two runs and tags, in which commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.csv").write_text(SHEET)
    tags = "".join(f"q{i},{'head' if i < 12 else 'tail'}\n" for i in range(24))
    (tmp_path / "tags.csv").write_text(f"query_id,traffic\n{tags}")
    for name, best_doc in (("old", "b"), ("new", "a")):
        rows = [
            f"q{i} Q0 {doc} {rank} {3 - rank} {name}\n"
            for i in range(24)
            for rank, doc in enumerate(sorted("ab", key=lambda doc: doc != best_doc), 1)
        ]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    (tmp_path / "rankgate.toml").write_text(
        "[collection]\n"
        'columns = "query=term,doc=sku,grade=label"\n'
        "grades = { Exact = 2, Partial = 1, None = 0 }\n"
        'tags = "tags.csv"\n'
        "[test]\n"
        'method = "randomization"\n'
        "resamples = 200\n"
        "[output]\n"
        'format = "json"\n'
    )
    return tmp_path


def _call(*arguments):
    result = CliRunner().invoke(program, arguments, standalone_mode=False)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


@pytest.mark.usefixtures("project")
def test_options_that_nobody_writes_are_those_of_the_file():
    result = json.loads(
        _call("compare", "qrels.csv", "old.run", "new.run", "-m", "nDCG@2", "--slice", "traffic")
    )
    (comparison,) = result["comparisons"]
    assert {row["test"] for row in comparison["metrics"]} == {"randomization"}
    assert comparison["resamples"] == 200
    assert {row["value"] for row in comparison["slices"]} == {"head", "tail"}
    evaluation = json.loads(_call("eval", "qrels.csv", "new.run", "-m", "nDCG@2"))
    assert evaluation["runs"][0]["mean"] == {"nDCG@2": 1.0}


@pytest.mark.usefixtures("project")
def test_what_is_written_goes_before_the_file():
    arguments = ["compare", "qrels.csv", "old.run", "new.run", "-m", "nDCG@2"]
    text = _call(*arguments, "--format", "text", "--test", "t")
    assert text.startswith("new against old")
    assert "random." not in text


@pytest.mark.usefixtures("project")
def test_a_file_without_rules_leaves_the_default_policy():
    verdict = json.loads(_call("gate", "qrels.csv", "old.run", "new.run"))
    assert verdict["verdict"] == "pass"
    assert [rule["id"] for rule in verdict["rules"]] == ["no-worse", "sees-the-change", "judged"]


@pytest.mark.usefixtures("project")
def test_config_shows_what_the_file_states_and_where():
    rows = {row["name"]: row for row in json.loads(_call("config", "--format", "json"))["settings"]}
    assert rows["collection.tags"]["value"].endswith("tags.csv")
    assert rows["collection.tags"]["origin"] == "rankgate.toml:4"
    assert rows["collection.grades"]["value"] == "Exact=2, Partial=1, None=0"
    assert rows["test.resamples"]["value"] == "200"
    assert rows["output.format"]["value"] == "json"


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('[test]\nmethd = "t"\n', r"rankgate\.toml:2: unknown key 'methd'; did you mean method\?"),
        ("[test]\nlevel = 2\n", r"rankgate\.toml:2: level = 2"),
        ('[output]\nformat = "word"\n', r"rankgate\.toml:2: format is one of text"),
        ("[collection]\ntag = 'x'\n", r"rankgate\.toml:2: unknown key 'tag'; did you mean tags\?"),
        ("[defaults]\nmetrics = 3\n", r"rankgate\.toml:2: metrics is a list of names"),
    ],
)
def test_what_the_file_cannot_state_is_an_error_with_its_line(project, table, problem):
    (project / "rankgate.toml").write_text(table)
    with pytest.raises(InputError, match=problem):
        _call("eval", "qrels.csv", "new.run")


def test_the_help_lists_the_options_of_values_under_their_headings():
    headings = [line for line in _call("compare", "--help-all").splitlines() if line.startswith("Options")]
    assert headings == [
        "Options:",
        "Options of the collection:",
        "Options of items and users:",
        "Options of recommenders:",
        "Options of how judgments were made:",
        "Options of sequences and repeated runs:",
        "Options of the test:",
        "Options of the output:",
    ]


def test_metrics_of_a_file_are_known_by_name_while_a_command_runs(project):
    (project / "own.py").write_text(METRIC)
    arguments = ["eval", "qrels.csv", "new.run", "-m", "first", "--convention", "trec"]
    evaluation = json.loads(_call(*arguments, "--metrics-from", "own.py"))
    assert evaluation["runs"][0]["mean"] == {"first": 2.0}
    with pytest.raises(UsageError, match="first"):
        _call(*arguments)


def test_a_report_and_a_chart_read_the_labels_too(project):
    _call("report", "qrels.csv", "old.run", "new.run", "-m", "nDCG@2", "-o", "report.html")
    assert "nDCG@2" in (project / "report.html").read_text()
    chart = _call("plot", "deltas", "qrels.csv", "old.run", "new.run", "-m", "nDCG@2")
    assert "nDCG@2" in chart
