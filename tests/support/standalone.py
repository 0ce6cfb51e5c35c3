"""A Spark cluster of one master and two workers on loopback, for a test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from support import java
from support.spark import QUICK_START
from support.waiting import PATIENCE, free_port, until


@contextmanager
def cluster(folder):
    """Start a master and two workers of one core each; yield the master's URL.

    Each worker has its own address, as Spark runs a task a second time on other hosts only.
    """
    import pyspark

    home = Path(pyspark.__file__).parent
    port, pages = free_port(), free_port()
    settings = {
        **os.environ,
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_SCALA_VERSION": "2.13",
    }

    def started(kind, host, *words):
        command = [java.program(), *QUICK_START, "-Xmx256m", "-cp", f"{home}/jars/*"]
        command += [f"org.apache.spark.deploy.{kind}"]
        return subprocess.Popen(
            [*command, "--host", host, *words],
            env={**settings, "SPARK_LOCAL_IP": host},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    ports = ("--port", str(port), "--webui-port", str(pages))
    running = [started("master.Master", "127.0.0.1", *ports)]
    url = f"spark://127.0.0.1:{port}"
    try:
        _wait(port)
        for i in range(2):
            room = ("--cores", "1", "--memory", "1g", "--webui-port", "0")
            worker_options = ("--work-dir", f"{folder}/worker-{i}")
            running.append(started("worker.Worker", f"127.0.0.{i + 1}", *room, *worker_options, url))
        yield url
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait(PATIENCE)


def _wait(port):
    def answers():
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", port)) == 0

    until(answers, 2 * PATIENCE)
