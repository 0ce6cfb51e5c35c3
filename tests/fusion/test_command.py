"""``rankgate fuse``: the run on standard output or in a file, the report where it does not mix."""

import json

import pytest

import rankgate


@pytest.fixture
def runs(tmp_path):
    places = []
    for name, docs in {"bm25": "abc", "dense": "cab"}.items():
        path = tmp_path / f"{name}.run"
        lines = [f"1 Q0 {doc} {i} {9 - i} {name}\n" for i, doc in enumerate(docs, 1)]
        path.write_text("".join(lines))
        places.append(str(path))
    return places


def test_the_run_goes_to_standard_output_and_the_report_to_standard_error(run, runs):
    result = run("fuse", *runs)
    assert result.code == 0
    assert [line.split()[2] for line in result.out.splitlines()] == ["a", "c", "b"]
    assert "bm25" in result.err
    assert "dense" in result.err


@pytest.mark.parametrize("suffix", ["run", "csv", "parquet", "jsonl", "run.gz"])
def test_a_file_is_written_in_the_format_of_its_suffix(run, runs, tmp_path, suffix):
    path = tmp_path / f"fused.{suffix}"
    result = run("fuse", *runs, "--method", "borda", "-o", path, "--format", "json")
    assert result.code == 0
    assert json.loads(result.out)["documents"] == 3
    assert rankgate.read_run(path).table["doc_id"].to_list() == ["a", "c", "b"]


def test_a_result_can_be_put_into_a_report(run, runs, tmp_path):
    saved = tmp_path / "fusion.json"
    saved.write_text(run("fuse", *runs, "-o", tmp_path / "x.run", "--format", "json").out)
    assert run("report", saved, "-o", tmp_path / "report.html").code == 0
    assert "Fusion of runs" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    "words", [("--format", "json"), ("--to", "quepid-book"), ("--weights", "1;2"), ("-o", "fused.pdf")]
)
def test_bad_words_end_with_2_and_write_nothing(run, runs, words):
    result = run("fuse", *runs, *words)
    assert (result.code, result.out) == (2, "")


@pytest.mark.parametrize(
    ("alias", "name"), [("wsum", "linear"), ("log_isr", "logisr"), ("w_bordafuse", "borda")]
)
def test_aliases_of_methods_and_normalisations_are_taken(alias, name, run, tmp_path):
    paths = [tmp_path / "one.run", tmp_path / "two.run"]
    for path in paths:
        path.write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    files = [str(path) for path in paths]
    by_name = run("fuse", *files, "--method", name)
    by_alias = run("fuse", *files, "--method", alias)
    assert (by_alias.code, by_alias.out) == (0, by_name.out)
    norm = run("fuse", *files, "--method", "sum", "--norm", "min_max_inverted")
    assert norm.code == 0
    assert norm.out.split()[2] == "b"
    assert run("fuse", *files, "--method", "wsums").code == 2
