"""Every command that a page shows runs as it is shown."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click import Context

from rankgate.data.read import read_qrels, read_run
from rankgate.interface.cli import rankgate as program
from rankgate.store.material import projects
from rankgate.store.store import Store
from rankgate.store.stored_project import StoredProject
from rankgate.workspace.web import rendering
from rankgate.workspace.web.rendering import COMMANDS, command_text
from support.model_server import model_server
from support.serving import started

TEMPLATES = Path(rendering.__file__).parent / "templates"

FILES = {
    "qrels.txt": "q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n",
    "old.run": "q1 Q0 d1 1 2 old\nq1 Q0 d2 2 1 old\nq2 Q0 d3 1 1 old\nq2 Q0 d4 2 0 old\n",
    "new.run": "q1 Q0 d2 1 2 new\nq1 Q0 d1 2 1 new\nq2 Q0 d5 1 1 new\nq2 Q0 d3 2 0 new\n",
    "pool.csv": "query_id,doc_id\nq1,d1\n",
    "queries.csv": "query_id,text\nq1,jaguar speed\n",
    "documents.csv": "doc_id,text\nd1,the text of d1\n",
}
WORDS = {
    "QRELS": "qrels.txt",
    "RUN...": "old.run new.run",
    "BASELINE": "old.run",
    "CANDIDATE": "new.run",
    "RESULT.json...": "result.json",
    "POOL": "pool.csv",
    "QUERIES": "queries.csv",
    "DOCUMENTS": "documents.csv",
    "MODEL": "m",
    "FILE": "llm.jsonl",
    "STORE": "store.db",
}
STORED = {"QRELS": "gold", "RUN...": "old new", "BASELINE": "old", "CANDIDATE": "new"}
GOOD = {"gate": {0, 1, 3}}
"""Exit codes of commands that did what they are for, where these are others than 0."""


@pytest.fixture
def folder(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with Store.create("store.db") as store:
        with store.write() as connection:
            number = projects.add(connection, "shop").id
        with StoredProject(store, "shop", number) as project:
            project.add_judgments(read_qrels("qrels.txt"), "gold")
            for name in ("old", "new"):
                project.add_run(read_run(f"{name}.run"), name)
    result = run("eval", "qrels.txt", "old.run", "--format", "json")
    (tmp_path / "result.json").write_text(result.out)
    return tmp_path


def words_of(name):
    """The words of a command, with files, or names of the store, where a reader puts in theirs."""
    arguments = shlex.split(command_text(name, "shop"))
    replacements = WORDS | (STORED if "--store" in arguments else {})
    return [word for argument in arguments[1:] for word in replacements.get(argument, argument).split()]


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"rate", "serve"}))
def test_a_command_of_a_page_runs(folder, run, name):
    assert folder
    result = run(*words_of(name))
    assert result.code in GOOD.get(name, {0}), result.err


def test_the_command_that_asks_a_model_runs(folder, run):
    assert folder
    with model_server() as server:
        result = run(*words_of("rate"), "--url", f"{server.url}/v1")
        assert result.code == 0, result.err
        assert server.asked["d1"] == 1


def test_the_command_that_serves_models_runs(folder):
    (folder / "endpoints.toml").write_text('[ours]\nurl = "http://127.0.0.1:9/v1"\n')
    _, store, *options = words_of("serve")[1:]
    with started(store, *options) as (process, address, _):
        assert address.startswith("http")
        assert process.poll() is None


@pytest.mark.parametrize("name", COMMANDS)
def test_words_for_a_reader_are_those_of_the_help(name):
    """What a command takes is named as its declaration names it, in its order."""
    command = program.get_command(Context(program), name)
    _, *arguments = command.collect_usage_pieces(Context(command))
    argument_names = [argument.strip("[]") for argument in arguments]
    documented = COMMANDS[name].split()[2:]
    before_options = documented[: next(i for i, word in enumerate(documented) if word.startswith("-"))]
    assert before_options == argument_names


def test_pages_show_no_other_commands():
    command_names = set()
    for template in TEMPLATES.glob("*.html"):
        text = template.read_text(encoding="utf-8")
        assert "<code>rankgate" not in text, template.name
        command_names |= set(re.findall(r'command\("(\w+)"', text))
    assert command_names == set(COMMANDS)
