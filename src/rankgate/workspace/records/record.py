"""Record results: figures, values per query, provenance, and what they were made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.frames import make_frame
from rankgate.core.present.kinds import result_class
from rankgate.core.present.resolve import load_name
from rankgate.core.present.result import Result
from rankgate.store.records.new_record import NewRecord
from rankgate.workspace.records.figures import figures_of
from rankgate.workspace.records.judge_identity import judge_label
from rankgate.workspace.records.moment import parse_moment
from rankgate.workspace.records.places.place import open_storage
from rankgate.workspace.records.provenance import provenance as provenance_of
from rankgate.workspace.records.recorded import RECORDS_SCHEMA, Recorded

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.workspace.records.figures.figures import Figures
    from rankgate.workspace.records.places.place import RecordStorage
    from rankgate.workspace.records.provenance import Provenance


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
    """Record results in an open storage; arguments as of `record`."""
    sources = [results] if isinstance(results, Result | Mapping | str | Path) else list(results)
    daily_results = [result for source in sources for result in _split_by_day(_read_result(source))]
    judgments, runs_by_system = _read_inputs(qrels, runs or {})
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
    return Recorded(storage.name, make_frame(rows, RECORDS_SCHEMA), _list_warnings(new_records))


def _list_warnings(new_records: Sequence[NewRecord]) -> tuple[str, ...]:
    warnings = []
    empty = sorted({new_record.kind for new_record in new_records if not new_record.values})
    if empty:
        warnings.append(f"a result of kind {', '.join(empty)} has no figures for a history.")
    if any(new_record.convention and new_record.per_query is None for new_record in new_records):
        warnings.append(
            "without values per query a history has no intervals and finds fewer changes; write "
            "the result with --per-query."
        )
    if any(new_record.convention and not new_record.qrels_sha256 for new_record in new_records):
        warnings.append(
            "the judgments are not known by their hash, so a change of them is not seen; give "
            "--qrels."
        )
    return tuple(warnings)


def _read_result(content: Result | Mapping[str, Any] | str | Path) -> Result:
    """A result as it is, or from its JSON.

    Raises:
        InputError: it is not a result.
    """
    if isinstance(content, Result):
        return content
    source = "result"
    if not isinstance(content, Mapping):
        source = str(content)
        try:
            content = json.loads(Path(content).read_bytes())
        except OSError as error:
            problem = f"cannot be read: {error.strerror}."
            raise InputError(problem, source=source, code="cannot-read") from None
        except ValueError:
            content = {}
    try:
        kind = str(content["kind"])  # type: ignore[index]
        cls = result_class(kind)
        result: Result = cls.from_dict(content)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, UsageError):
        problem = "this is not a result; write one with --format json."
        raise InputError(problem, source=source, code="invalid-json") from None
    return result


def _split_by_day(result: Result) -> Sequence[Result]:
    if result.kind != "kpi_table":
        return [result]
    daily_results: Sequence[Result] = load_name(
        "rankgate.workspace.records.figures.of_logs:split_by_day"
    )(result)
    return daily_results


def _read_inputs(
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
    if system:
        figures = _rename_system(figures, system)
    moment = evaluated_at or figures.at
    lists = {"lists": True} if result.kind == "comparison" else {}
    input_fields: dict[str, Any] = {"runs": dict(figures.runs), "qrels": figures.qrels}
    if figures.convention:
        input_fields["convention"] = dict(figures.convention)
    return NewRecord(
        result=result.to_dict(**lists),
        evaluated_at=moment or datetime.now(UTC).replace(microsecond=0),
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
    """Rename the system of figures, as its run has another name each time."""
    import polars as pl

    before = figures.system
    values = tuple(
        replace(value, system=system) if value.system == before else value
        for value in figures.values
    )
    table = figures.per_query
    if table is not None:
        table = table.with_columns(pl.col("system").replace(before, system))
    runs = {system if name == before else name: digest for name, digest in figures.runs.items()}
    return replace(figures, system=system, values=values, per_query=table, runs=runs)
