"""The tools of an assistant (MCP), and the folder that it may read.

Every path must be inside the folder, also the targets of links and the paths in policies.

A tool is a verb: its arguments have the names, types, defaults and help that the verb's signature
and docstring declare. Files are named by paths in the folder. Judgments and runs are read in every
format that rankgate knows; ``FORMAT:PATH`` names one.
"""

from __future__ import annotations

import glob
import inspect
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankgate.core.declare import Parameter, fields_of
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
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
from rankgate.decisions.comparison.data_sets import compare_data_sets
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.reported_systems import read_scores
from rankgate.decisions.cutoffs.cutoff import cutoff
from rankgate.decisions.gating.charged_tests import missing_account
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy_keys import policy_keys
from rankgate.decisions.gating.saved.holdout_account import FILE, HoldoutAccount, find_account, query_keys
from rankgate.decisions.migration.migrate import migrate
from rankgate.decisions.reproduction.rank_similarity import rank_similarity
from rankgate.decisions.unjudged.holes import holes
from rankgate.interface.mcp.mcp_answers import content_of, index_of
from rankgate.measurement.description.describe import describe
from rankgate.measurement.evaluation.convention_details import convention_details, conventions
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.metric_details import metric_details, metrics
from rankgate.measurement.explanation.explain import explain
from rankgate.measurement.explanation.reconcile import reconcile
from rankgate.measurement.metric_options import verb_parameter

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.decisions.gating.verdict import Verdict

CollectionLike = str | dict[str, Any]
"""A file of judgments or of a collection, or the fields of one."""

_POLICY_FILES = ("rankgate.toml", "pyproject.toml")


@dataclass(frozen=True)
class Folder:
    """The files of one folder, up to a size.

    Attributes:
        root: the folder, without links in its own path.
        largest: the largest size of a file, in bytes; larger files are refused.
    """

    root: Path
    largest: int

    def file(self, path_text: str) -> str:
        """The absolute path of a file to read; ``FORMAT:PATH`` keeps its format.

        Raises:
            UsageError: a path that leads out of the folder.
            InputError: no such file; a file that is too large.
        """
        name, path_part = registry.split_prefix(path_text)
        path, table = split_table(self._inside(str(path_part)))
        path = self._inside(str(path))
        if path == self.root / FILE:
            raise _outside_error(path_text)
        if not path.is_file():
            raise InputError("there is no such file in the folder.", source=path_text, code="no-file")
        for sibling in path.parent.glob(f"{glob.escape(path.name)}*"):  # such as FILE.query
            self._inside(str(sibling))
        if path.stat().st_size > self.largest:
            problem = f"it is larger than {self.largest:,} bytes; start with a larger --max-bytes."
            raise InputError(problem, source=path_text, code="file-too-large")
        located = f"{path}:{table}" if table else str(path)
        return f"{name}:{located}" if name else located

    def settings(self, path_text: str) -> str:
        """A TOML file that names only files in the folder: a policy, a convention, a collection.

        Raises:
            UsageError, InputError: as `file`; a file that is not TOML, or that names a file outside
                of the folder.
        """
        path = self.file(path_text)
        try:
            values = tomllib.loads(Path(path).read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"not TOML: {error}.", source=path_text, code="invalid-syntax") from None
        for text in _texts(values):
            name, path_part = registry.split_prefix(text)
            if "\0" in text or name == "ir_datasets":  # this may download data
                raise _outside_error(f"{path_text} names {text!r}")
            named_path = split_table(Path(path).parent / path_part)[0]
            target = named_path.resolve()
            if not target.is_relative_to(self.root) or target == self.root / FILE:
                raise _outside_error(f"{path_text} names {text!r}")
        return path

    def target(self, path_text: str) -> Path:
        """The path of a new file to write.

        Raises:
            UsageError: a path that leads out of the folder; a file that exists already.
        """
        path = self._inside(path_text)
        if path.exists():
            raise UsageError(f"{path_text} is there already; choose another name.", code="file-exists")
        return path

    def named_file(self, path_text: str) -> str:
        """The path of a file to read; `settings` checks the files that a TOML file names."""
        return self.settings(path_text) if path_text.endswith(".toml") else self.file(path_text)

    def named_files(self, path_texts: Sequence[str]) -> list[str]:
        """The paths of several files to read, as in `named_file`."""
        return [self.named_file(path_text) for path_text in path_texts]

    def collection(self, stated: CollectionLike | None) -> Collection | None:
        """The collection of a file, or of an object of its fields, whose texts are files.

        Raises:
            UsageError: a path that leads out of the folder.
            InputError: no such file; an unknown field, or a value of another type.
        """
        if stated is None:
            return None
        if isinstance(stated, str):
            return Collection.of(self.named_file(stated))
        return parse_collection(stated, lambda _, text: text if text.startswith(IDS) else self.file(text))

    def convention(self, name: str) -> str:
        """The name of a convention, or its file."""
        return self.settings(name) if name.endswith(".toml") else name

    def policy(self, path_text: str | None) -> str | None:
        """The path of the policy: the given file, or the policy of the folder."""
        here = [name for name in _POLICY_FILES if (self.root / name).is_file()]
        path_texts = [path_text] if path_text else here
        return self.settings(path_texts[0]) if path_texts else None

    def saved_baseline(self, name: str) -> str:
        """The file of a run, or the name of a baseline that is saved in the folder."""
        is_saved = not (self.root / name).exists() and Path(name).name == name
        return name if is_saved else self.file(name)

    def _inside(self, path_text: str) -> Path:
        if not path_text or "\0" in path_text or path_text == "-":
            raise UsageError("name a file of the folder.", code="invalid-path")
        path = (self.root / path_text).resolve()
        if not path.is_relative_to(self.root):
            raise _outside_error(path_text)
        return path


def open_folder(path: Path, largest: int) -> Folder:
    """An existing folder.

    Raises:
        UsageError: the path is not a folder.
    """
    if not path.is_dir():
        raise UsageError(f"{path} is not a folder.", code="no-folder")
    return Folder(path.resolve(), largest)


def _outside_error(path_text: str) -> UsageError:
    return UsageError(
        f"{path_text}: only files of the folder that the server was started for can be used.",
        code="outside-folder",
    )


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)


@dataclass(frozen=True)
class Input:
    """The JSON value of an assistant for an input of a verb.

    Attributes:
        type: the type of the JSON value.
        help: the description; empty to use the verb's.
        read: the value that the verb receives.
    """

    type: Any
    help: str
    read: Callable[[Folder, Any], Any]


def _read_optional(folder: Folder, path_text: str | None) -> str | None:
    return None if path_text is None else folder.file(path_text)


_INPUTS: Mapping[str, Input] = {
    "qrels": Input(
        CollectionLike,
        "the file of judgments or of a collection (TOML); or an object with the fields of one: judgments, "
        "columns, grades, tags, items, sample, predicted, and others.",
        Folder.collection,
    ),
    "data_sets": Input(
        str,
        "the file of a table with a row for each data set and a column for each system.",
        lambda folder, path: read_scores(folder.file(path)),
    ),
    "run": Input(str, "the file of a run.", Folder.named_file),
    "runs": Input(list[str], "files of runs.", Folder.named_files),
    "file": Input(str, "the file.", Folder.file),
    "files": Input(list[str], "files of any kind.", Folder.named_files),
    "target": Input(str, "the new file.", Folder.target),
    "saved": Input(str, "the file of a run, or the name of a saved baseline.", Folder.saved_baseline),
    **{name: Input(str, "", _read_optional) for name in ("against", "exact", "quantised")},
    "policy": Input(str, "", Folder.policy),
    "convention": Input(str, "", Folder.convention),
}
"""Inputs by the name of the parameter, else by what its annotation holds."""

_TYPES = {"bool": bool, "float": float, "text": str, "texts": Sequence[str]}
_WORD = Input(None, "", lambda _, value: value)


@dataclass(frozen=True)
class Argument:
    """One argument of a tool.

    Attributes:
        name: the name in calls of an assistant.
        declared: the declaration of the verb.
        input: the JSON value, and its reader.
        required: True if the assistant must give a value.
    """

    name: str
    declared: Parameter
    input: Input
    required: bool

    @property
    def help(self) -> str:
        """A description, in a sentence."""
        sentence = self.declared.sentence
        return self.input.help or (sentence if sentence[-1] in ".?" else f"{sentence}.")

    @property
    def parameter(self) -> inspect.Parameter:
        """The argument in a signature."""
        declared = self.declared
        of_words = Literal[declared.choices] if declared.choices else _TYPES.get(declared.kind)
        kind: Any = self.input.type or of_words
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if self.required else declared.default,
            annotation=kind | None if declared.default is None and not self.required else kind,
        )


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes:
        name: the name of the tool.
        verb: the function that it calls.
        arguments: the arguments that an assistant gives.
        fixed: the arguments of the verb that the tool sets.
        folder: the folder of the files.
        writes: True if it writes files.
    """

    name: str
    verb: Callable[..., Any]
    arguments: tuple[Argument, ...]
    fixed: Mapping[str, Any]
    folder: Folder
    writes: bool

    def __call__(self, **stated: Any) -> dict[str, Any]:
        """The result of the verb for an assistant's arguments."""
        account = find_account(self.folder.root)
        bound = inspect.signature(self.verb).bind_partial(**self.fixed)
        for argument in self.arguments:
            declared = argument.declared
            value = argument.input.read(self.folder, stated.get(argument.name, declared.default))
            bound.arguments[declared.name] = value
            if account and isinstance(value, Collection) and self.verb is not gate_with_budget:
                _refuse_held_out(account, value)
        answer = self.verb(*bound.args, **bound.kwargs)
        return answer if isinstance(answer, dict) else content_of(answer)

    @property
    def description(self) -> str:
        """A description of the verb and its arguments."""
        summary = inspect.cleandoc(self.verb.__doc__ or "").partition("\n")[0]
        lines = [f"    {argument.name}: {argument.help}" for argument in self.arguments]
        return "\n".join([summary, "", "Args:", *lines])


def _refuse_held_out(account: HoldoutAccount, collection: Collection) -> None:
    """Refuse figures of queries that an account charges: an assistant would fit them.

    Raises:
        UsageError: a query of the collection had a test.
    """
    judgments = collection.qrels().table
    query_ids = judgments["query_id"].unique(maintain_order=True).to_list()
    if count := account.count_tested(query_keys(query_ids, judgments, None)):
        raise UsageError(
            f"{count:,} of {count_noun(len(query_ids), 'query')} are held out for the gate, which withholds "
            "their figures; take other queries.",
            code="held-out-queries",
        )


@wraps(gate)
def gate_with_budget(*args: Any, **options: Any) -> Verdict:
    """The verdict, with the budget of its queries; it is unknown without an account."""
    verdict = gate(*args, **options)
    return verdict if verdict.account else verdict.budgeted(missing_account())


def make_tools(folder: Folder) -> list[Tool]:
    """Every tool on the files of a folder, by name."""

    def tool(
        verb: Callable[..., Any], *names: str, saved: str = "", writes: bool = False, **fixed: Any
    ) -> Tool:
        """A tool with these parameters of a verb; a second word is the name in the tool."""
        arguments: list[Argument] = []
        for spec in names:
            name = spec.split()[0]
            declared = fields_of(Test)["method"] if name == "test" else verb_parameter(verb, name)
            content = f"{declared.content.removesuffix('s')}s" if declared.repeatable else declared.content
            key = "saved" if name == saved else name if name in _INPUTS else content
            is_run = "run" in content and (not arguments or arguments[0].required)
            may_be_none = declared.repeatable and declared.content == "run"
            required = declared.required or (is_run and not may_be_none)
            arguments.append(Argument(spec.split()[-1], declared, _INPUTS.get(key, _WORD), required))
        return Tool(verb.__name__, verb, tuple(arguments), fixed, folder, writes)

    collection = "collection qrels"
    tools = (
        tool(evaluate, collection, "runs", "metrics", "convention"),
        tool(compare, collection, "baseline", "candidates", "metrics", "convention", "test"),
        tool(compare_data_sets, "data_sets", "systems", "metrics", "missing"),
        tool(
            gate_with_budget,
            *(collection, "baseline", "candidate", "policy"),
            saved="baseline",
            log=False,
            folder=folder.root,
        ),
        tool(explain, collection, "run", "query", "metric", "convention"),
        tool(reconcile, collection, "run", "metric", "value"),
        tool(holes, collection, "baseline", "candidate", "metrics"),
        tool(cutoff, collection, "runs", "keep", "no_answer", "threshold"),
        tool(blindspots, collection, "baseline", "candidate", "metrics"),
        tool(rank_similarity, "first", "second", "others"),
        tool(migrate, collection, "old", "new", "exact", "quantised", "answers"),
        tool(validate, "files", "against", "golden"),
        tool(describe, "files"),
        tool(advise, collection, "runs"),
        tool(convert, "source", "target output", "to", writes=True),
        tool(list_files, root=folder.root),
        tool(list_metrics, "name"),
        tool(list_conventions, "name"),
        tool(list_formats),
        tool(list_policy_keys),
        tool(write_report, collection, "runs", "target output", root=folder.root, writes=True),
    )
    return sorted(tools, key=lambda made_tool: made_tool.name)


def list_files(root: Path) -> dict[str, Any]:
    """List the files of the folder with their bytes, without those that a dot hides."""
    files = [
        {"file": str(path.relative_to(root)), "bytes": path.stat().st_size}
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and not path.is_symlink()
        and not any(component.startswith(".") for component in path.relative_to(root).parts)
    ]
    return {"files": files, "in_all": len(files)}


def list_metrics(name: str | None = None) -> dict[str, Any]:
    """List all metrics; with a name its formula, parameters, what it sees and what it does not.

    Args:
        name: a metric, such as nDCG.
    """
    return content_of(metric_details(name)) if name else index_of(metrics())


def list_conventions(name: str | None = None) -> dict[str, Any]:
    """List the conventions that reproduce other tools; with a name its rules.

    Args:
        name: a convention, such as ranx.
    """
    return content_of(convention_details(name)) if name else index_of(conventions())


def list_formats() -> dict[str, Any]:
    """List the file formats that can be read and written."""
    return content_of(formats())


def list_policy_keys() -> dict[str, Any]:
    """Show what a gate policy can contain: settings, kinds of rules, their parameters."""
    return {"schema": policy_keys().to_dict()}


def write_report(
    collection: Collection | QrelsLike, runs: Sequence[RunLike], target: Path, *, root: Path
) -> dict[str, Any]:
    """Write a page (HTML) that compares two runs or more; the first one is the baseline.

    Args:
        collection: judgments, or a `Collection`.
        runs: two or more.
        target: the page, whose name ends in .html.
        root: the folder.
    """
    if target.suffix != ".html":
        raise UsageError("the page's name must end in .html.", code="invalid-path")
    baseline, *candidates = runs
    compare(collection, baseline, candidates).report(target)
    return {"written": str(target.relative_to(root)), "bytes": target.stat().st_size}
