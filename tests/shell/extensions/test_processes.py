"""Permissions of extension processes: who is asked what, and what is kept."""

import asyncio
import json
import os
from pathlib import Path

import msgspec
import pytest

from kaa.ext.asking import NOBODY
from kaa.ext.permissions import Permissions
from kaa.ext.places import ExtensionId
from kaa.ext.process.host import NotPermittedError
from kaa.ext.process.manifest import DefaultFile, Manifest
from kaa.ext.questions import AnswerT, Confirmation, Confirmed, Dismissed, Question
from kaa.shell.extensions.processes import ExtensionProcesses
from kaa.shell.extensions.records import ExtensionRecords
from kaa.shell.home import Home
from kaa.workspace.sandbox.options import SandboxOptions
from tests.host.test_lone_pythons import Machine
from tests.support.elsewhere import folder_elsewhere
from tests.support.extension_ids import named

_ASKS = Permissions(project="read", hosts=("api.example.com",), keys=("openai",), models=True)


class Person:
    """Answers each question with the same answer.

    Attributes:
        asked: the questions so far.
    """

    can_ask = True

    def __init__(self, yes: bool) -> None:
        self._yes = yes
        self.asked: list[Confirmation] = []

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        if isinstance(question, Confirmation):
            self.asked.append(question)
        return question.fit(Confirmed(self._yes))


def _manifest(tmp_path: Path, permissions: Permissions = _ASKS, folder: str = "home/extensions/hello") -> Manifest:
    made = tmp_path / folder
    made.mkdir(parents=True, exist_ok=True)
    which = ExtensionId.at(made, tmp_path / "home/extensions")
    return Manifest("hello", "python", "main.py", permissions=permissions, folder=str(made), extension=which)


def _processes(tmp_path: Path) -> ExtensionProcesses:
    return ExtensionProcesses(
        Home(tmp_path / "home"), {}, str(tmp_path), lambda _: None, lambda: False, tuple, SandboxOptions
    )


def test_the_first_start_asks_in_words_and_keeps_the_yes(tmp_path: Path) -> None:
    person, manifest = Person(yes=True), _manifest(tmp_path)

    permitted = asyncio.run(_processes(tmp_path).permit(manifest, person))

    assert permitted == _ASKS
    [question] = person.asked
    assert (question.title, question.only_person) == ("Permit extension hello?", True)
    assert question.details == (
        f"{manifest.folder}\n\nIt is a program that runs in a sandbox and asks to:\n"
        "- read the files of the project\n- connect to api.example.com\n- read your keys of openai\n"
        "- call models at your cost\n"
        "- run agents, which read what commands can read"
    )
    assert _processes(tmp_path).granted(manifest) == _ASKS


def test_what_was_permitted_is_not_asked_again(tmp_path: Path) -> None:
    ExtensionRecords(Home(tmp_path / "home")).grant(named("hello"), _ASKS)

    assert asyncio.run(_processes(tmp_path).permit(_manifest(tmp_path), NOBODY)) == _ASKS


def test_less_than_was_permitted_needs_no_question_and_gives_no_more(tmp_path: Path) -> None:
    ExtensionRecords(Home(tmp_path / "home")).grant(named("hello"), _ASKS)

    assert _processes(tmp_path).granted(_manifest(tmp_path, Permissions(project="read"))) == Permissions(project="read")


def test_more_than_was_permitted_is_asked_with_the_difference(tmp_path: Path) -> None:
    ExtensionRecords(Home(tmp_path / "home")).grant(named("hello"), _ASKS)
    person = Person(yes=True)
    manifest = _manifest(tmp_path, msgspec.structs.replace(_ASKS, project="write", hosts=("api.example.com", "x.org")))

    asyncio.run(_processes(tmp_path).permit(manifest, person))

    [question] = person.asked
    assert "It has changed and now also asks to:\n- read and write the files of the project\n- connect to x.org\n" in (
        question.details
    )
    assert "You have permitted it to:\n- read the files of the project" in question.details


def test_without_a_person_it_is_not_started_and_the_message_says_what_it_wants(tmp_path: Path) -> None:
    with pytest.raises(NotPermittedError, match=r"read the files of the project; .*`kaa ext permit hello` permits it"):
        asyncio.run(_processes(tmp_path).permit(_manifest(tmp_path), NOBODY))

    assert ExtensionRecords(Home(tmp_path / "home")).read() == {}


def test_a_no_holds_until_kaa_ends_and_is_asked_once(tmp_path: Path) -> None:
    person, processes, manifest = Person(yes=False), _processes(tmp_path), _manifest(tmp_path)

    for _ in range(2):
        with pytest.raises(NotPermittedError, match="you did not permit"):
            asyncio.run(processes.permit(manifest, person))

    assert len(person.asked) == 1
    assert processes.granted(manifest) is None


def test_several_conversations_ask_once(tmp_path: Path) -> None:
    person, manifest = Person(yes=True), _manifest(tmp_path)

    async def both() -> None:
        processes = _processes(tmp_path)
        await asyncio.gather(processes.permit(manifest, person), processes.permit(manifest, person))

    asyncio.run(both())

    assert len(person.asked) == 1


def test_a_folder_elsewhere_has_nothing_of_the_extension_of_that_name(tmp_path: Path) -> None:
    ExtensionRecords(Home(tmp_path / "home")).grant(named("hello"), _ASKS)
    other, processes = _manifest(tmp_path, folder="downloads/hello"), _processes(tmp_path)

    assert processes.granted(other) is None
    assert processes.data_folder(other) != processes.data_folder(_manifest(tmp_path))


def test_the_data_folder_is_private_and_has_the_default_files_once(tmp_path: Path) -> None:
    manifest = msgspec.structs.replace(
        _manifest(tmp_path), defaults=(DefaultFile("defaults/config.yaml", "x/config.yaml"),)
    )
    source = Path(manifest.folder) / "defaults/config.yaml"
    source.parent.mkdir()
    source.write_text("first")

    folder = Path(_processes(tmp_path).data_folder(manifest))
    (folder / "config.yaml").write_text("changed")
    _processes(tmp_path).data_folder(manifest)

    assert folder == tmp_path / "home/extension-data/hello"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "config.yaml").read_text() == "changed"


_PROGRAM = """
import json, os
with os.fdopen(3) as orders, os.fdopen(4, "w") as answers:
    json.dump({name: os.environ.get(name) for name in json.loads(orders.readline())}, answers)
"""


@pytest.mark.parametrize("linked", [False, True])
def test_a_process_is_started_with_its_keys_on_descriptors_3_and_4(tmp_path: Path, linked: bool) -> None:
    manifest = _manifest(tmp_path, folder="sources/hello" if linked else "home/extensions/hello")
    Path(manifest.folder, "main.py").write_text(_PROGRAM)
    if linked:
        link = tmp_path / "home/extensions/hello"
        link.parent.mkdir(parents=True)
        link.symlink_to(manifest.folder)
        manifest = msgspec.structs.replace(manifest, folder=str(link))
    permissions = Permissions(keys=("openai", "anthropic", "DEPLOY_TOKEN"))
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "user"),
        "OPENAI_API_KEY": "sk-1",
        "DEPLOY_TOKEN": "t",
        "GEMINI_API_KEY": "sk-2",
    }
    home = Home(tmp_path / "home")

    async def ask() -> dict[str, str | None]:
        processes = ExtensionProcesses(
            home, environ, str(tmp_path), lambda _: None, lambda: False, tuple, SandboxOptions
        )
        processes.note_code(manifest)
        try:
            started = await processes.start(manifest, permissions)
        except NotPermittedError:
            pytest.skip("no tier holds on this machine")
        with open(started.messages_in, "w") as orders, open(started.messages_out) as answers:
            orders.write(json.dumps([*environ, "PIGLET_FD", "ANTHROPIC_API_KEY"]) + "\n")
            orders.flush()
            found: dict[str, str | None] = json.loads(await asyncio.to_thread(answers.read))
        assert await started.wait() == 0
        for descriptor in (started.stdin, started.stdout, started.stderr):
            os.close(descriptor)
        return found

    found = asyncio.run(ask())

    assert found["OPENAI_API_KEY"] == "sk-1"
    assert found["DEPLOY_TOKEN"] == "t"
    assert found["PIGLET_FD"] == "1"
    assert found["GEMINI_API_KEY"] is None
    assert found["ANTHROPIC_API_KEY"] is None


_LOOKS = """
import builtins, json, os, pathlib
import beside, acme
os.write(4, json.dumps(getattr(builtins, "planted", "nothing")).encode())
"""


def test_a_process_imports_its_packages_and_nothing_that_an_editable_install_leads_to(tmp_path: Path) -> None:
    with folder_elsewhere() as elsewhere:
        machine = Machine(elsewhere / "user")
        manifest = _manifest(elsewhere)
        Path(manifest.folder, "main.py").write_text(_LOOKS)
        Path(manifest.folder, "beside.py").write_text("")
        (machine.source / "nt.py").write_text("import builtins\nbuiltins.planted = __file__\nraise ImportError\n")
        (machine.source / "usercustomize.py").write_text("import nt\n")

        async def ask() -> object:
            environ, project = {**machine.environ, "KAA_DIR": str(elsewhere / "home")}, str(machine.project)
            processes = ExtensionProcesses(
                Home(elsewhere / "home"), environ, project, lambda _: None, lambda: False, tuple, SandboxOptions
            )
            processes.note_code(manifest)
            try:
                started = await processes.start(manifest, Permissions(project="read"))
            except NotPermittedError:
                pytest.skip("no tier holds on this machine")
            os.close(started.messages_in)
            with open(started.messages_out) as answers, open(started.stderr) as errors:
                answer = await asyncio.to_thread(answers.read)
                assert await started.wait() == 0, errors.read()
            os.close(started.stdin)
            os.close(started.stdout)
            return json.loads(answer)

        assert asyncio.run(ask()) == "nothing"


def test_a_default_file_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    manifest = msgspec.structs.replace(_manifest(tmp_path), defaults=(DefaultFile("link", "link"),))
    (Path(manifest.folder) / "link").symlink_to(tmp_path / "secret")

    with pytest.raises(Exception, match="leads out of the folder"):
        _processes(tmp_path).data_folder(manifest)
