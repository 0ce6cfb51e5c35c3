"""Read or compute the results that a report shows.

Results are read from JSON files or folders. For a report on a change, results are computed from
judgments and runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, RankgateError, UsageError, check_schema_version
from rankgate.core.present.base_result import result_class
from rankgate.core.progress import progress, step
from rankgate.data.collection import Collection
from rankgate.data.foreign_frames import named_runs
from rankgate.decisions.advice.blind_spots import blindspots
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.data_sets import DataSetComparison
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.saved.baseline_file import is_baseline
from rankgate.decisions.gating.saved.saved_baselines import SavedBaselines, find_baseline
from rankgate.decisions.unjudged.holes import holes
from rankgate.measurement.evaluation.metric_selection import find_metrics
from rankgate.measurement.evaluation.scored_system import DEPTH
from rankgate.measurement.metrics.metric_declaration import RANKING
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.top_documents import refuse_baseline_again
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.workspace.reports.report import ReportPart

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.data.input_types import QrelsLike, RunLike, RunsLike
    from rankgate.decisions.gating.policy import Policy
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


def compare_data_sets(parts: Sequence[ReportPart]) -> ReportPart:
    """Put saved comparisons together, each of the data set that its file is named after.

    Raises:
        InputError: a result is not a comparison, two have one name, or they differ.
        UsageError: there are fewer than two.
    """
    comparisons: dict[str, Comparisons] = {}
    for report_part in parts:
        name, result = report_part.name, report_part.result
        if not isinstance(result, Comparisons):
            problem = (
                f"a result of kind {result.kind}; write rankgate compare … --format json -o {name}.json."
            )
            raise InputError(problem, source=name, code="not-a-comparison")
        if name in comparisons:
            problem = "two files have this name; name each file after its data set."
            raise InputError(problem, source=name, code="data-set-twice")
        comparisons[name] = result
    with damage_named(", ".join(comparisons)):
        return ReportPart(DataSetComparison.from_comparisons(comparisons))


_RESULT_START = re.compile(rb'\s*\{\s*"schema_version"\s*:')
_HEAD_BYTES = 200


def are_result_paths(paths: Sequence[str]) -> bool:
    """True if all paths are results or folders."""
    return all(Path(path).is_dir() or _is_result(Path(path)) for path in paths)


def read_results(paths: Sequence[str]) -> tuple[list[ReportPart], list[str]]:
    """Read results from files and folders.

    Args:
        paths: the paths of files, or of folders with JSON files.

    Returns:
        The results, and the names of files in folders that are not results.

    Raises:
        InputError: a file cannot be read or is damaged.
        UsageError: there is no result.
    """
    files: list[Path] = []
    left_out: list[str] = []
    for path in map(Path, paths):
        if not path.is_dir():
            files.append(path)
            continue
        for child in sorted(path.iterdir()):
            if child.suffix == ".json" and _is_result(child) and _has_known_kind(child):
                files.append(child)
            elif child.is_file() and not child.name.startswith("."):
                left_out.append(child.name)
    if not files:
        problem = f"{paths[0]}: no result in it; write some with --format json -o."
        raise UsageError(problem, code="no-results")
    return [_read_part(path) for path in files], left_out


def _is_result(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _RESULT_START.match(file.read(_HEAD_BYTES)) is not None
    except OSError:
        return False


def _has_known_kind(path: Path) -> bool:
    """True if the result in a file has a known kind; a damaged file raises an error later."""
    try:
        raw = path.read_bytes()
        return is_baseline(raw[:_HEAD_BYTES]) or bool(result_class(str(json.loads(raw).get("kind", ""))))
    except UsageError:
        return False
    except (OSError, ValueError, RecursionError, AttributeError):
        return True


def _read_part(path: Path) -> ReportPart:
    try:
        raw = path.read_bytes()
    except OSError as error:
        problem = f"cannot be read: {error.strerror}."
        raise InputError(problem, source=str(path), code="unreadable-file") from None
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        problem = "not a whole JSON document; write the result again."
        raise InputError(problem, source=str(path), code="invalid-json") from None
    sha256 = hashlib.sha256(raw).hexdigest()
    if is_baseline(raw[:_HEAD_BYTES]):
        return ReportPart(SavedBaselines.from_baselines(find_baseline(str(path))), path.stem, sha256)
    return ReportPart(read_result(values, str(path)), path.stem, sha256)


def read_result(values: Mapping[str, Any], label: str) -> Result:
    """Read a result from the values of its ``to_dict``.

    Args:
        values: the values of its ``to_dict``.
        label: the name of the file in errors.

    Raises:
        InputError: the kind is unknown, the version differs, or a value is missing.
    """
    try:
        cls: type[Result] = result_class(str(values.get("kind", "")))
    except UsageError as error:
        problem = f"{error.problem} It may be of a later version of rankgate, or of another program."
        raise InputError(problem, source=label, code="unknown-kind") from None
    # a result without a version is refused too
    check_schema_version({"schema_version": None, **values}, cls.schema_version, label)
    with damage_named(label):
        result = cls.from_dict(values)
        result.document()
    return result


@contextmanager
def damage_named(*labels: str) -> Iterator[None]:
    """Turn errors about the values of saved results into ours.

    Raises:
        InputError: a value is missing, or has another type than it must have.
    """
    try:
        yield
    except (KeyError, TypeError, AttributeError, LookupError, ValueError, pl.exceptions.PolarsError) as error:
        if isinstance(error, RankgateError):
            raise
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        problem = f"a damaged result ({cause}); write it again."
        raise InputError(problem, source=", ".join(labels), code="damaged-result") from None


MAX_CANDIDATES = 3
"""The number of candidates above which only the comparison is computed."""


def gather_results(
    collection: Collection | QrelsLike,
    baseline: RunLike,
    candidates: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = (),
    convention: str | Convention = "trec",
    *,
    policy: Policy | None = None,
    test: Test | None = None,
    depth: int = DEPTH,
) -> tuple[list[ReportPart], tuple[str, ...]]:
    """The results that assess a change: verdict, comparison, blind spots, holes.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        baseline: a run.
        candidates: a run, a list of runs, or ``{name: run}``.
        metrics: names or metrics; by default those of the policy, otherwise those of ``evaluate``.
        convention: the convention of the numbers; a policy's own convention applies to its verdict.
        policy: the policy for the first candidate; None for no verdict.
        test: the test of the comparison.
        depth: the depth to which lists are compared.

    Raises:
        InputError: data cannot be read; the error has file and line.
        UsageError: a name is unknown; query sets differ; a file has no texts.
    """
    chosen_metrics = metrics or (policy.metrics if policy else ()) or DEFAULT_METRICS
    collection = Collection.of(collection)
    candidate_runs = named_runs(candidates, collection.doc_field)
    refuse_baseline_again(baseline, [run for _, run in candidate_runs])
    # read each input once, because standard input can be read only once
    collection = replace(collection, judgments=collection.qrels(subtopics=True), grades={})
    baseline = collection.run(baseline)
    runs = [collection.run(run, name) for name, run in candidate_runs]
    is_read_again = (
        policy is not None
        or collection.predicted is not None
        or len(runs) <= MAX_CANDIDATES
        or any(run.seeds for run in runs)
    )
    # rows of a `Run` are kept for the next reading, those of a run by name are not
    compared_runs = runs if is_read_again else [{run.name: run} for run in runs]
    step("comparing")
    with progress(None):
        compared = compare(
            collection, baseline, compared_runs, chosen_metrics, convention, test=test or Test(), depth=depth
        )
    verdict = None
    if policy is not None:
        step("deciding")
        with progress(None):
            verdict = gate(collection, baseline, runs[0], policy, log=False)
    # the comparison is a separate part, so the verdict's page omits it
    parts: list[Result] = [replace(verdict, comparison=None)] if verdict is not None else []
    parts.append(compared)
    rankings = _ranking_metrics(chosen_metrics, convention)
    has_lists = collection.sequences is not None or collection.items.document is not None
    judged_collection = replace(collection, sample=None, predicted=None)  # both depend on judged documents
    for run in runs if len(runs) <= MAX_CANDIDATES and rankings and not has_lists else ():
        step("looking for blind spots and holes")
        with progress(None):
            parts.append(blindspots(judged_collection, baseline, run, rankings, convention, depth=depth))
            try:
                parts.append(holes(judged_collection, baseline, run, rankings, convention, depth=depth))
            except UsageError as error:
                if error.code != "missing-cutoff":  # no metric is limited to lists of this depth
                    raise
    remarks = (
        []
        if any(result.kind == "holes" for result in parts) or len(runs) > MAX_CANDIDATES
        else [_NO_HOLES_REMARK.format(depth=depth)]
    )
    if verdict is not None and len(runs) > 1:
        other_names = ", ".join(run.name for run in runs[1:])
        remarks.append(f"Compared too, without a verdict: {other_names}.")
    return [ReportPart(result) for result in parts], tuple(remarks)


def _ranking_metrics(
    metrics: str | Metric | Sequence[str | Metric], convention: str | Convention
) -> list[Metric | str]:
    """The metrics of single lists; metrics of all lists and metrics of tasks are left out."""
    labelled_metrics = find_metrics(metrics, chosen_convention(convention))
    return [label for label, metric in labelled_metrics if metric.view == RANKING]


_NO_HOLES_REMARK = (
    "The effect of unjudged documents was not computed: no metric here looks only at the first "
    "{depth} documents; ask for one such as nDCG@{depth}."
)
