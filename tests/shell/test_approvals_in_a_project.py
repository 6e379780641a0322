"""Approvals with everything real but the model and the person: files, commands, git, the sandbox, a session."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.core.events import AgentEnd
from kaa.ext.escalations import Escalation
from kaa.ext.questions import (
    Abort,
    AllowAlways,
    AllowForSession,
    AllowInProject,
    AllowOnce,
    Deny,
    Dismissed,
    Question,
)
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.shell.settings import ApprovalPolicy, load_user_settings
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.sandbox.options import SandboxOptions
from tests.end_to_end.kaa_process import conversation as said_in
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.hosts import conversing
from tests.support.model_server import Answer as Reply
from tests.support.model_server import ModelServer, call, say
from tests.support.person import AnswerT, Person


class Project:
    """A project on the disk, and beside it a home and a directory of the user's, not below /tmp."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.home = folder / "home"
        self.beside = folder / "beside"
        self.root.mkdir()
        self.beside.mkdir()
        # Its `python3` is a real one, not a wrapper that first selects a version.
        python = os.path.dirname(os.path.realpath(sys.executable))
        self._environ = {"PATH": f"{python}:{os.environ['PATH']}", "HOME": str(folder), "LANG": "C.UTF-8"}

    def play(self, person: Person, *script: Reply, policy: ApprovalPolicy = "auto") -> tuple[AgentEnd, list[str]]:
        """Let the model follow the script; how it ended, and what tools told the model."""

        async def whole(server: ModelServer) -> AgentEnd:
            environ = {**self._environ, "OPENAI_BASE_URL": f"{server.url}/v1"}
            sandbox = SandboxOptions(private=(str(self.home),))
            workspace = LocalWorkspace.start(str(self.root), env=environ, sandbox=sandbox)
            try:
                if not (await workspace.sandbox.status()).confined:
                    pytest.skip("this machine cannot confine anything")
                host = Host(HostOptions(), Home(self.home), environ, lambda _: None, person)
                options = ConversationOptions(model="m", approvals=policy)
                async with conversing(host, options, workspace) as conversation:
                    end = await conversation.submit("work")
                    assert isinstance(end, AgentEnd)
                    return end
            finally:
                await workspace.close()

        with ModelServer([*script, say("Done.")]) as server:
            end = run(whole(server))
            told = [text for who, text in said_in(server.requests[-1]) if who == "tool"]
        return end, told


@pytest.fixture
def project() -> Iterator[Project]:
    with folder_elsewhere() as folder:
        yield Project(folder)


@pytest.fixture
def key(project: Project) -> Path:
    """A file that the sandbox hides."""
    path = project.root.parent / ".ssh" / "id_rsa"
    path.parent.mkdir(mode=0o700)
    path.write_text("hidden\n")
    return path


@pytest.fixture
def outside() -> Iterator[Path]:
    path = Path("/", "var", f"kaa-test-{secrets.token_hex(8)}")
    yield path
    path.unlink(missing_ok=True)


def test_what_is_asked_is_done_after_a_yes_and_not_after_a_no(project: Project) -> None:
    person = Person(AllowOnce(), Deny("use another name"))

    end, told = project.play(
        person,
        call("write", path="a", content="x"),
        call("bash", command="touch b"),
        call("read", path="a"),
        policy="ask",
    )

    assert [request.title for request in person.questions] == [f"write {project.root}/a", "touch b"]
    assert (project.root / "a").exists()
    assert not (project.root / "b").exists()
    assert "use another name" in told[1]
    assert end.reason == "denied"
    assert "Do not try" in told[1]
    assert "Do not try" not in (end.error or "")


def test_a_kept_rule_needs_no_question_in_the_next_conversation(project: Project) -> None:
    touch = call("bash", command="touch a")
    project.play(Person(AllowAlways("bash: touch a")), touch, policy="ask")

    end, _ = project.play(Person(), touch, policy="ask")

    assert end.reason == "done"
    assert (project.home / "approvals.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("mounts")
def test_a_directory_that_is_always_writable_is_kept_for_this_project_alone(project: Project) -> None:
    settings = project.home / "settings.json"
    project.home.mkdir(exist_ok=True)
    settings.write_text('{"sandbox": {"writable": ["/srv"]}} // mine')
    ask = call("request_permission", kind="write", value=str(project.beside), reason="results go there")

    end, told = project.play(Person(AllowInProject()), ask, call("bash", command=f"touch {project.beside}/a"))

    assert (end.reason, told[-1]) == ("done", "exit code 0, no output")
    assert settings.read_text().endswith("// mine")
    assert load_user_settings(settings, str(project.root)).sandbox.writable == ("/srv", str(project.beside))
    assert load_user_settings(settings, str(project.beside)).sandbox.writable == ("/srv",)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.usefixtures("mounts")
def test_a_commit_asks_nothing(project: Project) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=project.root, check=True)
    commit = "git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m x"
    person = Person()

    end, told = project.play(person, call("bash", command=commit), call("bash", command=commit))

    assert person.questions == []
    assert end.reason == "done"
    assert [text.partition("\n[briefing")[0] for text in told] == ["exit code 0, no output", "exit code 0, no output"]
    log = subprocess.run(["git", "log", "--oneline"], cwd=project.root, capture_output=True, check=True)
    assert len(log.stdout.splitlines()) == 2


def in_repository(project: Project, folder: str) -> Path:
    """Work in a folder of a repository from now on. Returns the repository."""
    repository = project.root
    subprocess.run(["git", "-C", str(repository), "init", "-q"], check=True, timeout=60)
    project.root = repository / folder
    project.root.mkdir(parents=True)
    (project.root / "a").write_text("x")
    return repository


_COMMIT = "git add a && git -c user.name=x -c user.email=x@example.com commit -qm first"


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_the_first_commit_in_a_folder_of_a_repository_asks_to_write_the_repository(project: Project) -> None:
    repository = in_repository(project, "packages/a")
    person = Person(AllowForSession(None))

    end, told = project.play(person, call("bash", command=_COMMIT), call("bash", command="git log --oneline"))

    assert [one.escalations for one in person.questions] == [(Escalation("directory", str(repository)),)]
    assert end.denials == ()
    assert "first" in told[-1]


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_what_git_executes_above_a_project_is_not_offered(project: Project) -> None:
    in_repository(project, "packages/a")
    person = Person()

    project.play(
        person,
        call("bash", command="echo x > ../../.git/hooks/pre-commit"),
        call("bash", command="git config core.pager cat"),
    )

    assert person.questions == []
    assert not (project.root.parent.parent / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_where_nobody_can_be_asked_the_option_for_the_repository_is_named(project: Project) -> None:
    repository = in_repository(project, "packages/a")

    end, told = project.play(Person(), call("bash", command=_COMMIT), policy="never")

    assert f"--add-dir {repository}" in told[-1]
    assert len(end.denials) == 1


def test_a_yes_to_leave_the_sandbox_is_for_one_call(project: Project, key: Path) -> None:
    person = Person(AllowOnce(), Deny())

    end, told = project.play(person, *(call("bash", command=f"ls {key}") for _ in range(2)))

    assert [request.escalations for request in person.questions] == [(Escalation("outside"),)] * 2
    assert [str(key) in text.splitlines() for text in told] == [True, False]
    assert end.reason == "denied"


def test_a_command_that_kaa_cannot_judge_is_not_offered_to_leave_it(project: Project, outside: Path) -> None:
    person = Person()

    end, told = project.play(person, call("bash", command=f"echo 1 >> {outside}"))

    assert person.questions == []
    assert "The user can type it behind `!`" in told[0]
    assert not outside.exists()
    assert end.reason == "denied"


def test_a_file_outside_is_asked_for_before_it_is_written(project: Project, outside: Path) -> None:
    person = Person(AllowOnce())

    end, _ = project.play(person, call("write", path=str(outside), content="x"))

    assert not person.questions[0].was_run
    assert outside.read_text() == "x"
    assert end.reason == "done"


def test_a_yes_to_write_through_a_link_is_for_where_it_led(project: Project) -> None:
    notes, startup = project.beside / "notes.txt", project.beside / "startup"
    notes.write_text("old")
    startup.write_text("mine")
    person = Person(AllowForSession(f"outside write: {notes}"), Deny())

    end, _ = project.play(
        person,
        call("bash", command=f"ln -s {notes} notes.txt"),
        call("write", path="notes.txt", content="new"),
        call("write", path="notes.txt", content="newer"),
        call("bash", command=f"ln -sfn {startup} notes.txt"),
        call("write", path="notes.txt", content="evil"),
    )

    assert [request.title for request in person.questions] == [f"write {notes}", f"write {startup}"]
    assert (notes.read_text(), startup.read_text()) == ("newer", "mine")
    assert end.reason == "denied"


def test_a_link_exchanged_while_the_question_waits_leads_to_another_question(project: Project) -> None:
    notes, startup = project.beside / "notes.txt", project.beside / "startup"
    notes.write_text("old")
    startup.write_text("mine")
    link = project.root / "notes.txt"
    link.symlink_to(notes)

    class Slow(Person):
        async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
            link.unlink()
            link.symlink_to(startup)
            return await super().ask(question)

    person = Slow(AllowOnce(), Deny())

    end, _ = project.play(person, call("write", path="notes.txt", content="evil"))

    assert [request.title for request in person.questions] == [f"write {notes}", f"write {startup}"]
    assert (notes.read_text(), startup.read_text()) == ("old", "mine")
    assert end.reason == "denied"


def test_a_rule_for_a_directory_of_the_project_is_none_for_where_a_link_in_its_place_leads(project: Project) -> None:
    person = Person(AllowForSession("outside write: generated/**"), Deny())

    end, _ = project.play(
        person,
        call("write", path="generated/.git/x", content="x"),
        call("bash", command=f"mv generated moved && ln -s {project.beside} generated"),
        call("write", path="generated/startup", content="evil"),
    )

    assert person.questions[-1].title == f"write {project.beside}/startup"
    assert not (project.beside / "startup").exists()
    assert end.reason == "denied"


@pytest.mark.usefixtures("mounts")
def test_a_secret_that_is_a_link_is_read_after_a_yes_to_where_it_leads(project: Project) -> None:
    project.home.mkdir()
    secret, kept = project.home / "key", project.beside / "key"
    kept.write_text("the key")
    secret.symlink_to(kept)
    person = Person(AllowOnce(), AllowOnce())

    end, told = project.play(person, call("read", path=str(secret)))

    # What hides the secret hides from us, too, that it is a link: only the permit finds out.
    assert [request.title for request in person.questions] == [f"read {secret}", f"read {kept}"]
    assert told == ["the key"]
    assert end.reason == "done"


def test_a_yes_to_one_secret_is_none_to_its_neighbours(project: Project) -> None:
    project.home.mkdir()
    (project.home / "key").write_text("the key")
    (project.home / "other").write_text("another key")
    person = Person(AllowForSession(), Deny())

    _, told = project.play(person, *(call("read", path=str(project.home / name)) for name in ("key", "key", "other")))

    assert told[:2] == ["the key", "the key"]
    assert "another key" not in told[2]
    assert [request.title for request in person.questions] == [
        f"read {project.home}/{name}" for name in ("key", "other")
    ]


def test_a_command_that_would_leave_its_temporary_files_behind_is_shown_so(project: Project, key: Path) -> None:
    person = Person(AllowOnce())

    _, told = project.play(
        person,
        call("bash", command="echo inside > /tmp/kaa-test-note"),
        call("bash", command=f"ls {key} /tmp/kaa-test-note"),
    )

    if person.questions[0].warning is None:
        pytest.skip("this machine cannot give the sandbox a /tmp of its own")
    assert "/tmp/kaa-test-note is another file" in person.questions[0].warning
    assert "/tmp/kaa-test-note" not in told[1].splitlines()


FETCH = "echo ran >> runs; python3 -I -S -c 'import urllib.request as r; r.urlopen(\"http://name.invalid/\")'"


@pytest.mark.usefixtures("mounts")
def test_a_connection_waits_for_the_answer_and_the_command_runs_once(project: Project) -> None:
    person = Person(AllowOnce(), AllowForSession())

    _, told = project.play(person, *(call("bash", command=FETCH) for _ in range(3)))

    assert [request.escalations for request in person.questions] == [(Escalation("network", "name.invalid"),)] * 2
    assert all("502" in text for text in told)  # let through, and not to be found
    assert (project.root / "runs").read_text() == "ran\n" * 3


@pytest.mark.usefixtures("mounts")
def test_a_no_to_a_host_is_told_to_the_model_and_asked_once(project: Project) -> None:
    fetch = FETCH.partition(";")[2]
    person = Person(Deny("use the cache"))

    end, told = project.play(person, call("bash", command=f"{fetch}; {fetch}"))

    assert len(person.questions) == 1
    assert end.reason == "denied"
    assert "[sandbox] Network access to name.invalid:80 is blocked. (/net or --net name.invalid allows it.)" in told[0]
    assert "The user does not allow this: use the cache." in told[0]


@pytest.mark.usefixtures("mounts")
def test_a_background_process_asks_too(project: Project) -> None:
    person = Person(AllowOnce())

    _, told = project.play(
        person,
        call("bash", command=f"{FETCH} 2>&1 | tee answer; touch done", background=True),
        call("bash", command="while [ ! -e done ]; do sleep 0.1; done; cat answer"),
    )

    assert len(person.questions) == 1
    assert "502" in told[-1]


def test_abort_stops_the_run(project: Project) -> None:
    person = Person(Abort())

    end, told = project.play(person, call("bash", command="git stash drop"), call("bash", command="touch a"))

    assert (end.reason, told) == ("aborted", [])
    assert len(person.questions) == 1
