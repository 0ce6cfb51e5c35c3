"""Conventions of trec_eval and of tools that call it."""

from __future__ import annotations

from dataclasses import replace

from rankgate.measurement.scoring.convention import Convention

_NAN = float("nan")

TREC = Convention(
    "trec",
    "trec_eval 10, averaged over all judged queries (its -c)",
    versions="10.0-rc3",
    parameters={
        "nDCG": {"levels": "truncated"},
        "RBP": {"gain": "scaled"},
    },
    special={name: {"nothing_retrieved": _NAN} for name in ("IPrec", "IPrec11")},
)
TREC9 = Convention(
    "trec9",
    "trec_eval 9: scores as 32-bit floats, recall points by adding 0.9",
    versions="9.0.8",
    precision="float32",
    missing="leave_out",
    parameters={
        "nDCG": {"levels": "truncated"},
        "RBP": {"gain": "scaled"},
        "IPrec": {"points": "ceil9"},
        "IPrec11": {"points": "ceil9"},
    },
    special={name: {"nothing_retrieved": _NAN} for name in ("IPrec", "IPrec11")},
)
PYTREC_EVAL = replace(
    TREC9,
    name="pytrec_eval",
    title="pytrec_eval and pytrec_eval-terrier: trec_eval 9 called from Python",
    versions="pytrec_eval 0.5, pytrec_eval-terrier 0.5.11",
)

PRESETS = (TREC, TREC9, PYTREC_EVAL)
