"""Values per item in the result files of evaluation frameworks, by the declarations in `frameworks`."""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, require
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.streams.source import MAX_UNPACKED_BYTES
from rankgate.data.text.json_text import parse_json
from rankgate.data.text.text_values import number_fault
from rankgate.decisions.comparison.frameworks import FRAMEWORKS, Framework
from rankgate.decisions.comparison.query_groups import Cell, NamedMetric, ScoreFile

if TYPE_CHECKING:
    from rankgate.decisions.comparison.query_groups import MetricNames

    Systems = tuple[str, ...]
    Collected = dict[tuple[Systems, str, str], dict[str, float | None]]

_EMPTY = frozenset({"", "nan", "null", "none"})
_FLAG_VALUES = {"true": 1.0, "false": 0.0}
_ZSTD = 93  # the method of a zip archive, which Python before 3.14 cannot read
_ZIP_HEADER = 30  # bytes before the name in a local header
_THRESHOLD_DIRECTIONS = re.compile("hallucination|bias|toxicity", re.IGNORECASE)


@dataclass(frozen=True)
class _Item:
    """One item: its id and its path, its system, repeat and cluster, and its values by metric."""

    name: str
    path: str
    system: Systems
    repeat: str
    cluster: str
    has_failed: bool
    values: tuple[tuple[str, Any], ...]


def framework_file(document: Any, label: str, stem: str, names: MetricNames) -> ScoreFile | None:  # noqa: ANN401 - JSON
    """The values of the items of a framework's document; None if no framework has such documents.

    Raises:
        InputError: no item has a value, an item without an id, or two values of one item.
    """
    if (
        isinstance(document, Mapping)
        and len(document) > 1
        and all(isinstance(v, list) for v in document.values())
    ):
        columns = document.values()  # a table by its columns
        rows = [dict(zip(document, row, strict=False)) for row in zip(*columns, strict=False)]
        document = rows if len({*map(len, columns)}) == 1 else document
    first = document[0] if isinstance(document, list) and document else document
    if isinstance(first, Mapping):
        for framework in FRAMEWORKS:
            if all(any(_find(first, key)) for key in framework.keys):
                return _read_framework(document, framework, label, stem, names)
    return None


def read_archive(data: bytes, label: str) -> dict[str, Any]:
    """The header and the samples of an Inspect log, which is a zip archive.

    Raises:
        InputError: another archive, or a log that was not finished.
        MissingExtraError: it is packed with zstd, whose package is not installed.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            header, samples = (
                parse_json(_member(archive, data, name, label), label)
                for name in ("header.json", "summaries.json")
            )
    except (KeyError, zipfile.BadZipFile, NotImplementedError):
        problem = "a zip archive that is not a finished Inspect log; unpack it first (unzip)."
        raise InputError(problem, source=label, code="unknown-format") from None
    return {**(header if isinstance(header, dict) else {}), "samples": samples}


def _member(archive: zipfile.ZipFile, data: bytes, name: str, label: str) -> bytes:
    info = archive.getinfo(name)
    if info.file_size > MAX_UNPACKED_BYTES:
        problem = f"{name} in it has {info.file_size} bytes, more than {MAX_UNPACKED_BYTES}."
        raise InputError(problem, source=label, code="too-large")
    if info.compress_type != _ZSTD:
        return archive.read(info)
    require("Inspect logs packed with zstd need zstandard", "zstandard")
    import zstandard

    begin = info.header_offset + _ZIP_HEADER  # then the name and the extra field
    begin += sum(int.from_bytes(data[begin - i : begin - i + 2], "little") for i in (4, 2))
    packed = data[begin : begin + info.compress_size]
    try:
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=info.file_size)
    except zstandard.ZstdError:
        raise zipfile.BadZipFile from None


def _read_framework(
    document: Any,  # noqa: ANN401 - JSON
    framework: Framework,
    label: str,
    stem: str,
    names: MetricNames,
) -> ScoreFile:
    if framework.lacks:
        raise InputError(framework.lacks.format(file=label), source=label, code="no-values")
    root = document if isinstance(document, Mapping) else {}
    rows = next(_find(document, framework.items))[1] if framework.items else document
    rows = [row for row in (rows if isinstance(rows, list) else [rows]) if isinstance(row, Mapping)]
    items = list(_read_items(rows, root, framework, label, names.asked))
    collected, texts = _collect(items, framework, label, names)
    metrics = dict.fromkeys(metric for _, _, metric in collected)
    if not metrics:
        paths = " or ".join(framework.values).replace("*", "METRIC")
        problem = f"no item of {framework.name} has a value at {paths}; run its evaluation first."
        raise InputError(problem, source=label, code="no-values")
    thresholds = _directions_by_threshold(rows)
    for metric in metrics:
        _declare_metric(metric, items, framework, thresholds, names)
    systems = _system_names(system for system, _, _ in collected)
    return ScoreFile(
        label,
        stem,
        tuple(
            Cell(systems[system], name, metric, _mean(repeats.values()), None)
            for (system, name, metric), repeats in collected.items()
        ),
        system=_first_text(root, framework.system_of_all),
        clusters={item.name: item.cluster for item in items if item.cluster},
        notes=tuple(_notes(items, framework, collected, texts - set(metrics))),
        task=_first_text(root, framework.task),
    )


def _read_items(
    rows: Sequence[Mapping[str, Any]],
    root: Mapping[str, Any],
    framework: Framework,
    label: str,
    asked: Sequence[str],
) -> Iterator[_Item]:
    """The items of rows.

    Raises:
        InputError: an item without an id.
    """
    prefix = _first_text(root, framework.prefix)
    cluster_key = _first_text(root, framework.cluster_key)
    counts: Counter[tuple[Systems, str]] = Counter()
    for position, row in enumerate(rows, 1):
        path, name = _item_id(row, framework)
        cluster = _first_text(row, f"{framework.cluster}.{cluster_key}") if cluster_key else ""
        if prefix:  # a task, whose subsets are alike
            name, cluster = prefix if name in {"", "default"} else f"{prefix} ({name})", prefix
        if not name:
            paths = " or ".join(framework.item)
            problem = f"item {position} of {framework.name} has no {paths}, so it cannot be paired."
            raise InputError(problem, source=label, code="missing-key")
        if content := _first_text(row, framework.content)[:8]:
            name = f"{name} ({content})"
        system = tuple(_first_text(row, path) for path in framework.system)
        counts[system, name] += 1
        repeat = _first_text(row, framework.repeat)
        if framework.repeated_item == "repeat":
            repeat = str(counts[system, name])
        elif framework.repeated_item == "item" and counts[system, name] > 1:
            name = f"{name} (sample {counts[system, name]})"
        failed_path, failure = framework.failed
        has_failed = bool(failed_path) and any(value == failure for _, value in _find(row, failed_path))
        values = tuple(_values_of(row, framework, asked))
        yield _Item(name, path, system, repeat, cluster, has_failed, values)


def _collect(
    items: Sequence[_Item], framework: Framework, label: str, names: MetricNames
) -> tuple[Collected, set[str]]:
    """The numbers by system, item, metric and repeat, and the metrics with texts as values.

    Raises:
        InputError: two values of one item.
    """
    collected: Collected = {}
    texts: set[str] = set()
    for item in items:
        for metric, value in () if item.has_failed else item.values:
            number = _number(value, framework)
            if number is _TEXT:
                texts.add(metric)
            elif not (framework.side and re.fullmatch(framework.side, metric)) or metric in names.asked:
                repeats = collected.setdefault((item.system, item.name, metric), {})
                if item.repeat in repeats:
                    repeat_text = f", repeat {item.repeat}" if item.repeat else ""
                    problem = f"a second value of {metric} for {item.name}{repeat_text}; keep one of them."
                    raise InputError(problem, source=label, code="duplicate-value")
                repeats[item.repeat] = number
    return collected, texts


def _notes(
    items: Sequence[_Item], framework: Framework, collected: Collected, texts: Iterable[str]
) -> Iterator[str]:
    """What a file lacks, and how it was read."""
    counts = {len(repeats) for repeats in collected.values()}
    if max(counts) > 1:
        count_text = " to ".join(map(str, sorted({min(counts), max(counts)})))
        yield (
            f"values are means over {count_text} repeats of an item; n counts items, and their spread "
            "holds that between repeats"
        )
    paths = [item.path for item in items if item.path in framework.by_text]
    if paths:
        yield f"no ids are in it, so items are paired by {paths[0]}: one whose text changed is another item"
    if failures := sum(item.has_failed for item in items):
        yield f"{count_noun(failures, 'item')} without a value, as the call failed"
    if texts:
        yield f"not read, as the values are texts: {', '.join(sorted(texts))}"


_TEXT = object()
"""A value that is not a number."""


def _find(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - JSON
    """The values at a path, each with the last name that a wildcard stands for; null and "" are none."""
    for alternative in path.split("|"):
        matches = [
            match for match in _walk(value, alternative, "") if match[1] is not None and match[1] != ""
        ]
        if matches:
            yield from matches
            return


def _walk(value: Any, path: str, name: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - JSON
    if not path:
        yield name, value
        return
    value = _parsed(value)
    key, _, inner_path = path.partition(".")
    if isinstance(value, list):
        members: Iterable[tuple[object, Any]] = enumerate(value)
        if key[0] == "[":
            objects = (element for element in value if isinstance(element, Mapping))
            members = ((element[key[1:-1]], element) for element in objects if key[1:-1] in element)
        elif key != "*":
            return
    elif not isinstance(value, Mapping):
        return
    elif key == "*":
        members = value.items()
    elif key in value:
        yield from _walk(value[key], inner_path, name or key)
        return
    else:  # columns of a table, such as inputs.question
        columns = [
            column
            for column in value
            if column == path or (inner_path == "*" and column.startswith(f"{key}."))
        ]
        yield from ((column.removeprefix(f"{key}."), value[column]) for column in columns)
        return
    for member_name, member in members:
        yield from _walk(member, inner_path, str(member_name))


def _parsed(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The value of JSON in a cell of a table; other values unchanged."""
    if isinstance(value, str) and value[:1] in {"{", "["}:
        with suppress(ValueError):
            return json.loads(value)
    return value


def _first_text(value: Any, path: str) -> str:  # noqa: ANN401 - JSON
    """The first value at a path as a text; empty if there is none."""
    first = next((member for _, member in _find(value, path)), None) if path else None
    return "" if first is None or isinstance(first, Mapping | list) else str(first).strip()


def _item_id(row: Mapping[str, Any], framework: Framework) -> tuple[str, str]:
    """The path of the id of a row, and the id; an object is its only value, or JSON."""
    for path in framework.item:
        for _, content in _find(row, path):
            value = _parsed(content)
            inner = next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else value
            if isinstance(inner, Mapping | list):
                inner = json.dumps(inner, ensure_ascii=False, sort_keys=True)
            if text := " ".join(str(inner).split()):
                return path, text
    return "", ""


def _values_of(
    row: Mapping[str, Any], framework: Framework, asked: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    """The names and values of metrics of a row; the members of an object are metrics of their own."""
    is_side = re.compile(framework.side or "(?!)").fullmatch
    variant = _first_text(row, framework.variant)
    suffix = f",{variant}" if variant not in _EMPTY else ""
    metric_names = (
        next((names for _, names in _find(row, framework.named_by)), None) if framework.named_by else None
    )
    for path in framework.values:
        for name, value in _find(row, path):
            if is_side(name) and name not in asked:
                continue
            is_other = name in framework.no_metric if metric_names is None else name not in metric_names
            is_field = path == "*" and (is_other or name in framework.item)
            if isinstance(value, Mapping) and path != "*":
                yield from ((str(key), member) for key, member in value.items())
            elif not is_field and not (path == "*" and _number(value, framework) is _TEXT):
                yield name + suffix, value


def _number(value: Any, framework: Framework) -> Any:  # noqa: ANN401 - JSON
    """A number, None for an empty value, or `_TEXT`."""
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in _EMPTY:
            return None
        if text in framework.text_values or text.lower() in _FLAG_VALUES:
            return framework.text_values.get(text, _FLAG_VALUES.get(text.lower(), 0.0))
        return _TEXT if number_fault(text, "value") else float(text)
    if isinstance(value, bool | int | float):
        return None if math.isnan(value) else float(value) if math.isfinite(value) else _TEXT
    return None if value is None else _TEXT


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None


def _system_names(systems: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], str | None]:
    """The name of each system by what differs between them; None for the only one."""
    unique = list(dict.fromkeys(systems))
    if len(unique) < 2:
        return dict.fromkeys(unique)
    varying = [i for i in range(len(unique[0])) if len({system[i] for system in unique}) > 1]
    return {system: ": ".join(system[i] for i in varying) for system in unique}


def _declare_metric(
    metric: str,
    items: Sequence[_Item],
    framework: Framework,
    thresholds: Mapping[str, bool],
    names: MetricNames,
) -> None:
    """Name direction and range of a metric, unless the user states the direction.

    The direction that thresholds show counts before the declared one, as that of some of DeepEval's
    metrics differs between its versions.
    """
    if framework.keeps_names and names[metric].lower is not None:
        return
    rules = (rule for rule in framework.metrics if re.fullmatch(rule.pattern, metric, re.IGNORECASE))
    rule = next(rules, None)
    lower, low, high = (None, None, None) if rule is None else (rule.lower, rule.low, rule.high)
    if framework.by_threshold:
        lower = thresholds.get(metric, None if _THRESHOLD_DIRECTIONS.search(metric) else lower)
    values = [value for item in items for name, value in item.values if name == metric]
    if all(isinstance(value, str) and value in framework.text_values for value in values):
        lower, low, high = False, min(framework.text_values.values()), max(framework.text_values.values())
    if metric in names.directions:
        lower = names.directions[metric] == "lower"
    names.declare(NamedMetric(metric, lower, low, high))


def _directions_by_threshold(rows: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
    """Metrics with a score off its threshold that passed or failed: true if less is better."""
    directions: dict[str, bool] = {}
    for row in rows:
        for name, result in _find(row, "metricsData.[name]|metrics_data.[name]"):
            score, threshold, success = (result.get(key) for key in ("score", "threshold", "success"))
            is_known = isinstance(score, int | float) and isinstance(threshold, int | float)
            if is_known and isinstance(success, bool) and score != threshold:
                directions[name] = (score < threshold) == success
    return directions
