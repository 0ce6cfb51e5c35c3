"""A guess for two files names what each lacks, and shows values of the columns where one is unknown."""


def test_a_column_that_one_file_lacks_stays_open(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judged.csv").write_text("frage;sku;punkte\nq1;a;3\nq1;b;0\n")
    (tmp_path / "ranked.csv").write_text("nr;sku;position\nq1;a;1\nq1;b;2\n")
    refused = run("eval", "judged.csv", "ranked.csv", "-m", "RR")
    assert refused.code == 2
    assert "they begin nr (q1), sku (a, b), position (1, 2); " in refused.err
    line = refused.err.splitlines()[1].strip()
    assert line == "--columns 'query=frage|?,doc=sku,rank=position,grade=punkte'"
    columns = line.removeprefix("--columns ").strip("'").replace("?", "nr")
    done = run("eval", "judged.csv", "ranked.csv", "-m", "RR", "--columns", columns)
    assert (done.code, done.out.splitlines()[1]) == (0, "ranked  1.0000")
