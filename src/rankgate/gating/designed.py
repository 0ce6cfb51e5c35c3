"""What a gate cannot decide with a sample of queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.errors import UsageError

if TYPE_CHECKING:
    from rankgate.gating.policy import Policy
    from rankgate.gating.saved.baselines import Saved


def refuse_undesigned(rules: Policy, of_lists: Sequence[str], saved: Saved | None) -> None:
    """Stop where rules or inputs do not go with a sample.

    Args:
        rules: the policy.
        of_lists: the metrics of lists that it names.
        saved: a saved baseline that a model should have judged.

    Raises:
        UsageError: what does not.
    """
    if rules["interval"] != "t":
        raise UsageError(
            f'interval = "{rules["interval"]}": with a sample of queries, intervals are those of '
            'Student\'s t; set interval = "t" in the policy.',
            code="conflicting-options",
        )
    if of_lists:
        raise UsageError(
            f"{', '.join(of_lists)}: a sample of queries is for metrics of rankings; leave out "
            "those of lists.",
            code="conflicting-options",
        )
    if saved is not None:
        raise UsageError(
            f"the saved baseline {saved.baseline.name} has values of judged queries only; give its "
            "run, so that the predicted judgments can score it.",
            code="conflicting-options",
        )
