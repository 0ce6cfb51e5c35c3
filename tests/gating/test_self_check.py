"""A gate that is asked about one system and itself."""

import itertools
import json

import numpy as np
import pytest

import rankgate
from rankgate.decisions.gating.verdict import GateCheck
from rankgate.measurement.stats.mean_intervals import wilson_interval
from support.wording import raises

QRELS = {f"q{q}": {f"d{d}": int(d < 3) for d in range(10)} for q in range(40)}
POLICY = '[[rules]]\nkind = "noninferiority"\nmetric = "nDCG@10"\nmargin = {}\n'


def snapshots(count, spread, seed=0):
    """Runs of one system with varying scores."""
    rng = np.random.default_rng(seed)
    return [
        {
            query: {doc: grade + float(rng.normal(0, spread)) for doc, grade in docs.items()}
            for query, docs in QRELS.items()
        }
        for _ in range(count)
    ]


def policy(folder, margin, more=""):
    file = folder / "rankgate.toml"
    file.write_text(POLICY.format(margin) + more)
    return file


def test_the_rates_are_those_of_verdicts_about_every_pair(tmp_path):
    runs, rules = snapshots(4, 0.6), policy(tmp_path, 0.03)
    result = rankgate.self_check(QRELS, runs, rules)
    verdicts = [
        rankgate.gate(QRELS, baseline, candidate, rules).verdict
        for baseline, candidate in itertools.permutations(runs, 2)
    ]
    assert result.verdicts["verdict"].to_list() == verdicts
    assert len(set(verdicts)) > 1  # the margin is about as large as the noise
    common_verdict = max(verdicts, key=verdicts.count)
    rates = {row["event"]: row for row in result.rates.iter_rows(named=True)}
    assert rates["flip"]["pairs"] == sum(verdict != common_verdict for verdict in verdicts)
    assert rates["false fail"]["pairs"] == verdicts.count("fail")
    share = rates["flip"]["share"]
    low, high = wilson_interval(np.array([share * 2]), np.array([2.0]))
    assert (rates["flip"]["low"], rates["flip"]["high"]) == pytest.approx((low[0], high[0]))
    means = [rankgate.evaluate(QRELS, run, "nDCG@10").means["nDCG@10"][0] for run in runs]
    noise = result.metrics.row(0, named=True)
    assert noise["noise"] == pytest.approx(max(means) - min(means))
    assert noise["margin"] == 0.03
    assert (result.passed, result.status) == (False, 1)
    codes = {notice.code for notice in result.notices}
    assert codes >= {"not-deterministic", "few-snapshots"}
    assert ("margin-below-noise" in codes) == (noise["noise"] > 0.03)
    assert GateCheck.from_dict(result.to_dict()).to_dict() == result.to_dict()


def test_a_deterministic_system_never_flips(tmp_path):
    (run,) = snapshots(1, 0.6)
    result = rankgate.self_check(QRELS, [run, run, run], policy(tmp_path, 0.02))
    assert result.passed
    assert (result.queries, result.changed) == (40, 0)
    assert [notice.code for notice in result.notices] == ["deterministic"]
    shares = [line.split()[-4:] for line in str(result).splitlines() if "0.0%" in line]
    high = 1.96**2 / (1 + 1.96**2)  # by Wilson of none: three snapshots have one pair without a common one
    assert shares == [["0", "0.0%", "[0.0%,", f"{high:.1%}]"]] * len(result.rates)


def test_an_improvement_of_a_system_over_itself_is_false(tmp_path):
    worse = {query: {doc: -score for doc, score in docs.items()} for query, docs in QRELS.items()}
    extra_rule = '[[rules]]\nkind = "improvement"\nmetric = "nDCG@10"\ntier = "warn"\n'
    result = rankgate.self_check(QRELS, [QRELS, worse], policy(tmp_path, 0.9, extra_rule))
    rates = {row["event"]: row["pairs"] for row in result.rates.iter_rows(named=True)}
    assert rates["false improvement"] == 1
    assert not result.passed


def test_an_engine_is_asked_several_times(tmp_path):
    rng = np.random.default_rng(4)

    def search(_, depth):
        return [(f"d{d}", float(rng.random())) for d in range(10)][:depth]

    queries = dict.fromkeys(QRELS, "text")
    result = rankgate.self_check(QRELS, search, policy(tmp_path, 0.02), queries=queries, snapshots=3)
    assert (len(result.runs), len(result.verdicts), result.changed) == (3, 6, 40)
    with raises("missing-input"):
        rankgate.self_check(QRELS, search)
    with raises("missing-input"):
        rankgate.self_check(QRELS, [QRELS])
    with raises("unfinished-snapshot"):
        rankgate.self_check(QRELS, lambda _, **__: 1 / 0, queries=queries)


def test_the_command_says_how_often_the_verdict_flips(run, tmp_path):
    files = [str(tmp_path / f"{i}.run") for i in range(3)]
    for file, docs in zip(files, snapshots(3, 0.3), strict=True):
        lines = (
            f"{query} Q0 {doc} 0 {score} x\n"
            for query, scores in docs.items()
            for doc, score in scores.items()
        )
        (tmp_path / file).write_text("".join(lines))
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items()))
    arguments = ["gate", "--self-check", str(qrels), *files[:2], "--noise", files[2]]
    assert run(*arguments, "--policy", str(policy(tmp_path, 0.0001))).code in (1, 3)
    arguments += ["--policy", str(policy(tmp_path, 0.5))]
    result = run(*arguments)
    assert result.code == 0
    assert "6 pass" in result.out
    assert json.loads(run(*arguments, "--format", "json").out)["kind"] == "gate_check"
    assert run(*arguments, "--format", "junit").code == 2
    assert not (tmp_path / "rankgate").exists()  # nothing is logged
