"""From a request of HTTP to a handler and back: limits, who asks, values, the form of the reply."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlencode

from anyio import to_thread
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.responses import Response

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.present.forms import as_csv
from rankgate.workspace.web import access
from rankgate.workspace.web.asked import Asked, Upload, Who
from rankgate.workspace.web.fields import checked, is_true
from rankgate.workspace.web.headers import secured
from rankgate.workspace.web.render import plain, rendered
from rankgate.workspace.web.replies import Away, Done, Page, Refused, Reply, Sent, not_found
from rankgate.workspace.web.route import ANYONE, Route

if TYPE_CHECKING:
    from starlette.datastructures import UploadFile
    from starlette.requests import Request

    from rankgate.core.present.document import PlainRows
    from rankgate.workspace.web.config import Config
    from rankgate.workspace.web.limits import Buckets, SharedBuckets

Form = Literal["html", "json", "csv"]

_LOG = logging.getLogger("rankgate.web")

SESSION, FORM = "rankgate_session", "rankgate_form"
"""The cookies: of who is signed in, and of forms before that."""

_SMALL = 16_384
"""Bytes of a request that is read before it is known who asks."""

_FORM_AGAIN = {400, 401, 404, 409}
"""Codes of HTTP after which a form is shown again, with what was typed."""

_NAMES = {"invalid-name", "name-taken", "unknown-user"}
"""Codes of errors that are of the field with a name."""

_LAST = 2**53
"""The largest number of a row."""

_STATUS = {
    "rating-conflict": 409, "batch-closed": 409, "task-not-assigned": 409, "job-active": 409,
    "name-taken": 409, "scale-in-use": 409, "in-use": 409,
}  # fmt: skip
"""Codes of HTTP that are neither 400 nor 404."""

_STORE_FAULTS = frozenset({
    "store-locked", "cannot-connect", "cannot-write", "store-refused", "not-a-store",
    "damaged-blob", "missing-blob",
})  # fmt: skip
"""Faults of the store, whose messages name its place; clients may send again (503)."""

_STORE_MESSAGE = (
    "The server cannot use its store at the moment, and nothing of this request was saved; try "
    "again. The log of the server has the reason."
)


@dataclass(frozen=True)
class Endpoint:
    """A route as Starlette calls it.

    Attributes:
        route: what it does.
        routes: every route by name, for forms on pages.
        config: of the server.
        buckets: how often clients ask.
        form: of the reply; a page is JSON for programs all the same.
    """

    route: Route
    routes: Mapping[str, Route]
    config: Config
    buckets: Buckets | SharedBuckets
    form: Form

    async def __call__(self, request: Request) -> Response:
        """Answer a request."""
        as_json = self.form != "html" or wants_json(request)
        sent: dict[str, Any] = {}
        who = Who()
        try:
            if self.route.method == "GET" or _is_small(request):  # one turn in a thread, not two
                sent = await self._sent(request)
                return await to_thread.run_sync(partial(self._both, request, sent, as_json=as_json))
            who = await to_thread.run_sync(self._who, request)
            sent = await self._sent(request)
            return await to_thread.run_sync(
                partial(self._answer, request, who, sent, as_json=as_json)
            )
        except Refused as refused:
            return self._refused(request, who, refused, sent, as_json=as_json)
        except RankgateError as error:
            return self._refused(request, who, _refusal(error), sent, as_json=as_json)
        except Exception:  # noqa: BLE001 - one request that fails does not end the server
            _LOG.exception("%s %s failed", request.method, self.route.path)
            fault = Refused(
                500, "own-fault", "This is a fault of rankgate; what you sent was not carried out."
            )
            return self._refused(request, who, fault, sent, as_json=as_json)

    def _both(self, request: Request, sent: dict[str, Any], *, as_json: bool) -> Response:
        who = Who()
        try:
            who = self._who(request)
            return self._answer(request, who, sent, as_json=as_json)
        except Refused as refused:
            return self._refused(request, who, refused, sent, as_json=as_json)
        except RankgateError as error:
            return self._refused(request, who, _refusal(error), sent, as_json=as_json)

    def _who(self, request: Request) -> Who:
        if any(isinstance(each, int) and each > _LAST for each in request.path_params.values()):
            raise not_found()
        cookie = request.cookies.get(SESSION)
        scheme, _, word = request.headers.get("authorization", "").partition(" ")
        bearer = word.strip() if scheme.lower() == "bearer" else None
        project = request.path_params.get("project")
        try:
            found = access.who(self.config.store, project, cookie, bearer)
        except Refused:  # a token that is made up
            self._count(_address(request))
            raise
        owner = found.session or found.token
        self._count(_address(request) if owner is None else f"{type(owner).__name__} {owner.id}")
        access.refuse(self.route, found)
        host = request.headers.get("host", "")
        if self.route.method != "GET" and not access.same_origin(request.headers, host):
            raise Refused(403, "forged-request", "The request comes from another site.")
        return found

    def _count(self, client: str) -> None:
        if wait := self.buckets.wait(client):
            raise Refused(429, "too-many-requests", f"Try again in {wait} s.", again=wait)

    async def _sent(self, request: Request) -> dict[str, Any]:
        if self.route.method == "GET":
            return dict(request.query_params)
        files = self.route.has_file
        patience = self.config.patience * (10 if files else 1)
        most = self.config.largest_upload if files else self.config.largest
        try:
            async with asyncio.timeout(patience):
                return await _body(request, most)
        except TimeoutError:
            raise Refused(408, "too-slow", "The request took too long to arrive.") from None

    def _answer(
        self, request: Request, who: Who, sent: dict[str, Any], *, as_json: bool
    ) -> Response:
        form_word = request.cookies.get(FORM, "")
        given = str(sent.pop("csrf", "") or request.headers.get("x-csrf-token", ""))
        access.refuse_forged(self.route, who, given, form_word)
        sent.pop("done", None) if self.route.method == "GET" else None
        raw = self.form == "csv" and is_true(sent.pop("raw", None))
        asked = Asked(
            config=self.config,
            who=who,
            path=request.path_params,
            values=checked(self.route.fields, sent, strict=as_json and not sent.get("_form")),
            address=_address(request),
            origin=f"{self._scheme(request)}://{request.headers.get('host', '')}",
            form_word=form_word,
            cookies=request.cookies,
        )
        reply = self.route.handler(asked)
        return self._response(request, asked.who, reply, as_json=as_json, raw=raw)

    def _response(
        self, request: Request, who: Who, reply: Reply, *, as_json: bool, raw: bool
    ) -> Response:
        if isinstance(reply, Sent):
            return self._file(reply)
        cookies = dict(reply.cookies)
        if isinstance(reply, Away):
            response = Response(status_code=303, headers={"location": reply.address})
        elif isinstance(reply, Done):
            response = self._done(request, who, reply, as_json=as_json)
        elif self.form == "csv" and reply.rows is not None:
            return self._file(_sheet(reply.rows, request.url.path, raw=raw))
        elif as_json:
            response = Response(plain(reply.data), reply.status, media_type="application/json")
        else:
            html = self._page(request, who, reply, cookies)
            response = Response(html, reply.status, media_type="text/html")
        for name, value in cookies.items():
            self._cookie(response, name, value)
        images = reply.images if isinstance(reply, Page) else ()
        return secured(response, self.config, images)

    def _done(self, request: Request, who: Who, reply: Done, *, as_json: bool) -> Response:
        if not as_json:
            mark = "&" if "?" in reply.to else "?"
            done = f"{mark}done={self.route.name}" if self.route.needs != ANYONE else ""
            place = f"{self.config.base}{reply.to}{done}"
            return Response(status_code=303, headers={"location": quote(place, safe="/?&=%#+:")})
        data = dict(reply.data)
        if reply.fragment and request.headers.get("x-fragment"):
            values = self._values(request, who) | dict(reply.data) | dict(reply.extra)
            data["html"] = rendered(reply.fragment, **values)
        return Response(plain(data), media_type="application/json")

    def _file(self, reply: Sent) -> Response:
        headers = {"cache-control": "no-store" if reply.fresh else "public, max-age=31536000"}
        if reply.name:
            name = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_"
                           for c in reply.name)  # fmt: skip
            headers["content-disposition"] = f'attachment; filename="{name}"'
        response = Response(reply.content, headers=headers, media_type=reply.media)
        return secured(response, self.config)

    def _page(self, request: Request, who: Who, reply: Page, cookies: dict[str, str | None]) -> str:
        values = self._values(request, who)
        if who.session is None and not values["csrf"]:  # a form before anybody is signed in
            values["csrf"] = cookies[FORM] = secrets.token_urlsafe()
        return rendered(reply.template, **values, **reply.data, **reply.extra)

    def _values(self, request: Request, who: Who) -> dict[str, Any]:
        """What every template may use."""
        done = self.routes.get(request.query_params.get("done", ""))
        return {
            "base": self.config.base,
            "routes": self.routes,
            "title": self.route.title,
            "here": request.url.path,
            "search": _search(request),
            "who": who,
            "csrf": who.session.csrf if who.session else request.cookies.get(FORM, ""),
            "done": done.title if done else "",
        }

    def _scheme(self, request: Request) -> str:
        return "https" if self.config.secure else request.url.scheme

    def _cookie(self, response: Response, name: str, value: str | None) -> None:
        path = self.config.base or "/"
        if value is None:
            response.delete_cookie(name, path=path)
        else:
            response.set_cookie(
                name, value, path=path, httponly=True, samesite="lax", secure=self.config.secure
            )

    def _refused(
        self, request: Request, who: Who, refused: Refused, sent: Mapping[str, Any], *,
        as_json: bool,
    ) -> Response:  # fmt: skip
        headers = {} if refused.again is None else {"retry-after": str(refused.again)}
        if refused.status == 401 and self.route.method == "GET" and not as_json:
            to = quote(request.url.path.removeprefix(self.config.base), safe="/")
            place = f"{self.config.base}/sign-in?next={to}"
            return secured(Response(status_code=303, headers={"location": place}), self.config)
        if as_json:
            error = {"error": {"code": refused.code, "message": refused.problem}}
            response = Response(plain(error), refused.status, headers, "application/json")
        else:
            values = self._values(request, who) | {
                "refused": refused, "route": self.route.name, "form_again": None,
            }  # fmt: skip
            mendable = refused.status in _FORM_AGAIN or refused.code == "wrong-password"
            if self.route.method == "POST" and mendable and sent:
                values["form_again"] = self._form_again(request, who, refused, sent)
            html = rendered("refused.html", **values)
            response = Response(html, refused.status, headers, "text/html")
        return secured(response, self.config)

    def _form_again(
        self, request: Request, who: Who, refused: Refused, sent: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """What the form of the route shows again: what was typed, and what is wrong with it."""
        fields = self.route.fields
        typed = {
            field.name: bool(sent.get(field.name)) if field.kind == "flag"
            else sent.get(field.name, "")
            for field in fields
        }  # fmt: skip
        # what the form sends without showing it; a check is asked for by its own button
        hidden = {
            field.name: typed[field.name]
            for field in fields
            if not field.label and field.kind != "flag" and typed[field.name]
        }
        shown = [field.name for field in fields if field.label]
        at = refused.field if refused.field in shown else ""
        if not at and refused.code in _NAMES and "name" in shown:
            at = "name"
        if not at and len(shown) == 1:
            at = shown[0]
        return {
            "given": typed,
            "hidden": {**hidden, **request.path_params},
            "problems": {at: refused.problem} if at else {},
            "options": self._options(request, who),
        }

    def _options(self, request: Request, who: Who) -> dict[str, list[str]]:
        """The words of lists in the form; none where the project or the store is away."""
        if who.role is None:
            return {}
        asked = Asked(self.config, who, request.path_params)
        with suppress(RankgateError):
            return {field.name: field.options(asked)
                    for field in self.route.fields if field.options is not None}  # fmt: skip
        return {}


def _sheet(rows: PlainRows, path: str, *, raw: bool) -> Sent:
    """The main table of a page, for spreadsheets; or as it is, for programs."""
    words = (as_csv.unguarded if raw else as_csv.written)(rows.head, rows.rows)
    return Sent(words.encode(), "text/csv; charset=utf-8", path.rpartition("/")[2])


def _search(request: Request) -> str:
    """The values in the address, for links to the twins of a page."""
    given = [(name, value) for name, value in request.query_params.multi_items() if name != "done"]
    return urlencode(given, quote_via=quote)


def _refusal(error: RankgateError) -> Refused:
    if error.code in _STORE_FAULTS:
        _LOG.error("%s (%s)", error, error.code)
        return Refused(503, error.code, _STORE_MESSAGE)
    status = _STATUS.get(error.code, 404 if error.code.startswith("unknown-") else 400)
    return Refused(status, error.code, str(error))


def _is_small(request: Request) -> bool:
    """Whether so little is sent that it may be read before it is known who asks."""
    length = request.headers.get("content-length", "")
    return length.isdecimal() and int(length) <= _SMALL


def wants_json(request: Request) -> bool:
    """Whether a program asks: with a token, or with JSON."""
    return "authorization" in request.headers or _is_json(request)


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip() == "application/json"


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


async def _body(request: Request, most: int) -> dict[str, Any]:
    """The fields and files that a request sends."""
    if int(request.headers.get("content-length") or 0) > most:
        raise _too_large(most)

    async def limited() -> AsyncGenerator[bytes, None]:
        size = 0
        async for piece in request.stream():
            size += len(piece)
            if size > most:
                raise _too_large(most)
            yield piece

    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind == "application/json":
        return _of_json(b"".join([piece async for piece in limited()]))
    if kind == "multipart/form-data":
        parser = MultiPartParser(request.headers, limited(), max_files=20, max_fields=100)
        try:
            form = await parser.parse()
        except (MultiPartException, KeyError):
            raise Refused(400, "invalid-syntax", "The form cannot be read.") from None
        try:
            return {name: await _value(each) for name, each in form.items()}
        finally:
            await form.close()
    return dict(await FormParser(request.headers, limited()).parse())


async def _value(each: UploadFile | str) -> Upload | str:
    return each if isinstance(each, str) else Upload(each.filename or "", await each.read())


def _of_json(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        raise Refused(400, "invalid-syntax", "The body is not JSON.") from None
    if not isinstance(found, dict):
        raise Refused(400, "invalid-syntax", "The body is not an object of JSON.")
    return found


def _too_large(most: int) -> Refused:
    return Refused(413, "too-large", f"The request is larger than {most:,} bytes.")
