"""The git revision and branch of an evaluation, and the labels of the judges.

Revision and branch come from git or a build server. The label of a judge changes with its model or
prompt.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.workspace.records.rescoring import JUDGE

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels


_REVISION_VARIABLES = (
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "BITBUCKET_COMMIT",
    "CIRCLE_SHA1",
    "GIT_COMMIT",
    "BUILDKITE_COMMIT",
    "BUILD_SOURCEVERSION",
    "TRAVIS_COMMIT",
)
_BRANCH_VARIABLES = (
    "GITHUB_HEAD_REF",
    "GITHUB_REF_NAME",
    "CI_COMMIT_REF_NAME",
    "BITBUCKET_BRANCH",
    "CIRCLE_BRANCH",
    "GIT_BRANCH",
    "BUILDKITE_BRANCH",
    "BUILD_SOURCEBRANCHNAME",
    "TRAVIS_BRANCH",
)
_TIMEOUT = 10


@dataclass(frozen=True)
class Provenance:
    """A state of a repository.

    Attributes:
        revision: the commit; may be empty.
        branch: its branch.
        changed: True if files differ from the commit.
    """

    revision: str = ""
    branch: str = ""
    changed: bool = False

    @property
    def name(self) -> str:
        """The commit; with ``+`` where files differ from it."""
        return f"{self.revision}+" if self.revision and self.changed else self.revision


def provenance(folder: str | Path = ".", environment: Mapping[str, str] | None = None) -> Provenance:
    """The commit and branch of a folder, from git or from a build server.

    Args:
        folder: a folder in the repository.
        environment: the environment variables; by default those of the process.
    """
    variables = os.environ if environment is None else environment
    revision = _run_git(folder, "rev-parse", "HEAD")
    branch = _first_set(variables, _BRANCH_VARIABLES)
    if not revision:
        return Provenance(_first_set(variables, _REVISION_VARIABLES), branch)
    if not branch:  # a build server checks out a commit, so git does not know the branch
        branch = _run_git(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    is_changed = bool(_run_git(folder, "status", "--porcelain", "--untracked-files=no"))
    return Provenance(revision, branch, is_changed)


def _first_set(variables: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((variables[name] for name in names if variables.get(name)), "")


def _run_git(folder: str | Path, *arguments: str) -> str:
    """The output of a git command; empty if the command fails or git is not installed."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.strip() if process.returncode == 0 else ""


_MAX_JUDGES = 3  # most judges named; more are counted, with a hash of the names


def judge_label(judged: Qrels | None) -> dict[str, str]:
    """The label ``judge`` of judgments; empty if the judges are not recorded.

    Args:
        judged: judgments that `resolve` made, or that were read from a file that it wrote. Its
            ``FILE.meta.json`` counts only if the file still has the same judgments.
    """
    if judged is None:
        return {}
    judges = list(map(str, (judged.made_by or _read_made_by(judged)).get("judges", ())))
    if not judges:
        return {}
    if len(judges) > _MAX_JUDGES:
        return {JUDGE: f"{count_noun(len(judges), 'rater')} {sha256(repr(judges).encode()).hexdigest()[:12]}"}
    return {JUDGE: ", ".join(judges)}


def _read_made_by(judged: Qrels) -> Mapping[str, Any]:
    try:
        metadata = json.loads(Path(f"{judged.place.label}.meta.json").read_bytes())
    except (OSError, ValueError):
        return {}
    is_current = isinstance(metadata, dict) and metadata.get("sha256") == judged.sha256
    return dict(metadata.get("made_by") or {}) if is_current else {}
