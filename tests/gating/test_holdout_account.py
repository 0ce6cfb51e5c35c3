"""The account of held-out queries: what is charged, inherited, withheld and lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from math import comb
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rankgate import Verdict, gate
from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.gating.saved.holdout_account import FILE, HoldoutAccount, open_account, query_keys
from rankgate.interface.cli import rankgate as program
from rankgate.measurement.stats.chosen_candidates import (
    first_exceedance_level,
    share_of_test,
    unit_differences,
)
from rankgate.measurement.stats.special_functions import ndtri
from support.wording import raises

ALPHA = 0.05


def _ids(numbers: range, prefix: str = "q") -> list[str]:
    return [f"{prefix}{number}" for number in numbers]


def _charge(account: HoldoutAccount, name: str, keys: pl.DataFrame):
    return account.charge(name, keys, ALPHA, 0.8, "", None)


@pytest.fixture
def account(tmp_path: Path) -> HoldoutAccount:
    open_account(tmp_path, tests=5)
    return HoldoutAccount(tmp_path / FILE)


@pytest.mark.parametrize("tests", [1, 10, 1000])
def test_all_tests_that_can_be_reached_spend_at_most_alpha(tests: int) -> None:
    # after m passes of K tests there are C(K, m + 1) places for the next one
    spent = sum(share_of_test(ALPHA, tests, m) * comb(tests, m + 1) for m in range(min(tests, 50)))
    assert ALPHA * 0.89 < spent <= ALPHA


def test_the_first_of_several_tests_by_chance_is_as_rare_as_said() -> None:
    rng, share = np.random.default_rng(3), 0.01
    features = rng.standard_normal((100, 2))
    values = features @ rng.standard_normal((2, 12))
    units = np.column_stack([unit_differences(column) for column in values.T])
    levels = np.zeros(12)
    for k in range(12):
        levels[k] = first_exceedance_level(share, values[:, k], units[:, :k], levels[:k], most=0.5, seed=k)
    normal = rng.standard_normal((200_000, 100))
    union = ((normal @ units) > -ndtri(levels)).any(axis=1).mean()
    assert union <= 12 * share  # and not by much less, as the tests overlap in a plane
    assert union > 6 * share
    assert levels[-1] > share


def test_every_test_is_charged_until_the_queries_are_worn(account: HoldoutAccount) -> None:
    keys = query_keys(_ids(range(20)), None, None)
    charges = [_charge(account, f"test {i}", keys) for i in range(6)]
    assert [charge.budget.left for charge in charges] == [4, 3, 2, 1, 0, 0]
    assert [charge.budget.state for charge in charges] == ["open"] * 5 + ["worn"]
    assert {charge.level for charge in charges[:5]} == {share_of_test(ALPHA, 5, 0)}
    assert charges[5].id is None
    assert charges[5].budget.fresh == 20


def test_the_same_test_is_charged_once(account: HoldoutAccount) -> None:
    keys = query_keys(_ids(range(20)), None, None)
    first, _, again = (_charge(account, name, keys) for name in ("a", "b", "a"))
    assert (again.id, again.level, again.budget.test) == (first.id, first.level, 1)


def test_a_pass_lowers_later_levels_and_fresh_queries_make_up_for_it(account: HoldoutAccount) -> None:
    keys = query_keys(_ids(range(20)), None, None)
    account.settle(_charge(account, "a", keys), passed=True)
    later = _charge(account, "b", keys)
    assert later.budget.passes == 1
    assert later.level == share_of_test(ALPHA, 5, 1)
    z = {m: 0.8416 - float(ndtri(share_of_test(ALPHA, 5, m))) for m in (0, 1)}
    assert later.budget.fresh == pytest.approx(min(20, 20 * (z[1] / z[0]) ** 2 - 20), abs=1)


@pytest.mark.parametrize("numbers", [range(5, 15), range(19, 60)], ids=["a part", "one query of many"])
def test_sets_that_share_a_query_inherit_its_tests(account: HoldoutAccount, numbers: range) -> None:
    for i in range(3):
        _charge(account, f"test {i}", query_keys(_ids(range(20)), None, None))
    budget = _charge(account, "other", query_keys(_ids(numbers), None, None)).budget
    assert budget.test == 4
    assert budget.used == len(set(numbers) & set(range(20)))


def test_a_set_of_two_worn_halves_inherits_the_tests_of_both(account: HoldoutAccount) -> None:
    for name, numbers in (("a", range(10)), ("b", range(10, 20))):
        _charge(account, name, query_keys(_ids(numbers), None, None))
    assert _charge(account, "c", query_keys(_ids(range(5, 15)), None, None)).budget.test == 3


def test_other_names_are_no_other_queries_and_fresh_queries_are(account: HoldoutAccount) -> None:
    def keys(prefix: str, subject: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        ids = _ids(range(20), prefix)
        judgments = pl.DataFrame(
            {"query_id": ids, "doc_id": [f"{subject}{i}" for i in range(20)], "grade": [1.0] * 20}
        )
        texts = pl.DataFrame({"query_id": ids, "text": [f"{subject}  Query {i}" for i in range(20)]})
        return (
            query_keys(ids, judgments, texts),
            query_keys(ids, judgments, None),
            query_keys(ids, None, texts),
        )

    _charge(account, "first", keys("q", "d")[0])
    renamed = keys("x", "d")
    assert _charge(account, "by documents", renamed[1]).budget.used == 20
    assert _charge(account, "by text", keys("y", "d")[2]).budget.test == 3
    fresh = _charge(account, "fresh", keys("z", "e")[0]).budget
    assert (fresh.test, fresh.used) == (1, 0)


def test_queries_whose_figures_were_shown_are_worn(account: HoldoutAccount) -> None:
    account.show(query_keys(_ids(range(3)), None, None))
    assert _charge(account, "a", query_keys(_ids(range(20)), None, None)).budget.state == "worn"
    assert _charge(account, "b", query_keys(_ids(range(3, 20)), None, None)).budget.state == "open"


def _charge_in_process(path: str, worker: int) -> list[int]:
    keys = query_keys(_ids(range(20)), None, None)
    return [_charge(HoldoutAccount(Path(path)), f"{worker} {i}", keys).budget.test for i in range(10)]


def test_processes_at_once_never_spend_the_same_test(tmp_path: Path) -> None:
    open_account(tmp_path, tests=100)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        numbers = [
            n for made in pool.map(_charge_in_process, [str(tmp_path / FILE)] * 2, [1, 2]) for n in made
        ]
    assert sorted(numbers) == list(range(1, 21))


def test_a_charge_outlives_a_killed_process(account: HoldoutAccount) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from rankgate.decisions.gating.saved.holdout_account import *\n"
        "HoldoutAccount(Path(sys.argv[1])).charge('a', query_keys(['q1'], None, None), .05, .8, '', None)\n"
        "os.kill(os.getpid(), 9)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(account.path)], env=dict(os.environ), check=False
    )
    assert result.returncode
    assert _charge(account, "b", query_keys(["q1"], None, None)).budget.test == 2


def test_a_second_account_would_be_a_fresh_budget(tmp_path: Path) -> None:
    open_account(tmp_path)
    with raises("already-exists", UsageError):
        open_account(tmp_path)


def test_a_damaged_account_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_text("not a database, which begins with another text" * 100)
    with raises("cannot-read", InputError):
        gate(_qrels(), _run(0), _run(1), folder=tmp_path)


def _qrels(n: int = 40) -> dict[str, dict[str, int]]:
    return {f"q{i}": {f"d{i}.{j}": j % 3 for j in range(9)} for i in range(n)}


def _run(seed: int, noise: float = 3.0) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {
        query: {doc: grade + noise * rng.standard_normal() for doc, grade in docs.items()}
        for query, docs in _qrels().items()
    }


def test_the_gate_answers_pass_or_not_and_shows_no_figure(tmp_path: Path) -> None:
    open_account(tmp_path, tests=10)
    verdicts = [
        gate(_qrels(), _run(0), _run(seed, noise), folder=tmp_path) for seed, noise in ((1, 3.0), (2, 0.1))
    ]
    assert [verdict.verdict for verdict in verdicts] == ["inconclusive", "pass"]
    for verdict in verdicts:
        values = verdict.to_dict()
        assert not values["means"]
        assert not values["queries"]
        assert values["level"] is None
        assert all(
            rule[name] is None for rule in values["rules"] for name in ("delta", "low", "high", "mde", "n")
        )
        assert verdict.account is not None
        assert verdict.account.sentence in str(verdict).replace("\n  ", " ")
        assert Verdict.from_dict(json.loads(json.dumps(values))).account == verdict.account
    shown = [{**verdict.to_dict(), "hashes": 0, "account": 0, "notes": 0} for verdict in verdicts[:1]]
    other = gate(_qrels(), _run(0), _run(3), folder=tmp_path)  # another candidate that does not pass
    assert {**other.to_dict(), "hashes": 0, "account": 0, "notes": 0} == shown[0]


def test_without_an_account_the_budget_is_unknown_and_nothing_passes(tmp_path: Path) -> None:
    policy = tmp_path / "rankgate.toml"
    policy.write_text(
        '[gate]\nlooks = "account"\n[[rules]]\nid = "a"\nkind = "improvement"\nmetric = "nDCG@5"\n'
    )
    verdict = gate(_qrels(), _run(0), _run(2, 0.1), policy, folder=tmp_path)
    assert verdict.verdict == "inconclusive"
    assert verdict.account is not None
    assert verdict.account.state == "unknown"
    assert not verdict.to_dict()["means"]


def test_turning_the_account_off_is_said_and_wears_the_queries(tmp_path: Path) -> None:
    open_account(tmp_path)
    rule = '[[rules]]\nid = "a"\nkind = "improvement"\nmetric = "nDCG@5"\n'
    policy = tmp_path / "rankgate.toml"
    policy.write_text(f'[gate]\nlooks = "warn"\n{rule}')
    verdict = gate(_qrels(), _run(0), _run(2, 0.1), policy, folder=tmp_path)
    assert verdict.verdict == "pass"
    assert verdict.to_dict()["means"]
    assert verdict.account is not None
    assert verdict.account.state == "unknown"
    policy.write_text(rule)
    assert gate(_qrels(), _run(0), _run(4, 0.1), policy, folder=tmp_path).account.state == "worn"


def test_the_commands_open_and_show_the_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    refused = run(program, ["account", "show"])
    assert refused.exception is not None
    assert run(program, ["account", "open", "--tests", "7", "--alpha", "0.1"]).exit_code == 0
    gate(_qrels(), _run(0), _run(1))
    result = json.loads(run(program, ["account", "show", "--format", "json"]).output)
    assert (result["tests"], result["alpha"]) == (7, 0.1)
    assert result["sets"] == [{"queries": 40, "tests": 1, "passes": 0, "shown": 0, "left": 6}]
