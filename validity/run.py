"""Every study, one after the other; results go to validity/results.json and docs/validity.md.

python validity/run.py [--study NAME]...
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, is_dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
STUDIES = ("levels", "coverage", "power", "gate", "ends", "holes", "rates")
RESULTS, PAGE = HERE / "results.json", HERE.parent / "docs" / "validity.md"


def main() -> None:
    """Run the studies that were asked for; the others keep their results."""
    from page import page  # noqa: PLC0415 - from this folder

    parser = argparse.ArgumentParser()
    parser.add_argument("--study", action="append", choices=STUDIES)
    chosen = parser.parse_args().study or list(STUDIES)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in chosen:
        begin = time.perf_counter()
        found = import_module(f"studies.{name}").run()
        results[name] = [_plain(each) for each in found]
        print(f"{name}: {len(found)} cells in {time.perf_counter() - begin:.0f} s")
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    told = {name: [SimpleNamespace(**row) for row in results.get(name, [])] for name in STUDIES}
    PAGE.write_text(page(told))
    print(PAGE.read_text())


def _plain(cell: object) -> dict[str, object]:
    if not is_dataclass(cell) or isinstance(cell, type):
        raise TypeError(f"a study gives data classes, not {type(cell).__name__}")
    holds = {"holds": cell.holds} if hasattr(cell, "holds") else {}
    return {**asdict(cell), **holds}


if __name__ == "__main__":
    main()
