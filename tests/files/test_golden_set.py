"""``validate --golden``: each fault is planted alone, and a clean set has no finding."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace

import polars as pl
import pytest

from rankgate import Collection, Items, advise, validate
from rankgate.core.errors import EXTRAS, MissingExtraError
from rankgate.data.files.checks import golden_checks
from rankgate.data.text import near_duplicates as near
from support.command import assert_refused
from support.wording import raises

TODAY = "2026-06-30"
WORDS = [a + b + c for a in "bdfglmnprst" for b in "aeiou" for c in "bdfglmnprst"]
QUERIES, DOCUMENTS = 60, 5


def sentence(rng, length):
    return " ".join(rng.choice(WORDS) for _ in range(length))


@dataclass(frozen=True)
class Set:
    """A golden set in memory; `files` writes it."""

    grades: dict = field(default_factory=dict)
    texts: dict = field(default_factory=dict)
    documents: dict = field(default_factory=dict)
    ratings: tuple = ()
    runs: dict = field(default_factory=dict)
    clusters: dict = field(default_factory=dict)

    def files(self, folder):
        lines = [f"{query} 0 {doc} {grade}\n" for (query, doc), grade in self.grades.items()]
        (folder / "qrels.txt").write_text("".join(lines))
        table = pl.DataFrame({"query_id": list(self.texts), "text": list(self.texts.values())})
        if self.clusters:
            table = table.with_columns(cluster=pl.col("query_id").replace_strict(self.clusters, default=None))
        table.write_csv(folder / "queries.csv")
        rows = [
            json.dumps({"_id": doc, "title": "", "text": text}) + "\n" for doc, text in self.documents.items()
        ]
        (folder / "corpus.jsonl").write_text("".join(rows))
        schema = ("query_id", "doc_id", "rater", "grade", "at")
        pl.DataFrame(self.ratings, schema=schema, orient="row").write_csv(folder / "ratings.csv")
        names = ["qrels.txt", "queries.csv", "corpus.jsonl", "ratings.csv"]
        for name, lists in self.runs.items():
            lines = [
                f"{query} Q0 {doc} {rank} {99 - rank} t\n"
                for query, docs in lists.items()
                for rank, doc in enumerate(docs, 1)
            ]
            (folder / f"{name}.run").write_text("".join(lines))
            names.append(f"{name}.run")
        return [str(folder / name) for name in names]


@pytest.fixture
def clean():
    """60 queries with 5 judged documents each, judged by people this year; two systems."""
    rng = random.Random(3)
    queries = [f"q{n}" for n in range(QUERIES)]
    pairs = [(query, f"{query}-d{n}") for query in queries for n in range(DOCUMENTS)]
    grades = {(query, doc): (3, 2, 1, 0, 0)[i % DOCUMENTS] for i, (query, doc) in enumerate(pairs)}
    ratings = tuple(
        (query, doc, rng.choice(["ann", "bob"]), 1.0, "2026-03-01T09:00:00Z") for query, doc in pairs
    )
    lists = {query: [f"{query}-d{n}" for n in range(DOCUMENTS)] for query in queries}
    other = {
        query: [docs[1], docs[0], *docs[2:]] if i % 4 == 0 else docs
        for i, (query, docs) in enumerate(lists.items())
    }
    return Set(
        grades,
        {query: sentence(rng, 6) for query in queries},
        {doc: sentence(rng, 40) for _, doc in pairs},
        ratings,
        {"old": lists, "new": other},
    )


def findings(golden, folder):
    """The findings of the golden set; none of any other check may be an error."""
    result = validate(golden.files(folder), golden=True, today=TODAY)
    assert result.valid
    names = {check.name for check in vars(golden_checks).values() if getattr(check, "needs", "") == "golden"}
    return {problem.check: problem for problem in result.problems if problem.check in names}


@pytest.mark.datasketch
def test_a_clean_set_has_no_finding(clean, tmp_path):
    result = validate(clean.files(tmp_path), golden=True, today=TODAY)
    assert [problem.check for problem in result.problems if problem.severity != "note"] == []
    assert findings(clean, tmp_path) == {}


def only(golden, folder, name):
    """The single finding of a set with one fault."""
    result = findings(golden, folder)
    assert list(result) == [name]
    return result[name]


@pytest.mark.datasketch
def test_queries_copied_from_their_own_documents(clean, tmp_path):
    copies = {f"q{n}": " ".join(clean.documents[f"q{n}-d0"].split()[5:12]) for n in range(3)}
    # from a document that is not relevant, and five words with one changed in the middle: no copies
    irrelevant = {"q10": " ".join(clean.documents["q10-d4"].split()[5:12])}
    words = clean.documents["q11-d0"].split()[:5]
    changed = {"q11": " ".join([*words[:2], "and", *words[3:]])}
    golden = replace(clean, texts={**clean.texts, **copies, **irrelevant, **changed})
    finding = only(golden, tmp_path, "copied-query")
    assert (finding.count, finding.line, finding.severity) == (3, 1, "warning")
    assert "q0-d0" in finding.example


@pytest.mark.datasketch
def test_judged_documents_that_the_corpus_lacks(clean, tmp_path):
    documents = {doc: text for doc, text in clean.documents.items() if doc not in {"q1-d0", "q2-d4"}}
    finding = only(replace(clean, documents=documents), tmp_path, "documents-missing")
    assert finding.count == 2
    assert "1 of them relevant" in finding.what
    assert "rankgate reanchor" in finding.fix


@pytest.mark.datasketch
def test_near_duplicate_queries(clean, tmp_path):
    text = "how to return a pair of running shoes"
    texts = {**clean.texts, "q4": text, "q5": f"{text}?", "q6": f"{text}s", "q7": "how to return a table"}
    result = findings(replace(clean, texts=texts), tmp_path)
    assert list(result) == ["near-duplicate-queries"]
    assert result["near-duplicate-queries"].count == 2


@pytest.mark.datasketch
def test_near_duplicates_of_relevant_documents(clean, tmp_path):
    copy = f"{clean.documents['q0-d0']} more"
    unjudged = replace(clean, documents={**clean.documents, "copy": copy})
    assert (
        "0 with a lower grade for the same query and 1 unjudged"
        in only(unjudged, tmp_path, "near-duplicate-documents").what
    )
    other_grade = replace(clean, documents={**clean.documents, "q0-d3": copy})
    finding = only(other_grade, tmp_path, "near-duplicate-documents")
    assert (finding.count, finding.example) == (1, "query q0, documents q0-d0 and q0-d3")
    same_grade = replace(other_grade, grades={**clean.grades, ("q0", "q0-d3"): 3})
    assert findings(same_grade, tmp_path) == {}
    # documents that are not judged may be copies of each other
    both = replace(clean, documents={**clean.documents, "x": copy[::-1], "y": copy[::-1]})
    assert findings(both, tmp_path) == {}


@pytest.mark.datasketch
@pytest.mark.parametrize(
    ("rater", "run", "own"),
    [
        ("gpt-4o", "GPT-4o_rerank", True),
        ("judge-gpt-4o", "gpt-4o", True),
        ("gpt-4o", "gpt-4", False),
        ("ann", "annoy", False),
        ("m2", "m2", False),  # too short to tell
    ],
)
def test_labels_by_a_judged_model(clean, tmp_path, rater, run, own):
    ratings = tuple((*row[:2], rater if i < 10 else row[2], *row[3:]) for i, row in enumerate(clean.ratings))
    golden = replace(clean, ratings=ratings, runs={"old": clean.runs["old"], run: clean.runs["new"]})
    result = findings(golden, tmp_path)
    assert list(result) == (["own-labels"] if own else [])
    assert not own or result["own-labels"].count == 10


@pytest.mark.datasketch
def test_queries_in_clusters(clean, tmp_path):
    clusters = {f"q{n}": f"c{n // 3}" for n in range(QUERIES)}
    finding = only(replace(clean, clusters=clusters), tmp_path, "related-queries")
    assert "20 clusters" in finding.what
    unrelated = {f"q{n}": f"c{n}" for n in range(QUERIES)}
    assert findings(replace(clean, clusters=unrelated), tmp_path) == {}


@pytest.mark.datasketch
def test_too_few_queries_and_what_helps_most(clean, tmp_path):
    reversed_lists = {query: docs[::-1] for query, docs in clean.runs["old"].items()}
    noisy = {
        query: reversed_lists[query] if i % 2 else docs
        for i, (query, docs) in enumerate(clean.runs["old"].items())
    }
    golden = replace(clean, runs={"old": clean.runs["old"], "new": noisy})
    finding = only(golden, tmp_path, "too-few-queries")
    assert "of these runs" in finding.what
    assert finding.fix.startswith("add queries: ")
    unjudged = [f"u{n}" for n in range(5)]
    holes = {query: unjudged + docs if i % 2 else docs for i, (query, docs) in enumerate(noisy.items())}
    finding = only(
        replace(golden, runs={"old": clean.runs["old"], "new": holes}), tmp_path, "too-few-queries"
    )
    assert finding.fix.startswith("judge what the systems show first, as 75%")
    clusters = {f"q{n}": f"c{n // 4}" for n in range(QUERIES)}
    result = findings(replace(golden, clusters=clusters), tmp_path)
    assert list(result) == ["related-queries", "too-few-queries"]
    assert "take other topics" in result["too-few-queries"].fix
    few = replace(clean, grades={pair: grade for pair, grade in clean.grades.items() if pair[0] == "q0"})
    assert "no difference" in findings(few, tmp_path)["too-few-queries"].what


@pytest.mark.datasketch
def test_old_judgments(clean, tmp_path):
    def at(year, count):
        rows = [(*row[:4], f"{year}-03-01T09:00:00Z") for row in clean.ratings[:count]]
        return replace(clean, ratings=(*rows, *clean.ratings[count:]))

    finding = only(at(2024, 200), tmp_path, "old-judgments")
    assert (finding.count, finding.example) == (200, "the oldest is of 2024-03-01")
    assert findings(at(2024, 100), tmp_path) == {}


def test_missing_files_and_packages_are_named(clean, tmp_path, monkeypatch):
    monkeypatch.setattr(golden_checks, "is_installed", lambda module: module not in EXTRAS)
    qrels, queries, *_ = clean.files(tmp_path)
    result = validate([qrels, queries], golden=True, today=TODAY)
    problems = [problem for problem in result.problems if problem.check == "golden-inputs"]
    assert [(problem.severity, problem.count) for problem in problems] == [("note", 3), ("note", 1)]
    assert "documents (" in problems[0].what
    assert problems[1].fix == "pip install 'rankgate[golden]'"
    monkeypatch.setattr(near, "require", _refuse)
    with raises("missing-extra", MissingExtraError):
        list(near.near_duplicates({"a": "b"}, {}, "words"))


def _refuse(purpose, *_):
    raise MissingExtraError(f"{purpose}; pip install 'rankgate[golden]'.")


def test_a_set_without_judgments_is_refused(run, clean, tmp_path):
    _, queries, *_ = clean.files(tmp_path)
    assert_refused(run("validate", "--golden", queries), "no-judgments")


@pytest.mark.datasketch
def test_the_command_checks_a_set_and_warnings_do_not_fail(run, clean, tmp_path):
    golden = replace(clean, documents={doc: text for doc, text in clean.documents.items() if doc != "q1-d0"})
    result = run("validate", "--golden", *golden.files(tmp_path), "--format", "json")
    assert result.code == 0
    values = json.loads(result.out)
    assert "documents-missing" in {problem["check"] for problem in values["problems"]}


def shared(first, second):
    return len(first & second) / len(first | second)


@pytest.mark.datasketch
def test_near_duplicates_are_those_that_share_four_fifths():
    """Against a comparison of every pair: none that is not one, and few are missed."""
    rng = random.Random(5)
    texts = {}
    for n in range(60):
        words = sentence(rng, 60).split()
        texts[f"{n}a"] = " ".join(words)
        for position in rng.sample(range(60), rng.randint(0, 6)):
            words[position] = rng.choice(WORDS)
        texts[f"{n}b"] = " ".join(words)
    grams = {name: near.shingles(text, "words") for name, text in texts.items()}
    names = list(texts)
    expected = {
        (one, other)
        for i, one in enumerate(names)
        for other in names[i + 1 :]
        if shared(grams[one], grams[other]) >= near.NEAR
    }
    pairs = set(near.near_duplicates(texts, {}, "words"))
    assert pairs <= expected
    assert len(pairs) >= 0.95 * len(expected) > 10


@pytest.mark.datasketch
def test_advice_names_the_faults_of_a_set(clean, tmp_path):
    copied = replace(clean, texts={**clean.texts, "q0": " ".join(clean.documents["q0-d0"].split()[:9])})
    for golden, codes in ((clean, []), (copied, ["copied-query"])):
        qrels, queries, corpus, _, *runs = golden.files(tmp_path)
        pl.read_ndjson(corpus).rename({"_id": "doc_id"}).write_csv(tmp_path / "docs.csv")
        advice = advise(Collection(qrels, tags=queries, items=Items(str(tmp_path / "docs.csv"))), runs)
        assert [notice.code for notice in advice.input_notices] == codes
