"""The manual: its sessions run, its Python runs, its commands are commands, and it builds."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from rankgate.interface.cli import rankgate as program
from rankgate.interface.cli.startup import OPTIONS_WITH_VALUE, move_global_options_first
from support.chromium import Chromium
from support.once import make_once
from support.programs import tool

ROOT = Path(__file__).parents[2]
played = tool("docs/_seen/played.py")
SEARCH_WORDS = tool("docs/_search_words.py").SEARCH_WORDS

PAGES = played.pages()
FOLLOWED = {"start", "guides"}
"""Folders whose pages are followed with the wheel instead, their output and Python compared."""
RUN = [
    page
    for page in PAGES
    if page.parent.name not in FOLLOWED and any(sign in page.read_text() for sign in ("```console", ">>> "))
]
README = ROOT / "README.md"
FENCE = re.compile(
    r"(?:<!-- (?P<said>[^>]*) -->\n+)?^```(?P<kind>\S*)[^\n]*\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL
)
WORDS = {"console", "toml", "yaml", "text", "json", "csv", "{toctree}", "{index}"}
SHORTENED = re.compile(r"[…]|\bRUN\.\.\.|\bVARIABLE\b")


def name(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.separate
@pytest.mark.parametrize("page", RUN, ids=name)
def test_commands_and_python_say_what_the_page_shows(page):
    """If this fails, ``python docs/_seen/make.py`` rewrites them; check the changes."""
    text = page.read_text()
    with played.workplace(page):
        assert played.played(page) == text
        if ">>> " in text:
            result = doctest.testfile(str(page), module_relative=False)
            assert result.attempted > 0
            assert result.failed == 0


@pytest.mark.parametrize("page", [*PAGES, README], ids=name)
def test_every_block_is_run_or_says_why_not(page):
    for block in FENCE.finditer(page.read_text()):
        note, kind, text = block["said"] or "", block["kind"], block["text"]
        if kind == "python":
            run = ">>> " in text or note.startswith(("file: ", "not run: "))
            assert run, text
        elif not kind:
            for command in _commands(text):
                _parsed(command)
        else:
            assert kind in WORDS, kind


def _commands(text):
    """The commands of rankgate in a block that shows no output."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("rankgate ") and not SHORTENED.search(line)]


def _parsed(line):
    """Ask click whether these are the command's own arguments and options."""
    line = re.split(r"\s>>?\s", line)[0]  # what is written to is no argument
    arguments = move_global_options_first(shlex.split(line, comments=True)[1:])
    while arguments[0].startswith("--"):  # an option of all commands
        del arguments[: 1 + (arguments[0] in OPTIONS_WITH_VALUE)]
    with click.Context(program, info_name="rankgate", **program.context_settings) as context:
        command, remaining = program, arguments
        while isinstance(command, click.Group):
            _, command, remaining = command.resolve_command(context, remaining)
        command.make_context(arguments[0], remaining, parent=context)


def test_the_readme_leads_to_a_gate(demo_folder, tmp_path, monkeypatch):
    """The policy and the commands of the page, on the demo; the page begins with a gate that fails."""
    shutil.copytree(demo_folder, tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    section = README.read_text().split("## A gate before every merge")[1].split("\n## ")[0]
    blocks = {block["kind"]: block["text"] for block in FENCE.finditer(section)}
    (tmp_path / "rankgate.toml").write_text(blocks["toml"])
    console_blocks = [block["text"] for block in FENCE.finditer(section) if not block["kind"]]
    for command in _commands("".join(console_blocks)):
        result = CliRunner().invoke(program, shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
    (tmp_path / "rankgate.toml").unlink()
    first_block = next(block["text"] for block in FENCE.finditer(README.read_text()))
    command, output = first_block.split("\n", 1)
    result = CliRunner().invoke(program, shlex.split(command)[2:])
    assert result.exit_code == 1
    number = re.compile(r"\d+(\.\d+)?")  # they move with Python's own texts
    assert number.sub("0", result.output).startswith(number.sub("0", output))


@pytest.mark.parametrize("page", ["README.md", "docs/gate.md", "docs/guides/ci-gate.md"])
def test_workflows_say_what_the_action_takes(page):
    action_inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    blocks = [f["text"] for f in FENCE.finditer((ROOT / page).read_text()) if f["kind"] == "yaml"]
    with_blocks = re.findall(
        r"rankgate/rankgate@\S+\n\s+with:(.*?)(?=\n\s*- |\Z)", "".join(blocks), re.DOTALL
    )
    assert with_blocks
    for with_block in with_blocks:
        input_names = set(re.findall(r"(\w+): ", with_block))
        assert input_names <= set(action_inputs)
        assert {name for name, details in action_inputs.items() if details.get("required")} <= input_names
    assert all(yaml.safe_load(block) for block in blocks)


FETCHING = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*>")
"""What `_Links` looks at: the rest of a page takes the parser ten times as long."""


class _Links(HTMLParser):
    """What a page has a browser fetch: scripts, styles, pictures, fonts."""

    def __init__(self):
        super().__init__()
        self.fetched = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag in {"script", "img", "iframe", "source"} and attributes.get("src"):
            self.fetched.append(attributes["src"])
        if tag == "link" and attributes.get("rel") not in {"canonical", "author"}:
            self.fetched.append(attributes.get("href", ""))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the manual as HTML, which is built once, and the build's messages."""
    folder = make_once(tmp_path_factory, "manual", _build_manual)
    return folder / "html", (folder / "messages.txt").read_text()


def _build_manual(folder):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-j", "auto", "-d", folder / "doctrees", ROOT / "docs", folder / "html"]
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    ending = f"sphinx ended with {process.returncode}\n" if process.returncode else ""
    (folder / "messages.txt").write_text(process.stderr + ending)


@pytest.mark.slow
@pytest.mark.separate
def test_it_builds_without_a_warning_and_fetches_nothing(built):
    html, messages = built
    assert messages == ""
    pages = list(html.rglob("*.html"))
    assert len(pages) > 200
    for page in pages:
        links = _Links()
        for tag in FETCHING.findall(page.read_text()):
            links.feed(f"{tag}</script>")  # after that of a script nothing would be a tag
        assert not [link for link in links.fetched if re.match(r"(https?:)?//", link)], page
        assert '<aside class="' not in page.read_text(), page  # each has an accessible name
    page_links = re.findall(r"\]\((.+?\.html)\)", (html / "llms.txt").read_text())
    assert len(page_links) > 60
    assert all((html / address).exists() for address in page_links)
    for style in html.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", style.read_text()), style


FIRST = {
    "click log": "online",
    "clicks": "start/clicks",
    "A/B test": "experiments",
    "dashboard": "dashboard",
    "manager": "start/managers",
    "kappa": "guides/judging",
    "BEIR": "reference/conventions/beir",
    "significance": "guides/verdicts",
    "t-test": "statistics",
    "gate": "gate",
    "policy": "gate",
    "RAG": "retrieval-for-models",
    "hit rate": "reference/metrics/Success",
    "nDCG": "reference/metrics/nDCG",
    "elasticsearch": "engines",
    "pandas": "sources",
    "metric": "reference/metrics/index",
    "fusion": "fusion",
    "rater": "start/raters",
    "alerts": "alerts",
    "MLflow": "trackers",
}
"""What people type into the search of the manual, and the page that is to be first."""


@pytest.mark.slow
@pytest.mark.separate
@pytest.mark.chromium
def test_the_search_ranks_the_page_about_a_word_first(built):
    browser = Chromium()
    try:
        browser.open(built[0] / "search.html")
        browser.until("typeof Search !== 'undefined' && Search._index")
        search = "Search._performSearch(...Search._parseQuery({})).at(-1)[0]"
        first = {word: browser.ask(search.format(json.dumps(word))) for word in FIRST}
    finally:
        browser.close()
    assert first == FIRST


def test_words_that_are_searched_name_pages():
    terms = [word.lower() for terms in SEARCH_WORDS.values() for word in terms]
    assert len(terms) == len(set(terms))
    generated_prefixes = ("reference/",)
    missing = [
        page
        for page in SEARCH_WORDS
        if not page.startswith(generated_prefixes) and not (ROOT / f"docs/{page}.md").is_file()
    ]
    assert missing == []
