"""The step that makes judgments of clicks: a log is sent, its columns are recognised, a model is fitted.

What the log has, and how long the models take, is stated before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.qrels import Qrels
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.clicks.judge_clicks import Grading, judgments, read_searches
from rankgate.online.events.events import Events
from rankgate.online.events.mapping_draft import draft_mapping
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.workspace.web.pages.step_pages import STEPS_PATH
from rankgate.workspace.web.pages.upload_files import upload_file
from rankgate.workspace.web.replies import ActionReply, PageReply, Reply, RequestRefused
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    Field,
    action,
    invalid_value,
    list_judgment_names,
    page,
)

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.core.value_types import Json
    from rankgate.online.clicks.packed_searches import PackedSearches
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest

_CLICKS_PATH = f"{STEPS_PATH}/clicks"
_MAX_SECONDS = 120.0
"""The longest time in seconds that the models of a log may take in a request."""

_SAMPLE_SEARCHES = 500
"""The number of searches on which the time of the models is measured."""

_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
"""The ends of the names of logs; files of databases are not opened."""

_FIELDS = (
    Field(
        "log",
        "Log of searches and clicks",
        "file",
        required=True,
        help="A row for each result that was shown, with query, document, rank and click: CSV, TSV, JSONL or "
        "Parquet; or User Behavior Insights.",
    ),
    Field("judgments", "Name of the judgments", required=True, most=100),
    Field(
        "model",
        "Click model",
        "choice",
        default="auto",
        unset="auto",
        choices=(("auto", "the one that predicts held-out clicks best"), *((name, name) for name in MODELS)),
    ),
    Field(
        "min_examined",
        "Times that a document must have been looked at",
        "number",
        default="10",
        unset=10.0,
        least=0,
    ),
    Field("preview", kind="flag", help="Only state what the log has, and the cost."),
)


@dataclass(frozen=True)
class _ClickLog:
    """A log of clicks that is read.

    Attributes:
        searches: the searches with their lists.
        columns: the recognised columns, as lines; empty for a log that needs none.
        query_ids: the ids of the project's queries by their text without case.
    """

    searches: PackedSearches
    columns: tuple[str, ...]
    query_ids: dict[str, str]

    @property
    def shared_queries(self) -> int:
        """The number of queries of the log that the project has."""
        texts = self.searches.pairs["query_id"].unique()
        return len({text.strip().casefold() for text in texts} & self.query_ids.keys())


@page("clicks", _CLICKS_PATH, MANAGING_ROLES, "Judgments from clicks")
def clicks_page(request: WebRequest) -> PageReply:
    """The form of a log of clicks."""
    lead = (
        "A click model separates how good a document is from where it was shown. Queries of the log count if "
        "the project has them."
    )
    data: PageRow = {"project": request.project.name, "lead": lead, "warning": ""}
    extra: PageRow = {
        "options": {},
        "given": {"judgments": f"clicks-{len(list_judgment_names(request)) + 1}"},
        "action": "step-clicks",
        "more": ["model", "min_examined"],
        "seen": None,
    }
    return PageReply("step_form.html", data, extra)


@action("step-clicks", _CLICKS_PATH, MANAGING_ROLES, "Make judgments of clicks", *_FIELDS, does_step=True)
def judge_log(request: WebRequest) -> Reply:
    """Make judgments of the clicks in a log, or only state what the log has and the cost.

    Raises:
        Refused: the log cannot be read, has no query of the project, or is too large; the name is
            taken.
    """
    fields = request.values
    if fields["judgments"] in list_judgment_names(request):
        raise invalid_value("judgments", "is the name of other judgments")
    if not fields["log"].name.lower().removesuffix(".gz").endswith(_SUFFIXES):
        raise invalid_value("log", f"is a file that ends in {', '.join(_SUFFIXES)}")
    try:
        with upload_file(fields["log"], request.config.largest_unpacked) as path:
            log = _read_log(request, path)
    except (InputError, UsageError) as error:
        raise RequestRefused(400, error.code, error.problem, field="log") from None
    if not log.shared_queries:
        raise invalid_value("log", "no query of it is a query of the project; add its queries first")
    seconds = _estimate_seconds(log.searches, fields["model"])
    if fields["preview"]:
        return PageReply("cost.html", _state_cost(request, log, seconds))
    if seconds > _MAX_SECONDS:
        problem = f"its models take about {seconds:.0f} s; send fewer days, or choose one model"
        raise invalid_value("log", problem)
    qrels, summary = _judge(request, log)
    with request.store.write() as connection:
        stored_runs.add_judgments(
            connection, request.store.blobs, request.project.id, qrels, name=fields["judgments"]
        )
        request.record(connection, "judgments.clicks", fields["judgments"], **summary)
    return ActionReply(request.project_path("judgments"), {"judgments": fields["judgments"]} | summary)


def _read_log(request: WebRequest, path: Path) -> _ClickLog:
    """The searches of a log; its columns are recognised unless it is of a kind that needs no mapping."""
    with request.store.read() as connection:
        stored_queries = queries_documents.list_queries(connection, request.project.id)
    query_ids = {query.text.strip().casefold(): query.query_id for query in stored_queries if query.text}
    columns: tuple[str, ...] = ()
    try:
        searches, faults = read_searches(Events(str(path)))
    except InputError:
        text = draft_mapping(path)
        mapping = path.with_name("mapping.toml")
        mapping.write_text(text, encoding="utf-8")
        columns = tuple(line for line in text.splitlines() if "=" in line)
        searches, faults = read_searches(Events(str(path), mapping))
    if faults:
        problem = f"its clicks or ranks cannot be right: {', '.join(faults)}"
        raise UsageError(problem, code="faulty-log")
    return _ClickLog(searches, columns, query_ids)


def _estimate_seconds(searches: PackedSearches, model: str) -> float:
    """The seconds that the models of a log take, measured on a sample of it."""
    share = min(1.0, _SAMPLE_SEARCHES / searches.searches)
    sample = searches.split(share, 0)[1] if share < 1 else searches
    start_time = time.monotonic()
    judgments(sample, model=model)
    return (time.monotonic() - start_time) * searches.searches / max(sample.searches, 1.0)


def _state_cost(request: WebRequest, log: _ClickLog, seconds: float) -> PageRow:
    searches, pairs = round(log.searches.searches), len(log.searches.pairs)
    queries = log.searches.pairs["query_id"].n_unique()
    is_too_long = seconds > _MAX_SECONDS
    size = (
        f"{count_noun(searches, 'search', 'searches')} with {count_noun(pairs, 'pair')} of "
        f"{count_noun(queries, 'query')} and document; the project has {log.shared_queries} of the queries, "
        "and others do not count."
    )
    sentences = [
        size,
        f"The models take about {max(seconds, 1):.0f} s, as measured on a part of the log."
        + (f" That is more than {_MAX_SECONDS:.0f} s: send fewer days." if is_too_long else ""),
    ]
    return {
        "project": request.project.name,
        "searches": searches,
        "pairs": pairs,
        "queries": queries,
        "shared_queries": log.shared_queries,
        "seconds": round(seconds, 1),
        "sentences": sentences,
        "columns": list(log.columns),
    }


def _judge(request: WebRequest, log: _ClickLog) -> tuple[Qrels, dict[str, Json]]:
    """The judgments of a log on the scale of the project, by the ids of its queries.

    Raises:
        Refused: the log has too little for the model.
    """
    with request.store.read() as connection:
        scale = [grade.grade for grade in projects.grades(connection, request.project.id)] or [0, 1, 2, 3]
    cuts = tuple(number / len(scale) for number in range(1, len(scale)))
    grading = Grading(cuts=cuts, min_examined=request.values["min_examined"])
    result = judgments(log.searches, model=request.values["model"], grading=grading)
    try:
        qrels = result.qrels
    except (InputError, UsageError) as error:
        raise RequestRefused(400, error.code, error.problem, field="log") from None
    table = qrels.table.with_columns(
        pl.col("query_id")
        .str.strip_chars()
        .replace_strict(_texts_to_ids(qrels, log.query_ids), default=None),
        pl.col("grade").cast(pl.Int64).replace_strict(dict(enumerate(scale)), return_dtype=pl.Float64),
    ).drop_nulls("query_id")
    if table.is_empty():
        raise invalid_value("log", "no query of the project has enough searches in it")
    judged = Qrels(table, name=request.values["judgments"], made_by=qrels.made_by)
    return judged, {"model": result.model, "pairs": len(table), "queries": table["query_id"].n_unique()}


def _texts_to_ids(qrels: Qrels, query_ids: dict[str, str]) -> dict[str, str]:
    """The id of each text of the log; of texts that differ by case the one with most documents."""
    counts = dict(qrels.table.group_by("query_id").len().iter_rows())
    text_of_id = {
        query_ids[text.strip().casefold()]: text
        for text in sorted(counts, key=lambda text: (counts[text], text))
        if text.strip().casefold() in query_ids
    }
    return {text: query_id for query_id, text in text_of_id.items()}
