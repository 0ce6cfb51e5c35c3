"""Columns of flags in logs: one table of words, in every source; counts, empty cells and errors."""

import json

import polars as pl
import pytest

from online.test_ingest import events_of
from rankgate import online
from rankgate.core.declare.flag_words import FLAG_WORDS, parse_flag
from rankgate.core.errors import InputError
from support.wording import raises

WORDS = {
    "true": 1, "TRUE": 1, "t": 1, "Yes": 1, "y": 1, "Y": 1, "1": 1, "1.0": 1, " yes ": 1,
    "false": 0, "F": 0, "no": 0, "N": 0, "0": 0, "0.0": 0, "": 0, "  ": 0,
    "2": 2, "3.0": 3,
}  # fmt: skip
COLUMNS = '[log]\nkind = "impression"\ntime_zone = "UTC"\n[columns]\nat = "at"\nquery = "query"\n'
COLUMNS += 'query_event_id = "query"\nsession = "session"\ndoc_id = "doc"\nrank = "rank"\n'


def write_log(folder, values, suffix):
    """A log with a row for each value in the column ``flag``; None is a null."""
    table = pl.DataFrame(
        [
            {
                "at": "2026-03-02T00:00:00Z",
                "session": "s",
                "query": "q",
                "doc": f"d{index}",
                "rank": index + 1,
                "flag": value,
            }
            for index, value in enumerate(values)
        ],
        strict=False,
    )
    path = folder / f"log.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.iter_rows(named=True)))
    elif suffix == "xlsx":
        table.write_excel(path)
    else:
        (table.write_csv if suffix == "csv" else table.write_parquet)(path)
    return path


def clicks_of(folder, log, flags='[flags]\nclick = "flag"\n'):
    (folder / "map.toml").write_text(COLUMNS + flags)
    online.ingest(log, folder / "events", mapping=folder / "map.toml")
    events = events_of(folder / "events")
    counts = dict(events.filter(kind="click")["doc_id"].value_counts().iter_rows())
    return [counts.get(f"d{index}", 0) for index in range(events.filter(kind="impression").height)]


SOURCES = ("csv", "jsonl", "parquet", "xlsx")


@pytest.mark.parametrize("suffix", SOURCES)
def test_a_word_is_yes_or_no_in_every_source(tmp_path, suffix):
    assert clicks_of(tmp_path, write_log(tmp_path, list(WORDS), suffix)) == list(WORDS.values())


@pytest.mark.parametrize("suffix", SOURCES)
@pytest.mark.parametrize("values", [[True, False, None], [1, 0, None], [1.0, 0.0, None]])
def test_typed_values_are_yes_or_no_in_every_source(tmp_path, suffix, values):
    assert clicks_of(tmp_path, write_log(tmp_path, values, suffix)) == [1, 0, 0]


@pytest.mark.parametrize(
    ("value", "suffix"),
    [*(("ja", suffix) for suffix in SOURCES), *((value, "csv") for value in ("-1", "0.5", "1000", "nan"))],
)
def test_any_other_value_is_an_error_with_its_line(tmp_path, value, suffix):
    log = write_log(tmp_path, ["1", "0", value], suffix)
    with raises("invalid-flag", InputError) as caught:
        clicks_of(tmp_path, log)
    assert caught.value.line == (4 if suffix == "csv" else 3)  # a CSV file has a line of names
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("kind", ["purchase", "add_to_cart"])
def test_only_clicks_are_counted(tmp_path, kind):
    log = write_log(tmp_path, ["1", "2"], "csv")
    with raises("invalid-flag", InputError):
        clicks_of(tmp_path, log, f'[flags]\n{kind} = "flag"\n')


def test_the_mapping_declares_words(tmp_path):
    log = write_log(tmp_path, ["ja", "JA", "nein", "1", "9"], "csv")
    words = '[flags]\nclick = "flag"\nyes = ["ja"]\nno = ["nein", 9]\n'
    assert clicks_of(tmp_path, log, words) == [1, 1, 0, 1, 0]


def test_a_declared_word_has_precedence(tmp_path):
    log = write_log(tmp_path, [1, 2], "parquet")
    assert clicks_of(tmp_path, log, '[flags]\nclick = "flag"\nyes = 2\nno = 1\n') == [0, 1]


@pytest.mark.parametrize("line", ["yes = [[1]]", "click = 1"])
def test_a_wrong_declaration_names_its_line(tmp_path, line):
    with raises("invalid-mapping", InputError) as caught:
        clicks_of(tmp_path, write_log(tmp_path, [1], "csv"), f"[flags]\n{line}\n")
    assert caught.value.line == 12


def test_empty_flags_are_counted_and_block_nothing(tmp_path):
    log = write_log(tmp_path, ["1", "", None, "0"], "jsonl")
    clicks_of(tmp_path, log)
    (finding,) = [f for f in online.doctor(tmp_path / "events").findings if f.code == "empty-flag"]
    assert (finding.count, finding.severity, finding.examples) == (
        2,
        "annotate",
        ("log.jsonl:2", "log.jsonl:3"),
    )


def test_counted_clicks_are_not_duplicates_and_repeated_rows_are(tmp_path):
    log = write_log(tmp_path, ["2", "3"], "csv")
    clicks_of(tmp_path, log)
    assert "duplicated-clicks" in online.doctor(tmp_path / "events").passed
    log.write_text(log.read_text() + log.read_text().splitlines()[1] + "\n")
    (tmp_path / "again").mkdir()
    (tmp_path / "again/map.toml").write_text(COLUMNS + '[flags]\nclick = "flag"\n')
    online.ingest(log, tmp_path / "again/events", mapping=tmp_path / "again/map.toml")
    (finding,) = [
        f for f in online.doctor(tmp_path / "again/events").findings if f.code == "duplicated-clicks"
    ]
    assert (finding.count, finding.total) == (2, 7)


@pytest.mark.parametrize(("value", "cached"), [("HIT", None), ("y", True), ("0.0", False), ("", "null")])
def test_a_cache_hit_is_a_flag_too(tmp_path, value, cached):
    log = write_log(tmp_path, [value], "csv")
    columns = COLUMNS + 'cache_hit = "flag"\n'
    (tmp_path / "map.toml").write_text(columns)
    if cached is None:
        with raises("invalid-flag", InputError):
            online.ingest(log, tmp_path / "events", mapping=tmp_path / "map.toml")
        (tmp_path / "map.toml").write_text(columns + '[flags]\nyes = "hit"\n')
        cached = True
    online.ingest(log, tmp_path / "events", mapping=tmp_path / "map.toml")
    assert events_of(tmp_path / "events")["cache_hit"].to_list() == [None if cached == "null" else cached]


def test_python_values_have_the_same_table():
    assert all(parse_flag(word.upper()) is flag for word, flag in FLAG_WORDS.items())
    assert [parse_flag(value) for value in (True, False, 1, 0, 1.0, 0.0, 2, "on")] == [
        True, False, True, False, True, False, None, None,
    ]  # fmt: skip
