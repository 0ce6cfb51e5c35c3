"""Checks of judgments, grades and ratings.

Judgments: duplicate, missing and invalid rows. Grades: negative, huge, off the scale, unevenly
spaced. Copies: judgments that look as if they were copied. Ratings: duplicates, missing
grades, grades off the scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.number_formats import count_noun
from rankgate.data.files.checks.check_declarations import PAIR, Found, check, find_without_id, first_few
from rankgate.data.qrels import on_scale
from rankgate.data.query_tags import CLUSTER, find_near_copies
from rankgate.data.table_rows import in_row_order

if TYPE_CHECKING:
    from rankgate.data.qrels import Ratings
    from rankgate.data.unchecked_rows import RawQrels


@check("empty-id", "error", "qrels", "The id of a query or document is missing.")
def _find_empty_ids(qrels: RawQrels) -> Iterator[Found]:
    """Find missing ids; a row with only a query means that the query has no judgments."""
    lacks_query = pl.col("query_id").fill_null("") == ""
    lacks_doc = (pl.col("doc_id").fill_null("") == "") & pl.col("grade").is_not_null()
    yield from find_without_id(qrels.table.select(lacks_query | lacks_doc).to_series())


@check("judged-twice", "error", "qrels", "A document is judged twice for one query.")
def _find_judged_twice(qrels: RawQrels) -> Iterator[Found]:
    is_rated = pl.col("doc_id").is_not_null() & pl.col("grade").is_not_null()
    table = qrels.table.with_row_index("row").filter(is_rated)
    key = [*PAIR, *(["subtopic"] if "subtopic" in table.columns else [])]
    repeated_rows = table.filter(~pl.struct(key).is_first_distinct())
    if repeated_rows.is_empty():
        return
    pairs = table.join(repeated_rows.select(key).unique(), on=key, how="semi").group_by(key)
    differing_count = int((pairs.agg(n=pl.col("grade").n_unique())["n"] > 1).sum())
    has_subtopics = "iteration" in repeated_rows.columns and table["iteration"].n_unique() > 1
    advice = (
        "the second column differs, as in judgments by subtopic: read them --from trec-subtopics"
        if has_subtopics
        else "remove all but one of them; rankgate resolve does that for ratings of several people"
    )
    yield Found(
        f"{count_noun(len(repeated_rows), 'row')} judging a document again for the same query, "
        f"{count_noun(differing_count, 'document')} with another grade",
        len(repeated_rows),
        advice,
        _format_pair(repeated_rows),
        row=int(repeated_rows["row"][0]),
    )


@check("no-grade", "error", "qrels", "A grade is not a finite number.")
def _find_invalid_grades(qrels: RawQrels) -> Iterator[Found]:
    is_invalid = ~pl.col("grade").is_finite().fill_null(value=True)
    if "written" in qrels.table.columns:
        is_invalid |= pl.col("grade").is_null() & (pl.col("written").fill_null("") != "")
    rows = qrels.table.with_row_index("row").filter(is_invalid)
    if len(rows):
        invalid_texts = rows["written"] if "written" in rows.columns else rows["grade"]
        yield Found(
            f"{count_noun(len(rows), 'row')} with a grade that is not a finite number "
            f"({first_few(invalid_texts.unique().sort())})",
            len(rows),
            "write a number such as 2, or leave the row out where there is no grade",
            _format_pair(rows),
            row=int(rows["row"][0]),
        )


@check("unrated", "note", "qrels", "Pairs have no grade.")
def _find_unrated_pairs(qrels: RawQrels) -> Iterator[Found]:
    is_unrated = pl.col("grade").is_null() & pl.col("doc_id").is_not_null()
    if "written" in qrels.table.columns:
        is_unrated &= pl.col("written").fill_null("") == ""
    rows = qrels.table.with_row_index("row").filter(is_unrated)
    if len(rows):
        yield Found(
            f"{count_noun(len(rows), 'pair')} without a grade: they are unrated, which is not grade 0",
            len(rows),
            "judge them if they matter; otherwise ignore this",
            _format_pair(rows),
            row=int(rows["row"][0]),
        )


@check("query-unjudged", "note", "qrels", "Queries have no judgment.")
def _find_unjudged_queries(qrels: RawQrels) -> Iterator[Found]:
    unrated_queries = qrels.table.filter(pl.col("grade").is_null())["query_id"].unique(maintain_order=True)
    all_queries = dict.fromkeys([*qrels.unjudged, *unrated_queries.drop_nulls()])
    judged_queries = set(qrels.query_ids)
    unjudged_queries = [query for query in all_queries if query not in judged_queries]
    if unjudged_queries:
        yield Found(
            f"{count_noun(len(unjudged_queries), 'query')} without any judgment; means of trec leave them "
            "out, those of most other conventions count them 0",
            len(unjudged_queries),
            "judge some documents of each, or remove the queries",
            first_few(unjudged_queries, 3),
        )


def _format_pair(rows: pl.DataFrame) -> str:
    query, document = rows.select(PAIR).row(0)
    return f"query {query}, document {document}"


_HIGHEST_USUAL_GRADE = (
    10  # above the highest grade of any scale in use; 2^10 is a thousand times the gain of 1
)
_MAX_EXPONENT = 1023  # 2^1024 is too large for a float
_ESCI = frozenset({0.0, 1.0, 10.0, 100.0})
_UNEVEN_FACTOR = 3  # a step this many times the smallest step is uneven
_RARE_SHARE = 0.001
_MIN_GRADES = 3


@check("without-positive", "warning", "qrels", "Queries have no document of a positive grade.")
def _find_without_positive(qrels: RawQrels) -> Iterator[Found]:
    highest_grades = qrels.graded.group_by("query_id", maintain_order=True).agg(pl.col("grade").max())
    queries = highest_grades.filter(pl.col("grade") <= 0)["query_id"]
    if len(queries):
        yield Found(
            f"{count_noun(len(queries), 'query')} of {len(highest_grades):,} without a document of a "
            "positive grade: tools count them differently",
            len(queries),
            "judge more documents of them, or see without_relevant in rankgate conventions axes",
            f"query {queries[0]}",
            row=_first_row(qrels, pl.col("query_id") == queries[0]),
        )


@check("negative-grade", "note", "qrels", "Grades are negative.")
def _find_negative_grades(qrels: RawQrels) -> Iterator[Found]:
    grades = qrels.grades.filter(pl.col("grade") < 0)
    if len(grades):
        count = int(grades["len"].sum())
        yield Found(
            f"{count_noun(count, 'negative grade')} ({_format_grades(grades['grade'])}): in the pool, never "
            "relevant; tools differ over whether such a document is judged",
            count,
            "make sure that they mean spam or unjudged, and are not part of the scale",
            row=_first_row(qrels, pl.col("grade") < 0),
        )


@check("huge-grade", "warning", "qrels", "Grades are so large that exponential gain lets nothing else count.")
def _find_huge_grades(qrels: RawQrels) -> Iterator[Found]:
    grades = qrels.grades.filter(pl.col("grade") > _HIGHEST_USUAL_GRADE)
    if len(grades):
        count, highest = int(grades["len"].sum()), float(grades["grade"][-1])
        gain = (
            f"2^{highest:g} = {2.0**highest:.2g}"
            if highest <= _MAX_EXPONENT
            else f"2^{highest:g}, too large for a number"
        )
        yield Found(
            f"{count_noun(count, 'grade')} above {_HIGHEST_USUAL_GRADE}, up to {highest:g}: under "
            "exponential gain the highest weighs "
            f"{gain}, and nothing else counts",
            count,
            "map them to small grades (rankgate resolve --transform), or score with nDCG.gain=linear",
            row=_first_row(qrels, pl.col("grade") == highest),
        )


@check("fraction", "note", "qrels", "Grades are not whole.")
def _find_fractions(qrels: RawQrels) -> Iterator[Found]:
    grades = qrels.grades.filter(pl.col("grade") != pl.col("grade").round())
    if len(grades):
        count = int(grades["len"].sum())
        yield Found(
            f"{count_noun(count, 'grade')} with a fraction ({_format_grades(grades['grade'])}): trec_eval "
            "and similar tools cut fractions off",
            count,
            "rankgate keeps fractions; round them for tools that read whole grades only",
            row=_first_row(qrels, pl.col("grade") != pl.col("grade").round()),
        )


@check("outside-scale", "error", "qrels", "Grades are not on the scale.")
def _find_grades_off_scale(qrels: RawQrels) -> Iterator[Found]:
    scale = qrels.scale
    if scale is None:
        return
    is_off_scale = ~on_scale(pl.col("grade"), scale)
    grades = qrels.grades.filter(is_off_scale)
    if len(grades):
        count = int(grades["len"].sum())
        yield Found(
            f"{count_noun(count, 'grade')} ({_format_grades(grades['grade'])}) not on the scale from "
            f"{scale.lowest:g} to {scale.highest:g}",
            count,
            "fix the grades, or the scale that is given for them",
            row=_first_row(qrels, is_off_scale),
        )


@check("uneven-scale", "warning", "qrels", "Grades are unevenly spaced, as gains are.")
def _find_uneven_scale(qrels: RawQrels) -> Iterator[Found]:
    """Find whole grades with very different steps, which are gains; fractions are not checked."""
    grades = qrels.grades.filter(pl.col("grade") >= 0)["grade"]
    steps = grades.diff().drop_nulls()
    if len(grades) < _MIN_GRADES or (grades != grades.round()).any():
        return
    if float(steps.max()) < _UNEVEN_FACTOR * float(steps.min()):  # type: ignore[arg-type]
        return
    esci_note = " (ESCI's: exact, substitute, complement, irrelevant)" if {*grades} <= _ESCI else ""
    yield Found(
        f"the grades {_format_grades(grades)} are unevenly spaced{esci_note}: they look like gains, not like "
        "steps of a scale",
        int(qrels.grades["len"].sum()),
        "score with nDCG.gain=linear, which takes them as gains, or map them to 0, 1, 2, 3",
        row=_first_row(qrels, pl.col("grade") == grades[-1]),
    )


@check(
    "reversed-scale",
    "note",
    "qrels",
    "Grade 0 is missing and the lowest grade is the rarest, as on scales with 1 as the best grade.",
)
def _find_reversed_scale(qrels: RawQrels) -> Iterator[Found]:
    """Find grades without 0 where 1 is the rarest: perhaps 1 means the best grade."""
    table = qrels.grades.filter(pl.col("grade") > 0)
    is_without_zero = qrels.grades.filter(pl.col("grade") == 0).is_empty()
    if len(table) < _MIN_GRADES or not is_without_zero or table["len"].arg_min() != 0:
        return
    grades = table["grade"]
    yield Found(
        f"no grade is 0, and of the grades {_format_grades(grades)} the lowest is the rarest: perhaps "
        f"{grades[0]:g} means best, as a school mark does",
        int(table["len"][0]),
        "check how the grades are defined; if 1 is best, reverse them",
        row=_first_row(qrels, pl.col("grade") == grades[0]),
    )


@check("one-grade", "note", "qrels", "All judgments have the same positive grade.")
def _find_single_grade(qrels: RawQrels) -> Iterator[Found]:
    if len(qrels.grades) == 1 and qrels.grades["len"][0] > 1 and qrels.grades["grade"][0] > 0:
        count, grade = int(qrels.grades["len"][0]), qrels.grades["grade"][0]
        yield Found(
            f"all {count_noun(count, 'judgment')} have grade {grade:g}: no document is judged irrelevant, so "
            "unjudged documents decide the values",
            count,
            "be careful with metrics that use judged documents only, such as bpref; otherwise ignore this",
        )


@check("stray-grade", "warning", "qrels", "The highest grade hardly occurs, and the one below it not at all.")
def _find_stray_grade(qrels: RawQrels) -> Iterator[Found]:
    table = qrels.grades
    steps = table["grade"].diff().drop_nulls()
    if len(table) < _MIN_GRADES:
        return
    highest, count, total = table["grade"][-1], int(table["len"][-1]), int(table["len"].sum())
    if count > max(1, _RARE_SHARE * total) or total < 1 / _RARE_SHARE / 10 or steps[-1] <= steps[:-1].max():
        return
    yield Found(
        f"grade {highest:g} is at {count:,} of {count_noun(total, 'judgment')}, and the next lower grade is "
        f"{table['grade'][-2]:g}: perhaps a typing error",
        count,
        "check the line; one wrong grade changes the ideal ranking of its query",
        row=_first_row(qrels, pl.col("grade") == highest),
    )


def _first_row(qrels: RawQrels, condition: pl.Expr) -> int | None:
    rows = qrels.graded.filter(condition)["row"]
    return int(rows[0]) if len(rows) else None


def _format_grades(grades: pl.Series) -> str:
    return first_few((f"{grade:g}" for grade in grades), 8)


_MIN_DOCUMENTS = 3  # queries with fewer documents may have the same documents legitimately
_MAX_CHANCE = 0.001
_MIN_PAIRS = 20
_JUDGMENTS_HASH = pl.struct("doc_id", "grade").sort_by("doc_id").hash().implode()


@check("copied-judgments", "warning", "qrels", "Queries have the same documents with the same grades.")
def _find_copied_judgments(qrels: RawQrels) -> Iterator[Found]:
    """Find queries with the same documents and the same grades."""
    query_lists = _hash_queries(qrels, _JUDGMENTS_HASH).filter(pl.col("n") >= _MIN_DOCUMENTS)
    yield from _find_same_key(
        query_lists.filter(pl.col("key").is_duplicated()),
        "the same documents and grades as another: copied, or one question twice",
        "judge each separately, or merge them: each counts as a separate query",
    )


@check("copied-grades", "note", "qrels", "Queries have the same grades in the same order, beyond chance.")
def _find_copied_grades(qrels: RawQrels) -> Iterator[Found]:
    """Find queries with the same grades in the same order for other documents, beyond chance.

    The chance is the probability that any two queries have one list of grades, if each grade is
    drawn independently at its frequency. Lists in the order of their grades are expected to be
    equal.
    """
    total = int(qrels.grades["len"].sum())
    log_chances = qrels.grades.select("grade", chance=(pl.col("len") / max(total, 1)).log())
    steps = pl.col("grade").diff()
    is_mixed = (steps > 0).any() & (steps < 0).any()
    query_lists = _hash_queries(qrels, pl.col("grade").implode(), mixed=is_mixed)
    sums = (
        qrels.graded.join(log_chances, on="grade", maintain_order="left")
        .group_by("query_id")
        .agg(in_row_order(pl.col("chance")).sum())
    )
    pairs = len(query_lists) * (len(query_lists) - 1) / 2
    rare_lists = query_lists.join(sums, on="query_id").filter(
        pl.col("mixed") & (pairs * pl.col("chance").exp() < _MAX_CHANCE)
    )
    full_lists = _hash_queries(qrels, _JUDGMENTS_HASH).select("query_id", whole="key")
    rare_lists = rare_lists.join(full_lists, on="query_id").sort("row").unique("whole", maintain_order=True)
    yield from _find_same_key(
        rare_lists.filter(pl.col("key").is_duplicated()),
        "the same grades as another in the same order, for other documents",
        "check whether a column of grades was pasted twice",
    )


@check(
    "near-copies",
    "warning",
    "texts",
    "Queries have the same words: they count as one unit in errors and tests.",
)
def _find_near_copies(queries: pl.DataFrame) -> Iterator[Found]:
    """Find queries with texts that differ only by case, punctuation or the order of words."""
    if CLUSTER in queries.columns:
        return
    copies = find_near_copies(dict(queries.select("query_id", "text").drop_nulls().iter_rows()))
    if not copies:
        return
    groups = len(set(copies.values()))
    query, first = next(pair for pair in copies.items() if pair[0] != pair[1])
    yield Found(
        f"{count_noun(len(copies), 'query is a near-copy', 'queries are near-copies')} of another by the "
        f"words of their texts, in {count_noun(groups, 'cluster')}",
        len(copies),
        "leave out copies, or name their clusters in a column cluster of the queries' table (--tags), so "
        "that errors and tests count clusters",
        f"queries {first} and {query}",
    )


def _find_same_key(same_key: pl.DataFrame, problem: str, fix: str) -> Iterator[Found]:
    """One finding for all queries that share a key with another query."""
    if same_key.is_empty():
        return
    first_group = same_key.filter(pl.col("key") == same_key["key"][0])
    yield Found(
        f"{count_noun(len(same_key), 'query')} with {problem}",
        len(same_key),
        fix,
        f"queries {first_few(first_group['query_id'])} with {count_noun(first_group['n'][0], 'document')}",
        row=int(first_group["row"][1]),
    )


def _hash_queries(qrels: RawQrels, key: pl.Expr, **expressions: pl.Expr) -> pl.DataFrame:
    """``query_id``, ``n``, ``row``, ``key``: a hash of each query's judgments."""
    table = qrels.graded.group_by("query_id", maintain_order=True).agg(
        n=pl.len(), row=pl.col("row").first(), key=key, **expressions
    )
    return table.with_columns(pl.col("key").hash() if len(table) else pl.lit(0, pl.UInt64))


@check(
    "copied-ratings",
    "warning",
    "ratings",
    "Several people gave the same grades wherever they rated the same.",
)
def _find_copied_ratings(ratings: Ratings) -> Iterator[Found]:
    """Find ratings that always agree; ratings by people never agree completely."""
    graded = ratings.table.filter(pl.col("grade").is_not_null())
    pairs = graded.group_by(PAIR, maintain_order=True).agg(
        raters=pl.col("rater").n_unique(), grades=pl.col("grade").n_unique()
    )
    shared = pairs.filter(pl.col("raters") > 1)
    if len(shared) >= _MIN_PAIRS and (shared["grades"] == 1).all():
        yield Found(
            f"all {count_noun(len(shared), 'pair')} with grades of two people or more have one grade: people "
            "never agree on everything, so they look copied",
            len(shared),
            "find out how the second grades were made; see rankgate agree",
            "query {}, document {}".format(*shared.row(0)[:2]),
        )


@check("rated-again", "note", "ratings", "A rater rated a pair more than once.")
def _find_rated_again(ratings: Ratings) -> Iterator[Found]:
    repeated_rows = ratings.table.with_row_index("row").filter(
        ~pl.struct([*PAIR, "rater"]).is_first_distinct()
    )
    if len(repeated_rows):
        yield Found(
            f"{count_noun(len(repeated_rows), 'rating')} of a pair by a rater who rated it before: the later "
            "one counts",
            len(repeated_rows),
            "ignore this if they are corrections",
            "query {}, document {}, rater {}".format(*repeated_rows.select(*PAIR, "rater").row(0)),
            row=int(repeated_rows["row"][0]),
        )


@check("rating-without-grade", "note", "ratings", "Ratings have no grade.")
def _find_missing_grades(ratings: Ratings) -> Iterator[Found]:
    table = ratings.table.with_row_index("row").filter(pl.col("grade").is_null())
    if len(table):
        reasons = table["reason"].drop_nulls().unique().sort()
        reason_text = f" ({first_few(reasons)})" if len(reasons) else ""
        yield Found(
            f"{count_noun(len(table), 'rating')} without a grade{reason_text}: unrated, not grade 0",
            len(table),
            "ignore this: rankgate resolve leaves them out",
            row=int(table["row"][0]),
        )


@check("rating-outside", "error", "ratings", "Ratings are not on the scale.")
def _find_ratings_off_scale(ratings: Ratings) -> Iterator[Found]:
    scale = ratings.scale
    if scale is None:
        return
    table = ratings.table.with_row_index("row").filter(~on_scale(pl.col("grade"), scale))
    if len(table):
        grades = table["grade"].unique().sort()
        yield Found(
            f"{count_noun(len(table), 'rating')} ({first_few(f'{value:g}' for value in grades)}) not on the "
            f"scale from {scale.lowest:g} to {scale.highest:g}",
            len(table),
            "fix them, or map them with rankgate resolve --transform",
            row=int(table["row"][0]),
        )
