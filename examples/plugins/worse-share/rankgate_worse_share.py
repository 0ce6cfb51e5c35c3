"""A gate rule: at most this share of queries may get worse.

A mean hides how many users pay for the gain of others. The rule counts the queries whose value
falls by more than ``ignore``, among those of its slice.
"""

import numpy as np

from rankgate.extend import Evidence, Outcome, Parameter, Range, Rule, RuleKind


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Count the queries that get worse."""
    gains = np.asarray(evidence.gains(rule["metric"], rule.slice))
    if not len(gains):
        return Outcome("inconclusive", "no query has a value on both sides", "check the tags", n=0)
    share = float((gains < -rule["ignore"]).mean())
    good = share <= rule["at_most"]
    return Outcome(
        "pass" if good else "fail",
        f"{share:.1%} of {len(gains)} queries get worse in {rule['metric']}, at most "
        f"{rule['at_most']:.1%} may",
        "" if good else "look at the worst queries (rankgate compare)",
        n=len(gains),
    )


WORSE_SHARE = RuleKind(
    "worse_share",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", required=True),
        Parameter(
            "at_most",
            "number",
            "the largest share of queries that may get worse",
            required=True,
            range=Range(0.0, 1.0),
        ),
        Parameter("ignore", "number", "a loss that does not count", 0.0, range=Range(0.0)),
    ),
    decide,
    title="at most a share of the queries gets worse",
    sliced=True,
    needs=frozenset({"values"}),
)
