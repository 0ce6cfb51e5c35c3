"""Names that a shell completes: of commands, metrics, conventions, formats, and names in files."""

import subprocess
import sys

import click
import pytest
from click.shell_completion import get_completion_class

from rankgate.interface.cli import rankgate
from rankgate.interface.cli.completed_names import NAMES

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def complete(monkeypatch):
    """The names that a shell offers after some words; the last one is incomplete."""

    def completed(line, shell="bash"):
        *arguments, incomplete = ["rankgate", *line.split(" ")]
        monkeypatch.setenv("COMP_WORDS", " ".join(["rankgate", *line.split(" ")]))
        monkeypatch.setenv("COMP_CWORD", incomplete if shell == "fish" else str(len(arguments)))
        printed = get_completion_class(shell)(rankgate, {}, "rankgate", "_X").complete()
        lines = printed.splitlines()
        if shell == "zsh":
            return [name for kind, name in zip(lines[::3], lines[1::3], strict=True) if kind == "plain"]
        separator = "\t" if shell == "fish" else ","
        items = [item.split(separator)[0] if shell == "fish" else item for item in lines]
        return [item.partition(",")[2] for item in items if item.startswith("plain,")]

    return completed


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts_name_the_program(run, shell):
    assert "_RANKGATE_COMPLETE" in run("completion", shell).out


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("ev", "eval"),
        ("eval q.txt r.run -m ndc", "nDCG"),
        ("scorecard q.txt r.run -m Cov", "Coverage"),
        ("eval --convention ran", "ranx"),
        ("fuse a.run b.run --convention tre", "trec9"),
        ("reconcile q.txt r.run --to tre", "trec9"),
        ("convert a b --to tre", "trec"),
        ("eval q.txt r.run --from quepid-b", "quepid-book"),
        ("metrics RB", "RBP"),
        ("engines show open", "opensearch"),
        ("online kpi log.ndjson -k search_c", "search_ctr"),
        ("online ab log.ndjson -m search_c", "search_ctr"),
        ("rating-accuracy a b -m RM", "RMSE"),
        ("online jud", "judgments"),
    ],
)
def test_listed_names_are_completed(complete, shell, line, name):
    assert name in complete(line, shell)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.usefixtures("small_files")
def test_names_in_files_are_completed(complete, run, shell):
    run("baseline", "save", "main", "qrels.txt", "old.run")
    run("record", "eval.json", "--to", "history", "--system", "bm25")
    for line, names in {
        "gate --scores scores.csv ": ["bm25", "dense", "rerank"],
        "compare --scores scores.csv bm25 d": ["dense"],
        "compare --scores scores.csv bm25 ": ["dense", "rerank"],
        "gate qrels.txt ": ["main"],
        "baseline show m": ["main"],
        "explain qrels.txt old.run --query q1": ["q1", "q10"],
        "compare qrels.txt old.run old.run --tags tags.csv --slice ": ["lang", "intent"],
        "history --from history nD": ["nDCG@10"],
        "history nDCG@10 --from history --system b": ["bm25"],
    }.items():
        assert complete(line, shell) == names, line


@pytest.fixture
def small_files(tmp_path, monkeypatch, run):
    """A folder with judgments, a run, a table of values, tags and a result."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "qrels.txt": "q1 0 a 1\nq10 0 b 1\nq2 0 c 1\n",
        "old.run": "q1 Q0 a 1 2.0 old\nq10 Q0 b 1 2.0 old\nq2 Q0 c 1 1.0 old\n",
        "scores.csv": "query_id,bm25,dense,rerank\nq1,0.5,0.6,0.7\nq2,0.1,0.2,0.3\n",
        "tags.csv": "query_id,lang,intent\nq1,en,buy\nq10,de,buy\nq2,en,read\n",
    }.items():
        (tmp_path / name).write_text(text)
    run("eval", "qrels.txt", "old.run", "-m", "nDCG@10", "-o", "eval.json")


@pytest.mark.parametrize(
    "line",
    [
        "explain absent.txt old.run --query q",
        "explain tags.csv old.run --query q",
        "gate --scores tags.csv ",
        "history --from absent nD",
    ],
)
@pytest.mark.usefixtures("small_files")
def test_what_cannot_be_read_has_no_names(complete, line):
    assert complete(line) == []


def test_after_an_unknown_command_there_is_no_error(complete):
    assert complete("nothing --convention tr") == ["trec_eval"]


def test_names_that_are_used_already_are_not_offered(complete):
    assert "nDCG" not in complete("eval q.txt r.run -m nDCG -m nD")


def test_every_type_of_name_has_its_names():
    from rankgate.core.console import option_types

    kinds = {
        value.kind
        for value in vars(option_types).values()
        if isinstance(value, option_types.NameType | option_types.NameOrPathType)
    }
    assert kinds == set(NAMES)


def test_commands_and_listed_names_load_no_numeric_library():
    script = (
        "import sys, click\n"
        "from click.shell_completion import BashComplete\n"
        "from rankgate.interface.cli import rankgate\n"
        "from rankgate.interface.cli.completed_names import NAMES\n"
        "names = BashComplete(rankgate, {}, 'rankgate', '_X').get_completions([], '')\n"
        "kinds = ['metrics', 'conventions', 'formats', 'engines', 'kpis', 'baselines']\n"
        "context = click.Context(rankgate)\n"
        "assert len(names) > 50 and all(NAMES[kind](context) for kind in kinds[:-1])\n"
        "assert NAMES['baselines'](context) == []\n"
        "print({'numpy', 'polars', 'scipy', 'duckdb'} & set(sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout == "set()\n"


def test_options_with_the_name_of_a_kind_complete_it():
    from rankgate.core.console.option_types import BY_METAVAR

    context = click.Context(rankgate)
    missing = [
        f"{path} {option.opts[0]}"
        for path, command in _commands(rankgate, context, "")
        for option in command.params
        if option.metavar in BY_METAVAR and type(option.type) is type(click.STRING)
    ]
    assert missing == []


def _commands(group, context, path):
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, context, f"{path} {name}")
