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
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("peers", nargs="*", metavar="PEER", help="only these")
    words.add_argument("--kept", action="store_true", help="compare what the peers said last time")
    asked = words.parse_args()
    chosen = [peer for peer in LIST_PEERS if not asked.peers or peer.name in asked.peers]
    WORK.mkdir(exist_ok=True)
    cases = worlds()
    (WORK / "worlds.json").write_text(json.dumps(cases))
    found = [_found(peer, cases, kept=asked.kept) for peer in chosen]
    if len(chosen) == len(LIST_PEERS):
        PAGE.write_text(_page(found))
        GOLDEN.write_text(json.dumps(_golden(found, cases), separators=(",", ":")) + "\n")
    sys.exit(any(each.wrong for each in found))


def _found(peer: Peer, cases: list[World], *, kept: bool) -> Found:
    lines, found = WORK / f"lists-{peer.name}.jsonl", Found(peer)
    if not (kept and lines.exists()):
        built = environment(peer, HOME, WORK)
        problem = built if isinstance(built, str) else built.run(
            HOME / "peers" / peer.script, WORK / "worlds.json", lines)  # fmt: skip
        if problem:
            found.failed = problem
    if not found.failed:
        by_case: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for text in lines.read_text().splitlines():
            line = json.loads(text)
            by_case[line["collection"]].append(line)
        for case in cases:
            _compare(cases, case, by_case[case["id"]], found)
    print(found.line, flush=True)
    for each in found.differ[:5]:
        print(f"    {each}", flush=True)
    return found


def _golden(found: list[Found], cases: list[World]) -> dict[str, Any]:
    """The first worlds, and what each peer has for them where it can be compared."""
    values: dict[str, list[dict[str, Any]]] = {}
    for each in found:
        lines = (WORK / f"lists-{each.peer.name}.jsonl").read_text().splitlines()
        result = [json.loads(line) for line in lines]
        values[each.peer.convention] = [
            {"world": line["collection"], "metric": line["metric"], "value": line["value"],
             "tolerance": each.peer.close(line["metric"])}
            for line in result
            if line["collection"] < KEPT and not _reasons(each.peer, cases, line)
        ]  # fmt: skip
    return {"worlds": cases[:KEPT], "values": values}


def _reasons(peer: Peer, cases: list[World], line: dict[str, Any]) -> list[str]:
    """Why a value is not compared."""
    case = cases[line["collection"]]
    known = [why for why, test in peer.excluded if test(case, line["metric"])]
    return known or ([f"it fails: {line['error']}"] if "error" in line else [])


def _compare(cases: list[World], case: World, lines: list[dict[str, Any]], found: Found) -> None:
    wanted = []
    for line in lines:
        if reasons := _reasons(found.peer, cases, line):
            found.left_out[reasons[0]][line["metric"]] += 1
        else:
            wanted.append(line)
    ours = carded(case, [line["metric"] for line in wanted], found.peer.convention)
    for line in wanted:
        note(case, line, ours[line["metric"]], found)


def _page(found: list[Found]) -> str:
    kinds = [f"*{kind}*" for kind in KINDS]
    result = [each for each in found if not each.failed]
    text = HEAD.format(
        count=COUNT, seed=SEED, kinds=", ".join(kinds[:-1]) + " and " + kinds[-1],
        agree=sum(each.agree.total() for each in result), differ=sum(len(e.differ) for e in result),
    )  # fmt: skip
    for each in result:
        agree = each.agree.total()
        cells = (each.peer.package, each.peer.version, _names(each.agree),
                 f"{agree + len(each.differ):,}", f"{agree:,}", f"{each.worst:.1e}")  # fmt: skip
        text += f"| {' | '.join(cells)} |\n"
    text += "\n## What is not compared\n\n"
    for each in result:
        for why, names in each.left_out.items():
            which = "" if len(names) > _MOST else f" of {_names(names)}"
            text += f"- {each.peer.package}, {names.total():,} values{which}: {why}\n"
    failed = [f"- {each.peer.package} {each.peer.version}: {each.failed}\n"
              for each in found if each.failed]  # fmt: skip
    return text + ("\n## What could not be asked\n\n" + "".join(failed) if failed else "")


def _names(metrics: Iterable[str]) -> str:
    """The names once, regardless of the cutoff."""
    return ", ".join(dict.fromkeys(f"`{_CUTOFF.sub('k', name)}`" for name in metrics))


if __name__ == "__main__":
    main()
