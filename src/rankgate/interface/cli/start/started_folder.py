"""Write a starting folder: the result of ``init``.

`StartKind` describes a kind of user, with the files and commands of its folder; `init` writes the
folder.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Literal

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import new_folder, save_file
from rankgate.core.present.base_result import Result
from rankgate.core.present.document_model import Code
from rankgate.core.present.layout import Sentence, View
from rankgate.interface.cli.start import sample_data

_POLICY = "the policy: the rules that a candidate must pass; also defaults of commands"
CI_FILES: Mapping[str, Mapping[str, str]] = {
    "github": {".github/workflows/ranking.yml": "the last command for every pull request"},
    "gitlab": {
        ".gitlab/ranking.yml": "the last command for every merge request",
        ".gitlab-ci.yml": "GitLab's file; it includes the file above, as your own file must",
    },
}
"""The files of each service that runs the gate, with their purpose."""


@dataclass(frozen=True)
class StartKind:
    """A kind of user.

    Attributes:
        name: the value of ``--kind``.
        title: a description of the user.
        explained: every file with its purpose, except those of CI.
        samples: a function that makes sample files, to be replaced by real ones.
        commands: the commands to run after ``rankgate init``, with their purposes.
        extras: the extras of rankgate that the commands need.
        baseline: the run that a saved baseline replaces in CI; empty without CI.
    """

    name: str
    title: str
    explained: Mapping[str, str]
    samples: Callable[[], Mapping[str, str]]
    commands: tuple[tuple[str, str], ...]
    extras: tuple[str, ...] = ()
    baseline: str = ""

    def files(self, ci: str) -> dict[str, str]:
        """Every file with its purpose.

        Args:
            ci: one of `CI_FILES`.
        """
        return {**self.explained, **(CI_FILES[ci] if self.baseline else {})}

    def contents(self, ci: str) -> dict[str, str]:
        """The text of every file by its path; the README explains the other files.

        Args:
            ci: one of `CI_FILES`.
        """
        texts = dict(self.samples())
        gate = self.commands[-1][0]
        for path in self.files(ci):
            if path not in texts:
                template = _read_template(self.name, path).replace("RANKGATE_GATE", gate)
                texts[path] = template.replace(_CANDIDATE, gate.split()[-1])
        return {"README.md": self._readme(ci), **{path: texts[path] for path in self.files(ci)}}

    def _readme(self, ci: str) -> str:
        rows = "".join(f"| `{path}` | {purpose} |\n" for path, purpose in self.files(ci).items())
        steps = "".join(
            f"{number}. {purpose}\n\n       {command}\n\n"
            for number, (command, purpose) in enumerate(self._steps(ci), 1)
        )
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        install = f'pip install "rankgate{extras}"' if extras else "pip install rankgate"
        in_ci = _IN_CI[ci].format(baseline=self.baseline) if self.baseline else ""
        in_ci = in_ci.replace(_CANDIDATE, self.commands[-1][0].split()[-1])
        return _README_TEXT.format(title=self.title, rows=rows, steps=steps, install=install, ci=in_ci)

    def _steps(self, ci: str) -> tuple[tuple[str, str], ...]:
        service = f" --ci {ci}" if self.baseline else ""
        first_command = f"rankgate init --kind {self.name}{service}"
        return ((first_command, "This made the folder."), *self.commands)


_README_TEXT = """\
# Ranking evaluation

Made by `rankgate init` for {title}. Install the packages of the commands with `{install}`.

## Five commands

{steps}The last one decides: exit code 0 is pass, 1 fail, 3 inconclusive.
{ci}
## Every file

| file | what it is |
| :-- | :-- |
{rows}
The data are samples, so that everything works at once. Replace them with yours: formats are
detected, and `rankgate formats` lists them. If some of these files existed before, no samples
were written, and you make the missing files. `rankgate doctor` reports missing parts and likely
failures, `rankgate config` the settings that commands read from `rankgate.toml`.
"""

_COMMIT = """
## In CI

Commit this folder with `rankgate/baselines`, where the fourth command has saved the baseline;
`{baseline}` is not needed any more, and need not be committed.
"""
_ON_GITHUB = """
`.github/workflows/ranking.yml` runs the last command for every pull request. It keeps one comment on
the pull request up to date, and writes the verdict into the summary of the job. Add a step before it
that makes `runs/candidate.run` with your own system.

GitHub reads workflows at the root of a repository only. If this folder is not the root, move
`.github` there, and add `defaults: {{run: {{working-directory: FOLDER}}}}` to the job.
"""
_ON_GITLAB = """
`.gitlab/ranking.yml` runs the last command for every merge request. Its report and its page are
artifacts. An inconclusive verdict blocks too; its file shows how to make it a warning. Add a line
before it that makes `runs/candidate.run` with your own system.

GitLab reads `.gitlab-ci.yml` at the root of a repository only. If this folder is not the root, move
`.gitlab-ci.yml` and `.gitlab` there, and begin `script` with `cd FOLDER`.
"""
_IN_CI = {"github": _COMMIT + _ON_GITHUB, "gitlab": _COMMIT + _ON_GITLAB}

_CANDIDATE = "runs/candidate.run"
_RUNS = {
    "runs/production.run": "the lists of the system in production: a sample",
    _CANDIDATE: "the lists of the system that should replace it: a sample",
}
_HYBRID_RUNS = "runs/words.run runs/vectors.run"
_LISTS = "test.qrels runs/popular.run runs/candidate.run"
_PASSAGES = "gold.jsonl retrieved/production.jsonl retrieved/candidate.jsonl"
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
            },
            lambda: {"queries.tsv": sample_data.sample_queries(), **sample_data.judged_runs()},
            (
                (f"rankgate validate {_FILES}", "Check the files; every problem has its line."),
                (f"rankgate compare {_FILES}", "See both systems, query by query."),
                (
                    "rankgate baseline save production qrels.txt runs/production.run",
                    "Keep production's values, so that its run is not needed any more.",
                ),
                ("rankgate gate qrels.txt production runs/candidate.run", "Decide by the policy."),
            ),
            baseline="runs/production.run",
        ),
        StartKind(
            "recommender",
            "a recommender team",
            {
                "rankgate.toml": _POLICY,
                "train.csv": "the log that systems learned from: a sample",
                "test.qrels": "later interactions of users, the judgments: a sample",
                "items.csv": "items with their columns: a sample",
                "runs/popular.run": "the lists of the system in production: a sample",
                "runs/candidate.run": "the lists of the system that should replace it: a sample",
            },
            sample_data.recommendations,
            (
                (f"rankgate validate {_LISTS}", "Check the files; every problem has its line."),
                (
                    (f"rankgate scorecard {_LISTS} --training train.csv --items items.csv --category genre"),
                    "See accuracy, coverage, novelty and diversity of both systems.",
                ),
                (
                    "rankgate baseline save production test.qrels runs/popular.run",
                    "Keep production's values, so that its lists are not needed any more.",
                ),
                ("rankgate gate test.qrels production runs/candidate.run", "Decide by the policy."),
            ),
            baseline="runs/popular.run",
        ),
        StartKind(
            "hybrid",
            "a team that tunes hybrid search",
            {
                "rankgate.toml": _POLICY,
                "queries.tsv": "the queries, with ids: a sample",
                "qrels.txt": "the judgments, a line each: query, 0, document, grade: a sample",
                "runs/words.run": "the lists of a search by words: a sample",
                "runs/vectors.run": "the lists of a search by vectors: a sample",
                "sweep-fusion.toml": "methods, normalisations and weights of both runs, without a server",
                "opensearch.toml": "a hybrid query of OpenSearch; name your index, fields and model",
                "sweep-opensearch.toml": "its normalisations, combinations and weights; `rankgate sweep` "
                "measures them",
                "opensearch-words.toml": "its search by words alone",
                "opensearch-vectors.toml": "its search by vectors alone",
                "sweep-hybrid.toml": "66 variants from two lists of each query, and a check of the engine",
                "elasticsearch.toml": "a linear retriever of Elasticsearch; name your index and fields",
                "sweep-elasticsearch.toml": "its normalisations and weights",
                "weaviate.toml": "a hybrid search of Weaviate over HTTP; name your collection",
                "sweep-weaviate.toml": "its combinations and weights",
            },
            lambda: {
                "queries.tsv": sample_data.sample_queries(),
                **sample_data.judged_runs({"words": 1.9, "vectors": 1.6}),
            },
            (
                (
                    f"rankgate validate qrels.txt {_HYBRID_RUNS}",
                    "Check the files; every problem has its line.",
                ),
                (
                    "rankgate sweep sweep-fusion.toml -o sweep.html",
                    "Find the best fusion; the sweep of your engine has the same form.",
                ),
                (
                    f"rankgate fuse {_HYBRID_RUNS} --method combsum -o runs/hybrid.run",
                    "Write the run of a setting that the sweep suggests.",
                ),
                ("rankgate gate qrels.txt runs/words.run runs/hybrid.run", "Decide by the policy."),
            ),
        ),
        StartKind(
            "rag",
            "a team whose language model answers from retrieved passages",
            {
                "rankgate.toml": _POLICY,
                "gold.jsonl": "questions, each with the passage that answers it: a sample",
                "queries.csv": "the texts of questions, for verdicts, pages and raters: a sample",
                "passages.csv": "the texts of passages, for pages and raters: a sample",
                "retrieved/production.jsonl": "the passages of the retriever in production: a sample",
                "retrieved/candidate.jsonl": "the passages of the retriever that should replace it: a sample",
                "people.csv": "people's grades of some passages: a sample",
                "model.csv": "a language model's grades of the same passages: a sample",
            },
            sample_data.retrieved_passages,
            (
                (f"rankgate compare {_PASSAGES}", "See the recall of both retrievers, with its interval."),
                (
                    "rankgate admit people.csv model.csv",
                    "Check a language model as a judge against people, before its grades count.",
                ),
                (
                    "rankgate baseline save production gold.jsonl retrieved/production.jsonl",
                    "Keep production's values, so that its passages are not needed any more.",
                ),
                (
                    "rankgate gate gold.jsonl production retrieved/candidate.jsonl",
                    "Decide by the policy, with one known passage for each question.",
                ),
            ),
            baseline="retrieved/production.jsonl",
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
            sample_data.judged_runs,
            (
                (
                    "rankgate trec_eval -m map -m ndcg_cut.10 qrels.txt runs/candidate.run",
                    "See the numbers of trec_eval, byte for byte.",
                ),
                (
                    f"rankgate compare {_FILES} --test randomization",
                    "See differences with intervals and corrected p-values.",
                ),
                (f"rankgate compare {_FILES} --format latex -o table.tex", "Write the table of the paper."),
                (f"rankgate gate {_FILES}", "Decide by the policy, with its reasons."),
            ),
        ),
        StartKind(
            "online",
            "a team with online experiments",
            {
                "rankgate.toml": "the policy: rules on KPIs, and the steps of the launch",
                "qrels.txt": "judgments for the simulation of clicks: a sample",
                **_RUNS,
            },
            sample_data.judged_runs,
            (
                (
                    f"rankgate online simulate {_FILES} --searches 10000 -o events.parquet",
                    "Simulate a log of clicks; yours comes from `rankgate online ingest`.",
                ),
                ("rankgate online doctor events.parquet", "Find faults of the log."),
                ("rankgate online kpi events.parquet --by variant", "See KPIs of both arms."),
                ("rankgate online watch rankgate.toml", "Decide whether the launch may go on."),
            ),
            ("online",),
        ),
    )
}
"""The kinds by name."""


def find_kind(name: str) -> StartKind:
    """The kind of user with this name.

    Raises:
        UsageError: there is no such kind.
    """
    if name not in KINDS:
        problem = f"unknown kind of folder {name!r}; known: {', '.join(KINDS)}."
        raise UsageError(problem, code="unknown-kind")
    return KINDS[name]


def _read_template(kind_name: str, path: str) -> str:
    """The template of a file: the one of this kind of user, else the common one."""
    folder = files("rankgate.interface.cli.start") / "templates"
    template_name = path.replace("/", "_").removeprefix(".")
    kind_file = folder / f"{kind_name}_{template_name}"
    return (kind_file if kind_file.is_file() else folder / template_name).read_text(encoding="utf-8")


_README_CONTENT = "a description of the folder, and five commands"


@dataclass(frozen=True)
class StartedFile:
    """A file of a starting folder.

    Attributes:
        path: from the folder.
        status: written, or unchanged if it existed before; a sample that does not fit the existing
            data is left out.
        purpose: its purpose.
    """

    path: str
    status: Literal["written", "kept", "missing"]
    purpose: str


def _show_commands(result: StartedFolder) -> Iterator[Code]:
    """The next commands, to be typed exactly."""
    yield Code("\n".join(result.commands))


@dataclass(frozen=True)
class StartedFolder(Result):
    """The files that ``init`` wrote.

    Attributes:
        folder: the folder.
        user: the kind of user.
        reason: the reason for this kind of user.
        files: every file.
        commands: the next commands.
        ci: the CI service whose files run the gate; empty if the kind of user has no gate.
    """

    kind = "started_folder"
    layout = (
        View("files", headers={"path": "file", "purpose": "what it is"}, prose=True),
        Sentence(
            "Some of the data were here, and samples would not fit them. Make the missing files ({missing}) "
            "of your own data, or name your files in the commands.",
            "missing",
        ),
        "Next, as README.md explains:",
        _show_commands,
    )
    csv_table = "files"
    csv_columns: ClassVar = {"file": "path", "status": "status", "purpose": "purpose"}

    folder: str
    user: str
    reason: str
    files: tuple[StartedFile, ...]
    commands: tuple[str, ...]
    ci: str = ""

    @property
    def headline(self) -> str:
        """The kind of user, and the reason for it."""
        return f"A folder for {KINDS[self.user].title} ({self.reason})"

    @property
    def missing(self) -> tuple[str, ...]:
        """The samples that were not written."""
        return tuple(file.path for file in self.files if file.status == "missing")


def init(folder: str | Path = ".", user: str | None = None, *, ci: str | None = None) -> StartedFolder:
    """Write a starting folder; existing files stay as they are.

    If some of the data exist, no samples are written: they would not fit.

    Args:
        folder: the folder; made if it is missing.
        user: search, recommender, hybrid, rag, trec or online; by the files in the folder if not given.
        ci: github or gitlab; by the repository of the folder if not given.

    Raises:
        UsageError: there is no such kind of user; a service of CI for a kind without a gate.
    """
    root = Path(folder)
    name, reason = (user, "as asked for") if user else detect_kind(root)
    start_kind = find_kind(name)
    if ci is not None and not start_kind.baseline:
        problem = f"a folder for {start_kind.title} has no files of CI; leave out --ci."
        raise UsageError(problem, code="conflicting-options")
    service = ci or detect_ci(root)
    explained = {"README.md": _README_CONTENT, **start_kind.files(service)}
    samples = start_kind.samples()
    has_own_data = any((root / path).exists() for path in samples)
    files = []
    with new_folder(root):
        for path, text in start_kind.contents(service).items():
            target = root / path
            status: Literal["written", "kept", "missing"] = "written"
            if target.exists():
                status = "kept"
            elif has_own_data and path in samples:
                status = "missing"
            else:
                with new_folder(target.parent):
                    save_file(target, text)
            files.append(StartedFile(path, status, explained[path]))
    change = () if root.resolve() == Path.cwd() else (f"cd {shlex.quote(str(folder))}",)
    commands = (*change, *(command for command, _ in start_kind.commands))
    return StartedFolder(
        str(folder), name, reason, tuple(files), commands, service if start_kind.baseline else ""
    )


def detect_ci(folder: Path) -> str:
    """The CI service of a folder's repository: GitLab if its CI file or remote is GitLab's."""
    absolute = folder.resolve()
    for root in (absolute, *absolute.parents):
        config = root / ".git" / "config"
        if (root / ".gitlab-ci.yml").is_file():
            return "gitlab"
        if config.is_file():
            text = config.read_text(encoding="utf-8", errors="replace")
            return "gitlab" if "gitlab" in text.lower() else "github"
    return "github"


def detect_kind(folder: Path) -> tuple[str, str]:
    """The kind of user to which the files of a folder point, with the reason."""
    for name, sign, reason in _kind_signs(folder):
        if sign:
            return name, reason
    return "search", "no file in the folder suggests another kind; --kind chooses another"


_QUESTION = re.compile('"(question|user_input)"')
_PASSAGE = re.compile('"(gold|contexts?|chunks|passages|retrieved(_contexts)?|reference_contexts)"')


def _kind_signs(folder: Path) -> Iterator[tuple[str, bool, str]]:
    """The evidence for each kind in file names and first lines, the most specific first."""
    names = [path.name.lower() for path in folder.iterdir()] if folder.is_dir() else []
    yield "online", any("event" in name or "click" in name for name in names), "it has a log"
    first_lines = [_first_line(path) for path in folder.glob("*.csv")] if folder.is_dir() else []
    users = any("user" in first_line and "item" in first_line for first_line in first_lines)
    yield "recommender", users, "a table has users and items"
    json_lines = [_first_line(path) for path in folder.glob("*.jsonl")] if folder.is_dir() else []
    questions = any(_QUESTION.search(line) and _PASSAGE.search(line) for line in json_lines)
    yield "rag", questions, "a file has questions and passages"
    trec = any(name.endswith((".qrels", ".trec", ".topics")) for name in names)
    yield "trec", trec, "it has files of TREC"


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline(10_000).lower()
