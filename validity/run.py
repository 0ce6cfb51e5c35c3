"""Runs studies whose code has changed and writes docs/validity.md.

python validity/run.py [NAME...] [--force]

A study is a file in studies/ with ``run()``, which returns data classes, and ``section(cells)``,
its part of the page. Its results are kept in results/NAME.json, with a hash of the code that they
depend on (code_hash.py): changes that change no result do not make it run again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, is_dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS, PAGE = HERE / "results", ROOT / "docs" / "validity.md"
FIRST = (
    "levels",
    "coverage",
    "power",
    "gate",
    "ends",
    "mean_zero",
    "rare_losses",
    "looks",
    "sizes",
    "holes",
    "judge_next",
)
"""The order of the page; other studies follow by name."""

INTRO = """\
# Do verdicts hold?

`make validity` runs every study below whose code has changed and writes this page; `make
validity-gate` runs one. Seeds are fixed and a miss is reported, not drawn again. Real differences
are between TREC systems with neighbouring means (topics by systems, Urbano, Lima and Hanjalic,
SIGIR 2019, CC BY-SA 4.0); the simulated differences are normal, exponential, and normal with four
of five queries tied. A standard error of a share near 5 % over 10,000 replications is 0.2 %.

What does not hold, in short:

- Normal theory (`interval = "t"`, the default) does not keep 5 % where a few queries lose much and
  a sample shows none or few of them: [rare losses](#rare-losses). Few or no warnings are seen then.
- It also does not if the candidate is the system that loses much in few queries: 5.4 to 8.2 % on
  every matrix of scores, most on nDCG@20 of Web 2010 and ERR@20 of Web 2011, and up to 52 % for
  single pairs there. Samples show little of it: [every matrix of scores](#every-matrix-of-scores).
- A set that queries are added to, and looked at again, does not keep 5 % by default:
  [repeated looks](#repeated-looks). With `looks = "anytime"` it does as far as one look does.
- Candidates that an optimiser chose by the gate's answers are promoted falsely practically always; by
  the account of held-out queries in about 5 % or less, except where losses are rare and large, or
  skewed in few clusters: [candidates of an optimiser](#candidates-of-an-optimiser).
- The test whether slices differ is exact where all slices have one distribution of differences; where a
  small slice has three times the spread of the others it rejects in up to 7 % instead of 5 %:
  [slices](#slices).
- `interval = "guaranteed"` holds for every distribution of values within a range, at every look; it
  needs several times as many queries, and with fewer than about 4/m queries passes no margin m.
- The t-test and the randomization test keep 5 % where signs are exchangeable, not for every pair of
  systems with a mean difference of 0 and few queries: [mean of 0](#where-only-the-mean-is-0).
- Recommended numbers of queries, computed from few topics, have a power somewhat off the 80 % that
  is meant, and single samples are off by much: [numbers of queries](#numbers-of-queries).
- What unjudged documents could change depends on how judged ones were chosen, which data do not
  show. Where that is known (`--selection random` or `pooled`) 95 % of draws hold the truth as often
  as they say, and chances of a flip for `random` come true; for `pooled`, and for the default
  `unknown`, middling chances come true less often than said: bands that miss by more than .05 are
  named in [unjudged documents](#what-unjudged-documents-could-hide).
- Off-policy intervals hold for rare rewards and uneven weights, and are wide there; that of `iips`
  does not where a click changes later rates: [off-policy](#off-policy-estimates).
- Correlations of offline and online, corrected for errors of measurement: below a reliability of .2
  one history in five has an interval, and up to 12 % of those are wrong:
  [agreement](#corrected-correlations-of-offline-and-online).
- Guardrails of experiments fail in up to 13 % instead of 5 % at their margin where arms are unequal
  and fewer than 10 units of one have a value above 0; `ab` warns there. Elsewhere errors were at
  most 7.3 %: [few or skewed values](#experiments-with-few-or-skewed-values).
- Judgments from clicks: if clicks do not depend on documents, up to 5 % of logs get some judgments;
  of logs of one ranker `pbm` and `ubm` make none, and values of other models are not attractiveness
  there, nor do their intervals cover it: [click models](#click-models).
- A yearly season of more than twice the noise gives more false alarms of `history` than stated, as do
  days that resemble the day before with single days far out: [changes](#changes-of-a-history).
- Intervals of agreement of raters who differ in fewer than 5 queries cover
  .78 to .90 where it is about two of 15 or three of 25, and are named:
  [agreement](#intervals-of-agreement).
- Alarms about raters miss many who follow the document now and then:
  [raters](#alarms-about-raters).
- Weighted queries: the interval of a small sample with heavy weights covers less often than stated,
  and a head that loses is missed in 7 to 17 % of samples with Zipf weights of exponent .5, which is
  up to 29 % of those that are decided:
  [unequal weights](#queries-of-unequal-weights). Draw queries by traffic.
- Ranks that systems may have over data sets hold together in 95 % of tables, but not where many
  systems fail badly on a kind of data set that is rare: then 5 to 17 % of tables have a wrong one.
  If a system lacks the data sets on which it is bad, and these are left out, about half of the
  tables have a wrong one: [rank intervals](#rank-intervals-over-data-sets).
- Copies of queries count as one query only if a column `cluster` or their texts identify them as
  copies: [copies of queries](#copies-of-queries).
- Thresholds of `cutoff` hold for questions that are drawn independently. Where each question has five
  copies that count as independent, 12.8 % of the thresholds break their promise instead of 5 %:
  [thresholds of scores](#thresholds-of-scores).
- `--predicted` holds only for a model that has not seen people's judgments of these queries. Checks
  do not find a model whose other grades are distributed as people's: with a false statement up to
  85 % of equal systems get an interval without 0. The gate passes only on judgments that are
  sealed: [what a model saw](#a-model-that-saw-peoples-judgments).
- `total-error` takes raters' biases as independent: where they correlate by .3 or .6 it covers .92
  or .87, and names the interval for .3: [outside of the models](#outside-of-the-studied-models).
- Where all settings of a sweep lose much in the same 5 % of queries, the interval of its gain
  covers .75 with 25 queries and .93 with 50, and the notice `rare-losses` is shown: [outside of
  the models](#outside-of-the-studied-models).
- All studies assume that queries are drawn independently from the queries that matter. A set that
  was chosen by hand, or to which hard queries are added, is not such a sample.
"""


def main() -> None:
    """Run the studies that were asked for, as far as their code has changed."""
    sys.path.insert(0, str(HERE))
    parser = argparse.ArgumentParser()
    parser.add_argument("studies", nargs="*", metavar="NAME")
    parser.add_argument("--force", action="store_true", help="run them though nothing changed")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options, all_studies = parser.parse_args(), studies()
    if unknown := set(options.studies) - set(all_studies):
        parser.error(f"no study is called {', '.join(unknown)}; there are {', '.join(all_studies)}.")
    for name in options.studies or all_studies:
        if options.here:
            run(name)
        elif options.force or not fresh(name):
            subprocess.run([sys.executable, __file__, name, "--here"], check=True)
        else:
            print(f"{name}: its code is unchanged since it was run")
    if not options.here:
        PAGE.write_text(page(all_studies))


def studies() -> list[str]:
    """Every study, in the order of the page."""
    files = [path for path in (HERE / "studies").glob("*.py") if "\ndef run(" in path.read_text()]
    names = {path.stem for path in files}
    return [name for name in FIRST if name in names] + sorted(names - set(FIRST))


def fresh(name: str) -> bool:
    """Whether there are results of the code as it is."""
    path = RESULTS / f"{name}.json"
    return path.exists() and json.loads(path.read_text())["sha256"] == digest(name)


def run(name: str) -> None:
    """Run a study and keep its results."""
    begin, code = time.process_time(), digest(name)
    cells = [plain(cell) for cell in import_module(f"studies.{name}").run()]
    seconds = round(time.process_time() - begin, 1)  # others may use the machine too
    record = {"sha256": code, "seconds": seconds, "cells": cells}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"{name}: {len(cells)} cells in {seconds:.0f} s")


def digest(name: str) -> str:
    """Hash the code that the results of a study depend on."""
    from code_hash import Code  # from this folder

    return Code([ROOT / "src", HERE]).digest(f"studies.{name}")


def page(known: list[str]) -> str:
    """The page, of the results that there are."""
    parts = [INTRO]
    for name in known:
        path = RESULTS / f"{name}.json"
        if path.exists():
            cells = [SimpleNamespace(**row) for row in json.loads(path.read_text())["cells"]]
            module = import_module(f"studies.{name}")
            parts.append(getattr(module, "section", partial(plainly, module))(cells))
            if not fresh(name):
                parts.append(f"The code has changed since: `make validity-{name}` measures again.\n")
    return "\n".join(parts)


def plainly(module: ModuleType, cells: list[SimpleNamespace]) -> str:
    """A section of all figures, for a study that writes none: its docstring and a table."""
    from tables import table

    title, _, description = (module.__doc__ or module.__name__).strip().partition("\n")
    names = [name for name in vars(cells[0]) if name != "holds"] if cells else []
    rows = [
        [
            f"{value:.4g}" if isinstance(value, float) else str(value)
            for value in (vars(cell)[name] for name in names)
        ]
        for cell in cells
    ]
    heads = [name.replace("_", " ") for name in names]
    return f"## {title.rstrip('.')}\n\n{description.strip()}\n\n{table(heads, rows)}"


def plain(cell: object) -> dict[str, Any]:
    """A cell for JSON."""
    if not is_dataclass(cell) or isinstance(cell, type):
        raise TypeError(f"a study gives data classes, not {type(cell).__name__}")
    holds = {"holds": cell.holds} if hasattr(cell, "holds") else {}
    values = {**asdict(cell), **holds}  # those of NumPy become Python's
    return {name: value.item() if hasattr(value, "item") else value for name, value in values.items()}


if __name__ == "__main__":
    main()
