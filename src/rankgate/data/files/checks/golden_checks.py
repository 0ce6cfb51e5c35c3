"""Checks of a golden set as a whole: judgments, texts of queries and documents, ratings and runs.

They ask if the set is fair and large enough to decide by: queries copied from the documents that they
should find, judged documents that are gone, near-duplicates, labels by a model that is judged itself,
clusters, the smallest difference that the queries detect, and old judgments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import RankgateError, install_command, is_installed
from rankgate.core.present.lazy_names import load_upper
from rankgate.core.present.number_formats import count_noun
from rankgate.data.files.checks.check_declarations import PAIR, Found, check, first_few
from rankgate.data.text.near_duplicates import NEAR, near_duplicates, text_words

if TYPE_CHECKING:
    from rankgate.data.files.checks.check_declarations import GoldenSet

_MIN_COPIED = 5  # words in sequence; fewer are in a document by chance
_LARGE_SHARE = 0.8  # share of a query's words that are copied, of clusters among queries, of judged documents
_MAX_DOCUMENTS = 50_000
_MAX_DAYS = 365
_DIFFERENCE = 0.05  # of nDCG@10: a set that detects only larger ones misses most real ones


def _texts(table: pl.DataFrame) -> dict[str, str]:
    """The texts of queries or documents by id."""
    return dict(table.select(pl.first(), "text").iter_rows())


@check("golden-inputs", "note", "golden", "Checks of a golden set lack a file, or a package.")
def _find_missing_inputs(golden: GoldenSet) -> Iterator[Found]:
    inputs = {
        "query texts (copied and near-duplicate queries, clusters)": len(golden.queries),
        "documents (copied queries, missing and near-duplicate documents)": len(golden.documents),
        "ratings with raters and times (labels by a judged model, age)": len(golden.ratings),
        "two runs (the differences of your systems)": len(golden.runs) > 1,
    }
    if missing := [name for name, present in inputs.items() if not present]:
        yield Found(
            f"not checked for lack of {', '.join(missing)}",
            len(missing),
            "name their files too: rankgate validate --golden qrels.txt queries.tsv corpus.jsonl ratings.csv "
            "old.run new.run",
        )
    if not is_installed("datasketch"):
        yield Found("not checked for lack of datasketch: near-duplicates", 1, install_command("datasketch"))


@check("copied-query", "warning", "golden", "Queries are copied from the documents that they should find.")
def _find_copied_queries(golden: GoldenSet) -> Iterator[Found]:
    """Find queries whose words, in sequence, are in a document that is relevant to them."""
    pairs = golden.relevant.join(golden.queries, on="query_id").join(
        golden.documents, on="doc_id", suffix="_doc"
    )
    rows = pairs.sort("row").iter_rows(named=True)
    copied = [row for row in rows if _is_copied(text_words(row["text"]), text_words(row["text_doc"]))]
    if copied:
        count = len({row["query_id"] for row in copied})
        yield Found(
            f"{count:,} of {count_noun(len(golden.queries), 'query')} copied word for word from a relevant "
            "document: a search by words finds it at once, so the set favours such a search",
            count,
            "write queries as users do: take them from the log, or have them written by people who do not "
            "see the document",
            "query {query_id} ({text:.80}) and document {doc_id}".format(**copied[0]),
            row=copied[0]["row"],
        )


def _is_copied(query_words: list[str], document: list[str]) -> bool:
    """True if at least four fifths of the words, five or more, follow each other in the document."""
    length = max(_MIN_COPIED, ceil(len(query_words) * _LARGE_SHARE))
    line = f" {' '.join(document)} "
    return any(
        f" {' '.join(query_words[i : i + length])} " in line for i in range(len(query_words) - length + 1)
    )


@check("documents-missing", "warning", "golden", "Judged documents are not in the corpus.")
def _find_missing_documents(golden: GoldenSet) -> Iterator[Found]:
    missing = golden.judged.graded.join(golden.documents, on="doc_id", how="anti")
    if len(golden.documents) and len(missing):
        count = missing["doc_id"].n_unique()
        relevant = missing.filter(pl.col("grade") > 0)["doc_id"].n_unique()
        yield Found(
            f"{count_noun(count, 'judged document')} not in the corpus, {relevant:,} of them relevant: no "
            "system can find them",
            count,
            "index the corpus that was judged, with the same ids, or move the judgments: rankgate reanchor "
            "qrels.txt OLD_DOCS NEW_DOCS --judgments new-qrels.txt",
            f"documents {first_few(missing['doc_id'].unique(maintain_order=True), 3)}",
            row=missing["row"][0],
        )


@check("near-duplicate-queries", "warning", "golden", "Queries are near-duplicates of others.")
def _find_near_queries(golden: GoldenSet) -> Iterator[Found]:
    texts = _texts(golden.queries)
    pairs = list(near_duplicates(texts, {}, "characters")) if is_installed("datasketch") else []
    if pairs:
        count = len({copy for _, copy in pairs})
        first, second = pairs[0]
        yield Found(
            f"{count:,} of {count_noun(len(texts), 'query')} with {NEAR:.0%} or more of the text of another, "
            "which count as more evidence than they are",
            count,
            "keep one of each, or name their clusters in a column cluster of the queries' table (--tags)",
            f"{first} ({texts[first]:.60}) and {second} ({texts[second]:.60})",
        )


@check("near-duplicate-documents", "warning", "golden", "Copies of relevant documents have lower grades.")
def _find_near_documents(golden: GoldenSet) -> Iterator[Found]:
    if not is_installed("datasketch"):
        return
    graded = golden.judged.graded.select(*PAIR, "grade")
    judged = _texts(golden.documents.join(graded, on="doc_id", how="semi"))
    other_documents = golden.documents.join(graded, on="doc_id", how="anti").head(_MAX_DOCUMENTS)
    pairs = near_duplicates(judged, _texts(other_documents), "words")
    table = pl.DataFrame(list(pairs), {"doc_id": pl.String, "copy": pl.String}, orient="row")
    both_ways = pl.concat([table, table.select(doc_id="copy", copy="doc_id")])
    grades_of_copies = graded.rename({"doc_id": "copy", "grade": "grade_of_copy"})
    worse = (
        golden.relevant.join(both_ways, on="doc_id")
        .join(grades_of_copies, on=["query_id", "copy"], how="left")
        .filter(pl.col("grade_of_copy").fill_null(-1) < pl.col("grade"))
        .sort("grade_of_copy", "row", nulls_last=True)
    )
    if len(worse):
        unjudged = worse["grade_of_copy"].null_count()
        yield Found(
            f"{count_noun(len(worse), 'near-duplicate')} of relevant documents (at least {NEAR:.0%} of the "
            f"text), {len(worse) - unjudged:,} with a lower grade for the same query and {unjudged:,} "
            "unjudged: a system that returns the copy loses",
            len(worse),
            "give copies the same grade, or keep one of each in the corpus",
            "query {query_id}, documents {doc_id} and {copy}".format(**worse.row(0, named=True)),
        )


@check("own-labels", "warning", "golden", "Labels are by a model that is judged with them.")
def _find_own_labels(golden: GoldenSet) -> Iterator[Found]:
    """Find raters whose name is part of the name of a run, or the reverse."""
    raters = golden.ratings["rater"]
    pairs = [(rater, run) for rater in raters.unique() for run in golden.runs if _is_same_model(rater, run)]
    if pairs:
        count = int(raters.is_in([rater for rater, _ in pairs]).sum())
        yield Found(
            f"{count:,} of {count_noun(len(raters), 'label')} by a model that is judged with them: models "
            "prefer their own answers",
            count,
            "let people or another model judge, or measure the advantage: rankgate admit --lineage "
            "families.toml",
            "rater {} and run {}".format(*min(pairs)),
        )


def _is_same_model(rater: str, system: str) -> bool:
    """True if the words of one name follow each other in the other: gpt-4o in gpt-4o-rerank."""
    names = (" ".join(re.findall(r"[^\W_]+", name.casefold())) for name in (rater, system))
    shorter, longer = sorted(names, key=len)
    return len(shorter) > 2 and f" {shorter} " in f" {longer} "


@check("related-queries", "warning", "golden", "Queries are in clusters: they are fewer than they seem.")
def _find_related_queries(golden: GoldenSet) -> Iterator[Found]:
    count = len(golden.judged.query_ids)
    if golden.is_clustered:
        yield Found(
            f"{count_noun(count, 'query')} in {count_noun(golden.units, 'cluster')}: errors and tests that "
            "count queries are too sure",
            count - golden.units,
            "name the clusters in compare and gate, as --tags queries.csv with a column cluster; add queries "
            "of other topics",
        )


@check("too-few-queries", "warning", "golden", "The queries detect only large differences.")
def _find_too_few_queries(golden: GoldenSet) -> Iterator[Found]:
    """Find sets whose smallest detectable difference of nDCG@10 is above 0.05."""
    try:
        power = load_upper("set_power")(golden.judged.table, golden.runs, golden.units, _DIFFERENCE)
    except RankgateError:
        return  # a finding of another check
    if power.detectable <= _DIFFERENCE:
        return
    size = "no difference" if power.detectable > 1 else f"a difference of {power.detectable:.3f} or more"
    source = "of these runs" if power.measured else "assumed"
    fix = f"add queries: {power.needed:,.0f} detect {_DIFFERENCE:g}"
    if golden.is_clustered:
        fix += "; take other topics, as related queries help little"
    elif power.judged < _LARGE_SHARE:
        fix = (
            f"judge what the systems show first, as {power.judged:.0%} of the first ten documents are judged "
            f"(rankgate holes qrels.txt old.run new.run --judge-next 50); then {fix}"
        )
    yield Found(
        f"{count_noun(golden.units, 'query detects', 'queries detect')} {size} in nDCG@10 (power 80%, level "
        f"5%; standard deviation of differences {power.sd:.2f}, {source})",
        golden.units,
        fix,
    )


@check("old-judgments", "warning", "golden", "Most judgments are older than a year.")
def _find_old_judgments(golden: GoldenSet) -> Iterator[Found]:
    times = golden.ratings["at"].drop_nulls().sort()
    old = times.filter(times < golden.now - timedelta(days=_MAX_DAYS))
    if 2 * len(old) > len(times):
        oldest: datetime = old[0]
        yield Found(
            f"{len(old):,} of {count_noun(len(times), 'label')} with a time are older than {_MAX_DAYS} days: "
            "documents and users may have changed",
            len(old),
            "judge a sample again and compare it with rankgate agree",
            f"the oldest is of {oldest:%Y-%m-%d}",
        )
