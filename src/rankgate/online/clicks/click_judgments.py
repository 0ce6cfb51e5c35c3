"""Judgments from clicks: the result of ``judgments``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import replace_file
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.charts.chart_views import BAND, Axis, ChartView, Mark, Panel, highlight
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.core.present.layout import NOTICES, CrossView, Sentence, ShownChart, View
from rankgate.data.file_contents import FileContents
from rankgate.data.files.conversion import choose_format
from rankgate.data.qrels import Qrels
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.events.diagnosis import spoiled_notice

_MODEL = Column("model", pl.String, "the click model")
JUDGMENTS = Columns(
    "One row per query and document that was shown.",
    QUERY_ID,
    DOC_ID,
    Column("grade", pl.Float64, "the grade that the rule makes of the value", "grade"),
    Column("impressions", pl.Int64, "how often the document was shown for the query"),
    Column("clicks", pl.Int64, "how often it was clicked", header="clicks/shown"),
    Column(
        "examined",
        pl.Float64,
        "impressions that were looked at, as the model expects",
        ",.0f",
        header="looked at",
    ),
    Column("attractiveness", pl.Float64, "the model's parameter of clicks on examined documents"),
    Column(
        "satisfaction", pl.Float64, "the model's parameter of clicks that satisfy; null for models without it"
    ),
    Column("value", pl.Float64, "the value that the grade is made of", ".3f"),
    Column("low", pl.Float64, "the low end of the interval of the value", ".3f"),
    Column("high", pl.Float64, "the high end of the interval of the value", ".3f"),
    _MODEL,
)
MODEL_COLUMNS = Columns(
    "One row per click model.",
    _MODEL,
    Column(
        "log_likelihood",
        pl.Float64,
        "the log-likelihood of a search that was held out",
        header="log-likelihood\na search",
    ),
    Column(
        "error",
        pl.Float64,
        "the standard error of its distance from the best log-likelihood; models within two are tied",
        header="± from\nthe best",
    ),
    Column("perplexity", pl.Float64, "the perplexity of searches that were held out; 1 is perfect"),
    Column("seconds", pl.Float64, "the time that fitting took", unit="s"),
)
RANKS = Columns(
    "One row per click model and rank.",
    _MODEL,
    Column("rank", pl.Int64, "the rank, from 1"),
    Column(
        "perplexity", pl.Float64, "the perplexity of clicks at the rank in searches that were held out", ".3f"
    ),
)
_MODELS_WITHOUT_DOCUMENTS = ("gctr", "rctr")  # models that do not distinguish documents
CURVES = Columns(
    "One row per value of a parameter that all pairs share, such as how often a rank is looked at.",
    Column("name", pl.String, "the name of the parameter", header="parameter"),
    Column("place", pl.Int64, "which value of it, such as the rank", header="rank"),
    Column("value", pl.Float64, "its value", ".3f"),
    Column(
        "low",
        pl.Float64,
        "the low end of the 95 % interval by the Poisson bootstrap over sessions; null without resamples",
        ".3f",
    ),
    Column(
        "high",
        pl.Float64,
        "the high end of the 95 % interval by the Poisson bootstrap over sessions; null without resamples",
        ".3f",
    ),
)


@dataclass(frozen=True)
class ClickJudgments(Result):
    """Judgments from clicks.

    Attributes:
        model: the click model of the judgments.
        searches: with a list, from which it learned.
        pairs: of query and document that were shown.
        judged: the columns of `JUDGMENTS`.
        models: the columns of `MODEL_COLUMNS`.
        by_rank: the columns of `RANKS`.
        curves: the columns of `CURVES`.
        held_out: the share of searches that models were compared on.
        made_by: the rule that makes grades, with its parameters.
        agreement: with judgments of people: ``pairs``, ``spearman``, ``kendall``; empty without.
        faults: codes of what the log doctor found that spoils judgments.
        refused: the reason for missing judgments, by model: the log cannot separate ranks and
            documents, or the model predicts held-out clicks no better than ranks alone. Where the
            model itself is among them there are no judgments.
    """

    kind = "click_judgments"
    label = "Judgments from clicks"
    charts: ClassVar = {
        "click-models": ChartView(
            "Which click model predicts best",
            "Further right is a better prediction of clicks in searches that the model has not seen. A "
            "perplexity of 1 is perfect, 2 is no better than a coin.",
            "{searches:n search}",
            (
                Panel(
                    "models",
                    Axis("log_likelihood", "log-likelihood a search", zero=False),
                    Axis("model", scale="names"),
                    (Mark("point", "log_likelihood"),),
                    ("model", "log_likelihood", "perplexity"),
                    title="held-out searches",
                    colour=highlight(("model", "{model}")),
                    height=24,
                    tooltip=("perplexity",),
                ),
                Panel(
                    "ranks_of_best",
                    Axis("rank", "rank", "rank"),
                    Axis("perplexity", "perplexity", zero=False),
                    (Mark("points", "perplexity"),),
                    title="{model} by rank",
                    height=240,
                ),
            ),
            "click models",
            "no models were compared.",
        ),
        "click-curves": ChartView(
            "Overlap of documents in {model}",
            "Parameters by rank with 95 % intervals (bootstrap over sessions). Examination is how often a "
            "rank is looked at, relative to the first.",
            "{searches:n search}",
            (
                Panel(
                    "curves",
                    Axis("place", "rank", form="d"),
                    Axis("value", "{name}"),
                    BAND,
                    facet=("name",),
                    title="{name}",
                    height=240,
                ),
            ),
            "click models",
            "the model has no shared parameters.",
        ),
    }
    order = 63
    SCHEMAS: ClassVar = {"judged": JUDGMENTS, "models": MODEL_COLUMNS, "by_rank": RANKS, "curves": CURVES}
    layout = (
        View("models", "models on held-out searches", ("model", "log_likelihood", "error", "perplexity")),
        CrossView(
            "ranks_shown", "perplexity at a rank", ("model",), "rank", "perplexity", "at {}", columns=RANKS
        ),
        ShownChart("click-models", "models"),
        ShownChart("click-curves", "has_curve"),
        View("grade_counts", "grades", formats={"grade": "grade"}, headers={"len": "judgments"}),
        View(
            "most_examined",
            "judgments with the most evidence",
            (
                "query_id",
                "doc_id",
                "grade",
                ("clicks", "/", "impressions"),
                "examined",
                "value",
                ("low", "high"),
            ),
            JUDGMENTS,
            keys=2,
            first=20,
        ),
        View("curves", "shared parameters", ("name", "place", "value", ("low", "high"))),
        NOTICES,
        "{rule_text}",
        Sentence(
            "Too few pairs ({agreement[pairs]:.0f}) have judgments of people to compare with.",
            "lacks_correlation",
        ),
        Sentence(
            "On the {agreement[pairs]:,.0f} pairs that people judged: Spearman {agreement[spearman]:.3f}, "
            "Kendall {agreement[kendall]:.3f}.",
            "has_correlation",
        ),
    )
    notice_texts = (
        spoiled_notice("spoiled-judgments", "clicks or ranks"),
        NoticeText(
            "no-better-than-average",
            "{best_model}, which ignores documents, predicts held-out clicks best: there are too few clicks "
            "to distinguish documents",
            lambda result: result.best_model in _MODELS_WITHOUT_DOCUMENTS,
        ),
        NoticeText(
            "ranks-not-separated",
            "{model} does not separate what a document attracts from where it was shown: its values are "
            "partly those of the ranks, and its intervals have no level; show documents at several ranks "
            "(exchange neighbours at random), or choose another model",
            lambda result: not result.status and not separates_ranks(result.model),
        ),
        NoticeText("refused-model", "no judgments by {row[names]}: {row[reason]}", source="refusals"),
        NoticeText(
            "too-little-evidence",
            "{unjudged:,} of {pairs:n pair} {unjudged:v was/were} looked at less than "
            "{made_by[min_examined]:g} times, or at ranks that the model cannot compare, and "
            "{unjudged:v has/have} no judgment",
            lambda result: result.unjudged and not result.status,
        ),
    )
    headline_text = (
        Sentence("No judgments: {searches:n search cannot/searches cannot} teach {model}", "status"),
        Sentence(
            "{judged:n judgment} of {judged_queries:n query} from {searches:n search}, by {model}",
            lambda result: not result.status,
        ),
    )

    model: str
    searches: int
    pairs: int
    judged: pl.DataFrame
    models: pl.DataFrame
    by_rank: pl.DataFrame
    curves: pl.DataFrame
    held_out: float
    made_by: Mapping[str, Any]
    agreement: Mapping[str, float | None]
    faults: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The exit code: 3 where the log cannot teach the model, else 0."""
        return 3 if self.model in self.refused else 0

    @cached_property
    def qrels(self) -> Qrels:
        """The judgments, for everything that takes judgments.

        Raises:
            InputError: no pair has enough evidence, or the log cannot teach the model.
        """
        if self.status:
            problem = f"no judgments by {self.model}: {self.refused[self.model]}."
            raise InputError(problem, code="no-judgments")
        if self.judged.is_empty():
            problem = (
                f"no pair was looked at {self.made_by['min_examined']:g} times; collect more, or lower "
                "--min-examined."
            )
            raise InputError(problem, code="no-judgments")
        table = self.judged.select("query_id", "doc_id", "grade")
        return Qrels(table, name=f"clicks-{self.model}", made_by=self.made_by)

    def write(self, path: str | Path, to: str | None = None) -> Path:
        """Write the judgments in the format of the name's suffix, or of ``to``.

        Raises:
            InputError: no pair has enough evidence.
            UsageError: no such format; a place where nothing can be written.
        """
        file_format = choose_format(path, to, "qrels")
        assert file_format.write is not None
        contents = FileContents(qrels=self.qrels)
        with replace_file(path) as stream:
            file_format.write(contents, stream)
        return Path(path)

    @property
    def rule_text(self) -> str:
        """The rule of the grades, the model and its intervals."""
        rule, cuts = self.made_by["rule"], self.made_by.get("cuts")
        measure = {
            "relative": "the value divided by the highest of the query",
            "cuts": "the value",
            "quantiles": "the share of the query's documents with a lower value",
            "value": "the value itself",
        }[rule]
        cuts_text = f", with a grade from each of {', '.join(f'{cut:g}' for cut in cuts)}" if cuts else ""
        title = MODELS[self.model].formula if self.model in MODELS else "as OpenSearch computes it"
        bands = ""
        if self.curves["low"].is_not_null().any():
            bands = " Those of shared parameters are by a bootstrap over sessions."
        level = "95 % (Jeffreys)" if separates_ranks(self.model) else "those of shares, without a level,"
        return (
            f"Grades are by {measure}{cuts_text}. Values are of {self.model}: {title}. Intervals are {level} "
            f"on the impressions that were looked at.{bands}"
        )

    @property
    def judged_queries(self) -> int:
        """The number of queries with a judgment."""
        return self.judged["query_id"].n_unique()

    @property
    def ranks_shown(self) -> pl.DataFrame:
        """`by_rank` at the ranks 1, 2, 3, 5 and 10."""
        ranks = self.by_rank.filter(pl.col("rank").is_in([1, 2, 3, 5, 10]))
        return self.models.select("model").join(ranks, on="model", maintain_order="left_right")

    @property
    def ranks_of_best(self) -> pl.DataFrame:
        """`by_rank` of the model of the judgments, or of the best where that was not compared."""
        is_compared = self.model in self.models["model"]
        return self.by_rank.filter(model=self.model if is_compared else self.models["model"][:1])

    @property
    def grade_counts(self) -> pl.DataFrame:
        """The number of judgments of each grade; no rows where grades are values."""
        rows = self.judged if self.made_by["rule"] != "value" else self.judged.clear()
        return rows.group_by("grade").len().sort("grade")

    @property
    def most_examined(self) -> pl.DataFrame:
        """`judged`, those with the most evidence first."""
        return self.judged.sort("examined", "query_id", "doc_id", descending=[True, False, False])

    @property
    def has_curve(self) -> bool:
        """True if a parameter is a curve over ranks."""
        return len(self.curves) > 0 and self.curves["place"].max() != 1

    @property
    def has_correlation(self) -> bool:
        """True if the grades were correlated with those of people."""
        return self.agreement.get("spearman") is not None

    @property
    def lacks_correlation(self) -> bool:
        """True if too few pairs have judgments of people."""
        return bool(self.agreement) and not self.has_correlation

    @property
    def best_model(self) -> str:
        """The model that predicts held-out clicks best; empty if none does."""
        return str(self.models["model"][0]) if len(self.models) else ""

    @property
    def unjudged(self) -> int:
        """The number of pairs without a judgment."""
        return self.pairs - len(self.judged)

    @property
    def refusals(self) -> list[dict[str, object]]:
        """The models that give no judgments, by their reason."""
        return [
            {"reason": reason, "names": [name for name, refusal in self.refused.items() if refusal == reason]}
            for reason in dict.fromkeys(self.refused.values())
        ]


def separates_ranks(model: str) -> bool:
    """True if a click model separates what documents attract from their ranks."""
    return model in MODELS and MODELS[model].separates
