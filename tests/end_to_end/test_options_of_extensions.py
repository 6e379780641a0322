"""Options that extensions add to the command line."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer

_OPTIONS = """
from kaa.ext.api import Reply

def extend(kaa):
    kaa.flag("plan", "Plan first")
    kaa.flag("lines", "How many lines", int, 10)

    async def show(arguments, context):
        return Reply(f"plan {context.flag('plan')}, lines {context.flag('lines')}")

    kaa.register_command("show", "Show the options", show)
    # --unwritten is only a comment
"""


@pytest.fixture
def kaa_with_options(kaa: Kaa) -> Iterator[Kaa]:
    (kaa.home / "extensions").mkdir()
    (kaa.home / "extensions" / "plan.py").write_text(_OPTIONS)
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        yield kaa


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], "plan False, lines 10"),
        (["--plan"], "plan True, lines 10"),
        (["--lines=3", "--plan"], "plan True, lines 3"),
    ],
)
def test_the_extension_gets_the_value(kaa_with_options: Kaa, options: list[str], shown: str) -> None:
    done = kaa_with_options.run(*options, "-p", "/show")

    assert (done.code, done.out.strip(), done.err) == (0, shown, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plam"], "unrecognized arguments: --plam. See kaa --help."),
        (["--plan", "--plam"], "unrecognized arguments: --plan --plam. See kaa --help."),
        (["--unwritten"], "unrecognized arguments: --unwritten. See kaa --help."),
        (["--lines=many"], "argument --lines: invalid int value: 'many'. See kaa --help."),
        (["--lines"], "argument --lines: expected a value: --lines=VALUE. See kaa --help."),
        (["--plan=yes"], "argument --plan: takes no value, but has 'yes'. See kaa --help."),
        (["--plan", "-ne"], "unrecognized arguments: --plan. See kaa --help."),
    ],
)
def test_what_no_extension_has_is_bad_usage(kaa_with_options: Kaa, options: list[str], message: str) -> None:
    done = kaa_with_options.run(*options, "-p", "/show")

    assert (done.code, done.out, done.err) == (2, "", f"kaa: {message}\n")
