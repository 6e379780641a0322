"""Values of the user's configuration files that name a variable or a command.

Only the user's own files come here, so a value may run a command.
"""

import re
from collections.abc import Mapping, Sequence

from kaa.llm.auth.errors import CredentialError

_REFERENCE = re.compile(r"\$(?:([$!])|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")

_NONE: Mapping[str, str] = {}


class ConfigValues:
    """Evaluates values of the user's configuration files: literal text, `$VAR` or `${VAR}` in it, or `!command`.

    `$$` is a dollar sign and `$!` an exclamation mark. A command runs in the shell with 10 seconds of time, in the home
    directory and without the directories of PATH that sandboxed commands can write; its output without surrounding
    blanks is the value, remembered as long as this object lives. It executes nothing that sandboxed commands can write.

    Args:
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
                from kaa.llm.auth.key_commands import output_of  # lazy: few keys are commands

                self._outputs[command] = output_of(command, where, self._environ, self._wrap)
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
