"""Axes set one by one, conventions in TOML, and differences of two conventions."""

from __future__ import annotations

from dataclasses import fields

import pytest

from rankgate.core.errors import InputError, UsageError
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.scoring import CONVENTIONS, Convention
from rankgate.measurement.scoring.convention import DESCRIPTIVE_FIELDS, axes
from rankgate.measurement.scoring.convention_overrides import Choices
from rankgate.measurement.scoring.presets import chosen_convention as overridden
from support.wording import raises

QRELS = {"1": {"a": 3.0, "b": 1.0}, "2": {"z": 0.0}}
RUN = {"1": {"b": 2.0, "a": 1.0}, "2": {"y": 1.0}}


def test_every_field_that_chooses_is_an_axis_with_words():
    axis_names = {field.name for field in fields(Convention)} - DESCRIPTIVE_FIELDS - {"parameters", "special"}
    assert set(axes()) == axis_names
    assert all(len(axis.help) > 20 for axis in axes().values())


@pytest.mark.parametrize("axis", axes().values(), ids=lambda axis: axis.name)
def test_every_word_of_an_axis_is_read_back(axis):
    choices = axis.choices if axis.kind == "choice" else ()
    options = [*choices, *(["none"] if axis.optional else [])]
    for word in options:
        convention = overridden(Convention("plain"), [f"{axis.name}={word}"])
        assert getattr(convention, axis.name) == (None if word == "none" else word)


def test_an_override_has_a_name_and_a_hash_of_its_own():
    convention = overridden("trec", ["ties=doc_id_asc", "depth=5"])
    assert (convention.name, convention.ties, convention.depth) == ("trec+", "doc_id_asc", 5)
    assert convention.hash != CONVENTIONS["trec"].hash
    assert overridden(convention, ["ties=doc_id_desc"]).name == "trec+"


def test_what_changes_nothing_keeps_the_convention():
    assert overridden("trec", ["ties=doc_id_desc"]) is CONVENTIONS["trec"]


def test_values_follow_the_settings():
    metrics = ["nDCG", "RR"]
    settings = ["nDCG.gain=exp", "RR.without_relevant=none"]
    plain = evaluate(QRELS, RUN, metrics).runs[0].means
    adjusted = evaluate(QRELS, RUN, metrics, overridden("trec", settings)).runs[0].means
    direct = evaluate(QRELS, RUN, ["nDCG(gain='exp')"]).runs[0].means["nDCG(gain='exp')"]
    assert plain["RR"] == 1 / 2  # two queries, one without relevant documents
    assert adjusted["RR"] == 1  # which is left out
    assert adjusted["nDCG"] == direct != plain["nDCG"]


def test_a_setting_for_all_metrics_takes_back_what_single_ones_had():
    convention = overridden("trec", ["RR.without_relevant=none", "without_relevant=1"])
    assert "RR" not in convention.special
    convention = overridden("trec", ["AP.rel=3", "rel=2"])
    assert convention.parameters["*"] == {"rel": 2}
    assert "AP" not in convention.parameters


def test_a_kind_of_empty_is_forced():
    assert overridden("trec", ["forced.nothing=1"]).forced == {"nothing": 1.0}


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("tise=x", "unknown-axis"),
        ("ties=doc_id_as", "invalid-axis-value"),
        ("nDGC.gain=exp", "unknown-metric"),
        ("nDCG.gian=exp", "unknown-axis"),
        ("nDCG.gain=expp", "invalid-axis-value"),
        ("denominator=found", "invalid-axis-value"),
        ("depth=0", "invalid-axis-value"),
        ("forced.nothign=1", "unknown-axis"),
        ("RR.unknown=zero", "invalid-axis-value"),
        ("RR.missing=error", "invalid-axis-value"),
        ("RR.no_relevant=error", "invalid-axis-value"),
        ("ties", "invalid-syntax"),
    ],
)
def test_what_cannot_be_set_is_refused_with_the_nearest(word, code):
    with raises(code, UsageError):
        overridden("trec", [word])


OURS = """
name = "ours"
base = "trec9"
ties = "doc_id_asc"
without_relevant = "none"
[parameters.nDCG]
gain = "exp"
[parameters."*"]
rel = 2
[special.RR]
depth = 10
[forced]
nothing = 1
[spellings]
"ndcg at {k}" = "nDCG@{k}"
"""


def test_a_convention_in_toml(tmp_path):
    path = tmp_path / "file.toml"
    path.write_text(OURS)
    result = evaluate(QRELS, RUN, ["ndcg at 5"], str(path))
    assert result.convention["name"] == "ours"
    axis_values = result.convention["axes"]
    assert (axis_values["precision"], axis_values["missing"]) == ("float32", "leave_out")  # of the base
    assert (axis_values["ties"], axis_values["without_relevant"]) == ("doc_id_asc", None)
    assert axis_values["parameters"]["nDCG"]["gain"] == "exp"
    assert axis_values["parameters"]["*"] == {"rel": 2}
    assert axis_values["special"]["RR"] == {"depth": 10}
    assert axis_values["forced"] == {"nothing": 1.0}
    direct = evaluate(QRELS, RUN, ["nDCG(gain='exp')@5"], "trec9").runs[0]
    values = result.runs[0].values["ndcg at 5"]
    assert values[0] == direct.values["nDCG(gain='exp')@5"][0]


def test_one_metric_cannot_add_queries_that_the_others_lack():
    with raises("invalid-axis-value", UsageError):
        overridden(CONVENTIONS["trec9"], ["RR.missing=zero"])
    convention = overridden(CONVENTIONS["trec"], ["RR.missing=leave_out"])
    means = evaluate({"1": {"a": 1}, "2": {"b": 1}}, {"1": {"a": 1.0}}, ["RR", "P@1"], convention)
    assert means.runs[0].means == {"RR": 1.0, "P@1": 0.5}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("tise = 1", "invalid-convention"),
        ("ties = 'x'", "invalid-convention"),
        ("title = 'x'\n[parameters.nDCG]\ngain = 'cube'", "invalid-convention"),
        ("base = 'trek'", "invalid-convention"),
        ("parameters = 1", "invalid-convention"),
        ("a b", "invalid-toml"),
        ("name = ''", "invalid-convention"),
    ],
)
def test_toml_that_says_no_convention(tmp_path, text, code):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with raises(code, InputError) as refused:
        overridden(str(path))
    assert str(refused.value).startswith(str(path))


def test_a_missing_file(tmp_path):
    with raises("cannot-read", InputError):
        overridden(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("name", ["nDCG@10", "RR@10", "IPrec@0.1", "AP(rel=2)"])
def test_choices_laid_flat_mean_the_same(name):
    metric = parse(name)
    for convention in CONVENTIONS.values():
        flat = Choices.collect(convention, metric)
        rebuilt = flat.convention("flat")
        assert flat.differing(Choices.collect(rebuilt, metric)) == ()
        assert metric.bound(rebuilt.defaults(metric)) == metric.bound(
            convention.for_metric(metric).defaults(metric)
        )


def test_going_all_the_way_arrives():
    metric = parse("nDCG@10")
    begin, end = (Choices.collect(CONVENTIONS[name], metric) for name in ("trec", "trec9"))
    keys = begin.differing(end)
    assert set(keys) >= {"precision", "missing"}
    assert begin.towards(end, keys).differing(end) == ()
