"""Score runs also by a model's judgments, and check if the model had seen people's judgments.

People's judgments correct a model only if the model judged without them. If they were shown to the
model, as examples or in training, the model repeats them: its errors are smaller on these queries
than on others, and people's judgments do not correct the errors on other queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data import read_qrels
from rankgate.data.column_map import map_columns
from rankgate.data.seal import SEALED, Seal
from rankgate.data.table_rows import in_row_order
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.stats.weighted_means import chance_of_sample, estimate_population

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.data.collection import Collection
    from rankgate.data.input_types import ColumnsLike, QrelsLike, RunLike
    from rankgate.data.query_sample import Sample
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.evaluation.scored_system import Scorer


NONE, UNKNOWN = "none", "unknown"

MISLED_BY_STATEMENT = 0.85
"""The largest share of samples of two equal systems whose interval excluded 0, as their model saw people's
judgments and the statement said otherwise: "A model that saw people's judgments" in docs/validity.md."""

_PAIR = ("query_id", "doc_id")
_FEWEST_JUDGMENTS = 30  # judgments; agreement on fewer is not informative
_AGREEMENT = 0.9
"""Cohen's kappa from which a model of unknown training is refused. People agree with each other,
and models that saw no labels with people, at about .2 to .8."""
_FEWEST_QUERIES = 10  # judged queries that are needed to compare their grades with other queries
_CHANCE_BY_LABEL = {UNKNOWN: 0.01}
_DECLARED_CHANCE = 0.001
_MOST_ERRORS = 5.0  # standard errors, if queries had unequal probabilities


@dataclass(frozen=True)
class ModelSaw:
    """People's judgments that were shown to a model before it judged.

    Attributes:
        label: none, unknown, sealed, or the name of the judgments that it saw.
        query_ids: the queries in these judgments; of a sealed model, those that people rated before.
        left_out: the number of the model's queries that were left out because of these judgments.
        agreement: Cohen's kappa of the model's grades with people's; None if it is undefined.
        difference: the difference between the model's grades on judged queries and on other
            queries, if larger than chance; else empty.
    """

    label: str = UNKNOWN
    query_ids: tuple[str, ...] = ()
    left_out: int = 0
    agreement: float | None = None
    difference: str = ""

    @classmethod
    def read(cls, saw: QrelsLike | Seal | ModelSaw, columns: ColumnsLike | None = None) -> ModelSaw:
        """Read the word none or unknown, judgments, or the evidence of a project.

        Raises:
            InputError: the judgments cannot be read.
            UsageError: the word sealed without a project, which has the evidence.
        """
        if isinstance(saw, ModelSaw):
            return saw
        if isinstance(saw, Seal):
            return cls(SEALED, saw.judged_before)
        if isinstance(saw, str) and saw == SEALED:
            raise UsageError(
                "sealed needs a project of a store, which shows that the model judged before people did: add "
                "--project NAME --store URL, and name the judgments of the project.",
                code="not-sealed",
            )
        if isinstance(saw, str) and saw in {NONE, UNKNOWN}:
            return cls(saw)
        judgments = read_qrels(map_columns(saw, columns, "qrels"))
        queries = judgments.table["query_id"].unique().sort()
        return cls(judgments.name, tuple(queries.to_list()))

    @property
    def condition(self) -> str:
        """The condition under which a corrected interval holds, without a full stop."""
        if self.label == NONE:
            return (
                "the interval holds only if the model saw none of people's judgments of these queries, as "
                "--predicted-saw none states"
            )
        if self.label == UNKNOWN:
            return (
                "the interval holds only if the model saw none of people's judgments of these queries, as "
                "examples or in training; state it with --predicted-saw none, or give the judgments that it "
                "saw (--predicted-saw FILE)"
            )
        if self.label == SEALED:
            left_out = (
                f"; queries that people rated before, left out: {self.left_out:,}" if self.left_out else ""
            )
            return f"people's judgments were sealed: the project has them after the model's{left_out}"
        return (
            f"the {count_noun(self.left_out, 'query')} with judgments that the model saw ({self.label}) "
            f"{'is' if self.left_out == 1 else 'are'} left out; the interval holds only if it saw no others "
            "of these queries"
        )

    def without_seen(self, judgments: Qrels) -> Qrels:
        """The judgments of the queries that were not shown to the model.

        Raises:
            UsageError: all queries were shown to the model.
        """
        if not self.query_ids:
            return judgments
        table = judgments.table.filter(~pl.col("query_id").is_in(self.query_ids))
        if not len(table):
            raise UsageError(
                f"the model saw people's judgments of every query of {judgments.name} ({self.label}), so "
                f"that nothing corrects it; let people judge queries that it did not see, drawn at random.",
                code="model-saw-judgments",
            )
        return replace(judgments, table=table)

    def unseen_part(self, system: ScoredRun) -> ScoredRun:
        """A scored system without the queries that were shown to the model."""
        if not self.query_ids:
            return system
        unseen = ~pl.col("query_id").is_in(self.query_ids)
        return replace(
            system,
            scores=system.scores.filter(unseen),
            lists=system.lists.filter(unseen),
            queries=system.queries.filter(unseen),
        )

    def checked(self, people: Qrels, model: Qrels) -> ModelSaw:
        """Add the agreement of the model with people, on the pairs that both judged.

        Raises:
            UsageError: the model repeats people's judgments; or it agrees with them more closely
                than human raters do, and it is not known which judgments it saw.
        """
        joined = people.table.join(model.table, on=_PAIR, suffix="_model")
        if len(joined) < _FEWEST_JUDGMENTS:
            return self
        if (joined["grade"] == joined["grade_model"]).all():
            raise UsageError(
                f"the predicted judgments repeat all {len(joined):,} of people's: the model saw them, or the "
                "files are the same; let it judge without them.",
                code="model-saw-judgments",
            )
        kappa = _kappa(joined)
        if self.label == UNKNOWN and kappa is not None and kappa >= _AGREEMENT:
            raise UsageError(
                f"the predicted judgments agree with people's {len(joined):,} far more closely than raters "
                f"do who do not see each other's grades (kappa {kappa:.2f}; {_AGREEMENT} is the limit if it "
                f"is not known which queries the model saw): it probably saw them. Give the judgments that "
                "it saw, as --predicted-saw FILE, or state that it saw none with --predicted-saw none.",
                code="model-saw-judgments",
            )
        return replace(self, agreement=kappa)

    def with_difference(self, judged: Sequence[str], models: Sequence[ScoredRun], sample: Sample) -> ModelSaw:
        """Compare the model's grades of the queries that people judged with those of other queries.

        Judged queries are a random sample, so a model that saw none of their judgments grades them
        like the other queries. For each query these are compared: the mean, the spread, and the
        shares of the lowest and the highest of the model's grades among the documents that the
        systems show. The distance of the two means is that of Hotelling (1931), tested by
        resampling the set of judged queries. The error probability is 1 in 100 samples, or 1 in
        1,000 if the user states what the model saw.

        Args:
            judged: queries that people judged.
            models: the systems scored by the model's judgments.
            sample: the sample design of the queries.
        """
        names, grades = _grades_by_query([system.lists for system in models])
        in_sample = np.isin(names, list(judged))
        if in_sample.sum() < _FEWEST_QUERIES or in_sample.all():
            return self
        if sample.table is None:
            p = chance_of_sample(grades, in_sample)
            if p >= _CHANCE_BY_LABEL.get(self.label, _DECLARED_CHANCE):
                return self
            size = f"p = {p:.1g}"
        else:
            weights, strata = sample.weights(names[in_sample].tolist())
            sizes = sample.sizes(names.tolist())
            estimates = [estimate_population(column, weights, strata) for column in grades[in_sample].T]
            distance = max(
                abs(estimate.mean - mean) / max(estimate.sampled_error, 1e-12)
                for estimate, mean in zip(estimates, sizes @ grades / sizes.sum(), strict=True)
            )
            if distance <= _MOST_ERRORS:
                return self
            size = f"{distance:.1f} standard errors"
        judged_mean, other_mean = grades[in_sample][:, 0].mean(), grades[~in_sample][:, 0].mean()
        text = (
            "the model grades the queries that people judged unlike the other queries (mean grade "
            f"{judged_mean:.3f} and {other_mean:.3f}; with their spread, and the shares of its lowest and "
            f"highest grade: {size}): it saw people's judgments of some of them, or the queries are not a "
            "random sample. Give the judgments that it saw, as --predicted-saw FILE, or let it judge all "
            "queries in the same way."
        )
        return replace(self, difference=text)

    def refuse_different(self) -> None:
        """Raise an error if the model grades judged queries differently from the others.

        Raises:
            UsageError: the grades differ.
        """
        if self.difference:
            raise UsageError(self.difference, code="model-saw-judgments")


def _grades_by_query(lists: Sequence[pl.DataFrame]) -> tuple[np.ndarray, np.ndarray]:
    """(N,) queries, and for each (N, 4) mean, spread, shares of the lowest and highest grade."""
    pairs = pl.concat([table.select(*_PAIR, "grade") for table in lists])
    pairs = pairs.drop_nulls("grade").unique(_PAIR, keep="first", maintain_order=True)
    grade, low, high = pl.col("grade"), pairs["grade"].min(), pairs["grade"].max()
    table = (
        pairs.group_by("query_id")
        .agg(
            mean=in_row_order(grade).mean(),
            spread=grade.std(ddof=0),
            lowest=(grade == low).mean(),
            highest=(grade == high).mean(),
        )
        .sort("query_id")
    )
    return table["query_id"].to_numpy(), table.drop("query_id").to_numpy()


def _kappa(joined: pl.DataFrame) -> float | None:
    """Cohen's kappa of the columns ``grade`` and ``grade_model``."""
    from rankgate.measurement.stats.rater_agreement import cohen_values  # few ask for it

    grades = np.union1d(joined["grade"].to_numpy(), joined["grade_model"].to_numpy())
    counts = np.zeros((1, len(grades), len(grades)))
    people_codes, model_codes = (
        np.searchsorted(grades, joined[name].to_numpy()) for name in ("grade", "grade_model")
    )
    np.add.at(counts[0], (people_codes, model_codes), 1.0)
    kappa = float(cohen_values(counts, grades)[0])
    return kappa if np.isfinite(kappa) else None


@dataclass(frozen=True)
class ModelJudgments:
    """A model's judgments after reading, with the judgments that it saw.

    Attributes:
        judgments: the judgments of all queries, without queries whose judgments the model saw.
        saw: people's judgments that were shown to the model.
    """

    judgments: Qrels
    saw: ModelSaw

    @classmethod
    def from_collection(cls, collection: Collection) -> ModelJudgments | None:
        """Read the predicted judgments of a collection; None if it has none.

        Raises:
            InputError: the judgments cannot be read.
            UsageError: all queries were shown to the model.
        """
        predicted = collection.predicted
        if predicted is None:
            return None
        model_saw = ModelSaw.read(predicted.saw, collection.columns)
        judgments = read_qrels(map_columns(predicted.judgments, collection.columns, "qrels"))
        unseen = model_saw.without_seen(judgments)
        all_count, unseen_count = (table.table["query_id"].n_unique() for table in (judgments, unseen))
        return cls(unseen, replace(model_saw, left_out=all_count - unseen_count))


@dataclass(frozen=True)
class ModelScores:
    """Systems scored by people's judgments and by a model's.

    Attributes:
        scorer: the scorer of people's judgments of the queries that the model did not see.
        model_scorer: the scorer of the model's judgments.
        systems: the systems scored by people's judgments; with estimated values if people judged
            only a part of the documents.
        models: the same systems scored by the model's judgments.
        saw: the judgments that were shown to the model, with its agreement with people.
        parts: the contributions of drawn documents to the values of each system, as
            ``drawn_documents.PARTS``; empty if people judged whole queries.
    """

    scorer: Scorer
    model_scorer: Scorer
    systems: Sequence[ScoredRun]
    models: Sequence[ScoredRun]
    saw: ModelSaw
    parts: Sequence[pl.DataFrame] = ()


def score_by_model(
    scorer: Scorer,
    predicted: ModelJudgments,
    sample: Sample,
    systems: Sequence[ScoredRun],
    runs: Sequence[RunLike],
) -> ModelScores:
    """Also score runs by judgments of a model.

    Queries whose judgments the model saw are left out of both sets of judgments.

    Args:
        scorer: the scorer of people's judgments.
        predicted: the model's judgments of all queries.
        sample: the design of the sample that people judged.
        systems: the baseline and the candidates, scored by people's judgments.
        runs: the runs of the systems.

    Raises:
        InputError: the model's judgments lack some pairs of people's.
        UsageError: the model repeats people's judgments; see also `drawn_documents.corrected`.
    """
    judgments = predicted.judgments
    people = predicted.saw.without_seen(scorer.qrels)
    _refuse_missing(people, judgments)
    saw = predicted.saw.checked(people, judgments)
    systems = [saw.unseen_part(system) for system in systems]
    unseen = replace(scorer, qrels=people, index=JudgmentIndex.from_judgments(people))
    model = replace(scorer, qrels=judgments, index=JudgmentIndex.from_judgments(judgments))
    models = [model.scored(run) for run in runs]
    if sample.documents is None:
        _refuse_partial_judgments(systems, models)
        judged = people.table["query_id"].unique(maintain_order=True).to_list()
        saw = saw.with_difference(judged, models, sample)
        return ModelScores(unseen, model, systems, models, saw)
    from rankgate.measurement.evaluation.sampled_documents import correct_runs  # few ask for it

    documents = sample.documents.filter(~pl.col("query_id").is_in(saw.query_ids))
    ranked = [unseen.ranked(run) for run in runs]
    results = correct_runs(unseen, judgments, documents, ranked)
    scored_runs = [
        replace(result.run, name=system.name, qrels_sha256=system.qrels_sha256)
        for result, system in zip(results, systems, strict=True)
    ]
    return ModelScores(unseen, model, scored_runs, models, saw, [result.parts for result in results])


_MOST_DIFFERENCE = 0.05


def _refuse_partial_judgments(systems: Sequence[ScoredRun], models: Sequence[ScoredRun]) -> None:
    """Check that people judged at least as many of the first documents as the model.

    Raises:
        UsageError: documents without people's judgments count as irrelevant only in people's
            scores.
    """
    for people, model in zip(systems, models, strict=True):
        joined = people.queries.join(model.queries, on="query_id", suffix="_model")
        people_share, model_share = (
            float(np.mean(joined[name].fill_null(0.0).to_numpy())) for name in ("judged", "judged_model")
        )
        if model_share - people_share > _MOST_DIFFERENCE:
            raise UsageError(
                f"of the first {count_noun(people.depth, 'document')} of {people.name} people judged "
                f"{people_share:.0%} and the model {model_share:.0%}, in the same queries: documents that "
                "people left out count as irrelevant only in the estimate from people; let people judge "
                "whole lists, or give the probability of each document: --sample FILE with doc_id and "
                "inclusion, "
                "as rankgate pool --strata writes it.",
                code="sampled-documents",
            )


def _refuse_missing(people: Qrels, model: Qrels) -> None:
    joined = people.table.join(model.table, on=_PAIR, how="left", suffix="_model")
    missing = joined.filter(pl.col("grade_model").is_null())
    if len(missing):
        query, doc = missing.select(_PAIR).row(0)
        raise InputError(
            f"lacks {len(missing):,} of the {len(joined):,} documents that people judged (query {query}, "
            f"document {doc}, …): a model that judges fewer of the documents that people judged, or only the "
            "easy ones, biases its correction; let it judge them too.",
            source=model.name,
            code="sample-not-subset",
        )
