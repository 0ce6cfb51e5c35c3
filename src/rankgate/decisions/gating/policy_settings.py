"""Settings of a policy outside its rules."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import TIERS

if TYPE_CHECKING:
    from rankgate.core.declare.toml_file import TomlFile


MIN_ANSWERED = 0.9
"""The share of answered queries below which judged queries are a subset."""

ANSWERED = ("ok", "zero")
"""The states of queries that a system answered."""

SETTINGS = (
    Parameter("convention", "text", "the convention (the tool that metrics agree with)", "trec"),
    Parameter("metrics", "texts", "metrics to report in addition to those of the rules", ()),
    Parameter("alpha", "number", "the allowed probability of a false pass", 0.05, range=Range(0.0001, 0.5)),
    Parameter(
        "power", "number", "the statistical power of detectable differences", 0.8, range=Range(0.01, 0.9999)
    ),
    Parameter(
        "interval",
        "text",
        "the method of intervals: t, corrected for skew; guaranteed, for values with a range, regardless of "
        "their distribution; or the bootstrap",
        "t",
        choices=("t", "guaranteed", "bca", "percentile"),
    ),
    Parameter("depth", "int", "the number of documents of each list that count", 10, range=Range(1)),
    Parameter("seed", "int", "the seed of random numbers", 0, range=Range(0)),
    Parameter(
        "unequal",
        "text",
        "the treatment of queries that only one system ran",
        "refuse",
        choices=("refuse", "zero", "drop"),
    ),
    Parameter(
        "min_answered",
        "number",
        "the share of the judged queries that both runs must have answered, so that a rule can pass; lower "
        "for a deliberate subset",
        MIN_ANSWERED,
        range=Range(0.0, 1.0),
    ),
    Parameter("tags", "text", "a file of tags, next to the policy: CSV or JSONL with query_id"),
    Parameter(
        "inconclusive",
        "text",
        "the exit of an inconclusive gate",
        "inconclusive",
        choices=("inconclusive", "pass", "fail"),
    ),
    Parameter(
        "looks",
        "text",
        "the treatment of repeated evaluations (looks) at the same queries: account, for candidates that an "
        "optimiser chose: the budget of the queries in the folder's account; warn; correct alpha by 6/(pi * "
        "look)^2; or anytime: queries may be added between looks without correction, and alpha is corrected "
        "for further candidates only; auto is account if the folder has one, else warn",
        "auto",
        choices=("auto", "account", "warn", "correct", "anytime"),
    ),
    Parameter(
        "holes",
        "text",
        "the treatment of unjudged documents, which can make a rule inconclusive: estimate computes the "
        "probability that they change its outcome, for judged documents chosen at random and pooled from "
        "other systems; random or pooled, if that is known; or ignore",
        "estimate",
        choices=("estimate", "random", "pooled", "ignore"),
    ),
    Parameter(
        "flip",
        "number",
        "the probability of a change by unjudged documents above which the rule is inconclusive",
        0.1,
        range=Range(0.0, 1.0),
    ),
)
"""The keys of ``[gate]``."""

LISTS = (
    Parameter("train", "text", "the training log of the systems, next to the policy"),
    Parameter("items", "text", "a table of items, next to the policy: item_id and columns"),
    Parameter("features", "texts", "columns of items with numbers", ()),
    Parameter("category", "text", "a column of items with categories, separated by bars"),
    Parameter("group", "text", "a column of items with groups, for fairness of exposure"),
    Parameter("length", "text", "a column of items with lengths of passages in tokens"),
    Parameter("document", "text", "a column of items with the document of each passage"),
    Parameter(
        "sequences",
        "text",
        "rankings that belong together: a table next to the policy with query_id and sequence, or "
        "ids:PATTERN",
    ),
    Parameter("obvious", "text", "the run of a simple system, next to the policy"),
    Parameter("earlier", "text", "earlier recommendations, a run next to the policy"),
    Parameter(
        "resamples",
        "int",
        "the number of resamples of users, for metrics over all lists",
        1000,
        range=Range(100),
    ),
)
"""The keys of ``[lists]``: inputs of metrics of lists besides judgments and runs."""

RAMP = (
    Parameter(
        "share",
        "number",
        "the share of units in the treatment",
        required=True,
        range=Range(0.0, 1.0, exclusive=True),
    ),
    Parameter(
        "since",
        "text",
        "the day on which the step began, as in 2026-03-03; without it the step has not begun",
    ),
    Parameter("days", "int", "the lowest number of days of the step", 1, range=Range(1)),
    Parameter("units", "int", "the lowest number of units in the treatment", 0, range=Range(0)),
    Parameter(
        "passes",
        "texts",
        "the rules that must pass; without it those that block in the last step, and none before it, where "
        "no rule may fail",
        (),
    ),
)
"""The keys of every ``[[ramp]]``: the steps of a launch, in order."""

STAGES = ("gate", "replay", "interleaving", "ramp")
"""The stages that spend the error budget, in order."""

BUDGET = (
    Parameter(
        "alpha",
        "number",
        "the allowed probability of a false launch, over all stages",
        0.05,
        range=Range(0.0001, 0.5),
    ),
    *(
        Parameter(name, "number", f"the share of it that the {name} spends", 0.25, range=Range(0.0, 1.0))
        for name in STAGES
    ),
)
"""The keys of ``[budget]``; without it every stage has the alpha of ``[gate]``."""

EARLIER = (
    Parameter("gate", "text", "the JSON of the gate's verdict, next to the policy"),
    Parameter("replay", "text", "the JSON of rankgate online ope, next to the policy"),
    Parameter(
        "replay_margin",
        "number",
        "the loss of reward that is acceptable, as a share of the logged reward",
        0.0,
        range=Range(0.0, 1.0),
    ),
    Parameter(
        "interleaving",
        "text",
        "the JSON of rankgate online interleave score, next to the policy; its systems have the names of the "
        "arms",
    ),
    Parameter(
        "interleaving_margin",
        "number",
        "the loss of preference that is acceptable",
        0.0,
        range=Range(0.0, 0.5),
    ),
)
"""The keys of ``[earlier]``: results that must have passed before the ramp."""

COMMON = (
    Parameter("id", "text", "the rule's name, unique"),
    Parameter("kind", "text", "the kind of rule", required=True),
    Parameter("tier", "text", "the effect of a failure: it blocks, warns or informs", "block", choices=TIERS),
    Parameter(
        "slice", "text", "only queries with this tag=value, for kinds that count or infer over queries"
    ),
)
"""The keys of every ``[[rules]]``."""


def parse_day(file: TomlFile, text: str | None, *key: str) -> date | None:
    """The day in a text of a policy; None if the text is empty.

    Raises:
        InputError: a text that is not a day; with its line.
    """
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise file.error(f"{text!r} is not a day, such as 2026-03-01.", *key) from None
