"""Judgments of people that a model saw before it judged, and checks of the user's statement.

People's judgments correct a model only where the model judged without them. A model that was
shown them, as examples or in training, repeats them: it errs less in these queries than elsewhere,
and people's judgments do not correct its errors elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data import read_qrels
from rankgate.data.column_map import map_columns
from rankgate.measurement.stats.represented import chance_of_sample, estimate_population

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import ColumnsLike, QrelsLike
    from rankgate.data.sample import Sample

NONE, UNKNOWN = "none", "unknown"

_PAIR = ("query_id", "doc_id")
_FEWEST_JUDGMENTS = 30  # judgments; agreement on so few shows nothing
_AGREEMENT = 0.9
"""Cohen's kappa from which a model of unknown training is refused. People agree with each other,
and models that saw no labels with people, at about .2 to .8."""
_FEWEST_QUERIES = 10  # judged queries, at least, to compare their grades with those of the others
_CHANCE_BY_LABEL = {UNKNOWN: 0.01}
_DECLARED_CHANCE = 0.001
_MOST_ERRORS = 5.0  # standard errors, where queries had unequal chances


@dataclass(frozen=True)
class ModelSaw:
    """People's judgments that a model saw before it judged.

    Attributes:
        label: none, unknown, or the name of the judgments that it saw.
        query_ids: the queries of these judgments.
        left_out: how many queries of the model were left out because of them.
        agreement: Cohen's kappa of the model's grades with people's; None where it is undefined.
        difference: how the model's grades of judged queries differ from those of the others, by
            more than chance; empty where they do not.
    """

    label: str = UNKNOWN
    query_ids: tuple[str, ...] = ()
    left_out: int = 0
    agreement: float | None = None
    difference: str = ""

    @classmethod
    def of(cls, saw: QrelsLike | ModelSaw, columns: ColumnsLike | None = None) -> ModelSaw:
        """Read the word none or unknown, or judgments.

        Raises:
            InputError: judgments that cannot be read.
        """
        if isinstance(saw, ModelSaw):
            return saw
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
                "the interval holds only if the model saw none of people's judgments of these "
                "queries, as --predicted-saw none states"
            )
        if self.label == UNKNOWN:
            return (
                "the interval holds only if the model saw none of people's judgments of these "
                "queries, as examples or in training; state it with --predicted-saw none, or give "
                "the judgments that it saw (--predicted-saw FILE)"
            )
        return (
            f"the {self.left_out:,} queries whose judgments the model saw ({self.label}) are left "
            "out; the interval holds only if it saw no others of these queries"
        )

    def without_seen(self, judgments: Qrels) -> Qrels:
        """The judgments of the queries that the model did not see.

        Raises:
            UsageError: the model saw all queries.
        """
        if not self.query_ids:
            return judgments
        table = judgments.table.filter(~pl.col("query_id").is_in(self.query_ids))
        if not len(table):
            raise UsageError(
                f"the model saw people's judgments of every query of {judgments.name} "
                f"({self.label}), so that nothing corrects it; let people judge queries that it "
                "did not see, drawn at random.",
                code="model-saw-judgments",
            )
        return replace(judgments, table=table)

    def unseen_part(self, system: ScoredRun) -> ScoredRun:
        """A scored system without the queries that the model saw."""
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
        """Add the agreement of the model with people, on the judgments of both.

        Raises:
            UsageError: the model repeats people's judgments; or it agrees with them as closely as
                no rater does, and it is not known what it saw.
        """
        joined = people.table.join(model.table, on=_PAIR, suffix="_model")
        if len(joined) < _FEWEST_JUDGMENTS:
            return self
        if (joined["grade"] == joined["grade_model"]).all():
            raise UsageError(
                f"the predicted judgments repeat all {len(joined):,} of people's: the model saw "
                "them, or the files are the same; let it judge without them.",
                code="model-saw-judgments",
            )
        kappa = _kappa(joined)
        if self.label == UNKNOWN and kappa is not None and kappa >= _AGREEMENT:
            raise UsageError(
                f"the predicted judgments agree with people's {len(joined):,} far more closely "
                f"than raters do who do not see each other's grades (kappa {kappa:.2f}; "
                f"{_AGREEMENT} is the limit where it is not known what the model saw): it probably "
                "saw them. Give the judgments that it saw, as --predicted-saw FILE, or state that "
                "it saw none with --predicted-saw none.",
                code="model-saw-judgments",
            )
        return replace(self, agreement=kappa)

    def with_difference(
        self, judged: Sequence[str], models: Sequence[ScoredRun], sample: Sample
    ) -> ModelSaw:
        """Compare the model's grades of the queries that people judged with those of the others.

        Judged queries are a random sample, so that a model that saw nothing of them grades them as
        it grades the others. Compared are, by query, the mean, the spread and the shares of the
        lowest and the highest of the model's grades among the documents that the systems show:
        Hotelling's (1931) distance of the two means, by resampling which queries were judged. By
        chance they differ once in a hundred samples, once in a thousand where it is stated what
        the model saw.

        Args:
            judged: queries that people judged.
            models: the systems by the model's judgments.
            sample: how queries were drawn.
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
            estimates = [
                estimate_population(column, weights, strata) for column in grades[in_sample].T
            ]
            distance = max(
                abs(estimate.mean - mean) / max(estimate.sampled_error, 1e-12)
                for estimate, mean in zip(estimates, sizes @ grades / sizes.sum(), strict=True)
            )
            if distance <= _MOST_ERRORS:
                return self
            size = f"{distance:.1f} standard errors"
        judged_mean, other_mean = grades[in_sample][:, 0].mean(), grades[~in_sample][:, 0].mean()
        text = (
            "the model grades the queries that people judged otherwise than the others (mean "
            f"grade {judged_mean:.3f} and {other_mean:.3f}; with their spread, and the shares of "
            f"its lowest and highest grade: {size}): it saw people's judgments of some of them, or "
            "the queries are no random sample. Give the judgments that it saw, as --predicted-saw "
            "FILE, or let it judge all queries in the same way."
        )
        return replace(self, difference=text)

    def refuse_different(self) -> None:
        """Raise an error if the model grades judged queries differently from the others.

        Raises:
            UsageError: it does.
        """
        if self.difference:
            raise UsageError(self.difference, code="model-saw-judgments")


def _grades_by_query(lists: Sequence[pl.DataFrame]) -> tuple[np.ndarray, np.ndarray]:
    """(N,) queries, and (N, 4) mean, spread, shares of the lowest and highest grade of each."""
    pairs = pl.concat([table.select(*_PAIR, "grade") for table in lists])
    pairs = pairs.drop_nulls("grade").unique(_PAIR)
    grade, low, high = pl.col("grade"), pairs["grade"].min(), pairs["grade"].max()
    table = (
        pairs.group_by("query_id")
        .agg(
            mean=grade.mean(),
            spread=grade.std(ddof=0),
            lowest=(grade == low).mean(),
            highest=(grade == high).mean(),
        )
        .sort("query_id")
    )
    return table["query_id"].to_numpy(), table.drop("query_id").to_numpy()


def _kappa(joined: pl.DataFrame) -> float | None:
    """Cohen's kappa of the columns ``grade`` and ``grade_model``."""
    from rankgate.measurement.stats.agreement.kappa import cohen_values  # few ask for it

    grades = np.union1d(joined["grade"].to_numpy(), joined["grade_model"].to_numpy())
    counts = np.zeros((1, len(grades), len(grades)))
    people_codes, model_codes = (
        np.searchsorted(grades, joined[name].to_numpy()) for name in ("grade", "grade_model")
    )
    np.add.at(counts[0], (people_codes, model_codes), 1.0)
    kappa = float(cohen_values(counts, grades)[0])
    return kappa if np.isfinite(kappa) else None
