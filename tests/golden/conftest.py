"""Small files in a separate folder, and the output of the command for them."""

from __future__ import annotations

import pytest

from rankgate.measurement.evaluation.trec_eval_command import trec_eval_command
from support.demos import demo_folder  # noqa: F401 - a fixture

QRELS = """\
1 0 a 2
1 0 b 0
1 0 c 1
1 0 d -1
2 0 x 1
"""
RUN = """\
2 Q0 y 1 9 first
2 Q0 x 2 8 first
1 Q0 b 1 9 first
1 Q0 z 2 8 first
1 Q0 d 3 7 first
1 Q0 a 4 6 last
"""
HALF = "1 Q0 b 1 9 t\n1 Q0 a 2 8 t\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes files by name, into a folder where ``qrels``, ``run`` and ``half`` lie already.

    ``half`` is a run that lacks the second query.
    """

    def written(**texts):
        for name, text in texts.items():
            (tmp_path / name).write_bytes(text.encode())

    monkeypatch.chdir(tmp_path)
    written(qrels=QRELS, run=RUN, half=HALF)
    return written


@pytest.fixture
def printed(write, capsys):  # noqa: ARG001 - it makes the files
    """The output of a call."""

    def output(words):
        trec_eval_command.main(words.split(), standalone_mode=False)
        return capsys.readouterr().out

    return output


@pytest.fixture
def lines(printed):
    """The output as ``name query value``, without the padding."""
    return lambda words: [" ".join(line.split()) for line in printed(words).splitlines()]
