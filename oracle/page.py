"""The table of agreement, as a page of the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collections_of import COUNT, KINDS, SEED

if TYPE_CHECKING:
    from agreement import Found
    from table import Peer

HEAD = """\
# Agreement with other tools

`make oracle` gives {count:,} random collections (seed {seed}) to each tool below, in a separate
environment with the packages of `oracle/constraints-*.txt`, and compares every value with rankgate
under the convention of the tool's name. This page is what it wrote. cwl_eval runs twice: through
ir_measures on the first 1,000, and directly for every model of users, each with its five
measurements and residuals, on the first 60. For ndeval, documents answer several subtopics.
`oracle/similarity.py` compares `rankgate rank-similarity` with repro_eval and scipy on 300 pairs of
runs: KTU, tau-b, Spearman's rho, RMSE, effect ratio and delta of the relative improvement.
Collections are made by `oracle/collections_of.py` and are no part of any test of a convention; by
turns they are {kinds}.

{agree:,} values of {tools} tools agree, {differ:,} do not.

| tool | version | convention | metrics | values | agreeing | worst difference | tolerance |
|---|---|---|---:|---:|---:|---:|---:|
"""

_MOST = 5  # metrics that are named one by one


def page(found: list[Found]) -> str:
    """The page for what came of all peers."""
    result = [comparison for comparison in found if not comparison.failed]
    kinds = [f"*{kind}*" for kind in KINDS]
    introduction = HEAD.format(
        count=COUNT,
        seed=SEED,
        kinds=", ".join(kinds[:-1]) + " and " + kinds[-1],
        agree=sum(comparison.agree.total() for comparison in result),
        differ=sum(len(comparison.differ) for comparison in result),
        tools=len({comparison.peer.package for comparison in result}),
    )
    return (
        introduction
        + "".join(map(_row, result))
        + _apart(found)
        + _left_out(result)
        + _failed(found)
    )


def _row(found: Found) -> str:
    peer, agree = found.peer, found.agree.total()
    cells = (
        peer.package,
        peer.version,
        f"`{peer.convention}`",
        f"{len(found.agree)}",
        f"{agree + len(found.differ):,}",
        f"{agree:,}",
        f"{found.worst:.1e}",
        _tolerance(peer),
    )
    return f"| {' | '.join(cells)} |\n"


def _tolerance(peer: Peer) -> str:
    looser_limits = (f"{close:.2g} for `{word}`" for word, close in peer.looser)
    return ", ".join([f"{peer.tolerance:.2g}", *looser_limits])


def _apart(found: list[Found]) -> str:
    lines = [f"- {line}\n" for comparison in found for line in comparison.differ[:20]]
    return "\n## Where they differ\n\n" + "".join(lines) if lines else ""


def _left_out(result: list[Found]) -> str:
    """What is not compared, and why."""
    text = (
        "\nA tolerance holds for the value itself, and relative to it where it is above 1. Looser\n"
        "ones than 1e-09 are where a tool computes in 32 bits or prints few digits.\n"
        "\n## What is not compared\n\n"
        "A tool that raises an error gives no value to compare; rankgate has one there, or an\n"
        "error of its own.\n\n"
    )
    for comparison in result:
        for reason, metrics in comparison.left_out.items():
            names = ", ".join(f"`{name}`" for name in sorted(metrics)[:_MOST])
            remainder = f" and {len(metrics) - _MOST} others" if len(metrics) > _MOST else ""
            text += f"- {comparison.peer.package}, {metrics.total():,} values of {names}{remainder}: {reason}\n"
    return text


def _failed(found: list[Found]) -> str:
    lines = [
        f"- {comparison.peer.package} {comparison.peer.version}: {comparison.failed}\n"
        for comparison in found
        if comparison.failed
    ]
    return "\n## What could not be asked\n\n" + "".join(lines) if lines else ""
