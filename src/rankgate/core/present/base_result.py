"""The base of every verb's result: a frozen class for the command line, Python and the web.

A result class is a frozen dataclass that inherits `Result` and declares:

- ``label``: the title of its part in a report, where `heading` does not make one;
- ``kind``: its name in JSON, by which the class of a saved result is looked up in a table
  (`rankgate.interface.kinds_of_results`); ``schema_version``;
- ``headline_text``, ``lead`` and ``layout``: the parts of its `Document`
  (`rankgate.core.present.layout`), or ``document_from``: ``module:function`` that makes it;
- ``notice_texts``: what it warns of: templates with conditions (`NoticeText`);
- ``charts``: by name a `rankgate.core.present.charts.chart_views.ChartView`, or ``module:name`` of one
  or of a function that draws it; the first one is ``plot()``'s default;
- ``report_from``, where a page shows more than ``document`` does: ``module:function`` of the
  result and `ReportOptions`; ``order``, its place among the parts of a report;
- ``SCHEMAS``: the columns of its tables by field, the main table first; ``main_table``, the
  attribute that holds the main table or its records, where it is another one (``bias.confusion`` is
  one of a field);
- ``KEYS``, ``DERIVED``, ``WRITTEN``, ``OPTIONAL``, ``PARTS``, ``READ``: how its fields become JSON
  (`rankgate.core.present.codec`);
- ``csv_table``, the attribute whose rows are its CSV form, where it is not the main table; None for
  every cell of every table; ``csv_columns``: the attributes of its records by the header in CSV;
- ``to_dict`` and ``from_dict``, where these declarations do not say it.

Text, Markdown, LaTeX, CSV, HTML, notebook display, pictures and reports follow from these.

The last part returns the class of the results of a kind; packages above this one fill the table of
all kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from rankgate.core.errors import UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.core.present.lazy_names import load_name, load_upper

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.present.charts.picture import Picture
    from rankgate.core.present.columns import Columns
    from rankgate.core.present.document_model import Document, PlainRows
    from rankgate.core.present.layout import Condition, Layout, Texts


@dataclass(frozen=True)
class Notice:
    """A warning for the reader of a result.

    Attributes:
        code: its kind, for programs: ``few-judged``, ``no-spread``.
        text: one sentence for people.
        subject: its run, metric or query; empty for the whole result.
    """

    code: str
    text: str
    subject: str = ""


class NoticeText(NamedTuple):
    """The notices of one kind: a template where a condition holds, as in a layout.

    Attributes:
        code: a template of their kind.
        text: a template; a notice without a text is left out.
        condition: as in a layout.
        source: an attribute with rows, for a notice a row: of a frame, whose values templates have by
            name, or of other values, each of which is ``row``.
        subject: a template of the run, metric or query.
        rows: the condition of the rows of a frame.
    """

    code: str
    text: str
    condition: Condition = ""
    source: str = ""
    subject: str = ""
    rows: pl.Expr | None = None

    def notices(self, result: object) -> Iterator[Notice]:
        """The notices of a result."""
        from rankgate.core.present.layout import fill, is_true

        for values in self._values(result) if is_true(self.condition, result) else ():
            if text := fill(self.text, result, values):
                yield Notice(fill(self.code, result, values), text, fill(self.subject, result, values))

    def _values(self, result: object) -> Iterable[Mapping[str, object]]:
        """The values of each row."""
        if not self.source:
            return ({},)
        rows: Any = attrgetter(self.source)(result)
        if hasattr(rows, "iter_rows"):
            return (rows if self.rows is None else rows.filter(self.rows)).iter_rows(named=True)  # type: ignore[no-any-return]
        return ({"row": row} for row in rows)


NoticeTexts = tuple[NoticeText | str, ...]
"""What a result warns of; a text is an attribute with notices, such as ``experiment.notices``."""


def run_notices(run: str, cautions: Mapping[str, str]) -> tuple[Notice, ...]:
    """The cautions of a run as notices, each with a code."""
    return tuple(Notice(code, f"{run}: {text}", run) for code, text in cautions.items())


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report: the content of a page in addition to a result's own figures.

    Attributes:
        worst: the number of queries with the largest losses that are shown with both lists.
        queries: texts of queries, by id.
        documents: ``query_id`` (null: for every query), ``doc_id``, ``text``; None without texts.
        place: the place of the result among several, for anchors that no other result has.
        add: report blocks of plug-ins, by name.
        two_sided: True if intervals are labelled as two-sided, as one-sided bounds are shown too.
    """

    worst: int = 20
    queries: Mapping[str, str] = field(default_factory=dict)
    documents: pl.DataFrame | None = None
    place: str = "0"
    two_sided: bool = False
    add: tuple[str, ...] = ()


class Coded:
    """A value with a JSON form, as its class declares it for `rankgate.core.present.codec`."""

    PARTS: ClassVar[Mapping[str, tuple[str, bool]]] = {}

    def to_dict(self, **parts: bool) -> dict[str, Any]:
        """Plain values for JSON: undefined numbers are None, numbers keep full precision.

        Args:
            parts: the parts that a large result can have or leave out, such as ``per_query=False``.

        Raises:
            TypeError: it has no such part.
        """
        from rankgate.core.present.codec import encode_rows

        return self.encoded(parts, encode_rows)

    def encoded(
        self, parts: Mapping[str, bool], encode_frame: Callable[[pl.DataFrame], Any]
    ) -> dict[str, Any]:
        """As `to_dict`, each frame as a function gives it."""
        from rankgate.core.present.codec import encode_fields

        if unknown := parts.keys() - {option for option, _ in self.PARTS.values()}:
            raise TypeError(f"{type(self).__name__} has no part {min(unknown)!r}.")
        return {**self.head(), **encode_fields(self, parts, encode_frame)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` was called on.

        Raises:
            KeyError, TypeError, ValueError: values that ``to_dict`` does not write.
        """
        from rankgate.core.present.codec import decode

        return cls(**decode(cls, values))

    @classmethod
    def head(cls) -> dict[str, Any]:
        """The first keys of its JSON."""
        return {}


class Result(Coded, ByContent):
    """The base of all results; see the module."""

    kind: ClassVar[str]
    schema_version: ClassVar[int] = 1
    label: ClassVar[str] = ""
    headline_text: ClassVar[str | Texts] = ""
    lead: ClassVar[Texts] = ()
    layout: ClassVar[Layout] = ()
    notice_texts: ClassVar[NoticeTexts] = ()
    document_from: ClassVar[str] = "rankgate.core.present.layout:layout_document"
    report_from: ClassVar[str] = ""
    charts: ClassVar[Mapping[str, Any]] = {}
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {}
    main_table: ClassVar[str] = ""
    csv_table: ClassVar[str | None] = ""
    csv_columns: ClassVar[Mapping[str, str]] = {}
    order: ClassVar[int] = 50

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings to read before using the figures, by `notice_texts`."""
        notices: list[Notice] = []
        for entry in self.notice_texts:
            if isinstance(entry, NoticeText):
                notices += entry.notices(self)
            else:
                owner, _, name = entry.rpartition(".")
                holder = attrgetter(owner)(self) if owner else self
                notices += () if holder is None else getattr(holder, name)
        return tuple(notices)

    @classmethod
    def head(cls) -> dict[str, Any]:
        """The first keys of every result's JSON: its version and its kind."""
        return {"schema_version": cls.schema_version, "kind": cls.kind}

    def document(self, **options: Any) -> Document:
        """Its document: headline, notices, tables, charts, paragraphs.

        Args:
            options: arguments of the kind's document function, such as ``worst=10``.
        """
        document: Document = load_name(self.document_from)(self, **options)
        return document

    def report_document(self, options: ReportOptions) -> Document:
        """Its document for a page: that of its own report builder, or the usual one."""
        if not self.report_from:
            return self.document()
        document: Document = load_name(self.report_from)(self, options)
        return document

    @property
    def heading(self) -> str:
        """The title of its part in a report."""
        return self.label or self.kind.replace("_", " ").capitalize()

    @property
    def headline(self) -> str:
        """The title of its document: the templates ``headline_text``, or a property of the class."""
        from rankgate.core.present.layout import sentences

        texts = self.headline_text
        return "".join(sentences((texts,) if isinstance(texts, str) else texts, self))

    @property
    def outcome(self) -> str:
        """The status of its document: pass, fail or inconclusive; empty where nothing is decided."""
        return ""

    def csv_rows(self) -> PlainRows | None:
        """The rows of its CSV form, by ``csv_table``; None for every cell of every table."""
        from rankgate.core.present.document_model import PlainRows
        from rankgate.core.present.layout import plain_rows

        if self.csv_columns:
            read_row = attrgetter(*self.csv_columns.values())
            return PlainRows(tuple(self.csv_columns), [*map(read_row, getattr(self, str(self.csv_table)))])
        if self.csv_table is None or not (self.csv_table or self.main_table or self.SCHEMAS):
            return None
        return plain_rows(getattr(self, self.csv_table) if self.csv_table else self._table())

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """Its inputs: name, what it is (judgments, run), SHA-256."""
        return ()

    def to_polars(self) -> pl.DataFrame:
        """Its main table as a Polars frame.

        Raises:
            UsageError: it has no table.
        """
        return self._table()

    def to_pandas(self) -> Any:
        """Its main table as a pandas frame.

        Raises:
            MissingExtraError: pandas is not installed.
            UsageError: it has no table.
        """
        from rankgate.core.present.result_frames import pandas_frame

        return pandas_frame(self._table())

    def to_arrow(self) -> Any:
        """Its main table as a table of PyArrow.

        Raises:
            MissingExtraError: PyArrow is not installed.
            UsageError: it has no table.
        """
        from rankgate.core.present.result_frames import arrow_table

        return arrow_table(self._table())

    def to_flat(self) -> dict[str, float]:
        """The numbers of its main table, each under one name, as trackers of experiments take them.

        A name has the texts that distinguish the rows, and the column: ``new/nDCG_at_10/delta``;
        systems are left out where there is one. Names hold letters, digits, ``_ - . /`` alone;
        numbers that are undefined are left out.

        Raises:
            UsageError: it has no table, or its rows have no names.
        """
        from rankgate.core.present.result_frames import flat_values

        return flat_values(self._table(), self.kind)

    def to_markdown(self) -> str:
        """Its document as Markdown: headline, warnings and tables."""
        from rankgate.core.present.write_results import render_result

        return render_result(self, "markdown")

    def to_latex(self) -> str:
        """Its tables as LaTeX."""
        from rankgate.core.present.write_results import render_result

        return render_result(self, "latex")

    def save(self, path: str | Path) -> Path:
        """Write it to a file and return the path.

        Args:
            path: the file; its suffix names the form: .json has all values and is read again by
                ``from_dict``; .parquet has the main table; .csv, .md, .tex, .html and .txt the
                document. `report` writes longer pages.

        Raises:
            UsageError: another suffix, no table, or a place where nothing can be written.
        """
        from rankgate.core.present.write_results import save_result

        return save_result(self, path)

    @property
    def saved_parts(self) -> dict[str, bool]:
        """The parts that `save` writes, where ``to_dict`` leaves some out."""
        return {}

    def _table(self) -> pl.DataFrame:
        name = self.main_table or next(iter(self.SCHEMAS), "")
        if not name:
            raise UsageError(f"a result of kind {self.kind} has no table.", code="no-table")
        rows: pl.DataFrame | tuple[object, ...] = attrgetter(name)(self)
        if not isinstance(rows, tuple):
            return rows
        from rankgate.core.present.codec import encode, frame

        return frame(encode(rows), self.SCHEMAS.get(name, {}))

    def plot(self, kind: str = "", **options: Any) -> Picture:
        """A picture of the result, which shows itself in a notebook and can be saved.

        Args:
            kind: one of ``charts``; without it the first.
            options: arguments of the chart's function.

        Raises:
            UsageError: there is no such picture of this kind, or it has no values to draw.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        name = kind or next(iter(self.charts), "")
        chart = self.find_chart(name)
        draw = load_name(chart) if isinstance(chart, str) else chart
        if not callable(draw):
            draw = partial(load_name("rankgate.core.present.charts.draw_chart:draw_chart"), draw, name)
        picture: Picture = draw(self, **options)
        return picture

    def find_chart(self, name: str) -> Any:
        """One of ``charts``.

        Raises:
            UsageError: there is no such chart.
        """
        if not self.charts:
            raise UsageError(f"a result of kind {self.kind} has no pictures.", code="no-picture")
        if name not in self.charts:
            chart_names = ", ".join(self.charts)
            problem = f"a result of kind {self.kind} has the charts {chart_names}, not {name!r}."
            raise UsageError(problem, code="unknown-picture")
        return self.charts[name]

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write a report and return its path: one HTML page, or Markdown, LaTeX, CSV, JSON, text.

        Args:
            path: the file; its suffix (.html, .md, .tex, .csv, .json, .txt) names the form.
            options: fields of `ReportOptions`, such as ``worst=10``.

        Raises:
            UsageError: another suffix, or a place where nothing can be written.
        """
        report_path: Path = load_upper("write_report")(self, path, **options)
        return report_path

    def __init_subclass__(cls) -> None:
        """Keep the short repr; the repr of a dataclass shows every row of every table."""
        super().__init_subclass__()
        cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """The class and the headline, for a prompt; ``print`` shows all."""
        document = self.document()
        status = f"{document.status.upper()}: " if document.status else ""
        title = " ".join((document.title or self.heading).split())
        return f"<{type(self).__name__} {status}{title}>"

    def __str__(self) -> str:
        """The document as text of 80 columns."""
        text: str = load_name("rankgate.core.present.document_forms:render_text")(self.document())
        return text.rstrip("\n")

    def _repr_html_(self) -> str:
        html: str = load_name("rankgate.core.present.document_forms:notebook_html")(self.document())
        return html


def result_class(kind: str) -> type[Result]:
    """The class of the results of a kind.

    Raises:
        UsageError: there is no such kind.
    """
    classes = load_upper("kinds_of_results")
    if kind not in classes:
        raise UsageError(f"there is no result of kind {kind!r}.", code="unknown-kind")
    result: type[Result] = load_name(f"rankgate.{classes[kind]}")
    return result
