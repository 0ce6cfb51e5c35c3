"""Label the judges of judgments: a changed model or prompt is another judge."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.workspace.records.rescored import JUDGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.data.qrels import Qrels

_MAX_JUDGES = 3  # judges that are named; more are counted, with a hash of their names


def judge_label(judged: Qrels | None) -> dict[str, str]:
    """The label ``judge`` of judgments; empty if it is not recorded who made them.

    Args:
        judged: judgments that `resolve` made, or that were read from a file that it wrote. What its
            ``FILE.meta.json`` says counts only if the file has the same judgments still.
    """
    if judged is None:
        return {}
    judges = list(map(str, (judged.made_by or _read_made_by(judged)).get("judges", ())))
    if not judges:
        return {}
    if len(judges) > _MAX_JUDGES:
        return {JUDGE: f"{len(judges)} raters {sha256(repr(judges).encode()).hexdigest()[:12]}"}
    return {JUDGE: ", ".join(judges)}


def _read_made_by(judged: Qrels) -> Mapping[str, Any]:
    try:
        metadata = json.loads(Path(f"{judged.place.label}.meta.json").read_bytes())
    except (OSError, ValueError):
        return {}
    is_current = isinstance(metadata, dict) and metadata.get("sha256") == judged.sha256
    return dict(metadata.get("made_by") or {}) if is_current else {}
