"""``rankgate doctor``: errors, missing packages, and missing methods for the size of a team."""

from __future__ import annotations

import json

import pytest

from rankgate.interface.cli import doctor
from rankgate.interface.cli.doctor import PRACTICES, TEAMS


def findings(run, *words):
    result = run("doctor", *words, "--format", "json")
    entries = json.loads(result.out)["findings"]
    return result.code, {(entry["area"], entry["name"]): entry for entry in entries}


def test_a_fresh_folder_has_nothing_wrong(run, tmp_path):
    run("init", tmp_path, "--kind", "search")
    code, checks = findings(run, tmp_path)
    assert code == 0
    assert checks["project", "policy"]["status"] == "works"
    assert checks["installation", "polars"]["status"] == "works"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[[rules]]\nkind = 'nothing'\n", "policy"),
        ("[defaults]\nmetrics = ['Nothing']\n[[rules]]\n", "metrics"),
        ("[files]\nqrels = 'nothing.txt'\n[[rules]]\n", "@qrels"),
    ],
)
def test_what_would_fail_is_named(run, tmp_path, monkeypatch, text, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rankgate.toml").write_text(text)
    code, checks = findings(run)
    assert (code, checks["project", name]["status"]) == (2, "wrong")
    assert "rankgate.toml:" in checks["project", name]["words"]
    assert checks["project", name]["fix"]


def test_an_extra_that_is_missing_says_how_to_get_it(run, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "_is_installed", lambda package: package != "duckdb")
    code, checks = findings(run, tmp_path)
    assert code == 0
    online = checks["extras", "online"]
    assert (online["status"], online["fix"]) == ("missing", 'pip install "rankgate[online]"')
    assert checks["extras", "plots"]["status"] == "works"


def test_each_size_has_what_smaller_ones_have(run, tmp_path):
    run("init", tmp_path, "--kind", "search")
    counts = []
    for team in TEAMS:
        _, checks = findings(run, tmp_path, "--team", team)
        of_team = [check for (area, _), check in checks.items() if area == f"for {team}"]
        counts.append(len(of_team))
        by_name = {check["name"]: check["status"] for check in of_team}
        assert by_name["evaluation on every change"] == "works"
        assert by_name["feedback of users"] == "advice"
    assert counts == sorted(counts)
    assert counts[-1] == len(PRACTICES)


def test_a_launch_in_steps_is_seen(run, tmp_path):
    run("init", tmp_path, "--kind", "online")
    with (tmp_path / "rankgate.toml").open("a") as file:
        file.write("\n[[ramp]]\nshare = 0.5\n\n[[ramp]]\nshare = 0.9\n")
    _, checks = findings(run, tmp_path, "--team", "enterprise")
    assert checks["for enterprise", "launches in steps"]["status"] == "works"
    assert checks["for enterprise", "A/B tests next to offline metrics"]["status"] == "works"
