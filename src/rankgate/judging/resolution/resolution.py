"""Combine several ratings into judgments: the result of ``resolve``.

A rule combines several ratings into one grade. The result has the judgments, which record the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankgate.core.declare import Declared, Parameter, Range, Registry, parameters_of
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.codec import frame
from rankgate.core.present.column_texts import column_texts
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.core.present.document_model import PlainRows, make_printable
from rankgate.core.present.layout import NOTICES, Lines, View
from rankgate.core.present.number_formats import count_noun
from rankgate.data.qrels import QRELS_SCHEMA, Qrels
from rankgate.data.table_rows import RowLocation, in_row_order
from rankgate.judging.counting_ratings import PAIR, counting_ratings
from rankgate.judging.grade_transformers import refuse_outside
from rankgate.measurement.stats.dawid_skene import dawid_skene

if TYPE_CHECKING:
    from rankgate.data.qrels import Ratings, Scale
    from rankgate.judging.grade_transformers import Transformer


Smoothing = Annotated[float, Range(0)]

TIE = "tie"
"""The reason of an unresolved pair: two grades have equally many raters."""
NO_GRADE = "no grade"
"""The reason of an unresolved pair: no rater could grade it."""
NOT_ADJUDICATED = "not adjudicated"
"""The reason of an unresolved pair: the adjudicator and the other rule gave no grade."""
DIFFER = "raters differ"
"""The reason of an unresolved pair: raters gave different grades."""


@dataclass(frozen=True)
class ResolveRule(Declared):
    """A rule that combines several ratings into one grade.

    Attributes:
        name: the name of the rule.
        title: a description, in a sentence.
        source: the publication.
        resolve: from the last ratings with a grade (``query_id``, ``doc_id``, ``rater``, ``grade``,
            ``at``, ``row``, in the order given) to one row a pair: ``grade``, null where it stays
            unresolved, and ``why``, null where it is resolved. Its keyword-only arguments are the
            parameters of the rule.
    """

    resolve: Callable[..., pl.DataFrame]

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The keyword-only arguments of the rule's function, by name."""
        return parameters_of(self.resolve)


def _aggregate(table: pl.DataFrame, grade: pl.Expr) -> pl.DataFrame:
    return table.group_by(PAIR, maintain_order=True).agg(
        grade.alias("grade"), pl.lit(None, dtype=pl.String).alias("why")
    )


def _majority(table: pl.DataFrame) -> pl.DataFrame:
    pairs = table.select(PAIR).unique(maintain_order=True).with_row_index("pair")
    numbered_grades = table.select(*PAIR, "grade").join(pairs, on=PAIR).select("pair", "grade")
    votes = numbered_grades.group_by("pair", "grade").len()
    top_votes = votes.filter(pl.col("len") == pl.col("len").max().over("pair"))
    winners = top_votes.group_by("pair").agg(
        pl.when(pl.len() == 1).then(pl.col("grade").first()).alias("grade"),
        pl.when(pl.len() > 1).then(pl.lit(TIE)).alias("why"),
    )
    return pairs.join(winners, on="pair", how="left", maintain_order="left").drop("pair")


def _mean(table: pl.DataFrame) -> pl.DataFrame:
    return _aggregate(table, in_row_order(pl.col("grade")).mean())


def _median(table: pl.DataFrame) -> pl.DataFrame:
    return _aggregate(table, pl.col("grade").quantile(0.5, "lower"))


def _top_three(table: pl.DataFrame, *, rounded: bool = False) -> pl.DataFrame:
    """The mean of one or two grades; of three or more the lowest of the three highest.

    Args:
        table: the ratings.
        rounded: to whole grades, halves up, as Quepid does in books of people
    """
    three = 3
    grade = (
        pl.when(pl.len() < three).then(pl.col("grade").mean()).otherwise(pl.col("grade").top_k(three).min())
    )
    # halves are rounded up, as in Ruby
    return _aggregate(table, (grade + 0.5).floor() if rounded else grade)


def _unanimous(table: pl.DataFrame) -> pl.DataFrame:
    is_unanimous = pl.col("grade").n_unique() == 1
    return table.group_by(PAIR, maintain_order=True).agg(
        pl.when(is_unanimous).then(pl.col("grade").first()).alias("grade"),
        pl.when(~is_unanimous).then(pl.lit(DIFFER)).alias("why"),
    )


def _latest(table: pl.DataFrame, *, order: Literal["time", "file"] = "time") -> pl.DataFrame:
    """The grade with the latest time, from any rater.

    Args:
        table: the ratings.
        order: file takes the last row of each pair; time needs the time of each rating
    """
    if order == "file":
        return _aggregate(table.sort("row"), pl.col("grade").last())
    # without times, last grades are refused: row order changes when files are joined
    times = pl.col("at")
    unclear = (  # pairs with more than one grade in rows that may be the last
        table.filter((times.is_null().any() | (times == times.max())).over(PAIR))
        .group_by(PAIR, maintain_order=True)
        .agg(pl.col("grade").n_unique().alias("grades"))
        .filter(pl.col("grades") > 1)
    )
    if len(unclear):
        query, document, _ = unclear.row(0)
        raise UsageError(
            f"latest: {count_noun(len(unclear), 'pair has', 'pairs have')} different grades and no times "
            f"that order them, such as '{document}' of query '{query}'; add the times, take another rule, or "
            "set order=file to use the last row.",
            code="missing-input",
        )
    return _aggregate(table, pl.col("grade").last())


Otherwise = Literal["majority", "mean", "median", "top-three", "unanimous", "dawid-skene"]


def _adjudicated(
    table: pl.DataFrame, *, adjudicator: str = "", otherwise: Otherwise = "majority"
) -> pl.DataFrame:
    """The adjudicator's grade, or the grade of another rule for pairs without one.

    Args:
        table: the ratings.
        adjudicator: the rater who decides
        otherwise: the rule for pairs that the adjudicator did not grade
    """
    if not adjudicator:
        raise UsageError(
            "the rule adjudicated needs the rater who decides; set adjudicator=NAME.", code="missing-input"
        )
    if adjudicator not in table["rater"]:
        raise UsageError(
            f"adjudicator={adjudicator}: no rating of this rater; see the raters' names.",
            code="unknown-choice",
        )
    own_grades = table.filter(pl.col("rater") == adjudicator).select(*PAIR, pl.col("grade").alias("own"))
    other_grades = RULES[otherwise].resolve(table)
    return (
        other_grades.join(own_grades, on=PAIR, how="left", maintain_order="left")
        .with_columns(pl.coalesce("own", "grade").alias("grade"))
        .with_columns(pl.when(pl.col("grade").is_null()).then(pl.lit(NOT_ADJUDICATED)).alias("why"))
        .drop("own")
    )


def _dawid_skene(table: pl.DataFrame, *, expected: bool = False, smoothing: Smoothing = 0.01) -> pl.DataFrame:
    """The most probable true grade, raters weighed by the errors they make.

    Args:
        table: the ratings.
        expected: the mean of the true grade's distribution, instead of its peak
        smoothing: added to every cell of a rater's table of errors; 0 is the paper's
    """
    if table.is_empty():
        return _aggregate(table, pl.col("grade").first())
    pairs = table.select(PAIR).unique(maintain_order=True).with_row_index("item")
    numbered_ratings = table.join(pairs, on=PAIR, maintain_order="left")
    grades, grade_index = np.unique(numbered_ratings["grade"].to_numpy(), return_inverse=True)
    _, rater = np.unique(numbered_ratings["rater"].to_numpy(), return_inverse=True)
    pair_index = numbered_ratings["item"].to_numpy().astype(np.int64)
    belief = dawid_skene(pair_index, rater, grade_index, smoothing=smoothing).belief
    result = belief @ grades if expected else grades[belief.argmax(axis=1)]
    return pairs.drop("item").with_columns(
        pl.Series("grade", result), pl.lit(None, dtype=pl.String).alias("why")
    )


RULES = Registry(
    ResolveRule,
    "rule",
    (
        ResolveRule(
            "majority",
            _majority,
            title="the grade that most raters gave; no grade if two grades tie",
            source="SearchTweak, binary scale",
        ),
        ResolveRule(
            "mean",
            _mean,
            title="the arithmetic mean; it may lie between grades",
            source="SearchTweak, graded and detail scales",
        ),
        ResolveRule(
            "median",
            _median,
            title="the middle grade; the lower of the two in the middle of an even number",
            source="the usual definition",
        ),
        ResolveRule(
            "top-three",
            _top_three,
            title="the mean of one or two grades; of three or more the lowest of the three highest",
            source="Quepid, app/services/ratings_manager.rb",
        ),
        ResolveRule(
            "unanimous",
            _unanimous,
            title="the grade if all raters agree; no grade if they differ",
            source="usual practice at TREC, before adjudication",
        ),
        ResolveRule(
            "latest", _latest, title="the grade with the latest time, from any rater", source="usual practice"
        ),
        ResolveRule(
            "adjudicated",
            _adjudicated,
            title="the adjudicator's grade; without it, the grade of another rule",
            source="usual practice at TREC",
        ),
        ResolveRule(
            "dawid-skene",
            _dawid_skene,
            title="the most probable true grade, raters weighed by the errors they make",
            source="Dawid and Skene 1979",
        ),
    ),
    group="rankgate.resolve_rules",
)
"""Every rule, by name."""


def _format_grades(grades: Sequence[float] | None) -> str:
    return ", ".join(f"{grade:g}" for grade in grades or ())


def format_exact(grade: float | None) -> str:
    """A grade with all digits of a fraction; whole numbers without a point."""
    if grade is None:
        return ""
    return f"{grade:.0f}" if grade.is_integer() else repr(grade)


_UNRESOLVED = Columns(
    "One row per pair without a judgment; the rows can be given out again as a pool.",
    QUERY_ID,
    DOC_ID,
    Column("why", pl.String, "why it has no judgment"),
    Column("grades", pl.List(pl.Float64), "the grades as raters gave them", _format_grades),
)
_JUDGED = Columns(
    "One row per judgment.",
    QUERY_ID,
    DOC_ID,
    Column("grade", pl.Float64, "the grade that the rule made", "grade"),
)
_RATE_DIFFERENCE = 0.1  # a difference between rates of strata that is larger than rounding


_MAX_EXAMPLES = 5
_MAX_ROWS = 1000  # files have all of them


def _read_judgments(values: Mapping[str, Any]) -> Qrels | None:
    """The judgments of a saved result; None if no pair was resolved."""
    if not values["judgments"]:
        return None
    name, table = values["ratings"], frame(values["judgments"], _JUDGED)
    return Qrels(table, name, None, (), values["made_by"], RowLocation(name))


@dataclass(frozen=True)
class ResolvedJudgments(Result):
    """Judgments made of ratings: at most one grade per query and document, by a stated rule.

    Attributes:
        name: the name of the ratings.
        qrels: the judgments, ready for ``evaluate``; None where no pair was resolved.
        unresolved: the columns of `_UNRESOLVED`.
        made_by: the rule with its parameters, as recorded in the judgments.
        counts: ratings, corrected, cannot_tell, beyond_slots, raters, pairs, resolved, ties;
            unordered with slots (pairs whose first grades are those of the file's order, as times
            are missing), adjudicated where a rater decides.
    """

    kind = "resolution"
    main_table = "judged_pairs"
    label = "Judgments made of ratings"
    SCHEMAS: ClassVar = {"unresolved": _UNRESOLVED}
    headline_text = (
        "{name}: {counts[ratings]:n rating} by {counts[raters]:n rater}, {counts[resolved]:,} of "
        "{counts[pairs]:n pair} resolved by {rule}"
    )
    layout = (
        Lines("unused"),
        NOTICES,
        View("unresolved", "pairs without a judgment", keys=2, first=_MAX_ROWS, folded=True),
    )
    WRITTEN: ClassVar[tuple[str, ...]] = (
        "name",
        "made_by",
        "counts",
        "cautions",
        "judged_pairs",
        "unresolved",
    )
    KEYS: ClassVar[Mapping[str, str]] = {"name": "ratings", "judged_pairs": "judgments"}
    READ: ClassVar[Mapping[str, Any]] = {"qrels": _read_judgments}
    notice_texts = (
        NoticeText(
            "no-times",
            "{counts[unordered]:n pair has/pairs have} more ratings than slots and not all times: the first "
            "rows of the file were taken.",
            lambda judgments: judgments.counts.get("unordered"),
        ),
        NoticeText(
            "unlike-strata",
            "strata with different rates ({unlike_rates}): infAP treats them as one and is too high; draw "
            "one stratum for it, or weigh each document by 1/inclusion.",
            "unlike_rates",
        ),
    )

    name: str
    qrels: Qrels | None
    unresolved: pl.DataFrame
    made_by: Mapping[str, Any]
    counts: Mapping[str, int]

    @property
    def rule(self) -> str:
        """The rule with its parameters, in words."""
        counts, made_by = self.counts, self.made_by
        options = made_by.get("parameters", {})
        rule = ", ".join([made_by["rule"], *(f"{name}={value}" for name, value in options.items())])
        if "transformer" in made_by:
            rule += f" after {made_by['transformer']}"
        if "slots" in made_by:
            rule += f", the first {count_noun(made_by['slots'], 'grade')} of a pair"
        if "adjudicated" in counts:
            other_rule = options.get("otherwise", "majority")
            rule += f" ({counts['adjudicated']:,} by {options['adjudicator']}, the others by {other_rule})"
        return rule

    @property
    def unused(self) -> tuple[str, ...]:
        """Sentences with the numbers of unused ratings and of unresolved pairs."""
        reasons = {
            "corrected": "replaced by a later one of the same rater",
            "beyond_slots": "left out, as the pair had no slot for them",
            "cannot_tell": "without a grade, because the rater could not tell",
        }
        lines = [
            f"ratings {text}: {self.counts[name]:,}" for name, text in reasons.items() if self.counts[name]
        ]
        for (reason,), table in self.unresolved.group_by("why", maintain_order=True):
            pairs = table.head(_MAX_EXAMPLES).select("query_id", "doc_id").iter_rows()
            examples = ", ".join(make_printable(f"{query}/{document}") for query, document in pairs)
            more = ", …" if len(table) > _MAX_EXAMPLES else ""
            lines.append(f"pairs left unjudged, {reason}: {len(table):,} ({examples}{more})")
        return tuple(lines)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Warnings to read before using the judgments."""
        return tuple(notice.text for notice in self.notices)

    @property
    def unlike_rates(self) -> list[str]:
        """The rates of strata, if rest documents are judged and rates differ; else nothing."""
        table = self.judged_pairs
        if not {"stratum", "inclusion"} <= set(table.columns) or not (table["grade"] < 0).any():
            return []
        sample_rows = table.filter(pl.col("inclusion").is_not_null())
        rates = sample_rows.group_by("stratum").agg(in_row_order(pl.col("inclusion")).mean()).sort("stratum")
        low, high = rates["inclusion"].min(), rates["inclusion"].max()
        if low is None or high - low <= _RATE_DIFFERENCE:  # type: ignore[operator]
            return []
        return [f"{name} {rate:.2f}" for name, rate in rates.iter_rows()]

    def judgments(self, label: str) -> Qrels:
        """The judgments.

        Raises:
            InputError: not one pair was resolved.
        """
        if self.qrels is None:
            problem = "no pair has a judgment: there are no grades, or only ties."
            raise InputError(problem, source=label, code="no-grades")
        return self.qrels

    def csv_rows(self) -> PlainRows:
        """The judgments, including the columns of a sample."""
        table = self.judged_pairs
        sample = (name for name in ("stratum", "inclusion") if name in table.columns)
        header = ("query_id", "doc_id", "grade", *sample)
        grades = column_texts(table["grade"], format_exact)
        return PlainRows(header, table.with_columns(grades).select(header).rows(), data=True)

    @property
    def judged_pairs(self) -> pl.DataFrame:
        """The judgments as a frame, without rows if no pair was resolved."""
        return self.qrels.table if self.qrels else pl.DataFrame(schema=_JUDGED)


def resolve_ratings(
    ratings: Ratings,
    rule: str = "majority",
    parameters: Mapping[str, Any] | None = None,
    *,
    transformer: Transformer | None = None,
    scale: Scale | None = None,
    slots: int | None = None,
) -> ResolvedJudgments:
    """Resolve ratings to at most one grade per query and document, by a named rule.

    Each grade is checked against the scale and mapped by the transformer before grades are
    aggregated (the order of SearchTweak).

    Args:
        ratings: single raters' grades.
        rule: its name in ``RULES``.
        parameters: the parameters of the rule.
        transformer: the mapping of grades before they are aggregated.
        scale: grades outside it are refused; without it, that of the ratings, if they have one,
            where no transformer maps every grade.
        slots: the number of first grades that count for a pair.

    Raises:
        UsageError: an unknown rule or parameter, no slots.
        InputError: a grade that is not on the scale, or that the transformer does not map.
    """
    resolution_rule = RULES.find(rule)
    named_values = (parameters or {}).items()
    options = {name: resolution_rule.read(name, value, words=True) for name, value in named_values}
    if slots is not None and slots < 1:
        raise UsageError(f"slots={slots}: a pair takes one grade or more.", code="out-of-range")
    bounds = scale or (None if transformer else ratings.scale)
    if bounds is not None:
        refuse_outside(ratings, bounds)
    transformed = transformer(ratings) if transformer else ratings
    last_ratings = counting_ratings(transformed, slots)
    graded_ratings = last_ratings.table.filter(pl.col("grade").is_not_null())
    result = resolution_rule.resolve(graded_ratings, **options)
    pairs = last_ratings.table.select(PAIR).unique(maintain_order=True)
    all_pairs = pairs.join(result, on=PAIR, how="left", maintain_order="left")
    made_by = {
        "rule": resolution_rule.name,
        **({"parameters": options} if options else {}),
        **({"transformer": transformer.name, "maps": transformer.text} if transformer else {}),
        **({"slots": slots} if slots else {}),
        "judges": _judges(graded_ratings),
    }
    if unresolved_count := all_pairs["grade"].null_count():
        made_by["unresolved"] = unresolved_count
    target = (transformer.scale if transformer else None) or (None if transformer else bounds)
    resolved_pairs = all_pairs.filter(pl.col("grade").is_not_null()).select(*QRELS_SCHEMA)
    source = RowLocation(ratings.place.label)
    qrels = None
    if len(resolved_pairs):
        qrels = Qrels(resolved_pairs, ratings.name, target, (), made_by, source)
    counts = _counts(ratings, last_ratings, all_pairs)
    if slots:
        late = pl.col("at").is_null().any() & (pl.len() > slots)
        pairs_late = transformed.table.group_by(PAIR).agg(late.alias("late"))
        counts["unordered"] = int(pairs_late["late"].sum())
    if "adjudicator" in options:
        adjudicator_ratings = graded_ratings.filter(pl.col("rater") == options["adjudicator"])
        counts["adjudicated"] = adjudicator_ratings.select(PAIR).n_unique()
    return ResolvedJudgments(ratings.name, qrels, _unresolved(all_pairs, graded_ratings), made_by, counts)


def _judges(graded_ratings: pl.DataFrame) -> list[str]:
    """Raters with their guideline; for a model, the name and hash of its prompt."""
    rows = graded_ratings.select("rater", "guideline").unique().sort("rater", "guideline").iter_rows()
    return [f"{rater} ({guideline})" if guideline else str(rater) for rater, guideline in rows]


def _unresolved(all_pairs: pl.DataFrame, graded_ratings: pl.DataFrame) -> pl.DataFrame:
    unresolved = all_pairs.filter(pl.col("grade").is_null()).select(*PAIR, pl.col("why").fill_null(NO_GRADE))
    unresolved_ratings = graded_ratings.join(unresolved, on=PAIR, how="semi", maintain_order="left")
    pair_grades = unresolved_ratings.group_by(PAIR).agg(pl.col("grade").alias("grades"))
    return unresolved.join(pair_grades, on=PAIR, how="left", maintain_order="left")


def _counts(ratings: Ratings, last_ratings: Any, all_pairs: pl.DataFrame) -> dict[str, int]:  # noqa: ANN401
    return {
        "ratings": len(ratings.table),
        "corrected": last_ratings.corrected,
        "cannot_tell": last_ratings.table["grade"].null_count(),
        "beyond_slots": last_ratings.beyond,
        "raters": last_ratings.table["rater"].n_unique(),
        "pairs": len(all_pairs),
        "resolved": len(all_pairs) - all_pairs["grade"].null_count(),
        "ties": all_pairs.filter(pl.col("why") == "tie").height,
    }
