"""What libFuzzer runs: nothing of rankgate may be imported before atheris watches imports."""

from __future__ import annotations

import json
import random
import resource
import sys
from collections import Counter
from pathlib import Path

import atheris  # type: ignore[import-untyped, unused-ignore]

with atheris.instrument_imports(include=["rankgate"]):
    from target import tried

    from rankgate.data.formats.registry import FORMATS

from mutate import mutated

_KEPT_EVERY = 500  # inputs, after which the counts are written down
_WAYS = 4


def _changed(data: bytes, longest: int, seed: int) -> bytes:
    """Damage by libFuzzer, or by our own that knows of JSON, words and numbers."""
    chance = random.Random(seed)
    if chance.random() < 1 / 2:
        changed: bytes = atheris.Mutate(data, longest)
        return changed
    return (data[:2] + mutated(chance, data[2:], data[2:]))[:longest]


def main() -> None:
    """Run until libFuzzer ends the process; counts go into the file that is named first."""
    notes, names = Path(sys.argv[1]), sys.argv[2].split(",")
    assert FORMATS  # all of them are imported now
    total_runs = next(int(word[6:]) for word in sys.argv if word.startswith("-runs="))
    kinds, faults = Counter[str](), dict[str, tuple[int, str, str]]()
    runs = 0

    def write(place: int) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        written = {"kinds": kinds, "faults": faults, "last": place, "peak": peak}
        notes.write_text(json.dumps(written))

    def once(data: bytes) -> None:
        nonlocal runs
        runs += 1
        name_index, way_index = (*data[:2], 0, 0)[:2]
        name_index %= len(names)
        outcome = tried(names[name_index], data[2:], way_index % _WAYS)
        if outcome.kind == "traceback":
            first = (0, names[name_index], f"{data[2:]!r}\n{outcome.result}")
            count, name, result = faults.get(outcome.key, first)
            faults[outcome.key] = (count + 1, name, result)
        else:
            kinds[outcome.kind] += 1
        if outcome.kind == "traceback" or runs % _KEPT_EVERY == 0 or runs >= total_runs:
            write(name_index)

    atheris.Setup([sys.argv[0], *sys.argv[3:]], once, custom_mutator=_changed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
