"""A convention's own names mean one metric, however they are written."""

from __future__ import annotations

import re

import pytest

import rankgate
from rankgate.core.errors import RankgateError
from rankgate.measurement.evaluation.metric_selection import find_ranking_metrics
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.metric_catalogue import by_name
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.scoring.presets import CONVENTIONS

QRELS = {"q": {"a": 3, "b": 2, "c": 1}}
RUN = {"q": {"c": 3.0, "b": 2.0, "a": 1.0}}


def _metric(text, how):
    return find_ranking_metrics(text, how, LIST_METRICS)[0][1]


def _ours(text, how):
    metric = parse(text, LIST_METRICS)
    return metric.under_convention(how.parameters.get(metric.name, {}))


@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_name_of_a_tool_means_one_metric_in_every_spelling(name):
    convention = CONVENTIONS[name]
    for tool_name, metrics in convention._tool_names.items():
        if True in metrics:
            expected = _ours(f"{metrics[True]}@7", convention)
            forms = [f"{tool_name}@7", f"{tool_name}(cutoff=7)", f"{tool_name}(cutoff = 7 )"]
        else:
            expected, forms = _ours(metrics[False], convention), [tool_name]
        lower, upper = tool_name.lower(), tool_name.upper()
        forms += [
            form.replace(tool_name, variant)
            for variant in (lower, upper)
            if variant not in by_name
            for form in forms
        ]
        for form in forms:
            assert _metric(form, convention) == expected, (name, form)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_pattern_of_a_tool_means_one_metric_in_every_case(name):
    """Names with further arguments, such as ``RBP_{p}`` or ``ndcg(k={k},rel={r})``."""
    convention = CONVENTIONS[name]
    for peer_name, rankgate_name in convention.spellings.items():
        places = set(re.findall(r"\{(\w+)\}", peer_name + rankgate_name))
        for values in (dict.fromkeys(places, "1"), dict.fromkeys(places, "2")):
            form = peer_name.format(**values)
            try:
                expected = _ours(rankgate_name.format(**values), convention)
            except RankgateError:  # a number that its parameter cannot be, such as p=2
                continue
            assert _metric(form, convention) == expected, (name, form)
            for variant in {form.lower(), form.upper(), f" {form} "} - {form}:
                try:
                    metric = _metric(variant, convention)
                except RankgateError:
                    continue
                has_own_entry = (
                    variant.strip() in convention.spellings or variant.partition("@")[0] in by_name
                )
                assert metric == expected or has_own_entry, (name, variant)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_alias_is_the_metric_unless_the_tool_has_the_name(name):
    convention = CONVENTIONS[name]
    for metric in by_name.values():
        for alias in metric.aliases:
            for form in (f"{alias}@7", f"{alias}(cutoff=7)", alias):
                if convention.spelled(form) is not None:
                    continue
                try:
                    expected = parse(form)
                except RankgateError:  # a metric without a cutoff
                    continue
                if expected.missing:
                    continue
                tool_names = {tool_name.casefold() for tool_name in convention._tool_names}
                assert alias.casefold() not in tool_names or alias in by_name, (name, form)
                assert _metric(form, convention) == expected, (name, form)


def test_microsoft_ndcg_of_ntcir_is_not_the_original_one():
    forms = ("MSnDCG@2", "MSnDCG(cutoff=2)", "msndcg@2", "nDCG(discount='shifted')@2", "nDCG@2")
    means = rankgate.evaluate(QRELS, RUN, forms, "ntcir").runs[0].means
    assert len({means[form] for form in forms[:4]}) == 1
    assert means["MSnDCG@2"] != means["nDCG@2"]


def test_a_tool_name_takes_parameters_besides():
    convention = CONVENTIONS["ntcir"]
    assert str(_metric("MSnDCG(gain='linear')@5", convention)) == ("nDCG(gain='linear',discount='shifted')@5")
