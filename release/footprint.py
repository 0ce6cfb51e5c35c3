"""What a user gets: megabytes on disk, packages, and seconds to start, next to other tools.

    python release/footprint.py     a new environment for each tool, in build/footprint

Sizes are those of all files that the installation added to an empty environment. Times are the
best of several starts of a new process, tools in turn: the import alone, and a value from two small
files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import venv
from pathlib import Path

import tables

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "footprint"
TIMES = 9
LIMITS = "-c", str(ROOT / "bench" / "constraints.txt")

IMPORTS = {
    "rankgate": "import rankgate; from rankgate.metrics import nDCG",
    "ir_measures": "import ir_measures",
    "pytrec_eval-terrier": "import pytrec_eval",
    "ranx": "import ranx",
}
VALUES = {
    "rankgate": "import rankgate; from rankgate.metrics import nDCG; rankgate.evaluate('qrels.txt', 'a.run', "
    "[nDCG @ 10])",
    "ir_measures": "import ir_measures as m; m.calc_aggregate([m.nDCG @ 10], "
    "list(m.read_trec_qrels('qrels.txt')), list(m.read_trec_run('a.run')))",
    "pytrec_eval-terrier": "import pytrec_eval as p; q, r = open('qrels.txt'), open('a.run'); "
    "p.RelevanceEvaluator(p.parse_qrel(q), {'ndcg_cut.10'}).evaluate(p.parse_run(r))",
    "ranx": "from ranx import Qrels, Run, evaluate; evaluate(Qrels.from_file('qrels.txt', kind='trec'), "
    "Run.from_file('a.run', kind='trec'), 'ndcg@10')",
}


def main() -> int:
    """Install, measure, write the page."""
    (wheel,) = (ROOT / "dist").glob("*.whl")
    homes = {name: _installed(name, wheel) for name in IMPORTS}
    (WORK / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 1\n")
    (WORK / "a.run").write_text("q1 Q0 b 1 2.0 a\nq1 Q0 a 2 1.0 a\n")
    starts = {name: float("inf") for name in IMPORTS}
    values = dict(starts)
    for _ in range(TIMES):
        for name, home in homes.items():
            starts[name] = min(starts[name], _seconds(home, IMPORTS[name]))
            values[name] = min(values[name], _seconds(home, VALUES[name]))
    rows = [
        (name, *_size(home), f"{starts[name]:.2f}", f"{values[name]:.2f}") for name, home in homes.items()
    ]
    header = ("tool", "version", "packages", "MB", "import, s", "nDCG@10 of two files, s")
    tables.write("footprint", header, rows)
    print(*rows, sep="\n")
    return 0


def _installed(name: str, wheel: Path) -> Path:
    home = WORK / name
    if name == "rankgate" or not home.exists():
        venv.create(home, with_pip=True, clear=True)
        requirement = str(wheel) if name == "rankgate" else name
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", *LIMITS, requirement]
        environ = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
        subprocess.run(pip, check=True, env=environ)
    return home


def _size(home: Path) -> tuple[str, str, str]:
    """The version, the number of packages, and their megabytes, without pip's own."""
    (site,) = home.glob("lib/python*/site-packages")
    default_packages = ("pip", "setuptools", "_distutils_hack", "distutils-precedence")
    added = [entry for entry in site.iterdir() if not entry.name.startswith(default_packages)]
    packages = sum(entry.name.endswith(".dist-info") for entry in added)
    size = sum(
        file.stat().st_size
        for entry in added
        for file in ([entry] if entry.is_file() else entry.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    )
    (dist_info,) = (e.name for e in added if e.name.startswith(home.name.replace("-", "_") + "-"))
    return dist_info.split("-")[1].removesuffix(".dist"), str(packages), f"{size / 1e6:.0f}"


def _seconds(home: Path, program: str) -> float:
    begun = time.perf_counter()
    subprocess.run([str(home / "bin" / "python"), "-c", program], cwd=WORK, check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
