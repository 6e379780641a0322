"""A login in the browser, shown on the standard error stream; what is pasted comes from the keyboard."""

import asyncio
import os
import sys

from kaa.frontends.browser import open_in_browser
from kaa.frontends.delivery import deliver
from kaa.tui.sanitize import sanitize

_LONGEST_LINE_BYTES = 64 * 1024


class TerminalLoginScreen:
    """Shows a login (`LoginScreen`), also one at an MCP server (`McpLoginScreen`), line by line."""

    def __init__(self) -> None:
        self._unread = b""

    def show_token_host(self, host: str) -> None:
        _say(f"{host} will issue the tokens of this login.")

    def show_address(self, address: str) -> None:
        opened = open_in_browser(address)
        _say("Your browser should show this address now:" if opened else "Open this address in a browser:")
        _say(f"\n  {address}\n")
        if sys.stdin.isatty():
            _say("If the browser is on another machine, paste the address it ends at here, and press Enter.")

    def show_code(self, address: str, code: str) -> None:
        _say(f"Open this address in any browser:\n\n  {address}\n\nand enter the code  {code}")

    def complain(self, problem: str) -> None:
        _say(f"kaa: {problem}")

    async def pasted(self) -> str:
        loop = asyncio.get_running_loop()
        if not sys.stdin.isatty():
            await loop.create_future()  # nobody is there who could paste anything
        while b"\n" not in self._unread:
            ready: asyncio.Future[None] = loop.create_future()
            loop.add_reader(sys.stdin.fileno(), ready.set_result, None)
            try:
                await ready
            finally:
                loop.remove_reader(sys.stdin.fileno())
            if not (data := os.read(sys.stdin.fileno(), _LONGEST_LINE_BYTES)):
                await loop.create_future()  # Ctrl-D: only the browser can bring the code now
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode("utf-8", "replace")


def _say(text: str) -> None:
    deliver(sys.stderr, sanitize(text) + "\n")
