"""Judgments are moved to documents with new passages and ids, without wrong grades."""

import gzip
import json
import re

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError
from rankgate.data.files.document_anchors import Texts
from support.wording import raises

OLD = {
    "p1": "To reset your password, open the settings, choose security and press reset.",
    "p2": "A link is sent to your address; it is valid for one hour.",
    "p3": "Invoices are sent by mail on the first of each month, as a file that can be printed.",
    "p4": "The tax number is on the first page of each invoice, below the address.",
    "p5": "We were founded in a garage by three friends who liked search.",
}


def carried(new, grades, old=OLD):
    return rankgate.reanchor({"q": grades}, old, new)


def graded(found):
    return dict(found.judgments.select("doc_id", "grade").iter_rows())


def statuses(found):
    return dict(found.labels.select("old_doc", "status").iter_rows())


def test_the_same_text_is_valid_or_moved():
    result = carried({"p1": OLD["p1"].upper(), "x": OLD["p2"]}, {"p1": 2, "p2": 0, "p5": 1})
    assert graded(result) == {"p1": 2, "x": 0}
    assert statuses(result) == {"p1": "valid", "p2": "moved", "p5": "lost"}
    assert [notice.code for notice in result.notices] == ["relevant-unjudged"]


def test_an_id_that_is_used_again_is_not_the_same_document():
    result = carried({"p1": OLD["p2"], "p2": OLD["p1"]}, {"p1": 2, "p2": 0})
    assert graded(result) == {"p1": 0, "p2": 2}
    assert set(statuses(result).values()) == {"moved"}


def test_a_relevant_document_makes_a_longer_one_relevant():
    longer = {"x": f"{OLD['p1']} {OLD['p2']}"}
    assert graded(carried(longer, {"p1": 2, "p2": 0})) == {"x": 2}
    assert graded(carried(longer, {"p1": 2})) == {"x": 2}
    assert graded(carried(longer, {"p1": 0, "p2": 0})) == {"x": 0}
    assert graded(carried(longer, {"p1": 0})) == {}  # nobody judged the rest
    assert statuses(carried(longer, {"p1": 0})) == {"p1": "merged"}


def test_parts_of_a_relevant_document_are_unjudged():
    tokens = OLD["p3"].split()
    parts = {"x": " ".join(tokens[:9]), "y": " ".join(tokens[9:])}
    result = carried(parts, {"p3": 2})
    assert statuses(result) == {"p3": "split"}
    assert graded(result) == {}
    assert set(result.decisions["new_doc"]) == {"x", "y"}
    assert graded(carried(parts, {"p3": 0})) == {"x": 0, "y": 0}


def test_part_of_a_more_relevant_document_makes_a_grade_unknown():
    mixed = {"x": f"{OLD['p1']} {' '.join(OLD['p3'].split()[:9])}"}
    assert graded(carried(mixed, {"p1": 1, "p3": 2})) == {}
    assert graded(carried(mixed, {"p1": 2, "p3": 1})) == {"x": 2}


def test_near_duplicates_must_be_clearly_the_nearest():
    base = [f"w{number}" for number in range(60)]
    old = {"a": " ".join(base), "b": " ".join([*base[:59], "other"])}
    edited = " ".join([*base[:30], "changed", *base[31:]])
    assert graded(carried({"x": edited}, {"a": 2}, {"a": old["a"]})) == {"x": 2}
    result = carried({"x": edited}, {"a": 2}, old)
    assert graded(result) == {}  # it may be an edited b
    assert statuses(result) == {"a": "ambiguous"}
    assert graded(carried({"x": edited, "y": old["b"]}, {"b": 1}, old)) == {"y": 1}


def cut(words, size, lap, random):
    """All text as one stream in new passages; the spans of old documents in each new document."""
    stream = [(doc, position) for doc in words for position in range(len(words[doc]))]
    new, spans = {}, {}
    for number, begin in enumerate(random.permutation(np.arange(0, len(stream), size - lap))):
        window = stream[begin : begin + size]
        new[f"n{number}"] = " ".join(words[doc][position] for doc, position in window)
        names, counts = np.unique([doc for doc, _ in window], return_counts=True)
        shares = zip(names, counts.tolist(), strict=True)
        spans[f"n{number}"] = {doc: (n / len(words[doc]), n / len(window)) for doc, n in shares}
    return new, spans


def known(grades, spans):
    """What is known of new documents by the spans."""
    new_grades = {}
    for name, parts in spans.items():
        judged_parts = [(grades[doc], *shares) for doc, shares in parts.items() if doc in grades]
        whole_grade = max((grade for grade, share, _ in judged_parts if share >= 0.9), default=0)
        partly = max((grade for grade, share, _ in judged_parts if share < 0.9), default=0)
        if whole_grade > 0 and partly <= whole_grade:
            new_grades[name] = whole_grade
        elif max(whole_grade, partly) == 0 and sum(share for *_, share in judged_parts) >= 0.9:
            new_grades[name] = 0
    return new_grades


@pytest.mark.parametrize(("size", "lap"), [(80, 0), (250, 50)])
def test_cranfield_cut_anew(shared, size, lap):
    text = gzip.decompress((shared / "cranfield" / "cran.all.1400.xml.gz").read_bytes()).decode()
    pages = re.findall(r"<docno>(\d+)</docno>.*?<text>(.*?)</text>", text, re.DOTALL)[:140]
    docs = {doc: page for doc, page in pages if page.strip()}
    random = np.random.default_rng(size)
    qrels = {}
    for line in (shared / "cranfield" / "cranqrel.graded.trec.txt").read_text().splitlines():
        query, _, doc, grade = line.split()
        if doc in docs and int(grade) >= 0:
            qrels.setdefault(query, {})[doc] = int(grade)
    for grades in qrels.values():
        extra_docs = random.choice(list(docs), 20, replace=False)
        grades.update({doc: grades.get(doc, 0) for doc in extra_docs.tolist()})
    new, spans = cut(Texts.from_texts(docs).words, size, lap, random)
    judgments = rankgate.reanchor(qrels, docs, new).judgments
    actual_grades = {(query, doc): grade for query, doc, grade in judgments.iter_rows()}
    expected = {
        (query, name): grade
        for query, grades in qrels.items()
        for name, grade in known(grades, spans).items()
    }
    assert sum(actual_grades.get(pair) == grade for pair, grade in expected.items()) >= 0.95 * len(expected)
    for (query, name), grade in actual_grades.items():
        shares = {doc: share for doc, (share, _) in spans[name].items() if doc in qrels[query]}
        if grade > 0:
            assert any(share >= 0.8 and qrels[query][doc] == grade for doc, share in shares.items())
        else:
            assert all(share < 0.15 for doc, share in shares.items() if qrels[query][doc] > 0)


def test_files_and_the_command(run, tmp_path):
    pl.DataFrame({"doc_id": list(OLD), "text": list(OLD.values())}).write_csv(tmp_path / "old.csv")
    new = [{"_id": "x", "title": "", "text": OLD["p1"]}]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, new)) + "\n")
    (tmp_path / "qrels.txt").write_text("q 0 p1 2\nq 0 p2 1\nq 0 p5 -1\n")
    paths = [str(tmp_path / name) for name in ("qrels.txt", "old.csv", "new.jsonl", "new.txt")]
    result = run("reanchor", *paths[:3], "--judgments", paths[3], "--format", "json")
    assert result.code == 0, result.err
    assert (tmp_path / "new.txt").read_text() == "q 0 x 2\n"
    assert json.loads(result.out)["negative"] == 1


def test_bad_input(tmp_path):
    with raises("no-judged-texts", InputError):
        carried({"x": "text"}, {"unknown": 1})
    (tmp_path / "run.txt").write_text("q 0 p1 2\n")
    with raises("no-texts", InputError):
        rankgate.reanchor({"q": {"p1": 1}}, OLD, tmp_path / "run.txt")
    (tmp_path / "twice.csv").write_text("doc_id,text\np1,one text\np1,another\n")
    with raises("duplicate-document", InputError):
        rankgate.reanchor({"q": {"p1": 1}}, tmp_path / "twice.csv", OLD)


def test_a_judged_document_without_a_text_is_lost_and_named():
    result = carried({"x": OLD["p2"]}, {"p1": 1, "p2": 0, "p9": 0}, OLD | {"p1": " … "})
    assert statuses(result) == {"p1": "lost", "p2": "moved", "p9": "lost"}
    assert [notice.code for notice in result.notices] == ["relevant-unjudged", "missing-texts"]


PASSAGE = (
    "the software is provided as is without any warranty of merchantability or fitness for a particular "
    "purpose and in no event shall the authors be liable for any claim damages or other liability arising "
    "from the software"
)
PHRASE = "without any warranty of merchantability or fitness for a particular purpose"


def test_a_repeated_phrase_is_not_the_whole_passage():
    repeating = f"first {PHRASE}; second {PHRASE}; third {PHRASE}; fourth {PHRASE}"
    result = carried({"x": repeating}, {"p": 2}, {"p": PASSAGE})
    assert graded(result) == {}
    assert result.relevant == (1, 0)
    licence = f"a licence of another kind says {repeating} and ends"
    old = {"p": PASSAGE, "licence": licence}
    new = {"p": PASSAGE, "licence": licence.replace("kind", "sort")}
    assert graded(carried(new, {"p": 2}, old)) == {"p": 2}


def test_a_lost_judgment_is_not_one_that_holds():
    tokens = OLD["p3"].split()
    new = {"x": f"{OLD['p1']} {' '.join(tokens[:6])}"}
    result = carried(new, {"p1": 2, "p3": 2})
    assert graded(result) == {"x": 2}
    assert result.counts["merged"] == (1, 1)
    assert result.counts["lost"] == (1, 0)
    assert result.relevant == (2, 1)
    assert str(result).startswith("1 of 2 relevant judgments (50.0%) reached a new document")


def test_documents_that_are_as_near_are_ambiguous():
    edited = OLD["p3"].replace("file", "page"), OLD["p3"].replace("file", "sheet")
    result = carried(dict(zip("xy", edited, strict=True)), {"p3": 2})
    assert statuses(result) == {"p3": "ambiguous"}
    assert result.counts["ambiguous"] == (1, 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("caf\u00e9 na\u00efve r\u00e9sum\u00e9", "cafe\u0301 nai\u0308ve re\u0301sume\u0301"),
        ("cooperation international", "co\u00adop\u00ader\u00ada\u00adtion inter\u00adnational"),
        ('don\'t "quote" it', "don\u2019t \u201cquote\u201d it"),
        ("office flow affine", "o\ufb03ce \ufb02ow a\ufb03ne"),
        ("STRASSE", "Stra\u00dfe"),
    ],
)
def test_texts_that_look_alike_are_the_same(before, after):
    result = carried({"x": f"{after} of a page"}, {"p": 2}, {"p": f"{before} of a page"})
    assert graded(result) == {"x": 2}


def test_pieces_may_have_the_grade_of_what_they_were_cut_from():
    tokens = OLD["p3"].split()
    parts = {"x": " ".join(tokens[:9]), "y": " ".join(tokens[9:])}
    result = rankgate.reanchor({"q": {"p3": 2}}, OLD, parts, pieces="inherit")
    assert graded(result) == {"x": 2, "y": 2}
    assert result.relevant == (1, 1)
    joined = {"x": f"{OLD['p1']} {' '.join(tokens[:13])}"}  # the more relevant one is not all in it
    grades = {"p1": 1, "p3": 2}
    assert graded(carried(joined, grades)) == {}
    result = rankgate.reanchor({"q": grades}, OLD, joined, pieces="inherit")
    assert graded(result) == {"x": 2}


def test_addresses_are_no_text(tmp_path):
    rows = {"id": ["a"], "url": ["https://example.org/a/1"], "text": [OLD["p1"]]}
    pl.DataFrame(rows).write_csv(tmp_path / "old.csv")
    pl.DataFrame(rows | {"id": ["b"], "url": ["/2"]}).write_csv(tmp_path / "new.csv")
    result = rankgate.reanchor({"q": {"a": 1}}, tmp_path / "old.csv", tmp_path / "new.csv")
    assert statuses(result) == {"a": "moved"}


def test_counts_are_on_the_terminal_where_decisions_go_to_a_file(run, tmp_path):
    pl.DataFrame({"id": list(OLD), "text": list(OLD.values())}).write_csv(tmp_path / "old.csv")
    (tmp_path / "qrels.txt").write_text("q 0 p1 2\n")
    paths = [str(tmp_path / name) for name in ("qrels.txt", "old.csv", "old.csv")]
    result = run("reanchor", *paths, "-o", str(tmp_path / "decisions.csv"))
    assert result.code == 0, result.err
    assert result.err.startswith("1 of 1 relevant judgment (100.0%) reached a new document")
    assert result.out == ""
