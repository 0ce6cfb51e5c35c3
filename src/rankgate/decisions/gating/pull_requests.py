"""Keep one comment on a pull request of GitHub, or a merge request of GitLab, up to date.

The variables of the running job name the request. The token comes from the environment alone, and is in no
message.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.value_types import Json

_TIMEOUT, _PAGE_SIZE = 20.0, 100
_DENIED = frozenset({401, 403, 404})


def run_url() -> str:
    """The address of the running job; empty outside of GitHub and GitLab."""
    if "GITHUB_RUN_ID" in os.environ:
        return "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}".format_map(os.environ)
    return os.environ.get("CI_JOB_URL", "")


def page_url(path: str) -> str:
    """The address of a file among the artifacts of the running job."""
    return run_url() + ("#artifacts" if "GITHUB_RUN_ID" in os.environ else f"/artifacts/file/{quote(path)}")


@dataclass(frozen=True)
class CommentPlace:
    """The comments of one pull request.

    Attributes:
        api: the address of the service's API.
        comments: the path of all comments.
        comment: the path of a comment, before its number.
        update: the method that replaces a comment.
        variable: the variable of the token.
        rights: what lets the token write comments.
    """

    api: str
    comments: str
    comment: str
    update: str
    variable: str
    rights: str

    def ask(self, method: str, path: str, body: Json = None) -> Any:  # noqa: ANN401 - JSON
        """The answer of the service.

        Raises:
            UsageError: there is no token; the service refuses, or does not answer.
        """
        from rankgate.data.answers.engine_answers import Failure
        from rankgate.engines.requests.secrets import Secrets
        from rankgate.engines.requests.transport import Transport, request_json

        token = os.environ.get(self.variable, "")
        if not token:
            raise _refusal(f"{self.variable} is not set; {self.rights}")
        transport = Transport(self.api, {"Authorization": f"Bearer {token}"}, timeout=_TIMEOUT)
        answer = request_json(transport, method, path, {}, body)
        if not isinstance(answer, Failure):
            return answer
        status = getattr(answer, "status", 0)
        if status in _DENIED:
            raise _refusal(f"HTTP {status}: {self.rights}; or the limit of requests is reached")
        secrets = Secrets()
        secrets.add(token)
        raise _refusal(f"{secrets.message(answer.problem)}; run the job again")

    def all_comments(self) -> Iterator[dict[str, Any]]:
        """The comments, the oldest first."""
        for page in count(1):
            comments = self.ask("GET", f"{self.comments}?per_page={_PAGE_SIZE}&page={page}")
            yield from comments
            if len(comments) < _PAGE_SIZE:
                return

    def is_own(self, comment: dict[str, Any]) -> bool:
        """True if the token's account wrote it; the token of a workflow on GitHub has none, and is a bot."""
        author = comment.get("user") or comment.get("author") or {}
        try:
            return bool(author.get("id") == self.ask("GET", "/user")["id"])
        except UsageError:
            return author.get("type") == "Bot"


def find_place() -> CommentPlace:
    """The pull request of the running job.

    Raises:
        UsageError: the job is not one of GitHub or GitLab, or has no pull request.
    """
    job = defaultdict(str, os.environ)
    github, gitlab, project = job["GITHUB_API_URL"], job["CI_API_V4_URL"], job["CI_MERGE_REQUEST_PROJECT_ID"]
    if github and job["GITHUB_REF"].startswith("refs/pull/"):
        issues = f"/repos/{job['GITHUB_REPOSITORY']}/issues"
        comments = f"{issues}/{job['GITHUB_REF'].split('/')[2]}/comments"
        rights = (
            "the job needs the permission pull-requests: write, and the token of a pull request from a fork "
            "only reads"
        )
        return CommentPlace(github, comments, f"{issues}/comments", "PATCH", "GITHUB_TOKEN", rights)
    if gitlab and project:
        notes = f"/projects/{project}/merge_requests/{job['CI_MERGE_REQUEST_IID']}/notes"
        rights = (
            "GITLAB_TOKEN takes a project access token with the scope api and the role Reporter; forks have "
            "no protected variables"
        )
        return CommentPlace(gitlab, notes, notes, "PUT", "GITLAB_TOKEN", rights)
    raise _refusal(
        "this job has no pull request (on: pull_request) or merge request (merge_request_event); --also "
        "comment=FILE writes the comment to a file"
    )


def keep_comment(body: str) -> None:
    """Replace the own comment that begins with the same line, or write a new one.

    Args:
        body: Markdown, whose first line identifies the comment.

    Raises:
        UsageError: no pull request, no token, or the service does not take the comment.
    """
    thread = find_place()
    request = ("POST", thread.comments)
    try:
        for comment in thread.all_comments():
            if comment["body"].splitlines()[:1] == body.splitlines()[:1] and thread.is_own(comment):
                request = (thread.update, f"{thread.comment}/{comment['id']}")
                break
    except (AttributeError, KeyError, TypeError):
        raise _refusal(f"{thread.api} does not answer with comments; check the address") from None
    thread.ask(*request, {"body": body})


def _refusal(reason: str) -> UsageError:
    return UsageError(f"no comment was written: {reason}.", code="no-comment")
