"""A small provider of OpenID Connect on this machine, which can also be made to lie."""

import base64
import hashlib
import hmac
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from support.waiting import PATIENCE

SECRET = "a secret of the client: %/ü"  # noqa: S105 - of tests


class Provider:
    """What it knows; ``user`` are the claims of who signs in, ``lie`` changes a token's."""

    def __init__(self):
        self.client_id, self.user = "rankgate", {}
        self.codes, self.asked = {}, []
        self.issuer = self.says = ""
        self.described = {}
        self.rotate()
        self.honest()

    def honest(self):
        """Tell the truth again."""
        self.lie, self.key, self.by_secret, self.answer = dict, None, None, {}

    def rotate(self):
        """Replace the key by one new key."""
        key = ECKey.generate_key("P-256", {"kid": token_urlsafe(8), "use": "sig"}, private=True)
        self.keys = KeySet([key])

    def description(self):
        """The discovery document."""
        issuer = self.issuer
        return {
            "issuer": self.says or issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
            "response_types_supported": ["code"],
            **self.described,
        }

    def authorize(self, asked):
        """The address to which the browser returns: every user is signed in as ``user``."""
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = token_urlsafe()
        self.codes[code] = asked
        answer = {"code": code, "state": asked["state"], "iss": self.issuer, **self.answer}
        answer = {name: value for name, value in answer.items() if value is not None}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def token(self, form, authorization):
        """The tokens for a code, once; None if the client, the code or its proof is wrong."""
        self.asked.append(form)
        credentials = base64.b64decode(authorization.partition(" ")[2]).decode().split(":")
        if [unquote(credential) for credential in credentials] != [self.client_id, SECRET]:
            return None
        sign_in_request = self.codes.pop(form["code"], None)
        if sign_in_request is None or sign_in_request["redirect_uri"] != form["redirect_uri"]:
            return None
        proof = hashlib.sha256(form["code_verifier"].encode()).digest()
        if _encoded(proof) != sign_in_request["code_challenge"]:
            return None
        moment = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": self.client_id,
            "iat": moment,
            "exp": moment + 300,
            "nonce": sign_in_request["nonce"],
            **self.user,
        }
        header = {"alg": "ES256", "kid": self.keys.keys[0].kid}
        claims = {name: value for name, value in self.lie(claims).items() if value is not None}
        if self.by_secret is None:
            signed = jwt.encode(header, claims, self.key or self.keys.keys[0])
        else:
            signed = _by_secret(header, claims, self.by_secret)
        return {"access_token": token_urlsafe(), "token_type": "Bearer", "id_token": signed}


def _by_secret(header, claims, secret):
    """A token that is signed by a secret, or not at all."""
    header = {**header, "alg": "HS256" if secret else "none"}
    segments = [_encoded(json.dumps(document).encode()) for document in (header, claims)]
    signed = hmac.new(secret, ".".join(segments).encode(), hashlib.sha256).digest() if secret else b""
    return ".".join([*segments, _encoded(signed)])


def _encoded(content):
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


@contextmanager
def provided():
    """A provider that listens on this machine."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = urlsplit(self.path)
            if path.path == "/authorize":
                parameters = {name: values[0] for name, values in parse_qs(path.query).items()}
                self.send_response(302)
                self.send_header("location", provider.authorize(parameters))
                self.end_headers()
            elif path.path == "/keys":
                self.reply(200, provider.keys.as_dict(private=False))
            else:
                self.reply(200, provider.description())

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            tokens = provider.token(form, self.headers.get("authorization", ""))
            self.reply(400 if tokens is None else 200, tokens or {"error": "invalid_grant"})

        def reply(self, status, data):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(data).encode())

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)
