"""rankgate's metrics on lists against its peers: the same random worlds, the same numbers.

As ``run.py`` for rankings: each peer runs in its environment, and what it prints is held against
the scorecard under the convention that has its name. Ends with 1 where they differ.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agreement import Found, note
from carded import carded
from table import LIST_PEERS, Peer
from worlds import COUNT, KINDS, SEED, World, worlds

from environment import environment

if TYPE_CHECKING:
    from collections.abc import Iterable

HOME = Path(__file__).parent
WORK = HOME / "work"
PAGE = HOME.parent / "docs" / "agreement-lists.md"
GOLDEN = HOME.parent / "tests" / "golden" / "lists.json"
_MOST = 5  # metrics that are named one by one
_CUTOFF = re.compile(r"(?<=[@=])\d+")
KEPT = 6  # worlds that are kept for the tests
HEAD = """\
# Agreement on metrics on lists

`make oracle` also gives {count} random worlds (seed {seed}) to the libraries below: training, items
with features, and a list for every user. By turns:
{kinds}.
Every value is compared with `rankgate scorecard` under the convention of the library's name, called
as the library calls it. This page is what it wrote; {agree:,} values agree, {differ:,} do not.
The values of the first worlds are in `tests/golden/lists.json` and are checked in the tests.

| library | version | metrics | values | agreeing | worst difference |
|---|---|---|---:|---:|---:|
"""


def main() -> None:
    """Make the worlds, ask each peer, compare, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("peers", nargs="*", metavar="PEER", help="only these")
    parser.add_argument("--kept", action="store_true", help="compare what the peers said last time")
    arguments = parser.parse_args()
    peers = [peer for peer in LIST_PEERS if not arguments.peers or peer.name in arguments.peers]
    WORK.mkdir(exist_ok=True)
    cases = worlds()
    (WORK / "worlds.json").write_text(json.dumps(cases))
    results = [_found(peer, cases, kept=arguments.kept) for peer in peers]
    if len(peers) == len(LIST_PEERS):
        PAGE.write_text(_page(results))
        GOLDEN.write_text(json.dumps(_golden(results, cases), separators=(",", ":")) + "\n")
    sys.exit(any(result.wrong for result in results))


def _found(peer: Peer, cases: list[World], *, kept: bool) -> Found:
    lines, result = WORK / f"lists-{peer.name}.jsonl", Found(peer)
    if not (kept and lines.exists()):
        built = environment(peer, HOME, WORK)
        problem = (
            built
            if isinstance(built, str)
            else built.run(HOME / "peers" / peer.script, WORK / "worlds.json", lines)
        )
        if problem:
            result.failed = problem
    if not result.failed:
        by_case: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for text in lines.read_text().splitlines():
            line = json.loads(text)
            by_case[line["collection"]].append(line)
        for case in cases:
            _compare(cases, case, by_case[case["id"]], result)
    print(result.line, flush=True)
    for difference in result.differ[:5]:
        print(f"    {difference}", flush=True)
    return result


def _golden(found: list[Found], cases: list[World]) -> dict[str, Any]:
    """The first worlds, and what each peer has for them where it can be compared."""
    values: dict[str, list[dict[str, Any]]] = {}
    for peer_result in found:
        lines = (WORK / f"lists-{peer_result.peer.name}.jsonl").read_text().splitlines()
        result = [json.loads(line) for line in lines]
        values[peer_result.peer.convention] = [
            {
                "world": line["collection"],
                "metric": line["metric"],
                "value": line["value"],
                "tolerance": peer_result.peer.close(line["metric"]),
            }
            for line in result
            if line["collection"] < KEPT and not _reasons(peer_result.peer, cases, line)
        ]
    return {"worlds": cases[:KEPT], "values": values}


def _reasons(peer: Peer, cases: list[World], line: dict[str, Any]) -> list[str]:
    """Why a value is not compared."""
    case = cases[line["collection"]]
    reasons = [reason for reason, test in peer.excluded if test(case, line["metric"])]
    return reasons or ([f"it fails: {line['error']}"] if "error" in line else [])


def _compare(cases: list[World], case: World, lines: list[dict[str, Any]], found: Found) -> None:
    compared_lines = []
    for line in lines:
        if reasons := _reasons(found.peer, cases, line):
            found.left_out[reasons[0]][line["metric"]] += 1
        else:
            compared_lines.append(line)
    rankgate_values = carded(
        case, [line["metric"] for line in compared_lines], found.peer.convention
    )
    for line in compared_lines:
        note(case, line, rankgate_values[line["metric"]], found)


def _page(found: list[Found]) -> str:
    kinds = [f"*{kind}*" for kind in KINDS]
    result = [row for row in found if not row.failed]
    text = HEAD.format(
        count=COUNT,
        seed=SEED,
        kinds=", ".join(kinds[:-1]) + " and " + kinds[-1],
        agree=sum(row.agree.total() for row in result),
        differ=sum(len(e.differ) for e in result),
    )
    for row in result:
        agree = row.agree.total()
        cells = (
            row.peer.package,
            row.peer.version,
            _names(row.agree),
            f"{agree + len(row.differ):,}",
            f"{agree:,}",
            f"{row.worst:.1e}",
        )
        text += f"| {' | '.join(cells)} |\n"
    text += "\n## What is not compared\n\n"
    for row in result:
        for reason, names in row.left_out.items():
            metrics_text = "" if len(names) > _MOST else f" of {_names(names)}"
            text += f"- {row.peer.package}, {names.total():,} values{metrics_text}: {reason}\n"
    failed = [
        f"- {row.peer.package} {row.peer.version}: {row.failed}\n" for row in found if row.failed
    ]
    return text + ("\n## What could not be asked\n\n" + "".join(failed) if failed else "")


def _names(metrics: Iterable[str]) -> str:
    """The names once, regardless of the cutoff."""
    return ", ".join(dict.fromkeys(f"`{_CUTOFF.sub('k', name)}`" for name in metrics))


if __name__ == "__main__":
    main()
