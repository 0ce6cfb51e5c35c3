"""A real HTTP server that speaks both protocols of models, and misbehaves on request."""

import json
import re
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.waiting import until


class Server(ThreadingHTTPServer):
    """Answers with grade 2, or does what ``plan`` holds for a document, a step a request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.plan = {}
        self.delay = 0.0
        self.usage = True
        self.obeys = None  # words in a document that get it the grade 3
        self.asked = Counter()  # requests by document
        self.sent = []  # (path, headers, body, time)
        self.active = self.peak = 0
        self.lock = threading.Lock()
        self._answers = None  # how many more answers are given; None is any number
        self._may_answer = threading.Condition(self.lock)
        self._clients = set()  # addresses of connections that are open
        self._latest = None

    def handle_error(self, request, client_address):
        """A client that disconnects is not reported."""

    def limit(self, answers):
        """Give this number of answers, and keep further requests waiting; None is no limit."""
        with self._may_answer:
            self._answers = answers
            self._may_answer.notify_all()

    def wait_for_turn(self):
        """Wait until an answer may be given, and count it."""
        with self._may_answer:
            self._may_answer.wait_for(lambda: self._answers is None or self._answers > 0)
            if self._answers is not None:
                self._answers -= 1

    def settle(self):
        """Wait for all that was sent by clients which ended; none may be open."""
        with socket.create_connection(self.server_address) as last:
            address = last.getsockname()
            until(lambda: self._latest == address)  # connections are taken in their order
        until(lambda: not self._clients)

    def process_request(self, request, client_address):
        """Begin a connection."""
        with self.lock:
            self._clients.add(client_address)
            self._latest = client_address
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        """Serve a connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self.lock:
                self._clients.discard(client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # the body would wait for an acknowledgement of the headers

    def log_message(self, *args):
        pass

    def do_POST(self):
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        doc = re.search(r"text of (\w+)", body["messages"][-1]["content"])[1]
        with server.lock:
            step = server.asked[doc]
            server.asked[doc] += 1
            server.sent.append((self.path, dict(self.headers), body, time.monotonic()))
            server.active += 1
            server.peak = max(server.peak, server.active)
        try:
            time.sleep(server.delay)
            server.wait_for_turn()
            steps = server.plan.get(doc, [])
            act = steps[min(step, len(steps) - 1)] if steps else ("says", '{"grade": 2}')
            if server.obeys and server.obeys in body["messages"][-1]["content"]:
                act = ("says", '{"grade": 3}')
            getattr(self, f"_{act[0]}")(*act[1:])
        finally:
            with server.lock:
                server.active -= 1

    def _send(self, status, text, headers=(), length=None):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data) if length is None else length))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def _answer(self, text, end=None, refusal=None):
        if self.path == "/v1/messages":
            used = {"input_tokens": 100, "output_tokens": 10}
            body = {"content": [{"type": "text", "text": text}], "stop_reason": end or "end_turn"}
        else:
            assert self.path.endswith("/v1/chat/completions"), self.path
            used = {"prompt_tokens": 100, "completion_tokens": 10}
            message = {"role": "assistant", "content": text, "refusal": refusal}
            body = {"choices": [{"message": message, "finish_reason": end or "stop"}]}
        return json.dumps(body | ({"usage": used} if self.server.usage else {}))

    def _says(self, text, end=None, refusal=None):
        self._send(200, self._answer(text, end, refusal))

    def _uses_tool(self, given):
        block = {"type": "tool_use", "name": "grade", "input": given}
        used = {"input_tokens": 100, "output_tokens": 10}
        body = {"content": [block], "stop_reason": "tool_use", "usage": used}
        self._send(200, json.dumps(body))

    def _sends(self, text):
        self._send(200, text)

    def _fails(self, status, *headers, text='{"error": {"message": "busy"}}'):
        self._send(status, text, headers)

    def _fails_with(self, status, text):
        self._send(status, text)

    def _echoes(self, status):
        key = self.headers.get("Authorization") or self.headers.get("x-api-key") or ""
        self._send(status, json.dumps({"error": {"message": f"bad key {key} in {'x' * 170}"}}))

    def _answers_with_the_key(self):
        key = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        self._says(json.dumps({"grade": 1, "reason": f"the key is {key}"}))

    def _breaks_off(self):
        text = self._answer('{"grade": 3}')
        self._send(200, text[:40], length=len(text))
        self.close_connection = True

    def _hangs(self, seconds):
        time.sleep(seconds)
        self._says('{"grade": 3}')

    def _drips(self, seconds):
        text = self._answer('{"grade": 3}')
        self._send(200, "", length=len(text))
        for letter in text[: int(seconds / 0.1)]:
            self.wfile.write(letter.encode())
            self.wfile.flush()
            time.sleep(0.1)
        self.close_connection = True


@contextmanager
def model_server():
    """The server, running."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
