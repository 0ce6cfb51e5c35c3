"""ranx on the two files."""

import json
import sys

from ranx import Qrels, Run, evaluate

NAMES = {"nDCG@10": "ndcg@10", "AP": "map", "RR": "mrr", "R@100": "recall@100", "P@10": "precision@10"}

qrels = Qrels.from_file(sys.argv[1], kind="trec")
run = Run.from_file(sys.argv[2], kind="trec")
means = evaluate(qrels, run, list(NAMES.values()))
print(json.dumps({rankgate_name: float(means[ranx_name]) for rankgate_name, ranx_name in NAMES.items()}))
