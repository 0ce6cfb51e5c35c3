"""Who takes part in which workload, and by which command."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

METRICS = ("nDCG@10", "AP", "RR", "R@100", "P@10")
"""The five metrics that every contestant computes."""

_PEERS = Path(__file__).parent / "peers"


@dataclass(frozen=True)
class Contestant:
    """One way to the five means, or a floor that no way can go below.

    Attributes:
        name: as the table shows it.
        script: the file in ``peers``; empty for our own command line. A program in C is compiled first.
        arguments: what the script gets after the two files.
        floor: only reads; has no means.
        inside: times itself, because its data is in memory before it begins.
    """

    name: str
    script: str = ""
    arguments: tuple[str, ...] = ()
    floor: bool = False
    inside: bool = False

    def command(self, programs: Path, qrels: Path, run: Path) -> list[str]:
        """The command for one pair of files."""
        if self.script.endswith(".c"):
            return [_compiled(_PEERS / self.script, programs), str(qrels), str(run)]
        if self.script:
            script = str(_PEERS / self.script)
            return [str(programs / "python"), script, str(qrels), str(run), *self.arguments]
        metric_options = [word for metric in METRICS for word in ("-m", metric)]
        program = str(programs / "rankgate")
        return [program, "eval", str(qrels), str(run), *metric_options, "--format", "json"]

    def means(self, result: Any) -> Mapping[str, float] | None:  # noqa: ANN401 - JSON
        """The five means in what it printed."""
        if self.floor or result is None:
            return None
        if self.inside:
            result = result["mean"]
        elif not self.script:
            result = result["runs"][0]["mean"]
        return dict(result)


def _compiled(source: Path, programs: Path) -> str:
    """The program of a source in C, compiled again where it is older."""
    program = programs / source.stem
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O3", "-o", str(program), str(source), "-lm"], check=True)
    return str(program)


OURS = Contestant("rankgate eval")
LEAST = Contestant("C program", "floor.c")
SCAN = Contestant("bare Polars scan", "scan.py", floor=True)
BATCHES = Contestant("bare Polars scan, in batches", "scan_batches.py", floor=True)
BARE = Contestant("bare interpreter, read_csv", "bare.py", floor=True)
PYTREC_EVAL = Contestant("pytrec_eval-terrier", "with_pytrec_eval.py")
IR_MEASURES = Contestant("ir_measures", "with_ir_measures.py")
RANX = Contestant("ranx", "with_ranx.py")
OUR_DICTS = Contestant("rankgate, dicts", "with_dicts.py", inside=True)
OUR_FRAMES = Contestant("rankgate, frames", "with_frames.py", inside=True)
THEIR_DICTS = Contestant("pytrec_eval-terrier, dicts", "with_pytrec_eval.py", ("--in-memory",), inside=True)


def contestants(workload: str, *, quick: bool) -> list[Contestant]:
    """Who takes part in a workload, ourselves first."""
    can_compile = [LEAST] if shutil.which("cc") and "shuffled" not in workload else []
    if workload == "huge":
        return [OURS, *can_compile, SCAN, BATCHES]
    all_contestants = [
        OURS,
        *can_compile,
        SCAN,
        PYTREC_EVAL,
        IR_MEASURES,
        RANX,
        OUR_DICTS,
        OUR_FRAMES,
        THEIR_DICTS,
    ]
    if workload.startswith("small"):
        all_contestants.insert(1, BARE)
    elif quick:
        all_contestants.remove(RANX)
    return all_contestants
