"""Rankings by number have the values of rankings by id, under every convention, at every depth."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

import rankgate.metrics
from rankgate.core.errors import RankgateError, UsageError
from rankgate.data import read_qrels, read_run
from rankgate.data.memory.matrices import Lists, make_source
from rankgate.measurement.evaluation.rankings import measure_run
from rankgate.measurement.metrics.metric_declaration import Metric
from rankgate.measurement.scoring import CONVENTIONS, matrix_source, scoring_plan
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.run_sources import score
from rankgate.measurement.scoring.scoring_plan import Plan

USERS, ITEMS = 30, 24
DRAWN = np.random.default_rng(3)


def drawn():
    """Grades from 0 to 3 of a third, scores in eighths, some of both missing."""
    grades = DRAWN.integers(0, 4, (USERS, ITEMS)).astype(float)
    grades[DRAWN.random(grades.shape) < 0.7] = np.nan
    grades[5], grades[6] = np.nan, 0
    scores = DRAWN.integers(0, 40, (USERS, ITEMS)) / 8 - 1
    scores[DRAWN.random(scores.shape) < 0.1] = np.nan
    scores[3] = np.nan
    return grades, scores


GRADES, SCORES = drawn()
ITEM = np.argsort(DRAWN.random((USERS, ITEMS)), axis=1)[:, :12]
ITEM[DRAWN.random(ITEM.shape) < 0.2] = -1
FORMS = {
    "matrix": SCORES,
    "lists": Lists(ITEM),
    "scored lists": Lists(ITEM, DRAWN.integers(0, 5, ITEM.shape) / 2),
    "sparse": sp.csr_matrix(np.nan_to_num(SCORES)),
}
PUBLIC = [getattr(rankgate.metrics, name) for name in rankgate.metrics.__all__]
EVERY = [metric for metric in PUBLIC if isinstance(metric, Metric)]
CUT = [metric @ 5 for metric in EVERY if metric.at == "cutoff" and "cutoff" in metric.parameters]
METRICS = [(str(metric), metric) for metric in (*EVERY, *CUT) if not metric.missing]


def scored(call, *arguments):
    """What comes of it: the scores, or the sentence of the refusal."""
    try:
        return call(*arguments)
    except RankgateError as error:
        return str(error)


def result(scores):
    """All values of scores, for a comparison."""
    if isinstance(scores, str):
        return scores
    values = {name: (column.tolist(), scores.why[name].tolist()) for name, column in scores.values.items()}
    return repr((scores.query_ids.to_list(), values, dict(scores.means), scores.counts))


def numbers(scores):
    """Values and means; ties are counted as far as the lists are looked at."""
    return repr(({name: column.tolist() for name, column in scores.values.items()}, scores.means))


@pytest.mark.slow
@pytest.mark.explore
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CONVENTIONS)
def test_by_number_as_by_id(name, form, thorough):
    """Under each convention each metric meets two of the forms; all in ``make explore``."""
    first = ([*CONVENTIONS].index(name) + [*FORMS].index(form)) % 2
    metrics = METRICS if thorough else METRICS[first::2]
    convention, qrels, run = CONVENTIONS[name], read_qrels(GRADES), read_run(FORMS[form], "run")
    index = JudgmentIndex.from_judgments(qrels)
    by_id = replace(convention, own_id="kept")  # the number of a row is no id of a document
    plain = result(scored(score, index, run, metrics, by_id))
    source = make_source(FORMS[form], "run")
    for coded in (JudgmentIndex.of_matrix(make_source(GRADES, "qrels")), index):
        assert result(scored(score_by_number, coded, source, metrics, convention)) == plain


def score_by_number(judgments, matrix, metrics, how, *, strict=True):
    """As in `evaluate`, which uses ids if numbers are not sufficient."""
    plan = Plan.from_conventions(metrics, [how])
    measurement, source = measure_run(judgments, matrix, plan, strict=strict)
    return measurement.score(0, source, strict=strict)


def depths_of(metric, how):
    """How deep a metric looks; empty if to the end."""
    plan = Plan.from_conventions([(str(metric), metric)], [how], "error")
    depths = tuple(plan.depth(method) for method in plan.ways)
    return () if None in depths else depths


def variants(metric, how):
    """A metric at a cutoff with each word that has an effect as one of its parameters."""
    yield metric
    for name, parameter in metric.parameters.items():
        for word in parameter.choices:
            with suppress(UsageError):
                variant = metric(**{name: word})
                how.defaults(variant)
                yield variant


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trec", *(n for n, convention in CONVENTIONS.items() if convention.forced)])
def test_a_matrix_is_looked_at_no_deeper_than_metrics_look(name, monkeypatch):
    monkeypatch.setattr(scoring_plan, "JUDGED_CUTOFF", 5)
    convention, coded = CONVENTIONS[name], JudgmentIndex.of_matrix(make_source(GRADES, "qrels"))
    source, index, run = (
        make_source(SCORES, "run"),
        JudgmentIndex.from_judgments(read_qrels(GRADES)),
        read_run(SCORES),
    )
    by_depth = {}
    for metric in (variant for cutoff_metric in CUT for variant in variants(cutoff_metric, convention)):
        if not metric.missing and (depths := depths_of(metric, convention)):
            by_depth.setdefault(depths, {})[str(metric)] = metric
    for metrics in by_depth.values():
        pairs = list(metrics.items())
        by_id = numbers(score(index, run, pairs, convention))
        assert numbers(score_by_number(coded, source, pairs, convention)) == by_id
    metric_count = sum(map(len, by_depth.values()))
    assert metric_count > 40 or convention.judged_only or "no_hit" in convention.forced


def test_only_what_is_near_is_looked_at(monkeypatch):
    """A metric that needs the end of a list is not cut short."""
    depths = []
    monkeypatch.setattr(matrix_source, "aligned_blocks", lambda *given: depths.append(given[3]) or iter(()))
    coded, source = (JudgmentIndex.of_matrix(make_source(GRADES, "qrels")), make_source(SCORES, "run"))
    for names in (["nDCG@5"], ["nDCG@12", "P@3"], ["AP"], ["nDCG@5", "RR"], ["FallOut@5"]):
        metrics = [(n, rankgate.measurement.metrics.metric_name_parser.parse(n)) for n in names]
        score_by_number(coded, source, metrics, CONVENTIONS["trec"], strict=False)
    assert depths == [10, 12, None, None, None]


@st.composite
def matrices(draw):
    """Judgments and rankings of a few users and items, with everything that may be in them."""
    users, items = draw(st.integers(1, 4)), draw(st.integers(1, 6))

    def table(values):
        row = st.lists(st.sampled_from(values), min_size=items, max_size=items)
        return np.array(draw(st.lists(row, min_size=users, max_size=users)), float)

    truth, scores = table([np.nan, 0, 1, 2]), table([np.nan, -np.inf, -0.0, 0.0, 0.5, 1, -1])
    row = st.lists(st.integers(-1, 7), min_size=3, max_size=3)
    ranked_lists = Lists(draw(st.lists(row, min_size=users, max_size=users)))
    sparse = sp.csr_matrix(np.where(np.isfinite(scores), scores, 0))
    return truth, draw(st.sampled_from([scores, ranked_lists, sparse]))


NOTHING_COUNTS = np.array([[np.nan], [0.0]]), np.array([[np.nan], [-0.0]])


BY_NUMBER = sorted(name for name in CONVENTIONS if CONVENTIONS[name].own_id == "kept")
"""Conventions under which ids do not matter; under others a matrix is read by its ids."""


@example(pair=NOTHING_COUNTS, name="recpack")  # a user whose every score the convention drops
@given(pair=matrices(), name=st.sampled_from(BY_NUMBER))
def test_whatever_is_in_them(pair, name):
    grades, rankings = pair
    convention, metrics = CONVENTIONS[name], [(str(m), m) for m in CUT[:6]] + METRICS[:4]
    try:
        qrels, run = read_qrels(grades), read_run(rankings, "run")
        plain = result(score(JudgmentIndex.from_judgments(qrels), run, metrics, convention))
    except RankgateError:
        return  # refused, by id
    coded = JudgmentIndex.of_matrix(make_source(grades, "qrels"))
    assert result(score_by_number(coded, make_source(rankings, "run"), metrics, convention)) == plain
