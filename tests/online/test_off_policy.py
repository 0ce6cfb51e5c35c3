"""Off-policy estimates agree with obp and the truth, and are refused where logs cannot answer."""

import gzip
import json
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.write_results import render_result
from rankgate.interface.cli import rankgate as program
from rankgate.online.off_policy.bandit_log import BanditLog
from rankgate.online.off_policy.estimators import ESTIMATORS, EstimatorSettings
from rankgate.online.off_policy.read_bandit_log import read_log
from support.wording import raises

OBP = {
    "men": {
        "ips": 0.0030086263272564836,
        "snips": 0.003189423162277392,
        "dm": 0.005210617848021311,
        "dr": 0.003235518633544872,
    },
    "women": {
        "ips": 0.007437577541923159,
        "snips": 0.002373046143447756,
        "dm": 0.004715717959820827,
        "dr": -0.0012634864715961023,
    },
}
"""obp 0.4.1: InverseProbabilityWeighting, SelfNormalized..., DirectMethod and DoublyRobust on its
files obd/bts/{men,women}, target uniform, reward model (clicks + 1) / (rows + 200) by item."""


WOMEN = Path(__file__).parents[1] / "golden" / "open-bandit-women.csv.gz"


def women():
    """The women's campaign of Open Bandit (Saito and others 2021, CC BY 4.0), from obp 0.4.1."""
    return pl.read_csv(WOMEN)


def men(shared):
    with gzip.open(shared / "open-bandit-men" / "bts" / "men.csv.gz") as file:
        return pl.read_csv(BytesIO(file.read())).select("item_id", "position", "click", "propensity_score")


def arrays(frame):
    """A log of uniform against logged, with the reward model of the constants above."""
    item, click = frame["item_id"].to_numpy(), frame["click"].to_numpy().astype(float)
    count = int(item.max()) + 1
    q = (np.bincount(item, click, count) + 1) / (np.bincount(item, minlength=count) + 200)
    weight = 1 / count / frame["propensity_score"].to_numpy()
    log_arrays = {
        "shown": np.ones((len(item), 1), bool),
        "action": item[:, None],
        "place": np.zeros((len(item), 1), int),
    }
    return BanditLog(
        click[:, None],
        weight[:, None],
        **log_arrays,
        policy=np.full((count, 1), 1 / count),
        unsupported=0.0,
        predicted=q[item][:, None],
        expected=np.full((len(item), 1), q.mean()),
    )


@pytest.mark.parametrize("campaign", OBP)
def test_estimators_agree_with_obp(campaign, shared):
    log = arrays(men(shared) if campaign == "men" else women())
    for name, value in OBP[campaign].items():
        estimate = ESTIMATORS[name].estimate(log, EstimatorSettings())
        assert estimate.value == pytest.approx(value, rel=1e-10), name
        assert estimate.parts.mean() == pytest.approx(value, rel=1e-9)


def test_slate_estimators_agree_with_obp():
    # obp 0.4.1: SlateStandardIPS, SlateIndependentIPS, SlateRewardInteractionIPS
    logged = np.array(
        [
            0.41,
            0.55,
            0.49,
            0.21,
            0.25,
            0.54,
            0.1,
            0.51,
            0.5,
            0.33,
            0.25,
            0.24,
            0.23,
            0.32,
            0.35,
            0.38,
            0.6,
            0.5,
        ]
    )
    target = np.array(
        [
            0.41,
            0.59,
            0.21,
            0.18,
            0.41,
            0.12,
            0.12,
            0.36,
            0.33,
            0.56,
            0.41,
            0.36,
            0.35,
            0.22,
            0.11,
            0.2,
            0.45,
            0.2,
        ]
    )
    reward = [1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1]
    frame = pl.DataFrame(
        {
            "slate": np.repeat(range(6), 3),
            "position": np.tile([1, 2, 3], 6),
            "action": np.tile(["a", "b", "c"], 6),
            "reward": reward,
            "propensity": logged,
            "target": target,
        }
    ).sample(fraction=1, shuffle=True, seed=1)
    log = read_log(frame, "target")
    expected = {"ips": 1.9471672711383974, "iips": 1.7567206209969368, "rips": 2.314779531270243}
    for name, value in expected.items():
        estimate = ESTIMATORS[name].estimate(log, EstimatorSettings())
        assert estimate.value == pytest.approx(value, rel=1e-12)
    result = online.ope(frame, "target")
    assert result.verdict == "inconclusive"
    names = set(result.estimates["estimator"])
    assert names == {"ips", "clipped", "snips", "iips", "rips"}  # no model without all chances


def test_d02_and_d03_of_the_mens_campaign(shared):
    with gzip.open(shared / "open-bandit-men" / "random" / "men.csv.gz") as file:
        assert pl.read_csv(BytesIO(file.read()))["click"].sum() == 46
    result = online.ope(men(shared), "uniform")
    assert result.logged == 0.0069
    assert result.mean_weight == pytest.approx(0.9433136257, abs=1e-9)
    assert result.max_weight == pytest.approx(178.2531, abs=1e-4)
    assert result.ess == pytest.approx(655.7098, abs=1e-4)
    values = dict(result.estimates.select("estimator", "value").iter_rows())
    assert values["ips"] == pytest.approx(0.0030086263, abs=1e-10)
    assert values["snips"] == pytest.approx(0.0031894232, abs=1e-10)
    assert result.verdict == ""
    assert "effective-size" in [notice.code for notice in result.notices]


def test_the_womens_campaign_is_refused():
    result = online.ope(women(), "uniform")
    assert result.verdict == "inconclusive"
    assert result.status == 3
    assert result.ess == pytest.approx(2.0778, abs=1e-4)
    assert result.estimates["value"].null_count() == len(result.estimates)
    blocks = result.checks.filter(outcome="blocks")["check"].to_list()
    assert blocks == ["effective-size"]


RATES = np.array([0.6, 0.3, 0.1])
LOGGED, TARGET = np.array([0.2, 0.3, 0.5]), np.array([0.7, 0.2, 0.1])
TRUTH = float(TARGET @ RATES)


def decisions(n, seed):
    random = np.random.default_rng(seed)
    action = random.choice(3, n, p=LOGGED)
    return pl.DataFrame(
        {
            "action": action,
            "reward": (random.random(n) < RATES[action]).astype(int),
            "propensity": LOGGED[action],
            "new": TARGET[action],
        }
    )


def policy(path, probabilities=TARGET):
    rows = "".join(f"{action},{chance}\n" for action, chance in enumerate(probabilities))
    path.write_text(f"action,probability\n{rows}")
    return path


def test_intervals_hold_the_truth(tmp_path):
    target = policy(tmp_path / "new.csv")
    coverage, runs = dict.fromkeys(("ips", "snips", "dr"), 0), 120
    for seed in range(runs):
        result = online.ope(decisions(800, seed), target)
        for row in result.estimates.to_dicts():
            if row["estimator"] in coverage:
                coverage[row["estimator"]] += row["low"] <= TRUTH <= row["high"]
    for name, count in coverage.items():
        assert count / runs >= 0.95 - 3 * 0.02, name


def test_a_wrong_model_is_corrected_and_found(tmp_path):
    # positions that the model cannot see are not there; the target's column gives no model at all
    frame = decisions(20_000, 1)
    by_file = online.ope(frame, policy(tmp_path / "new.csv"))
    by_column = online.ope(frame, "new")
    values = dict(by_file.estimates.select("estimator", "value").iter_rows())
    assert values["ips"] == pytest.approx(by_column.estimates.filter(estimator="ips")["value"].item())
    assert values["dr"] == pytest.approx(TRUTH, abs=0.03)
    assert by_file.estimator == "dr"  # the smallest error
    assert by_column.estimator == "snips"


SLOTS = np.array([0.5, 0.3, 0.2])


def slates(n, reward, seed=0):
    """Two slots of independent actions; ``reward`` of the actions of both gives both rates."""
    random = np.random.default_rng(seed)
    action = random.choice(3, (n, 2), p=SLOTS)
    rates = reward(action[:, 0], action[:, 1])
    hits = random.random((n, 2)) < np.stack(rates, axis=1)
    return pl.DataFrame(
        {
            "slate": np.repeat(np.arange(n), 2),
            "position": np.tile([1, 2], n),
            "action": action.ravel(),
            "reward": hits.ravel().astype(int),
            "propensity": SLOTS[action].ravel(),
        }
    )


WORLDS = {
    # how rates depend, and which estimators' assumptions are wrong
    "independent": (lambda a, b: (RATES[a], RATES[b]), set()),
    "cascade": (lambda a, b: (RATES[a], RATES[b] * (1 - RATES[a])), {"iips"}),
    "below": (lambda a, b: (RATES[a] * (1 - RATES[b]), RATES[b]), {"rips", "cascade_dr"}),
}


@pytest.mark.parametrize("world", WORLDS)
def test_assumptions_are_tested_before_an_estimator_is_chosen(world, tmp_path):
    reward, wrong = WORLDS[world]
    target = policy(tmp_path / "new.csv")
    result = online.ope(slates(40_000, reward), target)
    pairs = np.array([(a, b) for a in range(3) for b in range(3)])
    rates = np.stack(reward(pairs[:, 0], pairs[:, 1]), axis=1).sum(axis=1)
    truth = float((TARGET[pairs[:, 0]] * TARGET[pairs[:, 1]]) @ rates)
    rows = {row["estimator"]: row for row in result.estimates.to_dicts()}
    rejected = {name for name, row in rows.items() if row["holds"] is False}
    assert wrong <= rejected <= wrong | {"clipped"} | ({"iips"} if wrong else set())
    assert result.estimator not in rejected
    assert result.estimator in {"ips", "snips"}  # a test that does not reject is no reason
    selected_row = rows[result.estimator]
    assert abs(selected_row["value"] - truth) < 4 * selected_row["error"]
    if world == "cascade":
        assert rows["cascade_dr"]["error"] < rows["rips"]["error"]


def test_refused_without_support(tmp_path):
    frame = decisions(2000, 3)
    target = policy(tmp_path / "new.csv", [0.5, 0.2, 0.1, 0.2])
    result = online.ope(frame, target)
    assert result.unsupported == pytest.approx(0.2)
    assert result.checks.filter(outcome="blocks")["check"].to_list() == ["support"]
    assert online.ope(frame, "uniform:4").verdict == "inconclusive"
    assert online.ope(frame, target, max_unsupported=0.3).estimator


def test_logging_that_changed_half_way_is_refused():
    frame = decisions(4000, 5).with_row_index("row")
    changed = frame.with_columns(propensity=pl.when(pl.col("row") < 2000).then("propensity").otherwise(1 / 3))
    result = online.ope(changed.with_columns(time=pl.col("row")), "new")
    assert "drift" in result.checks.filter(outcome="blocks")["check"].to_list()
    assert result.estimator is None
    assert "drift" not in online.ope(changed, "new").checks["check"].to_list()


def test_the_order_of_rows_is_no_drift():
    frame = decisions(4000, 5)
    by_action = online.ope(frame.sort("action"), "new")
    assert by_action.estimate["value"] == pytest.approx(online.ope(frame, "new").estimate["value"])
    assert set(by_action.checks["outcome"]) <= {"ok", "warns"}
    days = pl.Series(["2026-01-02", "2026-01-01"] * 2000)  # as text, in any order
    result = online.ope(frame.with_columns(time=days), "new")
    assert result.checks.filter(check="drift")["outcome"].item() == "ok"
    text_times = frame.with_columns(time=pl.lit("monday"))
    assert "drift" not in online.ope(text_times, "new").checks["check"].to_list()
    with raises("invalid-time", InputError):
        online.ope(text_times, "new", columns="time=time")


RARE = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.62])
"""Propensities of six actions."""


def rare_rewards(n, seed, rates):
    random = np.random.default_rng(seed)
    action = random.choice(6, n, p=RARE)
    rewards = (random.random(n) < np.asarray(rates)[action]).astype(int)
    return pl.DataFrame({"action": action, "reward": rewards, "propensity": RARE[action]})


def test_intervals_of_rare_rewards_hold_the_truth():
    coverage, student, runs = 0, 0, 100
    for seed in range(runs):
        row = online.ope(rare_rewards(2000, seed, [0.007] * 6), "uniform").estimate
        coverage += row["low"] <= 0.007 <= row["high"]
        student += abs(row["value"] - 0.007) <= 1.96 * row["error"]
    assert coverage >= 91  # of 100, for 95 %
    assert student <= 85  # an interval of the rewards that were seen


def test_few_effective_rewards_are_said_and_none_is_refused():
    result = online.ope(rare_rewards(2000, 1, [0.007] * 6), "uniform")
    assert result.checks.filter(check="effective-rewards")["outcome"].item() == "warns"
    none = online.ope(rare_rewards(2000, 1, [0.0] * 6), "uniform")
    assert none.checks.filter(check="effective-rewards")["outcome"].item() == "blocks"
    assert none.status == 3


def test_the_error_of_the_direct_method_is_that_of_refitting(tmp_path):
    frame, target = decisions(3000, 2), policy(tmp_path / "new.csv")
    result = online.ope(frame, target, estimators=["dm"])
    random = np.random.default_rng(0)
    action, reward = frame["action"].to_numpy(), frame["reward"].to_numpy()
    values = []
    for _ in range(400):
        rows = random.integers(len(action), size=len(action))
        counts = np.bincount(action[rows], minlength=3)
        rewards = np.bincount(action[rows], reward[rows], 3)
        values.append(TARGET @ ((rewards + 20 * reward[rows].mean()) / (counts + 20)))
    assert result.estimator == "dm"  # named, and so reported
    assert result.estimate["error"] == pytest.approx(np.std(values), rel=0.12)
    assert result.estimate["low"] <= TRUTH <= result.estimate["high"]
    # hardly a row of the action that the target takes
    rare_result = online.ope(rare_rewards(500, 1, [0.2] * 6), "uniform", estimators=["dm"])
    assert rare_result.estimate["value"] > 0
    assert rare_result.estimate["low"] is None
    assert "no-interval" in [notice.code for notice in rare_result.notices]
    assert "no interval" in render_result(rare_result, "text")
    assert "<svg" not in render_result(rare_result, "html")  # nothing to draw


def test_a_target_as_a_frame_and_own_names_of_columns(tmp_path):
    frame = decisions(1000, 4)
    expected = online.ope(frame, policy(tmp_path / "new.csv"))
    columns = {"action": [0, 1, 2], "probability": TARGET.tolist()}
    for table in (columns, pl.DataFrame(columns)):
        result = online.ope(frame, table)
        assert result.target == "target"
        assert result.estimates.equals(expected.estimates)
    renamed = frame.rename({"action": "offer", "reward": "bought"})
    renamed_target = pl.DataFrame({"offer": columns["action"], "share": columns["probability"]})
    names = "action=offer,reward=bought,probability=share"
    assert online.ope(renamed, renamed_target, columns=names).estimates.equals(expected.estimates)
    log, target = tmp_path / "log.csv", tmp_path / "others.csv"
    renamed.write_csv(log)
    renamed_target.write_csv(target)
    arguments = ["online", "ope", str(log), "--target", str(target), "--columns", names]
    cli_result = CliRunner().invoke(program, [*arguments, "--format", "json"])
    assert json.loads(cli_result.output)["estimator"] == expected.estimator
    with raises("duplicate-name", UsageError):
        online.ope(renamed, renamed_target, columns=f"{names},action=bought")


def test_two_propensities_are_refused_until_one_is_named():
    frame = decisions(1000, 4).with_columns(pscore=pl.col("propensity") / 2)
    with raises("ambiguous-column", InputError):
        online.ope(frame, "uniform")
    result = online.ope(frame, "uniform", columns={"propensity": "propensity"})
    assert result.mean_weight == pytest.approx(1, abs=0.1)
    # the target's own column is no propensity of the log
    assert online.ope(frame.drop("new"), "pscore").mean_weight == pytest.approx(0.5)


def test_actions_that_the_log_never_shows():
    frame = decisions(1000, 4)
    table = {"action": [0, 1, 2, "hat"], "probability": [0.4, 0.2, 0.1, 0.3]}
    text = {name: [str(value) for value in table[name]] for name in table}
    result = online.ope(frame, pl.DataFrame(text))
    assert result.status == 3
    assert "hat" in result.checks.filter(check="support")["words"].item()
    with raises("no-common-actions", InputError):
        online.ope(frame, pl.DataFrame({"action": ["hat", "coat"], "probability": [0.5, 0.5]}))


def test_logs_that_cannot_be_right(tmp_path):
    valid_log = decisions(50, 1)
    path = tmp_path / "log.csv"
    for wrong in (0.0, 1.5, -0.1):
        chances = valid_log["propensity"].to_list()
        chances[6] = wrong
        valid_log.with_columns(propensity=pl.Series(chances)).write_csv(path)
        with raises("invalid-propensity", InputError, source=str(path), line=8):
            online.ope(path, "uniform")
    with raises("missing-column", InputError):
        online.ope(valid_log.drop("propensity"), "uniform")
    with raises("not-a-number", InputError):
        online.ope(valid_log.with_columns(reward=pl.lit("yes")), "uniform")
    with raises("invalid-probability", InputError):
        online.ope(valid_log.with_columns(new=pl.lit(1.2)), "new")
    with raises("invalid-probability", InputError):
        online.ope(valid_log, policy(tmp_path / "p.csv", [0.5, 0.2, 0.1]))
    with raises("unknown-target", UsageError):
        online.ope(valid_log, "newer")
    with raises("too-few-actions", UsageError):
        online.ope(valid_log, "uniform:2")
    for wrong in ("uniform:", "uniform:0", "uniform:many", "uniform:-4"):
        with raises("invalid-parameter", UsageError):
            online.ope(valid_log, wrong)
    with raises("estimator-not-allowed", UsageError):
        online.ope(valid_log, "new", estimators=["dr"])
    with raises("unknown-column", UsageError):
        online.ope(valid_log, "new", columns={"context": "x"})
    repeated_slots = slates(3, WORLDS["independent"][0]).with_columns(position=1)
    with raises("duplicate-slot", InputError):
        online.ope(repeated_slots, "uniform")
    with raises("no-rows", InputError):
        online.ope(valid_log.head(0), "uniform")


def test_the_command_ends_with_3_where_it_cannot_answer(tmp_path):
    log = tmp_path / "log.csv"
    women().write_csv(log)
    result = CliRunner().invoke(program, ["online", "ope", str(log), "--target", "uniform"])
    assert result.exit_code == 3
    arguments = [
        "online",
        "ope",
        str(log),
        "--target",
        "uniform",
        "--min-ess",
        "2",
        "--columns",
        "reward=click",
        "--format",
        "json",
    ]
    result = CliRunner().invoke(program, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["estimator"]
