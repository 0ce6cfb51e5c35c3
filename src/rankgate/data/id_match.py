"""How the ids of two tables meet: counts, near fits, and the error if they do not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache, partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import unquote

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    Spelling = Callable[[pl.Series], pl.Series]

DO_NOT_FIT = "ids-do-not-fit"
"""The code of the error for ids that do not fit."""

PARTLY_FIT = "ids-partly-fit"
"""The code of the notice for unmatched ids on both sides."""

ACCEPT = "as-they-are"
"""The word that accepts ids that do not fit."""

NO_IDS = pl.Series("query_id", [], dtype=pl.String)


def _decode_percents(ids: pl.Series) -> pl.Series:
    encoded = ids.filter(ids.str.contains("%", literal=True).fill_null(value=False)).unique()
    return ids.replace(encoded, pl.Series(map(unquote, encoded.to_list()), dtype=pl.String))


SPELLINGS: Mapping[str, tuple[str, Spelling]] = {
    "trim": ("without surrounding blanks", lambda ids: ids.str.strip_chars()),
    "guard": ("without a guard against formulas", lambda ids: ids.str.replace(r"^[' ]([-=+@])", "$1")),
    "percent": ("without percent-encoding", _decode_percents),
    "nfc": ("in Unicode form NFC", lambda ids: ids.str.normalize("NFC")),
    "nfkc": ("in Unicode form NFKC", lambda ids: ids.str.normalize("NFKC")),
    "underscore": ("with _ for a blank", lambda ids: ids.str.replace_all(" ", "_", literal=True)),
    "hyphen": ("with - for a blank", lambda ids: ids.str.replace_all(" ", "-", literal=True)),
    "case": ("in lower case", lambda ids: ids.str.to_lowercase()),
    "point-zero": ("without a trailing .0", lambda ids: ids.str.replace(r"^(\d+)\.0+$", "$1")),
    "zeros": ("without leading zeros", lambda ids: ids.str.replace_all(r"(^|\D)0+(\d)", "$1$2")),
}
"""By name, the text and the function of each change that ids may need to fit, in the order of trial."""

_AFFIXES: Mapping[str, Callable[[pl.Series, str], pl.Series]] = {
    "prefix": lambda ids, affix: ids.str.strip_prefix(affix),
    "suffix": lambda ids, affix: ids.str.strip_suffix(affix),
}


def _spelling(name: str) -> tuple[str, Spelling]:
    """The text and the function of a spelling.

    Raises:
        UsageError: the name is unknown.
    """
    kind, _, affix = name.partition(":")
    if affix and kind in _AFFIXES:
        return f"without the {kind} {affix!r}", lambda ids: _AFFIXES[kind](ids, affix)
    if name not in SPELLINGS:
        names = ", ".join((ACCEPT, *SPELLINGS, "prefix:TEXT", "suffix:TEXT"))
        raise UsageError(f"unknown spelling of ids {name!r}; known: {names}.", code="unknown-choice")
    return SPELLINGS[name]


def respell(ids: pl.Series, names: Sequence[str]) -> pl.Series:
    """Apply spellings to ids, one after the other."""
    for name in names:
        ids = _spelling(name)[1](ids)
    return ids


Verdict = Literal["fits", "partly", "not"]

_EXAMPLES = 3
_MIN_UNMATCHED = 3
_MAX_KEPT = 1_000  # ids of a side up to which near fits are kept
_SIZE_TOLERANCE = 0.02


@dataclass(frozen=True)
class IdMatch:
    """How the ids of two tables meet.

    Attributes:
        left: the number of ids of the first table.
        right: the number of ids of the second table.
        both: the number of ids in both.
        only_left: the number of ids in the first table only.
        only_right: the number of ids in the second table only.
        left_examples: some ids in the first table only.
        right_examples: some ids in the second table only.
        spelling: the names of the spellings under which most unmatched ids meet.
        near: the number of unmatched ids of each side that meet under these spellings.
        near_examples: some pairs of ids that meet then.
    """

    left: int
    right: int
    both: int
    only_left: int
    only_right: int
    left_examples: tuple[str, ...] = ()
    right_examples: tuple[str, ...] = ()
    spelling: tuple[str, ...] = ()
    near: int = 0
    near_examples: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_ids(cls, left_ids: pl.Series, right_ids: pl.Series) -> Self:
        """Match the ids of two tables; repeated ids and nulls do not count."""
        left_ids, right_ids = (
            ids.cast(pl.String).drop_nulls().unique(maintain_order=True) for ids in (left_ids, right_ids)
        )
        is_shared = left_ids.is_in(right_ids.implode())
        only_right = right_ids.filter(~right_ids.is_in(left_ids.implode()))
        return cls.from_unmatched(int(is_shared.sum()), left_ids.filter(~is_shared), only_right)

    @classmethod
    def from_unmatched(cls, shared: int, only_left: pl.Series, only_right: pl.Series) -> Self:
        """Match ids of which the unmatched ones are known; near fits need some on both sides."""
        counts = cls(
            shared + len(only_left),
            shared + len(only_right),
            shared,
            len(only_left),
            len(only_right),
            tuple(only_left.bottom_k(_EXAMPLES).sort()),
            tuple(only_right.bottom_k(_EXAMPLES).sort()),
        )
        if not (counts.only_left and counts.only_right):
            return counts
        unmatched_ids = only_left.sort(), only_right
        if max(counts.only_left, counts.only_right) <= _MAX_KEPT:
            spelling, pairs = find_near_fits_of_few(*map(tuple, unmatched_ids))
        else:
            spelling, pairs = find_near_fits(*unmatched_ids)
        examples = tuple(pairs.select("left", "right").head(_EXAMPLES).rows())
        return replace(counts, spelling=spelling, near=len(pairs), near_examples=examples)

    @property
    def verdict(self) -> Verdict:
        """The ids fit, fit partly, or do not fit.

        They fit if one side has all its ids in the other. They do not fit if three or more ids of each
        side are unmatched, and half of the smaller unmatched side nearly fits, or both sides have as
        many ids (±2 %) of which a tenth is unmatched, or under a tenth of the smaller side meets.
        """
        if not (self.only_left and self.only_right):
            return "fits"
        as_many = abs(self.left - self.right) <= _SIZE_TOLERANCE * max(self.left, self.right)
        misfits = min(self.only_left, self.only_right) >= _MIN_UNMATCHED and (
            self.nearly_fits
            or (as_many and 10 * self.only_left >= self.left and 10 * self.only_right >= self.right)
            or 10 * self.both < min(self.left, self.right)
        )
        return "not" if misfits else "partly"

    @property
    def nearly_fits(self) -> bool:
        """True if near fits join at least half of the smaller unmatched side."""
        return self.near > 0 and 2 * self.near >= min(self.only_left, self.only_right)

    @property
    def change(self) -> str:
        """The spellings of near fits in words."""
        return " and ".join(_spelling(name)[0] for name in self.spelling)

    def sentence(self, kind: str, left_table: str, right_table: str) -> str:
        """The unmatched ids and near fits in words, without a point at the end.

        Args:
            kind: what the ids are of: query, document.
            left_table: the first table, as in "the judgments".
            right_table: the second table.
        """
        counts = (
            f"{self.only_left:,} of {self.left:,} {kind} ids of {left_table} are not in {right_table} "
            f"({_quoted(self.left_examples)}), and {self.only_right:,} of {self.right:,} of {right_table} "
            f"are not in {left_table} ({_quoted(self.right_examples)})"
        )
        if not self.near:
            return counts
        first_left, first_right = self.near_examples[0]
        return f"{counts}; {self.near:,} of them match {self.change}: {first_left!r} and {first_right!r}"

    def remedy(self, kind: str) -> str:
        """The line to copy for near fits, without a point at the end."""
        if not self.near:
            return "check whether both belong together and use the same ids"
        return f"match them with {_line(self.rules(kind))}"

    def rules(self, kind: str) -> str:
        """The spellings of near fits, as ``--ids`` takes them."""
        prefix = "" if kind in ("query", "user") else "doc="
        return ",".join(prefix + name for name in self.spelling)

    def error(
        self, kind: str, left_table: str, right_table: str, source: str, numbered: str | None = None
    ) -> InputError:
        """The error for ids that do not fit.

        Arguments as in `sentence`, the label of the source, and the remedy if its queries are numbers of
        answers.
        """
        accept = f", or use only the ids that fit with {_line(ACCEPT)}" if self.both else ""
        remedy = self.remedy(kind) if self.near or numbered is None else numbered
        problem = f"{self.sentence(kind, left_table, right_table)}; {remedy}{accept}."
        return InputError(problem, source=source, code=DO_NOT_FIT)


def _line(rules: str) -> str:
    """An option and its line of TOML."""
    option = rules if " " not in rules else f'"{rules}"'
    return f'--ids {option} (in [collection]: ids = "{rules}")'


def _quoted(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids))


def find_near_fits(left_ids: pl.Series, right_ids: pl.Series) -> tuple[tuple[str, ...], pl.DataFrame]:
    """The shortest spellings under which most ids of two tables meet, and the pairs that meet.

    Args:
        left_ids: unmatched ids of the first table.
        right_ids: unmatched ids of the second table.

    Returns:
        the names of the spellings, and a table of ``left``, ``right``; both empty without near fits.
    """
    count = partial(_count_pairs, left_ids, right_ids)
    blanks = ("underscore", "hyphen")
    all_names = [[name for name in SPELLINGS if name not in ("nfc", blank)] for blank in blanks]
    candidates = [(name,) for name in (*SPELLINGS, *_affixes(left_ids, right_ids))]
    best_names = max((*candidates, *map(tuple, all_names)), key=count)
    max_count = count(best_names)
    for name in reversed(best_names):
        shorter = tuple(kept_name for kept_name in best_names if kept_name != name)
        if shorter and count(shorter) == max_count:
            best_names = shorter
    return (
        (best_names, _pairs(left_ids, right_ids, best_names))
        if max_count
        else ((), _pairs(left_ids.clear(), right_ids, ()))
    )


@lru_cache(maxsize=16)
def find_near_fits_of_few(*unmatched_ids: tuple[str, ...]) -> tuple[tuple[str, ...], pl.DataFrame]:
    """`find_near_fits` of few ids, kept: a run that is scored under many conventions has the same ids."""
    return find_near_fits(*(pl.Series(ids, dtype=pl.String) for ids in unmatched_ids))


def _count_pairs(left_ids: pl.Series, right_ids: pl.Series, names: Sequence[str]) -> int:
    return len(_pairs(left_ids, right_ids, names))


def _pairs(left_ids: pl.Series, right_ids: pl.Series, names: Sequence[str]) -> pl.DataFrame:
    """``left``, ``right``: ids of both tables with one spelling, which no other id of its table has."""
    tables = (
        pl.DataFrame({name: ids, "key": respell(ids, names)}).unique("key", keep="none", maintain_order=True)
        for name, ids in (("left", left_ids), ("right", right_ids))
    )
    return next(tables).join(next(tables), on="key", maintain_order="left")


def _affixes(left_ids: pl.Series, right_ids: pl.Series) -> Iterator[str]:
    """The prefix and the suffix that all ids of only one table have, as names of spellings."""
    for kind in _AFFIXES:
        sides = (
            (left_ids, right_ids) if kind == "prefix" else (left_ids.str.reverse(), right_ids.str.reverse())
        )
        common = [_common_prefix(str(ids.min()), str(ids.max())) for ids in sides]
        tail = len(_common_prefix(*(text[::-1] for text in common)))  # as of q10 and 10: 1
        affixes = [text[: len(text) - tail] for text in common]
        affix = "".join(affixes)
        if not all(affixes) and affix and not affix.isdigit() and "," not in affix:
            yield f"{kind}:{affix if kind == 'prefix' else affix[::-1]}"


def _common_prefix(first: str, second: str) -> str:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return "".join(character for character, _ in pairs)


@dataclass(frozen=True)
class IdRules:
    """How ids that nearly fit are made to meet.

    Attributes:
        query: the spellings of the ids of queries and users.
        doc: the spellings of the ids of documents and items.
        accept: True if ids that do not fit are accepted.
    """

    query: tuple[str, ...] = ()
    doc: tuple[str, ...] = ()
    accept: bool = False

    @classmethod
    def read(cls, text: str | None) -> IdRules:
        """Read ``underscore,case``, ``doc=zeros`` or ``as-they-are``; several are separated by commas.

        Raises:
            UsageError: a spelling is unknown.

        >>> IdRules.read("trim,doc=zeros").doc
        ('zeros',)
        """
        names: dict[str, list[str]] = {"query": [], "doc": []}
        pieces = [piece.strip(" ") for piece in (text or "").split(",")]
        for piece in filter(None, pieces):
            column, equals, name = piece.partition("=")
            if not equals or column not in names:
                column, name = "query", piece
            if name != ACCEPT:
                _spelling(name)
                names[column].append(name)
        return cls(tuple(names["query"]), tuple(names["doc"]), ACCEPT in pieces)

    def table(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table of judgments or rankings with the spellings of its ids.

        Raises:
            InputError: two queries have one id then.
        """
        respelled = table.with_columns(
            respell(table[name], names)
            for name, names in (("query_id", self.query), ("doc_id", self.doc))
            if names and name in table.columns
        )
        if self.query:
            self.respelled("query", table["query_id"].unique(maintain_order=True))
        return respelled

    def respelled(self, kind: Literal["query", "doc"], ids: pl.Series) -> pl.Series:
        """Ids with the spellings of their kind, each id once.

        Raises:
            InputError: two ids are one then.
        """
        names = self.query if kind == "query" else self.doc
        pairs = pl.DataFrame({"id": ids, "key": respell(ids, names)})
        merged = pairs.filter(pl.col("key").is_duplicated()) if names else pairs.clear()
        if len(merged):
            first, second = merged.filter(pl.col("key") == merged["key"][0])["id"].head(2)
            thing = "query" if kind == "query" else "document"
            problem = f"--ids {','.join(names)} makes one {thing} of {first!r} and {second!r}; leave it out."
            raise InputError(problem, source="ids", code="duplicate-id")
        return pairs["key"].alias(ids.name)

    def fitting(
        self, table: pl.DataFrame, ids: pl.Series, tables: tuple[str, str], source: str
    ) -> pl.DataFrame:
        """A table about queries with the spellings, whose queries fit.

        Args:
            table: has ``query_id``.
            ids: the queries that it is about.
            tables: what has these, as in "the judgments", and the table.
            source: the label of the table.

        Raises:
            InputError: the ids do not fit, and are not accepted; two queries have one id.
        """
        respelled = self.table(table.cast({"query_id": pl.String}))
        match = IdMatch.from_ids(ids, respelled["query_id"])
        if match.verdict == "not" and not self.accept:
            raise match.error("query", *tables, source)
        return respelled

    def refuse_near_fits(
        self, kind: str, ids: pl.Series, table_ids: pl.Series, tables: tuple[str, str], source: str
    ) -> None:
        """Refuse a further table whose ids mostly meet in another spelling only.

        It may have other ids than judgments and lists, so that only near fits tell that ids do not fit.

        Args:
            kind: what the ids are of: query, user, item.
            ids: the ids of judgments and lists.
            table_ids: the ids of the table.
            tables: what has the ids, as in "the judgments", and the table.
            source: the label of the table.

        Raises:
            InputError: under half of the smaller side meets, and near fits join half of the rest.
        """
        shared = int(ids.is_in(table_ids.implode()).sum())
        if self.accept or 2 * shared >= min(len(ids), len(table_ids)):
            return
        match = IdMatch.from_ids(ids, table_ids)
        if match.nearly_fits and match.verdict == "not":
            raise match.error(kind, *tables, source)

    def qrels(self, qrels: Any) -> Any:
        """Judgments with the spellings, which accept the ids that the rules accept.

        Raises:
            DuplicateError: two documents of a query have one id then.
        """
        if qrels.ids == self:
            return qrels
        if not (self.query or self.doc):
            accepted = copy(qrels)
            accepted.__dict__["ids"] = self  # rows are checked already
            return accepted
        unjudged = tuple(respell(pl.Series(qrels.unjudged, dtype=pl.String), self.query))
        return replace(qrels, table=self.table(qrels.table), unjudged=unjudged, ids=self)

    def run(self, run: Any) -> Any:
        """A run with the spellings; its rows are respelled when they are read."""
        if run.ids == self or not (self.query or self.doc):
            return run
        readings = {name: partial(self._frames, pieces) for name, pieces in run.readings.items()}
        return replace(
            run,
            pieces=partial(self._frames, run.pieces),
            rankings=None,
            queries=None if run.queries is None else self.table(run.queries),
            readings=readings,
            ids=self,
        )

    def _frames(self, pieces: Callable[[], Iterator[pl.DataFrame]]) -> Iterator[pl.DataFrame]:
        return map(self.table, pieces())
