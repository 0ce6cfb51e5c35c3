"""A peer's values besides rankgate's, one by one."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl
from forms import FORMS

from rankgate.core.errors import RankgateError, UsageError
from rankgate.data import read_qrels, read_run
from rankgate.measurement.evaluation.metric_selection import find_ranking_metrics
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.scoring import CONVENTIONS, Convention
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.kernel_inputs import with_subtopics as by_subtopic
from rankgate.measurement.scoring.run_sources import score

if TYPE_CHECKING:
    from pathlib import Path

    from table import Collection, Peer

    from rankgate.measurement.metrics.metric_declaration import Metric

Line = dict[str, Any]
Known = dict[str, "Asked | None"]


@dataclass(frozen=True)
class Asked:
    """What one of a peer's names is here: the metric, and the convention with what it changes."""

    metric: Metric
    how: Convention
    options: str


@dataclass
class Found:
    """What came of one peer.

    Attributes:
        peer: the peer.
        failed: why there is nothing, empty where there is.
        agree: values that are the same, by metric.
        differ: a sentence for each value that is not.
        worst: the greatest difference among those that agree.
        left_out: values not compared, by reason and metric.
    """

    peer: Peer
    failed: str = ""
    agree: Counter[str] = field(default_factory=Counter)
    differ: list[str] = field(default_factory=list)
    worst: float = 0.0
    left_out: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def wrong(self) -> bool:
        """Whether something is to be fixed; a peer that cannot be installed is not."""
        return bool(self.differ) or (bool(self.failed) and "installed" not in self.failed)

    @property
    def line(self) -> str:
        """The result in a few lines."""
        if self.failed:
            return f"{self.peer.name}: {self.failed}"
        compared = self.agree.total() + len(self.differ)
        result = (
            f"{self.peer.name}: {self.agree.total()} of {compared} values agree, "
            f"{len(self.agree)} metrics, worst difference {self.worst:.1e}"
        )
        reasons = (f"\n  left out: {n.total()}, {reason}" for reason, n in self.left_out.items())
        return result + "".join(reasons)


def compared(peer: Peer, cases: list[Collection], result: Path) -> Found:
    """Hold each line that a peer wrote against rankgate."""
    agreement = Found(peer)
    if peer.convention not in CONVENTIONS:
        agreement.failed = f"there is no convention {peer.convention} yet"
        return agreement
    by_case: dict[int, list[Line]] = defaultdict(list)
    with result.open() as lines:
        for text in lines:
            line = json.loads(text)
            by_case[line["collection"]].append(line)
    names = {line["metric"] for case_lines in by_case.values() for line in case_lines}
    metrics_by_name = {name: _known(peer, name) for name in names}
    for case in cases:
        _compare(FORMS[peer.form](case), by_case[case["id"]], metrics_by_name, agreement)
    return agreement


def _known(peer: Peer, name: str) -> Asked | None:
    """What one of the peer's names is here; None where nothing is."""
    convention = CONVENTIONS[peer.convention]
    option = next((word for word in peer.options if name.endswith(word)), "")
    try:
        metric = find_ranking_metrics(name.removesuffix(option), convention, FACET_METRICS)[0][1]
    except UsageError:
        return None
    return Asked(metric, replace(convention, **peer.options.get(option, {})), option)


def _compare(given: Collection, lines: list[Line], known: Known, found: Found) -> None:
    compared_lines = [line for line in lines if not _left_out(given, line, known, found)]
    rankgate_values = _ours(given, {line["metric"] for line in compared_lines}, known)
    for line in compared_lines:
        value = rankgate_values[line["metric"], line["query"]]
        note(given, line, value, found)


def _left_out(given: Collection, line: Line, known: Known, found: Found) -> bool:
    """Note a value that is not compared, and why."""
    reasons = [reason for reason, test in found.peer.excluded if test(given, line["metric"])]
    if known[line["metric"]] is None:
        reasons = ["the convention does not read this name"]
    if "error" in line:
        reasons = [f"it fails: {line['error']}"]
    if reasons:
        found.left_out[reasons[0]][line["metric"]] += 1
    return bool(reasons)


def _ours(given: Collection, names: set[str], known: Known) -> dict[Any, float | str | None]:
    """Our own values by metric and query, None being the mean; a sentence where it refuses."""
    rankgate_values: dict[Any, float | str | None] = defaultdict(lambda: "no value")
    metrics_by_options: dict[str, list[tuple[str, Metric]]] = defaultdict(list)
    rules = {}
    for name in names:
        if request := known[name]:
            metrics_by_options[request.options].append((name, request.metric))
            rules[request.options] = request.how
    for options, metrics in metrics_by_options.items():
        for values in _parts(given, metrics, rules[options]):
            rankgate_values |= values
    return rankgate_values


def _parts(given: Collection, metrics: list[tuple[str, Metric]], how: Convention) -> list[Any]:
    """The values of some metrics; where one is refused, of each by itself."""
    try:
        scores = score(_judgments(given), read_run(given["run"]), metrics, how)
    except RankgateError as error:
        if len(metrics) > 1:
            return [values for metric in metrics for values in _parts(given, [metric], how)]
        queries = [None, *given["qrels"], *given["run"]]
        return [{(metrics[0][0], query): f"refuses: {error}" for query in queries}]
    result: dict[Any, float | None] = {}
    for name, _ in metrics:
        result[name, None] = _plain(scores.means[name])
        for query, value in zip(scores.query_ids, scores.values[name], strict=True):
            result[name, query] = _plain(float(value))
    return [result]


def _judgments(given: Collection) -> JudgmentIndex:
    """The judgments of a collection, by subtopic where it has rows of them."""
    if "rows" not in given:
        return JudgmentIndex.from_judgments(read_qrels(given["qrels"]))
    names = ["query_id", "doc_id", "subtopic", "grade"]
    rows = pl.DataFrame(given["rows"], schema=names, orient="row")
    index = JudgmentIndex.read(rows, subtopics=True)
    return by_subtopic(index, index.by_subtopic)


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


def note(given: Collection, line: Line, ours: float | str | None, found: Found) -> None:
    """Hold one value against ours."""
    peer_value, name = line["value"], line["metric"]
    if peer_value is None or ours is None or isinstance(ours, str):
        agrees, difference = peer_value is ours, 0.0
    else:
        difference = abs(peer_value - ours)
        agrees = difference <= found.peer.close(name) * max(1, abs(peer_value))
    if agrees:
        found.agree[name] += 1
        found.worst = max(found.worst, difference)
    else:
        location = f" query {line['query']}" if line["query"] else ""
        found.differ.append(
            f"collection {given['id']} ({given['kind']}){location}, {name}: "
            f"{found.peer.package} has {peer_value}, rankgate {ours}"
        )
