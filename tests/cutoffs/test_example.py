"""examples/cutoff: what the page says of later questions."""

from pathlib import Path

import numpy as np
import pytest

from rankgate.data.read import read_qrels, read_run
from rankgate.decisions.cutoffs.scored_questions import ScoredQuestions
from rankgate.measurement.evaluation.scored_system import Scorer

HERE = Path(__file__).parents[2] / "examples" / "cutoff"


def scores(prefix):
    scorer = Scorer.from_metrics(read_qrels(HERE / f"{prefix}qrels.txt"), "nDCG@10")
    return ScoredQuestions.read(scorer, read_run(HERE / f"{prefix}tfidf.run")).scores("share")


def test_the_quantile_of_the_labelled_questions_misses_its_aim_later():
    labelled, later = scores(""), scores("later-")
    quantile = float(np.quantile(labelled.relevant, 0.1))
    assert quantile == pytest.approx(0.2204, abs=5e-5)
    assert (later.relevant >= quantile).mean() == pytest.approx(0.894, abs=5e-4)
    assert np.quantile(labelled.tops, 0.95) == pytest.approx(0.46, abs=5e-3)
    assert (later.tops < 0.539).mean() >= 0.95
    assert (later.relevant >= 0.176).mean() >= 0.9
    assert (later.tops < 0.25).mean() < 0.5
