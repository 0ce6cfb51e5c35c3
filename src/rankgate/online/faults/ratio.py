"""Checks that need a test: whether variants have the users, and weights the mean, they should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.measurement.stats.experiments.sample_ratio import sequential_sample_ratio
from rankgate.online.faults.finding import LogFinding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.online.database import Database


def check_sample_ratio(
    base: Database, split: Mapping[str, float] | None = None
) -> LogFinding | bool:
    """Compare the users of each variant with the planned split, by a test that holds at any look.

    Args:
        base: has ``events``.
        split: by variant the planned share; equal shares by default.

    Returns:
        The finding; True if there is none; False without variants to compare.
    """
    rows = base.rows(
        'SELECT variant, count(DISTINCT coalesce("user", session, query_event_id)) AS users '
        "FROM events WHERE variant IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    if len(rows) < 2:
        return False
    total = int(rows["users"].sum())
    planned = [(split or {}).get(name, 0.0 if split else 1.0) for name in rows["variant"]]
    if min(planned) <= 0:
        return False
    ratio = sequential_sample_ratio(rows["users"].to_list(), planned)
    if ratio.p_value >= ratio.levels[0]:
        return True
    user_counts = ", ".join(f"{name} {users:,}" for name, users in rows.iter_rows())
    return LogFinding(
        "sample-ratio",
        "block",
        total,
        total,
        ("variants",),
        f"variants do not have the planned shares of users (p = {ratio.p_value:.2g} at any look)",
        (user_counts,),
        "find out which users are lost or assigned twice before comparing variants",
    )


def check_mean_weight(base: Database) -> LogFinding | bool:
    """Check that logged importance weights have a mean of 1, within two standard errors.

    Returns:
        The finding; True if there is none; False without weights.
    """
    row = base.rows(
        "SELECT count(w) AS n, avg(w) AS mean, stddev_samp(w) AS deviation FROM (SELECT "
        "try_cast(attributes->>'$.weight' AS DOUBLE) AS w FROM events WHERE attributes LIKE "
        "'%\"weight\"%')"
    ).row(0, named=True)
    if row["n"] < 2:
        return False
    if abs(row["mean"] - 1) <= 2 * row["deviation"] / row["n"] ** 0.5:
        return True
    return LogFinding(
        "mean-weight",
        "block",
        row["n"],
        row["n"],
        ("variants",),
        f"importance weights have the mean {row['mean']:.4g}, not 1: logged propensities are wrong",
        (),
        "log the probability with which the shown list was chosen",
    )
