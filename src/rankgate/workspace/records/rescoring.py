"""Rescore recorded evaluations with the judgments around a break, or with mixed inputs.

The parts of a break come from the scores of the same run with the judgments before and after the
break. The module also reads the inputs of recorded evaluations, compares them, and mixes the inputs
of two evaluations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.collection import Collection
from rankgate.data.id_match import ACCEPT
from rankgate.data.qrels import Qrels
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.workspace.records.figures import mean_with_interval

if TYPE_CHECKING:
    from rankgate.data.run import Run
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.storages.record_storage import RecordStorage


@dataclass(frozen=True)
class BreakParts:
    """The parts of a difference across a break; their sum is the difference.

    Attributes:
        judgments: the score of the run before the break with the new judgments and convention,
            minus its score with the old ones.
        queries: the effect of the queries of the new mean, if they differ from the queries of the
            run.
        rest: the score of the new run minus that of the run before, both with the new judgments.
        low, high: the 95 % interval of ``rest`` over queries.
        why: the reason why the parts are unknown; empty if they are known.
    """

    judgments: float | None = None
    queries: float | None = None
    rest: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


def split_break(storage: RecordStorage, before: Point, after: Point) -> BreakParts:
    """Score the run before a break with the judgments and convention after it."""
    details = storage.details(before)
    digest = str(details["inputs"].get("runs", {}).get(before.system, ""))
    run = storage.run(digest) if digest else None
    if run is None:
        return BreakParts(why="the run before it is not kept; record with the run to see the parts.")
    qrels = storage.qrels(after.qrels_sha256) if after.qrels_sha256 else None
    if qrels is None:
        return BreakParts(why="the judgments after it are not kept; record with --qrels.")
    convention = _find_convention(after)
    if convention is None:
        return BreakParts(why=f"the convention {after.convention} has changes that are not kept.")
    try:
        scores = evaluate(Collection(qrels, ids=ACCEPT), run, [after.metric], convention).runs[0]
    except RankgateError as error:
        return BreakParts(why=f"the run before it cannot be scored by them: {error}")
    return _compute_parts(scores, before, after, storage.per_query(after))


def _find_convention(point: Point) -> Convention | None:
    try:
        convention = chosen_convention(point.convention)
    except RankgateError:
        return None
    return convention if convention.hash == point.convention_hash else None


def _compute_parts(scores: RunScores, before: Point, after: Point, table: pl.DataFrame | None) -> BreakParts:
    assert before.value is not None
    assert after.value is not None
    rescored_mean = scores.means[after.metric]
    if table is None or after.metric not in scores.values:
        return BreakParts(rescored_mean - before.value, 0.0, after.value - rescored_mean)
    new_values = table.filter(pl.col("system") == after.system).select(
        "query_id", pl.col(after.metric).alias("new")
    )
    old_values = pl.DataFrame(
        {"query_id": scores.query_ids, "old": scores.values[after.metric], "why": scores.why[after.metric]}
    ).filter(pl.col("why") != _MISSING_REASON)
    joined = new_values.join(old_values, on="query_id").drop_nulls().filter(pl.col("old").is_not_nan())
    if joined.is_empty():
        return BreakParts(why="the run before it answers none of the queries.")
    mean: Any = joined["old"].mean()
    system_effect, low, high = mean_with_interval(
        (joined["new"] - joined["old"]).to_numpy().astype(np.float64)
    )
    assert system_effect is not None
    judgments = float(mean) - before.value
    return BreakParts(
        judgments, after.value - before.value - judgments - system_effect, system_effect, low, high
    )


_MISSING_REASON = 1
"""The position of "missing" among the reasons of `RunScores.why`."""


_PAIR = ["query_id", "doc_id"]
_MIN_SHARED = 0.05  # documents that runs of the same ids share at least
_DOUBTFUL_SHARED = 0.2  # with fewer, and most of the value lost, ids may have changed
_LOST_SHARE = 0.1  # share of the value that is left where ids may have changed
JUDGE, CORPUS = "judge", "corpus"
"""Labels of the judge, and of the corpus that was searched."""


RUN_CAUSES = frozenset({"system", "ids", "corpus"})
"""The causes that change rankings."""


@dataclass(frozen=True)
class EvaluationInputs:
    """The inputs of a recorded evaluation.

    Attributes:
        point: the point of the evaluation.
        run_sha256: the SHA-256 of the run; empty if unknown.
        corpus: the facts about the corpus that the run's snapshot noted, as in `Run.corpus`.
        run, qrels: the files of the run and the judgments.
    """

    point: Point
    run_sha256: str
    corpus: Mapping[str, Any]
    run: Run | None
    qrels: Qrels | None


def read_inputs(storage: RecordStorage, point: Point) -> EvaluationInputs:
    """The inputs of the record of a point."""
    recorded_inputs = storage.details(point)["inputs"]
    digest = str(recorded_inputs.get("runs", {}).get(point.system, ""))
    return EvaluationInputs(
        point,
        digest,
        recorded_inputs.get("corpora", {}).get(digest, {}),
        storage.run(digest) if digest else None,
        storage.qrels(point.qrels_sha256) if point.qrels_sha256 else None,
    )


def find_evidence(old: EvaluationInputs, new: EvaluationInputs) -> Mapping[str, str]:
    """The evidence for a change of each cause; an empty text for an unchanged cause."""
    evidence: dict[str, str] = {}
    if not old.run_sha256 or old.run_sha256 != new.run_sha256:
        evidence |= _run_evidence(old, new)
    if old.point.qrels_sha256 != new.point.qrels_sha256 or not old.point.qrels_sha256:
        evidence |= _judgment_evidence(old, new)
    if old.point.convention_hash != new.point.convention_hash:
        evidence["convention"] = f"{old.point.convention} and {new.point.convention}"
    return evidence


def _run_evidence(old: EvaluationInputs, new: EvaluationInputs) -> Mapping[str, str]:
    shared_share = _shared_share(old, new)
    is_lost = (new.point.value or 0) < _LOST_SHARE * (old.point.value or 0)
    shared_text = f"the runs share {shared_share:.0%} of their documents"
    if shared_share < _MIN_SHARED:
        return {"ids": shared_text}
    corpus = compare_corpora(old, new)
    revisions = old.point.revision, new.point.revision
    if (
        is_lost
        and shared_share < _DOUBTFUL_SHARED
        and not corpus.changed
        and revisions[0] == revisions[1] != ""
    ):
        return {"ids": f"{shared_text}, same revision, most of the value is lost"}
    evidence = {}
    same_revision = revisions[0] == revisions[1] != ""
    if corpus.changed or corpus.written:
        evidence["corpus"] = corpus.evidence
    if not corpus.changed or revisions[0] != revisions[1] or not (corpus.labelled or same_revision):
        run_labels = [
            (not same_revision and inputs.point.revision[:10]) or inputs.run_sha256[:10] or "a run"
            for inputs in (old, new)
        ]
        evidence["system"] = " and ".join(run_labels) + (", same revision" if same_revision else "")
    elif evidence:
        evidence["corpus"] += ", same revision"
    if is_lost and math.isnan(shared_share):
        evidence["ids"] = "most of the value is lost, and the runs are not kept"
    elif is_lost and shared_share < _DOUBTFUL_SHARED:
        evidence["ids"] = f"{shared_text}, and most of the value is lost"
    return evidence


@dataclass(frozen=True)
class CorpusComparison:
    """What is known about the corpora of two recorded evaluations.

    Attributes:
        changed: True or False; None if it is not known.
        evidence: what was compared, in words.
        labelled: True if labels ``corpus`` say so.
        written: True if the index was written to or made again, and it is not known whether
            its documents changed.
    """

    changed: bool | None
    evidence: str
    labelled: bool = False
    written: bool = False


def compare_corpora(old: EvaluationInputs, new: EvaluationInputs) -> CorpusComparison:
    """Compare the labels ``corpus``, and without these the facts that snapshots noted.

    Texts are compared for the documents that both snapshots have hashes of.
    """
    labels = old.point.labels.get(CORPUS), new.point.labels.get(CORPUS)
    if labels[0] != labels[1]:
        return CorpusComparison(
            changed=True, evidence=f"{labels[0] or ''} and {labels[1] or ''}", labelled=True
        )
    if labels[0] is not None:
        return CorpusComparison(changed=False, evidence=labels[0], labelled=True)
    equal_texts, different_texts = [], []
    for name, unit in (("documents", "documents"), ("state", "state")):
        old_fact, new_fact = old.corpus.get(name), new.corpus.get(name)
        if old_fact is None or new_fact is None:
            continue
        texts = [
            f"{value:,} {unit}" if isinstance(value, int) else f"{unit} {value}"
            for value in (old_fact, new_fact)
        ]
        if old_fact == new_fact:
            equal_texts.append(texts[0])
        else:
            different_texts.append(f"{texts[0]}, later {texts[1]}")
    old_texts, new_texts = old.corpus.get("texts", {}), new.corpus.get("texts", {})
    common_ids = old_texts.keys() & new_texts.keys()
    if common_ids:
        edited_count = sum(old_texts[id_hash] != new_texts[id_hash] for id_hash in common_ids)
        count_text = count_noun(len(common_ids), "common document")
        if edited_count:
            different_texts.append(f"other texts in {edited_count:,} of {count_text}")
        else:
            equal_texts.append(f"the same texts in {count_text}")
    is_written = any(
        old.corpus[name] != new.corpus[name]
        for name in ("settings", "changes")
        if name in old.corpus and name in new.corpus
    )
    if is_written and not different_texts:
        evidence = "; ".join(["the index was written to or made again between the snapshots", *equal_texts])
        return CorpusComparison(changed=None, evidence=evidence, written=True)
    if not equal_texts and not different_texts:
        return CorpusComparison(changed=None, evidence="no label corpus and no snapshot tells")
    return CorpusComparison(bool(different_texts), "; ".join(different_texts or equal_texts))


def _shared_share(old: EvaluationInputs, new: EvaluationInputs) -> float:
    """The share of the shorter run's documents that both runs have; NaN if a run is not stored."""
    if old.run is None or new.run is None:
        return math.nan
    old_documents, new_documents = (set(run.table["doc_id"].unique()) for run in (old.run, new.run))
    return len(old_documents & new_documents) / max(1, min(len(old_documents), len(new_documents)))


def _judgment_evidence(old: EvaluationInputs, new: EvaluationInputs) -> Mapping[str, str]:
    cause = "judge" if old.point.labels.get(JUDGE) != new.point.labels.get(JUDGE) else "judgments"
    if old.qrels is None or new.qrels is None:
        has_other_queries = old.point.queries_sha256 != new.point.queries_sha256
        reason = "other judgments, which are not kept"
        return {cause: reason, "queries": reason} if has_other_queries else {cause: reason}
    old_judgments, new_judgments = old.qrels.table, new.qrels.table
    common_pairs = old_judgments.join(new_judgments, on=_PAIR, suffix="_new")
    regraded_count = common_pairs.filter(pl.col("grade") != pl.col("grade_new")).height
    queries = set(old_judgments["query_id"]) ^ set(new_judgments["query_id"])
    shared_queries = set(old_judgments["query_id"]) & set(new_judgments["query_id"])
    unmatched_count = sum(
        judgments.filter(pl.col("query_id").is_in(list(shared_queries)))
        .join(common_pairs, on=_PAIR, how="anti")
        .height
        for judgments in (old_judgments, new_judgments)
    )
    evidence = {}
    if regraded_count and cause == "judge":
        labels = [inputs.point.labels.get(JUDGE, "unknown") for inputs in (old, new)]
        evidence["judge"] = (
            f"{regraded_count} of {count_noun(common_pairs.height, 'common pair')}: {labels[0]} and "
            f"{labels[1]}"
        )
    texts = (
        [f"{regraded_count} of {count_noun(common_pairs.height, 'common pair')} graded differently"]
        if regraded_count
        else []
    )
    if cause == "judge":
        texts = []
    texts += [f"{count_noun(unmatched_count, 'pair')} in one only"] if unmatched_count else []
    if texts:
        evidence["judgments"] = ", ".join(texts)
    if queries:
        evidence["queries"] = f"{count_noun(len(queries), 'query')} in one only"
    return evidence


def mix_inputs(
    old: EvaluationInputs, new: EvaluationInputs, new_causes: frozenset[str]
) -> tuple[Run, Qrels, Convention]:
    """The run, judgments and convention, new for some causes and old for the others.

    Raises:
        UsageError: a required input is not stored.
    """
    run_inputs = new if new_causes & RUN_CAUSES else old
    if run_inputs.run is None:
        raise _missing_input("run", run_inputs)
    convention_point = (new if "convention" in new_causes else old).point
    convention = chosen_convention(convention_point.convention)
    if convention.hash != convention_point.convention_hash:
        problem = f"the changes of the convention {convention_point.convention} are not kept."
        raise UsageError(problem, code="unknown-convention")
    return run_inputs.run, _mix_judgments(old, new, new_causes), convention


def _mix_judgments(old: EvaluationInputs, new: EvaluationInputs, new_causes: frozenset[str]) -> Qrels:
    if old.point.qrels_sha256 == new.point.qrels_sha256 and old.point.qrels_sha256:
        qrels = old.qrels or new.qrels
        if qrels is None:
            raise _missing_input("judgments", old)
        return qrels
    if old.qrels is None or new.qrels is None:
        raise _missing_input("judgments", old if old.qrels is None else new)
    old_judgments, new_judgments = (
        judgments.table.select(*_PAIR, "grade") for judgments in (old.qrels, new.qrels)
    )
    shared_queries = list(set(old_judgments["query_id"]) & set(new_judgments["query_id"]))
    is_shared_query = pl.col("query_id").is_in(shared_queries)
    common_pairs = old_judgments.join(new_judgments, on=_PAIR, suffix="_new")
    is_other_judge = old.point.labels.get(JUDGE) != new.point.labels.get(JUDGE)
    grade = "grade_new" if ("judge" if is_other_judge else "judgments") in new_causes else "grade"
    parts = [common_pairs.select(*_PAIR, pl.col(grade).alias("grade"))]
    pairs = new_judgments if "judgments" in new_causes else old_judgments
    parts.append(pairs.filter(is_shared_query).join(common_pairs, on=_PAIR, how="anti"))
    queries = new_judgments if "queries" in new_causes else old_judgments
    parts.append(queries.filter(~is_shared_query))
    return Qrels(pl.concat(parts).sort(_PAIR), "mixed")


def _missing_input(input_name: str, inputs: EvaluationInputs) -> UsageError:
    problem = f"the {input_name} of {inputs.point.evaluated_at:%Y-%m-%d} are not kept."
    return UsageError(problem.replace("run of", "rankings of"), code="missing-input")
