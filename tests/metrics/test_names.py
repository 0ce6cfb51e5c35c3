"""Names: read in every spelling, printed in one spelling."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import RankgateError, UsageError
from rankgate.measurement.metrics import metric_catalogue, metric_name_parser
from rankgate.measurement.metrics.built_in import MODULE_OF_METRIC, find_built_in
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE, by_name
from rankgate.measurement.metrics.metric_name_parser import parse, parse_all
from rankgate.measurement.metrics.preference_metrics import PREFERENCE_METRICS
from rankgate.measurement.metrics.stratified_samples import SAMPLE_METRICS
from support.wording import raises

SPELLINGS = {
    # ir_measures
    "nDCG@10": "nDCG@10",
    "nDCG(dcg='exp-log2')@10": "nDCG(gain='exp')@10",
    "nDCG(dcg='log2')@10": "nDCG(gain='linear')@10",
    "nDCG(gains={1: 1, 2: 3})": "nDCG(gain={1:1,2:3})",
    "nDCG(judged_only=True)@3": "nDCG(judged_only=True)@3",
    "AP(rel=2)@100": "AP(rel=2)@100",
    "RBP(p=0.8,rel=1)": "RBP(p=0.8,rel=1)",
    "RBP(rel=1,p=0.5)": "RBP(p=0.5,rel=1)",
    "SetP": "SetP",
    "SetR": "SetR",
    "SetF(beta=2.)": "SetF(beta=2.0)",
    "SetRelP": "SetRelP",
    "SetP(relative=True)": "SetRelP",
    "SetP(rel=2,relative=False)": "SetP(rel=2)",
    "Compat(p=0.8,normalize=True)": "Compat(p=0.8,best='ideal')",
    "Compat(normalize=False)": "Compat(best='endless')",
    "SDCG(dcg='log2',max_rel=3)@5": "SDCG(max_grade=3)@5",
    "INST(T=2.0,min_rel=1,max_rel=3)": "INST(T=2.0,max_grade=3,min_grade=1)",
    "SetAP": "SetAP",
    "NumQ": "NumQ",
    "NumRet": "NumRet",
    "NumRet(rel=1)": "NumRelRet(rel=1)",
    "NumRel": "NumRel",
    "Rprec": "Rprec",
    "Bpref": "Bpref",
    "infAP": "infAP",
    "IPrec@0.1": "IPrec@0.1",
    "Judged@10": "Judged@10",
    "Success@5": "Success@5",
    "R@100": "R@100",
    "ERR@20": "ERR@20",
    " nDCG ( gain = 'exp' ) @ 10 ": "nDCG(gain='exp')@10",
    # common names, in any case
    "MRR@10": "RR@10",
    "mrr": "RR",
    "hit_rate@5": "Success@5",
    "HR@10": "Success@10",
    # those of MTEB and others
    "ndcg_at_10": "nDCG@10",
    "precision_at_5": "P@5",
    "recall-at-100": "R@100",
    "success_at_5": "Success@5",
    "hit_rate_at_1": "Success@1",
    "map_at_1000": "AP@1000",
    "mrr_at_10": "RR@10",
    "nDCG(gain='exp')_at_3": "nDCG(gain='exp')@3",
    "HitRate@5": "Success@5",
    "precision@5": "P@5",
    "Precision@5": "P@5",
    "p@5": "P@5",
    "recall@100": "R@100",
    "ndcg@10": "nDCG@10",
    "NDCG@10": "nDCG@10",
    "map@100": "AP@100",
    "MAP": "AP",
    "f1@10": "F@10",
    "r-precision": "Rprec",
    "rbp@10": "RBP@10",
    "rbp(p=0.5)": "RBP(p=0.5)",
    "bpref(rel=2)": "Bpref(rel=2)",
    # trec_eval
    "map": "AP",
    "gm_map": "GMAP",
    "recip_rank": "RR",
    "ndcg": "nDCG",
    "Rndcg": "RnDCG",
    "ndcg_rel": "nDCGRel",
    "P_10": "P@10",
    "recall_100": "R@100",
    "map_cut.100": "AP@100",
    "relative_P_5": "RelP@5",
    "success_1": "Success@1",
    "Rprec_mult_0.20": "RprecMult@0.2",
    "iprec_at_recall_0.10": "IPrec@0.1",
    "11pt_avg": "IPrec11",
    "rbp": "RBP(p=0.9,gain='scaled')",
    "rbp.p=0.5": "RBP(p=0.5,gain='scaled')",
    "rbp_p=0.5": "RBP(p=0.5,gain='scaled')",
    "rbp_resid": "RBPResid(p=0.9,tail='holes')",
    "rbp_resid.p=0.5": "RBPResid(p=0.5,tail='holes')",
    "unj_5": "Unjudged@5",
    "ndcg.1=1,2=3,3=7": "nDCG(gain={1:1,2:3,3:7})",
    "G.1=0.5": "G(gain={1:0.5})",
    "set_F.4": "SetF(beta=2.0)",
    "set_F": "SetF",
    "utility.2,-1,0,0": "Utility(found=2.0,noise=-1.0,missed=0.0,avoided=0.0)",
    "num_rel_ret": "NumRelRet",
    "num_nonrel_judged_ret": "NumNonrelJudgedRet",
    "G": "G",
    "binG": "BinG",
    "yaap": "Yaap",
}


@pytest.mark.parametrize(("text", "canonical"), SPELLINGS.items())
def test_spellings(text, canonical):
    assert str(parse(text)) == canonical
    assert parse_all(text) == [(text.strip(), parse(canonical))]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("P.5,10", ["P.5", "P.10"]),
        ("ndcg_cut_5,10", ["ndcg_cut_5", "ndcg_cut_10"]),
        ("ndcg_cut.5,10", ["ndcg_cut.5", "ndcg_cut.10"]),
        ("success", ["success_1", "success_5", "success_10"]),
        ("unj", ["unj_5", "unj_10", "unj_20"]),
        ("iprec_at_recall.0.2,0.80", ["iprec_at_recall.0.2", "iprec_at_recall.0.80"]),
    ],
)
def test_a_family_gives_one_metric_a_cutoff(text, labels):
    metrics = parse_all(text)
    assert [label for label, _ in metrics] == labels
    for label, metric in metrics:
        assert parse(label) == metric


@pytest.mark.parametrize("text", ["P", "recall", "ndcg_cut", "map_cut", "relative_P"])
def test_a_bare_family_gives_the_usual_cutoffs(text):
    usual = [5, 10, 15, 20, 30, 100, 200, 500, 1000]
    labelled_metrics = parse_all(text)
    assert [label for label, _ in labelled_metrics] == [f"{text}_{k}" for k in usual]
    assert [dict(metric.given)["cutoff"] for _, metric in labelled_metrics] == usual


def test_the_usual_levels():
    levels = [label for label, _ in parse_all("iprec_at_recall")]
    assert (levels[0], levels[1], levels[-1], len(levels)) == (
        "iprec_at_recall_0.00",
        "iprec_at_recall_0.10",
        "iprec_at_recall_1.00",
        11,
    )
    multiples = [dict(metric.given)["multiple"] for _, metric in parse_all("Rprec_mult")]
    assert multiples == [0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]


def test_one_name_of_many_metrics_is_refused_where_one_is_asked_for():
    with raises("several-metrics", UsageError):
        parse("P.5,10")
    assert parse("P") == by_name["P"]  # a metric that still needs its cutoff


REFUSED = {
    "nDGC": "unknown-metric",
    "Sucess@5": "unknown-metric",
    "recipe_rank": "unknown-metric",
    "zzz": "unknown-metric",
    "": "unknown-metric",
    "R": "incomplete-metric",
    "Success": "incomplete-metric",
    "IPrec": "incomplete-metric",
    "nDCG@": "unknown-metric",
    "nDCG@5@6": "unknown-metric",
    "nDCG@ten": "invalid-cutoff",
    "AP(2)": "invalid-parameter",
    "AP(rel=x)": "invalid-parameter",
    "AP(rel=1": "unknown-metric",
    "AP(**{'rel':1})": "invalid-parameter",
    "nDCG(dcg='cube')": "invalid-parameter",
    "P_x": "invalid-parameter",
    "P.5,": "invalid-parameter",
    "set_F.x": "invalid-parameter",
    "set_F.-1": "invalid-parameter",
    "utility.1,2": "invalid-parameter",
    "ndcg.1=a": "invalid-parameter",
    "map_5": "unknown-metric",
    "rbp.p=2": "invalid-parameter",
}


@pytest.mark.parametrize(("text", "code"), REFUSED.items())
def test_what_names_nothing_is_refused_with_the_way_out(text, code):
    with raises(code, UsageError) as error:
        parse_all(text)
    assert str(error.value)[-1] in ".?"


def test_every_built_in_metric_is_where_its_names_say():
    metrics = [*CATALOGUE, *PREFERENCE_METRICS, *SAMPLE_METRICS]
    by_every_name = {name: metric for metric in metrics for name in (metric.name, *metric.aliases)}
    assert {name: find_built_in(name) for name in MODULE_OF_METRIC} == by_every_name
    assert find_built_in("ndcg") is None


def test_no_two_metrics_share_a_name_in_some_case():
    owners = {}
    for metric in CATALOGUE:
        for name in (metric.name, *metric.aliases, *metric.trec):
            assert owners.setdefault(metric_name_parser._fold(name), metric.name) == metric.name


def test_every_name_of_trec_eval_is_read():
    for name in metric_catalogue.METRICS_BY_TREC_NAME:
        assert parse_all(name)


@st.composite
def bound(draw):
    """A metric of the catalogue with some of its parameters bound."""
    metric = draw(st.sampled_from(CATALOGUE))
    number = st.floats(-1e6, 1e6) | st.integers(-9, 9)
    for name, parameter in metric.parameters.items():
        low, high = max(parameter.range.low, -1e9), min(parameter.range.high, 1e9)
        values = {
            "int": st.integers(int(low), int(high)),
            "float": st.floats(low, high),
            "choice": st.sampled_from(parameter.choices or ("",)),
            "gain": st.sampled_from(parameter.choices or ("",))
            | st.dictionaries(number, number, min_size=1, max_size=4),
        }[parameter.kind]
        if draw(st.booleans()):
            metric = metric(**{name: draw(values)})
    return metric(judged_only=draw(st.booleans())) if draw(st.booleans()) else metric


@given(bound())
def test_what_is_printed_reads_back(metric):
    assert parse(str(metric)) == metric
    assert str(parse(str(metric))) == str(metric)


@given(st.text(max_size=30) | st.from_regex(r"[A-Za-z_]{1,8}[._(]?[a-z0-9=,'{}]{0,9}\)?@?[0-9.]{0,4}"))
def test_any_text_is_a_metric_or_a_deliberate_error(text):
    with contextlib.suppress(RankgateError):
        parse_all(text)


@pytest.mark.parametrize("name", ["α_nDCG(alpha=0.3)@5", "α_DCG@5"])
def test_names_of_subtopic_metrics_may_be_greek(name):
    assert str(parse(name, FACET_METRICS)) == name.replace("α", "alpha")


def test_a_metric_of_subtopics_without_a_cutoff_is_refused_as_such():
    with raises("incomplete-metric", UsageError):
        parse_all("P_IA", FACET_METRICS)
