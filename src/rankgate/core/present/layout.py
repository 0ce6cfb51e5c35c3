"""Layouts: the parts of a result's document, declared over its frames and facts.

A result class declares ``headline_text`` (a template, or parts with conditions; or a property
``headline``), ``lead`` and ``layout``; its document follows from them, and so does every form: text,
Markdown, LaTeX, CSV, pages, notebooks. A layout is a tuple of these parts in the order of reading:

- a text or a `Sentence`: a paragraph;
- `View`: rows and columns of a frame; `CrossView`: a frame in long form, with a column for each value
  of a key;
- `FactTable` and `FactList`: facts with labels; `Lines`: sentences one below the other;
- `ShownChart`: one of the class's charts;
- `NOTICES`: the notices of the result;
- `Group`: parts under a title, as a section of their own after the parts without one;
- a function of the result that returns blocks or sections, for what is none of these.

A part with ``condition`` stands only if the attribute of that name, such as ``counts[ties]``, is true,
a count above 0, a measured number, or holds rows; or if a function of the result says so.

Texts are templates over the result's attributes: ``{pairs:n pair}`` is a number, or the number of
members or rows, with its noun
(``{pairs:n pair is/pairs are}``), ``{pairs:v is/are}`` a word by a number, ``{level:.0%}``
a number in a format of Python, ``{delta:signed}`` in one of `rankgate.core.present.columns.FORMATS`; an
undefined value is a dash. An empty paragraph and a table without rows are left out.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from copy import copy
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rankgate.core.present.columns import Column, Columns, format_value
from rankgate.core.present.document_model import (
    Block,
    Chart,
    Document,
    Entries,
    Entry,
    Grid,
    PlainRows,
    Points,
    Section,
    Table,
    Warnings,
    make_document,
    make_printable,
    nonempty_blocks,
)
from rankgate.core.present.number_formats import UNDEFINED, count_noun

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.present.columns import Cell, Format

Result: TypeAlias = Any
"""A `rankgate.core.present.base_result.Result`, whose module needs this one."""

Condition = str | Callable[[Any], object]
"""The condition of a part: an attribute, or a function of the result; see the module."""

_NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class Sentence(NamedTuple):
    """A paragraph.

    Attributes:
        text: a template.
        condition: its condition; see the module.
    """

    text: str
    condition: Condition = ""


class View(NamedTuple):
    """Rows of a frame as a table.

    Attributes:
        source: the frame; or the attribute that holds it, or a tuple of records, where a path such as
            ``bias.grades`` is an attribute of a field. The main table by default.
        heading: a template.
        cells: names of columns; a pair of names is an interval; a longer tuple has names and the
            texts between them in turn, ``("wins", "/", "ties")``, ``("tau", " ", ("low", "high"))``.
            All columns by default.
        columns: the declaration of the frame, where the ``SCHEMAS`` of its class have none of that
            name; without a declaration, columns have their names and the formats of their types.
        headers: templates of headers by column, where they differ from the declaration.
        formats: formats by column, where they differ from the declaration.
        keys: the number of first columns that identify a row.
        row_filter: the condition of the rows that are shown.
        first: the largest number of rows; the heading says how many there are.
        optional: columns that are left out where all their values are null or empty.
        varying: columns that are left out where all their values are equal.
        table_key: the column whose values have a table each; templates have the value by its name.
        find, prose, folded: as `Table` takes them.
        condition: its condition; see the module.
    """

    source: str | pl.DataFrame = ""
    heading: str = ""
    cells: tuple[Cell, ...] = ()
    columns: Columns | None = None
    headers: Mapping[str, str] = _NO_TEXTS
    formats: Mapping[str, Format] = _NO_TEXTS
    keys: int = 1
    row_filter: pl.Expr | None = None
    first: int | None = None
    optional: tuple[str, ...] = ()
    varying: tuple[str, ...] = ()
    table_key: str = ""
    find: bool = False
    prose: bool = False
    folded: bool = False
    condition: Condition = ""

    def blocks(self, result: object) -> Iterator[Table]:
        """The table, or a table for each value, of a result or another value with these attributes."""
        table, columns = _read_table(self, result)
        if table.is_empty():
            return
        if not self.table_key:
            yield self._block(result, table, columns, {})
            return
        for rows in table.partition_by(self.table_key, maintain_order=True):
            yield self._block(result, rows, columns, {self.table_key: rows[self.table_key][0]})

    def _block(
        self, result: object, table: pl.DataFrame, columns: Columns, values: Mapping[str, object]
    ) -> Table:
        heading = fill(self.heading, result, values)
        if self.first is not None and len(table) > self.first:
            heading = f"{heading} (first {self.first:,} of {len(table):,})".lstrip()
            table = table.head(self.first)
        left_out = {
            name for name in self.optional if all(value in (None, "", []) for value in table[name].to_list())
        }
        left_out.update(name for name in self.varying if table[name].n_unique() < 2)
        cells = [cell for cell in self.cells or tuple(columns) if cell not in left_out]
        headers = {name: fill(header, result, values) for name, header in self.headers.items()}
        grid = columns.grid(table, *cells, headers=headers, formats=self.formats, keys=self.keys)
        return Table(heading, grid, find=self.find, folded=self.folded, prose=self.prose)


class CrossView(NamedTuple):
    """A frame in long form as a table with a column for each value of a key.

    Attributes:
        source: as `View` takes it.
        heading: a template.
        rows: the columns that stand at the left, as `View` takes them; the first identifies a row,
            the others have their first value.
        column_key: the column whose values become columns; numbers in their order.
        value: the column of the cells, or several as `View` has them.
        header: a format of the texts of ``column_key`` as headers.
        spaced: True if headers have blanks in place of the underscores of names.
        columns: as `View` takes it.
        headers: templates of headers by column, where they differ from the declaration.
        row_filter: the condition of the rows that are shown.
        formats: formats by column, where they differ from the declaration.
        empty: the text of a cell without a row.
        condition: its condition; see the module.
    """

    source: str | pl.DataFrame
    heading: str
    rows: tuple[Cell, ...]
    column_key: str
    value: Cell
    header: str = "{}"
    spaced: bool = False
    columns: Columns | None = None
    headers: Mapping[str, str] = _NO_TEXTS
    row_filter: pl.Expr | None = None
    formats: Mapping[str, Format] = _NO_TEXTS
    empty: str = UNDEFINED
    condition: Condition = ""

    def blocks(self, result: object) -> Iterator[Table]:
        """The table, of a result or another value with these attributes."""
        table, columns = _read_table(self, result)
        if table.is_empty():
            return
        headers = {name: fill(header, result) for name, header in self.headers.items()}
        grid = columns.grid(table, *self.rows, self.value, headers=headers, formats=self.formats)
        key_column = columns.by_name[self.column_key]
        values = table.select(self.column_key).unique(maintain_order=True)
        names = key_column.texts(values if key_column.is_text else values.sort(self.column_key))
        rows: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {}
        for key, (*row_cells, text) in zip(key_column.texts(table), grid.rows, strict=True):
            rows.setdefault(row_cells[0], (tuple(row_cells), {}))[1][key] = text
        labels = (name.replace("_", " ") if self.spaced else name for name in names)
        header = (*grid.head[:-1], *map(self.header.format, labels))
        cells = [
            (*row_cells, *(texts.get(name, self.empty) for name in names))
            for row_cells, texts in rows.values()
        ]
        yield Table(fill(self.heading, result), Grid(header, tuple(cells)))


def _read_table(view: View | CrossView, result: object) -> tuple[pl.DataFrame, Columns]:
    """The rows that a view shows, and their declaration."""
    import polars as pl

    if isinstance(view.source, pl.DataFrame):
        rows: Any = view.source
        columns = view.columns
    else:
        *path, name = view.source.split(".")
        owner: Any = result
        for attribute in path:
            owner = None if owner is None else getattr(owner, attribute)
        rows = () if owner is None else getattr(owner, name) if name else owner.to_polars()
        columns = view.columns or getattr(owner, "SCHEMAS", {}).get(name)
    if isinstance(rows, tuple):
        names = columns or (vars(rows[0]) if rows else ())
        rows = pl.DataFrame({name: [getattr(record, name) for record in rows] for name in names}, columns)
    table = rows if view.row_filter is None else rows.filter(view.row_filter)
    return table, columns or Columns("", *(Column(name, dtype, "") for name, dtype in table.schema.items()))


class FactTable(NamedTuple):
    """Facts with labels, one below the other.

    Attributes:
        heading: a template.
        facts: templates of labels and of their values; an empty value is a dash. A name alone is an
            attribute that holds further facts: their texts by label.
        as_row: True if the labels are headers above a single row of values.
        condition: its condition; see the module.
    """

    heading: str
    facts: tuple[tuple[str, str] | str, ...]
    as_row: bool = False
    condition: Condition = ""

    def blocks(self, result: object) -> Iterator[Table]:
        """The table."""
        rows: list[tuple[str, str]] = []
        for fact in self.facts:
            if isinstance(fact, str):
                rows += getattr(result, fact).items()
            else:
                rows.append((fill(fact[0], result), fill(fact[1], result)))
        cells = tuple((label, make_printable(text) or UNDEFINED) for label, text in rows)
        if self.as_row:
            labels, values = zip(*cells, strict=True)
            grid = Grid(labels, (values,))
        else:
            grid = Grid(("", "value"), cells, frozenset({0, 1}))
        yield Table(fill(self.heading, result), grid)


class FactList(NamedTuple):
    """Facts as labelled paragraphs.

    Attributes:
        facts: templates of labels, and their texts, which are joined to one line where there are
            several; a fact without a text or a line is left out. Facts of records stand between them.
        heading: a template.
        source: the attribute with the records that the facts are of, a list for each; by default
            they are of the result.
        condition: its condition; see the module.
    """

    facts: tuple[tuple[str, str | Sentence | Lines | Texts] | FactList, ...]
    heading: str = ""
    source: str = ""
    condition: Condition = ""

    def blocks(self, result: object) -> Iterator[Entries]:
        """The paragraphs."""
        for owner in self.owners(result):
            yield Entries(tuple(self.entries(owner)), fill(self.heading, owner))

    def owners(self, result: object) -> Iterable[object]:
        """The records that the facts are of."""
        records = attrgetter(self.source)(result) if self.source else result
        return records if isinstance(records, tuple) else () if records is None else (records,)

    def entries(self, owner: object) -> Iterator[Entry]:
        """The paragraphs about one of them."""
        for fact in self.facts:
            if isinstance(fact, FactList):
                for record in fact.owners(owner):
                    yield from fact.entries(record)
            elif lines := _lines(fact[1], owner):
                yield Entry(fill(fact[0], owner), lines)


class Lines(NamedTuple):
    """Sentences of the result, one below the other.

    Attributes:
        source: the attribute that holds them.
        condition: its condition; see the module.
    """

    source: str
    condition: Condition = ""

    def blocks(self, result: object) -> Iterator[Points]:
        """The sentences."""
        yield Points(_lines(self, result))


class ShownChart(NamedTuple):
    """A chart of the class.

    Attributes:
        name: its name in ``charts``.
        condition: its condition; see the module.
    """

    name: str
    condition: Condition = ""

    def blocks(self, result: Result) -> Iterator[Block]:
        """The chart."""
        yield Chart(self.name, result)


class Notices(NamedTuple):
    """The notices of the result as warnings."""

    condition: Condition = ""

    def blocks(self, result: Result) -> Iterator[Block]:
        """The warnings."""
        yield Warnings.from_notices(result.notices)


NOTICES = Notices()


class Group(NamedTuple):
    """A section.

    Attributes:
        anchor: its name in links.
        title: its heading.
        parts: its parts, which have no sections.
        condition: its condition; see the module.
    """

    anchor: str
    title: str
    parts: Layout
    condition: Condition = ""

    def blocks(self, result: Result) -> Iterator[Section]:
        """The section."""
        blocks = (block for layout_part in self.parts for block in _blocks(layout_part, result))
        own_blocks = [block for block in blocks if not isinstance(block, Section)]
        yield Section(self.anchor, self.title, nonempty_blocks(own_blocks))


LayoutPart = (
    str
    | Sentence
    | View
    | CrossView
    | FactTable
    | FactList
    | Lines
    | ShownChart
    | Notices
    | Group
    | Callable[[Any], Iterable[Block | Section]]
)
Layout = Sequence[LayoutPart]
Texts = Sequence[str | Sentence]


def layout_document(result: Result, **values: object) -> Document:
    """The document of a result by its class's layout; its CSV form has the rows of the main table.

    Args:
        result: any result.
        values: further values that templates and parts take by name as attributes, for a class
            whose ``document`` has options.
    """
    if values:
        result = with_values(result, **values)
    blocks = [block for layout_part in result.layout for block in _blocks(layout_part, result)]
    document = make_document(
        result.headline,
        *(block for block in blocks if not isinstance(block, Section)),
        lead=sentences(result.lead, result),
        status=result.outcome,
        rows=result.csv_rows(),
    )
    untitled = (section for section in document.sections if section.blocks)
    sections = (*untitled, *(block for block in blocks if isinstance(block, Section)))
    return replace(document, sections=sections or document.sections)


def with_values(result: Result, **values: object) -> Result:
    """A copy of a result with further values as attributes."""
    result = copy(result)
    result.__dict__.update(values)
    return result


def _blocks(layout_part: LayoutPart, result: Result) -> Iterable[Block | Section]:
    if isinstance(layout_part, str | Sentence):
        return sentences((layout_part,), result)
    if callable(layout_part):
        return layout_part(result)
    return layout_part.blocks(result) if is_true(layout_part.condition, result) else ()


def sentences(texts: Texts, result: object, values: Mapping[str, object] = _NO_TEXTS) -> list[str]:
    """Templates filled as `fill` does it; those without a true condition are left out."""
    templates = (Sentence(text) if isinstance(text, str) else text for text in texts)
    filled = (fill(text, result, values) for text, condition in templates if is_true(condition, result))
    return [text for text in filled if text]


def _lines(layout_part: str | Sentence | Lines | Texts, result: object) -> tuple[str, ...]:
    if isinstance(layout_part, Lines):
        return tuple(map(make_printable, attrgetter(layout_part.source)(result)))
    if isinstance(layout_part, str | Sentence):
        return tuple(sentences((layout_part,), result))
    line = "".join(sentences(layout_part, result))
    return (line,) if line else ()


def is_true(condition: Condition, result: object) -> bool:
    """True if a condition holds for a result; see the module."""
    if callable(condition):
        return bool(condition(result))
    value = fact(condition, result) if condition else True
    return len(value) > 0 if isinstance(value, Sized) else bool(value) or isinstance(value, float)


def fact(name: str, result: object) -> Any:  # noqa: ANN401 - any attribute
    """The attribute of a result, where ``counts[ties]`` and ``bias.grades`` are values of attributes."""
    return _Texts().get_field(name, (), _Attributes(result, _NO_TEXTS))[0]


def fields_of(template: str) -> list[str]:
    """The names in a template.

    >>> fields_of("{value:.2f} of {best:.2f}")
    ['value', 'best']
    """
    return [name for _, name, _, _ in string.Formatter().parse(template) if name]


def plain_rows(table: pl.DataFrame) -> PlainRows:
    """The rows of a table for programs, with all digits."""
    return PlainRows(tuple(table.columns), list(table.iter_rows()))


def fill(template: str, result: object, values: Mapping[str, object] = _NO_TEXTS) -> str:
    """A template with the attributes of a result, and other values by name.

    >>> from types import SimpleNamespace
    >>> fill("{pairs:n pair}, p {p:p}", SimpleNamespace(pairs=2, p=None))
    '2 pairs, p –'
    """
    if "{" not in template:
        return template
    return _Texts().vformat(template, (), _Attributes(result, values))


class _Attributes(dict[str, object]):
    """Values, and the attributes of a result, by name."""

    def __init__(self, result: object, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self.result = result

    def __missing__(self, name: str) -> object:
        return getattr(self.result, name)


class _Texts(string.Formatter):
    """Formats of templates."""

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - as its base has it
        if format_spec.startswith(("n ", "v ")):
            count = len(value) if isinstance(value, Sized) else value
            forms = format_spec[2:].split("/")
            return count_noun(count, *forms) if format_spec[0] == "n" else forms[count != 1]
        return format_value(value, format_spec)
