"""HTTP requests and replies: limits, sender, values, and the format of the reply."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, quote, urlencode

from anyio import to_thread
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.present import csv_form
from rankgate.workspace.web import security
from rankgate.workspace.web.navigation import make_menu
from rankgate.workspace.web.rendering import render_template, to_json
from rankgate.workspace.web.replies import (
    ActionReply,
    FileReply,
    PageReply,
    RedirectReply,
    Reply,
    RequestRefused,
    not_found,
)
from rankgate.workspace.web.security import add_security_headers
from rankgate.workspace.web.texts import LANGUAGE, TRANSLATED, choose_texts, read_languages
from rankgate.workspace.web.web_request import (
    ANYONE,
    Identity,
    Route,
    Upload,
    WebRequest,
    check_values,
    is_true,
)

if TYPE_CHECKING:
    from starlette.datastructures import UploadFile
    from starlette.requests import Request

    from rankgate.core.value_types import Json, JsonObject
    from rankgate.workspace.web.rendering import PageValue
    from rankgate.workspace.web.security import RequestBuckets, SharedRequestBuckets
    from rankgate.workspace.web.server_config import ServerConfig
    from rankgate.workspace.web.value_cache import ValueCache

ReplyForm = Literal["html", "json", "csv"]

_LOG = logging.getLogger("rankgate.web")

SESSION, FORM = "rankgate_session", "rankgate_form"
"""The cookies of a signed-in user, and of forms before sign-in."""

_SMALL_BYTES = 16_384
"""The largest size in bytes of a request that is read before its sender is known."""

_FORM_STATUSES = {400, 401, 404, 409, 413}
"""HTTP status codes after which a form is shown again with the typed values."""

_TYPING_CODES = {"wrong-code", "wrong-password"}
"""Error codes after which a form is also shown again, because the user must correct the input."""

_NAME_CODES = {"invalid-name", "name-taken", "unknown-user"}
"""Error codes that belong to the field with a name."""

_BROWSER_SIGNS = 300
"""The largest number of stored characters of a user agent."""

_MAX_NUMBER = 2**53
"""The largest possible row number."""

_STATUS_OF_CODE = {
    "rating-conflict": 409,
    "batch-closed": 409,
    "task-not-assigned": 409,
    "job-active": 409,
    "name-taken": 409,
    "scale-in-use": 409,
    "in-use": 409,
}
"""HTTP status codes other than 400 and 404, by error code."""

_STORE_FAULTS = frozenset(
    {
        "store-locked",
        "cannot-connect",
        "cannot-write",
        "store-refused",
        "not-a-store",
        "damaged-blob",
        "missing-blob",
    }
)
"""Failures of the store, whose messages contain its location; clients may retry (503)."""

_STORE_MESSAGE = (
    "The server cannot use its store at the moment, and this request was not saved; try again. The log of "
    "the server has the reason."
)


@dataclass(frozen=True)
class Endpoint:
    """A route as an endpoint of Starlette.

    Attributes:
        route: the route.
        routes: every route by name, for forms on pages.
        config: the settings of the server.
        cache: the value cache of the application.
        buckets: the request limits of clients.
        form: the format of the reply; a page is still JSON for programs.
        find_following: a function to the next step of a request's project, linked after a step.
    """

    route: Route
    routes: Mapping[str, Route]
    config: ServerConfig
    cache: ValueCache
    buckets: RequestBuckets | SharedRequestBuckets
    form: ReplyForm
    find_following: Callable[[WebRequest], PageValue]

    async def __call__(self, request: Request) -> Response:
        """Answer a request."""
        as_json = self.form != "html" or wants_json(request)
        raw_values: dict[str, Json] = {}
        identity = Identity()
        try:
            if self.route.method == "GET" or _is_small(request):  # one thread instead of two
                raw_values = await self._send_reply(request)
                return await to_thread.run_sync(
                    partial(self._answer_both, request, raw_values, as_json=as_json)
                )
            identity = await to_thread.run_sync(self._identify, request)
            raw_values = await self._send_reply(request)
            return await to_thread.run_sync(
                partial(self._answer, request, identity, raw_values, as_json=as_json)
            )
        except RequestRefused as refused:
            return self._refused(request, identity, refused, raw_values, as_json=as_json)
        except RankgateError as error:
            return self._refused(request, identity, _refusal_of(error), raw_values, as_json=as_json)
        except Exception:  # noqa: BLE001 - one request that fails does not end the server
            _LOG.exception("%s %s failed", request.method, self.route.path)
            fault = RequestRefused(
                500, "own-fault", "This is an internal error of rankgate; your request was not carried out."
            )
            return self._refused(request, identity, fault, raw_values, as_json=as_json)

    def _answer_both(self, request: Request, raw_values: dict[str, Any], *, as_json: bool) -> Response:
        identity = Identity()
        try:
            identity = self._identify(request)
            return self._answer(request, identity, raw_values, as_json=as_json)
        except RequestRefused as refused:
            return self._refused(request, identity, refused, raw_values, as_json=as_json)
        except RankgateError as error:
            return self._refused(request, identity, _refusal_of(error), raw_values, as_json=as_json)

    def _identify(self, request: Request) -> Identity:
        if any(
            isinstance(parameter, int) and parameter > _MAX_NUMBER
            for parameter in request.path_params.values()
        ):
            raise not_found()
        cookie = request.cookies.get(SESSION)
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        bearer = credentials.strip() if scheme.lower() == "bearer" else None
        project = request.path_params.get("project")
        try:
            identity = security.identify_sender(self.config.store, project, cookie, bearer)
        except RequestRefused:  # an invented token
            self._count(_client_address(request))
            raise
        owner = identity.session or identity.token
        self._count(_client_address(request) if owner is None else f"{type(owner).__name__} {owner.id}")
        security.refuse_unpermitted(self.route, identity)
        host = request.headers.get("host", "")
        if self.route.method != "GET" and not security.same_origin(request.headers, host):
            raise RequestRefused(403, "forged-request", "The request comes from another site.")
        return identity

    def _count(self, client: str) -> None:
        if wait := self.buckets.wait(client):
            raise RequestRefused(429, "too-many-requests", f"Try again in {wait} s.", again=wait)

    async def _send_reply(self, request: Request) -> dict[str, Any]:
        if self.route.method == "GET":
            return dict(request.query_params)
        files = self.route.has_file
        time_limit = self.config.patience * (10 if files else 1)
        size_limit = self.config.largest_upload if files else self.config.largest
        try:
            async with asyncio.timeout(time_limit):
                return await _read_body(request, size_limit)
        except TimeoutError:
            raise RequestRefused(408, "too-slow", "The request took too long to arrive.") from None

    def _answer(
        self, request: Request, identity: Identity, raw_values: dict[str, Json], *, as_json: bool
    ) -> Response:
        form_word = request.cookies.get(FORM, "")
        form_token = str(raw_values.pop("csrf", "") or request.headers.get("x-csrf-token", ""))
        security.refuse_forged(self.route, identity, form_token, form_word)
        raw_values.pop("done", None) if self.route.method == "GET" else None
        raw = self.form == "csv" and is_true(raw_values.pop("raw", None))
        page_request = WebRequest(
            config=self.config,
            cache=self.cache,
            who=identity,
            path=request.path_params,
            values=check_values(
                self.route.fields, raw_values, strict=as_json and not raw_values.get("_form")
            ),
            address=_client_address(request),
            origin=f"{self._scheme(request)}://{request.headers.get('host', '')}",
            form_word=form_word,
            cookies=request.cookies,
            browser=request.headers.get("user-agent", "")[:_BROWSER_SIGNS],
        )
        reply = self.route.handler(page_request)
        return self._response(request, page_request.who, reply, as_json=as_json, raw=raw)

    def _response(
        self, request: Request, identity: Identity, reply: Reply, *, as_json: bool, raw: bool
    ) -> Response:
        if isinstance(reply, FileReply):
            return self._file(reply)
        cookies = dict(reply.cookies)
        if isinstance(reply, RedirectReply):
            response = Response(status_code=303, headers={"location": reply.address})
        elif isinstance(reply, ActionReply):
            response = self._finish(request, identity, reply, as_json=as_json)
        elif self.form == "csv" and reply.rows is not None:
            # the main table of a page as CSV, for spreadsheets or unchanged for programs
            content = (csv_form.plain_csv if raw else csv_form.guarded_csv)(reply.rows.head, reply.rows.rows)
            return self._file(
                FileReply(content.encode(), "text/csv; charset=utf-8", request.url.path.rpartition("/")[2])
            )
        elif as_json:
            response = Response(to_json(reply.data), reply.status, media_type="application/json")
        else:
            values = self._values(request, identity, reply.extra.get("record_group", ""))
            if identity.session is None and not values["csrf"]:  # a form before sign-in
                values["csrf"] = cookies[FORM] = secrets.token_urlsafe()
            values |= self._texts(request, reply.template)
            html = render_template(reply.template, **values, **reply.data, **reply.extra)
            response = Response(html, reply.status, media_type="text/html")
        for name, value in cookies.items():
            path = self.config.base or "/"
            if value is None:
                response.delete_cookie(name, path=path)
            else:
                response.set_cookie(
                    name, value, path=path, httponly=True, samesite="lax", secure=self.config.secure
                )
        images = reply.images if isinstance(reply, PageReply) else ()
        return add_security_headers(response, self.config, images)

    def _finish(self, request: Request, identity: Identity, reply: ActionReply, *, as_json: bool) -> Response:
        if not as_json:
            path, hash_sign, fragment = reply.to.partition("#")
            mark = "&" if "?" in path else "?"
            done_query = f"{mark}done={self.route.name}" if self.route.needs != ANYONE else ""
            location = f"{self.config.base}{path}{done_query}{hash_sign}{fragment}"
            return Response(status_code=303, headers={"location": quote(location, safe="/?&=%#+:")})
        data = dict(reply.data)
        if reply.fragment and request.headers.get("x-fragment"):
            values = self._values(request, identity) | self._texts(request, reply.fragment)
            values |= dict(reply.data) | dict(reply.extra)
            data["html"] = render_template(reply.fragment, **values)
        return Response(to_json(data), media_type="application/json")

    def _file(self, reply: FileReply) -> Response:
        headers = {"cache-control": "no-store" if reply.fresh else "public, max-age=31536000"}
        if reply.name:
            name = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in reply.name)
            headers["content-disposition"] = f'attachment; filename="{name}"'
        response = Response(reply.content, headers=headers, media_type=reply.media)
        return add_security_headers(response, self.config)

    def _texts(self, request: Request, template: str) -> dict[str, Any]:
        """The texts of a template in the reader's language, and the other languages."""
        if template not in TRANSLATED:
            return {}
        language = request.cookies.get(LANGUAGE)
        path = request.url.path.removeprefix(self.config.base)
        query = request.url.query
        return {
            "t": choose_texts(language, request.headers.get("accept-language", "")),
            "languages": list(read_languages().values()),
            "here_path": f"{path}?{query}" if query else path,
        }

    def _values(self, request: Request, identity: Identity, record_group: str = "") -> dict[str, Any]:
        """The values available in every template."""
        done_route = self.routes.get(request.query_params.get("done", ""))
        following: PageValue = None
        if done_route and done_route.does_step and (identity.role or "") in done_route.needs:
            page_request = WebRequest(self.config, self.cache, identity, request.path_params)
            following = self.find_following(page_request)
        # the query string for links to the JSON and CSV versions of a page
        parameters = [(name, value) for name, value in request.query_params.multi_items() if name != "done"]
        return {
            "base": self.config.base,
            "routes": self.routes,
            "title": self.route.title,
            "here": request.url.path,
            "languages": (),
            "search": urlencode(parameters, quote_via=quote),
            "who": identity,
            "menu": make_menu(identity, self.routes, self.config.base, self.route.name, record_group),
            "csrf": identity.session.csrf if identity.session else request.cookies.get(FORM, ""),
            "done": done_route.title if done_route else "",
            "following": following,
        }

    def _scheme(self, request: Request) -> str:
        return "https" if self.config.secure else request.url.scheme

    def _refused(
        self,
        request: Request,
        identity: Identity,
        refused: RequestRefused,
        raw_values: JsonObject,
        *,
        as_json: bool,
    ) -> Response:
        headers = {} if refused.again is None else {"retry-after": str(refused.again)}
        if refused.status == 401 and self.route.method == "GET" and not as_json:
            next_path = quote(request.url.path.removeprefix(self.config.base), safe="/")
            location = f"{self.config.base}/sign-in?next={next_path}"
            return add_security_headers(
                Response(status_code=303, headers={"location": location}), self.config
            )
        if as_json:
            error = {"error": {"code": refused.code, "message": refused.problem}}
            response = Response(to_json(error), refused.status, headers, "application/json")
        else:
            values = self._values(request, identity) | {
                "refused": refused,
                "route": self.route.name,
                "form_again": None,
            }
            correctable = refused.status in _FORM_STATUSES or refused.code in _TYPING_CODES
            if self.route.method == "POST" and correctable and raw_values:
                values["form_again"] = self._form_again(request, identity, refused, raw_values)
            html = render_template("refused.html", **values)
            response = Response(html, refused.status, headers, "text/html")
        return add_security_headers(response, self.config)

    def _form_again(
        self, request: Request, identity: Identity, refused: RequestRefused, raw_values: JsonObject
    ) -> Mapping[str, Any]:
        """The values shown again in a form after an error: typed texts and errors."""
        fields = self.route.fields
        typed_values = {
            field.name: bool(raw_values.get(field.name))
            if field.kind == "flag"
            else raw_values.get(field.name, "")
            for field in fields
        }
        # values sent without a visible field; a check has its own button
        hidden_values = {
            field.name: typed_values[field.name]
            for field in fields
            if not field.label and field.kind != "flag" and typed_values[field.name]
        }
        visible_fields = [field.name for field in fields if field.label]
        problem_field = refused.field if refused.field in visible_fields else ""
        if not problem_field and refused.code in _NAME_CODES and "name" in visible_fields:
            problem_field = "name"
        if not problem_field and len(visible_fields) == 1:
            problem_field = visible_fields[0]
        return {
            "given": typed_values,
            "hidden": {**hidden_values, **request.path_params},
            "problems": {problem_field: refused.problem} if problem_field else {},
            "options": self._options(request, identity),
        }

    def _options(self, request: Request, identity: Identity) -> dict[str, list[str]]:
        """The choices of lists in a form; empty if the project or the store is missing."""
        if identity.role is None:
            return {}
        page_request = WebRequest(self.config, self.cache, identity, request.path_params)
        with suppress(RankgateError):
            return {
                field.name: field.options(page_request)
                for field in self.route.fields
                if field.options is not None
            }
        return {}


def _refusal_of(error: RankgateError) -> RequestRefused:
    if error.code in _STORE_FAULTS:
        _LOG.error("%s (%s)", error, error.code)
        return RequestRefused(503, error.code, _STORE_MESSAGE)
    status = _STATUS_OF_CODE.get(error.code, 404 if error.code.startswith("unknown-") else 400)
    return RequestRefused(status, error.code, str(error))


def _is_small(request: Request) -> bool:
    """True if the body is small enough to be read before the sender is known."""
    length = request.headers.get("content-length", "")
    return length.isdecimal() and int(length) <= _SMALL_BYTES


def wants_json(request: Request) -> bool:
    """True if a program sends the request, with a token or with JSON."""
    return (
        "authorization" in request.headers
        or request.headers.get("content-type", "").partition(";")[0].strip() == "application/json"
    )


def _client_address(request: Request) -> str:
    return request.client.host if request.client else ""


_MAX_FIELDS, _MAX_TEXT_BYTES = 1_000, 20_000_000


async def _read_body(request: Request, size_limit: int) -> dict[str, Any]:
    """Read the fields and files of a request."""
    if int(request.headers.get("content-length") or 0) > size_limit:
        raise _too_large(size_limit)

    async def limited() -> AsyncGenerator[bytes, None]:
        size = 0
        async for piece in request.stream():
            size += len(piece)
            if size > size_limit:
                raise _too_large(size_limit)
            yield piece

    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind == "application/json":
        return _parse_json(b"".join([piece async for piece in limited()]))
    text_limit = min(size_limit, _MAX_TEXT_BYTES)
    if kind != "multipart/form-data":
        return _parse_form(b"".join([piece async for piece in limited()]), text_limit)
    parser = MultiPartParser(
        request.headers, limited(), max_files=20, max_fields=_MAX_FIELDS, max_part_size=text_limit
    )
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError) as error:
        if "maximum size" in str(error):
            raise _too_large(text_limit) from None
        raise RequestRefused(400, "invalid-syntax", "The form cannot be read.") from None
    try:
        return {name: await _read_form_value(form_value) for name, form_value in form.items()}
    finally:
        await form.close()


def _parse_form(content: bytes, size_limit: int) -> dict[str, Any]:
    """The fields of an urlencoded form; of a repeated one the last."""
    if len(content) > size_limit:
        raise _too_large(size_limit)
    try:
        text = content.decode("utf-8", "replace")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS, separator="&"))
    except ValueError:
        raise RequestRefused(400, "invalid-syntax", "The form cannot be read.") from None


async def _read_form_value(form_value: UploadFile | str) -> Upload | str:
    return (
        form_value
        if isinstance(form_value, str)
        else Upload(form_value.filename or "", await form_value.read())
    )


def _parse_json(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        raise RequestRefused(400, "invalid-syntax", "The body is not JSON.") from None
    if not isinstance(body, dict):
        raise RequestRefused(400, "invalid-syntax", "The body is not an object of JSON.")
    return body


def _too_large(size_limit: int) -> RequestRefused:
    problem = f"The request is larger than {size_limit:,} bytes. Send a long text as a file, or in parts."
    return RequestRefused(413, "too-large", problem)
