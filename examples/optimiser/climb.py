"""An optimiser proposes 60 candidates that are as good as the baseline, and then a better one.

It asks the gate without an account and with one: python climb.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import rankgate

rng = np.random.default_rng(5)
queries = {f"q{i}": {f"d{i}-{j}": int(rng.random() < 0.3) for j in range(10)} for i in range(200)}


def system(noise):
    """A run whose scores are the grades with noise: more noise, worse lists."""
    return {
        query: {doc: grade + noise * rng.standard_normal() for doc, grade in docs.items()}
        for query, docs in queries.items()
    }


baseline, candidates, better = system(1.0), [system(1.0) for _ in range(60)], system(0.6)
RULE = '[[rules]]\nid = "better"\nkind = "improvement"\nmetric = "nDCG@10"\n'

for looks in ("warn", "account"):
    with TemporaryDirectory() as folder:
        policy = Path(folder) / "rankgate.toml"
        policy.write_text(f'[gate]\nlooks = "{looks}"\n{RULE}')
        if looks == "account":
            rankgate.open_account(Path(folder), tests=1000)
        verdicts = [
            rankgate.gate(queries, baseline, run, policy, folder=folder, redraws=0) for run in candidates
        ]
        print(
            f"looks = {looks}: {sum(verdict.passed for verdict in verdicts)} of 60 equal candidates promoted"
        )
        last = rankgate.gate(queries, baseline, better, policy, folder=folder)
        print(f"the better one: {last.verdict}")
        if last.account:
            print(last.account.sentence)
