"""The kinds of users that a starting folder is for, with its files and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.interface.cli.start import sample

_POLICY = "the policy: what a candidate must show; also what commands take by default"
_CI = "the same gate for every pull request, on GitHub"


@dataclass(frozen=True)
class StartKind:
    """A kind of user.

    Attributes:
        name: as ``--kind`` takes it.
        title: who it is.
        explained: every file with what it is for.
        samples: makes the files that real ones replace.
        commands: those that follow ``rankgate init``, with what each is for.
        extras: of rankgate that the commands need.
    """

    name: str
    title: str
    explained: Mapping[str, str]
    samples: Callable[[], Mapping[str, str]]
    commands: tuple[tuple[str, str], ...]
    extras: tuple[str, ...] = ()

    def contents(self) -> dict[str, str]:
        """Every file by its path; the README explains the others."""
        found = dict(self.samples())
        for path in self.explained:
            if path not in found:
                found[path] = _template(self.name, path)
        return {"README.md": self._readme(), **{path: found[path] for path in self.explained}}

    def _readme(self) -> str:
        rows = "".join(f"| `{path}` | {purpose} |\n" for path, purpose in self.explained.items())
        steps = "".join(
            f"{place}. {purpose}\n\n       {command}\n\n"
            for place, (command, purpose) in enumerate(self._steps(), 1)
        )
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        install = f'pip install "rankgate{extras}"' if extras else "pip install rankgate"
        return _README.format(title=self.title, rows=rows, steps=steps, install=install)

    def _steps(self) -> tuple[tuple[str, str], ...]:
        return ((f"rankgate init --kind {self.name}", "This made the folder."), *self.commands)


_README = """\
# Ranking evaluation

Made by `rankgate init` for {title}. Install what the commands need with `{install}`.

## Five commands

{steps}The last one decides: exit code 0 is pass, 1 fail, 3 inconclusive.

## Every file

| file | what it is |
| :-- | :-- |
{rows}
The data are samples, so that everything works at once. Replace them with yours: formats are
detected, and `rankgate formats` lists them. `rankgate doctor` says what is missing or would fail,
`rankgate config` what commands take from `rankgate.toml`.
"""

_RUNS = {
    "runs/production.run": "what the system in production returns: a sample",
    "runs/candidate.run": "what the system that is to replace it returns: a sample",
}
_LISTS = "test.qrels runs/popular.run runs/candidate.run"
_FILES = "qrels.txt runs/production.run runs/candidate.run"

KINDS = {
    kind.name: kind
    for kind in (
        StartKind(
            "search",
            "a search team with a gate in CI",
            {
                "rankgate.toml": _POLICY,
                "queries.tsv": "the queries, with ids: a sample",
                "qrels.txt": "the judgments, a line each: query, 0, document, grade: a sample",
                **_RUNS,
                ".github/workflows/ranking.yml": _CI,
            },
            lambda: {"queries.tsv": sample.queries(), **sample.judged_runs()},
            (
                (f"rankgate validate {_FILES}", "Check the files; every problem has its line."),
                (f"rankgate compare {_FILES}", "See both systems, query by query."),
                (
                    "rankgate baseline save production qrels.txt runs/production.run",
                    "Keep production's values, so that its run is not needed any more.",
                ),
                (
                    "rankgate gate qrels.txt production runs/candidate.run",
                    "Decide by the policy.",
                ),
            ),
        ),
        StartKind(
            "recommender",
            "a recommender team",
            {
                "rankgate.toml": _POLICY,
                "train.csv": "the log that systems learned from: a sample",
                "test.qrels": "what users took later, the judgments: a sample",
                "items.csv": "items with their columns: a sample",
                "runs/popular.run": "the lists of the system in production: a sample",
                "runs/candidate.run": "the lists of the system that is to replace it: a sample",
                ".github/workflows/ranking.yml": _CI,
            },
            sample.recommendations,
            (
                (
                    f"rankgate validate {_LISTS}",
                    "Check the files; every problem has its line.",
                ),
                (
                    (
                        f"rankgate scorecard {_LISTS} --training train.csv --items items.csv "
                        "--category genre"
                    ),
                    "See accuracy, coverage, novelty and diversity of both systems.",
                ),
                (
                    f"rankgate report {_LISTS} -o report.html",
                    "Write a page to show others.",
                ),
                (
                    f"rankgate gate {_LISTS}",
                    "Decide by the policy.",
                ),
            ),
        ),
        StartKind(
            "trec",
            "a researcher with TREC files",
            {
                "rankgate.toml": _POLICY,
                "qrels.txt": "the judgments: a sample",
                "runs/production.run": "the run of the baseline: a sample",
                "runs/candidate.run": "the run of the new system: a sample",
            },
            sample.judged_runs,
            (
                (
                    "rankgate trec_eval -m map -m ndcg_cut.10 qrels.txt runs/candidate.run",
                    "See the numbers of trec_eval, byte for byte.",
                ),
                (
                    f"rankgate compare {_FILES} --test randomization",
                    "See differences with intervals and corrected p-values.",
                ),
                (
                    f"rankgate compare {_FILES} --format latex -o table.tex",
                    "Write the table of the paper.",
                ),
                (f"rankgate gate {_FILES}", "Decide by the policy, with its reasons."),
            ),
        ),
        StartKind(
            "online",
            "a team with online experiments",
            {
                "rankgate.toml": "the policy: rules on KPIs, and the steps of the launch",
                "qrels.txt": "judgments, from which clicks are simulated: a sample",
                **_RUNS,
            },
            sample.judged_runs,
            (
                (
                    f"rankgate online simulate {_FILES} --searches 10000 -o events.parquet",
                    "Simulate a log of clicks; yours comes from `rankgate online ingest`.",
                ),
                ("rankgate online doctor events.parquet", "Find faults of the log."),
                ("rankgate online kpi events.parquet --by variant", "See KPIs of both arms."),
                ("rankgate online watch rankgate.toml", "Decide whether the launch may go on."),
            ),
            ("online", "ab"),
        ),
    )
}
"""The kinds by name."""


def kind(name: str) -> StartKind:
    """The kind of a name.

    Raises:
        UsageError: there is no such kind.
    """
    if name not in KINDS:
        problem = f"no kind of folder is called {name!r}; there are {', '.join(KINDS)}."
        raise UsageError(problem, code="unknown-kind")
    return KINDS[name]


def _template(kind_name: str, path: str) -> str:
    """The text of a file: that of the kind, or of all kinds."""
    folder = files("rankgate.interface.cli.start") / "templates"
    plain = path.replace("/", "_").removeprefix(".")
    own = folder / f"{kind_name}_{plain}"
    return (own if own.is_file() else folder / plain).read_text(encoding="utf-8")
