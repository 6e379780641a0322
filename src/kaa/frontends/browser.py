"""Opens an address in the user's browser, where there is a screen for one."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping

from kaa.host.programs import host_programs


def open_in_browser(address: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Open `address`, and say whether that could be begun. Only addresses of the web are opened."""
    opener = _opener(environ)
    if opener is None or not address.startswith(("https://", "http://")):
        return False
    programs = host_programs(environ)
    program = programs.find(opener)
    if program is None:
        return False
    try:
        process = subprocess.Popen(
            [program, address],
            env=programs.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it outlives us, and Ctrl-C is not for it
        )
    except OSError:
        return False
    threading.Thread(target=process.wait, name="browser", daemon=True).start()  # or it would stay as a zombie
    return True


def _opener(environ: Mapping[str, str]) -> str | None:
    """The program that opens addresses; None where no screen is known: a browser in the terminal would not do."""
    if sys.platform == "darwin":
        return None if environ.get("SSH_CONNECTION") else "open"
    return "xdg-open" if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") else None
