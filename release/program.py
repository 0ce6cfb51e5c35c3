"""A program of somebody who uses rankgate: it is checked by types, not run (`make types`)."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from typing import assert_type

import polars as pl

import rankgate
from rankgate.metrics import RR, nDCG

JUDGMENTS = {"q1": {"a": 3, "b": 0}}
RUN = {"q1": {"a": 1.5, "b": 2.5}}

result = rankgate.evaluate(JUDGMENTS, {"old": RUN, "new": RUN}, [nDCG(gain="exp") @ 10, RR])
assert_type(result.means, pl.DataFrame)

comparison = rankgate.compare("qrels.txt", "old.run", ["a.run", "b.run"], correction="holm")
assert_type(comparison.kind, str)

verdict = rankgate.gate(JUDGMENTS, RUN, RUN, policy="rankgate.toml")
if verdict.verdict == "pass":
    verdict.report("page.html")

rankgate.evaluate(3, RUN)  # type: ignore[arg-type]
rankgate.compare("qrels.txt", "a.run", "b.run", interval="guess")  # type: ignore[arg-type]
