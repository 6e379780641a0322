"""A program that can do nothing but talk to kaa: it has no project, no home, no network and no keys."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import NamedTuple

from kaa.workspace.commands import OwnStreams
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import SandboxOptions
from kaa.workspace.sandbox.program import ConfinedProgram, ProgramRights, UnconfinedError

_MAX_LINE_BYTES = 16 * 1024 * 1024
_ERROR_BYTES = 2_000


class _Running(NamedTuple):
    """A program that runs; see `kaa.workspace.protocol.PipedProgram`."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    program: ConfinedProgram
    errors: int

    async def ending(self) -> str:
        """Return what it printed last, or its exit code or signal."""
        try:
            ended = await self.program.wait()
        except OSError as error:
            return f"it could not be run: {error.strerror or error}"
        try:
            said = os.read(self.errors, 64 * 1024)[-_ERROR_BYTES:].decode(errors="replace").strip()
        except BlockingIOError:
            said = ""
        if said:
            return said
        if ended.signal == signal.SIGXCPU:
            return "it computed for too long"
        return f"it exited with code {ended.exit_code}" if ended.signal is None else f"signal {ended.signal} ended it"


@asynccontextmanager
async def run_closed(
    script: str, *, root: str, home: str, environment: Mapping[str, str], sandbox: SandboxOptions, unconfined: bool
) -> AsyncIterator[_Running]:
    """Run a script without access to the project, as `kaa.workspace.protocol.ClosedPrograms` describes.

    Args:
        root: of the project that it does not see.
        home: of the user, which it does not see either.
        sandbox: of the project's commands: what is hidden there is hidden here.
        unconfined: the user does without a sandbox.

    Raises:
        OSError: it cannot be started; the message says why.
    """
    # -I and -S: nothing of a project is loaded, and no code of other packages.
    argv = (sys.executable, "-I", "-S", "-X", "utf8", script)
    places = Places.of(environment, home, root, "programs")
    with ExitStack() as closing:
        closing.callback(places.close)
        ours, theirs = socket.socketpair()
        closing.callback(theirs.close)
        errors, their_errors = os.pipe()
        closing.callback(os.close, errors)
        closing.callback(os.close, their_errors)
        os.set_blocking(errors, False)
        try:
            reader, writer = await asyncio.open_connection(sock=ours, limit=_MAX_LINE_BYTES)
        except BaseException:
            ours.close()
            raise
        closing.callback(writer.close)
        rights = ProgramRights(
            name="call-tools",
            data=places.temporary,
            project=root,
            code=os.path.dirname(script),
            readable=(sys.prefix, sys.base_prefix),
            private=sandbox.private,
            hidden=sandbox.hidden,
            loaded=sandbox.loaded,
        )
        streams = OwnStreams(theirs.fileno(), theirs.fileno(), their_errors)
        try:
            program = await ConfinedProgram.start(
                argv, rights, streams, environment=environment, report=lambda _: None, unconfined=unconfined
            )
        except UnconfinedError as error:
            raise OSError(f"{error}. With --sandbox full-access it runs without one") from error
        theirs.close()
        try:
            yield _Running(reader, writer, program, errors)
        finally:
            program.end()
            program.end()  # at once: it holds nothing that could be lost
            with suppress(OSError):
                await program.wait()
