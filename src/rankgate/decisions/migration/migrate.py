"""The verb ``migrate``: may this index replace that one."""

from __future__ import annotations

from math import ceil, log
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import step
from rankgate.data.collection import SAMPLE_FIELDS, TASK_FIELDS, Collection
from rankgate.decisions.advice.settlement import placeholder
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.migration.index_losses import list_changes, measure_scores, measure_step
from rankgate.decisions.migration.migration import POOL, Migration
from rankgate.decisions.migration.moved_documents import PAIR, join_lists, pair_documents
from rankgate.decisions.migration.pair_sample import Grades, PairSample
from rankgate.measurement.evaluation.metric_selection import find_ranking_metrics
from rankgate.measurement.metrics.graded.gains_ideals import gain_of_grades
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.top_documents import compared_names, top_rows_with_scores
from rankgate.measurement.scoring.presets import chosen_convention

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data import Run
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.measurement.metrics.graded.gains_ideals import Gain
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention

MARGIN = 0.01
BUDGET = 100
_UNKNOWN = 1.0  # width of the range of a contribution about which its judgments say nothing
_QUANTILE = 1.9  # one-sided 95 % and a power of .6: 1.645 + .253
_PLAIN = {"discount": "shifted", "ideal": "judged", "depth": "cutoff", "ties": "broken", "least": 0}


def migrate(
    old: RunLike,
    new: RunLike,
    collection: Collection | QrelsLike | None = None,
    metric: str | Metric = "nDCG@10",
    convention: str | Convention = "trec",
    *,
    exact: RunLike | None = None,
    quantised: RunLike | None = None,
    answers: QrelsLike | None = None,
    budget: Annotated[int, Range(2)] = BUDGET,
    highest: Annotated[float, Range(0, exclusive=True)] = 3.0,
    test: Test | None = None,
) -> Migration:
    """Decide if a new index may replace an old one: embeddings, quantisation, graph, chunks, engine.

    Without judgments: how many documents each step kept, documents that vanished or are doubled,
    scores on another scale, and the queries that changed most. Then few judgments: a document's
    weight is its discount in the new list less that in the old one; the difference of nDCG is a sum
    over pairs of a document that lost weight and one that gained it. Pairs are drawn with
    probabilities proportional to the most that they can change the mean; the bound of their mean
    contribution (`spacing_low`) makes the verdict. A contribution whose ideal DCG is not fully
    judged counts as the lowest that it can be.

    Args:
        old: the run of the index that is in use; its queries are those of the verdict.
        new: the run of the index that is to replace it.
        collection: judgments from before, or a `Collection` with them; none if there are none. The
            more of the old lists they cover, the fewer have to be made.
        metric: nDCG with a cutoff.
        convention: the convention of the metric, which breaks ties.
        exact: the run of an exact search of the new vectors; neighbours are counted against it.
        quantised: the run of an exact search of the new vectors as they are quantised; it keeps the
            loss by quantisation apart from that by the graph.
        answers: judgments of the documents of the pool, of all rounds so far.
        budget: the largest number of documents to judge; all rounds have the same.
        highest: the highest grade of the scale.
        test: its margin is the loss that is allowed, 0.01 without one; its level is that of the
            one-sided bounds; its seed that of the draw, the same in all rounds.

    Raises:
        InputError: data that cannot be read; a grade above the highest; a pair that is judged both
            before and in the answers, with different grades.
        UsageError: another metric than nDCG with a cutoff; no common query.

    >>> old = {f"q{i}": {"a": 3.0, "b": 2.0, "c": 1.0} for i in range(50)}
    >>> new = {**old, "q0": {"b": 3.0, "a": 2.0, "c": 1.0}}
    >>> result = migrate(old, new)
    >>> result.outcome, round(result.certain_low, 4)  # one of 50 queries can lose 1 - 1/log₂3
    ('pass', -0.0074)
    """
    collection = Collection.of(collection)
    collection.refuse("migrate", *TASK_FIELDS, *SAMPLE_FIELDS)
    test = (test or Test()).only("migrate", "margin", "level", "seed")
    margin = test.margin or MARGIN
    how = chosen_convention(convention, {"duplicates": "first"})
    label, k, gain = _read_metric(metric, how)
    runs = [collection.run(source) for source in (old, new)]
    names = compared_names([run.name for run in runs], [old, new])
    query_ids = runs[0].query_ids
    step("comparing the first documents")
    tops = [_first_documents(run, query_ids, how, k) for run in runs]
    documents = join_lists(*(top.select(*PAIR, "rank") for top in tops))
    earlier_gains = _read_gains(collection, gain, highest)
    gained = earlier_gains
    if answers is not None:
        gained = _add_answers(earlier_gains, _read_gains(_of_answers(answers, collection), gain, highest))
    top_gain = float(gain_of_grades(np.array([highest]), gain)[0])
    grades = Grades(documents, earlier_gains, top_gain, k)
    pairs = pair_documents(documents)
    largest = grades.contributions(pairs)[2]
    can_change = largest > 0
    sample = PairSample(pairs.filter(pl.Series(can_change)), largest[can_change], len(query_ids), grades)
    now = Grades(documents, gained, top_gain, k)
    low, high, _ = now.contributions(sample.pairs)
    mass = sample.pairs["mass"].to_numpy() / len(query_ids)
    certain_low, certain_high = float(mass @ low), float(mass @ high)
    rows = np.empty(0, np.int64)
    low_bound, high_bound, pool = certain_low, certain_high, POOL.empty()
    needed: int | None = 0
    judged = len(gained) - len(earlier_gains)
    if sample.at_stake > margin:
        step("drawing pairs of documents")
        rows = sample.draw(sample.affordable(budget), test.seed)
        pool = sample.to_judge(rows, now, budget - judged)
        sampled_low, sampled_high = sample.bounds(rows, now, 1 - test.level)
        low_bound, high_bound = np.clip((sampled_low, sampled_high), certain_low, certain_high).tolist()
        needed = _expected_need(sample, sample.shares(rows, now), margin, 1 - test.level)
    of_query = pairs.with_columns(most=pl.Series(pairs["mass"].to_numpy() * largest)).group_by("query_id")
    steps, blockers = _measure_kept_documents(collection, names, tops, (exact, quantised), how, k)
    old_documents = tops[0]["doc_id"].unique()
    new_rows = pl.concat(list(runs[1].pieces())).select(*PAIR)
    return Migration(
        names[0],
        names[1],
        label,
        how.to_dict(),
        k,
        len(query_ids),
        pairs["query_id"].n_unique(),
        margin,
        test.level,
        blockers,
        certain_low,
        certain_high,
        low_bound,
        high_bound,
        sample.at_stake,
        len(rows),
        judged,
        budget,
        needed,
        steps,
        measure_scores(names, tops, k),
        list_changes(documents, of_query.agg(pl.col("most").sum().clip(0, 1))),
        pool,
        len(old_documents) - int(old_documents.is_in(new_rows["doc_id"].unique().implode()).sum()),
        len(old_documents),
        len(new_rows) - new_rows.n_unique(),
        len(query_ids) - tops[1]["query_id"].n_unique(),
    )


def _read_metric(metric: str | Metric, how: Convention) -> tuple[str, int, Gain]:
    """The label, the cutoff and the gain of nDCG.

    Raises:
        UsageError: another metric, or a parameter that bounds do not take.
    """
    (label, ranking_metric), *further_metrics = find_ranking_metrics(metric, how)
    values = ranking_metric.bound(how.defaults(ranking_metric))
    k, gain = values.get("cutoff"), values.get("gain", "linear")
    is_plain = all(values.get(name, value) == value for name, value in _PLAIN.items())
    if (
        further_metrics
        or ranking_metric.name != "nDCG"
        or k is None
        or gain in {"judged", "signed"}
        or not is_plain
    ):
        raise UsageError(
            f"{label}: the loss of this metric has no bound here; take nDCG with a cutoff, as nDCG@10, with "
            "the ideal of all judged documents and ties broken.",
            code="unsupported-metric",
        )
    return label, int(k), gain


def _first_documents(run: Run, query_ids: pl.Series, how: Convention, k: int) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``rank``, ``score`` of the first k documents of each query."""
    index = JudgmentIndex.from_judgments(placeholder(query_ids.to_list()))
    return top_rows_with_scores(run, index, how, k).select(*PAIR, "rank", "score")


def _read_gains(collection: Collection, gain: Gain, highest: float) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``gain`` of the judgments of a collection; no rows without any.

    Raises:
        InputError: a grade above the highest.
    """
    if collection.judgments is None:
        return pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "gain": pl.Float64})
    judgments = collection.qrels()
    table = judgments.table.filter(pl.col("grade") >= 0)
    if len(too_high := table.filter(pl.col("grade") > highest)):
        row = too_high.row(0, named=True)
        raise InputError(
            f"query {row['query_id']}, document {row['doc_id']}: grade {row['grade']:g} is above the highest "
            f"grade of the scale, {highest:g}; give the highest one (--highest {row['grade']:g}).",
            source=judgments.place.label,
            code="grade-above-highest",
        )
    return table.select(*PAIR, gain=pl.Series(gain_of_grades(table["grade"].to_numpy(), gain)))


def _of_answers(answers: QrelsLike, collection: Collection) -> Collection:
    """The answers as a collection, read with the columns and the grades of another one."""
    return Collection.of(answers).filled(Collection(columns=collection.columns, grades=collection.grades))


def _add_answers(earlier: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """All gains.

    Raises:
        InputError: a pair with two different gains.
    """
    contradictions = earlier.join(answers, on=PAIR, suffix="_again").filter(
        pl.col("gain") != pl.col("gain_again")
    )
    if len(contradictions):
        query, document = contradictions.select(PAIR).row(0)
        raise InputError(
            f"{count_noun(len(contradictions), 'document')} judged before and in the answers, with different "
            f"grades, such as {document} of query {query}; leave them out of one.",
            code="judged-twice",
        )
    return pl.concat([earlier, answers.join(earlier, on=PAIR, how="anti")])


def _measure_kept_documents(
    collection: Collection,
    names: list[str],
    tops: list[pl.DataFrame],
    references: tuple[RunLike | None, RunLike | None],
    how: Convention,
    k: int,
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The rows of `STEPS`, and what fails the new index whatever its judgments are."""
    old, new = tops
    steps = [("old index to new index", names[0], names[1], old, new)]
    exact, quantised = (
        None if source is None else _reference(collection.run(source), old, how, k) for source in references
    )
    if exact is not None and quantised is not None:
        steps.append(("quantisation", exact[0], quantised[0], exact[1], quantised[1]))
    if quantised is not None:
        steps.append(("graph", quantised[0], names[1], quantised[1], new))
    if exact is not None:
        steps.append(("exact search to new index", exact[0], names[1], exact[1], new))
    rows = pl.concat([measure_step((name, first, second), *lists) for name, first, second, *lists in steps])
    no_common = rows.filter((pl.col("kept") == 0) & (pl.col("run") == names[1]))
    return rows, tuple(
        f"{run} has none of the first {k} documents of {reference} for any query: its recall is 0. Check "
        "that both are of the same documents with the same ids."
        for run, reference in no_common.select("run", "reference").iter_rows()
    )


def _reference(run: Run, old: pl.DataFrame, how: Convention, k: int) -> tuple[str, pl.DataFrame]:
    """The name of a run, and its first documents of the same queries.

    Raises:
        UsageError: no common query.
    """
    top = _first_documents(run, old["query_id"].unique(), how, k)
    if top.is_empty():
        raise UsageError(f"{run.name} has no query of the old run; check their ids.", code="queries-differ")
    return run.name, top


def _expected_need(
    sample: PairSample, shares: tuple[Floats, Floats], margin: float, alpha: float
) -> int | None:
    """About how many documents have to be judged for a pass; None where none is expected.

    The share of the margin in what is at stake has to be reached by n pairs of the mean and spread of
    those that were judged, and by n pairs with no difference at all (Clopper and Pearson).
    """
    limit = margin / sample.at_stake
    count = log(alpha) / log(1 - limit) if limit < 1 else 1.0
    low, high = shares
    middle = (low + high)[high - low < _UNKNOWN] / 2
    if len(middle) > 1:
        if (room := limit + float(middle.mean())) <= 0:
            return None
        count = max(count, (_QUANTILE * float(middle.std(ddof=1)) / room) ** 2)
    return ceil(sample.expected_judgments(ceil(count)))
