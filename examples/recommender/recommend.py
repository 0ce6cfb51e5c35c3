"""From a log to a verdict: split, four recommenders, evaluation, scorecard, and the gate.

``python recommend.py`` takes the log of this folder; ``python recommend.py LOG [--way leave-last]``
any other that rankgate reads. With ``--into FOLDER`` the lists are kept, a file for each system.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import polars as pl
from models import recommended

import rankgate
from rankgate.decisions.gating.policy import parse_policy

HERE = Path(__file__).parent
METRICS = ["nDCG@10", "R@10", "R@20", "RR@10"]
ANY_LOG = """\
[gate]
holes = "ignore"

[[rules]]
id = "finds-more"
kind = "improvement"
metric = "nDCG@10"

[[rules]]
id = "shows-more"
kind = "improvement"
metric = "Coverage@10"
"""
"""What the gate asks where nothing is known of the items."""


def main(words: list[str]) -> int:
    """Print the split, the means, the card and the verdict; 0, 1 or 3 as the gate says."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("log", nargs="?", type=Path, default=HERE / "log.csv")
    asked.add_argument("--way", default="global")
    asked.add_argument("--threshold", type=float, help="the least relevant value")
    asked.add_argument("--into", type=Path, help="a folder for the lists, a file for each system")
    given = asked.parse_args(words)
    own = given.log == HERE / "log.csv"
    threshold = 4 if own and given.threshold is None else given.threshold or 0
    parts = rankgate.split(str(given.log), given.way, rankgate.Truth(threshold=threshold))
    runs = recommended(parts.train, parts.qrels.table["query_id"].unique().sort())
    if given.into:
        given.into.mkdir(exist_ok=True)
        for name, run in runs.items():
            run.write_csv(given.into / f"{name}.csv")
    books = rankgate.Items(HERE / "books.csv", category="genre", group="press")
    collection = rankgate.Collection(
        parts.qrels, training=parts.train, items=books if own else rankgate.Items(),
        reference=runs["popular"],
    )
    card = rankgate.scorecard(collection, runs, slices=["activity", "popularity"])
    popular, neighbours = ({name: runs[name]} for name in ("popular", "neighbours"))
    policy = HERE / "gate.toml" if own else parse_policy(ANY_LOG, "recommend.py")
    verdict = rankgate.gate(collection, popular, neighbours, policy)
    evaluation = rankgate.evaluate(parts.qrels, runs, METRICS)
    with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
        for part in (parts, evaluation.means, card, verdict):
            print(part, "\n")
    return verdict.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
