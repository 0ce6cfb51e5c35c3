"""The tools of an assistant (MCP), and the folder that it may read.

Every path leads into the folder, those of links and policies too.

The tools are one method a verb; an assistant sees the method's signature and docstring. Files
are named by paths in the folder. Judgments and runs are read in every format that rankgate
knows; ``FORMAT:PATH`` names one.
"""

from __future__ import annotations

import glob
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.collection import Collection, parse_collection
from rankgate.data.files.conversion import convert
from rankgate.data.files.formats import formats
from rankgate.data.files.validate import validate
from rankgate.data.formats import registry
from rankgate.data.query_tags import IDS
from rankgate.data.streams.source import split_table
from rankgate.decisions.advice.advise import advise
from rankgate.decisions.advice.blind_spots import blindspots
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy_keys import policy_keys
from rankgate.decisions.reproduction.rank_similarity import rank_similarity
from rankgate.decisions.unjudged.holes import holes
from rankgate.interface.mcp.mcp_answers import content_of, index_of
from rankgate.measurement.description.describe import describe
from rankgate.measurement.evaluation.convention_details import convention_details, conventions
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.metric_details import metric_details, metrics
from rankgate.measurement.explanation.explain import explain
from rankgate.measurement.explanation.reconcile import reconcile

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result


@dataclass(frozen=True)
class Folder:
    """The files of one folder, up to a size.

    Attributes:
        root: the folder, without links in its own path.
        largest: bytes of a file; a larger one is refused.
    """

    root: Path
    largest: int

    def file(self, path_text: str) -> str:
        """A file to be read, as an absolute path; ``FORMAT:PATH`` keeps its format.

        Raises:
            UsageError: a path that leads out of the folder.
            InputError: no such file; one that is too large.
        """
        name, path_part = registry.split_prefix(path_text)
        path, table = split_table(self._inside(str(path_part)))
        path = self._inside(str(path))
        if not path.is_file():
            raise InputError(
                "there is no such file in the folder.", source=path_text, code="no-file"
            )
        for sibling in path.parent.glob(f"{glob.escape(path.name)}*"):  # FILE.query and the like
            self._inside(str(sibling))
        if path.stat().st_size > self.largest:
            problem = f"it is larger than {self.largest:,} bytes; start with a larger --max-bytes."
            raise InputError(problem, source=path_text, code="file-too-large")
        located = f"{path}:{table}" if table else str(path)
        return f"{name}:{located}" if name else located

    def settings(self, path_text: str) -> str:
        """A TOML file whose texts lead nowhere else: a policy, a convention, a collection.

        Raises:
            UsageError, InputError: as `file`; a file that is not TOML; one that names a file
                outside of the folder.
        """
        path = self.file(path_text)
        try:
            values = tomllib.loads(Path(path).read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"not TOML: {error}.", source=path_text, code="invalid-syntax"
            ) from None
        for text in _texts(values):
            name, path_part = registry.split_prefix(text)
            if "\0" in text or name == "ir_datasets":  # which may download
                raise _outside_error(f"{path_text} names {text!r}")
            named_path = split_table(Path(path).parent / path_part)[0]
            if not named_path.resolve().is_relative_to(self.root):
                raise _outside_error(f"{path_text} names {text!r}")
        return path

    def target(self, path_text: str) -> Path:
        """A new file to be written.

        Raises:
            UsageError: a path that leads out of the folder; a file that is there already.
        """
        path = self._inside(path_text)
        if path.exists():
            raise UsageError(
                f"{path_text} is there already; choose another name.", code="file-exists"
            )
        return path

    def _inside(self, path_text: str) -> Path:
        if not path_text or "\0" in path_text or path_text == "-":
            raise UsageError("name a file of the folder.", code="invalid-path")
        path = (self.root / path_text).resolve()
        if not path.is_relative_to(self.root):
            raise _outside_error(path_text)
        return path


def open_folder(path: Path, largest: int) -> Folder:
    """A folder that is there.

    Raises:
        UsageError: it is not a folder.
    """
    if not path.is_dir():
        raise UsageError(f"{path} is not a folder.", code="no-folder")
    return Folder(path.resolve(), largest)


def _outside_error(path_text: str) -> UsageError:
    return UsageError(
        f"{path_text}: only files of the folder that the server was started for can be used.",
        code="outside-folder",
    )


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - what TOML holds
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)


CollectionLike = str | dict[str, Any]
"""A file of judgments or of a collection, or the fields of one."""

METRICS = ("nDCG@10", "AP", "RR", "R@100", "P@10")
_POLICY_FILES = ("rankgate.toml", "pyproject.toml")


@dataclass(frozen=True)
class Tools:
    """The verbs on the files of a folder.

    Attributes:
        folder: what may be read, and written if the server may write.
    """

    folder: Folder

    def _answer(self, result: Result) -> dict[str, Any]:
        return content_of(result)

    def _convention(self, name: str) -> str:
        return self.folder.settings(name) if name.endswith(".toml") else name

    def _files(self, *paths: str) -> list[str]:
        return [
            self.folder.settings(path) if path.endswith(".toml") else self.folder.file(path)
            for path in paths
        ]

    def _collection(self, stated: CollectionLike) -> Collection:
        """The collection of a file, or of an object of its fields, whose texts are files.

        Raises:
            UsageError: a path that leads out of the folder.
            InputError: no such file; a field that there is not, or a value of another type.
        """
        if isinstance(stated, str):
            return Collection.of(self._files(stated)[0])
        return parse_collection(stated, lambda _, text: self._table(text))

    def _table(self, text: str) -> str:
        """A file of the folder, or a pattern of ids."""
        return text if text.startswith(IDS) else self.folder.file(text)

    def evaluate(
        self,
        qrels: CollectionLike,
        runs: list[str],
        metrics: Sequence[str] = METRICS,
        convention: str = "trec",
    ) -> dict[str, Any]:
        """Score runs against judgments: means, counts of what is missing, judged share.

        Args:
            qrels: the file of judgments or of a collection (TOML); or an object with the fields of
                one: judgments, columns, grades, tags, items, sample, predicted, and others.
            runs: files of runs.
            metrics: such as nDCG@10, AP, RR, nDCG(gain='exp')@5; see list_metrics.
            convention: the rules to follow, such as trec, ranx or beir; see list_conventions.
        """
        collection, run_files = self._collection(qrels), self._files(*runs)
        rules = self._convention(convention)
        return self._answer(evaluate(collection, run_files, list(metrics), rules))

    def compare(
        self,
        qrels: CollectionLike,
        baseline: str,
        candidates: list[str],
        metrics: Sequence[str] = METRICS,
        convention: str = "trec",
        test: Literal["t", "randomization", "wilcoxon", "sign", "bootstrap"] = "t",
    ) -> dict[str, Any]:
        """Compare systems query by query: differences with intervals and tests, worst queries.

        Args:
            qrels: the file of judgments or of a collection (TOML); or an object with the fields of
                one: judgments, columns, grades, tags, items, sample, predicted, and others.
            baseline: the file of the run to compare with.
            candidates: files of the other runs.
            metrics: such as nDCG@10.
            convention: the rules to follow.
            test: of significance.
        """
        baseline_file, *other_runs = self._files(baseline, *candidates)
        rules = self._convention(convention)
        collection = self._collection(qrels)
        return self._answer(
            compare(collection, baseline_file, other_runs, list(metrics), rules, test=test)
        )

    def gate(
        self, qrels: CollectionLike, baseline: str, candidate: str, policy: str | None = None
    ) -> dict[str, Any]:
        """Decide by a policy whether a candidate may replace a baseline: verdict, rules, reasons.

        Args:
            qrels: the file of judgments or of a collection (TOML); or an object with the fields of
                one: judgments, columns, grades, tags, items, sample, predicted, and others.
            baseline: the file of a run, or the name of a saved baseline.
            candidate: the file of a run.
            policy: a TOML file; without it rankgate.toml, or no loss above .02 of nDCG@10.
        """
        collection, new = self._collection(qrels), self._files(candidate)[0]
        root = self.folder.root
        policy_name = next((name for name in _POLICY_FILES if (root / name).is_file()), None)
        rules = (
            self.folder.settings(policy)
            if policy
            else policy_name and self.folder.settings(policy_name)
        )
        saved = not (root / baseline).exists() and Path(baseline).name == baseline
        old = baseline if saved else self.folder.file(baseline)
        return self._answer(gate(collection, old, new, rules, log=False, folder=root))

    def explain(
        self, qrels: CollectionLike, run: str, query: str, metric: str, convention: str = "trec"
    ) -> dict[str, Any]:
        """Show how one value was computed, document by document.

        Args:
            qrels: the file of judgments or of a collection (TOML); or an object with the fields of
                one: judgments, columns, grades, tags, items, sample, predicted, and others.
            run: the file of a run.
            query: its id.
            metric: such as nDCG@10.
            convention: the rules to follow.
        """
        collection, run = self._collection(qrels), self._files(run)[0]
        rules = self._convention(convention)
        return self._answer(explain(collection, run, query, metric, rules))

    def reconcile(
        self, qrels: CollectionLike, run: str, metric: str, value: float | None = None
    ) -> dict[str, Any]:
        """Say why tools give different values for one metric, or which tool gives a value.

        Args:
            qrels: the file of judgments or of a collection (TOML); or an object with the fields of
                one: judgments, columns, grades, tags, items, sample, predicted, and others.
            run: the file of a run.
            metric: such as nDCG@10.
            value: the mean that another tool printed.
        """
        collection, run = self._collection(qrels), self._files(run)[0]
        if value is None:
            return self._answer(reconcile(collection, run, metric))
        return self._answer(reconcile(collection, run, metric, value=value))

    def holes(
        self,
        qrels: CollectionLike,
        baseline: str,
        candidate: str,
        metrics: Sequence[str] = ("nDCG@10",),
    ) -> dict[str, Any]:
        """Estimate what unjudged documents could change in a comparison, and what to judge next.

        Args:
            qrels: the file of judgments or of a collection (TOML); or an object with the fields of
                one: judgments, columns, grades, tags, items, sample, predicted, and others.
            baseline: the file of a run.
            candidate: the file of a run.
            metrics: such as nDCG@10.
        """
        collection = self._collection(qrels)
        baseline, candidate = self._files(baseline, candidate)
        return self._answer(holes(collection, baseline, candidate, list(metrics)))

    def blindspots(
        self, qrels: CollectionLike, baseline: str, candidate: str, metrics: Sequence[str] = METRICS
    ) -> dict[str, Any]:
        """Find changes between two runs that the chosen metrics do not see.

        Args:
            qrels: the file of judgments or of a collection (TOML); or an object with the fields of
                one: judgments, columns, grades, tags, items, sample, predicted, and others.
            baseline: the file of a run.
            candidate: the file of a run.
            metrics: such as nDCG@10.
        """
        collection = self._collection(qrels)
        baseline, candidate = self._files(baseline, candidate)
        return self._answer(blindspots(collection, baseline, candidate, list(metrics)))

    def rank_similarity(
        self, first: str, second: str, others: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Compare the rankings of two runs or more without judgments: RBO, overlap, tau.

        Args:
            first: the file of a run.
            second: the file of a run.
            others: files of further runs; each pair is compared.
        """
        return self._answer(rank_similarity(*self._files(first, second, *others)))

    def validate(self, files: list[str], against: str | None = None) -> dict[str, Any]:
        """Check files of judgments, runs and ratings: errors and warnings with lines.

        Args:
            files: to check.
            against: judgments that runs are checked against.
        """
        judged = None if against is None else self.folder.file(against)
        return self._answer(validate(self._files(*files), judged))

    def describe(self, files: list[str]) -> dict[str, Any]:
        """Show what files hold: format, queries, grades, overlap, hashes.

        Args:
            files: of any kind.
        """
        return self._answer(describe(self._files(*files)))

    def advise(
        self, qrels: CollectionLike | None = None, runs: list[str] | None = None
    ) -> dict[str, Any]:
        """Recommend metrics, cutoffs and a gate policy for data.

        Args:
            qrels: the file of judgments or of a collection (TOML); or an object with the fields of
                one: judgments, columns, grades, tags, items, sample, predicted, and others.
            runs: files of runs.
        """
        collection = None if qrels is None else self._collection(qrels)
        return self._answer(advise(collection, self._files(*(runs or []))))

    def list_files(self) -> dict[str, Any]:
        """List the files of the folder with their bytes, without those that a dot hides."""
        root = self.folder.root
        files = [
            {"file": str(path.relative_to(root)), "bytes": path.stat().st_size}
            for path in sorted(root.rglob("*"))
            if path.is_file()
            and not path.is_symlink()
            and not any(component.startswith(".") for component in path.relative_to(root).parts)
        ]
        return {"files": files, "in_all": len(files)}

    def list_metrics(self, name: str | None = None) -> dict[str, Any]:
        """List all metrics; with a name its formula, parameters, what it sees and what it does not.

        Args:
            name: of a metric, such as nDCG.
        """
        return content_of(metric_details(name)) if name else index_of(metrics())

    def list_conventions(self, name: str | None = None) -> dict[str, Any]:
        """List the conventions that reproduce other tools; with a name its rules.

        Args:
            name: of a convention, such as ranx.
        """
        return content_of(convention_details(name)) if name else index_of(conventions())

    def list_formats(self) -> dict[str, Any]:
        """List the file formats that can be read and written."""
        return content_of(formats())

    def list_policy_keys(self) -> dict[str, Any]:
        """Show what a gate policy can contain: settings, kinds of rules, their parameters."""
        return {"schema": policy_keys().to_dict()}

    def write_report(self, qrels: CollectionLike, runs: list[str], output: str) -> dict[str, Any]:
        """Write a page (HTML) that compares runs; the first one is the baseline.

        Args:
            qrels: the file of judgments or of a collection (TOML); or an object with the fields of
                one: judgments, columns, grades, tags, items, sample, predicted, and others.
            runs: two files of runs, or more.
            output: the new file, which must end in .html.
        """
        if not output.endswith(".html"):
            raise UsageError("the page's name must end in .html.", code="invalid-path")
        target = self.folder.target(output)
        baseline_file, *other_runs = self._files(*runs)
        compare(self._collection(qrels), baseline_file, other_runs).report(target)
        return {"written": output, "bytes": target.stat().st_size}

    def convert(self, source: str, output: str, to: str | None = None) -> dict[str, Any]:
        """Convert a file to another format, and report what is lost.

        Args:
            source: the file.
            output: the new file.
            to: its format; by default that of its suffix.
        """
        target = self.folder.target(output)
        return self._answer(convert(self.folder.file(source), target, to=to))


WRITING = ("write_report", "convert")
"""The tools that write."""
