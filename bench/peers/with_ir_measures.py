"""ir_measures on generators of the files' lines, as its documentation shows it."""

import json
import sys

import ir_measures

METRICS = [ir_measures.parse_measure(name) for name in ("nDCG@10", "AP", "RR", "R@100", "P@10")]

qrels = ir_measures.read_trec_qrels(sys.argv[1])
run = ir_measures.read_trec_run(sys.argv[2])
means = ir_measures.calc_aggregate(METRICS, qrels, run)
print(json.dumps({str(metric): value for metric, value in means.items()}))
