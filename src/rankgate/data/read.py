"""Read judgments and runs from files of any format, frames and dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.forked import refuse_forked
from rankgate.data.formats import registry
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.data.streams.source import InputFile, of_judgments

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.data.rows import Part


def contents_of(
    path: str | Path | InputFile, from_: str | None = None, as_: Part | None = None
) -> FileContents:
    """Everything that a file holds; ``-`` is standard input.

    Args:
        path: the file; ``NAME:PATH`` names its format.
        from_: the name of its format; found by looking into it if not given.
        as_: read it as judgments, or as a run, where its format has both.

    Raises:
        InputError: what is wrong, with file and line.
        UsageError: no such format.
    """
    refuse_forked()
    place, found = registry.opened(path, from_)
    found = found or registry.detected(place)[0]
    if as_ == "qrels":
        return FileContents(qrels=_qrels(place, found))
    if as_ == "run":
        return FileContents(runs=(_run(place, found),))
    contents = found.read(place)
    if len(contents.runs) != 1:
        return contents
    if contents.runs[0].by_row:
        problem = (
            "scores of a model have no ids; give them where the file of features is the judgments, "
            "as in rankgate eval FEATURES SCORES."
        )
        raise InputError(problem, source=place.label, code="no-ids")
    return replace(contents, runs=(_beside(contents.runs[0], place),))


def read_qrels(
    table: QrelsLike | InputFile,
    name: str | None = None,
    from_: str | None = None,
    *,
    subtopics: bool = False,
    scale: str | None = None,
) -> Qrels:
    """Judgments from a path (``-`` is standard input), a frame, a dict of dicts, or as they are.

    Args:
        table: where they are; a path may be ``NAME:PATH`` to name its format.
        name: what to call them where they have no name of their own.
        from_: the name of the file's format; found by looking into it if not given.
        subtopics: whether judgments by subtopic are taken; otherwise they are an error.
        scale: the grades that were possible, such as graded, 0..4 or 0,1,10; those that the source
            states without it.

    Raises:
        InputError: what is wrong, with file and line; judgments by subtopic.
        DuplicateError: a document judged twice for one query.
        UsageError: no such format or scale.
    """
    qrels = _read_qrels(table, name, from_, subtopics=subtopics)
    if scale is None:
        return qrels
    from rankgate.data.scales import scale_of

    return replace(qrels, scale=scale_of(scale))


def _read_qrels(
    table: QrelsLike | InputFile, name: str | None, from_: str | None, *, subtopics: bool
) -> Qrels:
    refuse_forked()
    if isinstance(table, Qrels):
        return table if subtopics else _of_documents(table)
    if isinstance(table, str | Path | InputFile):
        place, found = registry.opened(table, from_)
        qrels = _qrels(place, found or registry.detected(place)[0])
        return qrels if subtopics else _of_documents(qrels)
    from rankgate.data.memory import frames

    return frames.qrels_of(table, name or "qrels")


def read_run(
    table: RunLike | InputFile,
    name: str | None = None,
    from_: str | None = None,
    *,
    earlier: RunLike | None = None,
    repeats: Sequence[RunLike] = (),
    noise: Sequence[RunLike] = (),
) -> Run:
    """A run from a path (``-`` is standard input), a frame, a dict of dicts, or as it is.

    Rows are read and checked when they are first needed.

    Args:
        table: as of ``read_qrels``.
        name: as there.
        from_: as there.
        earlier: a run of the same system at an earlier time, for metrics of stability.
        repeats: other rankings of a system that draws them, for expected exposure (EEL, EED, EER).
        noise: other answers of the same system to the same queries, which show its noise.

    Raises:
        InputError: what is wrong, with file and line.
        UsageError: no such format.
    """
    run = _opened_run(table, name, from_)
    further: dict[str, Any] = {
        "earlier": earlier, "repeats": tuple(repeats), "noise": tuple(noise),
    }  # fmt: skip
    further = {key: value for key, value in further.items() if value is not None and value != ()}
    return replace(run, **further) if further else run


def _opened_run(table: RunLike | InputFile, name: str | None, from_: str | None) -> Run:
    refuse_forked()
    if isinstance(table, Run):
        return table
    if isinstance(table, str | Path | InputFile):
        place, found = registry.opened(table, from_)
        if _has_nothing(place):
            return _beside(Run(place.stem, lambda: iter(()), place=Place(place.label)), place)
        return _run(place, found or registry.detected(place)[0])
    from rankgate.data.memory import frames

    return frames.run_of(table, name or "run")


def _has_nothing(place: InputFile) -> bool:
    """True for the run of a snapshot of which no query had a result."""
    path = place.path
    return path is not None and Path(f"{path}.meta.jsonl").is_file() and not place.head(1)


_COMPANIONS = (".meta.jsonl", ".snapshot.json", ".partial.jsonl")


def _of_documents(qrels: Qrels) -> Qrels:
    """Judgments with one grade a document, as metrics take them."""
    if qrels.by_subtopic:
        problem = (
            "judgments by subtopic, where one grade per document is needed; write each document's "
            "highest grade into its own file with rankgate convert --to trec."
        )
        raise InputError(problem, source=qrels.place.label, code="wrong-type")
    return qrels


def _qrels(place: InputFile, found: Format) -> Qrels:
    place = of_judgments(place)
    if found.read_qrels:
        return found.read_qrels(place)
    return found.read(place).judgments(place.label)


def _run(place: InputFile, found: Format) -> Run:
    if found.read_run:
        return _beside(found.read_run(place), place)
    run = found.read(place).ranking(place.label)
    return _beside(run if run.name else replace(run, name=place.stem), place)


def _beside(run: Run, place: InputFile) -> Run:
    """The run with what the files next to it say of its queries and of its snapshot.

    Raises:
        InputError: its snapshot is under way.
    """
    path = place.path
    if path is None or not any(Path(f"{path}{end}").is_file() for end in _COMPANIONS):
        return run
    from rankgate.data.formats.run_meta import with_meta
    from rankgate.data.formats.snapshot_files import cautions_of, refuse_unfinished_file

    refuse_unfinished_file(path)
    return replace(with_meta(run, place), cautions={**run.cautions, **cautions_of(path)})


def is_ranking(table: Mapping[Any, Any]) -> bool:
    """True for ``{query: {doc: score}}`` and ``{query: [doc, …]}``, and not for ``{name: run}``."""
    first = next(iter(table.values()), None)
    if not isinstance(first, Mapping):
        return first is None or _is_list_of_ids(first)
    return not isinstance(next(iter(first.values()), 0.0), Mapping | list | tuple | set)


def _is_list_of_ids(items: object) -> bool:
    """True for a list of ids, and not for one of runs or of rows of an array."""
    first = next(iter(items), None) if isinstance(items, list | tuple | set | frozenset) else ()
    return first is None or isinstance(first, str | Number)
