"""`--list-models`: the models that can be used with the keys and servers there are."""

import os
import sys

from kaa.frontends.delivery import deliver, while_delivered
from kaa.frontends.exit_codes import ExitCode
from kaa.llm.registry import ModelRegistry
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError
from kaa.tui.sanitize import sanitize


def main(text: str) -> int:
    """Print the usable models whose name contains `text`, one per line. Returns the exit code."""
    return while_delivered(lambda: _list(text))


def _list(text: str) -> int:
    try:
        models = ModelRegistry(Home.of(os.environ).path, os.environ)
    except SettingsError as error:
        sys.stderr.write(f"kaa: {sanitize(str(error))}\n")
        return ExitCode.USAGE
    sys.stderr.writelines(f"kaa: {sanitize(problem)}\n" for problem in (*models.problems, *models.obstacles()))
    names = [f"{model.provider}/{model.id}" for model in models.available()]
    if not names:
        sys.stderr.write(
            "kaa: no model can be used: there is no key and no local server. kaa -p hello says how to get going.\n"
        )
        return ExitCode.NO_MODEL
    fitting = [name for name in names if text.lower() in name.lower()]
    if not fitting:
        sys.stderr.write(f"kaa: none of the {len(names)} models that can be used has {text!r} in its name\n")
        return ExitCode.FAILED
    shown = map(sanitize, fitting) if sys.stdout.isatty() else fitting
    deliver(sys.stdout, "".join(f"{name}\n" for name in shown))
    return ExitCode.DONE
