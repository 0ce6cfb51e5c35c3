"""``rankgate metrics``: the catalogue and one description."""

import json
import re

import pytest

from rankgate.core.present.text_tables import text_width
from rankgate.core.present.write_results import render_result
from rankgate.measurement.evaluation.metric_details import metric_details
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.metrics.preference_metrics import PREFERENCE_METRICS
from rankgate.measurement.metrics.sequences.sequence_catalogue import SEQUENCE_METRICS
from rankgate.measurement.metrics.stratified_samples import SAMPLE_METRICS
from rankgate.measurement.scoring import CONVENTIONS
from support.command import assert_refused

EVERY = (*CATALOGUE, *FACET_METRICS, *PREFERENCE_METRICS, *SAMPLE_METRICS, *LIST_METRICS, *SEQUENCE_METRICS)


def test_every_metric_is_listed_within_80_columns(run):
    title, _, _, *lines = run("metrics").out.splitlines()
    assert title == f"{len(EVERY)} metrics"
    assert max(map(len, lines)) <= 80
    result = [line.split("  ")[0] for line in lines if not line.startswith(" ")]
    names = [name.split("[")[0].split("@")[0] for name in result]
    assert names == [metric.name for metric in EVERY]


def test_a_passport_in_full(run):
    text, conventions = run("metrics", "RBP").out.split("conventions\n", 1)
    assert text == (
        "RBP[@cutoff]\n\n"
        "The gain a document for a reader who goes on to the next with probability p.\n"
        "\n"
        "formula      RBP = (1 − p) · Σ_i p^(i−1) · g(gradeᵢ)\n"
        "values       from 0, no upper bound; higher is better; mean over queries\n"
        "sees         relevance weighted by the probability that a reader gets that far;\n"
        "               it needs no ideal, so new judgments never lower it\n"
        "blind to     the number of relevant documents: a query with one reaches 1 − p at\n"
        "               most; and the possible gain of unjudged documents, which RBPResid\n"
        "               measures\n"
        "also called  rank_biased_precision\n"
        "trec_eval    rbp\n"
        "source       Moffat & Zobel, ACM TOIS 27(1), 2008, doi:10.1145/1416950.1416952\n"
        "\n"
        "parameters and their defaults\n"
        "  parameter  default  may be\n"
        "  p          0.8      a number from 0 to 1\n"
        "  rel        1        a number\n"
        "  gain       binary   binary or scaled or linear or exp, or a map such as {1: 1,\n"
        "                        2: 3}\n"
        "  cutoff     None     a whole number of at least 1, written @cutoff\n"
        "  max_grade  None     a number of at least 0\n"
        "  ties       broken   broken or averaged\n"
        "  horizon    None     a whole number of at least 1\n"
        "\n"
    )
    lines = conventions.splitlines()
    assert [line.split() for line in lines if "searchtweak" in line]
    assert any(line.split()[:3] == ["gain='scaled'", "0", "0"] for line in lines)


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
@pytest.mark.parametrize("width", [80, 160])
def test_a_passport_stays_within_its_width(metric, width):
    text = render_result(metric_details(metric.name), "text", width)
    assert max(map(text_width, text.splitlines())) <= width
    assert not any(line != line.rstrip() for line in text.splitlines())
    if metric in LIST_METRICS:  # only the conventions of tools that have it
        _, _, result = text.partition("its tool's name\n")
        assert [line.split()[0] for line in result.splitlines() if line[2:3].strip()] == list(
            metric_details(metric.name).conventions
        )
        return
    names = [name for name in CONVENTIONS if re.search(rf"(?<![\w-]){name}(?![\w-])", text)]
    assert names == list(CONVENTIONS)


def test_a_metric_on_lists_tells_whose_variant_it_is(run):
    result = json.loads(run("metrics", "Equality", "--format", "json").out)
    assert result["conventions"] == {
        "elliot": {"parameters": {}, "called": ["Gini@{k}, here Equality(divisor='n-1')@{k}"]}
    }
    assert "evidently   over='shown', divisor='n-1'  PopularityBias(k={k})" in run("metrics", "Gini").out


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
def test_every_name_of_a_metric_finds_its_passport(run, metric):
    for name in (metric.name, *metric.aliases, *metric.trec):
        result = json.loads(run("metrics", name, "--format", "json").out)
        assert result["formula"]
        if name in (metric.name, *metric.aliases) or name.lower() != metric.name.lower():
            assert result["name"] == metric.name


def test_parameters_do_not_matter(run):
    plain = run("metrics", "nDCG").out
    assert run("metrics", "nDCG(gain='exp')@10").out == plain
    assert run("metrics", "ndcg_cut").out == plain


def test_json_lists_what_the_text_lists(run):
    result = json.loads(run("metrics", "--format", "json").out)
    assert result["schema_version"] == 1
    assert [metric["name"] for metric in result["metrics"]] == [metric.name for metric in EVERY]
    (iprec,) = [metric for metric in result["metrics"] if metric["name"] == "IPrec"]
    assert iprec["conventions"]["trec9"] == {
        "parameters": {"points": "ceil9"},
        "without_relevant": 0.0,
        "nothing_retrieved": "undefined",
    }
    assert iprec["parameters"][0] == {
        "name": "recall",
        "default": None,
        "required": True,
        "kind": "float",
        "choices": [],
        "low": 0,
        "high": 1,
    }


def test_an_unknown_name(run):
    assert_refused(run("metrics", "nDGC"), "unknown-metric")
