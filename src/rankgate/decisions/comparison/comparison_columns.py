"""The columns of the tables of comparisons: of two systems, of a sample, of many systems."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import (
    DOC_ID,
    LEVEL,
    METRIC,
    P_RAW,
    P_VALUE,
    QUERY_ID,
    SYSTEM,
    TAG,
    TAG_VALUE,
)
from rankgate.core.present.document_model import SOFT
from rankgate.data.query_latencies import bounds_columns
from rankgate.decisions.comparison.equivalence import EQUIVALENCE, RELATIVE
from rankgate.decisions.comparison.seeds import SEEDS

_BASELINE = Column("baseline", pl.Float64, "the value of the baseline")
_CANDIDATE = Column("candidate", pl.Float64, "the value of the candidate")
_GAIN = Column(
    "gain",
    pl.Float64,
    "delta, or −delta for a metric that is better when lower: above 0 the candidate is better",
    "signed",
)

REPRESENTED = Columns(
    "One row per metric: the difference in the population that the judged queries represent; no rows without "
    "a sample.",
    METRIC,
    Column("queries", pl.Int64, "queries judged by people"),
    Column(
        "effective",
        pl.Float64,
        "queries of equal weight that are worth as much",
        ".1f",
        header="effective\nqueries",
    ),
    Column("population", pl.Int64, "queries that the model judged", ","),
    Column("people", pl.Float64, "the difference without the model", "signed", header="delta by\npeople"),
    Column("people_low", pl.Float64, "the low end of the interval of people", "signed"),
    Column("people_high", pl.Float64, "the high end of the interval of people", "signed"),
    Column("model", pl.Float64, "the difference by the model alone", "signed", header="delta by\nthe model"),
    Column(
        "correlation",
        pl.Float64,
        "the correlation of the differences of queries by people and by the model",
        ".2f",
    ),
    Column("slope", pl.Float64, "how much the model's judgments count", ".2f"),
    Column(
        "saving",
        pl.Float64,
        "the share of people's queries that the model saves",
        ".0%",
        header="queries\nsaved",
    ),
    Column(
        "needed",
        pl.Int64,
        "people's queries that would show this difference; null where no number up to the population's does",
        unit="queries",
        header="people need\nfor this delta",
    ),
    Column(
        "documents",
        pl.Int64,
        "documents that people judged; null where they judged all of these queries",
        header="documents\npeople judged",
    ),
    Column(
        "more_documents",
        pl.Int64,
        "documents that people must judge in addition to show this difference; null where all documents of "
        "these queries would not do",
        unit="documents",
        header="more documents\nfor this delta",
    ),
    Column(
        "seen", pl.Int64, "queries that are left out because the model saw their judgments", unit="queries"
    ),
    Column(
        "agreement",
        pl.Float64,
        "Cohen's kappa of the model's grades with people's grades",
        ".2f",
        header="agreement\n(kappa)",
    ),
)

PREDICTIONS = Columns(
    "One row per metric and query that the model alone judged; no rows without a model's judgments.",
    QUERY_ID,
    METRIC,
    Column("delta", pl.Float64, "the difference by the model", "signed", header="delta by\nthe model"),
    Column(
        "low",
        pl.Float64,
        "the low end of the conformal interval of the difference that people would find",
        "signed",
    ),
    Column(
        "high",
        pl.Float64,
        "the high end of the conformal interval of the difference that people would find",
        "signed",
    ),
)

METRICS = Columns(
    "One row per metric, in the order that was asked for. In slices, mde and needed are of one uncorrected "
    "test.",
    METRIC,
    Column("n", pl.Int64, "queries where both systems have a value", unit="queries"),
    Column("baseline", pl.Float64, "the mean of the baseline"),
    Column("candidate", pl.Float64, "the mean of the candidate"),
    Column("delta", pl.Float64, "candidate − baseline: the mean over the n queries", "signed"),
    _GAIN,
    Column("low", pl.Float64, "the low end of the interval of delta", "signed"),
    Column("high", pl.Float64, "the high end of the interval of delta", "signed"),
    LEVEL,
    Column("test", pl.String, "the test that gives the p-value"),
    P_RAW,
    Column("p_value", pl.Float64, "the p-value after the correction", "p", header="p"),
    Column("correction", pl.String, "the correction of the p-value, and over how many tests"),
    Column("mc_error", pl.Float64, "the standard error of a p-value that was found by resampling"),
    Column("effect", pl.Float64, "the size of the effect: Hedges' gz", ".2f", header="effect\n(gz)"),
    Column(
        "wins", pl.Int64, "queries where the candidate is better", unit="queries", header="won/tied/\nlost"
    ),
    Column("ties", pl.Int64, "queries where both are equal", unit="queries"),
    Column("losses", pl.Int64, "queries where the candidate is worse", unit="queries"),
    Column("sd", pl.Float64, "the standard deviation of the differences", header="sd of the\ndifferences"),
    Column(
        "mde",
        pl.Float64,
        "the smallest true difference that n queries show with the power that was asked for, regardless of "
        "the other tests",
        header=f"detect{SOFT}\nable",
    ),
    Column(
        "needed",
        pl.Float64,
        "queries that show a difference as large as delta after the correction, if the other means stay",
        "queries",
        unit="queries",
        header="queries to show\nthis difference",
    ),
)

PLANS = Columns(
    "One row per metric: the queries that a true difference of the wanted size needs; no rows where no size "
    "was wanted.",
    METRIC,
    Column("wanted", pl.Float64, "the true difference that is to be shown"),
    Column(
        "queries",
        pl.Float64,
        "queries that show it after the correction, if the other means stay as measured",
        "queries",
    ),
)

QUERIES = Columns(
    "One row per metric and query: metrics in order, the worst query of each first.",
    QUERY_ID,
    METRIC,
    _BASELINE,
    _CANDIDATE,
    Column("delta", pl.Float64, "candidate − baseline", "signed"),
    _GAIN,
    Column(
        "judged_baseline",
        pl.Float64,
        "the share of judged documents among the first ones of the baseline",
        ".2f",
    ),
    Column(
        "judged_candidate",
        pl.Float64,
        "the share of judged documents among the first ones of the candidate",
        ".2f",
    ),
    Column("overlap", pl.Float64, "the share of the first documents that both have", ".2f"),
    further_columns="a tag of the queries",
)

LISTS = Columns(
    "One row per query, system and rank: the first documents of both systems.",
    QUERY_ID,
    Column("system", pl.String, "baseline or candidate"),
    Column("rank", pl.Int64, "the rank, from 1"),
    DOC_ID,
    Column("grade", pl.Float64, "the grade; null for a document without one", "grade"),
    Column(
        "moved",
        pl.Int64,
        "ranks gained against the other list; null where the other list lacks the document",
        "+d",
        unit="ranks",
    ),
)

SLICES = Columns("One row per value of a tag and metric, as in metrics.", TAG, TAG_VALUE, METRICS)

INTERACTIONS = Columns(
    "One row per tag and metric: a test whether the values of the tag differ in delta, by permuting the tag "
    "among queries.",
    TAG,
    METRIC,
    P_VALUE,
    Column("values", pl.Int64, "the values of the tag that took part, each of 10 queries or more"),
    Column("too_small", pl.String, "the values that did not take part, separated by commas"),
)

JUDGED = Columns(
    "One row per system and cutoff.",
    Column("system", pl.String, "baseline or candidate"),
    Column("k", pl.Int64, "the cutoff", unit="documents"),
    Column("share", pl.Float64, "the mean share of judged documents among the first k"),
)

LATENCY = Columns(
    "One row per system; no rows where no latency is known.",
    Column("system", pl.String, "baseline or candidate"),
    Column("n", pl.Int64, "queries that were sent", unit="queries", header="queries"),
    Column("censored", pl.Int64, "those that failed, whose latency is only a lower bound", unit="queries"),
    *bounds_columns(
        Column("mean", pl.Float64, "the mean", ".1f", unit="ms"),
        Column("p50", pl.Float64, "the median", ".1f", unit="ms"),
        Column("p90", pl.Float64, "the 90th percentile", ".1f", unit="ms"),
        Column("p95", pl.Float64, "the 95th percentile", ".1f", unit="ms"),
        Column("p99", pl.Float64, "the 99th percentile", ".1f", unit="ms"),
    ),
)

STATES = Columns(
    "One row per system and state.",
    Column("system", pl.String, "baseline or candidate"),
    Column("state", pl.String, "the state of queries: ok, zero, failed or not_run"),
    Column("queries", pl.Int64, "how many queries have it"),
)

EXCLUDED = Columns(
    "One row per query that is left out.",
    QUERY_ID,
    Column("metric", pl.String, "the metric that it is left out of; null: all", empty="all"),
    Column("reason", pl.String, "why it is left out", header="why"),
)

SCHEMAS: Mapping[str, Columns] = {
    "metrics": METRICS,
    "queries": QUERIES,
    "lists": LISTS,
    "slices": SLICES,
    "interactions": INTERACTIONS,
    "judged": JUDGED,
    "latency": LATENCY,
    "states": STATES,
    "excluded": EXCLUDED,
    "plans": PLANS,
    "equivalence": EQUIVALENCE,
    "relative": RELATIVE,
    "represented": REPRESENTED,
    "predictions": PREDICTIONS,
    "seeds": SEEDS,
}
"""The columns of each table of a comparison."""

MEANS = Columns(
    "One row per metric and system, the best first, over the queries on which all systems have a value.",
    METRIC,
    SYSTEM,
    Column("mean", pl.Float64, "the mean of the metric"),
    Column("n", pl.Int64, "queries with a value of every system", unit="queries", header="queries"),
    Column(
        "mean_rank", pl.Float64, "the mean rank within queries; 1 is the best", ".2f", header="mean\nrank"
    ),
)

ANOVA = Columns(
    "One row per metric: the analysis of variance by system and query.",
    METRIC,
    Column("f", pl.Float64, "the F statistic of systems", ".2f", header="F"),
    P_VALUE,
    Column(
        "sphericity",
        pl.Float64,
        "Greenhouse and Geisser's ε; 1 where p_value and p_tukey hold",
        ".2f",
        header="ε",
    ),
    Column(
        "p_corrected",
        pl.Float64,
        "the p-value corrected by ε, which holds for any ε",
        "p",
        header="p (any ε)",
    ),
    Column("ms_system", pl.Float64, "the mean square of systems"),
    Column("ms_query", pl.Float64, "the mean square of queries"),
    Column("ms_residual", pl.Float64, "the mean square of the residual"),
)

PAIRS = Columns(
    "One row per metric and pair of systems; p-values are corrected for all pairs of the metric.",
    METRIC,
    Column("first", pl.String, "the first system"),
    Column("second", pl.String, "the second system"),
    Column("delta", pl.Float64, "first − second", "signed"),
    Column("gain", pl.Float64, "above 0 where the first is better", "signed"),
    Column("low", pl.Float64, "the low end of the interval of delta", "signed"),
    Column("high", pl.Float64, "the high end of the interval of delta", "signed"),
    Column("p_tukey", pl.Float64, "the p-value of Tukey's test", "p", header="p\n(Tukey)"),
    Column(
        "p_randomised", pl.Float64, "the p-value of the randomised Tukey test", "p", header="p\n(random.)"
    ),
    Column(
        "p_nemenyi", pl.Float64, "the p-value of Nemenyi's test of mean ranks", "p", header="p\n(Nemenyi)"
    ),
)

ORDERINGS = Columns(
    "One row per pair of metrics: how similarly they order the systems.",
    Column("first", pl.String, "the first metric", header="metric"),
    Column("second", pl.String, "the second metric", header="metric"),
    Column("tau", pl.Float64, "Kendall's tau b", "z.2f", header="Kendall's tau"),
    Column(
        "tau_ap_b",
        pl.Float64,
        "tau AP, the mean of both directions; `rankgate.rank_similarity` has the directed ``tau-AP``",
        "z.2f",
        header="tau AP,b",
    ),
    Column("rbo", pl.Float64, "rank-biased overlap with p = .9", "z.2f", header="RBO (.9)"),
    Column("spearman", pl.Float64, "Spearman's rho", "z.2f", header="Spearman's rho"),
    Column("pearson", pl.Float64, "Pearson's correlation of the means", ".3f"),
    Column("tau_low", pl.Float64, "the low end of the interval of tau over resampled queries", "+z.2f"),
    Column("tau_high", pl.Float64, "the high end of the interval of tau over resampled queries", "+z.2f"),
    Column("spearman_low", pl.Float64, "the low end of the interval of rho over resampled queries", "+z.2f"),
    Column(
        "spearman_high", pl.Float64, "the high end of the interval of rho over resampled queries", "+z.2f"
    ),
)

RELIABILITY = Columns(
    "One row per metric: the reliability of these queries for separating the systems.",
    METRIC,
    Column("queries", pl.Int64, "queries with a value of every system"),
    Column("var_system", pl.Float64, "the component of variance of systems"),
    Column("var_query", pl.Float64, "the component of variance of queries"),
    Column("var_residual", pl.Float64, "the component of variance of the residual"),
    Column(
        "e_rho2",
        pl.Float64,
        "Eρ²: the reliability of differences between systems",
        ".3f",
        header="Eρ², order",
    ),
    Column("e_rho2_low", pl.Float64, "the low end of the interval of Eρ²", ".3f"),
    Column("e_rho2_high", pl.Float64, "the high end of the interval of Eρ²", ".3f"),
    Column("phi", pl.Float64, "Φ: the reliability of means themselves", ".3f", header="Φ, values"),
    Column("phi_low", pl.Float64, "the low end of the interval of Φ", ".3f"),
    Column("phi_high", pl.Float64, "the high end of the interval of Φ", ".3f"),
    Column(
        "needed",
        pl.Float64,
        "queries that are needed for Eρ² of .95",
        "queries",
        unit="queries",
        header="queries\nfor Eρ² .95",
    ),
    Column("needed_absolute", pl.Float64, "queries that are needed for Φ of .95", "queries", unit="queries"),
    Column(
        "tau",
        pl.Float64,
        "Kendall's tau to expect of another set of queries",
        ".2f",
        header="tau with other\nqueries",
    ),
    Column("tau_ap", pl.Float64, "tau AP to expect of another set of queries", ".3f"),
    Column(
        "split_half",
        pl.Float64,
        "the correlation of two random halves of the queries, stepped up to all of them",
        ".2f",
        header="split\nhalf",
    ),
    Column("split_half_low", pl.Float64, "the low end of 95 % of the splits", ".3f"),
    Column("split_half_high", pl.Float64, "the high end of 95 % of the splits", ".3f"),
    Column("split_half_tau", pl.Float64, "Kendall's tau of the orders of the halves", ".3f"),
)

FRIEDMAN = Columns(
    "One row per metric: Friedman's test of systems ranked within queries.",
    METRIC,
    Column("statistic", pl.Float64, "Friedman's χ²", ".2f", header="χ²"),
    Column("p_value", pl.Float64, "the p-value of χ²", "p", header="p"),
    Column("f", pl.Float64, "Iman and Davenport's F", ".2f", header="F"),
    Column("f_p_value", pl.Float64, "the p-value of F", "p", header="p (F)"),
    Column(
        "critical",
        pl.Float64,
        "the smallest difference of two mean ranks that Nemenyi's test detects",
        ".2f",
        header="ranks differ\nfrom (Nemenyi)",
    ),
)
