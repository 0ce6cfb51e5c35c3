"""The available kinds of engines, and the check of an engine by one query.

The kinds come with the keys of their files. The check sends one query to an engine, and shows
what a snapshot would keep of the answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from rankgate.core.declare import fields_of
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.document_model import PlainRows
from rankgate.core.present.layout import NOTICES, FactTable, Sentence, View, plain_rows
from rankgate.core.present.number_formats import count_noun
from rankgate.data.answers.engine_answers import Answer
from rankgate.engines.configuration import ENGINES, EngineKind, Pace
from rankgate.engines.engine import ENGINE_FACTS, Facts, Query
from rankgate.engines.requests.secrets import plain_text_secrets
from rankgate.engines.snapshots.query_sender import outcome_of_answer
from rankgate.engines.snapshots.run_files import count_list
from rankgate.engines.snapshots.snapshot import INCOMPLETE_LISTS, Lists
from rankgate.engines.snapshots.snapshot_verb import configuration_of

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.engines.snapshots.snapshot_verb import EngineLike


@dataclass(frozen=True)
class Key:
    """One key of an engine's file.

    Attributes:
        table: ``engine`` or ``snapshot``.
        name: the key.
        takes: the type or choices of its value.
        default: the default; empty if the key is required or has no default.
        required: True if the file must have it.
        help: its meaning.
    """

    table: str
    name: str
    takes: str
    default: str
    required: bool
    help: str


@dataclass(frozen=True)
class KindDetails:
    """One kind of engine.

    Attributes:
        name: the value of ``kind`` in a file.
        title: a short description.
        source: the URL of its documentation.
        keys: the keys of its file.
    """

    name: str
    title: str
    source: str
    keys: tuple[Key, ...]

    @classmethod
    def from_kind(cls, kind: EngineKind) -> Self:
        """The details of a kind."""
        table_and_parameter = [("engine", parameter) for parameter in kind.parameters.values()]
        table_and_parameter += [("snapshot", parameter) for parameter in fields_of(Pace).values()]
        keys = tuple(
            Key(
                table,
                parameter.name,
                parameter.takes,
                "" if parameter.default in (None, [], {}) else str(parameter.default),
                parameter.required,
                parameter.help.replace("`", ""),
            )
            for table, parameter in table_and_parameter
        )
        return cls(kind.name, kind.title, kind.source, keys)


@dataclass(frozen=True)
class EngineKinds(Result):
    """Kinds of engines: all, or one.

    Attributes:
        kinds: the details of each.
    """

    kind = "engine_kinds"
    main_table = "kind_table"
    lead = (Sentence("{single.title}", "single"), Sentence("{single.source}", "single"))
    layout = (
        View(
            "kind_table",
            cells=("kind", "title"),
            headers={"title": "what it is"},
            prose=True,
            condition="has_several",
        ),
        Sentence("rankgate engines show KIND lists the keys of an engine's file.", "has_several"),
        View("keys", prose=True, condition="single"),
    )

    kinds: tuple[KindDetails, ...]

    def __len__(self) -> int:
        """The number of kinds."""
        return len(self.kinds)

    @property
    def headline(self) -> str:
        """The number of kinds, or the name of the only one."""
        return self.single.name if self.single else f"{len(self)} kinds of engines"

    @property
    def single(self) -> KindDetails | None:
        """The only kind; None where there are several."""
        return self.kinds[0] if len(self) == 1 else None

    @property
    def has_several(self) -> bool:
        """True if there is more than one kind."""
        return len(self) != 1

    @property
    def kind_table(self) -> pl.DataFrame:
        """The kinds: ``kind``, ``title``, ``source``."""
        rows = [{"kind": kind.name, "title": kind.title, "source": kind.source} for kind in self.kinds]
        return pl.DataFrame(rows)

    @property
    def keys(self) -> pl.DataFrame:
        """The keys of the files of kinds: ``key``, ``takes``, ``default``, ``meaning``."""
        rows = [
            (f"{key.table}.{key.name}", key.takes, "required" if key.required else key.default, key.help)
            for kind in self.kinds
            for key in kind.keys
        ]
        return pl.DataFrame(rows, ["key", "takes", "default", "meaning"], orient="row")

    def csv_rows(self) -> PlainRows:
        """The kinds, or the keys of the only one."""
        return plain_rows(self.keys if self.single else self.kind_table)


def engines(kind: str | None = None) -> EngineKinds:
    """The kinds of supported engines.

    Args:
        kind: one of them only.

    Raises:
        UsageError: no such kind.
    """
    kinds = ENGINES.all_objects if kind is None else (ENGINES.find(kind),)
    return EngineKinds(tuple(map(KindDetails.from_kind, kinds)))


_MAX_DOCUMENTS = 5
_MAX_CHARACTERS = 60  # characters of a field


@dataclass(frozen=True)
class EngineCheck(Result):
    """The answer to one query.

    Attributes:
        engine: its name.
        engine_kind: its kind.
        query: the text of the query.
        facts: the facts that the engine gave about itself.
        seconds: the seconds until the answer.
        problem: the reason for a missing answer; empty if there is an answer.
        returned: documents.
        total: documents that match, as the engine reports.
        scored: True if they have scores.
        documents: the first ones: ``doc_id``, ``score`` and fields as text.
        missing: display fields that none of the documents has.
        unknown: fields of the request that the index does not have.
        lists: counts of what the answer lacks.
        depth: the requested number of documents.
    """

    kind = "engine_check"
    headline_text = "{engine}: {answer_text} for {query!r} in {milliseconds:,.1f} ms"
    main_table = "document_table"
    layout = (View("document_table", "first documents"), FactTable("engine", ENGINE_FACTS), NOTICES)
    notice_texts = (
        NoticeText("failed-queries", "no answer: {problem}", "problem"),
        NoticeText(
            "no-results",
            "no document matches; try another --query",
            lambda check: not check.problem and not check.returned,
        ),
        NoticeText(
            "no-scores",
            "there are no scores; the run gets its scores from the ranks",
            lambda check: not check.problem and check.returned and not check.scored,
        ),
        NoticeText("missing-field", "no document has the field {row}", source="missing", subject="{row}"),
        NoticeText(
            "unknown-field",
            "the index has no field {row}, which the request names",
            source="unknown",
            subject="{row}",
        ),
        *INCOMPLETE_LISTS,
    )

    engine: str
    engine_kind: str
    query: str
    facts: Facts
    seconds: float
    problem: str = ""
    returned: int = 0
    total: int | None = None
    scored: bool = False
    documents: tuple[dict[str, Any], ...] = ()
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    lists: Lists = Lists()
    depth: int = 0
    plain_secrets: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True if a snapshot needs a fix first: no documents, or wrong fields."""
        return not self.returned or bool(self.missing or self.unknown)

    @property
    def outcome(self) -> str:
        """``fail`` if a snapshot needs a fix first."""
        return "fail" if self.failed else "pass"

    @property
    def answer_text(self) -> str:
        """The number of documents."""
        total = "" if self.total is None else f" of {self.total:,}"
        return "no answer" if self.problem else f"{count_noun(self.returned, 'document')}{total}"

    @property
    def milliseconds(self) -> float:
        """The time until the answer."""
        return self.seconds * 1000

    @property
    def document_table(self) -> pl.DataFrame:
        """The first documents: ``doc_id``, ``score`` and fields as text."""
        return pl.DataFrame(list(self.documents))


def check_engine(
    engine: EngineLike, query: str = "test", parameters: JsonObject | Sequence[str] = ()
) -> EngineCheck:
    """Ask an engine one query.

    Args:
        engine: an engine's TOML file, a declaration, or a function.
        query: the query.
        parameters: the parameters of the engine's request, as `snapshot` takes them.

    Raises:
        InputError: a file that cannot be read, with its line.
        UsageError: settings that cannot work; a secret that is not set.
        MissingExtraError: the library of the engine is not installed.
    """
    configuration = configuration_of(engine).with_parameters(parameters)
    connection = configuration.engine.connect()
    try:
        facts, unknown_fields = connection.facts(), tuple(connection.unknown_fields())
        start_time = time.perf_counter()
        reply = connection.ask(Query("check", query))
        seconds = round(time.perf_counter() - start_time, 6)
    finally:
        connection.close()
    common_values = (configuration.name, configuration.engine.engine_kind, query, facts, seconds)
    plain_secrets = tuple(name for name, _ in plain_text_secrets(configuration.engine))
    if not isinstance(reply, Answer):
        return EngineCheck(
            *common_values, problem=reply.problem, unknown=unknown_fields, plain_secrets=plain_secrets
        )
    fields_of_documents = list(reply.fields) or [{}] * len(reply.doc_ids)
    display_fields = configuration.engine.fields if reply.doc_ids else {}
    return EngineCheck(
        *common_values,
        returned=len(reply.doc_ids),
        total=reply.total,
        scored=reply.scores is not None,
        documents=tuple(
            {
                "doc_id": doc_id,
                "score": reply.scores[index] if reply.scores is not None else None,
                **{name: str(value)[:_MAX_CHARACTERS] for name, value in fields_of_documents[index].items()},
            }
            for index, doc_id in enumerate(reply.doc_ids[:_MAX_DOCUMENTS])
        ),
        missing=tuple(
            name for name in display_fields if not any(name in fields for fields in fields_of_documents)
        ),
        unknown=unknown_fields,
        lists=count_list(
            outcome_of_answer(Query("check", query), reply), Lists(), configuration.engine.depth
        ),
        depth=configuration.engine.depth,
        plain_secrets=plain_secrets,
    )
