"""Damaged files through every reader: 100 000 of them, none may end in a traceback or hang.

With atheris (coverage-guided) where it can be imported, otherwise by a loop of our own, which
only draws damage by chance; which of the two it was stands in the first line.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path

from rankgate.data.formats.registry import TABLE

FAULTS = Path(__file__).parent / "work"


def main() -> int:
    """Run, tell, and end with 1 where there was a fault."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--inputs", type=int, default=100_000)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--engine", choices=["auto", "atheris", "own"], default="auto")
    words.add_argument("--seconds", type=float, default=10, help="for one input")
    words.add_argument("--memory", type=int, default=1024, help="MB that the readers may take")
    words.add_argument("--format", action="append", help="only these")
    asked = words.parse_args()
    names = asked.format or [name for name, _, begins in TABLE if begins != "named"]
    guided = importlib.util.find_spec("atheris") is not None
    if asked.engine == "atheris" and not guided:
        print("atheris is not installed: pip install atheris")
        return 2
    began = time.monotonic()
    if asked.engine != "own" and guided:
        import guided as engine

        result = "atheris, guided by coverage"
    else:
        import own as engine  # type: ignore[no-redef]

        result = "our own loop, damage by chance, not guided by coverage"
    print(f"{asked.inputs} inputs, {len(names)} formats, seed {asked.seed}; {result}", flush=True)
    tally = engine.loop(asked.inputs, asked.seed, names, asked.seconds, asked.memory)
    engine.save(tally, FAULTS, asked.seed, names)
    for kind in ("contents", "error", "traceback", "hang", "memory", "crash"):
        print(f"{kind:>10} {tally.kinds[kind]:>8}")
    for key, count in tally.faults.most_common():
        name, number, last = tally.examples[key]
        print(f"  {count:>6} × {key} ({name}, input {number})\n    {last.strip().splitlines()[-1]}")
    done, taken = sum(tally.kinds.values()), time.monotonic() - began
    print(f"{done} inputs in {taken:.0f} s, at most {tally.peak} MB; faults in {FAULTS}")
    return int(bool(tally.faults) or done < asked.inputs)


if __name__ == "__main__":
    sys.exit(main())
