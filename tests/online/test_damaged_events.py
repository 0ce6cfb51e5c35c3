"""Damaged Parquet files and records of events are one error, in every command that reads them."""

from __future__ import annotations

import json
import random

import pytest

from rankgate import online
from rankgate.online.events.ingest import MANIFEST, read_manifest
from support.wording import raises

COMMANDS = [
    "online kpi {}",
    "online doctor {}",
    "online judgments {} --resamples 0",
    "online ab {} --control a -m search_ctr",
    "online intents {}",
    "online weeks {}",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("events")
    lines = []
    for number in range(60):
        user = {"query_id": f"s{number}", "client_id": f"u{number % 7}", "session_id": f"v{number // 2}"}
        at = 1767225600000 + number * 600_000
        arm = {"variant": "ab"[number % 7 % 2]}
        lines.append({**user, "user_query": "red shoes", "timestamp": at, "query_attributes": arm})
        for rank in range(3):
            shown = {"object": {"object_id": f"d{rank}"}, "position": {"ordinal": rank}}
            event = {**user, "timestamp": at + rank, "event_attributes": shown}
            lines.append({**event, "action_name": "impression"})
            if (number + rank) % 4 == 0:
                lines.append({**event, "action_name": "click", "timestamp": at + 9000})
    (path / "ubi.ndjson").write_text("\n".join(map(json.dumps, lines)))
    online.ingest(path / "ubi.ndjson", path / "events")
    return path / "events"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_whole_file_is_read(run, folder, command):
    (part,) = folder.glob("*.parquet")
    assert run(*command.format(part).split()).code in {0, 3}


@pytest.mark.parametrize("seed", range(25))
def test_damage_is_an_error_or_harmless(run, folder, tmp_path, seed):
    (part,) = folder.glob("*.parquet")
    content, chance = bytearray(part.read_bytes()), random.Random(seed)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for _ in range(chance.choice((1, 4))):
        content[chance.randrange(footer if seed % 3 else 0, len(content))] ^= 1 << chance.randrange(8)
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(content)
    for command in COMMANDS:
        result = run(*command.format(damaged).split())
        assert result.code in {0, 2, 3}, (command, result.err)


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: [],
        lambda manifest: {**manifest, "files": None},
        lambda manifest: {name: manifest[name] for name in manifest if name != "files"},
        lambda manifest: {**manifest, "files": {"a": {}}},
        lambda manifest: {
            **manifest,
            "files": {name: {**file, "kinds": {"click": "2"}} for name, file in manifest["files"].items()},
        },
        lambda manifest: {
            **manifest,
            "files": {name: {**file, "problems": [None]} for name, file in manifest["files"].items()},
        },
        lambda manifest: {
            **manifest,
            "files": {name: {**file, "states": 1} for name, file in manifest["files"].items()},
        },
    ],
)
def test_a_damaged_record_of_files_is_an_error(folder, tmp_path, damage):
    path = tmp_path / MANIFEST
    manifest = read_manifest(folder / MANIFEST)
    path.write_text(json.dumps(damage(manifest)))
    with raises("damaged-file"):
        read_manifest(path)
