"""The judgments of the demo, read without the evaluation of the package."""

from collections import defaultdict

import pytest

from rankgate.interface.demo.demo_build import judgments, movies, queries
from rankgate.interface.demo.demo_engines import harvest_docstrings

# Documents that not every Python from 3.11 to 3.13 has.
SOMETIMES = {
    "asyncio.TaskGroup",
    "asyncio.TaskGroup.create_task",
    "base64.z85decode",
    "base64.z85encode",
    "configparser.ParsingError.filename",
    "configparser.RawConfigParser.readfp",
    "configparser.SafeConfigParser",
    "copy.replace",
    "glob.translate",
    "io.TextIOBase.readline",
    "itertools.batched",
    "math.fma",
    "mimetypes.guess_file_type",
    "os.path.splitroot",
    "pathlib.Path.from_uri",
    "pathlib.Path.walk",
    "pathlib.PurePath.full_match",
    "queue.SimpleQueue.get",
    "shelve.DbfilenameShelf.clear",
    "statistics.kde",
    "sys.getunicodeinternedsize",
    "threading.excepthook",  # not while pytest has its own in place
    "threading.setprofile_all_threads",
    "threading.settrace_all_threads",
    "unittest.TestResult.addDuration",
    "uuid.main",
}


def ranking(path):
    ranked = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        query_id, _, doc_id, *_ = line.split()
        ranked[query_id].append(doc_id)
    return ranked


def test_there_are_queries_enough_and_some_without_a_perfect_answer():
    best_grades = defaultdict(int)
    for judgment in judgments():
        best_grades[judgment.query_id] = max(best_grades[judgment.query_id], judgment.grade)
    assert list(best_grades) == list(queries())
    assert len(best_grades) >= 50
    assert min(best_grades.values()) > 0
    assert sum(grade < 3 for grade in best_grades.values()) >= 8


def test_every_judgment_has_a_grade_and_a_reason_and_stands_once():
    pairs = [(judgment.query_id, judgment.doc_id) for judgment in judgments()]
    assert len(pairs) == len(set(pairs))
    for judgment in judgments():
        assert judgment.grade in {0, 1, 2, 3}
        assert judgment.reason == judgment.reason.strip() != ""
        assert "\n" not in judgment.reason


def test_every_judged_document_is_one_of_this_python_or_known_of_another():
    missing = {judgment.doc_id for judgment in judgments()} - {doc.doc_id for doc in harvest_docstrings()}
    assert missing <= SOMETIMES


@pytest.mark.parametrize("name", ["old", "new"])
def test_nearly_all_of_the_first_ten_are_judged(demo, name):
    judged = {(judgment.query_id, judgment.doc_id) for judgment in judgments()}
    ranked = ranking(getattr(demo, name))
    shares = [
        sum((query_id, doc_id) in judged for doc_id in ranked[query_id][:10]) / 10 for query_id in queries()
    ]
    assert sum(shares) / len(shares) >= 0.95


def test_the_movies_have_the_published_reciprocal_ranks(demo):
    relevant = {(movie.query_id, movie.doc_id) for movie in movies() if movie.grade > 0}
    ranked = ranking(demo.movies_run)
    first = [
        next(rank for rank, movie in enumerate(top, start=1) if (query_id, movie) in relevant)
        for query_id, top in ranked.items()
    ]
    assert sorted(first) == [1, 1, 2, 4, 5]
    for cutoff, mean in (1, 0.4), (3, 0.5), (5, 0.59):
        ranks = [1 / rank if rank <= cutoff else 0 for rank in first]
        assert sum(ranks) / 5 == pytest.approx(mean)


def test_each_movie_query_ranks_the_same_ten_movies():
    ranked = defaultdict(list)
    for movie in movies():
        ranked[movie.query_id].append(movie)
    for top in ranked.values():
        assert [movie.rank for movie in top] == list(range(1, 11))
        assert {movie.doc_id for movie in top} == {movie.doc_id for movie in ranked["robots"]}
    assert [movie.grade for movie in ranked["robots"]] == [2, 0, 3, 3, 3, 0, 3, 3, 2, 0]
