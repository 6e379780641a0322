"""Commands of the user whose output is a key or another value: `!command` in configuration files."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from kaa.host import helper_lines, writers
from kaa.host.hard_links import has_other_name
from kaa.host.home_settings import obeyed
from kaa.host.paths import is_below, trail
from kaa.host.programs import SAFE_PATH, home_of, host_programs
from kaa.llm.auth.errors import CredentialError

# pi's limit for `!command` values.
_TIMEOUT_SECONDS = 10.0
_SHOWN_ERROR_CHARACTERS = 200
_AROUND_WORDS = re.compile(r"""[()`$"']""")
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_DISTRIBUTION = ("/usr", "/bin", "/sbin", "/nix/store", "/snap", "/opt/homebrew")
_HIDDEN = (
    "It sees projects as empty, because it is no plain program, or obeys settings there: `!cat FILE` reads a file of a"
    " project, and `$NAME` is a variable that your shell exports"
)
_NOT_FOUND = 127  # a shell's exit code for a program that it does not find


def output_of(command: str, where: str, environ: Mapping[str, str], wrap: Sequence[str] | None) -> str:
    """What a command prints, without surrounding blanks. Its whole process group is killed when the time is up.

    Args:
        where: the place in the file, for the error message.
        wrap: program and arguments to start the shell through; None judges from what the command executes.

    Raises:
        CredentialError: it names what sandboxed commands can write, failed, took too long or said nothing.
    """
    return _run(command, where, environ, wrapped(command, where, environ) if wrap is None else wrap)


def wrapped(command: str, where: str, environ: Mapping[str, str]) -> Sequence[str]:
    """What a command is started through, so that it executes nothing that sandboxed commands can write.

    Args:
        where: the place in a file, for the error message.

    Raises:
        CredentialError: it names such a file.
    """
    if not (places := writers.writable_places(environ)):
        return ()
    line, home = helper_lines.without_reading(command), environ.get("HOME", "/")
    path = helper_lines.named_path(line, environ, home, lambda one: is_below(one, places) or has_other_name(one))
    if path := path or next(filter(has_other_name, _found_programs(line, environ)), None):
        raise CredentialError(f"{where}: the command names {path}, {helper_lines.why_not_run(path, environ)}")
    if helper_lines.says_all(line, environ, home, places) and _is_plain(command, environ, places):
        return ()
    from kaa.host.hiding import hidden_from_program  # lazy: few commands need it

    return hidden_from_program(writers.without_toolchains(places, environ))


def _found_programs(line: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The programs that words of a line may mean."""
    programs = host_programs(environ)
    words = helper_lines.plain_words(_AROUND_WORDS.sub(" ", line), environ)
    yield from (found for word in dict.fromkeys(words) if (found := programs.find(word)) is not None)


def _is_plain(line: str, environ: Mapping[str, str], places: Sequence[str]) -> bool:
    """Whether the programs of a line are none of the user's scripts, and obey no settings that commands can write.

    A script may source or import what lies in a project, which no word of the line says.
    """
    programs = host_programs(environ)
    for word in helper_lines.plain_words(line, environ):
        if (found := programs.find(word)) is None:
            continue
        real = os.path.realpath(found)
        line_of_script = _first_line(real)
        is_script = line_of_script is None or line_of_script.startswith("#!")
        is_own = not is_below(real, _DISTRIBUTION)
        if is_script and (is_own or _imports_from_projects(line_of_script or "", environ)):
            return False
        settings = (place for path in obeyed(os.path.basename(word), environ) for place in trail(path))
        if any(is_below(place, places) for place in settings):
            return False
    return True


def _first_line(path: str) -> str | None:
    """The first line of a file, as far as Linux reads it; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(256).partition(b"\n")[0])  # BINPRM_BUF_SIZE
    except OSError:
        return None


def _imports_from_projects(first_line: str, environ: Mapping[str, str]) -> bool:
    words = filter(_PYTHON.fullmatch, first_line.removeprefix("#!").split())
    if (python := host_programs(environ).find(next(words, ""))) is None:
        return False
    from kaa.host.lone_pythons import imports_from_projects  # lazy: few have such programs

    return imports_from_projects(python, environ)


def _run(command: str, where: str, environ: Mapping[str, str], wrap: Sequence[str]) -> str:
    programs = host_programs(environ)
    # In the home, Python may load what lies beside a script of the user's.
    variables = {**programs.environment(), SAFE_PATH: environ.get(SAFE_PATH, "")}
    with subprocess.Popen(
        [*wrap, "/bin/sh", "-c", command],  # the user's own command line, from the user's own file
        cwd=home_of(environ),  # many programs load or obey what is in the current directory
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as process:
        try:
            output, errors = process.communicate(timeout=_TIMEOUT_SECONDS)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise CredentialError(
                    f"{where}: the command took longer than {_TIMEOUT_SECONDS:g} s: try it in a terminal"
                ) from None
            raise
    if process.returncode != 0:
        said = (errors.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
        message = f"{where}: the command failed with status {process.returncode}: {said[:_SHOWN_ERROR_CHARACTERS]}"
        if wrap:
            message += f". {_HIDDEN}"
        if process.returncode == _NOT_FOUND and programs.left_out:
            left_out = ", ".join(programs.left_out)
            message += f". It runs without these directories of PATH, which sandboxed commands can write: {left_out}"
        raise CredentialError(message)
    value = output.decode(errors="replace").strip()
    if not value:
        raise CredentialError(f"{where}: the command printed nothing: it must print the key")
    return value
