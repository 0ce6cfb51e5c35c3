"""Ask on the terminal for what the files of a gate cannot tell, and keep it in ``collection.toml``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import join

import click

from rankgate.core.errors import UsageError
from rankgate.core.output_files import save_file
from rankgate.data.collection import FILE
from rankgate.data.column_guess import UNKNOWN, ColumnGuess
from rankgate.data.files.own_files import OwnFile, match_ids
from rankgate.decisions.gating.own_inputs import OwnInputs, collection_of, sparse_advice


def is_terminal() -> bool:
    """True if questions can be asked and answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(inputs: OwnInputs) -> tuple[str, ...]:
    """Ask on the terminal; write the collection's file, and return the arguments of the gate.

    Without judgments they are two runs, and no file is written.

    Raises:
        InputError: a file that cannot be read as answered.
        UsageError: the columns are not as guessed; the file cannot be written.
    """
    click.echo("\n".join(inputs.lines), err=True)
    paths = [file.path for file in inputs.runs]
    baseline = _choose("Which is the baseline, the system in use today?", [*inputs.saved, *paths])
    other_paths = [path for path in paths if path != baseline]
    candidate = _choose("Which is the candidate, the system that should replace it?", other_paths)
    if not inputs.judged:
        return baseline, candidate
    judged = {file.path: file for file in inputs.judged}
    file = judged[_choose("Which file has the judgments?", list(judged))]
    if file.path != inputs.folder:
        runs = tuple(file for file in inputs.runs if file.path in {baseline, candidate})
        _write_collection(replace(inputs, runs=runs), file)
    next_command = join(["rankgate", "gate", inputs.folder, baseline, candidate])
    click.echo(f"next time: {next_command}\n", err=True)
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
    collection = collection_of(file, guess)
    ids, sparse = match_ids(collection, [run.path for run in inputs.runs]), sparse_advice(collection)
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
