"""Lists servers that a short run left unlisted, in a process of its own, so that the next run knows their tools."""

import asyncio
import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kaa.builtin.mcp.host import ServerUnavailableError
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.interruption import run_to_exit_code
from kaa.host.log import LOG
from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.file import ServerFileError, entries_in
from kaa.shell.mcp.manifests import ServerManifests
from kaa.shell.mcp.server import Server
from kaa.shell.mcp.server_data import remove_data
from kaa.shell.mcp.servers import ServerMaker, Unlisted

LIST_LATER = "list-later"
"""The word after `kaa mcp` with which the process is started."""

_AT_ONCE = 2


def list_later(unlisted: Unlisted) -> None:
    """Start the process. It ends when the servers have answered, or have not in their time."""
    try:
        process = subprocess.Popen(
            [sys.executable, "-E", "-P", "-m", "kaa", "mcp", LIST_LATER],  # as bin/kaa starts it
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=unlisted.root,
            start_new_session=True,
        )
        assert process.stdin is not None
        with process.stdin:
            process.stdin.write(msgspec.json.encode(unlisted))
    except OSError as error:
        LOG.info("mcp: no process lists servers later: %s", error)
        return
    process.returncode = 0  # it outlives this process: nobody here waits for it


def main() -> int:
    """Run the process. Returns the exit code."""
    unlisted = msgspec.json.decode(sys.stdin.buffer.read(), type=Unlisted)
    home = Home.of(os.environ)
    with _alone(home.cache / "mcp") as is_alone:
        return run_to_exit_code(_list(unlisted, home)) if is_alone else ExitCode.DONE


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Hold the lock of these processes; False if another one has it: many short runs need one of them."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(folder / "listing.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        LOG.info("mcp: what servers offer cannot be kept: %s", error)
        yield False
        return
    is_alone = True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        is_alone = False
    except OSError as error:  # a home without locks: the worst is that a server starts twice
        LOG.debug("mcp: %s cannot be locked: %s", folder, error)
    try:
        yield is_alone
    finally:
        os.close(descriptor)


def _remove_if_gone(server: ConfiguredServer, home: Home, root: str) -> None:
    """Remove what a start left of a server of the user's that `kaa mcp remove` removed meanwhile."""
    file = Path(server.source.file)
    try:
        is_gone = server.source.scope == "user" and server.name not in entries_in(file)
    except ServerFileError as error:
        LOG.info("mcp: it is not known whether %s is still configured: %s", server.name, error)
        return
    if is_gone:
        remove_data(home, server, (root,))
        ServerManifests(home).forget(file, server.name)


async def _list(unlisted: Unlisted, home: Home) -> int:
    options, turns = unlisted.sandbox, asyncio.Semaphore(_AT_ONCE)
    maker = ServerMaker(home, os.environ, LOG.info, lambda: options.mode == "full-access", lambda _: options)
    servers = maker.servers(unlisted.servers, unlisted.root)

    async def learn(server: Server) -> None:
        async with turns:
            if server.offer.manifest is None and server.offer.may_start:
                with contextlib.suppress(ServerUnavailableError):  # it is tried again in the next conversation
                    await server.started()
                await server.end()
                await asyncio.to_thread(_remove_if_gone, server.configured, home, unlisted.root)

    try:
        await asyncio.gather(*(learn(servers.server(one.name)) for one in unlisted.servers))
    finally:
        await servers.close()
        await maker.close()
    return ExitCode.DONE
