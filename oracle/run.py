"""rankgate against its peers: the same random collections, the same numbers.

Each peer runs in an environment of its own, with pinned packages; what it prints is held
against rankgate under the convention that has its name. Ends with 1 where they differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from agreement import Found, compared
from collections_of import COUNT, collections
from table import PEERS, Peer

from environment import environment
from page import page

HOME = Path(__file__).parent
WORK = HOME / "work"
PAGE = HOME.parent / "docs" / "agreement.md"


def main() -> None:
    """Make the collections, ask each peer, compare, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("peers", nargs="*", metavar="PEER", help="only these")
    parser.add_argument("--count", type=int, default=COUNT, help="how many collections")
    parser.add_argument("--kept", action="store_true", help="compare what the peers said last time")
    arguments = parser.parse_args()
    peers = [peer for peer in PEERS if not arguments.peers or peer.name in arguments.peers]
    WORK.mkdir(exist_ok=True)
    all_cases = collections(arguments.count)
    results = []
    for peer in peers:
        cases = all_cases[: peer.most]
        source = WORK / "collections.json"
        source.write_text(json.dumps(cases))
        measured = _asked(peer, source, kept=arguments.kept)
        result = measured if isinstance(measured, Found) else compared(peer, cases, measured)
        print(result.line, flush=True)
        for difference in result.differ[:5]:
            print(f"    {difference}", flush=True)
        results.append(result)
    if len(peers) == len(PEERS) and arguments.count == COUNT:
        PAGE.write_text(page(results))
    sys.exit(any(result.wrong for result in results))


def _asked(peer: Peer, source: Path, *, kept: bool) -> Path | Found:
    """Where the peer's values are, or why there are none."""
    lines = WORK / f"{peer.name}.jsonl"
    if kept and lines.exists():
        return lines
    built = environment(peer, HOME, WORK)
    if isinstance(built, str):
        return Found(peer, failed=built)
    problem = built.run(HOME / "peers" / peer.script, source, lines)
    return Found(peer, failed=f"does not run: {problem}") if problem else lines


if __name__ == "__main__":
    main()
