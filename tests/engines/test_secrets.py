"""A secret that a server quotes in any form is never saved, for all engines."""

import base64
import html
import json
import logging
import re
import sys
import tempfile
from html.entities import html5
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankgate
from rankgate.core.errors import UsageError
from rankgate.core.present.write_results import FORMS, render_result
from rankgate.data.answers.engine_answers import Answer, Failure
from rankgate.decisions.sweeps.dials import Step
from rankgate.decisions.sweeps.setup_steps import carry_out
from rankgate.engines.configuration import ENGINES, Configuration, Pace, read_engine
from rankgate.engines.engine import Connection, Facts
from rankgate.engines.engine_checks import check_engine
from rankgate.engines.requests.secrets import Secrets, plain_text_secrets
from rankgate.engines.snapshots.snapshot_verb import snapshot
from rankgate.store.material import projects
from support.wording import raises

SECRETS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=6).map(
    lambda text: f"K{text}9"
)
"""Any text that a header or a password may be, but for line ends; never a word of our messages."""


ENTITIES = {character: name for name, character in html5.items() if name.endswith(";")}
"""An HTML entity of each character that has a name."""

PRINTABLE = st.characters(min_codepoint=32, max_codepoint=126)


def in_base64(value):
    octets = f"user:{value}".encode()
    return [base64.b64encode(octets[start:]).decode() for start in range(5)] + [
        base64.urlsafe_b64encode(octets).decode()
    ]


def forms(value):
    """The forms in which a server may quote a value."""
    texts = [
        value,
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        quote(quote(value)),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(value))[3:-3],
        repr(value)[1:-1],
        ascii(value)[1:-1],
        html.escape(value),
        "".join(f"&#{ord(character)};" for character in value),
        "".join(f"&#x{ord(character):X};" for character in value),
        html.escape("".join(f"&#x{ord(character):x};" for character in value)),
        "".join(f"&{ENTITIES[character]}" if character in ENTITIES else character for character in value),
        "".join(f"%{octet:02X}" for octet in value.encode()),
        "".join(f"\\x{octet:02x}" for octet in value.encode()),
        value.encode().hex(),
        value.encode().hex(":").upper(),
        value.encode().hex(" "),
        ", ".join(f"0x{octet:02x}" for octet in value.encode()),
    ]
    return list(dict.fromkeys([*texts, *in_base64(value), quote(in_base64(value)[0], safe="")]))


@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
def test_every_form_is_found_and_nothing_else_is_changed(value, before, after):
    secrets = Secrets()
    secrets.add(value)
    for form in forms(value):
        assert secrets.scrubbed(f"x {form} y") == "x [secret] y", form
        assert form not in secrets.scrubbed(before + form + after)
    if not any(form in before for form in forms(value)):
        assert secrets.scrubbed(f"{before}.") == f"{before}."


class Replies(Connection):
    """A connection to a server that quotes a text in all its answers."""

    def __init__(self, text):
        self.text = text

    def ask(self, query):
        if query.query_id == "failed":
            return Failure("refused", f"HTTP 400: {'x' * 280} {self.text} is bad")
        if query.query_id == "partial":
            return Answer(["d1"], [1.0], partial=f"shard 2: {self.text}")
        ids = ["d1", f"of {self.text}", "d2"] if query.query_id == "ids" else ["d1", "d3", "d2"]
        fields = {"title": f"a {self.text}", "more": [{"deep": self.text, self.text: 1}]}
        return Answer(ids, [3.0, 2.0, 1.0], [fields] * 3, unusable=[f"1.5 {self.text}"])

    def facts(self):
        return Facts(f"server {self.text}", 3, self.text, self.text, self.text)


class Fails(Connection):
    """A connection that raises the deliberate errors of rankgate."""

    def __init__(self, text):
        self.text = text

    def ask(self, _):
        raise UsageError(f"the server quotes {self.text}.", code="refused")


def declared(kind, connection):
    """An engine of a kind with a variable in its declaration, with another connection."""

    class Hostile(kind.declaration):
        def connect(self):
            return connection

        def request_names(self):
            return None  # its requests are not sent

    values = {"list": ["x"]}
    required = {
        name: values.get(parameter.kind, "x")
        for name, parameter in kind.parameters.items()
        if parameter.required
    }
    return Hostile(**required, parameters={"key": "${HOSTILE_KEY}"})


QUERIES = {"good": "red", "ids": "shoe", "failed": "blue", "partial": "hat"}


@pytest.fixture
def kept(tmp_path, run, new_file, caplog):
    """Every text that is kept or shown of an engine, by where it is."""
    caplog.set_level(logging.DEBUG)

    def texts(engine):
        caplog.clear()
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        configuration = Configuration("hostile", engine, Pace(retries=0, backoff=0))
        result = snapshot(configuration, QUERIES, folder / "new.jsonl")
        assert result.states["failed"]
        assert (folder / "new.jsonl.partial.jsonl").exists()
        text_by_source = {f"snapshot as {form}": render_result(result, form) for form in FORMS}
        text_by_source |= {
            f"check as {form}": render_result(check_engine(configuration), form) for form in FORMS
        }
        scores = rankgate.evaluate({"good": {"d1": 1}}, folder / "new.jsonl", ["P@1"])
        (folder / "scores.json").write_text(render_result(scores, "json"))
        rankgate.record(scores, folder / "history", provenance=rankgate.Provenance("1"))
        with new_file(folder / "store.db") as store, store.write() as connection:
            projects.add(connection, "shop")
        rankgate.record(
            scores, store=str(folder / "store.db"), project="shop", provenance=rankgate.Provenance("1")
        )
        files = [folder / "new.jsonl.snapshot.json", folder / "scores.json"]
        report_result = run("report", *files, "-o", folder / "report.html")
        assert not report_result.code, report_result.err
        text_by_source["terminal"] = report_result.out + report_result.err
        for file in folder.rglob("*"):
            if file.is_file():
                text_by_source[str(file.relative_to(folder))] = file.read_bytes().decode(errors="replace")
        text_by_source["log"] = caplog.text
        return text_by_source

    return texts


@pytest.mark.parametrize("kind", ENGINES)
@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=SECRETS, data=st.data())
def test_nothing_that_is_kept_holds_a_secret(kept, kind, value, data):
    form = data.draw(st.sampled_from(forms(value)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOSTILE_KEY", value)
        texts = kept(declared(ENGINES.find(kind), Replies(form)))
        with pytest.raises(UsageError) as caught:
            declared(ENGINES.find(kind), Fails(form)).connect().ask(None)
    texts["error"] = str(caught.value)
    for source, text in texts.items():
        for hidden in forms(value):
            assert hidden not in text, source
    assert "[secret]" in texts["new.jsonl.meta.jsonl"]
    assert "[secret]" in texts["new.jsonl.docs.jsonl"]
    assert "d2" in texts["new.jsonl"]


@pytest.mark.parametrize("kind", ENGINES)
def test_connections_of_every_kind_are_scrubbed(kind):
    assert hasattr(ENGINES.find(kind).declaration.connect, "__wrapped__")


@given(st.text(PRINTABLE, min_size=6).map(lambda text: f"K{text}9"), st.data())
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_server_quotes_what_it_was_sent(tmp_path, server, kept, value, data):
    """In an answer with status 200, in its documents, in its errors and in its addresses."""
    quoted = data.draw(st.sampled_from(forms(value)))
    file = tmp_path / "shop.toml"
    file.write_text(
        f'[engine]\nkind = "http"\nurl = "{server.url}/search"\nhits = "found.docs"\nid = "id"\n'
        'error = "problem"\ndepth = 5\nparams = {q = "{{query}}", key = "${SHOP_KEY}"}\n'
        'headers = {Authorization = "Basic ${SHOP_KEY}"}\nfields = {title = "name"}\n'
    )
    documents = [{"id": f"d{n}", "score": 3.0 - n, "name": quoted} for n in range(3)]
    server.plan = {
        "red": [(200, {"found": {"docs": documents, "n": 3}})],
        "shoe": [(200, {"found": {"docs": documents, "n": 3}})],
        "blue": [(200, {"problem": {"message": quoted}, "found": {"docs": []}})],
        "hat": [(500, quoted.encode())],
        "test": [(200, {"found": {"docs": documents, "n": 3}})],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_KEY", value)
        texts = kept(read_engine(file).engine)
    for source, text in texts.items():
        for hidden in forms(value):
            assert hidden not in text, source


PLAIN = "Sup3r-secret"
BASIC = base64.b64encode(f"reader:{PLAIN}".encode()).decode()
LOGINS = [
    ("opensearch", f'user = "reader"\npassword = "{PLAIN}"\n', "password"),
    ("opensearch", f'api_key = "{PLAIN}"\n', "api_key"),
    ("opensearch", f'bearer = "{PLAIN}"\n', "bearer"),
    ("http", f'headers = {{Authorization = "Bearer {PLAIN}"}}\n', "headers: Authorization"),
    ("http", f'headers = {{Authorization = "Basic {BASIC}"}}\n', "headers: Authorization"),
    ("http", f'headers = {{X-Api-Key = "{PLAIN}"}}\n', "headers: X-Api-Key"),
    ("http", f'headers = {{x-auth-token = "{PLAIN}"}}\n', "headers: x-auth-token"),
    (
        "http",
        f'headers = {{X-Key = "{{{{login}}}}"}}\n[engine.parameters]\nlogin = "{PLAIN}"\n',
        "parameters: login",
    ),
]


@pytest.mark.parametrize(("kind", "login", "name"), LOGINS)
def test_a_secret_as_plain_text_is_hidden_and_named(tmp_path, kept, kind, login, name):
    common = {
        "http": 'hits = "h"\nid = "id"\nparams = {q = "{{query}}", tokenizer = "porter"}\n',
        "opensearch": 'index = "shop"\nsearch = ["title"]\n',
    }
    file = tmp_path / "shop.toml"
    file.write_text(f'[engine]\nkind = "{kind}"\nurl = "http://localhost:1"\n{common[kind]}{login}')
    engine = read_engine(file).engine

    class Quotes(type(engine)):
        def connect(self):
            return Replies(f"{PLAIN} in {BASIC}, porter")

    engine = Quotes(**vars(engine))
    texts = kept(engine)
    for source, text in texts.items():
        assert not any(form in text for form in forms(PLAIN)), source
    for result in (check_engine(engine), snapshot(engine, {"good": "red"})):
        assert "secret-in-settings" in {notice.code for notice in result.notices}
    assert name in texts["check as json"]
    assert name in texts["new.jsonl.snapshot.json"]
    assert "porter" in texts["new.jsonl.docs.jsonl"]
    hashes = {read_engine(file).sha256}
    file.write_text(file.read_text().replace(PLAIN, "an0ther-secret"))
    hashes.add(read_engine(file).sha256)
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("dsn", "names"),
    [
        ("host=db user=a password=known-9", {"known-9"}),
        ("host=db password = 'two words'", {"two words"}),
        ("postgresql://a:known-9@db/shop", {"known-9"}),
        ("postgresql://db/shop?user=a&password=known-9", {"known-9"}),
        ("host=db password=${PGPASSWORD}", set()),
        ("postgresql://db/shop", set()),
    ],
)
def test_the_password_of_a_connection_string(dsn, names):
    engine = ENGINES.find("postgresql").declaration(dsn=dsn, sql="SELECT %(query)s")
    assert {value for _, value in plain_text_secrets(engine)} == names


def test_a_setting_with_a_variable_is_no_secret_as_plain_text(tmp_path, server):
    file = tmp_path / "shop.toml"
    file.write_text(
        f'[engine]\nkind = "http"\nurl = "{server.url}/search"\nhits = "found.docs"\nid = "id"\n'
        'params = {q = "{{query}}"}\nheaders = {Authorization = "Bearer ${SHOP_KEY}", Accept = "a"}\n'
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_KEY", PLAIN)
        assert snapshot(file, {"a": "red"}).plain_secrets == ()


@given(SECRETS, st.data())
def test_a_step_of_a_sweep_quotes_no_secret(value, data):
    quoted = data.draw(st.sampled_from(forms(value)))
    command = [sys.executable, "-c", "import sys; sys.exit(sys.argv[1])", quoted]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEP_KEY", value)
        step = Step(command=command, headers={"key": "${STEP_KEY}"})
        problem = carry_out(step, None, Path.cwd())
    assert problem
    for hidden in forms(value):
        assert hidden not in problem


def test_a_long_message_is_shortened_after_it_is_scrubbed():
    secrets = Secrets()
    secrets.add("very-secret-0123")
    for room in range(270, 310):
        assert "very" not in secrets.message("x" * room + " very-secret-0123 " + "y" * 99)


def test_a_variable_in_params_and_body_is_its_value(server, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_KEY", "K-{{query}}-9")
    file = tmp_path / "post.toml"
    file.write_text(
        f'[engine]\nkind = "http"\nmethod = "POST"\nurl = "{server.url}/search"\n'
        'hits = "found.docs"\nid = "id"\nparams = {key = "${SHOP_KEY}"}\n'
        '[engine.body]\nq = "{{query}}"\nkey = ["x ${SHOP_KEY}"]\n'
    )
    snapshot(file, {"a": "costs ${SHOP_KEY}"})  # a query names no variable
    path, _, body = server.seen[0]
    assert path.endswith("?key=K-%7B%7Bquery%7D%7D-9")
    assert body == {"q": "costs ${SHOP_KEY}", "key": ["x K-{{query}}-9"]}
    monkeypatch.delenv("SHOP_KEY")
    with raises("missing-secret"):
        snapshot(file, {"a": "red"})


def test_every_form_that_the_page_promises_is_hidden():
    page = (Path(__file__).parents[2] / "docs" / "engines.md").read_text()
    table = page.partition("| form | of a value `Key+9` |")[2].partition("\n\n")[0]
    examples = re.findall(r"`([^`]+)`", table)
    assert len(examples) == 14
    secrets = Secrets()
    secrets.add("Key+9")
    for example in examples:
        assert "[secret]" in secrets.scrubbed(f"x {example} y"), example
