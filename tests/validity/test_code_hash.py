"""Results of a study are stale where its code changed, and only there."""

import importlib.util
import sys
from pathlib import Path

import pytest

STUDY = '''
"""A study."""
import numpy as np
from rankgate.measurement.stats.ends import Ends, lower

LEVEL = 0.95

def run(size: int = 10) -> list[Ends]:
    """Make ends."""
    values = np.arange(size)  # so many
    ends = lower(values, level=LEVEL)
    words = f"{size} ends are far from equal"
    return [ends.low, np.mean(ends.width()), words]

def section(cells):
    return "words"
'''
ENDS = """
from dataclasses import dataclass

@dataclass
class Ends:
    low: float
    high: float

    def width(self):
        if self.high < self.low:
            raise ValueError("the wrong way")
        return self.high - self.low

    def unused(self):
        return 1

def lower(values, level):
    return Ends(values.min() * level, values.max())
"""


@pytest.fixture(scope="module")
def code():
    spec = importlib.util.spec_from_file_location(
        "code_hash", Path(__file__).parents[2] / "validity" / "code_hash.py"
    )
    module = sys.modules["code_hash"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.Code
    del sys.modules["code_hash"]


def digest(code, folder, study=STUDY, ends=ENDS, place="ends"):
    (folder / "rankgate" / "measurement" / "stats").mkdir(parents=True, exist_ok=True)
    (folder / "studies").mkdir(exist_ok=True)
    (folder / "rankgate" / "measurement" / "stats" / f"{place}.py").write_text(ends)
    (folder / "studies" / "one.py").write_text(study)
    return code([folder]).digest("studies.one")


SAME = {
    "comment": (("  # so many", ""), ()),
    "docstring": (('"""Make ends."""', '"""Make some ends."""'), ()),
    "formatting": (("np.arange(size)", "np.arange(\n        size,\n    )"), ()),
    "annotation": (("size: int", "size"), ()),
    "variable": (("values", "drawn"), ()),
    "constant's name": (("LEVEL", "SHARE"), ()),
    "function's name": (("lower", "ends_of"), ("lower", "ends_of")),
    "class's name": (("Ends", "Bounds"), ("Ends", "Bounds")),
    "field's name": ((), ("high", "most")),
    "method's name": (("width", "reach"), ("width", "reach")),
    "parameter's name": (("level=", "share="), ("level", "share")),
    "words of an error": ((), ("the wrong way", "high is below low")),
    "what is not used": ((), ("return 1", "return 2")),
    "words of a warning": (("far from equal", "not at all equal"), ()),
    "section": (('return "words"', 'return "other words"'), ()),
}
OTHER = {
    "number": (("0.95", "0.9"), ()),
    "function of another package": (("np.mean", "np.median"), ()),
    "field": (("ends.low", "ends.high"), ()),
    "argument": (("level=LEVEL", "level=1"), ()),
    "what a function does": ((), ("values.max()", "values.max() + 1")),
    "what a method does": ((), ("self.high - self.low", "self.high + self.low")),
    "order of fields": ((), ("low: float\n    high: float", "high: float\n    low: float")),
}


def changed(text, change):
    if not change:
        return text
    assert change[0] in text
    return text.replace(*change)


@pytest.mark.parametrize("what", SAME)
def test_what_changes_no_result_does_not_change_the_hash(what, code, tmp_path):
    study, ends = SAME[what]
    if what == "function's name":
        ends = ("lower(", "ends_of(")
    assert digest(code, tmp_path, changed(STUDY, study), changed(ENDS, ends)) == digest(code, tmp_path)


@pytest.mark.parametrize("what", OTHER)
def test_what_changes_results_changes_the_hash(what, code, tmp_path):
    study, ends = OTHER[what]
    assert digest(code, tmp_path, changed(STUDY, study), changed(ENDS, ends)) != digest(code, tmp_path)


def test_the_name_of_a_module_in_a_string_changes_no_hash(code, tmp_path):
    study = STUDY.replace("LEVEL = 0.95", "LEVEL = 'rankgate.documents.ends:document'")
    moved = study.replace("rankgate.documents", "rankgate.measurement.documents")
    assert digest(code, tmp_path, study) == digest(code, tmp_path, moved)
    assert digest(code, tmp_path, study) != digest(code, tmp_path)


def test_a_definition_in_another_file_has_the_same_hash(code, tmp_path):
    original_hash = digest(code, tmp_path / "a")
    assert (
        digest(code, tmp_path / "b", STUDY.replace("stats.ends", "stats.bounds"), place="bounds")
        == original_hash
    )
