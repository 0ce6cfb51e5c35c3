"""The file by which Maven fetches OpenSearch for ``make engines``."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

POM = Path(__file__).parent / "opensearch" / "pom.xml"


@pytest.mark.maven
def test_maven_takes_the_project_that_fetches_opensearch():
    command = ["mvn", "--offline", "--quiet", "--batch-mode", "--file", str(POM), "validate"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
