"""Every error of a policy names its line."""

from __future__ import annotations

import pytest

from rankgate.errors import InputError
from rankgate.gating.policy import parsed

GOOD = '[gate]\nalpha = 0.05\n\n[[rules]]\nkind = "noninferiority"\nmetric = "AP"\nmargin = 0.02\n'


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("alpha = 0.05", "alhpa = 0.05", "p.toml:2: unknown key 'alhpa'; did you mean alpha?"),
        ("alpha = 0.05", "alpha = 7", "p.toml:2: alpha = 7 must be a number between"),
        ("alpha = 0.05", 'alpha = "x"', "p.toml:2: alpha = 'x' must be a number between"),
        ("alpha = 0.05", "alpha = nan", "p.toml:2: alpha = nan must be a number"),
        ('"noninferiority"', '"noninferiorty"', "p.toml:5: no kind of rule is called"),
        ("margin = 0.02", "margin = -0.02", "p.toml:7: margin = -0.02 must be a number"),
        ("margin = 0.02", "magrin = 0.02", "p.toml:7: unknown key 'magrin'; did you mean margin?"),
        ('metric = "AP"\n', "", "p.toml:4: metric is missing"),
        ("alpha = 0.05", "alpha = ", "p.toml:2: not TOML"),
    ],
)
def test_an_error_names_its_line_and_what_is_near(old, new, says):
    with pytest.raises(InputError) as error:
        parsed(GOOD.replace(old, new), "p.toml")
    assert str(error.value).startswith(says)


def test_the_same_text_without_a_mistake_is_a_policy():
    assert parsed(GOOD, "p.toml").metrics == ("AP",)
