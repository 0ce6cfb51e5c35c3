"""Settings of a policy outside its rules."""

from __future__ import annotations

from rankgate.declare import Parameter, Range
from rankgate.gating.rule import TIERS

SETTINGS = (
    Parameter("convention", "text", "whose rules the numbers follow", "trec"),
    Parameter("metrics", "list", "metrics to report besides those that rules name", ()),
    Parameter("alpha", "number", "the chance of a false pass that is allowed", 0.05,
              range=Range(0.0001, 0.5)),
    Parameter("power", "number", "that detectable differences are for", 0.8,
              range=Range(0.01, 0.9999)),
    Parameter("interval", "text", "how intervals are made: t, corrected for skew; guaranteed, for "
              "values with a range, regardless of their distribution; or by the bootstrap", "t",
              choices=("t", "guaranteed", "bca", "percentile")),
    Parameter("depth", "int", "how far lists are looked at", 10, range=Range(1)),
    Parameter("seed", "int", "of everything that is drawn", 0, range=Range(0)),
    Parameter("unequal", "text", "what queries are that only one system ran", "refuse",
              choices=("refuse", "zero", "drop")),
    Parameter("tags", "text", "a file of tags, next to the policy: CSV or JSONL with query_id"),
    Parameter("inconclusive", "text", "what an inconclusive gate exits as", "inconclusive",
              choices=("inconclusive", "pass", "fail")),
    Parameter("looks", "text", "what repeated looks at the same queries do: warn; correct alpha "
              "by 6/(pi * look)^2; or anytime: queries may be added and looked at again at no "
              "cost, and alpha is corrected for further candidates only", "warn",
              choices=("warn", "correct", "anytime")),
    Parameter("holes", "text", "whether unjudged documents may leave a rule open: estimate asks "
              "how probably they turn it, whether judged documents were chosen at random or pooled "
              "from other systems; random and pooled, where that is known; ignore does not",
              "estimate", choices=("estimate", "random", "pooled", "ignore")),
    Parameter("flip", "number", "the probability of such a turn above which nothing is decided",
              0.1, range=Range(0.0, 1.0)),
)  # fmt: skip
"""What ``[gate]`` may say."""

LISTS = (
    Parameter("train", "text", "the log that systems learned from, next to the policy"),
    Parameter("items", "text", "a table of items, next to the policy: item_id and columns"),
    Parameter("features", "list", "columns of items with numbers", ()),
    Parameter("category", "text", "a column of items with categories, several between bars"),
    Parameter("group", "text", "a column of items with the group whose exposure counts"),
    Parameter("obvious", "text", "the run of a simple system, next to the policy"),
    Parameter(
        "earlier", "text", "what users were shown at an earlier time, a run next to the policy"
    ),
    Parameter(
        "resamples", "int", "of users, for numbers about all lists together", 1000, range=Range(100)
    ),
)
"""What ``[lists]`` may say: what metrics of lists need besides judgments and runs."""

COMMON = (
    Parameter("id", "text", "the rule's name, unique"),
    Parameter("kind", "text", "what it demands", required=True),
    Parameter("tier", "text", "whether it blocks, warns or informs", "block", choices=TIERS),
    Parameter(
        "slice",
        "text",
        "the queries it looks at, as tag=value, for kinds that count or infer over queries",
    ),
)
"""What every ``[[rules]]`` may say."""
