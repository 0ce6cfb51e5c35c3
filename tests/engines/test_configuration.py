"""Files of engines: their settings, and refusals with the line."""

import pytest

from rankgate.engines.configuration import ENGINES, read_engine
from rankgate.engines.engine_checks import EngineKinds, check_engine, engines
from rankgate.engines.snapshots.snapshot_verb import snapshot
from support.wording import raises

from .conftest import QUERIES

GOOD = '[engine]\nkind = "sqlite"\ndatabase = "a.sqlite"\ntable = "docs"\n'
HTTP = '[engine]\nkind = "http"\nurl = "http://x"\nhits = "a"\nid = "b"\n'
CLUSTER = '[engine]\nkind = "opensearch"\nurl = "http://x"\nindex = "i"\nsearch = ["a"]\n'


def test_paths_are_those_of_the_file(tmp_path):
    (tmp_path / "e.toml").write_text(GOOD)
    configuration = read_engine(tmp_path / "e.toml")
    assert configuration.name == "e"
    assert configuration.engine.database == str(tmp_path / "a.sqlite")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "e.toml").write_text(GOOD)
    assert read_engine(tmp_path / "other" / "e.toml").sha256 == configuration.sha256


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "invalid-engine", None),
        ("[engine]\n", "invalid-engine", 1),
        ('[engine]\nkind = "sqllite"\n', "invalid-engine", 2),
        ('[engine]\nkind = "sqlite"\n', "invalid-engine", 1),
        (GOOD + "tabel = 1\n", "invalid-engine", 5),
        (GOOD + "depth = 0\n", "invalid-engine", 5),
        (GOOD + "fields = 3\n", "invalid-engine", 5),
        (GOOD + 'sql = "SELECT 1"\n', "invalid-engine", 1),
        (GOOD + "[snapshot]\nconcurrency = 0\n", "invalid-engine", 6),
        (GOOD + "[snapshoot]\n", "invalid-engine", 5),
        (HTTP, "invalid-engine", 1),
        (HTTP + '[engine.params]\nq = "{{query}}"\nboost = "{{boots}}"\n', "unknown-parameter", 1),
        ('[engine]\nkind = "command"\ncommand = [1]\n', "invalid-engine", 1),
        ('[engine]\nkind = "postgresql"\ndsn = "x"\nsql = "SELECT 1"\n', "invalid-engine", 1),
        (CLUSTER + 'user = "me"\n', "invalid-engine", 1),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, code, line):
    (tmp_path / "e.toml").write_text(text)
    with raises(code) as caught:
        read_engine(tmp_path / "e.toml")
    assert caught.value.source == str(tmp_path / "e.toml")
    assert caught.value.line == line


def test_every_kind_says_what_its_keys_mean():
    engine_kinds = engines()
    assert [kind.name for kind in engine_kinds.kinds] == sorted(ENGINES)
    for kind in engine_kinds.kinds:
        assert kind.title
        assert all(key.help for key in kind.keys), kind.name
    assert EngineKinds.from_dict(engine_kinds.to_dict()).to_dict() == engine_kinds.to_dict()
    with raises("unknown-kind-of-engine"):
        engines("solr")


@pytest.mark.parametrize(
    "text",
    [
        GOOD + 'weights = [1, "{{boots}}"]\n',
        '[engine]\nkind = "tantivy"\nindex = "i"\nid = "i"\nsearch = []\nboosts.a = "{{boots}}"\n',
        '[engine]\nkind = "command"\ncommand = ["search", "{{boots}}"]\n',
        '[engine]\nkind = "postgresql"\ndsn = "x"\nsql = "SELECT %(query)s, %(boots)s"\n',
        CLUSTER.replace('search = ["a"]\n', '[engine.body]\nq = "{{query}} {{boots}}"\n'),
    ],
)
def test_a_name_without_a_value_is_refused_by_every_kind(tmp_path, text):
    (tmp_path / "e.toml").write_text(text)
    with raises("unknown-parameter"):
        read_engine(tmp_path / "e.toml")


def test_a_statement_of_sqlite_without_a_value_is_refused_before_the_first_query(engine):
    text = engine.read_text().replace('table = "docs"\nid = "doc_id"\n', "")
    text = text.replace('weights = [0, "{{weight}}"]', 'sql = "SELECT doc_id, 1, {} FROM docs"')
    engine.write_text(text.replace("{}", "':boots' || :query"))  # a text, and not a name
    assert check_engine(engine).returned
    engine.write_text(text.replace("{}", ":boots"))
    for ask in (check_engine, lambda file: snapshot(file, QUERIES)):
        with raises("unknown-parameter"):
            ask(engine)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (GOOD.replace("a.sqlite", "{}"), "database"),
        ('[engine]\nkind = "tantivy"\nindex = "{}"\nid = "i"\nsearch = ["a"]\n', "index"),
        ('[engine]\nkind = "command"\ncommand = ["search"]\nfolder = "{}"\n', "folder"),
        ('[engine]\nkind = "python"\nfunction = "search:rank"\nfolder = "{}"\n', "folder"),
        (HTTP + 'ca = "{}"\n[engine.params]\nq = "{{{{query}}}}"\n', "ca"),
        (CLUSTER + 'ca = "{}"\n', "ca"),
    ],
)
def test_every_path_is_relative_to_the_folder_of_the_file(tmp_path, monkeypatch, text, name):
    monkeypatch.chdir("/")
    file = tmp_path / "e.toml"
    for value, path in (("in/here", f"{tmp_path}/in/here"), ("/there", "/there")):
        file.write_text(text.format(value))
        assert getattr(read_engine(file).engine, name) == path
    if name in {"ca", "folder"}:  # these may be left out
        lines = text.format("x").splitlines(keepends=True)
        file.write_text("".join(line for line in lines if not line.startswith(name)))
        assert getattr(read_engine(file).engine, name) == {"ca": None, "folder": str(tmp_path)}[name]
