"""Values of the user's configuration files that name a variable or a command.

Only the user's own files come here, so a value may run a command.
"""

import os
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from kaa.host.paths import is_below
from kaa.host.programs import host_programs
from kaa.llm.auth.errors import CredentialError

# pi's limit for `!command` values.
_COMMAND_TIMEOUT_SECONDS = 10.0
_SHOWN_ERROR_CHARACTERS = 200
_NOT_FOUND = 127  # a shell's exit code for a program that it does not find

_REFERENCE = re.compile(r"\$(?:([$!])|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")

_NONE: Mapping[str, str] = {}


class ConfigValues:
    """Evaluates values of the user's configuration files: literal text, `$VAR` or `${VAR}` in it, or `!command`.

    `$$` is a dollar sign and `$!` an exclamation mark. A command runs in the shell with 10 seconds of time, in the home
    directory and without the directories of PATH that sandboxed commands can write; its output without surrounding
    blanks is the value, remembered as long as this object lives. It executes nothing that sandboxed commands can write.

    Args:
        environ: the user's variables.
        wrap: program and arguments to start the shell through, if it was judged before what commands execute; None
            judges each.
    """

    def __init__(self, environ: Mapping[str, str], wrap: Sequence[str] | None = None) -> None:
        self._environ = environ
        self._wrap = wrap
        self._outputs: dict[str, str] = {}

    def evaluate(self, value: str, where: str, own: Mapping[str, str] = _NONE, *, run: bool = True) -> str:
        """What `value` stands for.

        Blocks while a command runs: call it from a thread where an event loop must go on.

        Args:
            value: as it is written in the file.
            where: the place in the file, for the error message.
            own: variables that count before those of the environment.
            run: commands are run; otherwise they are trusted, and stand for themselves.

        Raises:
            CredentialError: a variable is not set; a command failed, took too long or said nothing.
        """
        if value.startswith("!"):
            if not run:
                return value
            command = value[1:].strip()
            if command not in self._outputs:
                wrap = _wrap(command, where, self._environ) if self._wrap is None else self._wrap
                self._outputs[command] = _run(command, where, self._environ, wrap)
            return self._outputs[command]

        def replacement(match: re.Match[str]) -> str:
            literal, bare, braced = match.groups()
            if literal:
                return str(literal)
            name = bare or braced
            if not (given := own.get(name) or self._environ.get(name)):
                raise CredentialError(f"{where} uses ${name}, but that variable is not set: set it, or write the value")
            return given

        return _REFERENCE.sub(replacement, value)

    def can_evaluate(self, value: str, own: Mapping[str, str] = _NONE) -> bool:
        """Whether every variable `value` uses is set; commands are not run but trusted."""
        return all(own.get(name) or self._environ.get(name) for name in variables_in(value))


def variables_in(value: str) -> frozenset[str]:
    """The names of the variables that a value uses."""
    if value.startswith("!"):
        return frozenset()
    return frozenset(bare or braced for _, bare, braced in _REFERENCE.findall(value)) - {""}


def _wrap(command: str, where: str, environ: Mapping[str, str]) -> Sequence[str]:
    """What a command is started through, so that it executes nothing that sandboxed commands can write.

    Raises:
        CredentialError: it names such a file.
    """
    from kaa.host import helper_lines  # lazy: few keys are commands

    if not (places := helper_lines.writable_places(environ)):
        return ()
    line, home = helper_lines.without_reading(command), environ.get("HOME", "/")
    if path := helper_lines.named_path(line, environ, home, lambda one: is_below(one, places)):
        raise CredentialError(
            f"{where}: the command names {path}, which commands in the sandbox can write, or could when kaa ran there,"
            " and would run with your rights: move it out of projects"
        )
    if helper_lines.says_all(line, environ, home, places):
        return ()
    from kaa.host.hiding import hidden_from_program  # lazy: few commands need it

    return hidden_from_program(places)


def _run(command: str, where: str, environ: Mapping[str, str], wrap: Sequence[str]) -> str:
    """The output of `command`. Its whole process group is killed when the time is up."""
    import subprocess  # lazy: few keys are commands

    programs = host_programs(environ)
    home = environ.get("HOME", "")
    with subprocess.Popen(
        [*wrap, "/bin/sh", "-c", command],  # the user's own command line, from the user's own file
        cwd=home if os.path.isdir(home) else "/",  # many programs load or obey what is in the current directory
        env=programs.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as process:
        try:
            output, errors = process.communicate(timeout=_COMMAND_TIMEOUT_SECONDS)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise CredentialError(
                    f"{where}: the command took longer than {_COMMAND_TIMEOUT_SECONDS:g} s: try it in a terminal"
                ) from None
            raise
    if process.returncode != 0:
        said = (errors.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
        message = f"{where}: the command failed with status {process.returncode}: {said[:_SHOWN_ERROR_CHARACTERS]}"
        if process.returncode == _NOT_FOUND and programs.left_out:
            left_out = ", ".join(programs.left_out)
            message += f". It runs without these directories of PATH, which sandboxed commands can write: {left_out}"
        raise CredentialError(message)
    value = output.decode(errors="replace").strip()
    if not value:
        raise CredentialError(f"{where}: the command printed nothing: it must print the key")
    return value
