"""The pipes between kaa and the program of an extension: three standard streams, and the connection on 3 and 4."""

import os
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from kaa.host.log import LOG
from kaa.workspace.commands import OwnStreams
from kaa.workspace.sandbox.program import ConfinedProgram


class Pipes:
    """Ten ends of pipes, as a context manager: all are closed at the end, but for kaa's once they are given away.

    Attributes:
        theirs: the ends for the program.
    """

    theirs: OwnStreams

    def __enter__(self) -> Self:
        self._closing, self._ours = ExitStack(), ExitStack()
        stdin, stdout, stderr, messages_in, messages_out = (self._pipe(writes) for writes in _WE_WRITE)
        self.theirs = OwnStreams(stdin[1], stdout[1], stderr[1], (messages_in[1], messages_out[1]))
        self._kept = stdin[0], stdout[0], stderr[0], messages_in[0], messages_out[0]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ours.close()
        self._closing.close()

    def connected(self, program: ConfinedProgram) -> "ExtensionPipes":
        """The program with kaa's ends, which are the caller's from now on."""
        self._ours.pop_all()
        return ExtensionPipes(program, *self._kept)

    def _pipe(self, we_write: bool) -> tuple[int, int]:
        read, write = os.pipe()
        ours, theirs = (write, read) if we_write else (read, write)
        self._ours.callback(os.close, ours)
        self._closing.callback(os.close, theirs)
        return ours, theirs


# In the order of the program's descriptors.
_WE_WRITE = (True, False, False, True, False)


class ExtensionPipes:
    """See `kaa.ext.process.host.ExtensionProcess`. The log names the hosts that its permissions excluded."""

    def __init__(
        self,
        program: ConfinedProgram,
        stdin: int,
        stdout: int,
        stderr: int,
        messages_in: int,
        messages_out: int,
    ) -> None:
        self._program = program
        self.end = program.end
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.messages_in = messages_in
        self.messages_out = messages_out

    async def wait(self) -> int:
        """See `ExtensionProcess`."""
        ending = await self._program.wait()
        if blocked := self._program.blocked_hosts():
            LOG.warning("an extension process was kept from %s", ", ".join(one.what for one in blocked))
        return -(ending.signal or 0) if ending.exit_code is None else ending.exit_code
