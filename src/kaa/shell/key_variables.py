"""Variables that the user's files take keys from, whatever they are called: commands do not get them."""

import re
from collections.abc import Iterator, Mapping

from kaa.host.regular_files import read_regular
from kaa.shell.home import Home

_FILES = ("auth.json", "models.json")
# A command is nobody's key, and may name anything. Not parsed: a comment or a mistake must not hide what follows.
_COMMAND = re.compile(r'"!(?>(?:[^"\\\n]|\\.)*)"')
_REFERENCE = re.compile(r"(?<!\$)(?:\$\$)*\$\{?([A-Za-z_][A-Za-z0-9_]*)")
# Programs do not work without these, and nobody keeps a key there.
_ORDINARY = re.compile(r"HOME|PATH|USER|LOGNAME|HOSTNAME|SHELL|PWD|LANG|LC_.*|TZ|TMPDIR|XDG_.*")


def without_keys(environ: Mapping[str, str], home: Home) -> dict[str, str]:
    """`environ` without what auth.json and models.json name as `$VARIABLE`."""
    named = frozenset(key_variables(home))
    return {name: value for name, value in environ.items() if name not in named}


def all_key_variables(home: Home) -> frozenset[str]:
    """The same with those of all providers that kaa knows: what nobody but kaa gets, whoever names it."""
    from kaa.llm.models.provider_table import BUILTINS  # lazy: only what a project names is held against it

    known = (name for provider in BUILTINS.values() for name, _ in provider.key_variables)
    return frozenset((*key_variables(home), *known))


def key_variables(home: Home) -> Iterator[str]:
    """Their names. Reads both files; one that cannot be read names none."""
    for name in _FILES:
        try:
            text = read_regular(home.path / name).decode("utf-8", "replace")
        except OSError:
            continue
        references = _REFERENCE.findall(_COMMAND.sub('""', text))
        yield from (reference for reference in references if not _ORDINARY.fullmatch(reference))
