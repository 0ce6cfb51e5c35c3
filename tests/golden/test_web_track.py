"""The stored outputs of gdeval and trec_eval for a run of the Web track of 2010."""

from __future__ import annotations

import csv
import gzip

import pytest

from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.trec_eval_command import trec_eval_command


@pytest.fixture
def web(shared):
    folder = shared / "web-diversity-2009-2010" / "2010"
    return folder / "qrels.web.51-100.txt.gz", folder / "runs" / "indri.wt2010.txt.gz", folder


def test_every_topic_and_the_mean_are_gdeval_s(web):
    qrels, run, folder = web
    result = evaluate(qrels, run, ["ndcg@20", "err@20"], "gdeval").runs[0]
    with (folder / "expected" / "indri.wt2010.gdeval20.csv").open() as lines:
        rows = {row["topic"]: row for row in csv.DictReader(lines)}
    for name in ("ndcg@20", "err@20"):
        values = result.per_query(name)
        for topic, row in rows.items():
            want = float(row[name])
            actual = result.means[name] if topic == "amean" else values[topic]
            assert actual == pytest.approx(want, abs=5.1e-6), (topic, name)
        assert len(rows) == len(values) + 1 == 49


def test_the_output_of_trec_eval_is_reproduced(web, capsys):
    qrels, run, folder = web
    trec_eval_command.main(["-q", "-c", "-m", "all_trec", str(qrels), str(run)], standalone_mode=False)
    rankgate_lines = capsys.readouterr().out.splitlines()
    stored = gzip.decompress((folder / "expected" / "indri.wt2010.trec_eval.gz").read_bytes())
    trec_eval_lines = stored.decode().splitlines()
    assert rankgate_lines == trec_eval_lines
    assert len(trec_eval_lines) == 4_707


@pytest.mark.parametrize("year", ["2009", "2010"])
@pytest.mark.parametrize("order", ["rank", "traditional"])
def test_the_output_of_ndeval_is_reproduced(shared, run, year, order):
    folder = shared / "web-diversity-2009-2010" / year
    paths = [folder / f"{year}.diversity.qrels.gz", folder / "runs" / f"indri.wt{year}.txt.gz"]
    result = run("ndeval", *(["-traditional"] if order == "traditional" else []), *map(str, paths))
    assert result.out == (folder / "expected" / f"indri.wt{year}.ndeval.{order}.csv").read_text()


def test_the_output_of_gdeval_is_reproduced(web, run):
    qrels, runs, folder = web
    stored = (folder / "expected" / "indri.wt2010.gdeval20.csv").read_text()
    assert run("gdeval", str(qrels), str(runs)).out == stored
