"""The plug-in for pytest, in projects of its users."""

from __future__ import annotations

import pytest

import rankgate
from rankgate.decisions.gating.saved import saved_baselines

POLICY = """
[[rules]]
id = "no-worse"
kind = "noninferiority"
metric = "RR"
margin = 0.05
"""


def trec(ranked):
    """A run with the relevant document of each query at a given rank."""
    lines = []
    for i, rank in enumerate(ranked):
        docs = [f"x{j}" for j in range(1, 10)]
        docs.insert(rank - 1, "good")
        lines += [f"q{i} Q0 {doc} {r} {20 - r} tag" for r, doc in enumerate(docs, 1)]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module", autouse=True)
def imported():
    """Import the modules of a gate, which pytester would remove after each of its runs."""
    first, second = ({f"q{i}": {"good": 1.0 + (i % odd > 0), "x": 1.5} for i in range(12)} for odd in (2, 3))
    qrels = {query: {"good": 1} for query in first}
    for verdict in (rankgate.gate(qrels, first, second), rankgate.gate(qrels, second, first)):
        str(verdict)


@pytest.fixture
def project(pytester, monkeypatch):
    """A project with judgments, a policy and three runs: as good, worse, and undecided."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others take most of the time
    root = pytester.path
    (root / "qrels.txt").write_text("".join(f"q{i} 0 good 1\n" for i in range(40)))
    (root / "rankgate.toml").write_text(POLICY)
    (root / "old.run").write_text(trec([2] * 40))
    (root / "same.run").write_text(trec([1] * 40))
    (root / "worse.run").write_text(trec([5] * 20 + [4] * 20))
    (root / "unclear.run").write_text(trec([1, 10, 10, 2] * 10))
    return pytester


def result(project, test, *options):
    """What pytest prints for a test, in this process: it begins at once."""
    project.makepyfile(test)
    return project.runpytest_inprocess("-p", "rankgate", "-p", "no:cacheprovider", *options)


def test_pytest_finds_it_by_itself(project, monkeypatch):
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    project.runpytest_inprocess("--fixtures").stdout.fnmatch_lines("rankgate_gate*")


@pytest.mark.parametrize(
    ("run", "outcome", "word"),
    [
        ("same", {"passed": 1}, "PASS: same may replace old"),
        ("worse", {"failed": 1}, "FAIL: worse may not replace old"),
        ("unclear", {"failed": 1}, "INCONCLUSIVE: not settled whether unclear may replace old"),
    ],
)
def test_a_test_ends_as_the_verdict_says(project, run, outcome, word):
    out = result(
        project,
        f"""
        def test_ranking(rankgate_gate):
            verdict = rankgate_gate("qrels.txt", "old.run", "{run}.run")
            assert verdict.passed and verdict.rules[0].rule.id == "no-worse"
    """,
    )
    out.assert_outcomes(**outcome)
    out.stdout.fnmatch_lines(["*ranking gates*", f"{word} (*test_ranking)"])
    assert "Traceback" not in out.stdout.str()


def test_a_marker_says_what_stays_the_same(project):
    out = result(
        project,
        """
        import pytest

        @pytest.mark.rankgate_gate(collection="qrels.txt", baseline="old.run")
        @pytest.mark.parametrize("name", ["same", "worse"])
        def test_ranking(rankgate_gate, name):
            rankgate_gate(candidate=f"{name}.run")
    """,
        "--strict-markers",
    )
    out.assert_outcomes(passed=1, failed=1)
    out.stdout.fnmatch_lines(["*no-worse*", "*worst queries*"])


@pytest.mark.parametrize(("ends", "outcome"), [("skip", {"skipped": 1}), ("pass", {"passed": 1})])
def test_the_configuration_says_what_inconclusive_means(project, ends, outcome):
    project.makeini(f"[pytest]\nrankgate_inconclusive = {ends}\n")
    out = result(
        project,
        """
        def test_ranking(rankgate_gate):
            rankgate_gate("qrels.txt", "old.run", "unclear.run")
    """,
    )
    out.assert_outcomes(**outcome)


def test_runs_may_be_what_an_engine_just_returned(project):
    out = result(
        project,
        """
        def test_ranking(rankgate_gate):
            run = {f"q{i}": {"good": 2.0, "x": 1.0} for i in range(40)}
            assert rankgate_gate("qrels.txt", "old.run", run).passed
    """,
    )
    out.assert_outcomes(passed=1)


def test_what_is_wrong_with_the_input_is_one_sentence(project):
    (project.path / "broken.run").write_text("q0 Q0 good\n")
    out = result(
        project,
        """
        def test_ranking(rankgate_gate):
            rankgate_gate("qrels.txt", "old.run", "broken.run")
    """,
    )
    out.assert_outcomes(failed=1)
    out.stdout.fnmatch_lines(["*rankgate:*broken.run:1:*"])
    assert "Traceback" not in out.stdout.str()


def test_a_call_that_says_too_little_names_what_is_missing(project):
    out = result(
        project,
        """
        def test_ranking(rankgate_gate):
            rankgate_gate("qrels.txt")
    """,
    )
    assert "give baseline, candidate" in out.stdout.str() + out.stderr.str()


def test_verdicts_of_workers_are_summarised(project):
    pytest_run = result(
        project,
        """
        import pytest

        @pytest.mark.parametrize("name", ["same", "worse"])
        def test_ranking(rankgate_gate, name):
            rankgate_gate("qrels.txt", "old.run", f"{name}.run")
    """,
        "-p",
        "xdist",
        "-n",
        "2",
    )
    pytest_run.assert_outcomes(passed=1, failed=1)
    text = pytest_run.stdout.str()
    summary = text[text.index("ranking gates") : text.index("short test summary")]
    assert "PASS: same may replace old (" in summary
    assert "FAIL: worse may not replace old (" in summary


@pytest.mark.parametrize("ci", ["true", ""])
def test_an_error_is_printed_once(project, monkeypatch, ci):
    monkeypatch.setenv("CI", ci)  # pytest's short summary is longer there
    (project.path / "broken.run").write_text("q0 Q0 good\n")
    pytest_run = result(
        project,
        """
        def test_ranking(rankgate_gate):
            rankgate_gate("qrels.txt", "old.run", "broken.run")
    """,
    )
    text = pytest_run.stdout.str().split("short test summary")[0]
    assert text.count("broken.run:1") == 1
    assert "another exception" not in text
    pytest_run = result(
        project,
        """
        def test_ranking(rankgate_gate):
            rankgate_gate("qrels.txt", "old.run", "worse.run")
    """,
    )
    assert pytest_run.stdout.str().count("largest losses by RR (") == 1


def test_a_folder_with_the_name_of_the_baseline_and_one_run_twice(project):
    root = project.path
    (root / "main").mkdir()
    saved_baselines.save(
        "main", str(root / "qrels.txt"), str(root / "old.run"), ["RR"], folder=root / saved_baselines.FOLDER
    )
    pytest_run = result(
        project,
        """
        import pytest

        @pytest.mark.parametrize("turn", [1, 2])
        def test_ranking(rankgate_gate, turn):
            verdict = rankgate_gate("qrels.txt", "main", "same.run")
            assert verdict.looks == 1
    """,
    )
    pytest_run.assert_outcomes(passed=2)
