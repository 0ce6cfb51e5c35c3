"""The files of deploy/ for a container, systemd, nginx and Caddy."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import urllib3

from rankgate.store.store import Store
from rankgate.workspace.web.commands import serve_command
from rankgate.workspace.web.server_config import ServerConfig
from support.proxying import make_certificate, proxied, read_caddyfile
from support.serving import Visitor, started

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def instructions():
    """Each instruction of the container file with its words; lines that go on are joined."""
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def served_by(words):
    """The options of ``rankgate serve`` that a line uses, read as the command reads them."""
    program, verb, *options = words
    assert (Path(program).name, verb) == ("rankgate", "serve")
    return serve_command.make_context("serve", list(options)).params


def test_the_image_needs_no_named_registry_and_no_root():
    steps = instructions()
    for image in (arguments.split()[0] for name, arguments in steps if name == "FROM"):
        assert re.fullmatch(r"[a-z]+:[\w.-]+", image)
    last = {name: arguments for name, arguments in steps if name != "RUN"}
    user = int(last["USER"].partition(":")[0])
    assert user > 0
    assert any(f"useradd --uid {user} " in arguments for name, arguments in steps if name == "RUN")
    assert "/health" in last["HEALTHCHECK"]
    probe = json.loads(last["HEALTHCHECK"].partition("CMD ")[2])
    compile(probe[2], "probe", "exec")
    params = served_by([*json.loads(last["ENTRYPOINT"]), *json.loads(last["CMD"])])
    assert (params["behind_proxy"], params["port"], params["log_format"]) == (
        True,
        int(last["EXPOSE"]),
        "json",
    )
    assert "ADD" not in last


def test_every_file_that_the_image_copies_is_there_and_enough_to_build(tmp_path):
    copied = [arguments for name, arguments in instructions() if name == "COPY" and "--from" not in arguments]
    for arguments in copied:
        *sources, target = arguments.split()
        for source in sources:
            target_path = tmp_path / target / (source if (ROOT / source).is_dir() else Path(source).name)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, tmp_path / target, dirs_exist_ok=True)
            else:
                shutil.copy(ROOT / source, target_path)
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", "out", "."], cwd=tmp_path, check=True, capture_output=True)
    assert len(list((tmp_path / "out").glob("rankgate-*.whl"))) == 1
    extras = re.search(r"\.\[([\w,]+)\]", str(instructions()))[1].split(",")
    declared = (ROOT / "pyproject.toml").read_text()
    for source in extras:
        assert re.search(rf"(?m)^{source} = \[", declared), source


@pytest.mark.systemd
def test_systemd_takes_the_unit_and_finds_it_well_confined(tmp_path):
    text = (DEPLOY / "rankgate.service").read_text()
    [line] = re.findall("(?m)^ExecStart=(.+)$", text)
    assert served_by(line.split())["behind_proxy"]
    unit = tmp_path / "rankgate.service"
    unit.write_text(text.replace(line.split()[0], shutil.which("true")))
    for arguments in (["verify"], ["security", "--offline=true", "--threshold=20"]):
        process = subprocess.run(
            ["systemd-analyze", *arguments, unit], capture_output=True, text=True, check=False
        )
        assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.nginx
@pytest.mark.openssl
def test_nginx_takes_the_site(tmp_path):
    site = (DEPLOY / "nginx.conf").read_text()
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=quality",
            "-keyout",
            tmp_path / "quality.example.org.key",
            "-out",
            tmp_path / "quality.example.org.pem",
        ],
        check=True,
        capture_output=True,
    )
    site = site.replace("/etc/ssl", str(tmp_path))
    config = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; {site} }}"
    (tmp_path / "nginx.conf").write_text(config)
    process = subprocess.run(
        ["nginx", "-t", "-c", tmp_path / "nginx.conf", "-p", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr


HOST = "quality.example.org"


@pytest.mark.caddy
def test_caddy_takes_the_configuration():
    process = subprocess.run(
        ["caddy", "validate", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr


@pytest.mark.openssl
def test_raters_outside_of_the_office_come_by_tls(tmp_path):
    site = read_caddyfile((DEPLOY / "Caddyfile").read_text(encoding="utf-8"))
    default_port = served_by(["rankgate", "serve"])["port"]
    assert site["upstream"] == f"127.0.0.1:{default_port}"
    assert site["site"] == f"{{$RANKGATE_HOST:{HOST}}}"
    assert site["largest"] >= ServerConfig.largest_upload
    certificate, key = make_certificate(tmp_path, HOST)
    store = tmp_path / "judging.db"
    with (
        started(store, "--behind-proxy", "--name", HOST) as (_, address, link),
        proxied(address, site["hidden"], certificate, key) as port,
        urllib3.HTTPSConnectionPool(
            "127.0.0.1",
            port,
            ca_certs=str(certificate),
            server_hostname=HOST,
            assert_hostname=HOST,
            headers={"host": HOST},
            retries=False,
        ) as http,
    ):
        assert http.request("GET", "/metrics").status == 404
        other_host = http.request("GET", "/sign-in", headers={"host": "evil.example.org"})
        assert other_host.status == 421
        manager = TlsVisitor(http)
        answer = manager.accept(link, "mia")
        assert (answer.status, answer.headers["location"]) == (303, "/projects")
        assert "SameSite=lax; Secure" in answer.headers["set-cookie"]
        assert "max-age" in answer.headers["strict-transport-security"]
        assert manager.post("/projects", name="shop").status == 200
        invitation = manager.post("/projects/shop/invitations", role="rater").json()["token"]
        assert invitation.startswith(f"https://{HOST}/invitations/")
        rater = TlsVisitor(http)
        assert rater.accept(invitation.removeprefix(f"https://{HOST}"), "ann").status == 303
        assert rater.get("/projects/shop/rate").status == 200
        forged = {"x-forwarded-for": "192.0.2.7", "host": HOST}
        fields = {"csrf": rater.csrf("/account"), "name": "ann", "password": "wrong"}
        rater.ask("POST", "/sign-in", fields=fields, encode_multipart=False, headers=forged)
    with Store.open(str(store)) as open_store, open_store.read() as connection:
        addresses = connection.exec_driver_sql("SELECT address FROM sign_ins").scalars().all()
    assert set(addresses) == {"127.0.0.1"}  # that of the proxy's client, not what it says


class TlsVisitor(Visitor):
    """A visitor who comes by a proxy, under the name of the site."""

    def __init__(self, http):
        super().__init__("")
        self.http = http

    def ask(self, method, path, *, headers=None, **how):
        """One request to the site."""
        return super().ask(method, path, headers={"host": HOST, **(headers or {})}, **how)
