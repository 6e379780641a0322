"""Runs the command of a hook: input on stdin, stdout and stderr apart and bounded, within a time limit."""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Final

from kaa.components.hooks import HookDefinition
from kaa.components.hooks.outputs import Ended
from kaa.ext.api import CommandRequest
from kaa.workspace.blocked import Blocked
from kaa.workspace.protocol import Workspace

MAX_OUTPUT: Final = 1024 * 1024
"""Of stdout, in bytes: a new input of a tool may hold a whole file."""

MAX_INPUT: Final = 1024 * 1024
"""Of stdin, in bytes: Linux takes 2 MiB of variables."""

_MAX_ERRORS = 64 * 1024
_REFUSES = 2  # the exit code
_INPUT = "KAA_HOOK_INPUT"
_PIECE = 30_000  # characters of a variable: Linux takes 128 KiB, and a character has at most four bytes
# Workspaces give commands no stdin, and their output as one. What prints too much is ended by a closed pipe, as the
# limit of files ends its `cat`. What the command leaves in the background may hold the pipes open: after its end, a
# second has to do for the rest. The command itself gets none of the variables of this script.
_SCRIPT = """\
d=$(mktemp -d) || exit 125
trap 'rm -rf "$d"' EXIT
trap 'exit 143' TERM
i=0
while [ "$i" -lt "$1" ]; do eval "printf %s \\"\\$KAA_HOOK_INPUT_$i\\""; i=$((i+1)); done >"$d/in"
most_output=$2 most_errors=$3
shift 3
eval "unset $KAA_HOOK_NAMES KAA_HOOK_NAMES"
mkfifo "$d/o" "$d/e"
exec 2>/dev/null
(ulimit -c 0; ulimit -f $((most_output / 512 + 1)); exec cat) <"$d/o" >"$d/out" & output=$!
(ulimit -c 0; ulimit -f $((most_errors / 512 + 1)); exec cat) <"$d/e" >"$d/err" & errors=$!
("$@") <"$d/in" >"$d/o" 2>"$d/e"
code=$?
(sleep 1 & s=$!; trap 'kill $s; exit' TERM; wait $s; kill "$output" "$errors") >/dev/null & late=$!
wait "$output" "$errors"
kill "$late"
echo "$code $(wc -c <"$d/out") $(wc -c <"$d/err")"
cat "$d/out" "$d/err"
"""
_WAY_OUT = 'A hook in the sandbox can log to $TMPDIR; "sandbox": false in an entry of yours gives it your rights.'
_SHELLS = {"bash": "bash", "zsh": "zsh"}


async def run_command(
    hook: HookDefinition, given: str, workspace: Workspace, variables: Mapping[str, str | None], seconds: float
) -> Ended:
    """Run a command to its end.

    Args:
        hook: has the command.
        given: its stdin, at most `MAX_INPUT`.
        workspace: where it runs, with the rights that this has.
        variables: added to its environment.
        seconds: the limit; what runs longer is ended.
    """
    pieces = [given[begin : begin + _PIECE] for begin in range(0, len(given), _PIECE)]
    inputs = {f"{_INPUT}_{number}": piece for number, piece in enumerate(pieces)}
    shell = (_SHELLS.get(hook.shell, "sh"), "-c", hook.command)
    argv = shell if hook.args is None else (hook.command, *hook.args)
    limits = (str(len(pieces)), str(MAX_OUTPUT + 1), str(_MAX_ERRORS))
    request = CommandRequest(
        ["sh", "-c", _SCRIPT, "kaa-hook", *limits, *argv],
        env={**variables, **inputs, "KAA_HOOK_NAMES": " ".join(inputs)},
        timeout=seconds,
        tail_bytes=MAX_OUTPUT + _MAX_ERRORS + 4096,
        spill=False,
        carries_findings=False,
        finds_installed=False,
    )
    try:
        result = await workspace.run(request)
    except OSError as error:
        return Ended(None, problem=f"was not run: {error}")
    if result.timed_out:
        return Ended(None, problem=f"took more than {seconds:g} seconds and was ended")
    head, _, rest = result.tail.partition(b"\n")
    try:
        code, output, errors = map(int, head.split())
    except ValueError:
        shown = result.tail.decode("utf-8", "replace").strip()[:200]
        return Ended(None, problem=f"was not run: {shown or f'exit code {result.exit_code}'}")
    if output > MAX_OUTPUT and code != _REFUSES:
        return Ended(None, problem=f"printed more than {MAX_OUTPUT // 1024} KiB and was ended")
    if output > MAX_OUTPUT:  # what refuses does so whatever it prints; its reason is behind too much
        return Ended(code)
    text = rest.decode("utf-8", "replace")
    if len(rest) == output + errors:
        text, said = rest[:output].decode("utf-8", "replace"), rest[output:].decode("utf-8", "replace")
        if code == _REFUSES and (blocked := _only_blocked(said, (*result.blocked, *result.missed), workspace.root)):
            reason = blocked.notice.partition(" (")[0]
            return Ended(None, text, said, f"was stopped by the sandbox, and refuses nothing: {reason} {_WAY_OUT}")
        return Ended(code, text, said)
    return Ended(code, text)


def _only_blocked(errors: str, blocked: Sequence[Blocked], root: str) -> Blocked | None:
    """What the sandbox stopped, if a hook says nothing but that: a shell exits with 2 where it cannot open a file."""
    names = [(name, one) for one in blocked if one.what for name in (one.what, posixpath.relpath(one.what, root))]
    lines = [line for line in errors.splitlines() if line.strip()]
    named = [next((one for name, one in names if name in line), None) for line in lines]
    return named[0] if named and None not in named else None
