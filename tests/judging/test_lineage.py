"""Judges that favour systems of the same model family, and circular sets."""

import json

import numpy as np
import pytest
from scipy import stats

from rankgate import admit
from rankgate.judging.admission.admit import JudgeAdmission
from rankgate.judging.admission.lineage import Lineage, family_bias
from rankgate.judging.admission.requirements import Demands
from support.wording import raises

RNG = np.random.default_rng(21)
QUERIES, DOCS = 80, 20
PEOPLE = RNG.choice(4, (QUERIES, DOCS), p=[0.5, 0.25, 0.15, 0.1])
SCORES = {name: PEOPLE + RNG.normal(0, 2, PEOPLE.shape) for name in "abcdefgh"}
FAMILIES = {"gpt": ["judge", "a", "b"], "classic": list("cdefgh")}


def _table(values):
    return {f"q{q}": {f"d{d}": float(values[q, d]) for d in range(DOCS)} for q in range(QUERIES)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, scores in SCORES.items():
        rows = [f"{q} Q0 {d} 0 {x} {name}\n" for q, docs in _table(scores).items() for d, x in docs.items()]
        (folder / f"{name}.run").write_text("".join(rows))
    return [str(folder / f"{name}.run") for name in SCORES]


def _judge(favour):
    """A judge that is noisy, and raises some of the first documents of the systems a and b."""
    rng = np.random.default_rng(5)
    noisy = PEOPLE + rng.integers(-1, 2, PEOPLE.shape) * (rng.random(PEOPLE.shape) < 0.3)
    for name in ("a", "b"):
        first = np.argsort(np.argsort(-SCORES[name], axis=1), axis=1) < 5
        noisy = noisy + first * (rng.random(PEOPLE.shape) < favour)
    return _table(np.clip(noisy, 0, 3))


def admitted(runs, favour=0.0, **options):
    return admit(_table(PEOPLE), _judge(favour), runs, ["nDCG@5"], **{"lineage": FAMILIES} | options)


def family(result):
    (family_demand,) = (demand for demand in result.demands if demand.name.startswith("family"))
    return family_demand


def test_a_judge_that_favours_its_family_is_refused(runs):
    result = admitted(runs, 0.5)
    assert family(result).status == "fail"
    assert result.verdict == "fail"
    row = result.families.row(0, named=True)
    assert row["low"] > 0
    assert (row["systems"], row["others"], row["queries"]) == (2, 6, QUERIES)


def test_a_judge_that_favours_none_is_not(runs):
    assert family(admitted(runs)).status != "fail"
    assert family(admitted(runs, demands=Demands(family=0.2))).status == "pass"


def test_the_advantage_is_that_of_an_analysis_of_covariance():
    """Against ordinary least squares of the judge's means on people's and the family."""
    rng = np.random.default_rng(0)
    people = rng.random((400, 12)) + np.linspace(0, 1, 12)
    judge = 0.5 * people + rng.normal(0, 0.001, 12)
    in_family = np.arange(12) % 3 == 0
    judge[:, in_family] += 0.05
    lineage = Lineage({"judge": "gpt"})
    row = family_bias({"nDCG": (people, judge)}, lineage, in_family, 0.05).row(0, named=True)
    design = np.column_stack([in_family, people.mean(axis=0), np.ones(12)])
    answer = judge.mean(axis=0)
    fit, *_ = np.linalg.lstsq(design, answer, rcond=None)
    error = np.sum((answer - design @ fit) ** 2) / 9 * np.linalg.inv(design.T @ design)[0, 0]
    assert row["advantage"] == pytest.approx(fit[0])
    reach = stats.t.ppf(0.975, 9)
    assert row["high"] - row["advantage"] == pytest.approx(reach * np.sqrt(error), rel=0.02)


def test_a_judge_that_shrinks_all_differences_favours_nobody():
    poor, misses = np.arange(10) < 4, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        people = rng.random((60, 10)) + np.linspace(0, 1, 10)
        judge = 0.4 * people + rng.normal(0, 0.05, people.shape)
        row = family_bias({"P": (people, judge)}, Lineage({"judge": "gpt"}), poor, 0.05)
        misses += not row["low"][0] < 0 < row["high"][0]
        assert (judge - people)[:, poor].mean() - (judge - people)[:, ~poor].mean() > 0.2
    assert misses <= 7  # of 60 intervals at 95 %, with a chance of 98 %


def test_three_systems_have_no_interval():
    people, judge = np.random.default_rng(0).random((2, 30, 3))
    in_family = np.array([True, False, False])
    row = family_bias({"P": (people, judge)}, Lineage({"judge": "gpt"}), in_family, 0.05)
    assert row["low"][0] is None
    assert row["advantage"][0] is not None


def test_queries_of_the_same_family_are_named(runs):
    lineage = {"gpt": ["judge", "a", "b", "queries"], "classic": list("cdefgh")}
    assert any("queries" in caution for caution in admitted(runs, lineage=lineage).cautions)
    people_lineage = {**FAMILIES, "people": ["queries"]}
    assert not any("queries" in caution for caution in admitted(runs, lineage=people_lineage).cautions)


def test_without_systems_of_its_family_nothing_is_tested(runs):
    result = admitted(runs, lineage={"gpt": ["judge"], "classic": list("abcdefgh")})
    assert result.families.is_empty()
    assert len(result.cautions) == 1


@pytest.mark.parametrize(
    ("roles", "warned"),
    [
        ({"gpt": ["judge", "corpus"], "people": ["queries"]}, "documents"),
        ({"gpt": ["judge", "queries", "corpus"]}, "circular"),
        ({"gpt": ["judge"], "people": ["queries", "corpus"]}, ""),
    ],
)
def test_a_family_that_wrote_what_it_judges_is_named_without_runs(roles, warned):
    people = {f"q{i}": {"a": i % 3, "b": i % 2} for i in range(60)}
    result = admit(people, people, lineage=roles)
    assert [warned in caution for caution in result.cautions] == [True] * bool(warned)
    assert result.families.is_empty()


def test_it_makes_the_round_trip(runs):
    result = admitted(runs)
    restored = JudgeAdmission.from_dict(json.loads(json.dumps(result.to_dict())))
    assert restored.families.equals(result.families)
    assert "systems of the judge's family" in str(result)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[families]\ngpt = ["judge", "a"]\nclassic = ["a", "b", "c"]\n', "contradiction"),
        ('[families]\ngpt = ["judge", "a", "b", "c"]\n', "missing-input"),
        ('[families]\ngpt = ["a", "b", "c", "d"]\n', "missing-input"),
        ('[families]\ngpt = ["judge", "a", "b", "c", "d", "e", "f", "g", "h", "i"]\n', "unknown-name"),
        ("[families]\ngpt = 3\n", "invalid-lineage"),
        ("[family]\n", "missing-input"),
        ("[families\n", "invalid-toml"),
    ],
)
def test_lineages_that_are_refused(runs, tmp_path, text, code):
    path = tmp_path / "families.toml"
    path.write_text(text)
    with raises(code):
        admitted(runs, lineage=path)


def test_a_lineage_needs_runs():
    with raises("missing-input"):
        admitted([])
