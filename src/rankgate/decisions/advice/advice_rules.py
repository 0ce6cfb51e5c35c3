"""Table of advice rules, and their sources.

Each rule has a metric, a condition, a reason and a source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.decisions.advice.advice_inputs import DataFacts


SOURCES = {
    "esci": "search-ranking-stack, Evaluation Metrics: a product search in stages on Amazon's ESCI",
    "guide": "S. Srivastava, Beyond Accuracy: A Technical Guide to Evaluating Search and Recommendation "
    "Systems, 24 March 2025",
    "migration": "Relevance Evaluation, notes on an engine's migration: the metric is part of the gate",
    "searchtweak": "SearchTweak, documentation, Evaluation Metrics",
    "recommender": "Evaluating Recommender Model, 2 August 2025",
    "definition": "rankgate metrics NAME: by the metric's definition",
    "validity": "docs/validity.md: simulations of this gate",
    "broder2002": "Broder, A taxonomy of web search, SIGIR Forum 36(2), 2002",
    "voorhees1999": "Voorhees, The TREC-8 question answering track report, TREC 1999",
    "jarvelin2002": "Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20(4), "
    "2002",
    "buckley2000": "Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000",
    "buckley2004": "Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004",
    "sakai2007": "Sakai, Alternatives to bpref, SIGIR 2007",
    "moffat2008": "Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS "
    "27(1), 2008",
    "clarke2008": "Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR 2008",
    "webber2008": "Webber, Moffat and Zobel, Statistical power in retrieval experimentation, CIKM 2008",
    "chapelle2009": "Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009",
    "urbano2013": "Urbano, Marrero and Martín, On the measurement of test collection reliability, SIGIR 2013",
    "sakai2016": "Sakai, Topic set size design, Information Retrieval Journal 19(3), 2016",
    "fuhr2017": "Fuhr, Some common mistakes in IR evaluation, and how they can be avoided, SIGIR Forum "
    "51(3), 2017",
    "urbano2019": "Urbano, Lima and Hanjalic, Statistical significance testing in information retrieval, "
    "SIGIR 2019",
    "krichene2020": "Krichene and Rendle, On sampled metrics for item recommendation, KDD 2020",
    "castells2022": "Castells and Moffat, Offline recommender system evaluation: challenges and new "
    "directions, AI Magazine 43(2), 2022",
    "arabzadeh2022": "Arabzadeh et al., Shallow pooling for sparse labels, Information Retrieval Journal 25, "
    "2022",
}
"""Citations by the key that rules use."""


Role = Literal["gate", "watch", "report", "avoid"]

ROLES: dict[str, str] = {
    "gate": "decide by it: a loss beyond the margin blocks",
    "watch": "warn by it: a loss beyond the margin is reported and blocks nothing",
    "report": "show it with them",
    "avoid": "do not decide by it",
}
"""Roles of a metric, each with its purpose; the strongest first."""

MANY_HOLES, FEW, SPARSE, HALF = 0.8, 50, 0.9, 0.5
STEPS, USUAL = 10, 4  # grades above the first are gains; ERR's default covers the second


@dataclass(frozen=True)
class AdviceRule:
    """One piece of advice.

    Attributes:
        id: its name.
        role: one of `ROLES`.
        metric: with ``{page}`` and ``{depth}`` for cutoffs, ``{most}`` for the top of a scale
            above 4.
        when: true if the rule holds for these facts.
        reason: the reason; may contain facts in braces.
        source: a key of ``SOURCES``.
    """

    id: str
    role: Role
    metric: str
    when: Callable[[DataFacts], bool]
    reason: str
    source: str


def _is_shown(f: DataFacts) -> bool:
    """True if users see the list, or another list in its order."""
    return f.stage != "retrieval"


def _reads_page(f: DataFacts) -> bool:
    return _is_shown(f) and f.task in {"explore", "recommend"}


def _has_holes(f: DataFacts) -> bool:
    """True if raters left documents of the page unjudged; logs have no such holes."""
    return f.task != "recommend" and f.complete is not None and f.complete < MANY_HOLES


RULES = (
    AdviceRule(
        "retrieval-recall",
        "gate",
        "R@{depth}",
        lambda f: f.stage == "retrieval",
        "no reranker can bring back a document that is not among the candidates: retrieval must pass on the "
        "relevant documents",
        "esci",
    ),
    AdviceRule(
        "retrieval-recommender",
        "gate",
        "R@{depth}",
        lambda f: f.stage == "retrieval" and f.task == "recommend",
        "a retrieval model should find all items that matter to a user",
        "recommender",
    ),
    AdviceRule(
        "retrieval-order",
        "report",
        "nDCG@{page}",
        lambda f: f.stage == "retrieval",
        "the list that people would see if no stage came after it",
        "esci",
    ),
    AdviceRule(
        "first-hit-navigational",
        "gate",
        "RR@{page}",
        lambda f: _is_shown(f) and f.task == "navigational",
        "one document is meant, so that only its rank counts",
        "broder2002",
    ),
    AdviceRule(
        "first-hit",
        "gate",
        "RR@{page}",
        lambda f: _is_shown(f) and f.task == "find-one",
        "the searcher stops at the first good answer",
        "migration",
    ),
    AdviceRule(
        "first-hit-questions",
        "gate",
        "RR@{page}",
        lambda f: _is_shown(f) and f.task == "find-one",
        "questions with one answer are scored by the rank of the first right one",
        "voorhees1999",
    ),
    AdviceRule(
        "behind-the-first",
        "watch",
        "nDCG@{page}",
        lambda f: _is_shown(f) and f.task == "find-one",
        "RR stops at the first hit: it does not see a change that spoils the order behind it",
        "migration",
    ),
    AdviceRule(
        "grades-of-the-first",
        "report",
        "ERR{most}@{page}",
        lambda f: _is_shown(f) and f.task == "find-one" and f.graded and f.top <= STEPS,
        "stops where a reader is satisfied, as RR does, and a better grade satisfies more",
        "chapelle2009",
    ),
    AdviceRule(
        "at-once",
        "report",
        "Success@1",
        lambda f: _is_shown(f) and f.task == "navigational",
        "the share of queries with the intended page at rank 1",
        "definition",
    ),
    AdviceRule(
        "order-graded",
        "gate",
        "nDCG@{page}",
        lambda f: _reads_page(f) and f.graded,
        "there are {levels} grades, and only a graded metric separates the best document from one that will "
        "just do",
        "esci",
    ),
    AdviceRule(
        "order-default",
        "gate",
        "nDCG@{page}",
        lambda f: _reads_page(f) and f.graded,
        "it depends on the order of the full page, RR only on the first hit",
        "migration",
    ),
    AdviceRule(
        "order-recommender",
        "gate",
        "nDCG@{page}",
        lambda f: _is_shown(f) and f.task == "recommend",
        "it takes the position of every shown item into account",
        "recommender",
    ),
    AdviceRule(
        "order-binary",
        "gate",
        "AP@{depth}",
        lambda f: _is_shown(f) and f.task == "explore" and not f.graded,
        "relevance is yes or no here, and both how many are found and how early counts",
        "guide",
    ),
    AdviceRule(
        "page-binary",
        "watch",
        "nDCG@{page}",
        lambda f: _is_shown(f) and f.task == "explore" and not f.graded,
        "the same on the page alone, the first ranks counting most",
        "jarvelin2002",
    ),
    AdviceRule(
        "page-share",
        "report",
        "P@{page}",
        lambda f: _is_shown(f) and f.task == "explore",
        "the share of good results on a page, which is easy to understand",
        "guide",
    ),
    AdviceRule("page-first", "report", "RR@{page}", _reads_page, "the rank of the first good result", "esci"),
    AdviceRule(
        "shown-of-all",
        "watch",
        "R@{page}",
        lambda f: _is_shown(f) and f.task == "recommend" and f.over_page <= HALF,
        "the share of a user's relevant items that is shown",
        "recommender",
    ),
    AdviceRule(
        "deep-graded",
        "gate",
        "nDCG@{depth}",
        lambda f: _is_shown(f) and f.task == "recall" and f.graded,
        "the reader goes deep, and {levels} grades are there to be used",
        "jarvelin2002",
    ),
    AdviceRule(
        "deep-binary",
        "gate",
        "AP@{depth}",
        lambda f: _is_shown(f) and f.task == "recall" and not f.graded,
        "it counts every relevant document and where it is",
        "guide",
    ),
    AdviceRule(
        "deep-recall",
        "watch",
        "R@{depth}",
        lambda f: _is_shown(f) and f.task == "recall",
        "in this task a missing relevant document is the worst error",
        "guide",
    ),
    AdviceRule(
        "reranker-keeps",
        "watch",
        "R@{depth}",
        lambda f: f.stage == "reranking",
        "reranking moves documents and adds none: a fall means that it loses some",
        "esci",
    ),
    AdviceRule(
        "steadier",
        "report",
        "AP@{depth}",
        lambda f: f.queries < FEW and f.task in {"explore", "recall"},
        "with few queries a metric of all relevant documents is steadier than one of the first ranks",
        "buckley2000",
    ),
    AdviceRule(
        "coverage",
        "report",
        "Judged@{page}",
        lambda f: f.task != "recommend",
        "the share of the page that is judged; look at it before trusting a small change",
        "searchtweak",
    ),
    AdviceRule(
        "holes-condensed",
        "report",
        "nDCG(judged_only=True)@{page}",
        lambda f: _has_holes(f) and f.irrelevant,
        "only {complete} of a page is judged: without the unjudged documents the order of the others can "
        "still be compared",
        "sakai2007",
    ),
    AdviceRule(
        "holes-bpref",
        "report",
        "Bpref",
        lambda f: _has_holes(f) and f.irrelevant and f.task in {"explore", "recall"},
        "only {complete} of a page is judged: it looks at judged documents alone",
        "buckley2004",
    ),
    AdviceRule(
        "holes-unknown",
        "report",
        "RBP(p=0.8)",
        _has_holes,
        "only {complete} of a page is judged: new judgments never lower it, and RBPResid shows how much they "
        "could add",
        "moffat2008",
    ),
    AdviceRule(
        "not-first-hit",
        "avoid",
        "RR@{page}",
        lambda f: f.task in {"explore", "recall", "recommend"},
        "satisfied at the first relevant document: two rankings that differ below it are equal",
        "migration",
    ),
    AdviceRule(
        "not-binary-page",
        "avoid",
        "P@{page}",
        lambda f: f.graded,
        "throws the {levels} grades away, and the order within the page",
        "esci",
    ),
    AdviceRule(
        "not-short",
        "avoid",
        "P@{page}",
        lambda f: f.relevant < f.page,
        "half of the queries have no more than {relevant} relevant, so that it cannot come near 1",
        "definition",
    ),
    AdviceRule(
        "not-binary-average",
        "avoid",
        "AP@{depth}",
        lambda f: f.graded,
        "binary; nDCG is its generalisation to grades",
        "esci",
    ),
    AdviceRule(
        "not-average-of-one",
        "avoid",
        "AP@{depth}",
        lambda f: f.single > SPARSE and f.task in {"navigational", "find-one"},
        "with one relevant document a query it is RR under another name",
        "definition",
    ),
    AdviceRule(
        "not-hit-rate",
        "avoid",
        "Success@{page}",
        lambda _: True,
        "too coarse: it detects only if the page has a relevant document; RR shows more",
        "esci",
    ),
    AdviceRule(
        "not-f",
        "avoid",
        "F@{page}",
        lambda _: True,
        "blind to order; the guide has it for a balance of precision and recall at one cutoff",
        "guide",
    ),
    AdviceRule(
        "not-recall-of-page",
        "avoid",
        "R@{page}",
        lambda f: f.over_page > HALF,
        "most queries have more relevant documents than a page has places, so that it cannot reach 1",
        "definition",
    ),
    AdviceRule(
        "not-auc",
        "avoid",
        "AUC",
        lambda f: f.task == "recommend",
        "an exchange at the end of the list costs as much as one at the top",
        "definition",
    ),
)
"""The rules of advice. A metric takes the strongest role that any rule gives it."""


@dataclass(frozen=True)
class Caution:
    """A warning that holds for any choice of metrics.

    Attributes:
        id: its name.
        when: true if the caution holds for these facts.
        words: a sentence; may contain facts in braces.
        source: a key of ``SOURCES``.
    """

    id: str
    when: Callable[[DataFacts], bool]
    words: str
    source: str


CAUTIONS = (
    Caution(
        "offline",
        lambda _: True,
        "Offline metrics show that a change is safe to try, not that it helps people: an A/B test decides "
        "that.",
        "migration",
    ),
    Caution(
        "too-few",
        lambda f: f.queries < 10,  # the gate's own bound
        "{queries} queries: fewer than 10 decide nothing.",
        "validity",
    ),
    Caution(
        "few",
        lambda f: 10 <= f.queries < 2 * FEW,
        "On TREC data 50 queries show a difference of 0.02 in nDCG@20 with a probability of 19%, 100 with "
        "30%; "
        "{queries} are here.",
        "urbano2019",
    ),
    Caution(
        "no-runs",
        lambda f: f.runs == 0,
        "Without runs it is not known what {queries} queries detect: give two runs that differ as much as "
        "your changes do.",
        "webber2008",
    ),
    Caution(
        "one-run",
        lambda f: f.runs == 1,
        "One run has no differences: give a second, such as the system of a month ago.",
        "webber2008",
    ),
    Caution(
        "sparse",
        lambda f: f.single > SPARSE,
        "{single} of the queries have exactly one known relevant document: an equally good document that was "
        "not judged counts as wrong, and a better system may look worse.",
        "arabzadeh2022",
    ),
    Caution(
        "average-of-one",
        lambda f: f.single > SPARSE and f.task in {"explore", "recall"},
        "With one relevant document a query AP equals RR: it depends on the rank of this document alone.",
        "definition",
    ),
    Caution(
        "positives",
        lambda f: not f.irrelevant,
        "No document is judged irrelevant, so that irrelevant and unjudged cannot be distinguished: bpref "
        "and condensed lists have no meaning.",
        "buckley2004",
    ),
    Caution(
        "without",
        lambda f: f.without > 0.1,  # more than a few
        "{without} of the queries have no relevant document; if the convention counts them as 0 they shrink "
        "every difference.",
        "definition",
    ),
    Caution(
        "holes",
        _has_holes,
        "On average no more than {complete} of a page is judged: see rankgate holes for the effect of "
        "unjudged documents.",
        "sakai2007",
    ),
    Caution(
        "log",
        lambda f: f.task == "recommend",
        "A log has only documents that were shown before: any other document that a new system finds counts "
        "as a miss, even if people would like it.",
        "castells2022",
    ),
    Caution(
        "uneven",
        lambda f: f.task != "recommend" and f.uneven > 0.05,  # as a comparison
        "Runs are judged unequally far: the ones judged less look worse than they are.",
        "sakai2007",
    ),
    Caution(
        "any-grade",
        lambda f: f.graded,
        "RR, P, R and AP take any grade above 0 as relevant; use RR(rel={top})@{page} if only the best "
        "satisfies.",
        "esci",
    ),
    Caution(
        "gains",
        lambda f: f.graded and f.top > STEPS,
        "Grade {top} is a gain already: nDCG takes it as it is; gain='exp' and ERR would make 2^{top} of it.",
        "definition",
    ),
    Caution(
        "gain",
        lambda f: f.graded and f.top <= STEPS,
        "The gain of grade {top} over the next grade is a choice: nDCG takes grades as they are, "
        "nDCG(gain='exp') takes 2^grade - 1 as much of industry does. Choose before the gate; rankgate "
        "reconcile shows its effect.",
        "esci",
    ),
    Caution(
        "uneven-steps",
        lambda f: f.task in {"navigational", "find-one"},
        "RR falls as much from rank 1 to 2 as from 2 to never; read its mean with care, and the ranks around "
        "it.",
        "fuhr2017",
    ),
    Caution(
        "diversity",
        lambda f: f.task in {"explore", "recommend"},
        "These metrics do not detect repetition on a page or coverage of several meanings: this needs "
        "judgments by subtopic, or the coverage of the catalogue (rankgate scorecard).",
        "clarke2008",
    ),
    Caution(
        "sampled",
        lambda f: f.task == "recommend",
        "Rank all items: metrics over a sample of candidates can put systems in another order.",
        "krichene2020",
    ),
    Caution(
        "latency",
        lambda f: f.stage == "final" and not f.latency,
        "A new engine is decided by relevance and latency; no run here states how long its queries took.",
        "migration",
    ),
    Caution(
        "ceiling",
        lambda f: f.stage != "final",
        "Each stage sets a ceiling for the next; rankgate stages shows where most is lost.",
        "esci",
    ),
)
"""The cautions of advice."""


def fill_cutoffs(metric: str, page: int, depth: int, top: float) -> str:
    """Fill the cutoffs into a rule's metric.

    >>> fill_cutoffs("ERR{most}@{page}", 10, 100, 3), fill_cutoffs("ERR{most}@{page}", 10, 100, 5)
    ('ERR@10', 'ERR(max_grade=5)@10')
    """
    max_grade_option = f"(max_grade={top:g})" if top > USUAL else ""
    return metric.format(page=page, depth=depth, most=max_grade_option)


def fill_facts(text: str, f: DataFacts) -> str:
    """Fill the facts into a sentence."""
    complete_text = f"{f.complete:.0%}" if f.complete is not None else ""
    return text.format(
        page=f.page,
        depth=f.depth,
        queries=f.queries,
        relevant=f"{f.relevant:g}",
        levels=len(f.grades),
        top=f"{f.top:g}",
        single=f"{f.single:.0%}",
        without=f"{f.without:.0%}",
        complete=complete_text,
    )
