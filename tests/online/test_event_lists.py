"""Lists in records: the same events as a log with a row for each, in every source."""

import json
import tomllib

import polars as pl
import pytest

from online.test_ingest import events_of
from rankgate import online
from rankgate.online.events.mapping_draft import draft_mapping
from support.wording import raises

RECORDS = [
    ("s1", "tv", ["a", "b"], [("b", 2)]),
    ("s2", "tv", ["b", "a", "c"], []),
    ("s3", "radio", ["r"], [("r", 1), ("r", 1)]),
]
MAPPING = """
[log]
kind = "search"
[columns]
at = "ts"
session = "session_id"
query = "query"
response_ids = "results"
[lists.click]
column = "clicks"
doc_id = "doc"
"""
NO_LISTS = MAPPING.split("[lists", maxsplit=1)[0]
RANKED = MAPPING + 'rank = "rank"\n'
KPIS = ("search_ctr", "mean_click_rank", "mrr_first_click", "abandonment_rate", "impression_ctr")


def rows(first_rank=1):
    return [
        {
            "ts": f"2026-06-10T00:0{minute}:00Z",
            "session_id": session,
            "query": query,
            "results": shown,
            "clicks": [{"doc": doc, "rank": rank - 1 + first_rank} for doc, rank in clicks],
        }
        for minute, (session, query, shown, clicks) in enumerate(RECORDS)
    ]


def write_log(folder, suffix, records):
    path = folder / f"log.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif suffix == "csv":
        cells = [
            record | {key: json.dumps(record[key]) for key in ("results", "clicks")} for record in records
        ]
        pl.DataFrame(cells).write_csv(path)
    else:
        pl.DataFrame(records).write_parquet(path)
    return path


def kpis(folder, log, mapping, names=KPIS):
    (folder / "map.toml").write_text(mapping)
    result = online.kpi(online.Events(log, mapping=folder / "map.toml"), names, by=())
    return {name: result[name] for name in names}


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(("mapping", "first_rank"), [(RANKED, 1), (RANKED, 0), (MAPPING, 1)])
def test_kpis_of_lists(tmp_path, suffix, mapping, first_rank):
    """By hand: 2 of 3 searches have a click, ranks are 2, 1, 1, first clicks at 2 and 1."""
    values = kpis(tmp_path, write_log(tmp_path, suffix, rows(first_rank)), mapping)
    assert values == pytest.approx(
        {
            "search_ctr": 2 / 3,
            "mean_click_rank": 4 / 3,
            "mrr_first_click": (1 / 2 + 1) / 3,
            "abandonment_rate": 1 / 3,
            "impression_ctr": 3 / 6,
        }
    )


def test_elements_that_are_ids(tmp_path):
    records = [row | {"clicks": [click["doc"] for click in row["clicks"]]} for row in rows()]
    mapping = MAPPING.replace('doc_id = "doc"\n', "")
    assert kpis(tmp_path, write_log(tmp_path, "jsonl", records), mapping)["mean_click_rank"] == 4 / 3


def test_a_list_that_is_none_is_counted(tmp_path):
    records = [*rows(), rows()[0] | {"clicks": "b", "session_id": "s4"}]
    (tmp_path / "map.toml").write_text(RANKED)
    log = online.ingest(
        write_log(tmp_path, "jsonl", records), tmp_path / "events", mapping=tmp_path / "map.toml"
    )
    assert log.problems.select("code", "count", "lines").rows() == [("unreadable-list", 1, "4")]
    assert events_of(tmp_path / "events").filter(kind="click").height == 3


def test_the_guess_is_the_mapping(tmp_path):
    path = write_log(tmp_path, "jsonl", rows())
    with raises("no-usable-events") as error:
        online.kpi(path, [*KPIS])
    lines = "\n".join(error.value.suggestions[:-1])
    assert kpis(tmp_path, path, lines) == kpis(tmp_path, path, RANKED)


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ("[lists.clik]\ncolumn = 'clicks'", 12),
        ("[lists.click]\nfrom = 'clicks'", 13),
        ("[lists.click]\ndoc_id = 'd'", 12),
    ],
)
def test_wrong_mappings(tmp_path, lines, line):
    with raises("invalid-mapping", line=line):
        kpis(tmp_path, write_log(tmp_path, "jsonl", rows()), NO_LISTS + "\n\n\n" + lines)


def test_a_missing_column_of_a_list_is_named(tmp_path):
    with raises("missing-column"):
        kpis(tmp_path, write_log(tmp_path, "csv", rows()), MAPPING.replace('"clicks"', '"taps"'))


GERMAN_NAMES = ("Zeitpunkt", "Sitzung", "Suchbegriff", "Treffer", "Klicks", "Bestellungen", "Notiz")
SEARCHES = (
    ("2026-06-10T00:01:00Z", "s1", "tv", ["a", "b"], ["b"], ["b"], "x"),
    ("2026-06-10T00:02:00Z", "s2", "radio", ["b", "12"], ["12", "b"], [], "y"),
    ("2026-06-10T00:03:00Z", "s3", "tv set", [], [], [], "z"),
)
FORMS = {"bars": "|".join, "commas": ", ".join, "python": str, "json": json.dumps}


@pytest.mark.parametrize("form", FORMS)
def test_lists_in_cells_of_a_log_are_found_and_read_as_lists_of_json(tmp_path, form):
    lines = [";".join(GERMAN_NAMES)]
    for *single, shown, clicked, bought, note in SEARCHES:
        cells = [FORMS[form](ids) if ids or form == "json" else "" for ids in (shown, clicked, bought)]
        lines.append(";".join([*single, *map(_quoted, cells), note]))
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    records = [dict(zip(GERMAN_NAMES, search, strict=True)) for search in SEARCHES]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
    drafts = {name: draft_mapping(tmp_path / name) for name in ("log.csv", "log.jsonl")}
    assert drafts["log.jsonl"].endswith("# not used: Notiz\n")
    tables = {name: tomllib.loads(draft) for name, draft in drafts.items()}
    if form in ("bars", "json", "python"):  # commas are in titles too
        assert tables["log.csv"] == tables["log.jsonl"]
        assert tables["log.csv"]["columns"]["response_ids"] == "Treffer"
        assert {kind: keys["column"] for kind, keys in tables["log.csv"]["lists"].items()} == {
            "click": "Klicks",
            "purchase": "Bestellungen",
        }
    kpis_of_log = ("search_ctr", "zero_result_rate", "mean_click_rank", "conversion_rate")
    for name in drafts:
        values = kpis(tmp_path, tmp_path / name, drafts["log.jsonl"], kpis_of_log)
        assert values == pytest.approx(
            {"search_ctr": 1.0, "zero_result_rate": 1 / 3, "mean_click_rank": 5 / 3, "conversion_rate": 1 / 2}
        )


def _quoted(cell):
    return '"' + cell.replace('"', '""') + '"' if cell else ""


def test_figures_of_click_times_are_not_given_where_clicks_have_the_time_of_their_search(tmp_path):
    (tmp_path / "map.toml").write_text(MAPPING)
    log = online.ingest(
        write_log(tmp_path, "jsonl", rows()), tmp_path / "events", mapping=tmp_path / "map.toml"
    )
    result = online.kpi(log)
    assert "clicks-at-search-time" in {finding.code for finding in online.doctor(log).findings}
    given = {*result.values.drop_nulls("value")["kpi"]}
    assert "search_ctr" in given
    assert not given & {"time_to_first_click_p50", "dwell_p50", "quick_back_rate"}
