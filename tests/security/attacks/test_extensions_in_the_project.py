"""Extensions lie in the project: commands try to have kaa, which holds the keys, execute code of theirs."""

import importlib.util
import os
from pathlib import Path

import msgspec
import pytest

from tests.end_to_end.kaa_process import Finished, Kaa
from tests.support.model_server import Answer, Call, ModelServer, ScriptItem, say

pytestmark = pytest.mark.usefixtures("confined")

_HARMLESS = "def extend(api):\n    api.add_prompt_section('house-rules', lambda context: 'Write British English.')\n"


class Attacked(Kaa):
    """A project with extensions, and canaries outside."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.canaries = folder / "canaries"
        self.canaries.mkdir()
        tools = self.project / "tools"
        (tools / "kit").mkdir(parents=True)
        (tools / "single.py").write_text(_HARMLESS)
        (tools / "kit" / "__init__.py").write_text(f"from . import part\n{_HARMLESS}")
        (tools / "kit" / "part.py").write_text("")

    def harm(self, name: str) -> str:
        """Python that a canary outside notices."""
        return f"open('{self.canaries}/{name}', 'w').close()\n{_HARMLESS}"

    def work(self, *script: ScriptItem, extension: str) -> Finished:
        """Let the model work with an extension, and start once more, as the user does the next day."""
        with ModelServer((*script, say("And again."))) as server:
            self.use(server, "openai-completions")
            done = self.run("-e", extension, "-p", "go on")
            self.run("-e", extension, "-p", "once more")
        return done

    @property
    def caught(self) -> list[str]:
        """What was executed outside."""
        return sorted(os.listdir(self.canaries))


@pytest.fixture
def kaa(tmp_path: Path) -> Attacked:
    return Attacked(tmp_path)


def _bash(*lines: str) -> Answer:
    return Answer(calls=tuple(Call("bash", msgspec.json.encode({"command": line}).decode()) for line in lines))


def _written(path: str, text: str) -> str:
    return f"cat > {path} <<'END'\n{text}END\n"


def test_a_file_cannot_be_replaced(kaa: Attacked) -> None:
    done = kaa.work(
        _bash(
            _written("tools/single.py", kaa.harm("in-place")),
            _written("x.py", kaa.harm("renamed")) + "mv -f x.py tools/single.py",
            "rm -f tools/single.py; " + _written("tools/single.py", kaa.harm("removed")),
            "mv tools old; mkdir tools; " + _written("tools/single.py", kaa.harm("folder")),
        ),
        say("Done."),
        extension="tools/single.py",
    )

    assert done.out == "Done.\n", done.err
    assert kaa.caught == []


def test_its_compiled_form_is_not_believed(kaa: Attacked) -> None:
    source = kaa.project / "tools" / "single.py"
    cached = Path(importlib.util.cache_from_source(str(source))).relative_to(kaa.project)
    compiling = (
        "import importlib._bootstrap_external as b, os\n"
        "status = os.stat('tools/single.py')\n"
        "code = compile(open('evil.py').read(), 'single.py', 'exec')\n"
        f"os.makedirs('{cached.parent}', exist_ok=True)\n"
        f"open('{cached}', 'wb').write(b._code_to_timestamp_pyc(code, int(status.st_mtime), status.st_size))\n"
    )

    done = kaa.work(
        _bash(_written("evil.py", kaa.harm("compiled")) + _written("make.py", compiling) + "python3 make.py"),
        say("Done."),
        extension="tools/single.py",
    )

    assert done.out == "Done.\n", done.err
    assert kaa.caught == []


def test_a_folder_cannot_be_replaced(kaa: Attacked) -> None:
    done = kaa.work(
        _bash(
            _written("tools/kit/__init__.py", kaa.harm("start")),
            _written("tools/kit/part.py", kaa.harm("part")),
            "mkdir tools/kit/part; " + _written("tools/kit/part/__init__.py", kaa.harm("package")),
            "mv tools/kit old; mkdir -p tools/kit; " + _written("tools/kit/__init__.py", kaa.harm("folder")),
        ),
        say("Done."),
        extension="tools/kit",
    )

    assert done.out == "Done.\n", done.err
    assert kaa.caught == []


def test_one_that_the_settings_name_is_protected_too(kaa: Attacked) -> None:
    kaa.settings(extensions=[str(kaa.project / "tools" / "single.py")])
    with ModelServer([_bash(_written("tools/single.py", kaa.harm("settings"))), say("Done."), say("More.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "go on")
        kaa.run("-p", "once more")

    assert done.out == "Done.\n", done.err
    assert kaa.caught == []


def test_one_that_a_link_in_the_home_leads_to_is_protected_too(kaa: Attacked) -> None:
    folder = kaa.home / "extensions"
    folder.mkdir()
    (folder / "mine.py").symlink_to(kaa.project / "tools" / "single.py")
    with ModelServer([_bash(_written("tools/single.py", kaa.harm("home"))), say("Done."), say("More.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "go on")
        kaa.run("-p", "once more")

    assert done.out == "Done.\n", done.err
    assert kaa.caught == []


def test_a_link_in_the_project_is_refused(kaa: Attacked, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.py").write_text(_HARMLESS)
    (kaa.project / "link.py").symlink_to(tmp_path / "elsewhere.py")

    done = kaa.run("-e", "link.py", "-p", "go on")

    assert done.code == 2
    assert f"give the path it leads to, {tmp_path}/elsewhere.py" in done.err


def test_the_rest_of_the_project_can_be_changed_and_the_extension_works(kaa: Attacked) -> None:
    with ModelServer([_bash("echo 1 > tools/other.py; mv tools/other.py tools/third.py"), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-e", "tools/single.py", "-p", "go on")
        told = str(server.requests[0].json["messages"])

    assert done.out == "Done.\n", done.err
    assert "British English" in told
    assert (kaa.project / "tools" / "third.py").exists()
