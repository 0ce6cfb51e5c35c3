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
    ],
)
def test_an_error_names_its_line_and_what_is_near(old, new, code, line):
    with raises(code, InputError, source="p.toml", line=line):
        parse_policy(GOOD.replace(old, new), "p.toml")


def test_the_same_text_without_a_mistake_is_a_policy():
    assert parse_policy(GOOD, "p.toml").metrics == ("AP",)
