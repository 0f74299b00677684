"""A local server that speaks as much of wandb's protocol as a run needs, and can be stopped in the middle."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USER = {"id": "VXNlcjox", "username": "someone", "entity": "team", "email": "", "admin": False, "flags": "{}"}


class WandbServer:
    """Starts at construction, on a free port of this machine."""

    def __init__(self) -> None:
        self.operations: list[str] = []
        """the GraphQL operations and the paths of other requests, in order"""
        self.runs: list[dict[str, Any]] = []
        """the variables of the mutations that start or change a run"""
        self.rows_sent = threading.Event()
        """set once rows of metrics have arrived"""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        """Refuses all further connections."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, body: bytes) -> dict[str, Any]:
        """Returns the answer to a POST."""
        if path != "/graphql":
            self.operations.append(path)
            if path.endswith("/file_stream") and b"wandb-history" in body:
                self.rows_sent.set()
            return {}
        request = json.loads(body)
        found = re.search(r"(?:query|mutation)\s+(\w+)", request["query"])
        operation, variables = found[1] if found else "", request.get("variables") or {}
        self.operations.append(operation)
        if operation == "UpsertBucket":
            self.runs.append(variables)
            project = {"id": "p", "name": "kanachan", "entity": {"id": "e", "name": "team"}}
            bucket = {"id": "b", "name": variables.get("name"), "displayName": variables.get("displayName")}
            bucket |= {"project": project, "historyLineCount": 0, "config": "{}", "sweepName": None}
            return {"data": {"upsertBucket": {"bucket": bucket, "inserted": True}}}
        if operation == "RunResumeStatus":
            return {"data": {"model": None}}
        if operation == "Viewer":
            return {"data": {"viewer": {**USER, "teams": {"edges": []}, "apiKeys": {"edges": []}}}}
        if operation == "ServerFeaturesQuery":
            return {"data": {"serverInfo": {"features": []}}}
        if "viewer" in request["query"]:
            return {"data": {"viewer": {**USER, "teams": {"edges": []}}, "serverInfo": {"features": []}}}
        return {"errors": [{"message": f"not known here: {operation}"}]}


def _handler(server: WandbServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = json.dumps(server.answer(self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler
