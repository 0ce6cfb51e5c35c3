"""The result of ``migrate``: may a new index replace the old one."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, NoticeText, Result
from rankgate.core.present.charts.chart_views import ChartView, HeatMap
from rankgate.core.present.columns import Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.core.present.layout import NOTICES, FactTable, Lines, Sentence, View, fill
from rankgate.core.present.number_formats import count_noun
from rankgate.core.value_types import JsonObject
from rankgate.decisions.migration.index_losses import CHANGES, SCORES, STEPS

POOL = Columns("One row per document to judge next.", QUERY_ID, DOC_ID)
_FEW_PAIRS, _MUCH = 50, 0.04  # where passes of harmless migrations were few: docs/validity.md
_EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 3}


@dataclass(frozen=True)
class Migration(Result):
    """What a new index lost, and whether its loss of nDCG is within a margin.

    Attributes:
        old, new: the names of the runs.
        metric: nDCG with its cutoff k.
        convention: name, axes and hash.
        queries: the queries of the old run; the mean and its bounds are of these.
        changed: those whose first k documents differ.
        margin: the loss of the mean that is allowed.
        level: the level of each one-sided bound; it is of the draw of the judgments.
        blockers: reasons that fail the new index whatever judgments say.
        certain_low, certain_high: the bounds of the difference that hold for all grades of the
            documents that are not judged.
        low, high: the one-sided bounds of the difference at the level.
        at_stake: the most that documents which are not judged before the draw can change the mean.
        pairs: pairs of documents that were drawn.
        judged: documents that were judged for the draw.
        budget: the largest number of documents to judge.
        needed: about how many have to be judged for a pass, if what follows is like what was seen;
            null where no number is expected to lead to one.
        steps, scores, changes, pool: the columns of `STEPS`, `SCORES`, `CHANGES`, `POOL`.
        vanished: documents of the old lists that the new run has for no query.
        shown: documents of the old lists.
        doubled: rows of the new run that repeat a document of their query.
        empty: queries for which the new run has no document.
        input_notices: remarks on the runs.
    """

    kind = "migration"
    label = "Migration of an index"
    order = 12
    main_table = "changes"
    charts: ClassVar = {
        "migration": ChartView(
            "Documents that {new:short} keeps (first {k:n document})",
            "The share of the first documents before each step that are among the first after it.",
            "{queries:n query}",
            (
                HeatMap(
                    lambda result: result.steps.unpivot(["kept", "lowest"], index="step"),
                    (
                        pl.col("step").alias("row"),
                        pl.col("variable").replace({"kept": "mean", "lowest": "worst query"}).alias("column"),
                        "value",
                    ),
                    form="%",
                ),
            ),
            fluid=False,
        )
    }
    SCHEMAS: ClassVar = {"changes": CHANGES, "steps": STEPS, "scores": SCORES, "pool": POOL}
    layout = (
        Lines("blockers"),
        View("steps", "documents kept, first {k}", ("step", "kept", "lowest", "losing")),
        FactTable(
            "documents and queries",
            (
                ("vanished", "{vanished} of {shown}"),
                ("doubled", "{doubled}"),
                ("queries\nwithout results", "{empty} of {queries}"),
                ("queries\nthat changed", "{changed} of {queries}"),
            ),
            as_row=True,
        ),
        View("scores", "scores"),
        View("changes", "queries that changed most", ("query_id", "kept", "first_change", "most"), first=5),
        FactTable(
            "{metric}, new less old",
            (
                ("for all grades", "[{certain_low:signed}, {certain_high:signed}]"),
                ("{level:.0%} bounds", "[{low:signed}, {high:signed}]"),
                ("at stake", "{at_stake:.3f}"),
                ("pairs drawn", "{pairs}"),
                ("judged", "{judged} of {budget}"),
            ),
            as_row=True,
        ),
        NOTICES,
        "{next_step}",
        Sentence(
            "The bounds are of the mean over these {queries:n query}: each is wrong in at most {error:.0%} "
            "of draws of documents to judge, whatever the grades are. They say nothing of other queries; "
            "further queries cost no judgments, so give as many as there are. The ideal ranking is of the "
            "documents that are judged or in either list."
        ),
    )
    notice_texts = (
        "input_notices",
        NoticeText(
            "doubled-documents",
            "{new}: {doubled:n row} repeat a document of their query; only the first counts",
            "doubled",
            subject="{new}",
        ),
        NoticeText(
            "another-scale",
            "scores are on another scale: {shares[0]:.0%} of the old documents and {shares[1]:.0%} of the "
            "new ones reach the old median score at the last rank; set every threshold again",
            lambda result: (
                len(result.shares) > 1 and abs(result.shares[1] - result.shares[0]) > _ANOTHER_SCALE
            ),
            subject="{new}",
        ),
    )

    old: str
    new: str
    metric: str
    convention: JsonObject
    k: int
    queries: int
    changed: int
    margin: float
    level: float
    blockers: tuple[str, ...]
    certain_low: float
    certain_high: float
    low: float
    high: float
    at_stake: float
    pairs: int
    judged: int
    budget: int
    needed: int | None
    steps: pl.DataFrame
    scores: pl.DataFrame
    changes: pl.DataFrame
    pool: pl.DataFrame
    vanished: int
    shown: int
    doubled: int
    empty: int
    input_notices: tuple[Notice, ...] = ()

    @property
    def outcome(self) -> str:
        """``pass``, ``fail`` or ``inconclusive``."""
        if self.blockers or self.high < -self.margin:
            return "fail"
        return "pass" if self.low >= -self.margin else "inconclusive"

    @property
    def status(self) -> int:
        """The exit code of the outcome: 0, 1 or 3."""
        return _EXIT_CODES[self.outcome]

    @property
    def error(self) -> float:
        """The probability that a bound is wrong."""
        return 1 - self.level

    @property
    def headline(self) -> str:
        """The outcome in words."""
        texts = {
            "pass": "{new} may replace {old}: {metric} falls by at most {margin:g}",
            "fail": "{new} may not replace {old}"
            + ("" if self.blockers else ": {metric} falls by more than {margin:g}"),
            "inconclusive": "not settled whether {new} may replace {old}",
        }
        return fill(texts[self.outcome], self)

    @property
    def next_step(self) -> str:
        """What to judge next, and whether that can lead to a pass."""
        if self.outcome != "inconclusive":
            return ""
        pool_size = len(self.pool)
        if pool_size:
            sentence = f"Judge {count_noun(pool_size, 'document')} of the pool, and run this again with them."
        else:
            sentence = "All drawn documents are judged."
        if self.needed is None:
            return f"{sentence} What was judged points to a loss above the margin."
        if self.needed <= self.budget and self.pairs < _FEW_PAIRS and self.at_stake > _MUCH:
            sentence += (
                f" Only {self.pairs} pairs fit the budget, and {self.at_stake:.3f} is at stake: a third or "
                "less of harmless migrations like this pass. Judgments of the old lists help most."
            )
        if self.needed > self.budget:
            sentence += (
                f" A pass takes about {self.needed:,} judgments"
                f"{' even if every pair that is drawn has equal grades' if not self.judged else ''}: more "
                f"than the budget of {self.budget}. Judgments of the old lists from before, or a larger "
                "budget, make it possible. A budget that is raised after a look is a second look; take the "
                "level 0.975 for two."
            )
        return sentence

    @property
    def shares(self) -> list[float]:
        """The shares of the old and the new documents above the old median score."""
        return self.scores["above"].drop_nulls().to_list()


_ANOTHER_SCALE = 0.2
