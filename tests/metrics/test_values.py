"""The value of every metric, its expected number written as the formula."""

from dataclasses import replace
from math import exp, log, log2, sqrt

import numpy as np
import pytest

from rankgate.core.errors import InputError
from rankgate.measurement.metrics.browsing import BROWSING_METRICS
from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE, by_name
from rankgate.measurement.metrics.metric_name_parser import parse, parse_all
from support.wording import raises

# The worked list: grades 3, 2, 1 retrieved in this order, another 3 missed.
SHORT = block([[3, 2, 1]], ideal=[[3, 3, 2, 1]])
# Relevant at 1, 4 and 5 (grades 2, 1, 3), judged non-relevant at 3, hole at 2, in the
# pool but unjudged at 6; a relevant document and a non-relevant one are missed.
LIST = block([[2, None, 0, 1, 3, -1]], ideal=[[3, 2, 1, 1, 0, 0, -1]])
# R = 4, N = 2, n = 6; with rel=2: R = 2, N = 4, relevant at 1 and 5.
# Relevant at 1 and 3, of which the first has the score of the second.
TIED = replace(block([[1, 0, 1]]), first=np.array([[1, 1, 3]]), last=np.array([[2, 2, 3]]))

_2, _3, _4, _5, _6 = (log2(i) for i in (2, 3, 4, 5, 6))

VALUES = [
    (SHORT, "DCG(gain='exp')@3", 7 + 3 / _3 + 1 / _4),  # 9.393
    (SHORT, "nDCG(gain='exp')@3", (7 + 3 / _3 + 1 / _4) / (7 + 7 / _3 + 3 / _4)),  # .727
    (SHORT, "nDCG@3", (3 + 2 / _3 + 1 / _4) / (3 + 3 / _3 + 2 / _4)),  # .808
    (SHORT, "nDCG", (3 + 2 / _3 + 1 / _4) / (3 + 3 / _3 + 2 / _4 + 1 / _5)),
    (SHORT, "nDCG(depth='all')@3", (3 + 2 / _3 + 1 / _4) / (3 + 3 / _3 + 2 / _4 + 1 / _5)),
    (SHORT, "nDCG(depth='returned')@10", (3 + 2 / _3 + 1 / _4) / (3 + 3 / _3 + 2 / _4)),
    (SHORT, "nDCG(depth='returned')@2", (3 + 2 / _3) / (3 + 3 / _3)),
    (SHORT, "nDCG(ideal='retrieved')@3", 1.0),
    (SHORT, "nDCG(least=2)@3", (3 + 2 / _3) / (3 + 3 / _3 + 2 / _4)),
    (SHORT, "nDCG(least=3,gain='exp',highest=3)", 7 / (7 + 7 / _3)),
    (SHORT, "nDCG(discount='original')@3", (3 + 2 / 1 + 1 / _3) / (3 + 3 / 1 + 2 / _3)),  # .775
    (SHORT, "nDCG(gain={1:1,2:3,3:7})@3", (7 + 3 / _3 + 1 / _4) / (7 + 7 / _3 + 3 / _4)),
    (SHORT, "nDCG(gain={2:5})@3", (3 + 5 / _3 + 1 / _4) / (5 + 3 / _3 + 3 / _4)),
    (SHORT, "nDCG(gain={0:2,1:2,2:2,3:2})@4", (1 + 1 / _3 + 1 / _4) / (1 + 1 / _3 + 1 / _4 + 1 / _5)),
    (SHORT, "nDCG(gain='binary')@3", 1.0),
    (LIST, "nDCG(gain='signed')@6", (2 + 1 / _5 + 3 / _6 - 1 / log2(7)) / (3 + 2 / _3 + 1 / _4 + 1 / _5)),
    (LIST, "nDCG(ideal='shown')@4", (2 + 1 / _5) / (2 + 1 / _3)),
    (LIST, "nDCG(ideal='retrieved')@4", (2 + 1 / _5) / (3 + 2 / _3 + 1 / _4)),
    (block([[0, 1]]), "nDCG(ideal='shown')@1", 0),
    (SHORT, "nDCG(term_digits=2)@3", (3 + 1.26 + 0.5) / (3 + 1.89 + 1)),
    (SHORT, "DCG@2", 3 + 2 / _3),
    (SHORT, "DCG(discount='graded')@2", 3 / log2(1 * 3 + 1) + 2 / log2(2 * 2 + 1)),
    (SHORT, "nDCG(discount='graded')@1", 3 / log2(1 * 3 + 1) / 3),
    (SHORT, "DCG(base=10)", (3 + 2 / _3 + 1 / _4) * log2(10)),
    (SHORT, "DCG(base=3,discount='original')", 3 + 2 / 1 + 1 / 1),
    (SHORT, "CG@2", 5),
    (LIST, "CG(gain='judged')@5", 4),
    (LIST, "nDCG(gain='judged')@3", (1 + 1 / _4) / (1 + 1 / _3 + 1 / _4)),
    (
        LIST,
        "nDCG(gain='judged')",
        (1 + 1 / _4 + 1 / _5 + 1 / _6) / (1 + 1 / _3 + 1 / _4 + 1 / _5 + 1 / _6 + 1 / log2(7)),
    ),
    (SHORT, "nDCG(ideal='counted')@3", (3 + 2 / _3 + 1 / _4) / (1 + 1 / _3 + 1 / _4)),
    (
        LIST,
        "nDCG(ideal='counted',gain='binary')@9",
        (1 + 1 / _5 + 1 / _6) / sum(1 / log2(i) for i in range(2, 9)),
    ),
    (SHORT, "CG(gain='exp')", 11),
    (SHORT, "ERR(max_grade=3)", 7 / 8 + 1 / 8 * 3 / 8 / 2 + 1 / 8 * 5 / 8 * 1 / 8 / 3),
    (block([[2, 1, 0]]), "ERR(scale='query')", 3 / 4 + 1 / 4 * 1 / 4 / 2),
    (SHORT, "ERR(max_grade=3)@2", 7 / 8 + 1 / 8 * 3 / 8 / 2),
    (block([[0, 3]]), "ERR(max_grade=3,decay=0.18)", 7 / 8 / 2**0.18),
    (SHORT, "ERR", 7 / 16 + 9 / 16 * 3 / 16 / 2 + 9 / 16 * 13 / 16 * 1 / 16 / 3),
    (
        block([[None, 3, None, -1]], ideal=[[3]]),
        "ERR(max_grade=3,unjudged=2)",
        3 / 8 + 5 / 8 * (7 / 8 / 2 + 1 / 8 * (3 / 8 / 3 + 5 / 8 * 3 / 8 / 4)),
    ),
    (block([[0, None, 1]]), "ERR(max_grade=3,unjudged=2)@2", 3 / 8 / 2),
    (LIST, "P@4", 2 / 4),
    (LIST, "P@10", 3 / 10),
    (LIST, "P(rel=2)@5", 2 / 5),
    (LIST, "P(rel=0)@6", 4 / 6),
    (LIST, "P(denominator='returned')@10", 3 / 6),
    (LIST, "P(denominator='judged')@4", 2 / 3),
    (LIST, "P(denominator='judged')@10", 3 / 4),
    (LIST, "R@4", 2 / 4),
    (LIST, "R(rel=2)@4", 1 / 2),
    (LIST, "R(denominator='reachable')@1", 1.0),
    (LIST, "R(denominator='retrieved')@4", 2 / 3),
    (LIST, "AP(denominator='retrieved')@4", (1 + 2 / 4) / 3),
    (LIST, "F@5", 2 * (3 / 5) * (3 / 4) / (3 / 5 + 3 / 4)),
    (LIST, "F(beta=2)@5", 5 * (3 / 5) * (3 / 4) / (4 * 3 / 5 + 3 / 4)),
    (LIST, "F(beta=0)@5", 3 / 5),
    (LIST, "Success@1", 1),
    (LIST, "Success(rel=3)@4", 0),
    (LIST, "FullRecall@6", 0),
    (LIST, "FullRecall(rel=2)@4", 0),
    (LIST, "FullRecall(rel=2)@5", 1),
    (LIST, "RR", 1),
    (LIST, "RR(rel=3)", 1 / 5),
    (LIST, "RR(rel=3)@4", 0),
    (LIST, "RR(target='highest')", 1 / 5),
    (LIST, "RR(target='highest')@4", 1),
    (block([[0, None]], ideal=[[1, 0]]), "RR(target='highest')", 0),
    (LIST, "RR(offset=1)", 1 / 2),
    (LIST, "AP", (1 + 2 / 4 + 3 / 5) / 4),
    (LIST, "AP@4", (1 + 2 / 4) / 4),
    (LIST, "AP(rel=2)", (1 + 2 / 5) / 2),
    (LIST, "AP(denominator='reachable')@1", 1 / 1),
    (LIST, "AP(denominator='returned')@5", (1 + 2 / 4 + 3 / 5) / 4),
    (block([[1, 0]], ideal=[[1, 1, 1]]), "AP(denominator='returned')", 1 / 2),
    (LIST, "AP(denominator='found')@4", (1 + 2 / 4) / 2),
    (block([[0, 1]]), "AP(denominator='found')@1", 0),
    (LIST, "AP(denominator='ranks')@4", (1 + 1 / 2 + 1 / 3 + 2 / 4) / 4),
    (LIST, "AP(denominator='ranks')@7", (1 + 1 / 2 + 1 / 3 + 2 / 4 + 3 / 5 + 3 / 6 + 3 / 7) / 7),
    (LIST, "AP(denominator='ranks')", (1 + 1 / 2 + 1 / 3 + 2 / 4 + 3 / 5 + 3 / 6) / 6),
    (LIST, "GMAP", (1 + 2 / 4 + 3 / 5) / 4),
    (LIST, "Rprec", 2 / 4),
    (LIST, "Rprec(cutoff=3)", 1 / 4),
    (LIST, "AR@4", (1 / 4 + 1 / 4 + 1 / 4 + 2 / 4) / 4),
    (LIST, "AR(over='relevant')@4", (1 / 3 + 2 / 3) / 3),
    (LIST, "ARR", (1 + 1 / 4 + 1 / 5) / 4),
    (LIST, "ARR@4", (1 + 1 / 4) / 4),
    (LIST, "ARR(rel=2)", (1 + 1 / 5) / 2),
    (LIST, "Rprec(rel=2)", 1 / 2),
    (LIST, "RprecMult@0.5", 1 / 2),
    (LIST, "RprecMult@1.2", 3 / 5),  # ⌊1.2·4 + 0.9⌋ = 5
    (LIST, "RprecMult@0.02", 0),
    (LIST, "RelP@2", 1 / 2),
    (LIST, "RelP@10", 3 / 4),
    (LIST, "IPrec@0.0", 1),
    (LIST, "IPrec@0.5", 3 / 5),  # from the second on, the third is better
    (LIST, "IPrec@0.6", 3 / 5),  # 2.4 is 2 to the nearest
    (LIST, "IPrec(points='ceil9')@0.6", 3 / 5),  # and 3 upwards
    (LIST, "IPrec@0.9", 0),  # 3.6 is 4, and only 3 are found
    (block([[1, 0, 0, 0, 1]], ideal=[[1] * 4]), "IPrec@0.3", 1),  # R = 4: 1.2 is 1 …
    (block([[1, 0, 0, 0, 1]], ideal=[[1] * 4]), "IPrec(points='ceil9')@0.3", 2 / 5),  # … or 2
    (block([[0, 1, 1]], ideal=[[1] * 3]), "IPrec@0.5", 2 / 3),  # 1.5 is 2, halves up
    (LIST, "IPrec11", (4 * 1 + 5 * 3 / 5 + 0 * 2) / 11),  # 0 to .3 need 1; .4 to .8 2 or 3
    (LIST, "Bpref", (1 + (1 - 1 / 2) + (1 - 1 / 2)) / 4),
    (LIST, "Bpref(rel=2)", (1 + (1 - 2 / 2)) / 2),
    (LIST, "GMBpref", (1 + (1 - 1 / 2) + (1 - 1 / 2)) / 4),
    (block([[1, None, 1]]), "Bpref", 1.0),  # no judged non-relevant document
    (LIST, "SetP", 3 / 6),
    (LIST, "SetR", 3 / 4),
    (LIST, "SetF", 2 * (1 / 2) * (3 / 4) / (1 / 2 + 3 / 4)),
    (LIST, "SetF(beta=2)", 5 * (1 / 2) * (3 / 4) / (4 * 1 / 2 + 3 / 4)),
    (LIST, "SetRelP", 3 / 4),
    (LIST, "SetAP", 3 / 6 * 3 / 4),
    (LIST, "NumQ", 1),
    (LIST, "NumRet", 6),
    (LIST, "NumRel", 4),
    (LIST, "NumRel(rel=2)", 2),
    (LIST, "NumRelRet", 3),
    (LIST, "NumNonrelJudgedRet", 1),
    (LIST, "NumNonrelJudgedRet(rel=2)", 2),
    (LIST, "Utility", 3 - 3),
    (LIST, "Utility(found=3,noise=-2,missed=-1,avoided=0.5,documents=100)", 9 - 6 - 1 + 93 / 2),
    (LIST, "Judged@4", 3 / 4),
    (LIST, "Judged@10", 4 / 6),
    (LIST, "Judged", 4 / 6),
    (LIST, "Unjudged@5", 1 / 5),
    (LIST, "Unjudged@10", 2 / 10),
    (LIST, "NumUnjudged", 2),
    (LIST, "NumUnjudged@4", 1),
    (LIST, "RBP", 0.2 * (1 + 0.8**3 + 0.8**4)),
    (LIST, "RBP(p=0.5)@4", 0.5 * (1 + 0.5**3)),
    (LIST, "RBP(p=0.5,rel=2)", 0.5 * (1 + 0.5**4)),
    (LIST, "RBP(p=0.5,gain='linear')", 0.5 * (2 + 0.5**3 + 3 * 0.5**4)),
    (LIST, "RBP(p=0.5,gain='scaled')", 0.5 * (2 + 0.5**3 + 3 * 0.5**4) / 3),
    (block([[1, 1]]), "RBP(p=0.5,gain='scaled')", 0.5 * (1 + 0.5)),
    (LIST, "RBPResid(p=0.5)", 1 - 0.5 * (1 + 0.5**2 + 0.5**3 + 0.5**4)),
    (LIST, "RBPResid(p=0.5)@1", 1 - 0.5),
    (LIST, "LRAP", (1 / 1 + 2 / 4 + 3 / 5) / 4),
    (SHORT, "OPA", (2 + 1 + 0) / 5),  # of 3>2, 3>2, 3>1, 3>1, 2>1; the 3 that is missing loses
    (LIST, "OPA", (5 + 3 + 3) / (1 * 7 + 1 * 6 + 2 * 4)),
    (LIST, "FallOut@3", 2 / 4),
    (LIST, "FallOut(rel=2)", 4 / 6),
    (LIST, "RBPResid(p=0.5,tail='holes')@1", 0),
    (LIST, "RBPResid(p=0.5,tail='holes')", 0.5**6 + 0.5 * (0.5 + 0.5**5)),
    (block([[1, None, 1]]), "infAP", (1 + 1 / 3 + 2 / 3 * 1 / 2 * (1 + 1e-5) / (1 + 2e-5)) / 2),
    (
        block([[-1, 0, 1]]),
        "infAP",  # two above, both in the pool, one of them judged
        1 / 3 + 2 / 3 * 2 / 2 * 1e-5 / (1 + 2e-5),
    ),
    # dcg/idcg at ranks 1 and 3 of the two found, the third at the end of the list
    (block([[1, 0, 1]], ideal=[[1, 1, 1, 0]]), "nDCGRel", (1 + 2 * (1 + 1 / 2) / (1 + 1 / _3 + 1 / 2)) / 3),
    # levels 2 (one document) and 1 (three), and the list of 5 is longer than 3 + 1
    (
        block([[1, 2, 0, 0, 1]]),
        "RnDCG",
        (1 / 2 + (1 + 2 / _3) / (2 + 1 / _3 + 1 / 2) + (1 + 2 / _3 + 1 / _6) / (2 + 1 / _3 + 1 / 2)) / 3,
    ),
    (block([[0, 2, 1]]), "G", (2 / log2(2 + 3 - 2) + 1 / log2(2 + 4 - 3)) / 3),
    (block([[0, 1, 0, 1]]), "BinG", (1 / log2(3) + 1 / log2(4)) / 2),
    (block([[0, 1]], ideal=[[1, 1]]), "Yaap", log((1 + 1 / 2) / (1 + 2 - 1 / 2))),
    (LIST, "RBP(p=0.5,gain='exp',max_grade=3)", 0.5 * (3 + 0.5**3 + 7 * 0.5**4) / 7),
    (LIST, "RBP(p=0.5,gain={1:1,2:5},max_grade=2)", 0.5 * (5 + 0.5**3 + 3 * 0.5**4) / 5),
    (LIST, "RBP(p=0.5,horizon=4)", (1 + 0.5**3) / (1 + 0.5 + 0.5**2 + 0.5**3)),
    (LIST, "RBP(p=1,horizon=4)", 2 / 4),
    (TIED, "RBP(p=0.5,ties='averaged')", 0.5 * ((1 + 0.5) / 2 + 0.5**2)),
    (TIED, "RBP(p=0.5,ties='averaged')@1", 0.5),
    (TIED, "RBP(p=1,ties='averaged',horizon=4)", 2 / 4),
    (LIST, "Bpref(negative='nonrelevant')", (1 + 2 / 3 + 2 / 3) / 4),
    (LIST, "Bpref(negative='relevant')", (1 + 2 / 3 + 2 / 3 + 2 / 3) / 4),
    (block([[1, 2]]), "Bpref", 1),
    (block([[1, 2]]), "Bpref(unopposed='lost')", 0),
    (LIST, "Judged(negative='judged')", 5 / 6),
    (LIST, "Judged(negative='judged')@2", 1 / 2),
    (LIST, "SetF(beta=2,weighing='plain')", 3 * (3 / 6) * (3 / 4) / (2 * 3 / 6 + 3 / 4)),
    (SHORT, "ERR(gain='linear',max_grade=3)@2", 3 / 4 + 1 / 4 * 2 / 4 / 2),
    (SHORT, "ERR(gain={1:1,2:3,3:7},max_grade=3)@2", 7 / 8 + 1 / 8 * 3 / 8 / 2),
    (
        SHORT,
        "nERR(max_grade=3)@3",
        (7 / 8 + 1 / 8 * 3 / 8 / 2 + 1 / 8 * 5 / 8 * 1 / 8 / 3)
        / (7 / 8 + 1 / 8 * 7 / 8 / 2 + 1 / 8 * 1 / 8 * 3 / 8 / 3),
    ),
    (
        block([[0, 1]], ideal=[[1, 0]]),
        "nERR(gain={0:2,1:3},max_grade=1)",
        (2 / 4 + 2 / 4 * 3 / 8) / (3 / 4 + 1 / 4 * 2 / 8),
    ),
    (SHORT, "Q@3", (4 / 4 + 7 / 8 + 9 / 11) / 3),
    (SHORT, "Q", (4 / 4 + 7 / 8 + 9 / 11) / 4),
    (LIST, "Q(beta=0)", (1 + 2 / 4 + 3 / 5) / 4),
    (LIST, "Q(gain='exp')", ((1 + 3) / (1 + 7) + (2 + 4) / (4 + 12) + (3 + 11) / (5 + 12)) / 4),
    (LIST, "Q(gain='exp',beta=2,rel=2)@2", (1 + 2 * 3) / (1 + 2 * 7) / 2),
    (SHORT, "SDCG(max_grade=3)@3", (1 + 2 / 3 / _3 + 1 / 3 / _4) / (1 + 1 / _3 + 1 / _4)),
    (SHORT, "SDCG@10", (3 / 4 + 2 / 4 / _3 + 1 / 4 / _4) / sum(1 / log2(i) for i in range(2, 12))),
    (SHORT, "SDCG(max_grade=2,min_grade=1)@3", (1 + 1 / _3) / (1 + 1 / _3 + 1 / _4)),
    # of the ideal 3 3 2 1 the first, third and last are there, at ranks 1, 2 and 3
    (SHORT, "Compat(p=0.5)", (1 + 0.5 * 1 / 2 + 0.25 * 2 / 3 + 0.125 * 3 / 4) / (1 + 0.5 + 0.25 + 0.125)),
    # the ideal: what is at 5, 1 and 4, and one that is missing
    (
        LIST,
        "Compat(p=0.5)",
        (0.5 / 2 + 0.25 / 3 + 0.125 * 2 / 4 + 0.0625 * 3 / 5 + 0.03125 * 3 / 6)
        / (1 + 0.5 + 0.25 + 0.125 + 0.0625 * 4 / 5 + 0.03125 * 4 / 6),
    ),
    (
        LIST,
        "Compat(p=0.5,best='endless')",
        (0.5 / 2 + 0.25 / 3 + 0.125 * 2 / 4 + 0.0625 * 3 / 5 + 0.03125 * 3 / 6)
        / (1 + 0.5 + 0.25 + 0.125 + 0.0625 + 0.03125),
    ),
    (LIST, "Accuracy", (3 + 1 + 1) / (3 * 3)),
    (LIST, "Accuracy@4", (2 + 0) / (2 * 2)),
    (LIST, "Accuracy(rel=3)", 1 / 5),
    # relevant at 1, 4, 5 and one missed; others at 2, 3, 6 and one missed
    (LIST, "AUC", (4 + 2 + 2 + 0.5) / 16),
    (LIST, "AUC(ties='lost')", (4 + 2 + 2) / 16),
    (LIST, "AUC(over='retrieved')", (3 + 1 + 1) / 9),
    (TIED, "AUC", (1 / 2 + 0) / 2),  # half of the tie, and the other one is below
    (TIED, "GAUC(ties='lost')", 0),
    (LIST, "RankingLoss", 1 - (4 + 2 + 2) / 16),
    (TIED, "CoverageError", 3),
    (LIST, "CoverageError(rel=2)", 5),
    (LIST, "CoverageError", 8),
    (SHORT, "nDCG(discount='original',base=3)", (3 + 2 + 1) / (3 + 3 + 2 + log2(3) / _4)),
    # blended ratios with gains 2, 1, 3 at 1, 4, 5; the ideal gains 3, 5, 6, 7, 7
    (LIST, "O", (1 + 2) / (1 + 3)),
    (LIST, "PMeasure", (3 + 6) / (5 + 7)),
    (LIST, "PPlus", ((1 + 2) / (1 + 3) + (2 + 3) / (4 + 7) + (3 + 6) / (5 + 7)) / 3),
    (LIST, "NCUguP", (2 / 1 * 1 + 1 * 2 / 4 + 3 * 3 / 5) / 7),
    (LIST, "NCUguBR(beta=0,stops={1:1,2:1,3:4})", (1 + 2 / 4 + 4 * 3 / 5) / 7),
    (LIST, "NCUrbP(gamma=0.5)", (1 + 0.5 * 2 / 4 + 0.25 * 3 / 5) / (1 + 0.5 + 0.25 + 0.125)),
    (LIST, "NCUrbBR(gamma=1)", ((1 + 2) / (1 + 3) + (2 + 3) / (4 + 7) + (3 + 6) / (5 + 7)) / 4),
    # non-relevant above: 0, 1, 1; R = 4, N = 2
    (LIST, "Bpref(over='relevant')", (1 + 3 / 4 + 3 / 4) / 4),
    (LIST, "Bpref(over='nonrelevant')", (1 + 1 / 2 + 1 / 2) / 4),
    (LIST, "Bpref(over='relevant10')", (1 + 13 / 14 + 13 / 14) / 4),
    (LIST, "NCG@4", (2 + 1) / (3 + 2 + 1 + 1)),
    (LIST, "Hits@4", 2),
    (LIST, "AvgGrade@4", (2 + 1) / 4),
]


@pytest.mark.parametrize(("judged", "name", "expected"), VALUES, ids=[name for _, name, _ in VALUES])
def test_a_value_is_its_formula(judged, name, expected):
    (value,) = parse(name).compute(judged)
    assert value == pytest.approx(expected, abs=1e-14)


OF_CWL = {metric.name for metric in BROWSING_METRICS}  # these are in test_browsing.py


def test_every_metric_has_its_formula_tested():
    assert {parse(name).name for _, name, _ in VALUES} == set(by_name) - OF_CWL


def test_the_numbers_of_the_worked_list():
    numbers = {"DCG(gain='exp')@3": 9.393, "nDCG(gain='exp')@3": 0.727, "nDCG@3": 0.808}
    for name, number in numbers.items():
        assert parse(name).compute(SHORT).round(3) == number


# With nothing relevant; with something relevant but an empty list.
NO_RELEVANT = block([[0, None]], ideal=[[0, 0]])
EMPTY = block([[]], ideal=[[1, 1, 0]])
NEEDS_RELEVANT = (
    "R@5 RelP@5 F@5 Success@5 RR RR@5 AP AP@5 AP(denominator='returned') GMAP Rprec RprecMult@0.2 IPrec@0.5 "
    "IPrec11 Bpref GMBpref infAP SetR SetF SetRelP SetAP nDCG nDCG@5 nDCG(ideal='retrieved') nDCGRel RnDCG G "
    "BinG Yaap"
)


@pytest.mark.parametrize("name", NEEDS_RELEVANT.split())
def test_without_a_relevant_document_there_is_no_value(name):
    assert np.isnan(parse(name).compute(NO_RELEVANT)).all()


@pytest.mark.parametrize("name", ["P@5", "CG@5", "DCG", "ERR", "RBP", "SetP"])
def test_what_needs_no_ideal_is_zero_without_a_relevant_document(name):
    assert parse(name).compute(NO_RELEVANT).tolist() == [0]


ZERO_OF_NOTHING = (
    "R@5 RelP@5 F@5 Success@5 RR AP AP@5 AP(denominator='ranks') AP(denominator='ranks')@5 "
    "AP(denominator='returned') Rprec Bpref infAP IPrec@0.5 SetR SetF nDCG nDCG@5 nDCGRel RnDCG "
    "nDCG(depth='returned')@5 nDCG(ideal='shown')@5 G BinG P@5 DCG CG@5 ERR RBP Unjudged@5 NumRet NumRelRet "
    "Utility"
)


@pytest.mark.parametrize("name", ZERO_OF_NOTHING.split())
def test_an_empty_list_scores_zero_where_something_was_to_find(name):
    assert parse(name).compute(EMPTY).tolist() == [0]


SHARE_OF_NOTHING = (
    "SetP SetRelP SetAP Judged Judged@5 IPrec@0.1 IPrec11 P(denominator='returned')@5 "
    "P(denominator='judged')@5"
)


@pytest.mark.parametrize("name", SHARE_OF_NOTHING.split())
def test_a_share_of_an_empty_list_has_no_value(name):
    assert np.isnan(parse(name).compute(EMPTY)).all()


def test_an_empty_list_leaves_all_of_rbp_open():
    assert parse("RBPResid").compute(EMPTY).tolist() == [1]


def test_imputed_grades_gain_but_are_no_judgments():
    judged = replace(block([[1, 1]]), known=np.array([[True, False]]))
    values = {name: parse(name).compute(judged)[0] for name in ("P@2", "Judged@2", "Bpref")}
    assert values == {"P@2": 1, "Judged@2": 1 / 2, "Bpref": 1 / 2}
    assert parse("RBPResid(p=0.5)").compute(judged)[0] == 1 / 2


def test_err_refuses_a_grade_above_its_scale_and_says_how_to_mend_it():
    with raises("grade-outside-scale", InputError):
        parse("ERR@1").compute(block([[0]], ideal=[[5, 0]]))
    with raises("grade-outside-scale", InputError):
        parse("ERR(max_grade=2)").compute(block([[3]], ideal=[[1]]))


GAIN_MAPS = [
    # trec_eval 9.0.8 and 10.0-rc3 print 0 for a perfect list: its levels sort as 1, 2, 0
    ([[2, 1, 0]], "ndcg.1=0.9,2=0.5", 0.0, (0.5 + 0.9 / _3) / (0.9 + 0.5 / _3)),
    # gains 1 apart sort as they should
    ([[1, 2, 3]], "ndcg.1=1,2=3,3=7", (1 + 3 / _3 + 7 / 2) / (7 + 3 / _3 + 1 / 2), None),
    # written in the other order, 2 comes last but one, and level 0 is the best all the same
    ([[2, 1]], "ndcg.2=0.5,1=0.9", 0.0, (0.5 + 0.9 / _3) / (0.9 + 0.5 / _3)),
    # level 3, unnamed, is the best; 2 and 1 are equal to the sort, so 2 (last) goes first
    ([[3, 1, 2]], "ndcg.1=1.9,2=1.2", (3 + 1.9 / _3 + 1.2 / 2) / (3 + 1.2 / _3 + 1.9 / 2), 1.0),
]


@pytest.mark.parametrize(("grades", "name", "truncated", "exact"), GAIN_MAPS)
def test_gain_maps_as_they_should_be_and_as_trec_eval_sorts_them(grades, name, truncated, exact):
    ((_, metric),) = parse_all(name)
    judged = block(grades)
    expected = truncated if exact is None else exact
    assert metric.compute(judged)[0] == pytest.approx(expected, abs=1e-14)
    value = np.nan_to_num(metric.compute(judged, {"levels": "truncated"}))[0]
    assert value == pytest.approx(truncated, abs=1e-14)


def test_the_f_of_trec_eval_takes_the_square_of_beta():
    ((_, metric),) = parse_all("set_F.2")
    precision, recall = 1 / 2, 3 / 4
    expected = 3 * precision * recall / (recall + 2 * precision)
    assert metric.compute(LIST)[0] == pytest.approx(expected)
    assert dict(metric.given) == {"beta": sqrt(2)}


def test_the_geometric_metrics_say_so_and_leave_the_floor_to_the_mean():
    geometric = [metric.name for metric in CATALOGUE if metric.aggregate == "geometric"]
    assert geometric == ["GMAP", "GMBpref"]
    values = parse("GMAP").compute(block([[1], [0]], ideal=[[1], [1]]))
    assert values.tolist() == [1, 0]
    assert exp(np.log(np.maximum(values, 1e-5)).mean()) == pytest.approx(sqrt(1e-5))
