"""The peers: what they are, how they are given a collection, and what is left out and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from collections_of import COUNT
from forms import has_ties

Collection = dict[str, Any]
Excluded = Callable[[Collection, str], bool]


@dataclass(frozen=True)
class Peer:
    """A tool that computes what rankgate computes.

    Attributes:
        name: of its constraints and its environment.
        package: what is installed.
        version: of the package.
        script: the file of ``peers`` that calls it.
        convention: the named convention that must give the same numbers.
        form: how it is given a collection; one of ``forms.FORMS``.
        tolerance: the greatest difference that is no difference; relative, where a value is
            above 1.
        looser: tolerances of metrics whose name has a word in it, for values that are printed
            with few digits or computed in 32 bits.
        also: other packages that the script needs.
        alone: whether the package is installed without those that it asks for, which do not
            work together; then `also` has them all.
        excluded: reasons for not comparing a value, with the test for each.
        options: what a word behind a metric's name changes in the convention.
        most: how many of the collections it is given.
    """

    name: str
    package: str
    version: str
    script: str
    convention: str
    form: str = "plain"
    tolerance: float = 1e-9
    looser: tuple[tuple[str, float], ...] = ()
    also: tuple[str, ...] = ()
    alone: bool = False
    excluded: tuple[tuple[str, Excluded], ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    most: int = COUNT

    def close(self, metric: str) -> float:
        """The tolerance of a metric."""
        return next(
            (tolerance for word, tolerance in self.looser if word in metric), self.tolerance
        )


def _ties(collection: Collection, metric: str) -> bool:  # noqa: ARG001 - one form for all
    return has_ties(collection)


def _single(collection: Collection, metric: str) -> bool:
    return "normalized_dcg" not in metric and has_ties(collection, single=True)


def _compat(collection: Collection, metric: str) -> bool:
    return metric.startswith("Compat") and has_ties(collection)


def _negative(collection: Collection, metric: str) -> bool:
    return ("dcg" in metric or "opa" in metric) and _below(collection, metric)


def _cancels(collection: Collection, metric: str) -> bool:
    """Whether an ideal DCG is less than a hundredth of the sum of its terms' sizes."""
    if "normalized_dcg" not in metric:
        return False
    for query, ranking in collection["run"].items():
        grades = collection["qrels"][query]
        ideal_grades = sorted((grades.get(name, 0) for name in ranking), reverse=True)
        terms = [
            g / math.log2(i + 2)
            for i, g in enumerate(ideal_grades[:3] if "top_k" in metric else ideal_grades)
        ]
        if abs(sum(terms)) < sum(map(abs, terms)) / 100:
            return True
    return False


def _empty(collection: Collection, metric: str) -> bool:  # noqa: ARG001 - as above
    return not collection["qrels"]


def _below(collection: Collection, metric: str) -> bool:  # noqa: ARG001 - as above
    return any(g < 0 for grades in collection["qrels"].values() for g in grades.values())


UNSTABLE = ("equal scores, which its sort leaves in an order of no rule", _ties)
SINGLE = ("scores equal as 32-bit floats, which its sort leaves in an order of no rule", _single)

PEERS = (
    Peer("pytrec_eval", "pytrec_eval-terrier", "0.5.11", "pytrec_eval_terrier.py", "pytrec_eval"),
    Peer(
        "ir_measures",
        "ir_measures",
        "0.4.3",
        "ir_measures.py",
        "ir_measures",
        also=("cwl-eval",),
        looser=(("dcg=", 1.1e-5), ("ERR", 1.1e-5), ("RBP", 1e-7)),
        excluded=(
            ("Compat with equal scores, where it follows the order of the judgments", _compat),
        ),
    ),
    Peer(
        "ranx",
        "ranx",
        "0.3.21",
        "ranx_.py",
        "ranx",
        also=("pandas",),
        excluded=(UNSTABLE,),
        options={"(make_comparable=True)": {"missing": "zero", "unknown": "ignore"}},
    ),
    Peer("sklearn", "scikit-learn", "1.9.1", "sklearn_.py", "sklearn", form="complete"),
    Peer(
        "trectools",
        "trectools",
        "0.0.50",
        "trectools_.py",
        "trectools",
        form="shared",
        also=("pandas",),
    ),
    Peer(
        "rax",
        "rax",
        "0.4.0",
        "rax_.py",
        "rax",
        form="complete",
        tolerance=1e-5,
        also=("jax",),
        excluded=(
            SINGLE,
            ("grades below 0, which are grades there and no judgments here", _negative),
        ),
    ),
    Peer(
        "torchmetrics",
        "torchmetrics",
        "1.9.0",
        "torchmetrics_.py",
        "torchmetrics",
        form="complete",
        tolerance=1e-6,
        also=("torch",),
        excluded=(
            SINGLE,
            ("an ideal near 0 because of grades below 0, in 32 bits", _cancels),
        ),
    ),
    Peer("lenskit", "lenskit", "2025.8.1", "lenskit_.py", "lenskit", form="listed_relevant"),
    Peer(
        "cwl",
        "cwl-eval",
        "1.0.12",
        "cwl.py",
        "cwl",
        tolerance=1e-6,
        also=("ir_measures",),
        most=1000,
    ),
    Peer(
        "cwl_users",
        "cwl-eval",
        "1.0.12",
        "cwl_users.py",
        "cwl",
        form="listed",
        tolerance=1e-8,
        most=60,
    ),
    Peer(
        "ndeval",
        "pyndeval",
        "0.0.8",
        "ndeval_.py",
        "ir_measures",
        form="faceted",
        also=("ir_measures",),
    ),
    Peer(
        "ntcir",
        "pyNTCIREVAL",
        "0.0.3",
        "ntcir.py",
        "ntcir",
        form="listed",
        excluded=(("grades below 0, which have no gain there", _below),),
    ),
    Peer(
        "recommenders",
        "recommenders",
        "1.2.1",
        "recommenders_.py",
        "recommenders",
        form="relevant",
        also=("pandas",),
        excluded=(("a table of judgments without a row, which is an error here", _empty),),
    ),
    Peer(
        "rexmex",
        "rexmex",
        "0.1.3",
        "rexmex_.py",
        "rexmex",
        form="listed_relevant",
        also=("six",),
    ),
    Peer(
        "recmetrics",
        "recmetrics",
        "0.1.5",
        "recmetrics_.py",
        "recmetrics",
        form="listed_relevant",
        also=("pandas", "matplotlib", "seaborn", "scikit-learn", "plotly", "funcsigs"),
        alone=True,
    ),
)


def _short(world: Collection, metric: str) -> bool:  # noqa: ARG001 - as above
    return world["kind"] == "short lists"


def _novelty(world: Collection, metric: str) -> bool:
    return metric == "novelty" and world["kind"] == "short lists"


def _fresh(world: Collection, metric: str) -> bool:
    return metric in {"catalog_coverage", "novelty"} and "training has not" in world["kind"]


LIST_PEERS = (
    Peer(
        "recommenders",
        "recommenders",
        "1.2.1",
        "lists_recommenders.py",
        "recommenders",
        also=("pandas",),
        looser=(("serendipity", 1e-6),),
        excluded=(
            ("a mean over places, and not over lists first", _novelty),
            (
                "coverage of more items than there are, where training has not all",
                lambda w, m: m == "catalog_coverage" and _fresh(w, m),
            ),
        ),
    ),
    Peer(
        "lenskit",
        "lenskit",
        "2025.8.1",
        "lists_lenskit.py",
        "lenskit",
        looser=(("ExposureGini", 1e-6),),  # which it adds up in 32 bits
    ),
    Peer("evidently", "evidently", "0.7.23", "lists_evidently.py", "evidently", also=("pandas",)),
    Peer(
        "recbole",
        "recbole",
        "1.2.1",
        "lists_recbole.py",
        "recbole",
        also=(
            "torch",
            "pandas",
            "scikit-learn",
            "scipy",
            "colorlog",
            "colorama",
            "texttable",
            "tabulate",
            "tqdm",
            "psutil",
            "PyYAML",
            "tensorboard",
        ),
        alone=True,
        excluded=(("its matrix of items has no place that is empty", _short),),
    ),
    Peer(
        "rexmex",
        "rexmex",
        "0.1.3",
        "lists_rexmex.py",
        "rexmex",
        also=("six",),
        looser=(("_coverage", 5.1e-4),),
        excluded=(
            ("it stops at a list that is shorter than k", _novelty),
            (
                "it has no novelty for items that training has not",
                lambda w, m: m == "novelty" and _fresh(w, m),
            ),
        ),
    ),
    Peer(
        "recmetrics",
        "recmetrics",
        "0.1.5",
        "lists_recmetrics.py",
        "recmetrics",
        also=("pandas", "matplotlib", "seaborn", "scikit-learn", "plotly", "funcsigs"),
        alone=True,
        looser=(("prediction_coverage", 5.1e-5),),
        excluded=(
            (
                "it stops at lists of unequal length",
                lambda w, m: m == "personalization" and _short(w, m),
            ),
            ("it divides by k, however short a list is", _novelty),
            (
                "it has no novelty for items that training has not",
                lambda w, m: m == "novelty" and _fresh(w, m),
            ),
        ),
    ),
)
"""Those that have metrics on lists, and are given worlds."""
