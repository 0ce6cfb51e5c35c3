"""Documents with the id of their query, against BEIR and MTEB (`oracle/own_ids.py`)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.measurement.scoring.presets import CONVENTIONS

GOLDEN = json.loads((Path(__file__).parent / "own_ids.json").read_text())
OURS = {"HitRate": "Success"}


def _means(run, own_id, names):
    convention = rankgate.convention("beir", {"own_id": own_id})
    values = rankgate.evaluate(GOLDEN["qrels"], run, names, convention).runs[0].means
    return [values[name] for name in names]


@pytest.mark.parametrize("tool", GOLDEN["values"])
def test_means_are_those_of_the_tools(tool):
    own_id, expected = tool.rsplit(maxsplit=1)[1], GOLDEN["values"][tool]
    names = ["@".join([OURS.get(n.split("@")[0], n.split("@")[0]), n.split("@")[1]]) for n in expected]
    assert _means(GOLDEN["run"], own_id, names) == pytest.approx(list(expected.values()), abs=6e-6)


def test_beir_drops_them_and_trec_does_not():
    assert CONVENTIONS["beir"].own_id == "dropped"
    plain = rankgate.evaluate(GOLDEN["qrels"], GOLDEN["run"], ["nDCG@10"], "beir").means
    assert plain["nDCG@10"][0] == pytest.approx(GOLDEN["values"]["beir 2.2.0 dropped"]["NDCG@10"], abs=6e-6)
    assert CONVENTIONS["trec"].own_id == "kept"


def test_every_way_to_give_a_run_drops_them(tmp_path):
    rows = [(q, d, s) for q, row in GOLDEN["run"].items() for d, s in row.items()]
    frame = pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")
    shuffled = tmp_path / "apart.csv"
    frame.sample(fraction=1, shuffle=True, seed=1).write_csv(shuffled)
    (tmp_path / "run.trec").write_text("".join(f"{q} Q0 {d} 1 {s} x\n" for q, d, s in rows))
    ids = sorted({d for _, d, _ in rows})
    table = np.full((len(GOLDEN["run"]), len(ids)), np.nan)
    for index, row in enumerate(GOLDEN["run"].values()):
        for document, score in row.items():
            table[index, ids.index(document)] = score
    matrix = rankgate.Matrix(table, query_ids=list(GOLDEN["run"]), doc_ids=ids)
    names = ["nDCG@10", "AP", "RR@10"]
    expected = _means(GOLDEN["run"], "dropped", names)
    for run in (frame, shuffled, tmp_path / "run.trec", matrix):
        assert _means(run, "dropped", names) == expected
    compared = rankgate.compare(GOLDEN["qrels"], frame, frame, names, convention="beir")
    assert compared.metrics["baseline"].to_list() == pytest.approx(expected)


def test_an_axis_that_came_later_leaves_hashes_as_they_are():
    assert CONVENTIONS["trec"].hash == "a4446ae3c009"  # as results of earlier versions carry it
