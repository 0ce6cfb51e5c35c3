"""What changed between runs without judgments, and the commands that lead to a verdict.

`changes_document` has the lists that changed most and the commands to copy; `lists_document` is the
page with the lists of all runs side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.document_model import (
    Code,
    Document,
    QueryLists,
    Section,
    list_pair,
    make_document,
    nonempty_blocks,
)
from rankgate.core.present.layout import NOTICES, View
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.pages.page import document_page
from rankgate.data.collection import Collection
from rankgate.data.files.own_files import find_files, judgments_and_runs, known_texts, match_ids
from rankgate.data.id_match import DO_NOT_FIT, IdMatch
from rankgate.data.run import NUMBERED
from rankgate.decisions.reproduction.rank_similarity import rank_similarity
from rankgate.measurement.scoring.alignment.top_documents import joined_lists, rank_run, split_pairs
from rankgate.measurement.scoring.presets import chosen_convention

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run
    from rankgate.decisions.reproduction.rank_similarity_result import RankSimilarity


PAIRS_TO_JUDGE = 30
"""About how many pairs of a query and a document are judged first, or those of `MIN_QUERIES`."""

MIN_QUERIES = 10
"""Queries without which no interval decides; a gate states the same."""

_SHOWN_DEPTH = 10
_SHOWN_QUERIES = 200  # of all pairs of runs together
_GRADES = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}
_MOVES = "Moved: ranks from the first list to the second; +2 is two ranks higher in the second list."
_RATE = "rankgate rate pool.csv -o ratings.jsonl\nrankgate resolve ratings.jsonl -o judgments.csv\n"
_RATE_IN_BROWSER = """\
rankgate store init --store judging.db
rankgate store import pool.csv --project judging --batch first --store judging.db
rankgate serve --store judging.db
rankgate resolve all --project judging --store judging.db -o judgments.csv"""


def changes_document(result: RankSimilarity, runs: str, verb: str) -> Document:
    """What changed, what that can and cannot tell, and the commands that lead to a verdict.

    Args:
        result: the similarity of the two runs.
        runs: their paths, the baseline first, and the options to read them, as a shell takes them.
        verb: the last command, ``gate`` or ``compare``.
    """
    status = "inconclusive" if verb == "gate" else ""
    title = f"{'no' if status else 'No'} judgments yet; how {result.second} differs from {result.first}"
    first_change = result.changes["first_change"]
    depth = 3 if (first_change <= 3).any() else _SHOWN_DEPTH
    changed = result.changes.filter(first_change <= depth)
    notices = NOTICES.blocks(result)
    if changed.is_empty():
        sentence = f"The first {depth} documents of all lists are the same: judging them separates no runs."
        return make_document(title, *notices, lead=(sentence,), status=status)
    of_query = depth + float(changed[f"new_in_{depth}"].to_numpy().mean())
    query_count = min(len(changed), max(MIN_QUERIES, round(PAIRS_TO_JUDGE / of_query)))
    next_batch = (
        "If these do not settle it, the verdict says how much is missing. Make --queries larger, at most "
        f"{len(changed):,}: the new pool contains the old one, and rate asks only for what is new. Choose "
        "the number once, and gate again when all are judged: looking after every few pairs makes a "
        "chance result more likely than the verdict states."
    )
    if query_count == len(changed):
        next_batch = (
            "These are all queries that changed. If they do not settle it, or are fewer than "
            f"{MIN_QUERIES}, add queries to both runs."
        )
    return make_document(
        title,
        *View("changes", "largest changes", row_filter=pl.col("first_change").is_not_null(), first=5).blocks(
            result
        ),
        *notices,
        "This shows where the lists differ, and how far. It cannot show which list is better: that takes "
        "judgments of the documents in which they differ.",
        f"Judge about {round(query_count * of_query)} pairs first: the first {depth} documents of "
        f"{query_count:,} of the "
        f"{count_noun(len(changed), 'query')} that changed there, drawn at random. The verdict is then about "
        "the queries that changed; the others gain and lose nothing there.",
        Code(
            f"rankgate pool {runs} --depth {depth} --queries {query_count} --query-sampling changed -o "
            "pool.csv\n"
            f"{_RATE}rankgate {verb} judgments.csv {runs} -m nDCG@{depth}"
        ),
        "In a browser instead of the second and third line (needs pip install 'rankgate[serve]'):",
        Code(_RATE_IN_BROWSER),
        next_batch,
        "Both lists of every query, side by side in the browser:",
        Code(f"rankgate open {runs}"),
        lead=(result.change_sentence,),
        status=status,
    )


def one_run_document(run: Run, run_path: str) -> Document:
    """What one set of answers needs for its first number, and for a later verdict; `run_path` as above."""
    queries = run.table["query_id"].n_unique()
    query_count = min(queries, PAIRS_TO_JUDGE // 3)
    return make_document(
        f"one set of answers, {run.name}: {count_noun(queries, 'query')}, no judgments yet",
        f"Judge about {PAIRS_TO_JUDGE} pairs for the first number: the first 3 documents of {query_count} "
        "queries, "
        "drawn at random. The last line keeps it as the baseline of later gates.",
        Code(
            f"rankgate pool {run_path} --depth 3 --queries {query_count} -o pool.csv\n{_RATE}"
            f"rankgate eval judgments.csv {run_path} -m nDCG@3\n"
            f"rankgate baseline save today judgments.csv {run_path} -m nDCG@3"
        ),
        "With the answers of the changed system in a second file, see what changed, then gate:",
        Code(f"rankgate gate {run_path} NEW_RUN"),
        status="inconclusive",
    )


def lists_document(
    runs: Sequence[Run], qrels: Qrels | None, texts: Mapping[str, str], documents: Mapping[str, str]
) -> Document:
    """The lists of all queries, those of each further run beside those of the first one.

    Args:
        runs: one run or more, the baseline first.
        qrels: judgments, for grades.
        texts: the texts of queries, by id.
        documents: the texts of documents, by id.
    """
    first, *candidates = runs
    grades = pl.DataFrame(schema=_GRADES) if qrels is None else qrels.table.select(*_GRADES)
    top_grade = max(grades["grade"], default=0.0)
    tables = [_first_documents(run, grades) for run in runs]
    tables += [] if candidates else [tables[0].clear()]
    pairs = split_pairs(joined_lists(*tables), len(tables) - 1)
    similarities = [rank_similarity(first, candidate) for candidate in candidates]
    sections = []
    for position, (rows, similarity) in enumerate(zip_longest(pairs, similarities)):
        name, title, order_text = "", first.name, ""
        changed: list[str] = []
        if similarity is not None:
            name, order_text = similarity.second, ", the largest change first"
            title, changed = f"{name} beside {first.name}", similarity.changes["query_id"].to_list()
        order = [*changed, *sorted({*rows["query_id"]} - {*changed})]  # queries of one run alone are last
        rows_by_query = _with_moves(rows).rows_by_key("query_id", named=True, include_key=True)
        query_pairs = tuple(
            list_pair(
                query,
                rows_by_query[query],
                (first.name, name),
                position=str(position),
                text=texts.get(query, ""),
                change=_new_documents(rows_by_query[query]),
                documents=documents,
                top=top_grade,
            )
            for query in order[: max(1, _SHOWN_QUERIES // len(pairs))]
        )
        heading = f"{len(query_pairs):,} of {count_noun(len(order), 'query')}{order_text}"
        blocks = nonempty_blocks((_MOVES if candidates else "", QueryLists(heading, query_pairs)))
        sections.append(Section(f"lists-{position}", title, blocks, name or first.name))
    lead = [similarity.change_sentence for similarity in similarities if len(candidates) == 1]
    lead.append(
        "A dash means unjudged." if len(grades) else "There are no judgments, so there are no grades."
    )
    names = " and ".join(run.name for run in runs) if len(runs) < 3 else count_noun(len(runs), "run")
    return Document(f"Lists of {names}", "", tuple(lead), tuple(sections))


def lists_page(paths: Sequence[str], collection: Collection) -> str:
    """The page of the lists in files, with the grades and texts that the files have.

    Args:
        paths: files and folders with runs, judgments, texts.
        collection: how judgments and runs are read: columns, grades, ids.

    Raises:
        InputError: a file that cannot be read; ids of judgments and runs that do not meet.
        UsageError: no file has a run.
    """
    files = find_files(paths)
    judged, files_with_runs = judgments_and_runs(files)
    runs = [file.path for file in files_with_runs]
    if not runs:
        raise UsageError(
            f"no run in {', '.join(paths)}; rankgate describe FILE shows what a file holds.",
            code="missing-input",
        )
    qrels = None
    if judged:
        collection = collection.filled(Collection(judged[0].path))
        if ids := match_ids(collection, runs):
            raise InputError(
                f"{ids.fact}; match them with --ids {ids.rules}.", source=judged[0].path, code=DO_NOT_FIT
            )
        qrels = collection.qrels()
    texts, documents = known_texts(files)
    ranked = [collection.run(path) for path in runs]
    if qrels and not collection.ids:
        for path, run in zip(runs, ranked, strict=True):
            match = IdMatch.from_ids(qrels.table["query_id"], run.table["query_id"])
            if not match.both:
                raise match.error("query", "the judgments", "the run", path, run.cautions.get(NUMBERED))
    return document_page(lists_document(ranked, qrels, texts, documents))


def _first_documents(run: Run, grades: pl.DataFrame) -> pl.DataFrame:
    table = rank_run(run, run.table["query_id"].unique(), _SHOWN_DEPTH, chosen_convention("trec"))
    return table.join(grades, on=["query_id", "doc_id"], how="left")


def _with_moves(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of both lists; no document has moved where a query has one list alone."""
    has_both = pl.col("system").n_unique().over("query_id") > 1
    return rows.with_columns(moved=pl.when(has_both).then("moved").otherwise(0))


def _new_documents(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many documents only the second list has; empty without two lists."""
    new = [row for row in rows if row["system"] == "candidate" and row["moved"] is None]
    return count_noun(len(new), "new document") if len({row["system"] for row in rows}) > 1 else ""
