"""Record results with figures, values per query, provenance and inputs.

The result of ``record`` lists the recorded evaluations. A command with ``--record`` records its
result with its inputs. Annotations record events of a history and their times.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rankgate.core.console.declared_options import parse_pairs
from rankgate.core.errors import InputError, RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import SYSTEM
from rankgate.core.present.layout import NOTICES, Sentence, View
from rankgate.core.present.lazy_names import load_name
from rankgate.core.present.result_frames import make_frame
from rankgate.data.collection import Collection
from rankgate.data.qrels import Qrels
from rankgate.store.records.records import NewRecord
from rankgate.workspace.records.cron_times import parse_moment
from rankgate.workspace.records.figures import figures_of
from rankgate.workspace.records.provenance import judge_label, provenance
from rankgate.workspace.records.provenance import provenance as provenance_of
from rankgate.workspace.records.record_columns import BRANCH, KIND, REVISION, VERDICT, format_minute
from rankgate.workspace.records.storages.record_storage import open_storage

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.data.run import Run
    from rankgate.workspace.records.figures import Figures
    from rankgate.workspace.records.provenance import Provenance
    from rankgate.workspace.records.storages.record_storage import RecordStorage


RECORDS_SCHEMA = Columns(
    "One row per record.",
    Column("record", pl.String, "its name in the history or the store"),
    Column("new", pl.Boolean, "true if it was added; false if its content was there before"),
    Column("evaluated_at", pl.String, "when it was measured", format_minute, header="evaluated\n(UTC)"),
    KIND,
    SYSTEM,
    REVISION,
    BRANCH,
    VERDICT,
    Column("figures", pl.Int64, "how many figures it has"),
    Column("queries", pl.Int64, "how many queries it has"),
)


@dataclass(frozen=True)
class Recorded(Result):
    """Evaluations that were recorded.

    Attributes:
        place: where.
        records: the columns of `RECORDS_SCHEMA`.
        warnings: what later readers will not see.
    """

    kind = "recorded"
    label = "Recorded evaluations"
    SCHEMAS: ClassVar = {"records": RECORDS_SCHEMA}
    layout = (
        View(
            "records",
            cells=(
                *("record", "evaluated_at", "kind", "system", "revision", "verdict"),
                *("figures", "queries", "new"),
            ),
        ),
        NOTICES,
    )
    notice_texts = (NoticeText("record", "{row}", source="warnings"),)
    headline_text = (
        Sentence("{new:,} recorded", lambda recorded: recorded.new or not recorded.repeated),
        Sentence(", ", lambda recorded: recorded.new and recorded.repeated),
        Sentence("{repeated:,} recorded before", "repeated"),
        " in {place}",
    )

    place: str
    records: pl.DataFrame
    warnings: tuple[str, ...] = ()

    @property
    def new(self) -> int:
        """The number of new records."""
        return int(self.records["new"].sum())

    @property
    def repeated(self) -> int:
        """The number of records that were there before."""
        return len(self.records) - self.new


def record(
    results: Result | Mapping[str, Any] | str | Path | Sequence[Result | str | Path],
    to: str | Path | None = None,
    *,
    store: str | None = None,
    project: str | None = None,
    at: str | datetime | None = None,
    system: str = "",
    name: str = "",
    labels: Mapping[str, str] | None = None,
    provenance: Provenance | None = None,
    qrels: Collection | QrelsLike | None = None,
    runs: Mapping[str, RunLike] | None = None,
    keep: bool = True,
) -> Recorded:
    """Record results, so that ``history`` shows how figures move.

    The same content is recorded once: a second call changes nothing.

    Args:
        results: a result, the JSON of one, its file, or several.
        to: a folder, such as history/ in a repository.
        store: instead of a folder a store, or the URL of a server.
        project: the project in the store.
        at: when it was evaluated, if not now: 2026-03-01, or a date with a time.
        system: the system that it is about, if the result names another.
        name: a name for people.
        labels: a word by name, such as nightly=yes; ``judge`` is by default who made the judgments,
            where ``resolve`` has recorded it.
        provenance: the revision and branch of git; by default those of the working directory, or of
            the build.
        qrels: the judgments that the result is of: their hash is recorded.
        runs: the run of a system that the result is of.
        keep: keep judgments and runs too, so that later judgments can be applied to them.

    Raises:
        InputError: a file that is not a result.
        UsageError: no place; a place that cannot be written.

    >>> import rankgate, tempfile
    >>> result = rankgate.evaluate({"q": {"a": 1}}, {"q": {"a": 2.0}}, ["RR"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     commit = rankgate.Provenance("1f3c", "main")
    ...     done = rankgate.record(result, folder, at="2026-03-01", provenance=commit)
    ...     done.records.select("new", "evaluated_at", "system", "figures").rows()
    [(True, '2026-03-01T00:00:00+00:00', 'run1', 1)]
    """
    with closing(open_storage(None if to is None else str(to), store, project)) as storage:
        return record_to(
            storage,
            results,
            at=at,
            system=system,
            name=name,
            labels=labels,
            provenance=provenance,
            qrels=qrels,
            runs=runs,
            keep=keep,
        )


def record_to(
    storage: RecordStorage,
    results: Result | Mapping[str, Any] | str | Path | Sequence[Result | str | Path],
    *,
    at: str | datetime | None = None,
    system: str = "",
    name: str = "",
    labels: Mapping[str, str] | None = None,
    provenance: Provenance | None = None,
    qrels: Collection | QrelsLike | None = None,
    runs: Mapping[str, RunLike] | None = None,
    keep: bool = True,
) -> Recorded:
    """Record results in an open storage; the arguments are those of `record`."""
    sources = [results] if isinstance(results, Result | Mapping | str | Path) else list(results)
    daily_results = [result for source in sources for result in _split_by_day(_read_result(source))]
    judgments, runs_by_system = _read_evaluation_inputs(qrels, runs or {})
    commit = provenance_of() if provenance is None else provenance
    record_fields = {
        "name": name,
        "labels": judge_label(judgments) | dict(labels or {}),
        "revision": commit.name,
        "branch": commit.branch,
    }
    moment = None if at is None else parse_moment(at)
    new_records = [
        _make_record(result, moment, system, (judgments, runs_by_system), record_fields)
        for result in daily_results
    ]
    if keep and (judgments is not None or runs_by_system):
        storage.keep(judgments, list(runs_by_system.values()))
    return _store_records(storage, new_records)


def _store_records(storage: RecordStorage, new_records: Sequence[NewRecord]) -> Recorded:
    rows = []
    for new_record in new_records:
        number, new = storage.record(new_record)
        queries = 0 if new_record.per_query is None else new_record.per_query["query_id"].n_unique()
        rows.append(
            {
                "record": number,
                "new": new,
                "evaluated_at": new_record.evaluated_at.isoformat(),
                "kind": new_record.kind,
                "system": new_record.system,
                "revision": new_record.revision,
                "branch": new_record.branch,
                "verdict": new_record.verdict,
                "figures": len(new_record.values),
                "queries": queries,
            }
        )
    warnings = []
    empty = sorted({new_record.kind for new_record in new_records if not new_record.values})
    if empty:
        warnings.append(f"a result of kind {', '.join(empty)} has no figures for a history.")
    if any(new_record.convention and new_record.per_query is None for new_record in new_records):
        warnings.append(
            "without values per query a history has no intervals and finds fewer changes; write the result "
            "with --per-query."
        )
    if any(new_record.convention and not new_record.qrels_sha256 for new_record in new_records):
        warnings.append(
            "the judgments are not known by their hash, so a change of them is not seen; give --qrels."
        )
    return Recorded(storage.name, make_frame(rows, RECORDS_SCHEMA), tuple(warnings))


def _read_result(content: Result | JsonObject | str | Path) -> Result:
    """Return a result unchanged, or read it from JSON.

    Raises:
        InputError: the source is not a result.
    """
    from rankgate.workspace.reports.report_results import read_result  # imports every kind of result

    if isinstance(content, Result):
        return content
    if isinstance(content, Mapping):
        return read_result(content, "result")
    try:
        values = json.loads(Path(content).read_bytes())
    except OSError as error:
        problem = f"cannot be read: {error.strerror}."
        raise InputError(problem, source=str(content), code="cannot-read") from None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        problem = "this is not a result; write one with --format json."
        raise InputError(problem, source=str(content), code="invalid-json")
    return read_result(values, str(content))


def _split_by_day(result: Result) -> Sequence[Result]:
    if result.kind != "kpi_table":
        return [result]
    daily_results: Sequence[Result] = load_name("rankgate.workspace.records.figures:split_by_day")(result)
    return daily_results


def _read_evaluation_inputs(
    qrels: Collection | QrelsLike | None, runs: Mapping[str, RunLike]
) -> tuple[Qrels | None, dict[str, Run]]:
    from rankgate.data.collection import Collection
    from rankgate.data.read import read_qrels

    collection = Collection.of(qrels)
    judgments = None if qrels is None else read_qrels(collection.judgments_source, "qrels")
    return judgments, {name: collection.run(run, name) for name, run in runs.items()}


def _make_record(
    result: Result,
    evaluated_at: datetime | None,
    system: str,
    inputs: tuple[Qrels | None, Mapping[str, Run]],
    record_fields: Mapping[str, Any],
) -> NewRecord:
    """The record of a result."""
    judgments, runs_by_system = inputs
    figures = figures_of(result)
    runs = {**figures.runs, **{name: run.sha256 for name, run in runs_by_system.items()}}
    figures = replace(figures, runs=runs)
    corpora = {run.sha256: dict(run.corpus) for run in runs_by_system.values() if run.corpus}
    if system:
        figures = _rename_system(figures, system)
    moment = evaluated_at or figures.at
    lists = {"lists": True} if result.kind == "comparison" else {}
    input_fields: dict[str, Any] = {"runs": dict(figures.runs), "qrels": figures.qrels}
    if corpora:
        input_fields["corpora"] = corpora
    if figures.convention:
        input_fields["convention"] = dict(figures.convention)
    return NewRecord(
        result=result.to_dict(**lists),
        evaluated_at=moment or datetime.now(UTC),
        system=figures.system,
        verdict=figures.verdict,
        values=figures.values,
        qrels_sha256=figures.qrels_sha256 if judgments is None else judgments.sha256,
        queries_sha256=figures.queries_sha256,
        per_query=figures.per_query,
        convention=str(figures.convention.get("name", "")),
        convention_hash=str(figures.convention.get("hash", "")),
        inputs=input_fields,
        summary=figures.summary,
        dated=moment is not None,
        **record_fields,
    )


def _rename_system(figures: Figures, system: str) -> Figures:
    """Rename the system of the figures, because its run has a different name each time."""
    import polars as pl

    before = figures.system
    values = tuple(
        replace(value, system=system) if value.system == before else value for value in figures.values
    )
    table = figures.per_query
    if table is not None:
        table = table.with_columns(pl.col("system").replace(before, system))
    runs = {system if name == before else name: digest for name, digest in figures.runs.items()}
    return replace(figures, system=system, values=values, per_query=table, runs=runs)


LABELS_VARIABLE = "RANKGATE_LABELS"
"""The environment variable with labels: ``nightly=yes,ranker=2``."""


SYSTEM_VARIABLE = "RANKGATE_SYSTEM"
"""The environment variable with the name of the system, if its runs have other names."""


def record_command_result(result: Result, parameters: Mapping[str, Any]) -> Recorded:
    """Record the result of a command with the files that the command read.

    Args:
        result: the result to record.
        parameters: the parameters of the command.

    Raises:
        UsageError: no storage is named; the storage cannot be written.
    """
    label_texts = [text for text in os.environ.get(LABELS_VARIABLE, "").split(",") if text]
    names = _list_systems(result)
    project = parameters.get("project")
    store = parameters.get("store") if project else None
    qrels, runs = _read_command_inputs(parameters, names)
    return record(
        result,
        store=store,
        project=project,
        system=os.environ.get(SYSTEM_VARIABLE, ""),
        at=datetime.now(UTC),
        labels=parse_pairs(label_texts, LABELS_VARIABLE, str),
        qrels=qrels,
        runs=runs,
    )


def _list_systems(result: Result) -> list[str]:
    """The names of the systems, in the order of the command's runs."""
    if result.kind == "evaluation":
        return [run.run for run in getattr(result, "runs", ())]
    if result.kind == "comparison":
        comparisons: Sequence[Any] = getattr(result, "comparisons", ())
        return [comparisons[0].baseline.name, *(comparison.candidate.name for comparison in comparisons)]
    if result.kind == "verdict":
        return list(getattr(result, "names", ()))
    return list(getattr(result, "systems", ()))


def _read_command_inputs(parameters: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """The judgments and runs that a command read, if they can be read again."""
    run_names: list[str] = []
    for name in ("baseline", "candidate", "candidates", "runs"):
        value = parameters.get(name)
        run_names += value if isinstance(value, tuple) else [value] if value else []
    sources = [parameters.get("qrels"), *run_names]
    if parameters.get("columns") or parameters.get("scores") or "-" in sources:
        return None, {}
    from rankgate.data.read import read_run

    qrels: Any = None
    runs: dict[str, Any] = {}
    project = parameters.get("project")
    try:
        if project:
            from rankgate.measurement.store_options import opened_project

            with opened_project(parameters.get("store"), project) as open_project:
                judged = open_project.judged(str(parameters["qrels"]))
                qrels = judged if isinstance(judged, Qrels) else None
                for name, run_name in zip(names, run_names, strict=False):
                    runs[name] = open_project.run(run_name)
                    runs[name].table  # noqa: B018 - read before the store is closed
            return qrels, runs
        if parameters.get("qrels"):
            qrels = Collection.of(parameters["qrels"]).qrels()
        runs = {name: read_run(run_name) for name, run_name in zip(names, run_names, strict=False)}
        for run in runs.values():
            run.table  # noqa: B018 - errors come now
    except RankgateError:  # judgments by subtopic, ratings of single raters, a saved baseline
        return qrels, {}
    return qrels, runs


def annotate(
    kind: str,
    text: str,
    to: str | Path | None = None,
    *,
    store: str | None = None,
    project: str | None = None,
    at: str | datetime | None = None,
    revision: str | None = None,
) -> str:
    """Write down what happened, so that ``history`` shows it at its moment.

    Args:
        kind: deploy, judgments, incident or note.
        text: the text of the comment.
        to: a folder of records.
        store: instead of a folder a store.
        project: the project in the store.
        at: when, if not now.
        revision: the revision of git, of a deploy; by default that of the working directory, or of
            the build.

    Returns:
        The place.

    Raises:
        UsageError: no such kind, no place, a place that cannot be written.
    """
    happened_at = datetime.now(UTC).replace(microsecond=0) if at is None else parse_moment(at)
    if revision is None:
        revision = provenance().name if kind == "deploy" else ""
    with closing(open_storage(None if to is None else str(to), store, project)) as storage:
        storage.annotate(happened_at, kind, text, revision=revision)
        return storage.name
