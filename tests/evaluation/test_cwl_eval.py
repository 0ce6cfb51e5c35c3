"""``cwl_eval``: the output of cwl_eval 1.0.12 on our own inputs, byte for byte; refusals."""

from pathlib import Path

import pytest

from rankgate.core.errors import InputError
from rankgate.measurement.evaluation.trec.cwl_eval import cwl_eval, read_metrics
from support.wording import raises

PLACE = Path(__file__).parent / "cwl"


def test_the_output_with_costs_and_residuals_is_that_of_cwl_eval(run, monkeypatch):
    monkeypatch.chdir(PLACE)
    arguments = "gains.txt run.txt -n -r -c costs.txt -m metrics.txt --max_cost 2 --min_cost 0.25"
    assert run("cwl_eval", *arguments.split()).out == (PLACE / "expected.txt").read_text()


def test_the_output_without_options_is_that_of_cwl_eval(run, monkeypatch):
    monkeypatch.chdir(PLACE)
    assert run("cwl_eval", "gains.txt", "run.txt").out == (PLACE / "expected-plain.txt").read_text()


def test_residuals_have_no_negative_zero(run, tmp_path):
    gains, ranked = tmp_path / "gains.txt", tmp_path / "run.txt"
    gains.write_text("".join(f"t1 0 d{i} {i % 3 / 2}\n" for i in range(60)))
    ranked.write_text("".join(f"t1 Q0 d{i} {i + 1} {60 - i} s\n" for i in range(60)))
    out = run("cwl_eval", str(gains), str(ranked), "-r").out
    assert "-0.0000" not in out
    assert len(out.splitlines()) > 10


def test_nothing_is_printed_before_a_refusal(run, tmp_path):
    ranked = tmp_path / "run.txt"
    ranked.write_text("t1 web d00 1 2 sys\nt2 web d01 2 1\n")
    result = run("cwl_eval", str(PLACE / "gains.txt"), str(ranked), "-n")
    assert (result.code, result.out) == (2, "")
    assert "expected 6" in result.err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("INSTCWLMetric(2.0)\nNoSuchCWLMetric()\n", "unknown-metric"),
        ("RRCWLMetric()\nRRCWLMetric(3)\n", "unknown-metric"),
        ("RRCWLMetric()\nINSTCWLMetric(much)\n", "unknown-metric"),
        ("RRCWLMetric()\nNERReq8CWLMetric()\n", "incomplete-metric"),
    ],
)
def test_a_metric_that_is_not_one_is_refused_with_its_line(tmp_path, text, code):
    path = tmp_path / "metrics.txt"
    path.write_text(text)
    with raises(code, InputError) as error:
        read_metrics(path)
    assert error.value.line == 2


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("gains", "t1 0 d00 1\nt1 0 d01 3\n", "grade-outside-scale"),
        ("gains", "t1 0 d00 1\nt1 0 d01\n", "wrong-field-count"),
        ("run", "t1 web d00 1 2 sys\nt1 web d01 2 1\n", "wrong-field-count"),
        ("costs", "web 1\nimage cheap\n", "not-a-number"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused(tmp_path, name, text, code):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    files = {"gains": PLACE / "gains.txt", "run": PLACE / "run.txt", "costs": None, name: path}
    with raises(code, InputError) as error:
        list(cwl_eval(files["gains"], files["run"], costs=files["costs"]))
    assert error.value.line == 2
