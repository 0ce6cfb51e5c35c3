"""Risk: differences from a baseline, where losses weigh more than gains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Values = Mapping[str, tuple[float, ...]]
"""The values of each topic, topics by number."""


def compare_topics(run: Values, baseline: Values, risk: float, topics: Iterable[str]) -> Values:
    """Differences topic by topic; what a run lacks counts 0.

    Args:
        run: the run's values.
        baseline: those of the baseline.
        risk: a loss weighs 1 + risk.
        topics: the topics to compare.
    """
    nothing = (0.0,) * len(next(iter(run.values()), ()))
    return {
        topic: tuple(
            new - old if new >= old else (1 + risk) * (new - old)
            for new, old in zip(run.get(topic, nothing), baseline.get(topic, nothing), strict=True)
        )
        for topic in topics
    }


def difference_name(run: str, baseline: str, risk: str, *, separator: str) -> str:
    """The name in the rows of differences."""
    return f"{run} (rel to. {baseline}{separator} rs=1+a{separator} a={risk})"
