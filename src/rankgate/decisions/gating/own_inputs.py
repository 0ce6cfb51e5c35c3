"""Find the inputs of a gate in a folder of one's own files, and ask for what files cannot tell.

On a terminal the questions are asked and the answers kept in ``collection.toml``; elsewhere the
error has the lines to copy. The baseline is never guessed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import join, split
from typing import NoReturn

import click

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import save_file
from rankgate.data.collection import FILE, Collection
from rankgate.data.column_guess import UNKNOWN, ColumnGuess
from rankgate.data.files.own_files import OwnFile, find_files, match_ids
from rankgate.decisions.gating.saved.saved_baselines import FOLDER, list_baselines
from rankgate.measurement.description.description import summarise_judgments

_MAX_SHOWN = 6


def is_terminal() -> bool:
    """True if questions can be asked and answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()


@dataclass(frozen=True)
class OwnInputs:
    """The inputs of a gate in a folder.

    Attributes:
        folder: the folder.
        judged: files that can be the judgments, those with judgments alone if there are any.
        runs: files that can be runs.
        saved: the names of saved baselines.
        has_collection: True if the folder has a collection's file, which names the judgments.
    """

    folder: Path
    judged: tuple[OwnFile, ...]
    runs: tuple[OwnFile, ...]
    saved: tuple[str, ...]
    has_collection: bool

    @classmethod
    def find(cls, folder: Path) -> OwnInputs:
        """Look into a folder.

        Raises:
            InputError: the collection's file of the folder, or a saved baseline, cannot be read.
            UsageError: too many files.
        """
        has_collection = (folder / FILE).is_file()
        files = find_files([folder])
        judged = [file for file in files if file.has_judgments]
        judged = [file for file in judged if not file.has_run] or judged
        runs = [file for file in files if file.has_run]
        if has_collection:
            source = str(Collection.of(folder).judgments)
            judged, runs = [], [file for file in runs if file.path != source]
        saved = tuple(saved.baseline.name for saved in list_baselines(folder / FOLDER))
        return cls(folder, tuple(judged), tuple(runs), saved, has_collection)

    def lines(self) -> Iterator[str]:
        """What was found, a line each for judgments, runs and saved baselines."""
        judged = f"{self.folder / FILE}" if self.has_collection else _list_files(self.judged)
        yield f"judgments: {judged or 'none'}"
        yield f"runs: {_list_files(self.runs) or 'none'}"
        if self.saved:
            yield f"saved baselines: {', '.join(self.saved)}"


def _list_files(files: Sequence[OwnFile]) -> str:
    more = f" and {len(files) - _MAX_SHOWN} more" if len(files) > _MAX_SHOWN else ""
    return ", ".join(file.summary for file in files[:_MAX_SHOWN]) + more


def refuse_incomplete(inputs: OwnInputs) -> NoReturn:
    """Raise the error for a folder that does not have two systems and judgments.

    Raises:
        UsageError: always.
    """
    found = "; ".join(inputs.lines())
    problem = (
        f"{inputs.folder}: a gate takes judgments, a baseline and a candidate; found {found}. To see what a "
        "file holds:\n  rankgate describe FILE"
    )
    raise UsageError(problem, code="missing-input")


def commands_to_copy(inputs: OwnInputs) -> list[str]:
    """The commands for each choice of a baseline and of columns, with all options that they need."""
    paths = [file.path for file in inputs.runs]
    pairs = [(saved, path) for saved in inputs.saved for path in paths]
    pairs += [(first, second) for first in paths for second in paths if first != second]
    if len(paths) > 2:  # the first two stand for all
        pairs = [pair for pair in pairs if {*pair} <= {*inputs.saved, *paths[:2]}]
    if not (inputs.has_collection or inputs.judged):
        return [join(["rankgate", "gate", *pair]) for pair in pairs]
    judgments = [None] if inputs.has_collection else list(inputs.judged)
    commands = []
    for file in judgments:
        options = _options(inputs, file)
        source = str(inputs.folder) if file is None else file.path
        commands += [
            " ".join([join(["rankgate", "gate", source, *pair]), *filter(None, [text, ids])])
            for text, ids in options
            for pair in pairs
        ]
    return commands


def _options(inputs: OwnInputs, file: OwnFile | None) -> list[tuple[str, str]]:
    """The texts of ``--columns`` and ``--ids``, one pair for each possible choice of columns."""
    guess = _joined_guess([*([file] if file else []), *inputs.runs])
    texts = [line for line in guess.lines if line.startswith("--columns")] if guess else [""]
    ids = (
        match_ids(_collection(inputs, file, guess), [file.path for file in inputs.runs])
        if _is_known(guess)
        else None
    )
    return [(text, f"--ids {ids.rules}" if ids else "") for text in texts]


def _is_known(guess: ColumnGuess | None) -> bool:
    return guess is None or not (
        any(UNKNOWN in column for column in guess.columns.values()) or None in guess.grades.values()
    )


def _joined_guess(files: Sequence[OwnFile]) -> ColumnGuess | None:
    guess: ColumnGuess | None = None
    for file in files:
        if file.guess is not None:
            guess = file.guess if guess is None else guess.joined(file.guess)
    return guess


def _collection(inputs: OwnInputs, file: OwnFile | None, guess: ColumnGuess | None) -> Collection:
    if file is None:
        return Collection.of(inputs.folder)
    if guess is None:
        return Collection(file.path)
    grades = {label: float(grade) for label, grade in guess.grades.items() if grade is not None}
    return Collection(file.path, columns=dict(guess.columns), grades=grades)


def ask(inputs: OwnInputs) -> tuple[str | None, ...]:
    """Ask on the terminal; write the collection's file, and return the arguments of the gate.

    Without judgments they are None, and no file is written.

    Raises:
        InputError: a file that cannot be read as answered.
        UsageError: the columns are not as guessed; the file cannot be written.
    """
    for line in inputs.lines():
        click.echo(line, err=True)
    names = [f"{name} (saved)" for name in inputs.saved] + [file.path for file in inputs.runs]
    values = [*inputs.saved, *(file.path for file in inputs.runs)]
    baseline = values[_choose("Which is the baseline, the system in use today?", names)]
    others = [file.path for file in inputs.runs if file.path != baseline]
    candidate = others[_choose("Which is the candidate, the system that should replace it?", others)]
    if not (inputs.has_collection or inputs.judged):
        return None, baseline, candidate
    if not inputs.has_collection:
        runs = [file for file in inputs.runs if file.path in {baseline, candidate}]
        file = inputs.judged[_choose("Which file has the judgments?", [file.path for file in inputs.judged])]
        _write_collection(replace(inputs, runs=tuple(runs)), file)
    click.echo(
        f"next time: {join(['rankgate', 'gate', str(inputs.folder), baseline, candidate])}\n", err=True
    )
    return str(inputs.folder), baseline, candidate


def _choose(question: str, names: Sequence[str]) -> int:
    """The place of the chosen name; a single name is not asked for."""
    if len(names) == 1:
        return 0
    for number, name in enumerate(names, 1):
        click.echo(f"  {number}  {name}", err=True)
    return int(click.prompt(question, type=click.IntRange(1, len(names)), prompt_suffix=" ", err=True)) - 1


def _write_collection(inputs: OwnInputs, file: OwnFile) -> None:
    guess = _joined_guess([file, *inputs.runs])
    if guess is not None:
        guess = _ask_columns(guess)
    ids = match_ids(_collection(inputs, file, guess), [file.path for file in inputs.runs])
    lines = ["[collection]", f"judgments = {_quote(Path(file.path).relative_to(inputs.folder).as_posix())}"]
    if guess is not None:
        lines += guess.lines[guess.lines.index("[collection]") + 1 :]
    if ids is not None and click.confirm(f"{ids.question}: match them?", default=True, err=True):
        lines.append(f"ids = {_quote(ids.rules)}")
    sparse = _sparse_advice(_collection(inputs, file, guess))
    question = f"Judgments are {sparse}. Are these the known answers only, and others may be right too?"
    if sparse and click.confirm(question, default=True, err=True):
        lines.append('selection = "sparse"')
    path = inputs.folder / FILE
    save_file(path, "\n".join(lines) + "\n")
    click.echo(f"{path} written", err=True)


def _sparse_advice(collection: Collection) -> str:
    """The evidence that judgments are a known answer or two of each query; empty without it."""
    if collection.selection is not None:
        return ""
    advice = summarise_judgments(collection.qrels()).selection_advice
    return advice if advice.startswith("sparse") else ""


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_ROLES = {"query_id": "query", "doc_id": "document", "grade": "grade", "score": "score", "rank": "rank"}


def _ask_columns(guess: ColumnGuess) -> ColumnGuess:
    """The guess with the answers to what it leaves open, after a confirmation of the others.

    Raises:
        UsageError: it is not right.
    """
    columns = dict(guess.columns)
    for column, names in guess.alternatives.items():
        columns[column] = names[_choose(f"Which column is the {_ROLES.get(column, column)}?", names)]
    names = list(guess.examples)
    for column in [column for column, name in columns.items() if name == UNKNOWN]:
        columns[column] = names[_choose(f"Which column is the {_ROLES.get(column, column)}?", names)]
    grades: Mapping[str, int | None] = {
        label: click.prompt(f"Grade of the label {label!r}", type=click.INT, err=True)
        if grade is None
        else grade
        for label, grade in guess.grades.items()
    }
    answered = replace(guess, columns=columns, alternatives={}, grades=grades, examples={})
    line = answered.lines[0]
    if not click.confirm(f"Read the tables with {line}?", default=True, err=True):
        raise UsageError(
            f"name the columns yourself, as in:\n  rankgate gate JUDGMENTS BASELINE CANDIDATE {line}",
            code="missing-column",
        )
    return answered


def complete_inputs(folder: str) -> tuple[str | None, ...]:
    """The arguments of a gate in a folder: judgments, None if it has none, then one or two systems.

    Raises:
        InputError: a file that cannot be read.
        UsageError: the folder lacks runs; without a terminal, what only a person knows.
    """
    inputs = OwnInputs.find(Path(folder))
    is_judged = inputs.has_collection or bool(inputs.judged)
    if not is_judged and len(inputs.runs) == 1:
        return None, inputs.runs[0].path
    if not inputs.runs or len(inputs.runs) + len(inputs.saved) < 2:
        refuse_incomplete(inputs)
    if is_terminal():
        return ask(inputs)
    commands = commands_to_copy(inputs)
    if len(commands) == 1:  # a saved baseline and one run
        _, _, *arguments = split(commands[0])
        if len(arguments) == 3:
            return tuple(arguments)
    found = "".join(f"\n  {line}" for line in inputs.lines())
    lines = "".join(f"\n  {command}" for command in commands)
    problem = (
        f"{folder}: which system is the baseline is for you to say. Found:{found}\nRun the line with the "
        f"system in use today first, the one that should replace it second:{lines}"
    )
    if not inputs.has_collection and len(inputs.judged) == 1 and _is_known(_joined_guess(inputs.judged)):
        sparse = _sparse_advice(_collection(inputs, inputs.judged[0], _joined_guess(inputs.judged)))
        problem += f"\nJudgments are {sparse}: if others may be right too, add --selection sparse." * bool(
            sparse
        )
    raise UsageError(problem, code="missing-input")


def refuse_engine(paths: Sequence[str]) -> None:
    """Lead from the file of an engine, and queries, to a run of its answers.

    Raises:
        UsageError: a path is the file of an engine.
    """
    for path in paths:
        if Path(path).suffix != ".toml" or not Path(path).is_file():
            continue
        if "engine" in TomlFile.read(path).values:
            queries = next((other for other in paths if other != path), "QUERIES")
            problem = (
                f"{path} is an engine. Keep its answers of today, then see what to judge; after a change of "
                "the engine keep those too, and see what changed:\n  "
                + "\n  ".join(
                    (
                        join(["rankgate", "snapshot", path, queries, "-o", "today.run"]),
                        "rankgate gate today.run",
                        join(["rankgate", "snapshot", path, queries, "-o", "changed.run"]),
                        "rankgate gate today.run changed.run",
                    )
                )
            )
            raise UsageError(problem, code="missing-input")
