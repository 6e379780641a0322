"""Runs kaa, or its hands, and writes a line to a log for everything that costs: what, a tab, and what exactly.

    python -I counted_process.py brain LOG ARGUMENT...    # `kaa ARGUMENT...`, with its hands counted too
    python -I -S counted_process.py hands DESCRIPTOR SCRIPT

It wraps functions of the standard library, and of kaa what everything passes that is counted: the counter of hooks, the
class of contexts, the announcement of events and the encoding of messages to the hands. What a program of the sandbox
does is not seen, only that it is started.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

_HANDS = os.path.join("kaa", "hands", "__main__.py")


class Log:
    """Lines of several processes, in the order in which they were written."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def note(self, what: str, exactly: object = "") -> None:
        os.write(self._descriptor, f"{what}\t{exactly}\n".encode())

    def stay_open(self) -> None:
        """From now on, write also in processes of the hands that close all descriptors that they do not know."""
        close = os.close

        def close_others(descriptor: int) -> None:
            if descriptor != self._descriptor:
                close(descriptor)

        _replace(os, "close", close_others)

    def count_system_calls(self) -> None:
        """From now on, count programs that are started, and files that are flushed to disk."""
        _observe(os, "fsync", self._flushed)
        _observe(os, "fdatasync", self._flushed)
        _observe(os, "posix_spawn", lambda path, *_, **__: self.note("program", path))

    def count_subprocesses(self) -> None:
        """From now on, count programs that `subprocess` and asyncio start, and what kaa's hands do."""
        log, descriptor = self, self._descriptor

        class CountedPopen(subprocess.Popen[Any]):
            def __init__(self, args: Sequence[str], *rest: Any, **options: Any) -> None:
                if args[-1].endswith(_HANDS):
                    args = [*args[:-1], __file__, "hands", str(descriptor), args[-1]]
                    options["pass_fds"] = (descriptor,)
                super().__init__(args, *rest, **options)
                log.note("program", args[0])

        _replace(subprocess, "Popen", CountedPopen)

    def count_in_brain(self) -> None:
        """From now on, count what only the brain does."""
        from kaa.core.events import Event  # none of these in the hands
        from kaa.ext.context import ConversationContext
        from kaa.ext.registry import Registry
        from kaa.ext.scope import Costs
        from kaa.hands import wire

        notify = Registry.notify
        event_name = ""

        def notified(registry: Registry, event: Event) -> None:
            nonlocal event_name
            event_name = type(event).__name__
            try:
                notify(registry, event)
            finally:
                event_name = ""

        def new(kind: type[ConversationContext], *_: object) -> ConversationContext:
            self.note("context", f"{kind.__name__} {event_name}".rstrip())
            return object.__new__(kind)

        _replace(Registry, "notify", notified)
        _replace(ConversationContext, "__new__", new)
        _observe(Costs, "called", lambda _costs, what, _seconds: self.note("hook", f"{what} {event_name}".rstrip()))
        _observe(wire, "encode", lambda header, *_: self.note("message", header.get("op")))

    def _flushed(self, descriptor: int) -> None:
        name = ""
        with contextlib.suppress(OSError):  # not everything is seen from within the sandbox
            name = os.readlink(f"/proc/self/fd/{descriptor}")
        self.note("flush", name)


def _observe(owner: object, name: str, observer: Callable[..., None]) -> None:
    """Have a function tell `observer` of its arguments whenever it has succeeded."""
    function = getattr(owner, name)

    def observed(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options)
        observer(*arguments, **options)
        return result

    _replace(owner, name, observed)


def _replace(owner: object, name: str, replacement: object) -> None:
    setattr(owner, name, replacement)


def _brain(path: str, *arguments: str) -> NoReturn:
    log = Log(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC))
    log.count_system_calls()
    log.count_subprocesses()
    log.count_in_brain()
    from kaa.cli import run  # as `kaa.cli.main` does
    from kaa.host.process import end

    sys.exit(end(run(arguments)))


def _hands(descriptor: str, script: str) -> None:
    os.set_inheritable(int(descriptor), False)
    log = Log(int(descriptor))
    log.stay_open()
    log.count_system_calls()
    with open(script, encoding="utf-8") as file:
        source = file.read()
    sys.argv = [script]
    exec(compile(source, script, "exec"), {"__name__": "__main__", "__file__": script})


if __name__ == "__main__":
    if sys.argv[1] == "brain":
        _brain(*sys.argv[2:])
    _hands(*sys.argv[2:])
