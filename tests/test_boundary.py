"""Mistakes of users end with one line and exit code 2, whatever library notices them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rankgate
from rankgate.core.errors import RankgateError
from rankgate.data.formats.registry import TABLE
from rankgate.interface.cli import COMMANDS
from rankgate.measurement.evaluation.metric_selection import find_metrics
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from support.command import assert_refused
from support.wording import raises

RUN = {"q": {"a": 3.0, "z": 2.0, "c": 1.0}}
QRELS = {"q": {"a": 2, "b": 0, "c": 1}}
DAMAGED = {
    "empty": b"",
    "text": b"a b\n",
    "binary": bytes(range(256)) * 4,
    "utf-32": "q 0 a 1\n".encode("utf-32"),
    "latin-1": "q 0 \xe9 1\nq;\xe9;2\n".encode("latin-1"),
    "parquet": b"PAR1 garbage garbage PAR1",
    "arrow": b"ARROW1\0\0 garbage garbage ARROW1",
    "gzip": b"\x1f\x8b\x08garbage",
    "zstd": b"\x28\xb5\x2f\xfdgarbage",
    "json": b'{"q": {"a": ',
    "surrogate": b'{"q": {"\\ud800": 1}}',
    "deep": b"[" * 5000,
    "long": b"q 0 a " + b"9" * 5000 + b"\n",
}


@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.parametrize("form", [None, *(name for name, _, _ in TABLE)])
def test_every_reader_refuses_damaged_files_with_an_error_of_ours(tmp_path, kind, form):
    path = tmp_path / "file"
    path.write_bytes(DAMAGED[kind])
    for read in (rankgate.read_qrels, rankgate.read_run):
        try:
            result = read(path, from_=form)
            assert (read, len(result.table)) == (rankgate.read_run, 1)  # two words of a line are a run
        except RankgateError as error:
            assert "\n" not in str(error), error  # noqa: PT017 - the kind of error is the test


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_refuses_damaged_files_with_one_line(tmp_path, run, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for kind in ("parquet", "utf-32", "json"):
        path = tmp_path / kind
        path.write_bytes(DAMAGED[kind])
        for arguments in ([name, path], [name, path, path, path], [name, path / "inside"]):
            result = run(*arguments)
            assert result.code != 70, result.err


@pytest.mark.parametrize("cutoff", [1 << 31, (1 << 53) - 1, 1 << 53, 1 << 63, 1 << 64, 10**30])
def test_every_cutoff_is_a_value_or_an_error_of_ours(cutoff):
    names = [f"{metric.name}@{cutoff}" for metric in CATALOGUE if metric.at == "cutoff"]
    fits = cutoff < 1 << 53
    for name in names:
        if not fits:
            with pytest.raises(RankgateError):
                find_metrics(name)
            continue
        try:
            rankgate.evaluate(QRELS, RUN, [name])
        except RankgateError:  # a parameter that is needed
            continue


@pytest.mark.parametrize("metrics", [[None], b"AP", 5, None, [["AP"]]])
def test_what_is_no_metric_is_an_error(metrics):
    with raises("unknown-metric"):
        rankgate.evaluate(QRELS, RUN, metrics)


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ({"1": {"\ud800": 1}}, RUN),
        ({"\ud800": {"a": 1}}, RUN),
        ({"\ud800": ["a"]}, RUN),
        (QRELS, {"\ud800": {"a": 1.0}}),
        (QRELS, {"q": ["\ud800"]}),
        (QRELS, {"q": {"a": 1.0}, "\ud800": {}}),
    ],
)
def test_half_of_a_surrogate_pair_is_no_id(qrels, run):
    with raises("invalid-id"):
        rankgate.evaluate(qrels, run, ["RR"])


def test_results_are_equal_by_content():
    first, second = (rankgate.evaluate(QRELS, RUN, ["RR", "ERR@1"]) for _ in range(2))
    different = rankgate.evaluate(QRELS, {"q": {"z": 1.0, "a": 0.5}}, ["RR", "ERR@1"])
    assert first == second
    assert hash(first) == hash(second)
    assert first != different
    assert first != RUN
    assert len({first, second, different}) == 2
    assert rankgate.compare(QRELS, RUN, QRELS) == rankgate.compare(QRELS, RUN, QRELS)
    assert rankgate.read_qrels(QRELS) == rankgate.read_qrels(QRELS)
    qrels = {"q": {"a": 1}, "p": {"x": 0}}
    undefined = [rankgate.evaluate(qrels, RUN, ["RR"], "lenskit") for _ in range(2)]
    assert undefined[0] == undefined[1]


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_closed_streams_are_no_fault_of_ours(tmp_path, stream):
    for name, text in (("a.qrels", "q 0 a 1\n"), ("a.run", "q Q0 a 1 2 x\n")):
        (tmp_path / name).write_text(text)
    first = "-" if stream == "stdin" else "a.qrels"
    sign = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"}[stream]
    line = f'exec "{sys.executable}" -m rankgate eval {first} a.run -m RR {sign}'
    process = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert process.returncode == (0 if stream == "stderr" else 2), process.stderr


def test_mistakes_that_were_called_our_fault(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.qrels").write_text("q 0 a 1\n")
    (tmp_path / "a.run").write_text("q Q0 a 1 2 x\n")
    (tmp_path / "wide.qrels").write_bytes(DAMAGED["utf-32"])
    (tmp_path / "bad.parquet").write_bytes(DAMAGED["parquet"])
    (tmp_path / "policy.toml").write_text('[gate]\nmetrics = [1, "a"]\n')
    assert_refused(run("eval", "a.qrels", "a.run", "-m", f"P@{1 << 63}"), "invalid-parameter")
    assert_refused(run("cwl_eval", "wide.qrels", "a.run"), "not-utf8", "wide.qrels", 1)
    assert_refused(run("init", "a.qrels/x"), "cannot-write")
    assert_refused(run("online", "kpi", "bad.parquet"), "damaged-file")
    assert_refused(run("policy", "policy.toml"), "invalid-policy")


def test_a_file_whose_kind_is_a_guess_is_named_with_the_doubts(tmp_path):
    for name, text in (("a.json", "[1, 2]\n"), ("a.toml", "rules = 5\n")):
        (tmp_path / name).write_text(text)
        result = rankgate.validate(tmp_path / name)
        assert [(p.severity, p.check) for p in result.problems] == [("warning", "guessed-format")]
    (tmp_path / "a.qrels").write_text("q a 1\nq b 0\n")
    assert not rankgate.validate(tmp_path / "a.qrels").problems


def test_what_is_given_twice_is_an_error():
    with raises("invalid-parameter"):
        rankgate.evaluate(QRELS, RUN, ["AP(rel=1,rel=2)"])
    with raises("duplicate-name"):
        rankgate.convention("trec", ["ties=doc_id_asc", "ties=doc_id_desc"])
