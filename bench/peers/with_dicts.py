"""rankgate on the dicts that pytrec_eval takes; they are there before the clock starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytrec_eval
from clock import timed

from rankgate.measurement.evaluation.evaluate import evaluate

METRICS = ["nDCG@10", "AP", "RR", "R@100", "P@10"]

with Path(sys.argv[1]).open() as file:
    qrels = pytrec_eval.parse_qrel(file)
with Path(sys.argv[2]).open() as file:
    run = pytrec_eval.parse_run(file)
timed(lambda: evaluate(qrels, run, METRICS).runs[0].means)
