"""``rankgate report``: one page, whole, escaped, without anything from elsewhere."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from support.command import assert_refused

HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"
VOID = {"meta", "br", "input", "path", "circle"}


class Page(HTMLParser):
    """Checks that every tag is closed, and keeps what there is."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.ids, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name == "href"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(text):
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Twelve queries with a hostile document each; new loses what old finds in four of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(
        "".join(f"q{i} 0 <b>good</b> 3\nq{i} 0 half 0.5\nq{i} 0 bad 0\n" for i in range(12))
    )
    for name, order in {
        "old": lambda i: ["<b>good</b>", "half", "bad", "x"] if i % 3 else ["bad", "half"],
        "new": lambda i: ["half", "bad", "<b>good</b>"] if i % 3 == 1 else ["<b>good</b>", "half"],
        "other": lambda _: ["bad", "half", "y"],
    }.items():
        rows = [f"q{i} Q0 {d} {r} {9 - r} t\n" for i in range(12) for r, d in enumerate(order(i), 1)]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    return ["qrels.txt", "old.run", "new.run"]


def test_the_page_is_whole_and_asks_for_nothing(run, data):
    result = run("report", *data, "-m", "RR", "-m", "nDCG@10", "--gate")
    assert result.code == 0, result.err
    page = read(result.out)
    assert "://" not in result.out
    assert not {name for name, _ in page.attributes} & {"src", "onclick", "onerror", "onload"}
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert "url(" not in result.out
    assert "@import" not in result.out


def test_only_the_page_s_own_script_may_run(run, data):
    text = run("report", *data).out
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_it_tells_verdict_metrics_worst_queries_and_how_to_make_it_again(run, data):
    result = run("report", *data, "-m", "RR@10", "--gate", "--worst", "3")
    page = read(result.out)
    text = " ".join("".join(page.words).split())
    assert "inconclusive: not settled whether new may replace old" in text
    assert "3 of 4 queries that lost RR@10, the largest change first" in text
    assert "What the metrics do not see" in text
    assert "What unjudged documents could change" in text
    assert "rankgate report qrels.txt old.run new.run -m RR@10 --gate --worst 3" in text
    assert len([page_id for page_id in page.ids if page_id.startswith("q1-0-")]) == 3 + 4  # and gained
    assert "0.5" in text  # a grade keeps its decimals


def test_documents_and_queries_have_their_words_and_they_stay_words(run, data, tmp_path):
    (tmp_path / "docs.jsonl").write_text(
        json.dumps({"_id": "<b>good</b>", "title": HOSTILE, "text": "long " * 200}) + "\n"
    )
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": f"q{i}", "text": HOSTILE + str(i)}) + "\n" for i in range(12))
    )
    result = run("report", *data, "-m", "RR", "--documents", "docs.jsonl", "--queries", "queries.jsonl")
    assert result.code == 0, result.err
    page = read(result.out)
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert "alert(1)" in "".join(page.words)
    assert "…" in "".join(page.words)  # a long text is cut
    assert "<b>good" not in result.out


def test_a_recorded_verdict_has_the_texts_of_its_queries(run, data, tmp_path):
    """Its table of queries has only ids; on a page the texts are shown below them."""
    texts = "".join(json.dumps({"_id": f"q{i}", "text": f"words <{i}>"}) + "\n" for i in range(12))
    (tmp_path / "words.jsonl").write_text(texts)
    (tmp_path / "verdict.json").write_text(run("gate", *data[:3], "--format", "json").out)
    plain, explained = (
        run("report", "verdict.json", *options).out for options in ((), ("--queries", "words.jsonl"))
    )
    section = explained.split('id="worst"')[1].split("</section>")[0]
    queries = re.findall(r'<th scope="row">(?:<a [^>]*>)?(q\d+)', section)
    assert queries
    for query in queries:
        assert f'<span class="dim"><bdi>words &lt;{query[1:]}&gt;</bdi></span>' in section
    assert "words &lt;" not in plain


@pytest.mark.usefixtures("data")
def test_hostile_names(run, tmp_path):
    name = "<svg onload=alert(1)>.run"
    (tmp_path / name).write_text((tmp_path / "new.run").read_text())
    result = run("report", "qrels.txt", "old.run", name, "--gate")
    assert result.code == 0
    assert "<svg onload" not in result.out
    read(result.out)


def test_several_candidates(run, data):
    result = run("report", *data, "other.run", "-m", "RR@10")
    page = read(result.out)
    text = "".join(page.words)
    assert {"change-0-0", "change-0-1", "systems", "blindspots-1", "holes-1"} <= set(page.ids)
    assert "other against old" in text
    assert len(page.ids) == len(set(page.ids))


def test_same_inputs_same_bytes(run, data):
    assert run("report", *data, "--gate").out == run("report", *data, "--gate").out


def test_the_policy_names_the_metrics(run, data, tmp_path):
    (tmp_path / "p.toml").write_text('[[rules]]\nkind = "noninferiority"\nmetric = "P@1"\nmargin = 0.1\n')
    result = run("report", *data, "--policy", "p.toml", "-o", "page.html")
    assert result.code == 0
    text = (tmp_path / "page.html").read_text()
    assert "P@1" in text
    assert "nDCG@10" not in text.split('id="blindspots"')[0]


@pytest.mark.parametrize("option", ["--documents", "--queries"])
def test_a_file_without_texts_is_reported(run, data, option):
    assert_refused(run("report", *data, option, "qrels.txt"), "no-such-content")


def test_holes_that_cannot_be_asked_for_are_reported(run, data):
    assert "no metric here looks only at the first 10" in run("report", *data, "-m", "RR").out


@pytest.mark.parametrize("place", [0, 1, 2])
def test_standard_input_is_read_once(run, data, tmp_path, place):
    file_output = run("report", *data, "-m", "RR@10", "--gate").out
    arguments = [*data[:place], "-", *data[place + 1 :]]
    piped = run("report", *arguments, "-m", "RR@10", "--gate", stdin=(tmp_path / data[place]).read_bytes())
    assert piped.code == 0, piped.err
    assert piped.out.count("<tr>") == file_output.count("<tr>")


def test_a_verdict_is_of_the_first_candidate_alone(run, data):
    page = read(run("report", *data, "other.run", "-m", "RR@10", "--gate").out)
    text = " ".join("".join(page.words).split())
    assert "inconclusive: not settled whether new may replace old" in text
    assert "Compared too, without a verdict: other." in text
    page = read(run("report", *data, "other.run", "-m", "RR@10").out)
    assert "2 systems against old" in "".join(page.words)
