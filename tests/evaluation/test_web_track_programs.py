"""``ndeval`` and ``gdeval``: the output of ndeval on our own inputs, and refusals."""

from pathlib import Path

import pytest

from rankgate.core.errors import DuplicateError, InputError
from rankgate.measurement.evaluation.trec.web_track import gdeval, ndeval
from support.command import assert_refused
from support.wording import raises

PLACE = Path(__file__).parent / "web_track"
CALLS = dict(
    section.split("\n", 1) for section in (PLACE / "ndeval.txt").read_text()[2:].split("\n# ")
)  # what ndeval 4.5 printed, after a line of its options


@pytest.mark.parametrize("words", CALLS)
def test_the_output_is_that_of_ndeval(run, monkeypatch, words):
    monkeypatch.chdir(PLACE)
    assert run("ndeval", *words.split()).out.rstrip("\n") == CALLS[words].rstrip("\n")


def rows(run, words):
    lines = run("gdeval", *words.split()).out.splitlines()[1:]
    return {line.split(",")[-3]: [float(number) for number in line.split(",")[-2:]] for line in lines}


def test_gdeval_divides_by_the_topics_of_the_run_or_by_all(run, monkeypatch):
    monkeypatch.chdir(PLACE)
    one = rows(run, "-k 3 adhoc.txt first.run")
    assert list(one) == ["1", "3", "4", "6", "amean"]  # 2 is not in the run, 5 has nothing relevant
    all_scores = rows(run, "-c -k 3 adhoc.txt first.run")
    assert all_scores["amean"] == pytest.approx([mean * 4 / 5 for mean in one["amean"]], abs=1e-5)


def test_gdeval_weighs_losses_against_a_baseline(run, monkeypatch):
    monkeypatch.chdir(PLACE)
    new, old = (rows(run, f"adhoc.txt {name}.run") for name in ("first", "other"))
    values = rows(run, "-c -baseline other.run -riskAlpha 2 adhoc.txt first.run")
    assert list(values) == ["1", "3", "4", "6", "2", "amean"]
    zeros = [0.0, 0.0]
    for topic in ("1", "2", "3", "4", "6"):
        pairs = zip(new.get(topic, zeros), old.get(topic, zeros), strict=True)
        expected = [(a - b) * (1 if a >= b else 3) for a, b in pairs]
        assert values[topic] == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "text", "code", "line"),
    [
        ("qrels", "1 1 a 1\nx 1 a 1\n", "not-a-number", 2),
        ("qrels", "1 1 a 1\n1 1 b -2\n", "grade-outside-scale", 2),
        ("run", "1 Q0 a 1 2 r\nq1 Q0 b 2 1 r\n", "not-a-number", 2),
        ("run", "1 Q0 a 1 2 r\n1 Q0 b 1 1 r\n", "duplicate-document", 2),
        ("run", "1 Q0 a 1 2 r\n1 Q0 a 2 1 r\n", "duplicate-document", 2),
        ("run", "1 Q0 a first 2 r\n", "not-a-number", 1),
    ],
)
def test_a_line_that_ndeval_does_not_read_is_refused(tmp_path, name, text, code, line):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    files = {"qrels": PLACE / "qrels.txt", "run": PLACE / "first.run", name: path}
    with raises(code, (InputError, DuplicateError)) as error:
        list(ndeval(files["qrels"], files["run"]))
    assert error.value.line == line


def test_a_grade_above_gdeval_s_scale_is_refused(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("wt-1 0 a 4\nwt-1 0 b 5\n")
    with raises("grade-outside-scale", InputError) as error:
        list(gdeval(path, PLACE / "first.run"))
    assert error.value.line == 2


def test_a_weight_of_risk_is_a_number(run, monkeypatch):
    monkeypatch.chdir(PLACE)
    assert run("ndeval", "-riskAlpha", "much", "qrels.txt", "first.run").code == 2


@pytest.mark.parametrize(("program", "judgments"), [("ndeval", "qrels.txt"), ("gdeval", "adhoc.txt")])
def test_an_empty_file_is_refused(run, monkeypatch, tmp_path, program, judgments):
    monkeypatch.chdir(PLACE)
    (empty := tmp_path / "empty").touch()
    assert_refused(run(program, empty, "first.run"), "empty-file", empty)
    assert_refused(run(program, judgments, empty), "empty-file", empty)
