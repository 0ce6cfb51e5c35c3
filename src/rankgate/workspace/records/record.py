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
from rankgate.core.present.frames import frame
from rankgate.core.present.kinds import result_class
from rankgate.core.present.resolve import resolved
from rankgate.core.present.result import Result
from rankgate.store.records.new_record import NewRecord
from rankgate.workspace.records.figures import figures_of
from rankgate.workspace.records.judge_identity import judge_label
from rankgate.workspace.records.moment import moment_of
from rankgate.workspace.records.places.place import place_at
from rankgate.workspace.records.provenance import provenance as provenance_of
from rankgate.workspace.records.recorded import RECORDS, Recorded

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.workspace.records.figures.figures import Figures
    from rankgate.workspace.records.places.place import Place
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
        name: what people call it.
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
    with closing(place_at(None if to is None else str(to), store, project)) as place:
        return record_in(
            place, results, at=at, system=system, name=name, labels=labels,
            provenance=provenance, qrels=qrels, runs=runs, keep=keep,
        )  # fmt: skip


def record_in(
    place: Place,
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
    """Record results in an open place; arguments as of `record`."""
    given = [results] if isinstance(results, Result | Mapping | str | Path) else list(results)
    found = [each for one in given for each in _days(_result(one))]
    judged, ranked = _inputs(qrels, runs or {})
    commit = provenance_of() if provenance is None else provenance
    chosen = {
        "name": name,
        "labels": judge_label(judged) | dict(labels or {}),
        "revision": commit.name,
        "branch": commit.branch,
    }
    moment = None if at is None else moment_of(at)
    made = [_new(each, moment, system, (judged, ranked), chosen) for each in found]
    if keep and (judged is not None or ranked):
        place.keep(judged, list(ranked.values()))
    return _recorded(place, made)


def _recorded(place: Place, made: Sequence[NewRecord]) -> Recorded:
    rows = []
    for each in made:
        number, new = place.record(each)
        queries = 0 if each.per_query is None else each.per_query["query_id"].n_unique()
        rows.append({
            "record": number, "new": new, "evaluated_at": each.evaluated_at.isoformat(),
            "kind": each.kind, "system": each.system, "revision": each.revision,
            "branch": each.branch, "verdict": each.verdict, "figures": len(each.values),
            "queries": queries,
        })  # fmt: skip
    return Recorded(place.name, frame(rows, RECORDS), _warnings(made))


def _warnings(made: Sequence[NewRecord]) -> tuple[str, ...]:
    found = []
    empty = sorted({each.kind for each in made if not each.values})
    if empty:
        found.append(f"a result of kind {', '.join(empty)} has no figures for a history.")
    if any(each.convention and each.per_query is None for each in made):
        found.append(
            "without values per query a history has no intervals and finds fewer changes; write "
            "the result with --per-query."
        )
    if any(each.convention and not each.qrels_sha256 for each in made):
        found.append(
            "the judgments are not known by their hash, so a change of them is not seen; give "
            "--qrels."
        )
    return tuple(found)


def _result(given: Result | Mapping[str, Any] | str | Path) -> Result:
    """A result as it is, or from its JSON.

    Raises:
        InputError: it is not a result.
    """
    if isinstance(given, Result):
        return given
    source = "result"
    if not isinstance(given, Mapping):
        source = str(given)
        try:
            given = json.loads(Path(given).read_bytes())
        except OSError as error:
            problem = f"cannot be read: {error.strerror}."
            raise InputError(problem, source=source, code="cannot-read") from None
        except ValueError:
            given = {}
    try:
        kind = str(given["kind"])  # type: ignore[index]
        cls = result_class(kind)
        found: Result = cls.from_dict(given)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, UsageError):
        problem = "this is not a result; write one with --format json."
        raise InputError(problem, source=source, code="invalid-json") from None
    return found


def _days(result: Result) -> Sequence[Result]:
    if result.kind != "kpi_table":
        return [result]
    found: Sequence[Result] = resolved("rankgate.workspace.records.figures.of_logs:by_day")(result)
    return found


def _inputs(
    qrels: Collection | QrelsLike | None, runs: Mapping[str, RunLike]
) -> tuple[Qrels | None, dict[str, Run]]:
    from rankgate.data.collection import Collection
    from rankgate.data.read import read_qrels

    collection = Collection.of(qrels)
    judged = None if qrels is None else read_qrels(collection.judgments_source, "qrels")
    return judged, {name: collection.run(run, name) for name, run in runs.items()}


def _new(
    result: Result,
    at: datetime | None,
    system: str,
    inputs: tuple[Qrels | None, Mapping[str, Run]],
    chosen: Mapping[str, Any],
) -> NewRecord:
    """The record of a result."""
    judged, ranked = inputs
    found = figures_of(result)
    runs = {**found.runs, **{name: run.sha256 for name, run in ranked.items()}}
    found = replace(found, runs=runs)
    if system:
        found = _renamed(found, system)
    moment = at or found.at
    lists = {"lists": True} if result.kind == "comparison" else {}
    about: dict[str, Any] = {"runs": dict(found.runs), "qrels": found.qrels}
    if found.convention:
        about["convention"] = dict(found.convention)
    return NewRecord(
        result=result.to_dict(**lists),
        evaluated_at=moment or datetime.now(UTC).replace(microsecond=0),
        system=found.system, verdict=found.verdict, values=found.values,
        qrels_sha256=found.qrels_sha256 if judged is None else judged.sha256,
        queries_sha256=found.queries_sha256, per_query=found.per_query,
        convention=str(found.convention.get("name", "")),
        convention_hash=str(found.convention.get("hash", "")),
        inputs=about, summary=found.summary, dated=moment is not None, **chosen,
    )  # fmt: skip


def _renamed(found: Figures, system: str) -> Figures:
    """The figures under another name of their system, whose run has another name each time."""
    import polars as pl

    before = found.system
    values = tuple(
        replace(each, system=system) if each.system == before else each for each in found.values
    )
    table = found.per_query
    if table is not None:
        table = table.with_columns(pl.col("system").replace(before, system))
    runs = {system if name == before else name: each for name, each in found.runs.items()}
    return replace(found, system=system, values=values, per_query=table, runs=runs)
