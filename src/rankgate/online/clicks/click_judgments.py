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
from rankgate.core.present.result import Notice, Result
from rankgate.core.target import replace_file
from rankgate.data.contents import FileContents
from rankgate.data.qrels import Qrels
from rankgate.data.write import choose_format

JUDGMENTS = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "grade": pl.Float64,
    "impressions": pl.Int64,
    "clicks": pl.Int64,
    "examined": pl.Float64,
    "attractiveness": pl.Float64,
    "satisfaction": pl.Float64,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "model": pl.String,
}
MODELS = {
    "model": pl.String,
    "log_likelihood": pl.Float64,
    "perplexity": pl.Float64,
    "seconds": pl.Float64,
}
RANKS = {
    "model": pl.String,
    "rank": pl.Int64,
    "perplexity": pl.Float64,
}
_MODELS_WITHOUT_DOCUMENTS = ("gctr", "rctr")  # models that do not tell documents apart
CURVES = {
    "name": pl.String,
    "place": pl.Int64,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}


@dataclass(frozen=True)
class ClickJudgments(Result):
    """Judgments from clicks.

    Attributes:
        model: the click model that they are of.
        searches: with a list, from which it learned.
        pairs: of query and document that were shown.
        judged: ``query_id``, ``doc_id``, ``grade``, ``impressions``, ``clicks``, ``examined`` (how
            many impressions were looked at, as the model expects), ``attractiveness``,
            ``satisfaction``, ``value`` (what the grade is made of), ``low``, ``high``, ``model``.
        models: ``model``, ``log_likelihood`` per search and ``perplexity`` on searches that were
            held out, ``seconds`` that fitting took.
        by_rank: ``model``, ``rank``, ``perplexity``.
        curves: ``name``, ``place``, ``value``: parameters that all pairs share, such as how often a
            rank is looked at; ``low``, ``high``: 95 % interval by the Poisson bootstrap over
            sessions, null without resamples.
        held_out: the share of searches that models were compared on.
        made_by: the rule that makes grades, with its parameters.
        agreement: with judgments of people: ``pairs``, ``spearman``, ``kendall``; empty without.
        faults: codes of what the log doctor found that spoils judgments.
        refused: by model why no judgments are made of it: the log cannot tell its ranks and
            documents apart, or it predicts held-out clicks no better than ranks alone. Where the
            model itself is among them there are no judgments.
    """

    kind: ClassVar[str] = "click_judgments"
    label: ClassVar[str] = "Judgments from clicks"
    document_from: ClassVar[str] = "rankgate.online.clicks.document:document"
    charts: ClassVar[Mapping[str, str]] = {
        "click-models": "rankgate.online.clicks.charts:models",
        "click-curves": "rankgate.online.clicks.charts:curves",
    }
    order: ClassVar[int] = 63
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "judged": JUDGMENTS,
        "models": MODELS,
        "by_rank": RANKS,
        "curves": CURVES,
    }

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
                f"no pair was looked at {self.made_by['min_examined']:g} times; collect more, or "
                "lower --min-examined."
            )
            raise InputError(problem, code="no-judgments")
        table = self.judged.select("query_id", "doc_id", "grade")
        return Qrels(table, name=f"clicks-{self.model}", made_by=self.made_by)

    def write(self, path: str | Path, to: str | None = None) -> Path:
        """Write the judgments in a format that the name's suffix says, or that ``to`` names.

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
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about the judgments."""
        notices = []
        if self.faults:
            notices.append(
                Notice(
                    "spoiled-judgments",
                    f"the log doctor found {', '.join(self.faults)}, which makes clicks or ranks "
                    "wrong: see rankgate online doctor",
                )
            )
        if len(self.models) and self.models["model"][0] in _MODELS_WITHOUT_DOCUMENTS:
            notices.append(
                Notice(
                    "no-better-than-average",
                    f"{self.models['model'][0]}, which knows nothing of documents, predicts "
                    "held-out clicks best: there are too few clicks to tell documents apart",
                )
            )
        for reason in dict.fromkeys(self.refused.values()):
            names = [name for name, refusal in self.refused.items() if refusal == reason]
            notices.append(Notice("refused-model", f"no judgments by {', '.join(names)}: {reason}"))
        unjudged_pairs = self.pairs - len(self.judged)
        if unjudged_pairs and not self.status:
            notices.append(
                Notice(
                    "too-little-evidence",
                    f"{unjudged_pairs:,} of {self.pairs:,} pairs were looked at less than "
                    f"{self.made_by['min_examined']:g} times, or at ranks that the model cannot "
                    "compare, and have no judgment",
                )
            )
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.judged
