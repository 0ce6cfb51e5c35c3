"""Every error of a policy names its line."""

from __future__ import annotations

import pytest

from rankgate.core.errors import InputError
from rankgate.decisions.gating.policy import parse_policy
from support.wording import raises

GOOD = '[gate]\nalpha = 0.05\n\n[[rules]]\nkind = "noninferiority"\nmetric = "AP"\nmargin = 0.02\n'


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("alpha = 0.05", "alhpa = 0.05", "invalid-policy", 2),
        ("alpha = 0.05", "alpha = 7", "invalid-policy", 2),
        ("alpha = 0.05", 'alpha = "x"', "invalid-policy", 2),
        ("alpha = 0.05", "alpha = nan", "invalid-policy", 2),
        ('"noninferiority"', '"noninferiorty"', "invalid-policy", 5),
        ("margin = 0.02", "margin = -0.02", "invalid-policy", 7),
        ("margin = 0.02", "magrin = 0.02", "invalid-policy", 7),
        ('metric = "AP"\n', "", "invalid-policy", 4),
        ("alpha = 0.05", "alpha = ", "invalid-toml", 2),
        ("[gate]", "[test]\nmehtod = 't'\n[gate]", "invalid-policy", 2),
        ("[gate]", "[test]\nmethod = 'tt'\n[gate]", "invalid-policy", 2),
        ("[gate]", "[test]\nlevel = 95\n[gate]", "invalid-policy", 2),
        ("[gate]", "test = 't'\n[gate]", "invalid-policy", 1),
    ],
)
def test_an_error_names_its_line_and_what_is_near(old, new, code, line):
    with raises(code, InputError, source="p.toml", line=line):
        parse_policy(GOOD.replace(old, new), "p.toml")


def test_a_test_of_commands_may_be_in_a_policy_without_rules_too():
    text = "[test]\nmethod = 'wilcoxon'\nzeros = 'pratt'\nlevel = 0.9\n"
    assert parse_policy(text + GOOD, "p.toml").sha256 == parse_policy(GOOD, "p.toml").sha256
    assert parse_policy(text, "p.toml").rules == parse_policy("", "p.toml").rules
    with raises("invalid-policy", InputError, source="p.toml", line=3):
        parse_policy(text.replace("pratt", "prat"), "p.toml")


def test_the_same_text_without_a_mistake_is_a_policy():
    assert parse_policy(GOOD, "p.toml").metrics == ("AP",)
