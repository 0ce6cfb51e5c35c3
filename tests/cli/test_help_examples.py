"""Every example in the help of a command runs as it is written."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from rankgate.decisions.unjudged.calibration import calibration
from rankgate.interface.cli import COMMANDS
from rankgate.online.interleaving.simulate_tests import sensitivity
from support.once import make_once
from support.programs import ROOT, importable

with importable(ROOT / "release"):
    import example_files
    import help_examples

UNNAMED = {
    "trec_eval": "prints what the program of that name prints, and no more",
    "cwl_eval": "as trec_eval",
    "ndeval": "as trec_eval",
    "gdeval": "as trec_eval",
    "convert": "changes the form of files, and scores none",
    "describe": "counts the judged documents of each run, and scores none",
    "pool": "ranks documents that are not judged, and scores no run",
    "record": "keeps a result that was made before",
}
"""Commands that do not name a run without a judged document, and what they do instead."""

_JUDGMENTS = re.compile(r"(people|llm|qrels)\.txt|\w+\.qrels(\.csv)?|ratings\.csv")
_PRINTS_NO_SENTENCE = re.compile(r"--format (pool|pdf|policy)|compare .* --query")
"""Examples that write documents, settings, a file without plain text, or two lists with grades."""


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """The files of the examples, written once for all workers."""
    return make_once(tmp_path_factory, "example-files", example_files.write)


@pytest.fixture(autouse=True)
def programs_of_examples(tmp_path):
    """Leave no module of the example files, such as an engine in Python, for other tests."""
    with importable(tmp_path):
        yield


@pytest.fixture(autouse=True)
def fewer_repetitions(monkeypatch):
    """Repeat less often what commands repeat without an option for it."""
    monkeypatch.setitem(sensitivity.__kwdefaults__, "searches", 500)  # of `plan`
    monkeypatch.setitem(calibration.__kwdefaults__, "experiments", 12)  # of `plot`


STEPS = {"alerts", "baseline", "jobs", "store"}
"""Commands whose examples follow each other."""


@pytest.mark.slow
@pytest.mark.parametrize("others", [False, pytest.param(True, marks=pytest.mark.separate)])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_of_a_command_runs(name, others, world, tmp_path, monkeypatch, run):
    """The first and the last of each command; those between them are run separately."""
    for variable, value in help_examples.ENVIRONMENT.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # of the pages that are opened
    for command, lines in help_examples.examples(name).items():
        folder = tmp_path / command.replace(" ", "-")
        example_files.prepare(world, folder, command)
        between = slice(0) if name in STEPS else slice(1, -1)
        tried = lines[between] if others else [line for line in lines if line not in lines[between]]
        for line in tried:
            if help_examples.ENDINGS.get(line) == help_examples.SERVES:
                continue
            monkeypatch.chdir(folder)
            help_examples.begin(line, folder)
            result = run(*help_examples.words(line)[1:])
            ending = help_examples.Ending(command, line, result.code or 0, result.err)
            assert ending.right, ending
            assert not ending.extra, ending


def _scores_a_run(line):
    """True if an example names judgments and runs, and prints a result with sentences."""
    arguments = line.split()[2:]
    judged = any(_JUDGMENTS.fullmatch(word.rpartition("=")[2]) for word in arguments)
    ranked = re.search(r"[\w*]\.run\b|queries\.tsv", line)
    has_inputs = bool(judged and ranked) or "sweep.toml" in arguments
    return has_inputs and not _PRINTS_NO_SENTENCE.search(line)


def _rename_documents(path):
    """Give the judged documents ids that no run has."""
    lines = path.read_text().splitlines()
    if path.suffix != ".csv":
        rows = [line.split(" ") for line in lines]
        path.write_text("".join(f"{q} {n} other-{doc} {grade}\n" for q, n, doc, grade in rows))
        return
    header = lines[0].split(",")
    column = next(i for i, name in enumerate(header) if name in {"document", "item_id"})
    rows = [line.split(",") for line in lines[1:]]
    renamed = [[*row[:column], f"other-{row[column]}", *row[column + 1 :]] for row in rows]
    path.write_text("".join(",".join(row) + "\n" for row in (header, *renamed)))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in UNNAMED])
def test_a_run_without_a_judged_document_is_named(name, world, tmp_path, monkeypatch, run):
    for command, lines in help_examples.examples(name).items():
        line = next(filter(_scores_a_run, lines), None)  # others of a command read the same files
        if line is None:
            continue
        folder = tmp_path / command.replace(" ", "-")
        example_files.prepare(world, folder, command)
        for path in folder.iterdir():
            if _JUDGMENTS.fullmatch(path.name):
                _rename_documents(path)
        monkeypatch.chdir(folder)
        help_examples.begin(line, folder)
        result = run(*help_examples.words(line)[1:])
        output = result.out + result.err
        written = re.search(r" -o ([\w./-]+)", line)
        if written and (folder / written[1]).is_file():
            output += (folder / written[1]).read_text(errors="replace")
        unjudged_warning = re.search(r"no (document|item) .*is judged", " ".join(output.split()))
        refused = result.code in {1, 2, 3}  # among them the verdicts of a gate
        assert unjudged_warning or refused, (line, result)


DAMAGES = {
    "cut": lambda data: data[: len(data) // 2],
    "utf-32": lambda data: data.decode("latin-1").encode("utf-32"),
    "nul": lambda data: data[:20] + bytes(50) + data[20:],
    "empty": lambda _: b"",
}


CUT_AT_A_ROW = "a table that ends earlier is a table"
NUL_IN_A_CELL = "a cell of a table holds any characters"
LINES_LEFT_OUT = "the lines of a log that cannot be read are counted and named in the output"
NO_RULES = "a file without rules or jobs removes them"
NOT_READ = "the file is written, or the program of that name reads it so"
ACCEPTED = {
    "alerts rules": {"empty": NO_RULES},
    "audit": {"nul": NUL_IN_A_CELL},
    "convert": {"cut": CUT_AT_A_ROW},
    "cwl_eval": dict.fromkeys(("cut", "empty", "nul"), NOT_READ),
    "gdeval": {"cut": CUT_AT_A_ROW},
    "jobs set": {"empty": NO_RULES},
    "ndeval": {"cut": CUT_AT_A_ROW},
    "online doctor": dict.fromkeys(("cut", "empty", "nul"), LINES_LEFT_OUT),
    "online ingest": dict.fromkeys(("cut", "empty", "nul"), LINES_LEFT_OUT),
    "online map": {"cut": CUT_AT_A_ROW, "nul": NUL_IN_A_CELL},
    "online ope": {"cut": CUT_AT_A_ROW, "nul": NUL_IN_A_CELL},
    "rate": {"cut": CUT_AT_A_ROW, "nul": NUL_IN_A_CELL},
    "record": {"utf-32": "JSON may be UTF-32"},
    "sheet": {"cut": CUT_AT_A_ROW, "nul": NUL_IN_A_CELL},
    "split": {"nul": NUL_IN_A_CELL},
    "store export": dict.fromkeys(DAMAGES, NOT_READ),
}
"""By command the damages that it may accept with exit code 0, and why; others name the file."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in {"serve", "mcp"}])
def test_a_damaged_file_is_no_fault_of_ours(name, world, tmp_path, monkeypatch, run):
    for command, lines in help_examples.examples(name).items():
        line = next((line for line in lines if line not in help_examples.ENDINGS), None)
        if line is None:
            continue
        folder = tmp_path / command.replace(" ", "-")
        example_files.prepare(world, folder, command)
        monkeypatch.chdir(folder)
        arguments = help_examples.words(line)[1:]
        first = next((path for path in map(Path, arguments) if path.is_file()), None)
        content = first.read_bytes() if first else b""
        for damage, damaged in DAMAGES.items() if first else ():
            help_examples.begin(line, folder)
            first.write_bytes(damaged(content))
            result = run(*arguments)
            reasons = [reason for key, reason in ACCEPTED.items() if line.startswith(f"rankgate {key} ")]
            accepted = any(damage in reason for reason in reasons) and result.code in {0, 3}
            names_file = first.name in result.out + result.err
            assert accepted or (result.code == 2 and names_file), (line, damage, result)
