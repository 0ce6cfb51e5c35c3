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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=["auto", "atheris", "own"], default="auto")
    parser.add_argument("--seconds", type=float, default=10, help="for one input")
    parser.add_argument("--memory", type=int, default=1024, help="MB that the readers may take")
    parser.add_argument("--format", action="append", help="only these")
    options = parser.parse_args()
    names = options.format or [name for name, _, begins in TABLE if begins != "named"]
    guided = importlib.util.find_spec("atheris") is not None
    if options.engine == "atheris" and not guided:
        print("atheris is not installed: pip install atheris")
        return 2
    began = time.monotonic()
    if options.engine != "own" and guided:
        import guided as engine

        result = "atheris, guided by coverage"
    else:
        import own as engine  # type: ignore[no-redef]

        result = "our own loop, damage by chance, not guided by coverage"
    print(f"{options.inputs} inputs, {len(names)} formats, seed {options.seed}; {result}", flush=True)
    tally = engine.loop(options.inputs, options.seed, names, options.seconds, options.memory)
    engine.save(tally, FAULTS, options.seed, names)
    for kind in ("contents", "error", "traceback", "hang", "memory", "crash"):
        print(f"{kind:>10} {tally.kinds[kind]:>8}")
    for key, count in tally.faults.most_common():
        name, number, last = tally.examples[key]
        print(f"  {count:>6} × {key} ({name}, input {number})\n    {last.strip().splitlines()[-1]}")
    input_count, seconds = sum(tally.kinds.values()), time.monotonic() - began
    print(f"{input_count} inputs in {seconds:.0f} s, at most {tally.peak} MB; faults in {FAULTS}")
    return int(bool(tally.faults) or input_count < options.inputs)


if __name__ == "__main__":
    sys.exit(main())
