"""pytrec_eval-terrier as its README shows it: files to dicts, dicts to the evaluator.

With ``--in-memory`` the dicts are there before the clock starts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytrec_eval
from clock import timed

NAMES = {"nDCG@10": "ndcg_cut_10", "AP": "map", "RR": "recip_rank", "R@100": "recall_100", "P@10": "P_10"}


def main() -> None:
    """Read both files, evaluate, print the means."""
    with Path(sys.argv[1]).open() as file:
        qrels = pytrec_eval.parse_qrel(file)
    with Path(sys.argv[2]).open() as file:
        run = pytrec_eval.parse_run(file)
    if "--in-memory" in sys.argv:
        timed(lambda: means(qrels, run))
    else:
        print(json.dumps(means(qrels, run)))


def means(qrels: Any, run: Any) -> dict[str, float]:  # noqa: ANN401 - dicts of dicts
    """The five means."""
    values = pytrec_eval.RelevanceEvaluator(qrels, set(NAMES.values())).evaluate(run)
    return {
        rankgate_name: pytrec_eval.compute_aggregated_measure(
            peer_name, [value[peer_name] for value in values.values()]
        )
        for rankgate_name, peer_name in NAMES.items()
    }


main()
