"""Runs without judgments: what changed, and lines that lead to a verdict as they are printed."""

import json
import random
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest

from rankgate import pool, rank_similarity
from rankgate.core.errors import UsageError
from rankgate.judging.pooling.pool_sampling import PoolDesign
from support.pasting import paste, printed_lines

QUERIES, UNCHANGED = 14, 2


def lists(seed):
    """Ids end with their grade, so that a rater can read it: the best first, or shuffled."""
    rng = random.Random(seed)
    runs = {"old.run": {}, "new.run": {}}
    for number in range(QUERIES):
        documents = [f"d{number}-{place}-{rng.choice([0, 1, 2, 3])}" for place in range(8)]
        best_first = sorted(documents, key=lambda document: (-int(document[-1]), document))
        shuffled = best_first[::-1] if number >= UNCHANGED else best_first
        runs["old.run"][f"q{number}"], runs["new.run"][f"q{number}"] = shuffled, best_first
    return runs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # of the pages that are opened
    for name, ranking in lists(3).items():
        lines = (
            f"{query} Q0 {document} {rank} {9 - rank} {name}\n"
            for query, documents in ranking.items()
            for rank, document in enumerate(documents, 1)
        )
        (tmp_path / name).write_text("".join(lines))
    return tmp_path


def grade(document):
    return document[-1]


@pytest.mark.parametrize(("verb", "code"), [("gate", 3), ("compare", 0)])
def test_printed_lines_lead_to_a_verdict(folder, run, verb, code):
    shown = run(verb, "old.run", "new.run")
    assert (shown.code, shown.err) == (code, "")
    assert "12 of 14 lists changed: 12 in the first 3 documents" in " ".join(shown.out.split())
    pool_line, rate_line, resolve_line, verdict_line, *browser, open_line = printed_lines(shown.out)
    assert paste(run, pool_line).code == 0
    drawn = pl.read_csv(folder / "pool.csv")
    assert not {"q0", "q1"} & {*drawn["query"]}  # unchanged ones are not judged
    assert paste(run, rate_line, grade).code == 0
    assert paste(run, resolve_line).code == 0
    verdict = paste(run, verdict_line)
    assert verdict.code == 0
    if verb == "gate":
        assert verdict.out.startswith("PASS: new may replace old")
    assert paste(run, open_line).code == 0
    store_init, store_import, serve, resolve = browser
    assert serve == "rankgate serve --store judging.db"
    for line in (store_init, store_import):
        assert paste(run, line).code == 0
    assert run("store", "import", "ratings.jsonl", "--project", "judging", "--store", "judging.db").code == 0
    judgments = (folder / "judgments.csv").read_text()
    assert paste(run, resolve).code == 0
    assert sorted((folder / "judgments.csv").read_text().splitlines()) == sorted(judgments.splitlines())


def test_more_queries_contain_the_first_ones(folder):
    runs = [folder / "old.run", folder / "new.run"]
    drawn = [
        {*pool(runs, PoolDesign(depth=3, queries=count, query_sampling="changed")).table["query_id"]}
        for count in (3, 7, 12)
    ]
    assert drawn[0] < drawn[1] < drawn[2]
    assert drawn[2] == {f"q{number}" for number in range(UNCHANGED, QUERIES)}
    with pytest.raises(UsageError) as refused:
        pool(runs[:1], PoolDesign(queries=1, query_sampling="changed"))
    assert refused.value.code == "nothing-to-rate"


def test_changes_are_counted_by_rank():
    old = {"a": ["x", "y", "z", "w"], "b": ["x", "y"], "c": ["x", "y", "z", "v"]}
    new = {"a": ["x", "y", "z", "w"], "b": ["n", "x"], "c": ["x", "y", "z", "u"]}
    changes = rank_similarity(old, new).changes
    assert changes.rows() == [("b", 1, 1, 1), ("c", 4, 0, 1), ("a", None, 0, 0)]


@pytest.mark.usefixtures("folder")
def test_equal_lists_need_no_judgments(run):
    shown = run("gate", "old.run", "old.run")
    assert shown.code == 3
    assert not printed_lines(shown.out)


@pytest.mark.usefixtures("folder")
def test_the_page_has_both_lists_and_the_lines(run):
    page = run("gate", "old.run", "new.run", "--format", "html").out
    assert page.count('<table class="lists">') == QUERIES
    assert "rankgate pool old.run new.run" in page
    assert "<script src" not in page
    result = json.loads(run("gate", "old.run", "new.run", "--format", "json").out)
    assert (result["kind"], len(result["changes"])) == ("rank_similarity", QUERIES)
    refused = run("gate", "old.run", "new.run", "--format", "junit")
    assert (refused.code, refused.error.code) == (2, "missing-input")


@pytest.mark.usefixtures("folder")
def test_one_set_of_answers_leads_to_a_number_and_a_baseline(run):
    shown = run("gate", "old.run")
    assert shown.code == 3
    pool_line, rate_line, resolve_line, eval_line, save_line, next_line = printed_lines(shown.out)
    assert paste(run, pool_line).code == 0
    assert paste(run, rate_line, grade).code == 0
    assert all(paste(run, line).code == 0 for line in (resolve_line, eval_line, save_line))
    assert paste(run, next_line.replace("NEW_RUN", "new.run")).code == 3
    assert run("gate", "judgments.csv", "today", "new.run", "-m", "nDCG@3").code in {0, 1, 3}


class _Engine(BaseHTTPRequestHandler):
    """A search engine that returns the best first once it is changed."""

    lists = lists(3)["old.run"]

    def do_POST(self):
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["q"]
        body = json.dumps({"hits": [{"id": document} for document in self.lists[query]]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_a_live_engine_leads_to_what_changed(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.tsv").write_text("".join(f"q{n}\tq{n}\n" for n in range(QUERIES)))
    with ThreadingHTTPServer(("127.0.0.1", 0), _Engine) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        (tmp_path / "engine.toml").write_text(
            f'[engine]\nkind = "http"\nurl = "{address}"\nhits = "hits"\nid = "id"\nmethod = "POST"\n'
            '[engine.body]\nq = "{{query}}"\n'
        )
        refused = run("gate", "engine.toml", "queries.tsv")
        assert (refused.code, refused.error.code) == (2, "missing-input")
        today, alone, changed, together = printed_lines(refused.err)
        assert paste(run, today).code == 0, paste(run, today).err
        assert paste(run, alone).code == 3
        monkeypatch.setattr(_Engine, "lists", lists(3)["new.run"])
        assert paste(run, changed).code == 0
        server.shutdown()
    shown = paste(run, together)
    assert shown.code == 3
    assert "12 of 14 lists changed" in shown.out


@pytest.mark.usefixtures("folder")
def test_one_judged_run_is_no_pair_of_runs(run, folder):
    (folder / "qrels.txt").write_text("q0 0 d0-0-1 1\n")
    refused = run("compare", "qrels.txt", "old.run")
    assert (refused.code, refused.error.code) == (2, "missing-input")


def test_lines_keep_the_names_of_columns(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, order in (("old", 1), ("new", -1)):
        rows = [f"q{n};d{n}-{k}-{k % 4};{order * k}\n" for n in range(12) for k in range(8)]
        (tmp_path / f"{name} list.csv").write_text("customer;item;prediction\n" + "".join(rows))
    columns = ("--columns", "query=customer,doc=item,score=prediction")
    shown = run("gate", "old list.csv", "new list.csv", *columns)
    assert shown.code == 3
    for line in printed_lines(shown.out)[:3]:
        assert paste(run, line, grade).code == 0
    assert paste(run, printed_lines(shown.out)[3]).code in {0, 1, 3}
    assert run("gate", "old list.csv", "new list.csv").error.code == "missing-column"
