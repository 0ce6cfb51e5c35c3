"""Find the inputs of a gate in a folder of one's own files, and ask for what files cannot tell.

On a terminal the questions are asked and the answers kept in ``collection.toml``; elsewhere the
error has the lines to copy. The baseline is never guessed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from shlex import join, quote

import click

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import save_file
from rankgate.data.collection import FILE, Collection
from rankgate.data.column_guess import UNKNOWN, ColumnGuess
from rankgate.data.file_contents import FileContents
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
        judged: what can be the judgments: the folder if it has a collection's file; else the files with
            judgments, those with judgments alone if there are any.
        runs: files that can be runs.
        saved: the names of saved baselines, if there are judgments.
    """

    folder: str
    judged: tuple[OwnFile, ...]
    runs: tuple[OwnFile, ...]
    saved: tuple[str, ...]

    @classmethod
    def find(cls, folder: str) -> OwnInputs:
        """Look into a folder.

        Raises:
            InputError: the collection's file of the folder, or a saved baseline, cannot be read.
            UsageError: too many files.
        """
        files = find_files([folder])
        judged = [file for file in files if file.has_judgments]
        judged = [file for file in judged if not file.has_run] or judged
        runs = [file for file in files if file.has_run]
        if Path(folder, FILE).is_file():
            source = str(Collection.of(folder).judgments)
            judged = [OwnFile(folder, FileContents())]
            runs = [file for file in runs if file.path != source]
        baselines = list_baselines(folder / FOLDER) if judged else []
        names = tuple(saved.baseline.name for saved in baselines)
        return cls(folder, tuple(judged), tuple(runs), names)

    @property
    def lines(self) -> list[str]:
        """What was found, a line each for judgments, runs and saved baselines."""
        has_collection = any(file.path == self.folder for file in self.judged)
        judged = str(Path(self.folder, FILE)) if has_collection else _list_files(self.judged)
        saved = [f"saved baselines: {', '.join(self.saved)}"] if self.saved else []
        return [f"judgments: {judged}", f"runs: {_list_files(self.runs)}", *saved]

    def guess(self, file: OwnFile) -> ColumnGuess | None:
        """The columns of judgments and runs together, where their names are a guess."""
        guess = file.guess
        for run in self.runs:
            if run.guess is not None:
                guess = run.guess if guess is None else guess.joined(run.guess)
        return guess


def _list_files(files: Sequence[OwnFile]) -> str:
    more = [f"{len(files) - _MAX_SHOWN} more"] if len(files) > _MAX_SHOWN else []
    return ", ".join([*(file.summary for file in files[:_MAX_SHOWN]), *more]) or "none"


def _collection(file: OwnFile, guess: ColumnGuess | None) -> Collection:
    """The collection of a file, or of a folder with a collection's file."""
    if guess is None:
        return Collection.of(file.path)
    grades = {label: float(grade) for label, grade in guess.grades.items() if grade is not None}
    return Collection(file.path, columns=dict(guess.columns), grades=grades)


def _sparse_advice(collection: Collection) -> str:
    """The evidence that judgments are a known answer or two of each query; empty without it."""
    advice = "" if collection.selection else summarise_judgments(collection.qrels()).selection_advice
    return advice if advice.startswith("sparse") else ""


def complete_inputs(folder: str) -> tuple[str | None, ...]:
    """The arguments of a gate in a folder: judgments, None if it has none, then one or two systems.

    Raises:
        InputError: a file that cannot be read.
        UsageError: the folder lacks runs; without a terminal, what only a person knows.
    """
    inputs = OwnInputs.find(folder)
    paths = [file.path for file in inputs.runs]
    if not inputs.judged and len(paths) == 1:
        return None, *paths
    if not paths or len(paths) + len(inputs.saved) < 2:
        raise UsageError(
            f"{folder}: a gate takes judgments, a baseline and a candidate; found {'; '.join(inputs.lines)}. "
            "To see what a file holds:\n  rankgate describe FILE",
            code="missing-input",
        )
    if is_terminal():
        return _ask(inputs)
    pairs = [(name, path) for name in inputs.saved for path in paths[:2]] + [*permutations(paths[:2], 2)]
    commands, advice = _commands_to_copy(inputs, pairs)
    if len(pairs) == len(commands) == 1 and "--" not in commands[0]:  # a saved baseline and one run
        return inputs.judged[0].path, *pairs[0]
    raise UsageError(
        "\n  ".join([f"{folder}: which system is the baseline is for you to say. Found:", *inputs.lines])
        + "\nRun the line with the system in use today first, the one that should replace it second:\n  "
        + "\n  ".join(commands)
        + advice,
        code="missing-input",
    )


def _commands_to_copy(inputs: OwnInputs, pairs: Sequence[tuple[str, str]]) -> tuple[list[str], str]:
    """The commands for each choice of judgments, columns and systems; advice on sparse judgments."""
    commands, advice = [], ""
    for file in inputs.judged:
        guess = inputs.guess(file)
        texts = [f" {line}" for line in guess.lines if line.startswith("--columns")] if guess else [""]
        ids = None
        if guess is None or guess.is_complete:
            collection = _collection(file, guess)
            ids = match_ids(collection, [run.path for run in inputs.runs])
            if sparse := _sparse_advice(collection):
                advice = f"\nJudgments are {sparse}: if others may be right too, add --selection sparse."
        options = f" --ids {quote(ids.rules)}" if ids else ""
        commands += [
            f"{join(['rankgate', 'gate', file.path, *pair])}{text}{options}"
            for text in texts
            for pair in pairs
        ]
    return commands or [join(["rankgate", "gate", *pair]) for pair in pairs], advice


def _ask(inputs: OwnInputs) -> tuple[str | None, ...]:
    """Ask on the terminal; write the collection's file, and return the arguments of the gate.

    Without judgments they are None, and no file is written.

    Raises:
        InputError: a file that cannot be read as answered.
        UsageError: the columns are not as guessed; the file cannot be written.
    """
    click.echo("\n".join(inputs.lines), err=True)
    paths = [file.path for file in inputs.runs]
    baseline = _choose("Which is the baseline, the system in use today?", [*inputs.saved, *paths])
    others = [path for path in paths if path != baseline]
    candidate = _choose("Which is the candidate, the system that should replace it?", others)
    if not inputs.judged:
        return None, baseline, candidate
    judgments = _choose("Which file has the judgments?", [file.path for file in inputs.judged])
    (file,) = [file for file in inputs.judged if file.path == judgments]
    if file.path != inputs.folder:
        runs = tuple(file for file in inputs.runs if file.path in {baseline, candidate})
        _write_collection(replace(inputs, runs=runs), file)
    again = join(["rankgate", "gate", inputs.folder, baseline, candidate])
    click.echo(f"next time: {again}\n", err=True)
    return inputs.folder, baseline, candidate


def _choose(question: str, names: Sequence[str]) -> str:
    """The chosen name; a single one is not asked for."""
    if len(names) == 1:
        return names[0]
    for number, name in enumerate(names, 1):
        click.echo(f"  {number}  {name}", err=True)
    number = click.prompt(question, type=click.IntRange(1, len(names)), prompt_suffix=" ", err=True)
    return names[number - 1]


def _write_collection(inputs: OwnInputs, file: OwnFile) -> None:
    guess = inputs.guess(file)
    path = Path(inputs.folder, FILE)
    judgments = Path(file.path).relative_to(inputs.folder).as_posix()
    lines = ["[collection]", f"judgments = {json.dumps(judgments, ensure_ascii=False)}"]
    if guess is not None:
        guess = _ask_columns(guess)
        lines += guess.lines[guess.lines.index("[collection]") + 1 :]
    collection = _collection(file, guess)
    ids, sparse = match_ids(collection, [run.path for run in inputs.runs]), _sparse_advice(collection)
    if ids is not None and click.confirm(f"{ids.fact}: match them?", default=True, err=True):
        lines.append(f"ids = {json.dumps(ids.rules, ensure_ascii=False)}")
    question = f"Judgments are {sparse}. Are these the known answers only, and others may be right too?"
    if sparse and click.confirm(question, default=True, err=True):
        lines.append('selection = "sparse"')
    save_file(path, "\n".join(lines) + "\n")
    click.echo(f"{path} written", err=True)


def _ask_columns(guess: ColumnGuess) -> ColumnGuess:
    """The guess with the answers to what it leaves open, after a confirmation of the others.

    Raises:
        UsageError: it is not right.
    """
    columns, grades = dict(guess.columns), dict(guess.grades)
    choices = {name: tuple(guess.examples) for name, column in columns.items() if column == UNKNOWN}
    for name, names in [*guess.alternatives.items(), *choices.items()]:
        columns[name] = _choose(f"Which column is the {name.removesuffix('_id')}?", names)
    for label in [label for label, grade in grades.items() if grade is None]:
        grades[label] = click.prompt(f"Grade of the label {label!r}", type=click.INT, err=True)
    answered = replace(guess, columns=columns, alternatives={}, grades=grades, examples={})
    if not click.confirm(f"Read the tables with {answered.lines[0]}?", default=True, err=True):
        raise UsageError(
            "name the columns yourself, as in:\n  rankgate gate JUDGMENTS BASELINE CANDIDATE "
            + answered.lines[0],
            code="missing-column",
        )
    return answered


def refuse_engine(paths: Sequence[str]) -> None:
    """Lead from the file of an engine, and queries, to a run of its answers.

    Raises:
        UsageError: a path is the file of an engine.
    """
    for path in paths:
        if Path(path).suffix == ".toml" and Path(path).is_file() and "engine" in TomlFile.read(path).values:
            snapshot = join(["rankgate", "snapshot", *dict.fromkeys([path, *paths])])
            snapshot += " QUERIES" * (len(paths) == 1)
            raise UsageError(
                f"{path} is an engine. Keep its answers of today, then see what to judge; after a change of "
                f"the engine keep those too, and see what changed:\n  {snapshot} -o today.run\n  rankgate "
                f"gate today.run\n  {snapshot} -o changed.run\n  rankgate gate today.run changed.run",
                code="missing-input",
            )
