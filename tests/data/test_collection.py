"""Collections: declarations, reading, and their use in verbs."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.data.collection import Collection, Items, Predicted
from rankgate.decisions.gating.commands import gate_command
from rankgate.measurement.evaluation.commands import eval_command

GRADES = {"Exact": 3, "Partial": 1, "Irrelevant": 0}
SHEET = "term,sku,label\nmug,m1,Exact\nmug,m2,Partial\nlamp,l1,Exact\nlamp,l2,Irrelevant\n"
COLUMNS = "query=term,doc=sku,grade=label"
QRELS = {"mug": {"m1": 3, "m2": 1}, "lamp": {"l1": 3, "l2": 0}}
OLD = {"mug": ["m2", "m1"], "lamp": ["l2", "l1"]}
NEW = {"mug": ["m1", "m2"], "lamp": ["l1", "l2"]}


@pytest.fixture
def shop(tmp_path):
    """A folder with a collection of labelled judgments."""
    (tmp_path / "qrels.csv").write_text(SHEET)
    (tmp_path / "queries.csv").write_text("query_id,intent\nmug,kitchen\nlamp,light\n")
    (tmp_path / "collection.toml").write_text(
        "[collection]\n"
        'judgments = "qrels.csv"\n'
        f'columns = "{COLUMNS}"\n'
        "grades = { Exact = 3, Partial = 1, Irrelevant = 0 }\n"
        'tags = "queries.csv"\n'
    )
    return tmp_path


def _means(collection, runs=None):
    return rankgate.evaluate(collection, runs or {"old": OLD, "new": NEW}, ["nDCG@10"]).means.rows()


def test_labels_of_dictionaries_become_grades():
    labelled = {"mug": {"m1": "Exact", "m2": "Partial"}, "lamp": {"l1": "Exact", "l2": "Irrelevant"}}
    assert _means(Collection(labelled, grades=GRADES)) == _means(QRELS)


def test_a_folder_its_file_and_the_value_are_the_same_collection(shop):
    value = Collection(
        str(shop / "qrels.csv"), columns=COLUMNS, grades=GRADES, tags=str(shop / "queries.csv")
    )
    assert Collection.of(shop) == Collection.of(str(shop / "collection.toml")) == value
    assert _means(shop) == _means(value) == _means(QRELS)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("tgas = 'x.csv'", r"collection\.toml:6: unknown key 'tgas'; did you mean tags\?"),
        ("drop_seen = 1", r"collection\.toml:6: drop_seen is true or false\."),
        ("items = { table = 'x', feature = ['a'] }", r":6: unknown key 'feature'; .*features\?"),
        ("predicted = { saw = 'none' }", r":6: predicted needs judgments"),
        ("training = 3", r":6: training is the path of a file in quotes\."),
        ("grades = ['Exact']", r":6: grades is a table of labels"),
        ("columns = 7", r":6: columns is a text"),
        ("items = { table = 'x', catalogue = 'many' }", r":6: catalogue is the number of items"),
    ],
)
def test_what_a_file_cannot_state_has_its_line(tmp_path, line, problem):
    path = tmp_path / "collection.toml"
    path.write_text(f"[collection]\njudgments = 'qrels.csv'\n\n\n# the wrong line\n{line}\n")
    with pytest.raises(InputError, match=problem):
        Collection.of(path)


def test_a_file_without_a_collection_is_an_error(tmp_path):
    path = tmp_path / "shop.toml"
    path.write_text("[items]\n")
    with pytest.raises(InputError, match=r"shop\.toml:1: no \[collection\] in it"):
        Collection.of(path)


def test_a_collection_reads_nothing_before_a_verb_needs_it(tmp_path):
    missing = Collection(tmp_path / "no.csv", tags=tmp_path / "no-tags.csv", columns=COLUMNS)
    assert repr(missing).startswith("Collection(judgments='")
    with pytest.raises(InputError, match=r"no\.csv"):
        missing.qrels()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"columns": "query"}, "is not NAME=COLUMN"),
        ({"columns": "querry=q"}, "'querry' is not a column of rankgate"),
        ({"grades": {"Exact": "three"}}, "Exact is 'three', which is not a number"),
    ],
)
def test_a_declaration_that_cannot_be_is_an_error_at_once(options, problem):
    with pytest.raises(UsageError, match=problem):
        Collection(QRELS, **options)


def test_what_one_collection_leaves_open_is_filled_from_another():
    stated = Collection(QRELS, items=Items(category="genre"), drop_seen=True)
    defaults = Collection(tags="tags.csv", items=Items("items.csv", category="other", features=["price"]))
    filled = stated.filled(defaults)
    assert filled.judgments is QRELS
    assert filled.tags == "tags.csv"
    assert filled.items == Items("items.csv", category="genre", features=("price",))
    assert filled.drop_seen


def test_collections_are_equal_by_content_and_cannot_be_changed():
    frame = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "grade": [1]})
    assert Collection(frame) == Collection(frame.clone())
    assert Collection(frame, tags="a") != Collection(frame, tags="b")
    assert Collection(frame, predicted=frame).predicted == Predicted(frame)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Collection(frame).tags = "c"  # type: ignore[misc]


def test_options_of_a_command_go_before_the_file(shop, monkeypatch):
    monkeypatch.chdir(shop)
    Path("other.csv").write_text("query_id,part\nmug,a\nlamp,b\n")
    for name, run in (("old", OLD), ("new", NEW)):
        rows = [
            f"{query} Q0 {doc} {rank} {10 - rank} {name}\n"
            for query, documents in run.items()
            for rank, doc in enumerate(documents, 1)
        ]
        Path(f"{name}.run").write_text("".join(rows))
    call = CliRunner().invoke
    arguments = [".", "old.run", "new.run", "-m", "nDCG@10"]
    of_file = call(eval_command, [*arguments, "--slice", "intent"])
    assert of_file.exit_code == 0, of_file.output
    assert "kitchen" in of_file.output
    of_option = call(eval_command, [*arguments, "--tags", "other.csv", "--slice", "part"])
    assert "kitchen" not in of_option.output
    assert call(gate_command, [".", "old.run", "new.run"]).exit_code == 3


def test_a_run_keeps_what_is_known_of_its_system():
    run = rankgate.read_run(NEW, "new", earlier=OLD, repeats=[OLD, NEW], noise=[NEW])
    assert (run.name, run.earlier, run.repeats, run.noise) == ("new", OLD, (OLD, NEW), (NEW,))
    reread = rankgate.read_run(run)
    assert reread is run
    result = rankgate.evaluate(
        Collection(QRELS, items=Items(catalogue=["m1", "m2", "l1", "l2"])),
        [run],
        ["TemporalDiversity@1", "EED@2"],
    )
    assert result.means.row(0)[1] == 1.0  # another first item for both queries


def test_describe_shows_the_tables_of_a_collection_and_what_is_missing(shop):
    (shop / "queries.csv").write_text("query_id,intent\nmug,kitchen\nbowl,kitchen\n")
    result = rankgate.describe(shop)
    (table,) = result.files[0].tables
    assert (table.name, table.ids, table.judged, table.matched) == ("tags", 2, 2, 1)
    assert result.files[0].judgments.grades == ((0.0, 1), (1.0, 1), (3.0, 2))
    assert "with 1 of the 2 judged queries; 1 are missing" in " ".join(str(result).split())
    assert type(result).from_dict(result.to_dict()) == result


def test_tags_of_other_queries_are_an_error(shop):
    (shop / "queries.csv").write_text("query_id,intent\nbowl,kitchen\n")
    problem = r"queries\.csv: none of its 1 query \(bowl, …\) is among the 2 judged ones"
    with pytest.raises(InputError, match=problem):
        rankgate.evaluate(shop, OLD, ["nDCG@10"], slices=["intent"])
    with pytest.raises(InputError, match=problem):
        rankgate.compare(shop, OLD, NEW, ["nDCG@10"], slices=["intent"])


def test_tags_in_a_frame_have_the_columns_that_files_may_have():
    tags = pl.DataFrame({"part": ["x", "y"], "topic": [1, 2]})
    collection = Collection({"1": {"a": 1}, "2": {"b": 1}}, tags=tags)
    run = {"1": ["a"], "2": ["a", "b"]}
    slices = rankgate.evaluate(collection, {"one": run}, ["RR", "P@1"], slices=["part"]).slices
    assert slices.select("value", "metric", "mean").rows() == [
        ("x", "RR", 1.0),
        ("x", "P@1", 1.0),
        ("y", "RR", 0.5),
        ("y", "P@1", 0.0),
    ]
    with pytest.raises(InputError, match="tags need a column query_id"):
        rankgate.compare(replace(collection, tags=tags.drop("topic")), run, run, ["RR"])
