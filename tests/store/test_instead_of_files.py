"""Commands read and write a project of a store instead of files."""

import json

import pytest

import rankgate
from rankgate.store.blobs import stored_results
from rankgate.store.stored_project import StoredProject
from support.command import assert_refused
from support.stores import address_of, mostly_sqlite  # noqa: F401 - new_store

OLD = "q1 Q0 a 1 3 o\nq1 Q0 b 2 2 o\nq2 Q0 c 1 1 o\n"
NEW = "q1 Q0 b 1 3 n\nq1 Q0 a 2 2 n\nq2 Q0 d 1 1 n\n"


@pytest.fixture
def url(new_store):
    """The address of an empty store, in both kinds."""
    return address_of(new_store)


@pytest.fixture
def shop(run, url, tmp_path, monkeypatch):
    """A store in the environment with a project and two runs."""
    monkeypatch.setenv("RANKGATE_STORE", url)
    monkeypatch.chdir(tmp_path)

    def call(*words, **how):
        result = run(*words, **how)
        assert result.code in (0, 3), result.err
        return result

    call("store", "project", "add", "shop", "--scale", "0..3")
    for name, lines in (("old", OLD), ("new", NEW)):
        (tmp_path / f"{name}.run").write_text(lines)
        call("store", "import", f"{name}.run", "--project", "shop")
    return call


def test_from_runs_to_a_verdict_without_files(shop, url):
    options = ("--project", "shop")
    shop("pool", "old", "new", *options, "--depth", "2", "--save-as", "first", "--strategy", "2")
    for name, keys in (("ann", b"33u2c?\n1"), ("bob", b"3321")):
        shop("rate", "first", *options, "--rater", name, stdin=keys)
    assert "by 2 raters" in shop("agree", "all", *options).out
    shop("resolve", "first", *options, "--rule", "mean", "--save-as", "gold")
    evaluation = json.loads(
        shop(
            "eval", "gold", "old", "new", *options, "-m", "nDCG@10", "--save-as", "e", "--format", "json"
        ).out
    )
    shop("gate", "gold", "old", "new", *options)
    with StoredProject.open(url, "shop") as project:
        expected = rankgate.evaluate(project.judgments("gold"), [project.run("old")], "nDCG@10")
        assert evaluation["runs"][0]["mean"] == {"nDCG@10": expected.means["nDCG@10"][0]}
        table = project.ratings("first").table
        with project.store.read() as connection:
            results = stored_results.list_results(connection, project.number)
            assert [result.kind for result in results] == ["verdict", "evaluation"]
            assert results[0].summary["verdict"] in {"pass", "fail", "inconclusive"}
            assert stored_results.read_result(results[1], project.store.blobs)["runs"] == evaluation["runs"]
    assert set(table["rater"]) == {"ann", "bob"}
    assert "withdrawn" in table["reason"].to_list()
    assert table["seconds"].null_count() == 1
    # the same as with files
    format_options = ("--as", "qrels", "--to", "trec")
    shop("store", "export", "gold.txt", *options, *format_options, "--judgments", "gold")
    files = shop("eval", "gold.txt", "old.run", "-m", "nDCG@10", "--format", "json").out
    assert json.loads(files)["runs"][0]["mean"] == evaluation["runs"][0]["mean"]


@pytest.fixture
def judged(shop, tmp_path, url):
    """A project with judgments, tagged queries and documents, and the same in files."""
    queries = "query_id,text,part,frequency\nq1,mug,head,3\nq2,lamp,tail,1\n"
    (tmp_path / "queries.csv").write_text(queries)
    (tmp_path / "tags.csv").write_text("query_id,text,part\nq1,mug,head\nq2,lamp,tail\n")
    (tmp_path / "weights.csv").write_text("query_id,weight\nq1,3\nq2,1\n")
    (tmp_path / "documents.csv").write_text("doc_id,kind\na,cup\nb,cup\nc,light\nd,light\n")
    (tmp_path / "gold.txt").write_text("q1 0 a 2\nq1 0 b 1\nq2 0 c 1\n")
    (tmp_path / "model.txt").write_text("q1 0 a 1\nq1 0 b 2\nq2 0 c 1\n")
    for name in ("queries.csv", "documents.csv"):
        shop("store", "import", name, "--project", "shop")
    with StoredProject.open(url, "shop") as project:
        project.add_judgments(rankgate.read_qrels("gold.txt"), "gold")
        project.add_judgments(rankgate.read_qrels("model.txt"), "model")
    return shop


NAMES = {
    "gold.txt": "gold",
    "model.txt": "model",
    "old.run": "old",
    "new.run": "new",
    "documents.csv": "documents",
    "weights.csv": "queries",
}


COMMANDS = [
    "eval gold.txt old.run new.run -m nDCG@10 --slice part --tags tags.csv",
    "eval gold.txt old.run -m nDCG@10 --sample weights.csv",
    "eval gold.txt old.run -m ILD@2 --items documents.csv --category kind",
    "compare gold.txt old.run new.run -m nDCG@10 --slice part --tags tags.csv",
    "compare gold.txt old.run new.run -m P@1 --sample random --predicted model.txt --tags tags.csv",
    "scorecard gold.txt old.run --category kind --items documents.csv --resamples 1",
    "scorecard gold.txt new.run --earlier old.run --resamples 1",
    "explain gold.txt old.run --query q1 -m nDCG@10",
    "reconcile gold.txt old.run -m nDCG@10",
    "blindspots gold.txt old.run new.run -m nDCG@10",
    "holes gold.txt old.run new.run -m nDCG@10 --tags tags.csv",
    "stages gold.txt old.run new.run -m nDCG@10",
    "advise gold.txt old.run new.run",
    "reusability gold.txt old.run new.run -m nDCG@10",
    "rank-similarity old.run new.run --qrels gold.txt -m nDCG@10",
    "total-error a:1=gold.txt a:2=model.txt --baseline old.run --candidate new.run -m P@1",
    "gate gold.txt old.run new.run",
]


@pytest.fixture(scope="module")
def figures_of_files():
    """The figures that each command gives for the files; the database does not change them."""
    return {}


def test_commands_read_a_project_as_files(judged, figures_of_files):
    for command in COMMANDS:
        by_name = []
        for word in command.split():
            label, equals, name = word.rpartition("=")
            by_name.append(label + equals + NAMES.get(name, name))
        if "--tags" in by_name:  # those of the project are there by themselves
            del by_name[-2:]
        stored = judged(*by_name, "--project", "shop", "--format", "json")
        if command not in figures_of_files:
            files = judged(*command.split(), "--format", "json")
            figures_of_files[command] = _figures(json.loads(files.out))
        assert _figures(json.loads(stored.out)) == figures_of_files[command], command


def _figures(value):
    """Numbers and their names, without hashes and texts."""
    if isinstance(value, dict):
        return {name: _figures(inner) for name, inner in value.items() if "sha256" not in name}
    if isinstance(value, list):
        return [_figures(inner) for inner in value]
    return None if isinstance(value, str) else value


def test_single_ratings_are_scored_as_searchtweak_does(shop, tmp_path):
    lines = "query_id,doc_id,rater,grade\nq1,a,ann,3\nq1,a,bob,2\nq1,b,ann,0\nq2,c,ann,1\n"
    (tmp_path / "ratings.csv").write_text(lines)
    shop("store", "import", "ratings.csv", "--project", "shop")
    options = ("-m", "P@2", "--convention", "searchtweak", "--scale", "graded", "--format", "json")
    from_store = shop("eval", "all", "old", "--project", "shop", *options)
    from_files = shop("eval", "ratings.csv", "old.run", *options)
    from_store, from_files = (json.loads(result.out)["parts"] for result in (from_store, from_files))
    assert from_store
    for store_part, file_part in zip(from_store, from_files, strict=True):
        assert store_part["runs"] == file_part["runs"]


@pytest.mark.usefixtures("shop")
def test_what_the_project_has_not(run):
    for words, code in (
        ("eval none old", "unknown-judgments"),
        ("agree none", "unknown-batch"),
        ("agree all", "no-judgments"),
        ("pool old none", "unknown-run"),
        ("rate none --rater ann", "unknown-batch"),
        ("rate none --rater ann -o x.jsonl", "conflicting-options"),
    ):
        assert_refused(run(*words.split(), "--project", "shop"), code)


def test_options_that_need_each_other(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_refused(run("eval", "a", "b", "--store", "x.db"), "missing-input")
    assert_refused(run("resolve", "a", "--save-as", "x"), "missing-input")
    assert_refused(run("rate", "a"), "missing-input")
