"""Runs the command of a hook: input on stdin, stdout and stderr apart and bounded, within a time limit."""

import os
from collections.abc import Mapping, Sequence
from typing import Final

from kaa.builtin.agent_hooks.own_files import expanded
from kaa.components.hooks import HookDefinition
from kaa.components.hooks.outputs import Ended
from kaa.ext.api import CommandRequest
from kaa.hands.lazy_pattern import LazyPattern
from kaa.workspace.blocked import Blocked
from kaa.workspace.protocol import FedCommands, FedStreams, Workspace

MAX_OUTPUT: Final = 1024 * 1024
"""Of stdout, in bytes: a new input of a tool may hold a whole file."""

MAX_INPUT: Final = 1024 * 1024
"""Of stdin, in bytes."""

_MAX_ERRORS = 64 * 1024
_REFUSES = 2  # the exit code
_NOT_RUN = (126, 127)  # of a shell that finds no program, or may not run it
WAY_OUT: Final = (
    "A hook in the sandbox can log to $TMPDIR; `sandbox.writable` in your settings lets hooks and commands write a"
    ' folder that exists, but no protected one such as .claude of the project; "sandbox": false in an entry of yours'
    " gives it your rights."
)
_RIGHTS: Final = '"sandbox": false in an entry of yours gives the hook your rights.'
_ASKED: Final = "Its settings lie in a project: kaa asks in the terminal whether they are yours, and then shows it."
_OF_NETWORK: Final = ("network", "direct", "private", "forbidden", "unanswered")
_NOT_READ = LazyPattern(r"No such file|can't open|[Cc]annot (?:open|find)|not found|[Pp]ermission denied")
_WORD = LazyPattern(r"""[^\s'";&|<>()]+""")
_SHELLS = {"bash": "bash", "zsh": "zsh"}
# A pipeline whose last command only writes to a log: its shell exits with 2 where it cannot open that.
_WORDS = r"""(?:'[^'\n]*'|"[^"\\`\n]*"|[^'"\\`;&|<>(){}\#\n])"""
_LOG = r"""(?:'[^'\n]*'|"[^"\\`()\n]*"|[^'"\\`;&|<>(){}\#\s])+"""
_LOGS = LazyPattern(
    rf"(?:{_WORDS}+\|)*[ ]*(?:cat|date|echo|jq|printf|tee)(?:[ ]{_WORDS}*)?>>?[ ]*(?P<log>{_LOG})(?:[ ]*2>&1)?"
)
# How programs say that they reached no host.
_TELLS_OF_NETWORK = LazyPattern(
    r"(?i)\b(?:403|proxy|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|getaddrinfo|resolv\w*|network\w*|connect\w*|fetch\w*)\b"
)


async def run_command(
    hook: HookDefinition, given: str, workspace: Workspace, variables: Mapping[str, str | None], seconds: float
) -> Ended:
    """Run a command to its end.

    Args:
        given: its stdin, at most `MAX_INPUT`.
        workspace: where it runs, with the rights that this has.
        seconds: the limit; what runs longer is ended.
    """
    if not isinstance(workspace, FedCommands):
        return Ended.unstarted("this workspace cannot give commands an input")
    shell = (_SHELLS.get(hook.shell, "sh"), "-c", hook.command)
    argv = shell if hook.args is None else (hook.command, *hook.args)
    request = CommandRequest(argv, env=variables, timeout=seconds, carries_findings=False, finds_installed=False)
    try:
        done = await workspace.run_fed(request, FedStreams(given.encode(), MAX_OUTPUT + 1, _MAX_ERRORS))
    except OSError as error:
        return Ended.unstarted(str(error))
    if done.timed_out:
        return Ended(None, problem=f"took more than {seconds:g} seconds and was ended")
    code, errors = done.exit_code, done.errors.decode("utf-8", "replace")
    if len(done.output) > MAX_OUTPUT:
        if code == _REFUSES:  # it does so whatever it prints; its reason is behind too much
            return Ended(code)
        is_answer = done.output.lstrip().startswith(b"{")
        return Ended(None, problem=f"printed more than {MAX_OUTPUT // 1024} KiB", undecided=is_answer)
    output = done.output.decode("utf-8", "replace")
    runs_alone = not any(process.state == "running" for process in workspace.processes.list())
    blocked = [one for one in done.blocked if runs_alone or _is_about(one, output + errors)]
    decides = hook.event == "PreToolUse" and not hook.of_project
    if code in _NOT_RUN and decides and not blocked:
        # Shims of version managers obey files of the project: a command could have a guard not start at all.
        told = errors.strip().rpartition("\n")[2][:200]
        return Ended(None, problem=f"could not run a program (exit code {code}): {told}", undecided=True)
    if code and (hidden := await _hidden_script(hook, errors, workspace)):
        way_out = _ASKED if hook.may_be_of_commands else _RIGHTS
        return Ended(None, problem=f"could not run: the sandbox hides {hidden} from it. {way_out}", undecided=decides)
    if not code or not blocked:
        return Ended(code, output, errors)
    if notice := await _blocked_log(hook, workspace, request):
        return Ended(
            None, output, errors, f"was blocked by the sandbox, so its answer does not count: {notice} {WAY_OUT}"
        )
    advice = _advice(blocked, hook)
    if code == _REFUSES:
        return Ended(code, output, f"{errors.rstrip()} [{advice}]")
    # A plugin's guard that is not even fetched, or does not reach what it asks, might have refused.
    is_cut_off = hook.event == "PreToolUse" and hook.plugin and any(one.kind in _OF_NETWORK for one in blocked)
    problem = f"was blocked by the sandbox: {advice}"
    return (
        Ended(None, problem=problem, undecided=True) if decides or is_cut_off else Ended(code, output, errors, problem)
    )


def _is_about(blocked: Blocked, printed: str) -> bool:
    """Whether it was the hook that was kept from a host, where a program in the background may be connecting, too."""
    host = blocked.what.rpartition(":")[0] or blocked.what
    is_told = host in printed or _TELLS_OF_NETWORK.search(printed) is not None
    return blocked.kind not in _OF_NETWORK or not printed.strip() or is_told


async def _hidden_script(hook: HookDefinition, errors: str, workspace: Workspace) -> str:
    """Return the script of a hook that the user can read, but not where the hook ran: it is hidden. Else nothing.

    An interpreter that cannot read its script ends as a hook does that refuses.
    """
    path = _missed_script(hook, errors) if _NOT_READ.search(errors) else ""
    if not path or not os.access(path, os.R_OK):
        return ""
    try:
        await workspace.read(path, 0, 1)
    except OSError:
        return path
    return ""


def _missed_script(hook: HookDefinition, errors: str) -> str:
    words = hook.args if hook.args is not None else _WORD.findall(hook.command)
    paths = (expanded(word) for word in (hook.command, *words))
    found = (path for path in paths if os.path.isabs(path) and os.path.basename(path) in errors)
    return next(filter(os.path.isfile, found), "")


def _advice(blocked: Sequence[Blocked], hook: HookDefinition) -> str:
    """Say what was blocked, and what allows it: of a hidden file and of a host, its own sentence does, too."""
    told = dict.fromkeys(_told(one) for one in blocked)
    if all(one.kind == "read" or one.kind in _OF_NETWORK for one in blocked):
        return " ".join((*told, *(() if hook.plugin else (_RIGHTS,))))
    return " ".join((*told, WAY_OUT))


def _told(blocked: Blocked) -> str:
    """Return what was blocked, without advice for commands that the model writes."""
    return blocked.notice.partition(" (")[0] if blocked.kind == "write" else blocked.notice


async def _blocked_log(hook: HookDefinition, workspace: Workspace, request: CommandRequest) -> str:
    """Return what is said of a log that the sandbox blocks, if a hook does nothing but write to it; else nothing.

    Neither the line of the hook nor this look at its log contains words of the model, which its output may quote.
    """
    if hook.args is not None:
        return ""
    if found := _LOGS.fullmatch(hook.command.strip()):
        tried = f"(: >>{found['log']}); exit 0"
    else:
        from kaa.builtin.agent_hooks.logging_scripts import script_of, try_of_logs  # lazy: few hooks are blocked

        tried = try_of_logs(hook.command) or try_of_logs(script_of(hook.command))
    if not tried:
        return ""
    shell = _SHELLS.get(hook.shell, "sh")
    # In a subshell: where it ends well, only what the kernel refuses at this moment is taken for blocked.
    look = CommandRequest(
        [shell, "-c", tried],
        env=request.env,
        timeout=request.timeout,
        spill=False,
        carries_findings=False,
        finds_installed=False,
    )
    missed = (await workspace.run(look)).missed
    return _told(missed[0]) if missed else ""
