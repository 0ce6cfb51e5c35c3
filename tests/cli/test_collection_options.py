"""Every command that takes judgments takes a collection: its options, its file, its values."""

from __future__ import annotations

import json
import re
import sqlite3
from random import Random

import click
import polars as pl
import pytest

import rankgate
from rankgate.core.console.option_types import COLLECTION
from rankgate.interface.cli import COMMANDS
from rankgate.interface.cli import rankgate as program
from rankgate.measurement.collection_options import COLLECTION_NAMES
from support.command import assert_refused
from support.wording import raises

RANDOM = Random(5)
GRADES = {"Exact": 3, "Partial": 1, "Irrelevant": 0}
DOCUMENTS = [f"d{i}" for i in range(8)]
LABELS = {f"q{i}": {doc: RANDOM.choice(list(GRADES)) for doc in DOCUMENTS[:6]} for i in range(24)}
QRELS = {q: {doc: GRADES[label] for doc, label in row.items()} for q, row in LABELS.items()}
OLD, NEW = (
    {q: {doc: RANDOM.random() + lift * QRELS[q].get(doc, 0) for doc in DOCUMENTS} for q in QRELS}
    for lift in (0.05, 0.4)
)
COMMANDS_OF_COLLECTIONS = {
    "advise": "{} old.run new.run",
    "blindspots": "{} old.run new.run -m nDCG@5",
    "compare": "{} old.run new.run -m nDCG@5",
    "cutoff": "{} old.run new.run -m nDCG@5",
    "eval": "{} old.run new.run -m nDCG@5",
    "explain": "{} new.run --query q3 -m nDCG@5",
    "gate": "{} old.run new.run --redraws 0",
    "holes": "{} old.run new.run -m nDCG@5 --draws 20",
    "rank-similarity": "old.run new.run --qrels {} -m nDCG@5",
    "reconcile": "{} new.run -m nDCG@5",
    "reusability": "{} old.run new.run -m nDCG@5",
    "stages": "{} old.run new.run -m nDCG@5 --resamples 50",
    "total-error": "{} --baseline old.run --candidate new.run -m nDCG@5",
}
OTHERS = {"baseline", "next", "plot", "report", "scorecard"}
"""Commands with these options that have tests of their own for them."""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The same judgments as TREC writes them, and as a sheet with labels and other columns."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{q} 0 {doc} {grade}\n" for q, row in QRELS.items() for doc, grade in row.items()]
    (tmp_path / "qrels.txt").write_text("".join(rows))
    sheet = [f"{q},{doc},{label}\n" for q, row in LABELS.items() for doc, label in row.items()]
    (tmp_path / "qrels.csv").write_text("term,sku,label\n" + "".join(sheet))
    for name, scores in (("old", OLD), ("new", NEW)):
        rows = [f"{q} Q0 {d} 1 {s!r} {name}\n" for q, row in scores.items() for d, s in row.items()]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    grades = "{ Exact = 3, Partial = 1, Irrelevant = 0 }"
    (tmp_path / "collection.toml").write_text(
        '[collection]\njudgments = "qrels.csv"\nname = "qrels"\n'
        f'columns = "query=term,doc=sku,grade=label"\ngrades = {grades}\n'
    )
    return tmp_path


def _numbers(value):
    """Every number of a result, in order, without the fields that identify files."""
    if isinstance(value, dict):
        return [n for key in sorted(value) if "sha" not in key for n in _numbers(value[key])]
    if isinstance(value, list):
        return [number for item in value for number in _numbers(item)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", COMMANDS_OF_COLLECTIONS)
def test_a_sheet_with_labels_gives_the_numbers_of_plain_judgments(run, name):
    template = COMMANDS_OF_COLLECTIONS[name]
    options = ["--columns", "query=term,doc=sku,grade=label"]
    options += ["--grades", ",".join(f"{label}={grade}" for label, grade in GRADES.items())]
    results = []
    for source, file_options in (("qrels.txt", []), ("qrels.csv", options), ("collection.toml", [])):
        result = run(name, *template.format(source).split(), *file_options, "--format", "json")
        assert result.code in {0, 1, 3}, result.err  # 1 and 3 are verdicts
        results.append((result.code, _numbers(json.loads(result.out))))
    assert results[0][1]
    assert results[1] == results[0]
    assert results[2] == results[0]


COMMANDS_OF_FILES = {"convert", "describe", "validate"}


def test_every_command_with_judgments_has_every_option_of_a_collection():
    options_by_command = {}
    for name in COMMANDS:
        command = program.get_command(click.Context(program), name)
        for subcommand in (command, *getattr(command, "commands", {}).values()):
            options = {p.name for p in subcommand.params if getattr(p, "section", "") == COLLECTION}
            if options:
                options_by_command.setdefault(name, []).append(options)
    assert options_by_command.keys() >= COMMANDS_OF_COLLECTIONS.keys() | OTHERS
    for name, option_sets in options_by_command.items():
        options = {"columns", "grades"} if name in COMMANDS_OF_FILES else set(COLLECTION_NAMES)
        assert option_sets == [options] * len(option_sets), name


WITHOUT_FROM = {
    ("trec_eval",): "the command line of trec_eval, whose -R and -T name formats",
    ("cwl_eval",): "the command line and files of cwl_eval",
    ("ndeval",): "the command line and files of ndeval",
    ("gdeval",): "the command line and files of gdeval",
    ("audit",): "a table of a publication in Markdown, LaTeX or CSV",
    ("policy",): "a policy in TOML",
    ("sweep",): "a plan in TOML, which names the format of its files as FORMAT:PATH",
    ("engines", "check"): "an engine in TOML",
    ("alerts", "rules"): "rules in TOML",
    ("jobs", "run"): "a folder that is written",
    ("jobs", "set"): "jobs in TOML",
    ("store", "drill"): "an archive of a store",
    ("store", "restore"): "an archive of a store",
    ("store", "user", "add"): "a password",
    ("store", "user", "password"): "a password",
    ("history",): "--from is the folder of the history",
    ("attribute",): "--from is the folder of the history",
    ("metrics",): "a Python file",
    ("serve",): "certificates, settings and folders",
    ("mcp",): "a folder",
    ("doctor",): "a folder",
    ("init",): "a folder that is written",
    ("online", "map"): "a log whose format is not one of rankgate's",
    ("demo",): "a folder that is written",
}
"""Commands with paths and without ``--from FORMAT``, with the reason."""


def _all_commands(group, names=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _all_commands(command, (*names, name))
        else:
            yield (*names, name), command


def _reads_files(command):
    """True if an argument or option names a file that is not written."""
    inputs = [p for p in command.params if isinstance(p.type, click.Path) and not p.type.writable]
    return any(p.name not in {"output", "target"} and "-o" not in p.opts for p in inputs)


def test_every_command_that_reads_files_takes_their_format():
    commands = dict(_all_commands(program))
    assert len(commands) > 60
    assert commands.keys() >= WITHOUT_FROM.keys()
    readers, with_format = set(), set()
    for name, command in commands.items():
        flag = "--from-format" if name == ("reconcile",) else "--from"
        option = next((param for param in command.params if flag in param.opts), None)
        if option is not None and option.make_metavar(click.Context(command)) == "FORMAT":
            with_format.add(name)
        if _reads_files(command):
            readers.add(name)
    assert with_format == readers - WITHOUT_FROM.keys()


def test_a_format_is_that_of_the_files_that_can_have_it(files, run):
    lists = {"q1": {"took": 1, "hits": {"hits": [{"_id": "d1", "_score": 1.0}]}}}
    (files / "answers.json").write_text(json.dumps(lists))
    table = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "grade": [1]})
    table.write_csv(files / "judged.txt", separator="|")
    options = ("-m", "RR", "--format", "json")
    result = run("eval", "judged.txt", "answers.json", "--from", "Elasticsearch", *options)
    assert json.loads(result.out)["runs"][0]["mean"]["RR"] == 1.0
    result = run("eval", "trec:qrels.txt", "old.run", "--from", "trec", *options)
    assert result.code == 0, result.err
    assert_refused(run("eval", "qrels.txt", "old.run", "--from", "topics"), "format-cannot-hold")
    assert_refused(run("eval", "qrels.txt", "old.run", "--from", "elasticsearc"), "unknown-format")
    assert_refused(run("eval", "qrels.txt", "old.run", "--from", "json-table"), "invalid-json", "old.run", 1)


@pytest.mark.parametrize("name", COMMANDS_OF_COLLECTIONS)
def test_help_shows_options_of_a_collection_after_those_of_the_command(run, name):
    page = run(name, "--help-all").out
    assert page.index("\nOptions:") < page.index("\nOptions of the collection:")
    assert page.index("\nOptions of recommenders:") < page.index("--drop-seen")
    assert page.index("--drop-seen") < page.index("\nOptions of the output:")


@pytest.mark.parametrize("name", COMMANDS_OF_COLLECTIONS)
def test_help_names_every_option_and_explains_those_of_the_command(run, name):
    """The short page has each option of the long one, once; the collection's common ones with their help."""
    page, long_page = run(name, "--help").out, run(name, "--help-all").out
    explained, _, named = page.partition("Further options, which --help-all explains:")
    options, short_options = (
        set(re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", text)) for text in (long_page, explained)
    )
    assert options - short_options == set(re.findall(r"--[a-z-]+", named))
    assert len(page.splitlines()) < len(long_page.splitlines())
    assert all(f"\n  {option}" in explained for option in ("--ids", "--columns", "--grades", "--tags"))


def test_how_judged_documents_were_chosen_is_a_fact_of_judgments(run, files):
    (files / "pooled.toml").write_text('[collection]\njudgments = "qrels.txt"\nselection = "pooled"\n')
    options = ("old.run", "new.run", "-m", "nDCG@5", "--draws", "20", "--format", "json")
    pooled = json.loads(run("holes", "pooled.toml", *options).out)
    assert pooled == json.loads(run("holes", "qrels.txt", "--selection", "pooled", *options).out)
    assert pooled["selection"] == "pooled"
    overridden = json.loads(run("holes", "pooled.toml", "--selection", "unknown", *options).out)
    assert overridden == json.loads(run("holes", "qrels.txt", *options).out)
    with raises("unknown-choice", rankgate.UsageError):
        rankgate.Collection(QRELS, selection="best")


@pytest.mark.parametrize(
    ("verb", "field"),
    [
        ("holes", {"sample": "random"}),
        ("blindspots", {"predicted": QRELS}),
        ("total_error", {"sequences": "ids:(?P<sequence>.)"}),
        ("holes", {"items": rankgate.Items("items.csv", document="source")}),
    ],
)
def test_a_field_with_which_values_would_be_others_is_refused(verb, field):
    with raises("conflicting-options", rankgate.UsageError):
        getattr(rankgate, verb)(rankgate.Collection(QRELS, **field), OLD, NEW, ["nDCG@5"])


def test_items_that_users_had_leave_the_lists_in_every_verb():
    log = pl.DataFrame({"user_id": list(QRELS), "item_id": ["d0"] * len(QRELS)})
    collection = rankgate.Collection(QRELS, training=log, drop_seen=True)
    old, new = (
        {q: {d: s for d, s in row.items() if d != "d0"} for q, row in run.items()} for run in (OLD, NEW)
    )
    for verb in (rankgate.holes, rankgate.blindspots, rankgate.total_error):
        actual = verb(collection, {"old": OLD}, {"new": NEW}, ["nDCG@5"])
        expected = verb(QRELS, {"old": old}, {"new": new}, ["nDCG@5"])
        assert _numbers(actual.to_dict()) == _numbers(expected.to_dict()), verb
    value = rankgate.explain(collection, NEW, "q3", "nDCG@5").value
    assert value == rankgate.explain(QRELS, new, "q3", "nDCG@5").value


def test_a_run_has_the_name_that_it_is_given_by():
    assert rankgate.explain(QRELS, {"mine": NEW}, "q3", "RR").run == "mine"
    result = rankgate.holes(QRELS, {"before": OLD}, {"after": NEW}, ["nDCG@5"])
    assert (result.baseline, result.candidate) == ("before", "after")
    with raises("wrong-run-count", rankgate.UsageError):
        rankgate.explain(QRELS, {"one": OLD, "two": NEW}, "q3", "RR")


def test_a_field_of_a_test_that_a_verb_does_not_take_is_an_error():
    with raises("unused-option", rankgate.UsageError):
        rankgate.holes(QRELS, OLD, NEW, ["nDCG@5"], test=rankgate.Test(level=0.9))
    with raises("unused-option", rankgate.UsageError):
        rankgate.advise(QRELS, test=rankgate.Test(seed=3))


@pytest.mark.usefixtures("files")
def test_advice_takes_planned_judgments_in_the_place_of_judgments(run):
    plan = rankgate.PlannedJudgments(queries=50, grades=2)
    advice = rankgate.advise(plan, task="recommend")
    result = run("advise", "--queries", "50", "--grades", "2", "--task", "recommend", "--format", "json")
    assert json.loads(result.out) == json.loads(json.dumps(advice.to_dict()))
    assert run("advise", "qrels.txt", "--queries", "50").code == 2
    with raises("out-of-range", rankgate.UsageError):
        rankgate.PlannedJudgments(grades=1)


@pytest.mark.usefixtures("files")
def test_what_to_run_next_repeats_the_options_of_the_collection(run):
    options = (
        "--columns",
        "query=term,doc=sku,grade=label",
        "--grades",
        "Exact=3,Partial=1",
        "--grades",
        "Irrelevant=0",
    )
    page = run("advise", "qrels.csv", "old.run", "new.run", *options).out
    page_text = " ".join(page.replace("\\\n", " ").split())
    repeated = " ".join(options)
    for name in ("compare", "gate"):
        command = page_text.partition(f"rankgate {name} qrels.csv old.run new.run")[2]
        assert repeated in command.partition(" rankgate ")[0]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", ["report", "plot"])
def test_reports_and_charts_take_a_collection(run, name):
    templates = {
        "report": ("report", "{}", "old.run", "new.run", "-m", "nDCG@5", "--format", "csv"),
        "plot": ("plot", "deltas", "{}", "old.run", "new.run", "-m", "nDCG@5"),
    }[name]
    plain, shop = (
        run(*(word.format(source) for word in templates)) for source in ("qrels.txt", "collection.toml")
    )
    assert plain.code == 0, plain.err
    assert shop.code == 0, shop.err
    assert shop.out == plain.out


def test_the_gate_takes_tables_and_formats_of_the_baseline(files, run):
    with sqlite3.connect(files / "runs.db") as connection:
        for name, lists in (("old", OLD), ("new", NEW)):
            rows = [(q, doc, score) for q, row in lists.items() for doc, score in row.items()]
            connection.execute(f"CREATE TABLE {name} (query_id, doc_id, score)")
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)  # noqa: S608
    connection.close()
    plain = run("gate", "qrels.txt", "old.run", "new.run", "--redraws", "0")
    tables = run("gate", "qrels.txt", "runs.db:old", "runs.db:new", "--redraws", "0")
    trec_result = run("gate", "qrels.txt", "old.run", "new.run", "--redraws", "0", "--from", "trec")
    assert plain.code == tables.code == trec_result.code
    assert plain.out == trec_result.out
