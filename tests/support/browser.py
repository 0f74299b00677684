"""Debian's chromium without a window, driven over two pipes by the DevTools protocol; no further package is needed."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_WAIT_S = 30.0


class Browser:
    """One page of a running browser."""

    def __init__(self, commands: int, replies: int) -> None:
        self._commands, self._replies = commands, replies
        self._buffer = b""
        self._last_id = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        """errors and warnings of the console, and uncaught exceptions"""
        self.requests: list[str] = []
        """the addresses that the page tried to load, without embedded data"""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, page: Path, width: int = 1280, height: int = 900, scheme: str = "light", *, place: str = "") -> None:
        """Opens a review, at a place such as `#s0-20`, in a window of that many CSS pixels, and waits until it is
        drawn."""
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=page.as_uri() + place)
        deadline = time.monotonic() + _WAIT_S
        is_drawn = f"document.URL.startsWith({json.dumps(page.as_uri())}) && document.body?.dataset.seat !== undefined"
        while not self.run(is_drawn):
            assert time.monotonic() < deadline, "the page does not load"
            time.sleep(0.02)

    def resize(self, width: int, height: int, scale: float = 1) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 500,
        )

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; it must be a JSON value."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """Presses and releases a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def click(self, selector: str) -> None:
        """Scrolls an element into view and clicks its middle."""
        x, y = self.run(
            f"(() => {{ const element = document.querySelector({json.dumps(selector)});"
            " element.scrollIntoView({block: 'center'});"
            " const box = element.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a method of the protocol; events that arrive meanwhile are noted."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._last_id:
                assert "error" not in reply, (method, reply["error"])
                return reply["result"]
            self._note(reply.get("method", ""), reply.get("params", {}))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            piece = os.read(self._replies, 1 << 16)
            assert piece, "the browser has ended"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event: str, parameters: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"]))
        elif event == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif event == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(parameters["args"]))
        elif event == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith("data:"):
            self.requests.append(parameters["request"]["url"])


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile; skips the test where none is installed."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium is installed (Debian: apt-get install chromium)")
    from_us, commands = os.pipe()
    replies, to_us = os.pipe()
    process = subprocess.Popen(
        # a shell gives the pipes the numbers that the protocol wants, whatever ours are
        ["bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "-", program]
        + ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        + ["--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={profile}", "about:blank"],
        pass_fds=(from_us, to_us),
        stderr=subprocess.DEVNULL,
    )
    os.close(from_us)
    os.close(to_us)
    try:
        yield Browser(commands, replies)
    finally:
        os.close(commands)
        os.close(replies)
        process.terminate()
        process.wait(_WAIT_S)
