"""Find the inputs of a gate in a folder of one's own files.

What files cannot tell is asked, or is an error with the lines to copy. The baseline is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.collection import FILE, Collection
from rankgate.data.file_contents import FileContents
from rankgate.data.files.own_files import OwnFile, find_files, judgments_and_runs, match_ids, sharing_queries
from rankgate.decisions.gating.saved.saved_baselines import FOLDER, list_baselines
from rankgate.measurement.description.description import summarise_judgments

if TYPE_CHECKING:
    from rankgate.data.column_guess import ColumnGuess

_MAX_SHOWN = 6


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
        judged, runs = judgments_and_runs(find_files([folder]))
        if Path(folder, FILE).is_file():
            source = str(Collection.of(folder).judgments)
            judged = [OwnFile(folder, FileContents())]
            runs = [file for file in runs if file.path != source]
        baselines = list_baselines(folder / FOLDER) if judged else []
        names = tuple(saved.baseline.name for saved in baselines)
        judged, runs = sharing_queries(judged, runs, max(1, 2 - len(names)))
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
    remainder = [f"{len(files) - _MAX_SHOWN} more"] if len(files) > _MAX_SHOWN else []
    return ", ".join([*(file.summary for file in files[:_MAX_SHOWN]), *remainder]) or "none"


def collection_of(file: OwnFile, guess: ColumnGuess | None) -> Collection:
    """The collection of a file, or of a folder with a collection's file."""
    if guess is None:
        return Collection.of(file.path)
    grades = {label: float(grade) for label, grade in guess.grades.items() if grade is not None}
    return Collection(file.path, columns=dict(guess.columns), grades=grades)


def sparse_advice(collection: Collection) -> str:
    """The evidence that judgments are a known answer or two of each query; empty without it."""
    advice = "" if collection.selection else summarise_judgments(collection.qrels()).selection_advice
    return advice if advice.startswith("sparse") else ""


def complete_inputs(folder: str, ask: Callable[[OwnInputs], tuple[str, ...]] | None) -> tuple[str, ...]:
    """The arguments of a gate in a folder: judgments and two systems; without judgments one run or two.

    Args:
        folder: the folder.
        ask: what asks a person, as `question_commands.ask`; None without a terminal.

    Raises:
        InputError: a file that cannot be read.
        UsageError: the folder lacks runs; without a terminal, what only a person knows.
    """
    inputs = OwnInputs.find(folder)
    paths = [file.path for file in inputs.runs]
    if not inputs.judged and len(paths) == 1:
        return tuple(paths)
    if not paths or len(paths) + len(inputs.saved) < 2:
        raise UsageError(
            f"{folder}: a gate takes judgments, a baseline and a candidate; found {'; '.join(inputs.lines)}. "
            "rankgate describe FILE shows what a file holds.",
            code="missing-input",
        )
    if ask is not None:
        return ask(inputs)
    pairs = [(name, path) for name in inputs.saved for path in paths[:2]] + [*permutations(paths[:2], 2)]
    commands, advice = _commands_to_copy(inputs, pairs)
    if len(pairs) == len(commands) == 1 and "--" not in commands[0]:  # a saved baseline and one run
        return inputs.judged[0].path, *pairs[0]
    any_two = f" (any two of the {len(paths)} runs)" if len(paths) > 2 else ""
    found_lines = [f"{folder}: which system is the baseline is for you to say. Found:", *inputs.lines]
    first_line = (
        f"Run the line with the system in use today first, the one that should replace it second{any_two}:"
    )
    problem = "\n".join(["\n  ".join(found_lines), "\n  ".join([first_line, *commands])]) + advice
    raise UsageError(problem, code="missing-input")


def _commands_to_copy(inputs: OwnInputs, pairs: Sequence[tuple[str, str]]) -> tuple[list[str], str]:
    """The commands for each choice of judgments, columns and systems; advice on sparse judgments."""
    commands, advice = [], ""
    for file in inputs.judged:
        guess = inputs.guess(file)
        texts = [f" {line}" for line in guess.lines if line.startswith("--columns")] if guess else [""]
        ids = None
        if guess is None or guess.is_complete:
            collection = collection_of(file, guess)
            ids = match_ids(collection, [run.path for run in inputs.runs])
            if sparse := sparse_advice(collection):
                advice = f"\nJudgments are {sparse}: if others may be right too, add --selection sparse."
        options = f" --ids {quote(ids.rules)}" if ids else ""
        commands += [
            f"{join(['rankgate', 'gate', file.path, *pair])}{text}{options}"
            for text in texts
            for pair in pairs
        ]
    return commands or [join(["rankgate", "gate", *pair]) for pair in pairs], advice


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
