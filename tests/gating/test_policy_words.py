"""Valid policies: the schema agrees with the reader, and the page with both."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from rankgate.core.errors import InputError
from rankgate.decisions.gating.policy import DEFAULT_POLICY, parse_policy
from rankgate.interface.cli import rankgate as program
from support.wording import raises

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = Draft202012Validator(json.loads((DOCS / "policy.schema.json").read_text()))
GOOD = {
    "default": DEFAULT_POLICY,
    "the page's": re.search(r"```toml\n(.*?)```", (DOCS / "gate.md").read_text(), re.DOTALL).group(1),
    "every kind": "".join(
        f'[[rules]]\nkind = "{kind}"\n{says}\n'
        for kind, says in {
            "noninferiority": 'metric = "AP"\nrelative = 0.1\nslice = "intent=head"',
            "equivalence": 'metric = "AP"\nrelative = 0.1',
            "improvement": 'metric = "AP"\nby = 0.01',
            "floor": 'metric = "AP"\nat_least = 0.3\nby = "mean"',
            "per_query": 'metric = "AP"\nmax_drop = 0.2\nat_most = 3\nallow = ["q1"]',
            "must_have": 'query = "q"\ndoc = "d"\nwithin = 3',
            "must_not_have": 'query = "q"\ndoc = "d"',
            "order": 'query = "q"\nabove = "a"\nbelow = "b"',
            "judged": "at_least = 0.8\nk = 5",
            "states": 'state = "failed"\nat_most = 0.01\nslice = "intent=head"',
            "latency": 'quantile = "p99"\nmax_ms = 200\nslice = "intent=head"',
            "unseen": 'at_most = 0.5\ntier = "info"',
            "cutoff": 'threshold = 0.5\nsilent = 0.95\nkept = 0.9\nslice = "intent=head"',
            "drift": "queries = 0.1\njudgments = false",
            "kpi_noninferiority": 'kpi = "search_ctr"\nrelative = 0.01',
            "kpi_improvement": 'kpi = "clicks_per_search"\nbetter = "down"',
            "admitted": "file = 'admission.json'",
        }.items()
    ),
}
KPI = '[[rules]]\nid = "ctr"\nkind = "kpi_noninferiority"\nkpi = "search_ctr"\nrelative = 0.01\n'
LAUNCH = '[experiment]\ncontrol = "old"\ntreatment = "new"\nstart = "2026-03-01"\n'
GOOD["a launch"] = (
    LAUNCH + "[[ramp]]\nshare = 0.01\nsince = '2026-03-01'\n[[ramp]]\nshare = 0.5\npasses = ['ctr']\n"
    "[budget]\nalpha = 0.05\ngate = 0.4\nreplay = 0\ninterleaving = 0.1\nramp = 0.5\n"
    "[earlier]\ngate = 'gate.json'\n" + KPI
)
RULE = '[[rules]]\nkind = "noninferiority"\nmetric = "AP"\nmargin = 0.01\n'
BAD = {
    "unknown key": RULE + "margn = 1\n",
    "unknown kind": '[[rules]]\nkind = "noninferior"\n',
    "key of another kind": RULE + 'doc = "d"\n',
    "negative margin": RULE.replace("0.01", "-0.01"),
    "impossible alpha": "[gate]\nalpha = 1.5\n" + RULE,
    "text for a number": RULE.replace("0.01", '"0.01"'),
    "no metric": '[[rules]]\nkind = "noninferiority"\nmargin = 0.1\n',
    "no rules": "[gate]\nalpha = 0.05\n",
    "slice of one query": '[[rules]]\nkind = "must_have"\nquery = "q"\ndoc = "d"\nslice = "a=b"\n',
    "unknown tier": RULE + 'tier = "blocking"\n',
    "unknown setting": "[gate]\nalfa = 0.05\n" + RULE,
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_schema_and_reader_take_what_is_right(text):
    SCHEMA.validate(tomllib.loads(text))
    assert parse_policy(text, "p.toml").rules


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_schema_and_reader_refuse_what_is_wrong(text):
    assert not SCHEMA.is_valid(tomllib.loads(text))
    with raises("invalid-policy", InputError):
        parse_policy(text, "p.toml")


def test_the_pages_say_what_the_program_says():
    result = CliRunner().invoke(program, ["policy", "--format", "schema"]).output
    assert (DOCS / "policy.schema.json").read_text() == result
    result = CliRunner().invoke(program, ["policy", "--format", "markdown"]).output
    _, sign, tables = result.partition("\n## ")
    page = (DOCS / "gate.md").read_text()
    assert page.endswith(f"\n### {tables}".replace("\n## ", "\n### "))
    assert sign


def test_a_policy_is_checked_and_shown(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text(GOOD["every kind"])
    result = CliRunner().invoke(program, ["policy", str(path)]).output
    assert "17 rules" in result
    assert re.search(r"per_query +per_query-5 \(block\)\n +metric AP, max_drop 0.2, at_most 3", result)
