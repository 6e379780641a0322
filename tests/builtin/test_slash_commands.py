"""The built-in slash commands are registered without their code, which is found when somebody uses them."""

import re
from importlib import import_module
from inspect import iscoroutinefunction
from pathlib import Path

from kaa.builtin import slash_commands
from tests.support.tables import each
from tests.test_import_budget import modules_after

_PLACES = re.findall(r'_(handler|completer)\("(\w+):(\w+)"\)', Path(slash_commands.__file__).read_text())


@each(("use", "module", "function"), _PLACES)
def test_the_code_of_each_command_is_where_it_is_looked_for(use: str, module: str, function: str) -> None:
    found = getattr(import_module(f"kaa.builtin.{module}"), function)

    assert iscoroutinefunction(found) == (use == "handler")


def test_registering_them_loads_none_of_their_code() -> None:
    registering = "from kaa.ext.extensions import Extensions; import kaa.builtin.slash_commands"

    loaded = modules_after(registering)

    assert len(_PLACES) > 30
    assert not loaded & {f"kaa.builtin.{module}" for _, module, _ in _PLACES}
