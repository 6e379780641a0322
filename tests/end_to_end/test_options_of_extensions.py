"""Options that extensions add to the command line."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("full_access")

_OPTIONS = """
from kaa.ext.api import Reply

def extend(kaa):
    kaa.flag("draft", "Draft first")
    kaa.flag("lines", "How many lines", int, 10)

    async def show(arguments, context):
        return Reply(f"draft {context.flag('draft')}, lines {context.flag('lines')}")

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
        ([], "draft False, lines 10"),
        (["--draft"], "draft True, lines 10"),
        (["--lines=3", "--draft"], "draft True, lines 3"),
    ],
)
def test_the_extension_gets_the_value(kaa_with_options: Kaa, options: list[str], shown: str) -> None:
    done = kaa_with_options.run(*options, "-p", "/show")

    assert (done.code, done.out.strip(), done.err) == (0, shown, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--drafd"], "unrecognized arguments: --drafd. See kaa --help."),
        (["--draft", "--drafd"], "unrecognized arguments: --draft --drafd. See kaa --help."),
        (["--unwritten"], "unrecognized arguments: --unwritten. See kaa --help."),
        (["--lines=many"], "argument --lines: invalid int value: 'many'. See kaa --help."),
        (["--lines"], "argument --lines: expected a value: --lines=VALUE. See kaa --help."),
        (["--draft=yes"], "argument --draft: takes no value, but has 'yes'. See kaa --help."),
        (["--draft", "-ne"], "unrecognized arguments: --draft. See kaa --help."),
    ],
)
def test_what_no_extension_has_is_bad_usage(kaa_with_options: Kaa, options: list[str], message: str) -> None:
    done = kaa_with_options.run(*options, "-p", "/show")

    assert (done.code, done.out, done.err) == (2, "", f"kaa: {message}\n")


@pytest.mark.parametrize("option", [["--output", "json"], ["--output-format=json"], ["--json"]])
def test_options_of_other_agents_for_json_are_answered_with_kaas(kaa: Kaa, option: list[str]) -> None:
    done = kaa.run(*option, "-p", "hi")

    assert done.code == 2
    assert "For JSON: --mode json. See kaa --help." in done.err
