"""Calls of tools that agents made, and those that were expected, as rankings of one call each.

A call is a document whose id is its tool and its arguments, such as ``search {"query": "tower"}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import Collector, GrowingQrels, GrowingRun
from rankgate.data.formats.format import Format
from rankgate.data.formats.rag_contexts import read_cost
from rankgate.data.text.json_text import JsonRecord, detect_keys, read_query_lines

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_CALL_KEYS = ("calls", "tools_called", "toolsCalled", "tool_calls")
_EXPECTED = ("expected", "expected_calls", "expected_tools", "expectedTools", "reference_tool_calls")
_TOOL = ("tool", "name", "tool_name")
_ARGUMENTS = ("arguments", "args", "input_parameters", "inputParameters", "parameters")
_TASK = ("query_id", "task_id", "id")


def call_text(tool: str, arguments: Mapping[str, Any] | None) -> str:
    """The id of a call; arguments in the order of their names.

    >>> call_text("search", {"query": "tower", "k": 5})
    'search {"k": 5, "query": "tower"}'
    >>> call_text("search", None)
    'search'
    """
    text = "" if arguments is None else json.dumps(arguments, ensure_ascii=False, sort_keys=True)
    return f"{tool} {text}".strip()


def read_tool_calls(source: InputFile) -> FileContents:
    """A run with a ranking of one document for each call; expected calls as judgments.

    The grade of an expected call is its place in the order. A task with ``turns`` is a task for
    each turn.
    """
    qrels, ranked, questions = GrowingQrels(source), GrowingRun(source), Collector(source)
    for name, record in read_query_lines(source, _task_id, "task", "tasks"):
        questions.ask(name, text=next((record[key] for key in ("query", "input") if key in record), None))
        for task, turn in _turns(name, record):
            calls, expected = (
                next((key for key in keys if key in turn), None) for keys in (_CALL_KEYS, _EXPECTED)
            )
            if calls is not None:
                _read_made(ranked, task, turn, calls)
            if expected is not None:
                qrels.ask(task)
                texts: dict[str, int] = {}
                for position, call in enumerate(_calls(turn, expected), 1):
                    text = call_text(*_parts(call, expected))
                    texts[text] = texts.get(text, 0) + 1
                    number = f" #{texts[text]}" if texts[text] > 1 else ""
                    qrels.add(task, text + number, position, turn.location_text)
    run = (ranked.task_run(),) if ranked.asked else ()
    return FileContents(qrels=qrels.qrels()[0], runs=run, queries=questions.texts())


def _task_id(record: JsonRecord) -> str:
    key = next((key for key in _TASK if key in record), _TASK[0])
    return record.as_id(record.get(key), key)


def _turns(name: str, record: JsonRecord) -> Iterator[tuple[str, JsonRecord]]:
    """The task itself, or its turns as ``NAME turn NUMBER``."""
    if "turns" not in record:
        yield name, record
        return
    for number, turn in enumerate(record.records("turns"), 1):
        yield f"{name} turn {number}", JsonRecord(turn, record.label, turn.path, record.line)


def _read_made(ranked: GrowingRun, task: str, turn: JsonRecord, key: str) -> None:
    calls = _calls(turn, key)
    if not calls:
        ranked.ask(f"{task}#1", sequence=task, position=1, tokens=0.0, latency_ms=0.0, tool=None)
    for position, call in enumerate(calls, 1):
        tool, arguments = _parts(call, key)
        query = f"{task}#{position}"
        cost = read_cost(call)
        ranked.ask(query, sequence=task, position=position, tool=tool, **cost)
        ranked.rank(query, call_text(tool, arguments), 0.0, turn.line)


def _calls(turn: JsonRecord, key: str) -> list[JsonRecord]:
    """The calls of a list: objects, or names of tools alone."""
    return [
        JsonRecord(call if isinstance(call, dict) else {_TOOL[0]: call}, turn.label, turn.path, turn.line)
        for call in turn.as_list(turn.get(key) or [], key)
    ]


def _parts(call: JsonRecord, key: str) -> tuple[str, Mapping[str, Any] | None]:
    """The tool and the arguments of a call; OpenAI has both in ``function``, arguments as a text.

    Raises:
        InputError: the call has no tool, or arguments that are no object.
    """
    fields = JsonRecord(call.get("function") or call, call.label, call.path, call.line)
    tool = next((fields[name] for name in _TOOL if fields.get(name) is not None), None)
    arguments = next((fields[name] for name in _ARGUMENTS if fields.get(name) is not None), None)
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            raise call.error(f"the arguments of a call in '{key}' are not JSON.", "invalid-json") from None
    if not isinstance(arguments, dict | None):
        raise call.error(f"the arguments of a call in '{key}' are not an object.")
    return call.as_id(tool, f"the tool of a call in '{key}'"), arguments


FORMAT = Format(
    name="tool-calls",
    title="calls of tools that agents made, and expected calls",
    suffixes=(".jsonl",),
    sniff=detect_keys(
        (
            "tasks with calls of tools, made or expected",
            "|".join(_TASK),
            "|".join(
                f"{turn}{key}[].{name}"
                for turn in ("", "turns[].")
                for key in (*_CALL_KEYS, *_EXPECTED)
                for name in ("tool", "name", "tool_name", "function")
            ),
        )
    ),
    read=read_tool_calls,
    holds=("runs", "qrels", "queries"),
    detail=(
        'An object a task: {"query_id": ..., "query": ..., "calls": [{"tool": ..., "arguments": {...}, '
        '"tokens": ..., "seconds": ...}], "expected": [{"tool": ..., "arguments": {...}}]}, or such objects '
        "under turns, each a task. Names of DeepEval, Ragas and OpenAI's messages are known. A call "
        "is a ranking of one document, its tool with its arguments; expected calls are judgments, graded by "
        "their place. An expected call without arguments takes any; a value may be a comparator: "
        '{"$any": true}, {"$in": [...]}, {"$contains": "text"}, {"$text": "in any case"}, {"$number": 3, '
        '"within": 0.1}.'
    ),
)
