"""Logs with an action in each row and columns of their own: the suggested mapping reads them."""

import json
import shlex

import polars as pl
import pytest

COLUMNS = ("ts", "visit_id", "visitor", "search_term", "action", "product_no", "pos", "test_group")


def rows(time_format, first_day=3):
    """Three visits: two with a click, one of them at rank 2; the days are from first_day on."""
    visits = [("v1", "tv", [1]), ("v2", "radio", []), ("v3", "tv", [2, 1])]
    log = []
    for number, (visit, term, ranks) in enumerate(visits):
        day = f"2026-02-{first_day + number:02}T08:00"
        searched, clicked = (
            pl.Series([f"{day}:{second:02}"]).str.to_datetime().dt.strftime(time_format).item()
            for second in (13, 20)
        )
        log.append((searched, visit, "u" + visit, term, "Search", None, None, "AB"[number % 2]))
        log += [
            (clicked, visit, "u" + visit, term, "item tap", f"p{rank}", rank, "AB"[number % 2])
            for rank in ranks
        ]
    return log


def write(path, log):
    frame = pl.DataFrame(log, COLUMNS, orient="row", infer_schema_length=None)
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dicts()))


def suggested_mapping(err):
    """The lines of the mapping in an error."""
    lines = [line.strip() for line in err.splitlines() if line.startswith("  ")]
    assert lines[-1] == "and run the command again with --mapping log.toml"
    return "\n".join(lines[:-1])


@pytest.mark.parametrize(
    ("name", "time_format", "first_day", "line"),
    [
        ("visits.csv", "%d.%m.%Y %H:%M:%S", 3, 'time_format = "%d.%m.%Y %H:%M:%S"'),
        ("visits.csv", "%m/%d/%Y %H:%M:%S", 12, 'time_format = "%m/%d/%Y %H:%M:%S"'),
        ("visits.csv", "%d/%m/%y, %H:%M", 13, 'time_format = "%d/%m/%y, %H:%M"'),
        ("visits.csv", "%Y-%m-%dT%H:%M:%SZ", 3, None),
        ("visits.ndjson", "%d.%m.%Y %H:%M:%S", 3, 'time_format = "%d.%m.%Y %H:%M:%S"'),
        ("visits.ndjson", "%Y-%m-%dT%H:%M:%SZ", 3, None),
        ("visits.parquet", "%m/%d/%Y %H:%M:%S", 12, 'time_format = "%m/%d/%Y %H:%M:%S"'),
        ("visits.parquet", "%Y-%m-%dT%H:%M:%SZ", 3, None),
    ],
)
def test_the_suggested_mapping_reads_the_log(run, tmp_path, monkeypatch, name, time_format, first_day, line):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name, rows(time_format, first_day))
    refused = run("online", "kpi", name)
    assert refused.code == 2
    mapping = suggested_mapping(refused.err)
    assert (line in mapping) if line else ("time_format" not in mapping)
    (tmp_path / "log.toml").write_text(mapping)
    words = shlex.split("-k search_ctr -k mean_click_rank -k searches_per_session --format json")
    result = run("online", "kpi", name, "--mapping", "log.toml", *words)
    document = json.loads(result.out)
    values = {row["kpi"]: row["value"] for row in document["values"] if row["by"] == "all"}
    assert values == {"search_ctr": pytest.approx(2 / 3), "mean_click_rank": 4 / 3, "searches_per_session": 1}
    assert document["first"].startswith(f"2026-02-{first_day:02}")


def test_days_that_could_be_months_are_asked_back(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "visits.csv", rows("%m/%d/%Y %H:%M"))
    mapping = suggested_mapping(run("online", "kpi", "visits.csv").err)
    assert 'time_format = "?"  # "%d/%m/%Y %H:%M" or "%m/%d/%Y %H:%M"' in mapping
    (tmp_path / "log.toml").write_text(mapping)
    refused = run("online", "kpi", "visits.csv", "--mapping", "log.toml")
    assert (refused.code, refused.err.startswith("rankgate: log.toml:2: time_format")) == (2, True)


def test_times_in_another_format_name_the_remedy(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "visits.csv", rows("%d.%m.%Y %H:%M"))
    mapping = suggested_mapping(run("online", "kpi", "visits.csv").err)
    (tmp_path / "log.toml").write_text(mapping.replace("%d.%m.%Y", "%d-%m-%Y"))
    diagnosis = json.loads(
        run("online", "doctor", "visits.csv", "--mapping", "log.toml", "--format", "json").out
    )
    fixes = {finding["code"]: finding["fix"] for finding in diagnosis["findings"]}
    assert "time_format" in fixes["unreadable-time"]


def test_a_log_without_actions_or_queries_gets_no_mapping(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("ts,visit_id,action\n1,v1,login\n2,v1,logout\n")
    refused = run("online", "kpi", "visits.csv")
    assert (refused.code, "  [" in refused.err) == (2, False)
