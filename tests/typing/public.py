"""A program of somebody who uses rankgate: type checkers read it, nothing runs it.

mypy reads it in the tests, mypy and pyright with the wheel in ``make types``. A line with
``type: ignore`` must be an error for both.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from typing import Any, assert_type

import polars as pl

import rankgate
from rankgate.decisions.comparison.inference import Test
from rankgate.metrics import AP, RBP, RR, Metric, P, nDCG, parse

JUDGMENTS = {"q1": {"a": 3, "b": 0}}
RUN = {"q1": {"a": 1.5, "b": 2.5}}

# Metrics: every one takes its own parameters.
chosen: list[Metric] = [nDCG(gain="exp") @ 10, nDCG(gain={1: 1, 3: 7}, judged_only=True), AP(rel=2)]
assert_type(parse("nDCG@10"), Metric)
assert_type(str(RBP(p=0.8)), str)
nDCG(gian="exp")  # type: ignore[call-arg]
nDCG(gain="expo")  # type: ignore[arg-type]
P(cutoff="ten")  # type: ignore[arg-type]
RR(10)  # type: ignore[call-arg]

# Verbs: what they take, and results.
evaluation = rankgate.evaluate(JUDGMENTS, {"old": RUN, "new": RUN}, [*chosen, RR])
assert_type(evaluation, rankgate.Scores)
assert_type(evaluation.means, pl.DataFrame)
assert_type(evaluation.to_dict(), dict[str, Any])
rankgate.evaluate(3, RUN)  # type: ignore[arg-type]
rankgate.evalute(JUDGMENTS, RUN)  # type: ignore[attr-defined]
rankgate.online.doctr("log.ndjson")  # type: ignore[attr-defined]

comparison = rankgate.compare("qrels.txt", "old.run", ["a.run", "b.run"], test=Test(correction="holm"))
assert_type(comparison, rankgate.Comparisons)
assert_type(comparison.kind, str)
rankgate.compare("qrels.txt", "a.run", "b.run", test=Test(interval="guess"))  # type: ignore[arg-type]

verdict = rankgate.gate(JUDGMENTS, RUN, RUN, policy="rankgate.toml")
assert_type(verdict, rankgate.Verdict)
if verdict.verdict == "pass":
    verdict.report("page.html")
if verdict.verdict == "passed":  # type: ignore[comparison-overlap]
    verdict.report("page.html")
