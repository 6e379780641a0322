"""A headless Chromium, driven over the DevTools protocol through a pipe: no library, no port, no network.

Protocol: https://chromedevtools.github.io/devtools-protocol/; messages are JSON that ends with a NUL byte, on the
descriptors 3 and 4 of the browser (`--remote-debugging-pipe`).
"""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.patience import HANG_SECONDS

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",  # the tests may run as root, and the page is ours
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--font-render-hinting=none",
    "--remote-debugging-pipe",
)

# Puts the pipes where the browser looks for them.
_START = """\
import fcntl, os, sys
commands, answers = (fcntl.fcntl(int(text), fcntl.F_DUPFD, 10) for text in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""

# Of a new tab, in CSS pixels.
_WIDTH, _HEIGHT = 1280, 860

JsonObject = dict[str, Any]


def find_browser() -> str | None:
    """The program, None where there is no Chromium."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class BrowserError(Exception):
    """The browser refused, or does not answer."""


class Browser:
    """A browser with an empty profile, ended and cleaned up by `close`."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="kaa-browser-")
        commands_out, self._commands = os.pipe()
        self._answers, answers_in = os.pipe()
        start = [sys.executable, "-I", "-c", _START, str(commands_out), str(answers_in)]
        self._process = subprocess.Popen(
            [*start, program, *_FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            pass_fds=(commands_out, answers_in),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands_out)
        os.close(answers_in)
        self._received = bytearray()
        self._number = 0
        self.events: list[JsonObject] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def process_id(self) -> int:
        """Of the browser's first process; pages have processes of their own below it."""
        return self._process.pid

    def send(self, method: str, parameters: JsonObject | None = None, session: str | None = None) -> JsonObject:
        """Call a method of the protocol and wait for its result. Events that come meanwhile are kept in `events`."""
        self._number += 1
        message: JsonObject = {"id": self._number, "method": method, "params": parameters or {}}
        if session is not None:
            message["sessionId"] = session
        self._write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(time.monotonic() + HANG_SECONDS)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error'].get('message')}")
                result: JsonObject = answer["result"]
                return result
            self.events.append(answer)

    def collect(self, seconds: float) -> None:
        """Take events for a while."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(TimeoutError):
            while True:
                self.events.append(self._receive(deadline))

    @contextlib.contextmanager
    def page(self, width: int = _WIDTH, height: int = _HEIGHT) -> "Iterator[Page]":
        """A new tab, which shares no storage with others."""
        context = self.send("Target.createBrowserContext")
        target = self.send("Target.createTarget", {"url": "about:blank", **context})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
            page.send(f"{domain}.enable")
        page.resize(width, height)
        try:
            yield page
        finally:
            self.send("Target.disposeBrowserContext", context)

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(BrowserError, TimeoutError, OSError):
            self.send("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _write(self, data: bytes) -> None:
        written = 0
        while written < len(data):
            written += os.write(self._commands, data[written:])

    def _receive(self, deadline: float) -> JsonObject:
        while (end := self._received.find(b"\0")) < 0:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self._answers, 1 << 20)
            if not chunk:
                raise BrowserError("the browser has ended")
            self._received += chunk
        message: JsonObject = json.loads(self._received[:end])
        del self._received[: end + 1]
        return message


class Page:
    """A tab. Use `Browser.page`."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def send(self, method: str, parameters: JsonObject | None = None) -> JsonObject:
        """Call a method of the protocol for this tab."""
        return self._browser.send(method, parameters, self._session)

    def empty(self) -> None:
        """Make the tab like a new one: blank, without storage and history of events, of the usual size.

        The first page that a new tab opens costs a second of processor time, the next ones a fifth of it.
        """
        self.evaluate("try { localStorage.clear(); sessionStorage.clear(); } catch {}")  # a blank page has none
        self.send("Page.navigate", {"url": "about:blank"})
        self.send("Emulation.setEmulatedMedia", {"media": "", "features": []})
        self.resize(_WIDTH, _HEIGHT)
        self._browser.events.clear()

    def resize(self, width: int, height: int) -> None:
        """Set the size of the viewport, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str) -> None:
        """Be a system that is `dark` or `light`."""
        self.send("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, file: Path, fragment: str = "") -> None:
        """Open a file and wait until its viewer is ready."""
        self.send("Page.navigate", {"url": file.absolute().as_uri() + fragment})
        self.wait_for("document.readyState === 'complete' && document.body && document.body.dataset.ready === 'true'")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, which may be a promise."""
        parameters = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        result = self.send("Runtime.evaluate", parameters)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + HANG_SECONDS
        while not self.evaluate(f"Boolean({expression})"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"it does not become true: {expression}; {self.problems()}")
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Press keys, by their names in `KeyboardEvent.key`."""
        for key in keys:
            typed = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            self.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": key, "code": key, **typed})
            self.send("Input.dispatchKeyEvent", {"type": "keyUp", "key": key, "code": key})

    def click(self, selector: str) -> None:
        """Click into the middle of an element."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.evaluate(f"{element}.scrollIntoView({{block: 'center'}})")
        place = f"{element}.getBoundingClientRect()"
        script = f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({place})"
        x, y = self.evaluate(script)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1})

    def text(self, selector: str) -> str:
        """The visible text of an element."""
        text: str = self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")
        return text

    def screenshot(self) -> bytes:
        """The viewport as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", {"format": "png"})["data"])

    def problems(self) -> list[str]:
        """Everything this tab complained of so far: exceptions, errors on the console, violations of the policy."""
        self._browser.collect(0.2)
        found = []
        for event in self._mine():
            method, parameters = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"].get("exception", {}).get("description")))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
            elif method == "Audits.issueAdded" and parameters["issue"]["code"] == "ContentSecurityPolicyIssue":
                found.append(json.dumps(parameters["issue"]["details"]))
        return found

    def requests(self) -> list[str]:
        """The addresses that this tab asked the network for, the page itself among them; not data of its own."""
        self._browser.collect(0.2)
        urls = [e["params"]["request"]["url"] for e in self._mine() if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")]

    def _mine(self) -> list[JsonObject]:
        return [event for event in self._browser.events if event.get("sessionId") == self._session]
