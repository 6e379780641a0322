"""A process that has loaded kaa, and forks for each run of a test: `python warm_server.py SOCKET HANDS COMMAND`.

A run costs half as much as one that loads kaa first. Each request is JSON with the three standard descriptors; the
answer is the pid. The new process is a child of the process that started this one, so that it can wait for it.
"""

import asyncio  # noqa: F401 - loaded once for all runs
import ctypes
import gc
import io
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import msgspec

from kaa.core.arguments import schema_of
from kaa.workspace import launch as launch_hands

Request: TypeAlias = dict[str, Any]  # any: the types of `warm_start.Start`

_PR_SET_DUMPABLE = 4  # prctl(2)
_LIMIT = 1 << 20

# From beside this file, which belongs to no package here.
_launcher: Any = import_module("launcher")  # any: what mypy knows as tests.support.launcher
_warm_hands: Any = import_module("warm_hands")
_started_by_kaa: Any = import_module("started_by_kaa")

# With these comes nearly all that one of twenty runs needs. They have 4,000 KB more than what one of five needs, which
# is 0.5 ms of each fork; loading took 15 % of the time of all runs, a third of which only those need that load more.
_LOADED = (
    "concurrent.futures.thread",
    "dataclasses",
    "encodings.idna",
    "encodings.utf_8_sig",
    "filecmp",
    "getpass",
    "hashlib",
    "kaa.builtin.agent_hooks.around_calls",
    "kaa.builtin.agent_hooks.around_runs",
    "kaa.builtin.agent_hooks.handlers",
    "kaa.builtin.agent_hooks.inputs",
    "kaa.builtin.agent_hooks.own_files",
    "kaa.builtin.agent_hooks.programs",
    "kaa.builtin.agent_hooks.rights",
    "kaa.builtin.agent_hooks.running",
    "kaa.builtin.agents.listing",
    "kaa.builtin.agents.running",
    "kaa.builtin.briefing.gathering",
    "kaa.builtin.change_preview",
    "kaa.builtin.columns",
    "kaa.builtin.commands",
    "kaa.builtin.completion_check.ending",
    "kaa.builtin.completion_check.proof",
    "kaa.builtin.decoding.decoder",
    "kaa.builtin.diagnostics.checking",
    "kaa.builtin.diagnostics.syntax",
    "kaa.builtin.diff",
    "kaa.builtin.loop_detection.watching",
    "kaa.builtin.mcp.command",
    "kaa.builtin.mcp.gateway",
    "kaa.builtin.mcp.progress",
    "kaa.builtin.mcp.questions",
    "kaa.builtin.mcp.results",
    "kaa.builtin.mcp.server_lines",
    "kaa.builtin.nearest_text",
    "kaa.builtin.plan.commands",
    "kaa.builtin.plan.document",
    "kaa.builtin.plan.executing",
    "kaa.builtin.plan.kept",
    "kaa.builtin.plan.other_files",
    "kaa.builtin.plan.planning",
    "kaa.builtin.seen_files",
    "kaa.builtin.skills.commands",
    "kaa.builtin.skills.index",
    "kaa.builtin.skills.instructions",
    "kaa.builtin.skills.index",
    "kaa.builtin.text_edit",
    "kaa.cli",
    "kaa.components.agent_definition.models",
    "kaa.components.agent_definition.permissions",
    "kaa.components.agent_definition.tools",
    "kaa.components.allowed_tools",
    "kaa.components.hooks.outputs",
    "kaa.components.hooks.tools",
    "kaa.components.tool_names",
    "kaa.core.lenient_json",
    "kaa.ext.agents",
    "kaa.ext.call_titles",
    "kaa.ext.completions",
    "kaa.ext.conversation_session",
    "kaa.ext.kinds",
    "kaa.ext.linked_code",
    "kaa.ext.loader",
    "kaa.ext.loading",
    "kaa.ext.showing",
    "kaa.ext.stores",
    "kaa.frontends.agents_command",
    "kaa.frontends.command_words",
    "kaa.frontends.doctor",
    "kaa.frontends.headless",
    "kaa.frontends.interactive.boot",
    "kaa.frontends.interactive.engine",
    "kaa.frontends.interactive.plain",
    "kaa.frontends.interactive.ui",
    "kaa.frontends.json_output",
    "kaa.frontends.lab.command",
    "kaa.frontends.lab.reports",
    "kaa.frontends.live.attaching",
    "kaa.frontends.live.client",
    "kaa.frontends.live.serving",
    "kaa.frontends.live.starting",
    "kaa.frontends.login_command",
    "kaa.frontends.mcp.command",
    "kaa.frontends.person",
    "kaa.frontends.rpc",
    "kaa.frontends.rpc.commands",
    "kaa.frontends.rpc.mode",
    "kaa.frontends.session_commands",
    "kaa.frontends.text_output",
    "kaa.frontends.worktrees_command",
    "kaa.host.allowance",
    "kaa.host.cache_fallback",
    "kaa.host.home_settings",
    "kaa.host.known_projects",
    "kaa.host.linked_settings",
    "kaa.host.loaded_variables",
    "kaa.host.log_file",
    "kaa.host.module_guard",
    "kaa.host.version_managers",
    "kaa.llm.anthropic.provider",
    "kaa.llm.auth.oauth.browser",
    "kaa.llm.completions.provider",
    "kaa.llm.http.rate_limits",
    "kaa.llm.inline_thinking",
    "kaa.llm.local.servers",
    "kaa.llm.models.local_providers",
    "kaa.llm.models.model_list",
    "kaa.llm.models.verification",
    "kaa.llm.redaction",
    "kaa.llm.server_errors",
    "kaa.llm.written_calls.provider",
    "kaa.mcp.client",
    "kaa.mcp.stdio",
    "kaa.session.catalogue.catalogue",
    "kaa.session.catalogue.searching",
    "kaa.session.export.request",
    "kaa.session.export.source",
    "kaa.session.export.totals",
    "kaa.shell.acting.control",
    "kaa.shell.agents",
    "kaa.shell.approvals.checkouts",
    "kaa.shell.approvals.clients",
    "kaa.shell.approvals.gate",
    "kaa.shell.approvals.leaving",
    "kaa.shell.approvals.memory",
    "kaa.shell.approvals.moved_file_questions",
    "kaa.shell.approvals.remotes",
    "kaa.shell.approvals.rule_file",
    "kaa.shell.approvals.set_aside",
    "kaa.shell.approvals.suggestions",
    "kaa.shell.approvals.transfers",
    "kaa.shell.checkpoints.git_settings",
    "kaa.shell.checkpoints.permission",
    "kaa.shell.compaction.shortening",
    "kaa.shell.components.agent_servers",
    "kaa.shell.components.extensions",
    "kaa.shell.components.hook_files",
    "kaa.shell.components.known_fields",
    "kaa.shell.components.reading",
    "kaa.shell.extensions.errors",
    "kaa.shell.extensions.folder_watch",
    "kaa.shell.extensions.in_projects",
    "kaa.shell.extensions.project_copies",
    "kaa.shell.kept_permissions",
    "kaa.shell.known_secrets",
    "kaa.shell.logins",
    "kaa.shell.logs",
    "kaa.shell.lost_agents",
    "kaa.shell.mcp.starting",
    "kaa.shell.nested_instructions",
    "kaa.shell.opening",
    "kaa.shell.preparing",
    "kaa.shell.secrets_of_builds",
    "kaa.shell.trust.decisions",
    "kaa.shell.trust.nested",
    "kaa.shell.trust.store",
    "kaa.shell.worktrees.moved_files",
    "kaa.shell.worktrees.obstacles",
    "kaa.shell.worktrees.working",
    "kaa.tui.linear",
    "kaa.workspace.checkpoints.local",
    "kaa.workspace.checkpoints.reports",
    "kaa.workspace.checkpoints.restoring",
    "kaa.workspace.checkpoints.upkeep",
    "kaa.workspace.fed_command",
    "kaa.workspace.git",
    "kaa.workspace.git_held",
    "kaa.workspace.moved_wording",
    "kaa.workspace.network.listening",
    "kaa.workspace.network.registries",
    "kaa.workspace.piped_program",
    "kaa.workspace.program_litter",
    "kaa.workspace.protected_files",
    "kaa.workspace.removal",
    "kaa.workspace.ripgrep",
    "kaa.workspace.sandbox.changes",
    "kaa.workspace.sandbox.denials",
    "kaa.workspace.sandbox.dot_entries",
    "kaa.workspace.sandbox.narrowing",
    "kaa.workspace.sandbox.outside_services",
    "kaa.workspace.sandbox.private_tmp",
    "kaa.workspace.sandbox.relocation",
    "kaa.workspace.sandbox.saved_content",
    "kaa.workspace.sandbox.untold_files",
    "kaa.workspace.sandbox.watch",
    "markdown_it",
    "pygments.lexers.python",
    "secrets",
    "sqlite3",
    "tree_sitter",
    "wcwidth",
)


def main() -> None:
    requests = socket.socket(fileno=int(sys.argv[1]))
    orders = socket.socket(fileno=int(sys.argv[2]))
    orders.set_inheritable(False)
    hands = _warm_hands.HandsServer(orders)
    command = sys.argv[3]
    sys.path[0] = os.path.dirname(command)
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for what a run leaves behind
    serve(requests, command, hands)
    from kaa.cli import main as run

    sys.exit(run())


def serve(requests: socket.socket, command: str, hands: Any) -> None:  # any: a HandsServer
    """Fork runs. Returns in each of them.

    Those of `requests` are children of who asks, the parent of this process; those that runs start themselves are
    children of this one, as they outlive who starts them.
    """
    orphans, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    poll.register(theirs, select.POLLIN)
    while True:
        for number, _ in poll.poll():
            is_orphan = number == theirs.fileno()
            data, descriptors, _, _ = socket.recv_fds(theirs if is_orphan else requests, _LIMIT, 4)
            if not data:
                os._exit(0)
            answer = socket.socket(fileno=descriptors.pop(0)) if is_orphan else requests
            pid = os.fork() if is_orphan else _warm_hands.clone_beside()
            if pid == 0:
                for one in {requests, theirs, answer}:
                    one.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _become(json.loads(data), command, descriptors, hands, orphans)
                return
            for descriptor in descriptors:
                os.close(descriptor)
            answer.sendall(f"{pid if pid > 0 else -ctypes.get_errno()}\n".encode())
            if is_orphan:
                answer.close()


def _serve_own(command: str, hands: Any, unwanted: Iterable[int]) -> socket.socket | None:  # any: a HandsServer
    """Fork this process, which is no run yet, for the runs that it starts and waits for: they are its children.

    Args:
        unwanted: descriptors of this process alone.

    Returns:
        where to ask for them; None in them.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        for descriptor in unwanted:
            os.close(descriptor)
        _warm_hands.leave_all()
        serve(theirs, command, hands)
        return None
    theirs.close()
    return ours


def _load() -> None:
    """Load what a run may need. Kept out of garbage collections, which would write to all of the shared memory."""
    for name in (*_LOADED, *_warm_hands.LOADED):
        import_module(name)
    for struct in list(_structs_below(msgspec.Struct)):
        _learn(struct)
    _compile_patterns()
    gc.collect()
    gc.freeze()


def _compile_patterns() -> None:
    """Compile regular expressions that most runs use first: those of the lexer alone take 25 ms of each terminal."""
    from markdown_it import MarkdownIt
    from pygments.lexers.python import PythonLexer

    from kaa.cli import _parsed, _parser
    from kaa.tui.control import plain
    from kaa.tui.decoder import InputDecoder
    from kaa.workspace.environment import is_secret

    PythonLexer()
    MarkdownIt().render("*text*")
    _parsed(["-p", "--model", "m", "text"], _parser())
    plain("title")
    is_secret("KEY")
    InputDecoder().feed(b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;4c\x1bP>|xterm(388)\x1b\\")


def _structs_below(top: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for struct in top.__subclasses__():
        yield struct
        yield from _structs_below(struct)


def _learn(struct: type[msgspec.Struct]) -> None:
    """Have kept with a type what is worked out when it is used first: its fields and, of tools, their schema."""
    with suppress(NameError, TypeError):  # names that only type checkers see, generic types
        msgspec.json.Decoder(struct)
        if struct.__module__.startswith("kaa.builtin."):
            schema_of(struct)


def _become(
    request: Request,
    command: str,
    descriptors: list[int],
    hands: Any,  # any: a HandsServer
    orphans: socket.socket,
) -> None:
    """Take on the descriptors, directory, environment and terminal of a new process of kaa.

    Args:
        orphans: where runs are forked that it does not wait for.
    """
    fork = partial(_warm_hands.HandsServer(orphans).ask, timeout=None)
    if request["arguments"][:1] == ["lab"]:
        if (own := _serve_own(command, hands, [*descriptors, orphans.detach()])) is None:
            return
        fork = partial(_started_by_kaa.ask, own)
    if request["session"]:
        os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    if terminal := request["terminal"]:  # a session leader that opens a terminal gets it as its own (tty(4))
        line = os.open(terminal, os.O_RDWR)
        for number in range(3):
            os.dup2(line, number)
        os.close(line)
    os.umask(request["umask"])
    os.chdir(request["cwd"])
    if launch := request["launch"]:
        _launcher.become(launch)
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # as after the start of a program
    else:
        _started_by_kaa.fork_them(fork)
    launch_hands.start_by((_warm_hands.forked_server() if launch else hands).start)
    for name, limit in request["limits"].items():
        module, _, constant = name.rpartition(".")
        assert hasattr(import_module(module), constant)
        setattr(import_module(module), constant, limit)
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    sys.argv = [command, *request["arguments"]]
    # As Python itself opens them in the locale C.UTF-8.
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115 - open until the end
    sys.stdout = _output(1, "surrogateescape", is_line_buffered=os.isatty(1))
    sys.stderr = _output(2, "backslashreplace", is_line_buffered=True)


def _output(descriptor: int, errors: str, *, is_line_buffered: bool) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        os.fdopen(descriptor, "wb", closefd=False), encoding="utf-8", errors=errors, line_buffering=is_line_buffered
    )


if __name__ == "__main__":
    main()
