"""Engines behind TLS and a login: certificates, host names, redirections, secrets."""

import base64
import shutil
import ssl
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankgate.engines.snapshots.snapshot_verb import snapshot
from support.wording import raises

from .conftest import QUERIES, Server, listed
from .test_engines_command import queries_file

WORD = "very-secret-0123"
PAIR = base64.b64encode(f"me:{WORD}".encode()).decode()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A certificate authority, and certificates of it for the right and for a wrong host."""
    folder = tmp_path_factory.mktemp("certificates")

    def made(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    key = ("-newkey", "rsa:2048", "-nodes")
    made(
        "req",
        "-x509",
        *key,
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
        "-days",
        "2",
        "-subj",
        "/CN=tests",
        "-addext",
        "keyUsage=critical,keyCertSign",
    )
    names = {"right": "IP:127.0.0.1,DNS:localhost", "wrong": "DNS:other.invalid"}
    for name, host in names.items():
        made("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", "/CN=x")
        (folder / f"{name}.ext").write_text(f"subjectAltName={host}\n")
        made(
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-days",
            "2",
            "-CAcreateserial",
            "-extfile",
            f"{name}.ext",
            "-out",
            f"{name}.pem",
        )
    return folder


@contextmanager
def serving(folder=None, name="right"):
    """A server of documents, with a certificate if a folder of them is given."""
    with Server() as found:
        if folder is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
            found.socket = context.wrap_socket(found.socket, server_side=True)
            found.url = found.url.replace("http:", "https:")
        thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def engine(folder, server, more=""):
    file = folder / "api.toml"
    file.write_text(
        f'[engine]\nkind = "http"\nurl = "{server.url}/search"\nhits = "found.docs"\nid = "id"\n'
        f'score = "score"\n{more}\n[engine.params]\nq = "{{{{query}}}}"\n'
        f'[engine.headers]\nAuthorization = "Bearer ${{SHOP_TOKEN}}"\n'
        "[snapshot]\nbackoff = 0.01\nconcurrency = 16\n"
    )
    return file


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", WORD)


def test_a_certificate_of_an_own_authority(certificates, tmp_path):
    with serving(certificates) as server:
        shutil.copy(certificates / "ca.pem", tmp_path / "ca.pem")
        result = snapshot(engine(tmp_path, server, 'ca = "ca.pem"'), QUERIES)
        assert result.states["ok"] == len(QUERIES)
        assert result.run.table["doc_id"][0] == listed(QUERIES["q0"])[0]["id"]


@pytest.mark.parametrize(("name", "ca"), [("right", False), ("wrong", True)])
def test_a_certificate_that_is_not_trusted_ends_the_snapshot_unsent(certificates, tmp_path, name, ca):
    shutil.copy(certificates / "ca.pem", tmp_path / "ca.pem")
    with serving(certificates, name) as server:
        file = engine(tmp_path, server, 'ca = "ca.pem"' if ca else "")
        result = snapshot(file, QUERIES, tmp_path / "new.run")
        assert result.states["not_run"] == len(QUERIES)
        assert "no secure connection" in result.problem
        assert not server.seen  # neither a query nor the token


@pytest.mark.parametrize("text", [None, "no certificate\n"])
def test_a_file_of_certificates_that_is_none(certificates, tmp_path, text):
    if text:
        (tmp_path / "ca.pem").write_text(text)
    with serving(certificates) as server, raises("cannot-read"):
        snapshot(engine(tmp_path, server, 'ca = "ca.pem"'), QUERIES)


@pytest.mark.parametrize(
    ("words", "header"),
    [
        ('user = "me"\npassword = "${SHOP_TOKEN}"', f"Basic {PAIR}"),
        ('api_key = "${SHOP_TOKEN}"', f"ApiKey {WORD}"),
        ('bearer = "${SHOP_TOKEN}"', f"Bearer {WORD}"),
    ],
)
def test_logins_of_a_cluster_behind_tls(certificates, tmp_path, words, header):
    hits = {"hits": {"total": {"value": 1}, "hits": [{"_id": "a", "_score": 1.0}]}}
    with serving(certificates) as server:
        server.plan = {"*": [(200, hits)]}
        file = tmp_path / "cluster.toml"
        file.write_text(
            f'[engine]\nkind = "opensearch"\nurl = "{server.url}"\nindex = "shop"\nca = "ca.pem"\n'
            f'search = ["body"]\n{words}\n'
        )
        shutil.copy(certificates / "ca.pem", tmp_path / "ca.pem")
        assert snapshot(file, {"q": "red"}).states["ok"] == 1
        assert {headers["Authorization"] for _, headers, _ in server.seen} == {header}


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirection_to_another_host_gets_no_secret(tmp_path, status):
    with serving() as other, serving() as server:
        server.plan = {"*": [(status, "", [("Location", f"{other.url}/search")])]}
        result = snapshot(engine(tmp_path, server), QUERIES)
        assert "redirects are not followed" in result.problem
        assert result.states["not_run"] == len(QUERIES)
        assert not other.seen


@pytest.mark.parametrize("status", [401, 403])
def test_a_login_that_is_refused_is_not_tried_again(run, tmp_path, status):
    with serving() as server:
        server.plan = {"*": [(status, {"error": f"token {WORD} is unknown"})]}
        file, queries = engine(tmp_path, server), queries_file(tmp_path)
        words = ["snapshot", str(file), str(queries), "-o", str(tmp_path / "new.run")]
        done = run(*words)
        assert done.code == 3
        assert len(server.seen) <= 16  # those that were under way
        shown = [done.out + done.err, run(*words, "--format", "json").out]
        shown.append(run("engines", "check", str(file)).out)
    files = [path for path in Path(tmp_path).iterdir() if path.is_file()]
    assert len(files) >= 5
    shown += [path.read_text() for path in files]
    assert not any(WORD in text or WORD[:-1] in text for text in shown)
    assert any(f"HTTP {status}" in text for text in shown)


def test_no_output_holds_a_secret(run, tmp_path):
    with serving() as server:
        text = QUERIES["q3"]
        server.plan = {text: [(400, {"error": f"Bearer {WORD} cannot ask this"})]}
        file, queries = engine(tmp_path, server), queries_file(tmp_path)
        words = ["snapshot", str(file), str(queries), "-o", str(tmp_path / "new.run")]
        shown = [run(*words, "--force", "--format", form) for form in ("text", "json", "html")]
        page = str(tmp_path / "page.html")
        shown.append(run("report", str(tmp_path / "new.run.snapshot.json"), "-o", page))
    texts = [done.out + done.err for done in shown]
    texts += [path.read_text() for path in Path(tmp_path).iterdir() if path.is_file()]
    assert not any(WORD in text for text in texts)
    assert "[secret]" in (tmp_path / "new.run.meta.jsonl").read_text()
