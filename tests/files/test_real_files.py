"""Every real file of judgments, runs and ratings: known, read, described, its traps found."""

from __future__ import annotations

import gzip
import json

import pytest

from rankgate.data.files.validate import validate
from rankgate.measurement.description.describe import describe

PACK = "qrels-pack/qrels."
BROAD = {0: 1853, 1: 238, 2: 105, 3: 1472}
ESCI = {0: 1086, 1: 305, 10: 1898, 100: 3389}
WEB = {-2: 1431, 0: 18665, 1: 4018, 2: 1077, 3: 138}

# file: format, queries, judgments or grades with their counts, as the index of the data has them
JUDGMENTS = {
    "cranfield/cranqrel.trec.txt": ("trec", 225, {0: 225, 1: 1611, 3: 1}),
    "cranfield/cranqrel.graded.trec.txt": ("trec", 225, {0: 225, 1: 363, 2: 734, 3: 387, 4: 128}),
    "cranfield/smart/cranqrel": ("trec", 225, {-1: 225, 1: 128, 2: 387, 3: 734, 4: 363}),
    "cacm/qrels.cacm.txt": ("trec", 52, {1: 796}),
    "trec-covid-r1/qrels.covid-round1.txt": ("trec", 30, {0: 6339, 1: 1115, 2: 1237}),
    "dl20-doc/qrels.dl20-doc.txt.gz": ("trec", 45, {0: 7331, 1: 1187, 2: 315, 3: 265}),
    "cast2021/trec-cast-qrels-docs.2021.qrel.gz": (
        "trec",
        158,
        {0: 13829, 1: 2072, 2: 1710, 3: 1007, 4: 716},
    ),
    "web-diversity-2009-2010/2009/2009.diversity.qrels.gz": ("trec-subtopics", 50, 27964),
    "web-diversity-2009-2010/2010/2010.diversity.qrels.gz": ("trec-subtopics", 48, {1: 9006}),
    "web-diversity-2009-2010/2010/qrels.web.51-100.txt.gz": ("trec", 48, WEB),
    f"{PACK}beir-v1.0.0-nfcorpus.test.txt.gz": ("trec", 323, 12334),
    f"{PACK}beir-v1.0.0-scifact.test.txt.gz": ("trec", 300, 339),
    f"{PACK}beir-v1.0.0-fiqa.test.txt.gz": ("trec", 648, 1706),
    f"{PACK}beir-v1.0.0-arguana.test.txt.gz": ("trec", 1406, 1406),
    f"{PACK}beir-v1.0.0-webis-touche2020.test.txt.gz": ("trec", 49, 932),
    f"{PACK}dl19-passage.txt.gz": ("trec", 43, 9260),
    f"{PACK}dl19-doc.txt.gz": ("trec", 43, 16258),
    f"{PACK}dl20-passage.txt.gz": ("trec", 54, 11386),
    f"{PACK}dl21-passage.txt.gz": ("trec", 53, 10828),
    f"{PACK}msmarco-passage.dev-subset.txt.gz": ("trec", 6980, 7437),
    f"{PACK}adhoc.401-450.txt.gz": ("trec", 50, 86830),
    f"{PACK}web.51-100.txt.gz": ("trec", 48, WEB),
    f"{PACK}core17.txt.gz": ("trec", 50, 30030),
    f"{PACK}bright-biology.txt.gz": ("trec", 103, 372),
    f"{PACK}microblog2011.txt.gz": ("trec", 49, 60129),
    "rag25-human-vs-llm/qrels.rag25.test.txt.gz": ("trec", 22, {0: 3619, 1: 1499, 2: 3760, 3: 1318, 4: 88}),
    "rag25-human-vs-llm/qrels.rag25.test-umbrela2.txt.gz": (
        "trec",
        22,
        {0: 2524, 1: 2399, 2: 3790, 3: 1263, 4: 308},
    ),
    "esci-us/esci_us_judgments.json.gz": ("opensearch-judgments", 150, ESCI),
    "esci-us/art_judgments.llm.json.gz": ("opensearch-judgments", 27, 1080),
    "chorus-electronics/Chorus_Electronics_basic.csv": ("quepid-csv", 2, 207),
    "chorus-electronics/Broad_Query_Set_rated.csv": ("quepid-csv", 135, BROAD),
    "tmdb-title-judgments/title_judgments.txt": ("quepid-ltr", 40, {0: 1098, 1: 162, 2: 33, 3: 51, 4: 46}),
    "lightgbm-lambdarank/rank.train.gz": ("svmlight", 201, 3005),
    "lightgbm-lambdarank/rank.test.gz": ("svmlight", 50, 768),
    "products/chorus/Broad_Query_Set_rated.csv": ("quepid-csv", 135, BROAD),
    "products/chorus/chorus_demo_rre.json": ("rre-array", 2, 207),
    "products/dashboards-srw/judgments_example.csv": ("quepid-csv", 1, 3),
    "products/opensearch-srw/esci_us_judgments.json": ("opensearch-judgments", 150, ESCI),
    "products/opensearch-srw/ImportJudgments.json": ("opensearch-judgments", 4, 40),
    "products/quaerite/movie_judgments_train.csv": ("quaerite", 48, None),
    "products/quepid/haystack_rating_party_case.json": ("quepid-case", 137, None),
    "products/rankquest/movie-quotes-test-cases.json": ("rankquest", 9, None),
    "products/rre/ratings_example_es.json": ("rre", 6, {3: 9}),
    "products/rre/ratings_example_solr.json": ("rre", 5, {3: 8}),
}

# folder or file: queries, documents of the longest list
RUNS = {
    "cranfield/runs": (225, 100),
    "cacm/runs": (64, None),
    "trec-covid-r1/runs": (30, None),
    "dl20-doc/runs": (199, 100),
    "cast2021/runs": (None, None),
    "web-diversity-2009-2010/2009/runs": (50, None),
    "web-diversity-2009-2010/2010/runs": (None, None),
}


def named(problems):
    return {problem.check: problem for problem in problems}


@pytest.mark.parametrize("file", JUDGMENTS)
def test_judgments_are_what_the_index_says(shared, file):
    format_, queries, counts = JUDGMENTS[file]
    (result,) = describe(shared / file).files
    judgments = result.judgments
    assert (result.format, judgments.queries) == (format_, queries)
    assert result.reason
    assert judgments.judgments == sum(count for _, count in judgments.grades)
    if isinstance(counts, dict):
        assert dict(judgments.grades) == counts
    elif counts:
        assert judgments.judgments == counts


@pytest.mark.parametrize("file", JUDGMENTS)
def test_no_real_judgments_have_an_error(shared, file):
    result = validate(shared / file)
    assert result.valid, [problem for problem in result.problems if problem.severity == "error"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", RUNS)
def test_runs_are_what_the_index_says(shared, folder):
    """Queries and depth by the index; the rows are the lines of the file."""
    queries, depth = RUNS[folder]
    files = sorted((shared / folder).iterdir())
    assert files
    for file in files:
        (result,) = describe(file).files
        (run,) = result.runs
        lines = gzip.decompress(file.read_bytes()).decode().split("\n")
        assert result.format == "trec"
        assert run.rows == sum(bool(line.strip()) for line in lines)
        assert queries in {None, run.queries}
        assert depth in {None, run.per_query.most}
        assert validate(file).valid


def test_runs_of_trec_covid_know_most_of_their_tops(shared):
    """Judged@10 as ir_measures printed it, for every run."""
    folder = shared / "trec-covid-r1"
    lines = (folder / "expected" / "ir_measures.main.csv").read_text().splitlines()
    column = lines[0].split(",").index("Judged@10")
    printed = {line.split(",")[0]: float(line.split(",")[column]) for line in lines[1:]}
    runs = sorted((folder / "runs").iterdir())[:4]
    holes = describe([folder / "qrels.covid-round1.txt", *runs]).holes
    assert len(holes) == len(runs) == 4
    for hole in holes:
        assert hole.judged == pytest.approx(printed[hole.run], abs=1e-9)


def test_a_book_s_ratings(shared):
    """2,420 pairs, 137 queries, 1,942 judgements, 13 judges, 562 pairs with two equal grades."""
    book = shared / "products" / "quepid" / "haystack_rating_party_book.json"
    ratings = describe(book).files[0].ratings
    assert (ratings.ratings, ratings.raters, ratings.queries, ratings.shared) == (1942, 13, 137, 562)
    problems = validate(book).problems
    assert named(problems)["copied-ratings"].count == 562
    seen_counts = [problem.count for problem in problems if problem.check == "seen"]
    assert 2420 - ratings.pairs in seen_counts


def test_a_snapshot_has_a_run_and_judgments(shared):
    file = shared / "products" / "quepid" / "haystack_rating_party_snapshot_no-vector.json"
    snapshot = json.loads(file.read_text())
    (result,) = describe(file).files
    assert result.format == "quepid-snapshot"
    assert result.runs[0].rows == sum(map(len, snapshot["docs"].values()))
    assert result.judgments.judgments == sum(len(query["ratings"]) for query in snapshot["queries"])


def test_metric_stores(shared):
    """7 days x 4 configurations x 20 queries x 3 metrics."""
    file = shared / "products" / "osqe" / "srw_metrics_sample_data.ndjson"
    assert describe(file).files[0].values == 7 * 4 * 20 * 3


@pytest.fixture
def original(shared, tmp_path):
    """Cranfield's bm25 run under the numbers of the query file, and the file of queries."""
    lines = (shared / "cranfield" / "queries.renumbered.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    number = {position: original for position, original, _ in rows}
    run = gzip.decompress((shared / "cranfield" / "runs" / "bm25.run.gz").read_bytes()).decode()
    fields = [line.split(" ", 1) for line in run.splitlines()]
    run_path, queries = tmp_path / "bm25.run", tmp_path / "queries.tsv"
    run_path.write_text("".join(f"{number[query]} {remainder}\n" for query, remainder in fields))
    queries.write_text("query_id\ttext\n" + "".join(f"{n}\t{text}\n" for _, n, text in rows))
    return run_path, queries


def test_cranfield_s_queries_are_numbered_differently(shared, original):
    """The trap: joined by the ids, 73 topics have no results and MAP is 0.006 instead of 0.29."""
    run, queries = original
    qrels = shared / "cranfield" / "cranqrel.trec.txt"
    problems = named(validate(run, qrels).problems)
    assert "numbered differently" in problems["numbering"].what
    assert "3 = 4, 4 = 8" in problems["numbering"].fix
    assert problems["numbering"].severity == "warning"
    assert any(problem.count == 73 for problem in validate(run, qrels).problems)
    result = named(validate(queries, qrels).problems)["query-file"]
    assert "from 1 to 225" in result.what
    assert "from 1 to 365" in result.what
    assert "3 = 4, 4 = 8" in result.fix


@pytest.mark.parametrize("file", ["cran.qry.xml", "smart/cran.qry"])
def test_cranfield_s_own_file_of_queries(shared, file):
    folder = shared / "cranfield"
    result = named(validate(folder / file, folder / "cranqrel.trec.txt").problems)["query-file"]
    assert "the judgments number them from 1 to 225" in result.what
    assert "365" in result.what
    assert "3 = " in result.fix


def test_cranfield_s_own_run_is_numbered_like_its_judgments(shared):
    folder = shared / "cranfield"
    problems = named(validate(folder / "runs" / "bm25.run.gz", folder / "cranqrel.trec.txt").problems)
    assert "numbering" not in problems
    assert problems["stray-grade"].line == 316


def test_cranfield_s_scale_begins_with_the_best(shared):
    """Code 1 is a complete answer, 4 of minimum interest."""
    folder = shared / "cranfield"
    problems = named(validate(folder / "runs" / "bm25.run.gz", folder / "smart" / "cranqrel").problems)
    assert problems["reversed-scale"].severity == "note"
    assert problems["grades-against-ranks"].severity == "warning"
    assert problems["negative-grade"].count == 225


def test_no_other_real_run_stands_against_its_grades(shared):
    pairs = {
        "trec-covid-r1/qrels.covid-round1.txt": "trec-covid-r1/runs/bm25_baseline.gz",
        "dl20-doc/qrels.dl20-doc.txt.gz": "dl20-doc/runs/BIT.UA-run1.txt.gz",
        "cast2021/trec-cast-qrels-docs.2021.qrel.gz": "cast2021/runs/org_convdr.run.gz",
        "cacm/qrels.cacm.txt": "cacm/runs/bm25.run.gz",
    }
    for qrels, run in pairs.items():
        problems = named(validate(shared / run, shared / qrels).problems)
        assert not {"grades-against-ranks", "numbering"} & set(problems), run


def test_cacm_s_documents_are_numbered_with_zeros_in_the_runs_only(shared):
    """CACM-963 of the judgments is CACM-0963 of the collection; a trap that moves AP by 0.01."""
    folder = shared / "cacm"
    lines = (folder / "qrels.cacm.txt").read_text().splitlines()
    short = {line.split()[2] for line in lines if len(line.split()[2]) < len("CACM-0963")}
    result = validate(folder / "runs" / "bm25.run.gz", folder / "qrels.cacm.txt").problems
    problem = named(result)["documents-spelled"]
    assert problem.count == len(short) == 46
    assert problem.example == f"'{min(short)}' in the judgments, 'CACM-0{min(short)[5:]}' in the run"


def test_esci_s_gains_are_no_grades(shared):
    problems = named(validate(shared / "esci-us" / "esci_us_judgments.json.gz").problems)
    assert problems["huge-grade"].count == 3389
    assert "2^100 = 1.3e+30" in problems["huge-grade"].what
    assert "0, 1, 10, 100" in problems["uneven-scale"].what
    assert "ESCI" in problems["uneven-scale"].what


def test_quaerite_s_byte_order_mark(shared):
    file = shared / "products" / "quaerite" / "movie_judgments_train.csv"
    problems = named(validate(file).problems)
    assert problems["byte-order-mark"].line == 1
    assert describe(file).files[0].judgments.queries == 48


def test_chorus_s_empty_ratings_are_unrated(shared):
    file = shared / "products" / "chorus" / "Broad_Query_Set_unrated.csv"
    lines = file.read_text().splitlines()[1:]
    empty = sum(line.endswith(",") for line in lines if line)
    result = validate(file)
    assert result.valid
    assert {empty, 134} <= {problem.count for problem in result.problems}
    judgments = describe(file).files[0].judgments
    assert (judgments.queries, judgments.unjudged, judgments.judgments) == (1, 134, 6)


VARIANTS = [
    "cacm/qrels.cacm.txt",
    "chorus-electronics/Chorus_Electronics_basic.csv",
    "products/quaerite/movie_judgments_train.csv",
    "tmdb-title-judgments/title_judgments.txt",
    "products/rankquest/movie-quotes-test-cases.json",
]


@pytest.mark.parametrize("file", VARIANTS)
def test_marks_and_line_ends_are_reported_and_change_nothing(shared, tmp_path, file):
    plain = (shared / file).read_bytes().replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf")
    places = [tmp_path / "plain", tmp_path / "marked"]
    places[0].write_bytes(plain)
    places[1].write_bytes(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"))
    first, second = describe(places).files
    assert first.judgments.sha256 == second.judgments.sha256
    assert first.format == second.format
    problems = [named(validate(path).problems) for path in places]
    assert not {"byte-order-mark", "line-ends"} & set(problems[0])
    assert {"byte-order-mark", "line-ends"} <= set(problems[1])


def test_documents_that_are_only_rated_are_reported(tmp_path):
    """As a snapshot of Quepid has them: appended as they are rated, not retrieved."""
    snapshot = {
        "id": 1,
        "name": "s",
        "time": "2024-04-23T00:00:00.000Z",
        "docs": {
            "7": [
                {"id": "a", "explain": None, "rated_only": False, "fields": {}},
                {"id": "b", "explain": None, "rated_only": True, "fields": {}},
            ]
        },
        "queries": [{"query_id": 7, "query_text": "q", "ratings": {"a": 1, "b": 3}}],
        "scores": [],
    }
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(snapshot))
    assert named(validate(path).problems)["rated-only"].count == 1
    assert describe(path).files[0].runs[0].rows == 1
    snapshot["docs"]["7"].pop()
    path.write_text(json.dumps(snapshot))
    assert "rated-only" not in named(validate(path).problems)
