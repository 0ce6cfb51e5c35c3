"""Tests of the statements in the documents."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import rankgate
from rankgate.interface.cli import COMMANDS
from rankgate.interface.cli import rankgate as program
from rankgate.interface.demo.demo_build import QRELS
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.scoring import CONVENTIONS

ROOT = Path(__file__).parents[2]


def test_the_readme_s_python_runs():
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 3
    assert result.failed == 0


def test_the_readme_s_first_minute_is_so(demo_folder):
    paths = [str(demo_folder / name) for name in (QRELS, "old.run", "new.run")]
    result = CliRunner().invoke(program, ["eval", *paths, "-m", "nDCG@10", "-m", "RR"])
    page = (ROOT / "README.md").read_text()
    console_output = page.split("```console\n", 1)[1].split("```", 1)[0].split("\n", 1)[1]
    numbers = re.compile(r"\d+(\.\d+)?")  # they move with Python's docstrings, their form does not
    assert numbers.sub("0", result.output).split() == numbers.sub("0", console_output).split()
    assert CONVENTIONS["trec"].hash in console_output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_answers_a_question(name):
    result = CliRunner().invoke(program, [name, "--help"])
    assert result.exit_code == 0
    assert result.output.lstrip().casefold().startswith("usage: ")
    pages = "".join((ROOT / page).read_text() for page in ("README.md", "docs/questions.md"))
    assert re.search(rf"rankgate {name}\b", pages)


def test_the_readme_fits_two_screens():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_the_public_names_are_these():
    results = [
        "AccountSummary",
        "Accumulator",
        "AdmissionPlan",
        "Advice",
        "Attribution",
        "BlindSpots",
        "Bridge",
    ]
    results += [
        "Client",
        "CollectedRatings",
        "Collection",
        "Comparisons",
        "Convention",
        "Conventions",
        "Conversion",
    ]
    results += [
        "CutoffAnalysis",
        "DataSetComparison",
        "Descriptions",
        "EngineComparison",
        "Explanation",
        "Finding",
    ]
    results += [
        "Fusion",
        "FusionLearning",
        "GateCheck",
        "GoldCheck",
        "History",
        "HoleAnalysis",
        "InputError",
        "Items",
    ]
    results += ["Judge", "JudgeAdmission", "JudgeGrades", "Lists", "LivePipeline", "Matrix", "Migration"]
    results += ["ModelRatings"]
    results += ["Pipeline", "PlannedJudgments", "Policy"]
    results += [
        "Pool",
        "PoolDesign",
        "Predicted",
        "Prices",
        "Provenance",
        "RankgateError",
        "RaterAgreement",
        "RatingAccuracy",
        "Reconciliation",
    ]
    results += ["Recorded", "ResolvedJudgments", "Reusability", "Scorecard", "Scores", "Settlement", "Sheets"]
    results += ["Snapshot", "Split", "SplitPlan", "StoredProject", "Sweep", "Test", "TotalError"]
    results += ["Truth", "UsageError"]
    results += ["Validation", "Verdict"]
    verbs = ["admit", "admit_plan", "advise", "agree", "annotate", "attribute", "audit", "blindspots"]
    verbs += ["check_engine", "check_gold", "collect", "compare", "compare_data_sets", "compare_engines"]
    verbs += [
        "convention",
        "conventions",
        "convert",
        "cutoff",
        "describe",
        "draw_gold",
        "evaluate",
        "explain",
    ]
    verbs += [
        "from_arrays",
        "fuse",
        "gate",
        "history",
        "holes",
        "metric",
        "migrate",
        "open_account",
        "plot",
        "pool",
    ]
    verbs += [
        "progress",
        "rank_similarity",
        "rate",
        "rating_accuracy",
        "read_policy",
        "read_qrels",
        "read_run",
        "read_scores",
        "reanchor",
    ]
    verbs += ["reconcile", "record", "resolve", "reusability", "scorecard", "self_check", "settle"]
    verbs += ["sheets", "snapshot", "split", "stages", "sweep", "total_error", "user_model"]
    verbs += ["validate"]
    assert rankgate.__all__ == [*results, *verbs]
    assert all(getattr(rankgate, name) for name in rankgate.__all__)


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda m: m.name)
def test_every_metric_has_a_whole_passport(metric):
    for field in ("title", "formula", "source", "sees", "blind_to"):
        assert getattr(metric, field), field


def test_links_in_the_documents_lead_somewhere():
    dirs = ("reference", "mirrored")  # by docs/_pages; the build of the manual sees to their links
    docs = (page for page in (ROOT / "docs").rglob("*.md") if not {*dirs} & {*page.parts})
    for page in [*ROOT.glob("*.md"), *docs]:
        for target in re.findall(r"\]\((?!https?:|project:)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page, target)


def test_no_name_shadows_another_in_the_constraints():
    lines = (ROOT / "constraints.txt").read_text().split()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    assert len({line.split("==")[0].lower() for line in lines}) == len(lines)
