"""The user's extensions in projects are loaded as the user approved them, from copies."""

import fcntl
import json
import os
import re
import sys
from pathlib import Path

import pytest

from kaa.ext.asking import NOBODY
from kaa.ext.errors import UnapprovedError
from kaa.ext.questions import Confirmation, Confirmed, Dismissed, Question
from kaa.host.programs import note_writable
from kaa.shell.conversation import Conversation
from kaa.shell.extensions import in_projects
from kaa.shell.extensions.in_projects import ExtensionsInProjects
from kaa.shell.extensions.project_copies import copy_of, let_go
from kaa.shell.home import Home
from kaa.shell.options import HostOptions
from kaa.shell.trust.configuration import ConfigurationFile
from kaa.workspace.places import Places
from tests.support.extension_ids import named
from tests.support.loops import in_loop
from tests.support.person import AnswerT, Person, yes_or_no
from tests.support.stage import Stage

_EXTENSION = """
from .more import NAME

async def answer(arguments, context):
    return None

def extend(kaa):
    kaa.register_command(NAME, "x", answer)
"""
_LATE = """
async def answer(arguments, context):
    return None

def late():
    from .more import NAME
    return NAME

def extend(kaa):
    kaa.register_command("one", "x", answer)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An extension's repository, in which kaa ran."""
    folder = tmp_path / "hello"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "__init__.py").write_text(_EXTENSION)
    _write(folder, "one")
    assert Places.of(os.environ, os.path.expanduser("~"), str(folder)).caches
    return folder


def _write(repository: Path, name: str) -> None:
    (repository / "more.py").write_text(f"NAME = {name!r}\n")


def _link(stage: Stage, target: Path, *, by: str = "link") -> None:
    (stage.home / "extensions").mkdir(parents=True, exist_ok=True)
    if by == "setting":
        (stage.home / "settings.json").write_text(json.dumps({"extensions": [str(target)]}))
    else:
        (stage.home / "extensions" / target.name).symlink_to(target)


async def _commands(conversation: Conversation) -> set[str]:
    return {command.name for command in conversation.commands} & {"one", "two"}


@pytest.mark.parametrize("by", ["link", "setting"])
def test_one_that_commands_could_write_is_not_loaded_unasked(stage: Stage, repository: Path, by: str) -> None:
    _link(stage, repository, by=by)

    assert stage.play(_commands) == set()

    assert any(f"commands could write it in {repository}" in notice for notice in stage.notices)


def test_it_is_loaded_as_the_user_approved_it(stage: Stage, repository: Path) -> None:
    _link(stage, repository)
    stage.asker = person = yes_or_no(True, False, True)

    assert stage.play(_commands) == {"one"}
    assert stage.play(_commands) == {"one"}  # not asked again
    (question,) = person.questions
    assert isinstance(question, Confirmation)
    assert question.only_person
    assert "hello/more.py" in question.details

    _write(repository, "two")
    assert stage.play(_commands) == set()
    assert "-NAME = 'one'\n+NAME = 'two'" in person.questions[1].diff
    assert stage.play(_commands) == {"two"}


def test_what_changes_while_it_is_used_is_not_executed(stage: Stage, repository: Path) -> None:
    (repository / "__init__.py").write_text(_LATE)
    _link(stage, repository)
    stage.asker = yes_or_no(True, False)

    async def scene(conversation: Conversation) -> set[str]:
        _write(repository, "two")
        loaded = [module for name, module in sys.modules.items() if name.startswith("kaa_extension_hello")]
        (module,) = (one for one in loaded if str(one.__file__).startswith(str(stage.home)))
        assert module.late() == "one"
        await conversation.submit("/reload")
        return await _commands(conversation)

    assert stage.play(scene) == {"one"}


def test_a_folder_that_becomes_a_project_while_it_is_used_is_not_executed(stage: Stage, tmp_path: Path) -> None:
    extension = tmp_path / "app" / "hello"
    extension.mkdir(parents=True)
    (extension / "__init__.py").write_text(_LATE)
    _write(extension, "one")
    _link(stage, extension)

    async def scene(conversation: Conversation) -> set[str]:
        assert Places.of(os.environ, os.path.expanduser("~"), str(tmp_path / "app")).caches  # another kaa starts there
        _write(extension, "two")
        loaded = [module for name, module in sys.modules.items() if name.startswith("kaa_extension_hello")]
        (module,) = (one for one in loaded if str(one.__file__).startswith(str(stage.home)))
        assert module.late() == "one"
        await conversation.submit("/reload")
        return await _commands(conversation)

    assert stage.play(scene) == {"one"}


@in_loop
async def test_one_whose_folder_becomes_a_project_while_it_is_read_is_asked_about(tmp_path: Path) -> None:
    extension = tmp_path / "app" / "hello"
    extension.mkdir(parents=True)
    (extension / "__init__.py").write_text("PLACE = __file__")

    def report(_: str) -> None:  # kaa has made a copy, and tells of it
        assert Places.of(os.environ, os.path.expanduser("~"), str(tmp_path / "app")).caches  # another kaa starts there

    decides = ExtensionsInProjects(Home(tmp_path / "home"), os.environ, NOBODY, report)

    with pytest.raises(UnapprovedError, match="commands could write it"):
        await decides.source(named(extension), is_given=False, may_ask=True)


def test_reloading_asks_about_what_changed(stage: Stage, repository: Path) -> None:
    _link(stage, repository)
    stage.asker = person = yes_or_no(True, True)

    async def scene(conversation: Conversation) -> set[str]:
        _write(repository, "two")
        await conversation.submit("/reload")
        return await _commands(conversation)

    assert stage.play(scene) == {"two"}
    assert "-NAME = 'one'\n+NAME = 'two'" in person.questions[1].diff


def test_without_a_yes_nothing_is_to_be_corrected(stage: Stage, repository: Path) -> None:
    _link(stage, repository)

    stage.play(_commands)

    (told,) = [notice for notice in stage.notices if "is not loaded" in notice]
    assert told.endswith("kaa asks in the terminal at the next start, and after /reload. kaa continues without it")


def test_what_stays_loaded_after_a_no_is_said_in_one_sentence(stage: Stage, repository: Path) -> None:
    _link(stage, repository)
    stage.asker = yes_or_no(True, False)

    async def scene(conversation: Conversation) -> set[str]:
        _write(repository, "two")
        reply = await conversation.submit("/reload")
        assert "changed. The version that you approved stays loaded: kaa asks in the terminal" in str(reply)
        assert "is not loaded" not in str(reply)
        return await _commands(conversation)

    assert stage.play(scene) == {"one"}


def test_a_yes_replaces_no_approval_that_came_meanwhile(stage: Stage, repository: Path) -> None:
    _link(stage, repository)
    stage.asker = yes_or_no(True)
    first = stage.play(_commands)
    _write(repository, "two")
    own = stage.home / "trust.json"

    class Elsewhere(Person):
        async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
            own.write_text("{}")
            return await super().ask(question)

    stage.asker = Elsewhere(Confirmed(True))

    assert (first, stage.play(_commands)) == ({"one"}, set())
    assert own.read_text() == "{}"


def test_code_behind_a_link_into_a_project_is_code_of_the_extension(stage: Stage, repository: Path) -> None:
    extension = stage.home / "extensions" / "outer"
    extension.mkdir(parents=True)
    (extension / "__init__.py").write_text(_EXTENSION.replace(".more", ".inner.more"))
    (extension / "inner").symlink_to(repository)
    stage.asker = person = yes_or_no(False, True)

    (repository / "__init__.py").write_text("")
    assert stage.play(_commands) == set()
    assert "outer/inner/more.py" in person.questions[0].details
    assert stage.play(_commands) == {"one"}


def test_the_project_that_lies_in_an_extension_counts(stage: Stage, tmp_path: Path) -> None:
    extension = tmp_path / "outer"
    (extension / "inner").mkdir(parents=True)
    (extension / "__init__.py").write_text(_EXTENSION.replace(".more", ".inner.more"))
    (extension / "inner" / "more.py").write_text("NAME = 'one'\n")
    assert Places.of(os.environ, os.path.expanduser("~"), str(extension / "inner")).caches
    _link(stage, extension)

    assert stage.play(_commands) == set()


def test_the_person_looks_at_the_copy_that_is_loaded(stage: Stage, repository: Path) -> None:
    _link(stage, repository)

    class Looking(Person):
        async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
            _write(repository, "two")  # as a command does in the background
            details = question.details if isinstance(question, Confirmation) else ""
            [copy] = re.findall(rf"{stage.home}/project-extensions\S+", details)
            seen.append(Path(copy, "more.py").read_text())
            return await super().ask(question)

    seen = list[str]()
    stage.asker = Looking(Confirmed(True))

    assert stage.play(_commands) == {"one"}
    assert seen == ["NAME = 'one'\n"]


@pytest.mark.parametrize("kind", ["file", "package", "module of a package", "library", "dot folder"])
def test_a_hard_link_counts_like_a_file_in_a_project(stage: Stage, tmp_path: Path, kind: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    shared = tmp_path / "elsewhere" / "shared.py"
    extension = stage.home / "extensions" / "hello"
    extension.mkdir(parents=True)
    code = _EXTENSION.replace("from .more import NAME", "NAME = 'one'")
    match kind:
        case "file":
            extension.rmdir()
            shared.write_text(code)
            extension.with_suffix(".py").hardlink_to(shared)
        case "package":
            shared.write_text(code)
            (extension / "__init__.py").hardlink_to(shared)
        case "dot folder":
            (extension / "__init__.py").write_text(code)
            (extension / ".hidden").mkdir()
            shared.write_text("'one'")
            (extension / ".hidden" / "helper.py").hardlink_to(shared)
        case "library":
            (extension / "__init__.py").write_text(code)
            shared.write_text("'one'")
            (extension / "helper.so").hardlink_to(shared)
        case _:
            (extension / "__init__.py").write_text(_EXTENSION)
            shared.write_text("NAME = 'one'\n")
            (extension / "more.py").hardlink_to(shared)
    stage.asker = person = yes_or_no(False, True)

    assert stage.play(_commands) == set()
    assert any("hard link" in notice for notice in stage.notices)
    assert stage.play(_commands) == {"one"}
    assert "hard link" in person.questions[0].details
    if kind == "dot folder":  # which no copy has
        assert not list(stage.home.rglob("project-extensions/*/hello/.hidden"))
        return
    shared.write_text(shared.read_text().replace("'one'", "'two'"))
    stage.asker = yes_or_no(False)
    assert stage.play(_commands) == set()


def test_a_given_hard_link_is_loaded_as_it_is_at_the_start(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "hello.py").write_text(_EXTENSION.replace("from .more import NAME", "NAME = 'one'"))
    (tmp_path / "app" / "other.py").hardlink_to(tmp_path / "app" / "hello.py")
    note_writable([str(tmp_path / "app")])
    stage.host_options = HostOptions(extensions=(tmp_path / "app" / "hello.py",))

    async def scene(conversation: Conversation) -> set[str]:
        assert await _commands(conversation) == {"one"}
        other = tmp_path / "app" / "other.py"
        other.write_text(other.read_text().replace("'one'", "'two'"))
        await conversation.submit("/reload")
        return await _commands(conversation)

    assert stage.play(scene) == {"one"}


@pytest.mark.parametrize("writes", ["this kaa", "another kaa"])
def test_the_project_given_as_an_extension_is_loaded_as_it_is_at_the_start(
    stage: Stage, repository: Path, writes: str
) -> None:
    if writes == "this kaa":
        note_writable([str(repository)])
    stage.host_options = HostOptions(extensions=(repository,))

    async def scene(conversation: Conversation) -> set[str]:
        assert await _commands(conversation) == {"one"}
        _write(repository, "two")
        await conversation.submit("/reload")
        return await _commands(conversation)

    assert stage.play(scene) == {"one"}


def test_a_link_in_a_project_leads_no_secret_into_the_copy(stage: Stage, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("canary")
    (repository / "data.txt").symlink_to(tmp_path / "secrets" / "key")
    (repository / "folder").symlink_to(tmp_path / "secrets")
    (repository / "again.py").symlink_to("more.py")
    note_writable([str(repository)])
    stage.host_options = HostOptions(extensions=(repository,))

    assert stage.play(_commands) == {"one"}

    [copy] = stage.home.rglob("again.py")
    assert sorted(path.name for path in copy.parent.iterdir() if path.name != "__pycache__") == [
        "__init__.py",
        "again.py",
        "more.py",
    ]


@pytest.mark.parametrize("is_project", [True, False])
def test_one_that_is_too_large_for_a_copy_is_not_loaded_and_names_the_way_out(
    stage: Stage, repository: Path, monkeypatch: pytest.MonkeyPatch, is_project: bool
) -> None:
    if not is_project:
        repository = repository.rename(repository.with_name("elsewhere")) / "hello"
        repository.mkdir()
        (repository / "__init__.py").write_text(_EXTENSION)
        _write(repository, "one")
    monkeypatch.setattr(in_projects, "_MOST", in_projects._MOST._replace(bytes=100))
    _link(stage, repository)
    stage.asker = yes_or_no()

    assert stage.play(_commands) == set()
    assert any("kaa ext install" in notice for notice in stage.notices)


def test_what_cannot_be_read_of_one_is_left_out_of_the_copy(stage: Stage, tmp_path: Path) -> None:
    extension = tmp_path / "hello"
    extension.mkdir()
    (extension / "__init__.py").write_text(_EXTENSION)
    _write(extension, "one")
    (extension / "gone").symlink_to("nowhere")
    (extension / "circle.py").symlink_to("circle.py")
    os.mkfifo(extension / "pipe")
    _link(stage, extension)

    assert stage.play(_commands) == {"one"}
    assert len(list(stage.home.rglob("project-extensions/*/hello/more.py"))) == 1


@pytest.mark.parametrize("place", ["hello/data.bin", "hello/__init__.py", "one.py"])
def test_an_endless_file_of_a_command_is_named_and_not_read(stage: Stage, tmp_path: Path, place: str) -> None:
    (tmp_path / "hello").mkdir()
    (tmp_path / "hello" / "__init__.py").write_text(_EXTENSION)
    long = tmp_path / place
    with open(long, "ab") as file:
        file.truncate(1 << 40)
    assert Places.of(os.environ, os.path.expanduser("~"), str(tmp_path)).caches
    _link(stage, tmp_path / place.partition("/")[0])
    stage.asker = yes_or_no()

    assert stage.play(_commands) == set()

    assert any(f"/{place} has " in notice and "64 MiB" in notice for notice in stage.notices), stage.notices


def test_a_change_that_another_kaa_lets_commands_make_is_not_loaded(stage: Stage, tmp_path: Path) -> None:
    extension = tmp_path / "app" / "hello"
    extension.mkdir(parents=True)
    (extension / "__init__.py").write_text(_EXTENSION)
    _write(extension, "one")
    stage.host_options = HostOptions(extensions=(extension,))

    async def scene(conversation: Conversation) -> set[str]:
        assert await _commands(conversation) == {"one"}
        assert Places.of(os.environ, os.path.expanduser("~"), str(extension.parent)).caches  # the other kaa starts
        _write(extension, "two")
        await conversation.submit("/reload")
        return await _commands(conversation)

    assert stage.play(scene) == {"one"}


def test_of_many_copies_the_two_that_were_used_last_stay(stage: Stage, tmp_path: Path) -> None:
    extension = tmp_path / "hello"
    extension.mkdir()
    (extension / "__init__.py").write_text(_EXTENSION)
    _link(stage, extension)

    for name in ("one", "first", "second", "two", "first"):
        _write(extension, name)
        stage.play(_commands)

    assert _copied(stage) == {"first", "two"}


def test_a_copy_that_is_loaded_stays_however_many_come_after_it(stage: Stage, tmp_path: Path) -> None:
    extension = tmp_path / "hello"
    extension.mkdir()
    (extension / "__init__.py").write_text(_LATE)
    _write(extension, "one")
    _link(stage, extension)
    origin, copies = str(stage.home / "extensions" / "hello"), stage.home / "project-extensions"

    async def scene(conversation: Conversation) -> set[str]:
        for name in ("first", "second", "third"):  # other kaa that are started and ended meanwhile
            let_go(copy_of("hello", [_file(name)], origin, Home(stage.home)))
        (extension / "__init__.py").write_text("raise ValueError")
        for name in ("fourth", "fifth", "sixth"):
            _write(extension, name)
            assert "previous version stays loaded" in str(await conversation.submit("/reload"))
        assert _copied(stage) == {"one", "fifth", "sixth"}
        (extension / "__init__.py").write_text(_LATE)
        for name in ("seventh", "eighth"):
            _write(extension, name)
            await conversation.submit("/reload")
        return await _commands(conversation)

    assert stage.play(scene) == {"one"}
    assert _copied(stage) == {"seventh", "eighth"}
    assert not [copy for copy in copies.iterdir() if copy.name.startswith(".")]


def test_a_copy_that_another_process_holds_stays(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    first = copy_of("hello", [_file("one")], "/origin", home)
    let_go(first)
    held = os.open(first.parent, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)

    for name in ("two", "three", "four"):
        let_go(copy_of("hello", [_file(name)], "/origin", home))
    let_go(copy_of("hello", [_file("one")], "/elsewhere", home))

    assert first.is_dir()
    assert len(list((home.path / "project-extensions").iterdir())) == 4
    os.close(held)
    let_go(copy_of("hello", [_file("five")], "/origin", home))
    assert not first.exists()


def _file(name: str) -> ConfigurationFile:
    return ConfigurationFile("hello/more.py", "file", f"NAME = {name!r}\n".encode())


def _copied(stage: Stage) -> set[str]:
    """What the copies say that there are."""
    copies = stage.home.rglob("project-extensions/*/hello/more.py")
    return {copy.read_text().removeprefix("NAME = '").removesuffix("'\n") for copy in copies}


def test_one_that_looks_for_its_own_place_is_told_of_once(stage: Stage, tmp_path: Path) -> None:
    extension = tmp_path / "hello"
    extension.mkdir()
    (extension / "__init__.py").write_text(
        f"from pathlib import Path\n{_EXTENSION}\nDATA = Path(__file__).read_text()\n"
    )
    _write(extension, "one")
    _link(stage, extension)

    for _ in range(2):
        assert stage.play(_commands) == {"one"}

    [notice] = [one for one in stage.notices if "is loaded from a copy" in one]
    assert notice.endswith(f"`-e {stage.home}/extensions/hello` loads it from where it is")
