"""Checkouts that the sandbox would leave half done: each is asked about or refused before it begins."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from kaa.core.events import Event, ToolExecutionEnd
from kaa.core.messages import TextContent
from kaa.ext.asking import NOBODY, Asker
from kaa.ext.questions import AllowOnce, Approval, Deny, Dismissed, Question
from kaa.shell.conversation import Conversation
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.agents import run
from tests.support.hosts import conversing
from tests.support.model_script import call, say
from tests.support.model_server import ModelServer
from tests.support.person import AnswerT, Person

pytestmark = pytest.mark.usefixtures("mounts")
_IDENTITY = ("-c", "user.name=n", "-c", "user.email=e@x")


def _git(project: Path, *words: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(project.parent), "GIT_CONFIG_NOSYSTEM": "1"}

    arguments = ("git", *_IDENTITY, *words)
    return subprocess.run(arguments, cwd=project, check=True, env=environ, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose branch `tools`, which is checked out, has a protected directory and another `.envrc`."""
    project = tmp_path / "project"
    project.mkdir()
    _git(project, "init", "-q", "-b", "main")
    (project / "a.txt").write_text("one\n")
    (project / ".envrc").write_text("main\n")
    _git(project, "add", ".")
    _git(project, "commit", "-qm", "one")
    _git(project, "branch", "twin")
    _git(project, "checkout", "-qb", "tools")
    (project / ".husky").mkdir()
    (project / ".husky" / "pre-commit").write_text("#!/bin/sh\n")
    (project / ".envrc").write_text("tools\n")
    _git(project, "add", ".")
    _git(project, "commit", "-qm", "tools")
    return project


def _play(
    project: Path,
    commands: Sequence[str],
    asker: Asker = NOBODY,
    notices: list[str] | None = None,
    *,
    keeps: bool = True,
) -> list[str]:
    """Have the model run commands. Returns their results.

    Args:
        project: where.
        commands: each is a call.
        asker: answers.
        notices: gets what the person is told.
        keeps: kaa has a home, where it keeps copies.
    """
    sandbox = SandboxOptions(private=(str(project.parent / "kaa"),) if keeps else ())
    told = [] if notices is None else notices
    with ModelServer([*(call("bash", command=command) for command in commands), say("Done.")]) as server:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(project.parent),
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "GIT_CONFIG_NOSYSTEM": "1",
        }

        async def whole() -> list[str]:
            workspace = LocalWorkspace.start(str(project), env=environ, sandbox=sandbox)
            host = Host(
                HostOptions(), Home(project.parent / "kaa"), environ, lambda notice: told.append(notice.text), asker
            )
            try:
                async with conversing(host, ConversationOptions(model="m"), workspace) as conversation:
                    return await _results(conversation)
            finally:
                await workspace.close()

        return run(whole())


async def _results(conversation: Conversation) -> list[str]:
    results: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd):
            results.append("".join(part.text for part in event.result.content if isinstance(part, TextContent)))

    conversation.subscribe(note)
    await conversation.submit("work")
    return results


def test_a_checkout_away_from_protected_files_is_done_outside_after_one_question(project: Path) -> None:
    person = Person(AllowOnce(), AllowOnce())

    _play(project, ["git checkout -q main", "git checkout -q twin", "git checkout -q tools"], person)

    assert _git(project, "status", "--porcelain", "--branch") == "## tools\n"
    first, second = person.questions
    assert isinstance(first, Approval)
    assert first.reasons == (
        "it changes or removes .envrc, .husky/pre-commit, which the sandbox protects, so git would stop half way",
    )
    assert "-tools\n+main" in first.diff
    assert first.warning is None or "repeat" not in first.warning
    assert ".husky" not in second.reasons[0]


class _Mover(Person):
    """Somebody while whose answer a branch, or what is checked out, moves."""

    def __init__(self, project: Path, *words: str) -> None:
        super().__init__(AllowOnce())
        self._project = project
        self._words = words

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        _git(self._project, *self._words)
        return await super().ask(question)


@pytest.mark.parametrize(
    ("command", "moved"),
    [
        ("git switch feat", ("update-ref", "refs/heads/feat", "later")),
        ("git checkout -q feat", ("update-ref", "-d", "refs/heads/feat")),
        ("git checkout -qb new feat", ("tag", "-f", "feat", "later")),
        ("git switch -q feat", ("update-ref", "HEAD", "later")),
    ],
)
def test_a_yes_holds_for_the_commits_that_were_shown(project: Path, command: str, moved: tuple[str, ...]) -> None:
    """A command in the background can move a branch while the question stands."""
    for branch in ("feat", "later"):
        _git(project, "checkout", "-qb", branch)
        (project / ".envrc").write_text(f"{branch}\n")
        _git(project, "commit", "-qam", branch)
    _git(project, "checkout", "-q", "tools")
    if "-qb" in command:
        _git(project, "tag", "feat", "feat")
        _git(project, "branch", "-D", "feat")
    person = _Mover(project, *moved)

    [told] = _play(project, [command], person)

    assert len(person.questions) == 1
    assert "It was not run, though the user allowed it: " in told
    if "later" in moved and "HEAD" not in moved:
        assert f"feat means another commit now: {_git(project, 'rev-parse', 'later')[:12]}." in told
    assert _git(project, "symbolic-ref", "--short", "HEAD") == "tools\n"
    assert (project / ".envrc").read_text() == "tools\n"


def test_of_a_branch_and_a_tag_of_one_name_that_is_shown_which_git_takes(project: Path) -> None:
    _git(project, "tag", "main", "HEAD")
    _git(project, "commit", "-q", "--allow-empty", "-m", "later")
    person = Person(AllowOnce())

    _play(project, ["git checkout -q main"], person)

    assert "-tools\n+main" in person.questions[0].diff
    assert (project / ".envrc").read_text() == "main\n"


def test_a_refused_one_changes_nothing(project: Path) -> None:
    (refused,) = _play(project, ["git switch main"], Person(Deny("no")))

    assert "no" in refused
    assert _git(project, "status", "--porcelain", "--branch") == "## tools\n"


def test_without_a_person_and_together_with_what_kaa_cannot_judge_it_is_refused_before_it_begins(
    project: Path,
) -> None:
    _side_branch(project)
    commands = [
        "git merge side",
        "git reset --hard main",
        "git rebase main",
        "git checkout main && make",
        "git switch -",
    ]

    refused = _play(project, commands)

    assert [told for told in refused if "which the sandbox protects" not in told] == []
    assert len(refused) == len(commands)
    assert _git(project, "status", "--porcelain", "--branch") == "## tools\n"


def _side_branch(project: Path) -> None:
    """The branch `side`, whose commit changes an ordinary and a protected file, and one that changes `tools` since."""
    _git(project, "checkout", "-qb", "side")
    (project / "a.txt").write_text("side\n")
    (project / ".envrc").write_text("side\n")
    _git(project, "commit", "-qam", "side")
    _git(project, "checkout", "-q", "tools")


@pytest.mark.parametrize(
    "command",
    [
        "git merge side",
        "git merge --no-ff -m side side",
        "git pull",
        "git pull -q --ff-only",
        "git pull . side",
        "git pull --rebase origin side",
        "git cherry-pick side",
        "git cherry-pick -x tools..side",
        "git cherry-pick -n -X theirs side",
        "git revert --no-edit HEAD",
        "git revert -n HEAD",
        "git stash pop",
        "git stash apply",
        "git stash apply --index 0",
        "git stash pop stash@{0}",
        "git read-tree -u --reset side",
        "git read-tree -mu HEAD side",
        "git checkout -qB tools side",
        "git checkout -qb new side",
        "git checkout -m side",
        "git switch -qC tools side",
        "git apply patch",
        "git apply -p1 --whitespace fix patch",
        "git am patch",
        "git am -q3 patch",
        "git stash branch new",
        "name=side; git merge side",
        "cd {project} && git merge side",
        "cd {project}/; cd .; git -C {project} stash pop",
        "cd sub/.. && git apply patch",
        "bash -c 'cd {project} && git cherry-pick side'",
        "git -C {project} -c advice.detachedHead=false --no-pager switch side",
        "cd sub && git pull",
        "(cd {project}/sub && git switch -C new side)",
        "git -C sub fetch . && git -C sub revert --no-edit HEAD",
        "git checkout side -- .envrc a.txt",
        "git checkout -q side a.txt .envrc",
        "git restore -s side .envrc a.txt",
        "git restore --source=side -- a.txt .envrc",
        "git am < patch",
        "git am -q3 <'patch'",
        "timeout 9 git apply < patch",
        "cd sub && git am ../patch",
    ],
)
def test_whatever_writes_protected_files_is_refused_before_it_begins(project: Path, command: str) -> None:
    _git(project, "config", "user.name", "n")
    _git(project, "config", "user.email", "e@x")
    _side_branch(project)
    for key, value in (("remote", "origin"), ("merge", "refs/heads/side")):
        _git(project, "config", f"branch.tools.{key}", value)
    _git(project, "config", "remote.origin.url", str(project))
    _git(project, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    _git(project, "update-ref", "refs/remotes/origin/side", "side")
    (project / "patch").write_text(_git(project, "format-patch", "-1", "--stdout", "side"))
    (project / ".git" / "info" / "exclude").write_text("patch\n")
    for name in ("a.txt", ".envrc"):
        (project / name).write_text("stashed\n")
    _git(project, "stash")
    (project / "sub").mkdir()

    [told] = _play(project, [command.replace("{project}", str(project))])

    assert "changes or removes .envrc" in told
    assert _git(project, "status", "--porcelain") == ""
    assert (project / "a.txt").read_text() == "one\n"
    assert _git(project, "symbolic-ref", "--short", "HEAD") == "tools\n"


@pytest.mark.parametrize(
    "command",
    [
        "git merge main",
        "git pull . main",
        "git cherry-pick -n plain",
        "git revert -n plain",
        "git apply plain.patch",
        "git apply --exclude=.envrc patch",
        "git apply --stat patch",
        "git am plain.patch",
        "git read-tree side",
        "git checkout side -- a.txt",
        "git restore -s side a.txt",
        "git checkout side -- . ':(top,exclude).envrc'",
        "git apply < plain.patch",
        "cd {project} && git checkout plain",
        "cd sub && git checkout plain",
        "git -C inner switch side",
        "cd inner && git merge side",
    ],
)
def test_what_writes_no_protected_file_runs(project: Path, command: str) -> None:
    _git(project, "config", "user.name", "n")
    _git(project, "config", "user.email", "e@x")
    _side_branch(project)
    _git(project, "checkout", "-qb", "plain")
    (project / "a.txt").write_text("plain\n")
    _git(project, "commit", "-qam", "plain")
    if "revert" not in command:
        _git(project, "checkout", "-q", "tools")
    for name, branch in (("patch", "side"), ("plain.patch", "plain")):
        (project / name).write_text(_git(project, "format-patch", "-1", "--stdout", branch))
    (project / "sub").mkdir()
    _git(project, "init", "-q", "inner")
    _git(project / "inner", "commit", "--allow-empty", "-qm", "one")
    _git(project / "inner", "branch", "side")

    [told] = _play(project, [command.replace("{project}", str(project))])

    assert "not run" not in told
    assert "error" not in told


@pytest.mark.parametrize(
    "command", ["cd $PWD && git switch main", 'cd sub && cd "$(git rev-parse --show-toplevel)" && git switch main']
)
def test_where_nobody_could_know_of_it_before_the_result_says_what_git_left(project: Path, command: str) -> None:
    (project / "sub").mkdir()

    [told] = _play(project, [command])

    assert "Switched to branch 'main'" in told
    assert f"Writing {project}/.envrc is blocked" in told


def test_a_pull_that_stops_at_what_nobody_knew_of_says_how_to_go_on(project: Path, tmp_path: Path) -> None:
    _side_branch(project)
    _git(tmp_path, "clone", "-q", "-b", "tools", str(project), "clone")
    clone = tmp_path / "clone"
    _git(clone, "remote", "set-url", "origin", "../clone/upstream")
    _git(tmp_path, "clone", "-q", "--bare", str(project), "clone/upstream")
    (clone / ".git" / "info" / "exclude").write_text("upstream\n")
    _git(clone, "update-ref", "-d", "refs/remotes/origin/side")

    stopped, again = _play(clone, ["git pull -q --no-rebase origin side", "git pull -q --no-rebase origin side"])

    assert "Writing" in stopped
    assert ".envrc is blocked" in stopped
    assert "`git stash -u` sets that aside" in stopped
    assert "it changes or removes .envrc, which the sandbox protects" in again


def test_a_patch_is_applied_without_the_protected_files_by_the_command_that_is_named(project: Path) -> None:
    _side_branch(project)
    (project / "patch").write_text(_git(project, "format-patch", "-1", "--stdout", "side"))
    remedy = "git apply --exclude=.envrc patch"

    told, _ = _play(project, ["git apply patch", remedy])

    assert f"`{remedy}` leaves them" in told
    assert ((project / "a.txt").read_text(), (project / ".envrc").read_text()) == ("side\n", "tools\n")


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("git checkout side -- .envrc a.txt", "git checkout side -- a.txt"),
        ("git restore -s side a.txt .envrc", "git restore -s side -- a.txt"),
        ("git apply < patch", "git apply --exclude=.envrc patch"),
        ("cd sub && git checkout side -- ../.envrc ../a.txt", "git -C sub checkout side -- ../a.txt"),
        (
            "git -C sub checkout side -- .. ':!x'",
            "git -C sub checkout side -- .. ':(top,exclude)sub/x' ':(top,exclude).envrc'",
        ),
    ],
)
def test_the_named_command_takes_the_other_files(project: Path, command: str, remedy: str) -> None:
    _side_branch(project)
    (project / "sub").mkdir()
    (project / "patch").write_text(_git(project, "format-patch", "-1", "--stdout", "side"))

    told, done = _play(project, [command, remedy])

    assert f"`{remedy}` leaves them" in told
    assert "not run" not in done
    assert ((project / "a.txt").read_text(), (project / ".envrc").read_text()) == ("side\n", "tools\n")


def test_files_that_are_named_in_a_directory_of_the_repository_are_not_taken_for_those_of_its_top(
    project: Path,
) -> None:
    app = project / "app"
    app.mkdir()
    (app / ".envrc").write_text("tools\n")
    _git(project, "add", ".")
    _git(project, "commit", "-qm", "app")
    _side_branch(project)
    _git(project, "checkout", "-q", "side")
    (app / ".envrc").write_text("side\n")
    _git(project, "commit", "-qam", "app of side")
    _git(project, "checkout", "-q", "tools")

    [told] = _play(app, ["git checkout side -- .envrc"])

    assert "leaves them where they are" not in told


def test_what_git_knows_of_the_project_says_nothing_of_a_repository_that_a_command_makes(project: Path) -> None:
    (project / ".git" / "info" / "exclude").write_text("ignored/\n")
    (project / "ignored").mkdir()
    (project / "ignored" / "keep").touch()

    [told] = _play(project, ["cd ignored && git init -q . && git clean -fdq"])

    assert "not run" in told
    assert (project / "ignored" / "keep").exists()


@pytest.mark.parametrize("named", ["core.hooksPath", "hook"])
def test_a_switch_that_leads_a_link_elsewhere_behind_which_git_has_hooks_is_refused(project: Path, named: str) -> None:
    for folder in ("scripts", "other"):
        (project / folder / "gh").mkdir(parents=True)
        (project / folder / "gh" / "pre-commit").write_text("#!/bin/sh\n")
    (project / "t").symlink_to("scripts")
    if named == "hook":
        (project / ".git" / "hooks").mkdir(exist_ok=True)
        (project / ".git" / "hooks" / "pre-commit").symlink_to("../../t/gh/pre-commit")
    else:
        _git(project, "config", "core.hooksPath", "t/gh")
    _git(project, "add", ".")
    _git(project, "commit", "-qm", "links")
    _git(project, "checkout", "-qb", "elsewhere")
    (project / "t").unlink()
    (project / "t").symlink_to("other")
    _git(project, "commit", "-qam", "elsewhere")
    _git(project, "checkout", "-q", "tools")
    person = Person(AllowOnce())

    told, _ = _play(project, ["git switch elsewhere", "sleep 0.1"], person)

    assert "it changes or removes t, which the sandbox protects" in told
    assert "git or another program obeys what is behind the link t" in told
    assert "a separate command" not in told
    assert person.questions == []
    assert _git(project, "status", "--porcelain", "--branch") == "## tools\n"
    assert (project / "t").readlink() == Path("scripts")


@pytest.mark.parametrize("command", ["git switch elsewhere", "git merge -q elsewhere"])
@pytest.mark.parametrize("named", ["core.hooksPath", "link", "missing"])
def test_what_puts_a_link_where_a_folder_with_hooks_is_or_would_be_is_refused(
    project: Path, named: str, command: str
) -> None:
    if named != "missing":
        (project / "t").mkdir()
        (project / "t" / "pre-commit").write_text("#!/bin/sh\n")
    if named == "link":
        (project / ".husky" / "pre-push").symlink_to("../t/pre-commit")
    else:
        _git(project, "config", "core.hooksPath", "t/hooks")
    (project / "t" / "other").mkdir(parents=True, exist_ok=True)
    (project / "other").mkdir()
    (project / "other" / "file").write_text("x")
    _git(project, "add", ".")
    _git(project, "commit", "-qm", "folder")
    _git(project, "checkout", "-qb", "elsewhere")
    _git(project, "rm", "-rq", "--ignore-unmatch", "t")
    shutil.rmtree(project / "t", ignore_errors=True)
    (project / "t").symlink_to("other")
    _git(project, "add", "t")
    _git(project, "commit", "-qm", "elsewhere")
    _git(project, "checkout", "-q", "tools")
    person = Person()

    told, _ = _play(project, [command, "sleep 0.1"], person)

    assert "it changes or removes t, which the sandbox protects" in told
    assert "git or another program obeys what is behind the link t" in told
    assert person.questions == []
    assert _git(project, "status", "--porcelain", "--branch") == "## tools\n"
    assert not (project / "t").is_symlink()


def test_protected_files_that_come_and_go_within_a_command_are_not_asked_about(project: Path) -> None:
    _git(project, "checkout", "-q", "main")
    _git(project, "checkout", "-qb", "hooks")
    (project / ".husky").mkdir()
    (project / ".husky" / "pre-commit").write_text("#!/bin/sh\n")
    (project / "mise.toml").write_text("[env]\n")
    _git(project, "add", ".")
    _git(project, "commit", "-qm", "hooks")
    _git(project, "checkout", "-q", "main")
    person = Person(Deny())
    notices: list[str] = []
    command = "git checkout -q hooks; sleep 0.3; git checkout -q main; git branch --show"

    [result] = _play(project, [command], person, notices)

    assert person.questions == []
    assert _git(project, "status", "--short") == ""
    assert "came with a checkout and went with the next one" in result
    assert "kaa-blocked" not in result
    assert _copies_in(notices) == {"#!/bin/sh\n", "[env]\n"}  # commands can write what git says of checkouts


def test_what_kaa_cannot_keep_is_asked_about_whatever_git_says(project: Path) -> None:
    _git(project, "checkout", "-q", "main")
    _git(project, "checkout", "-qb", "hooks")
    (project / "mise.toml").write_text("[env]\n")
    _git(project, "add", ".")
    _git(project, "commit", "-qm", "hooks")
    _git(project, "checkout", "-q", "main")
    person = Person(Deny())

    _play(project, ["git checkout -q hooks; sleep 0.3; git checkout -q main"], person, keeps=False)

    assert len(person.questions) == 1
    assert (project / "mise.toml.kaa-blocked").read_text() == "[env]\n"


def test_what_git_takes_for_a_checkout_because_a_command_says_so_is_kept(project: Path) -> None:
    _git(project, "checkout", "-q", "main")
    _git(project, "config", "user.name", "n")
    _git(project, "config", "user.email", "e@x")
    forges = (
        "echo mine > mise.toml; sleep 0.3; blob=$(echo mine | git hash-object -w --stdin);"
        ' tree=$(printf "100644 blob $blob\\tmise.toml\\n" | git mktree); forged=$(git commit-tree -m x $tree);'
        ' echo "$forged $(git rev-parse HEAD) n <e@x> 1 +0000\tx" >> .git/logs/HEAD'
    )
    notices: list[str] = []

    _play(project, [forges], Person(Deny()), notices)

    assert _copies_in(notices) == {"mine\n"}
    assert not (project / "mise.toml.kaa-blocked").exists()


def _copies_in(notices: Sequence[str]) -> set[str]:
    """Return the contents of the copies that kaa names."""
    [notice] = [one for one in notices if "came with a checkout" in one]
    return {Path(path).read_text() for path in notice.partition("kaa keeps a copy: ")[2].split(", ")}


def test_what_a_checkout_removed_but_somebody_wrote_anew_is_asked_about(project: Path) -> None:
    _git(project, "checkout", "-q", "main")
    _git(project, "checkout", "-qb", "hooks")
    (project / "mise.toml").write_text("[env]\n")
    _git(project, "add", ".")
    _git(project, "commit", "-qm", "hooks")
    _git(project, "checkout", "-q", "main")
    person = Person(Deny())

    _play(project, ["echo '[tools]' > mise.toml; sleep 0.3"], person)

    [question] = person.questions
    assert isinstance(question, Approval)
    assert list(question.arguments.values()) == ["+1 [tools]"]
    assert (project / "mise.toml.kaa-blocked").exists()


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    """A repository with a changed file, and with an `.envrc` and a `.vscode` that git does not track."""
    project = tmp_path / "project"
    project.mkdir()
    _git(project, "init", "-q", "-b", "main")
    (project / "a.txt").write_text("one\n")
    _git(project, "add", ".")
    _git(project, "commit", "-qm", "one")
    (project / "a.txt").write_text("two\n")
    (project / "b.txt").write_text("new\n")
    (project / ".envrc").write_text("mine\n")
    (project / ".vscode").mkdir()
    (project / ".vscode" / "settings.json").write_text("{}\n")
    return project


_WITHOUT = "git stash push -u -- :/ ':(top,exclude).envrc' ':(top,exclude).vscode'"


def test_a_stash_that_would_leave_protected_files_is_refused_with_one_that_works(dirty: Path) -> None:
    told, listed, done, popped = _play(dirty, ["git stash -u", "git stash list", _WITHOUT, "git stash pop"])

    assert told.startswith(
        "It was not run: it changes or removes .envrc, .vscode/settings.json, which the sandbox protects, so git would"
        f" stop half way. `{_WITHOUT}` leaves them where they are."
    )
    assert listed.startswith("exit code 0, no output")
    assert "Saved working directory" in done
    assert "Dropped" in popped
    assert ((dirty / "a.txt").read_text(), (dirty / "b.txt").read_text()) == ("two\n", "new\n")
    assert (dirty / ".envrc").read_text() == "mine\n"


@pytest.mark.parametrize("command", ["git stash", "git stash push -m mine", "git stash -- a.txt", "git stash list -u"])
def test_a_stash_that_takes_no_protected_file_runs(dirty: Path, command: str) -> None:
    [told] = _play(dirty, [command])

    assert "half way" not in told
    assert (dirty / "a.txt").read_text() == ("two\n" if "list" in command else "one\n")


_RESTORE = "git restore --source=HEAD --staged --worktree -- :/ "


_DISCARDING = (
    ("git checkout .", "git checkout -- . ", ""),
    ("git checkout -q -- .", "git checkout -q -- . ", ""),
    ("git checkout HEAD -- .", "git checkout HEAD -- . ", ""),
    ("git checkout -f .", "git checkout -f -- . ", ""),
    ("git checkout -- :/", "git checkout -- :/ ", ""),
    ("git restore .", "git restore -- . ", ""),
    ("git restore -W :/", "git restore -W -- :/ ", ""),
    ("git restore --source=HEAD --staged --worktree .", "git restore --source=HEAD --staged --worktree -- . ", ""),
    ("git restore -s HEAD -SW .", "git restore -s HEAD -SW -- . ", ""),
    ("git reset --hard", _RESTORE, " && git reset -q"),
    ("git reset -q --hard HEAD", _RESTORE, " && git reset -q"),
    ("git reset --hard same", _RESTORE, " && git reset -q && git reset --keep same"),
    ("git checkout -f", _RESTORE, " && git reset -q"),
    ("git checkout -qf same", _RESTORE, " && git reset -q && git checkout -q same"),
    ("git checkout --force -b new", _RESTORE, " && git reset -q && git checkout -b new"),
    ("git switch -f same", _RESTORE, " && git reset -q && git switch same"),
    ("git switch --discard-changes same", _RESTORE, " && git reset -q && git switch same"),
    ("git fetch . && git reset --hard @", _RESTORE, " && git reset -q"),
)


def test_discarding_everything_is_refused_where_a_protected_file_changed(project: Path) -> None:
    _git(project, "branch", "same")
    for name in ("a.txt", ".envrc"):
        (project / name).write_text("mine\n")
    remedies = [f"{remedy}':(top,exclude).envrc'{then}" for _, remedy, then in _DISCARDING]
    # Between them somebody changes the file again.
    change = "cat a.txt .envrc; echo mine > a.txt; : {}"
    calls = [
        (command, remedy, change.format(number))
        for number, ((command, _, _), remedy) in enumerate(zip(_DISCARDING, remedies, strict=True))
    ]

    results = _play(project, [one for each in calls for one in each])

    assert len(results) == 3 * len(_DISCARDING)
    for (command, remedy, _), told, done, left in zip(calls, results[::3], results[1::3], results[2::3], strict=True):
        assert "changes or removes .envrc" in told, command
        assert f"`{remedy}` leaves them" in told
        assert "not run" not in done, remedy
        assert left.partition("[briefing by kaa]")[0] == "one\nmine", remedy


def test_restoring_what_is_not_protected_runs(project: Path) -> None:
    commands = [
        "git checkout .",
        "git restore --staged .",
        "git restore -S .",
        "git checkout -- a.txt",
        "git reset --hard",
        "git switch -f tools",
        "git clean -fd",
        "cd {project} && git checkout -- a.txt",
        "git -C {project} reset --hard",
    ]

    discarding = [command.replace("{project}", str(project)) for command in commands]
    results = _play(
        project, [one for at, command in enumerate(discarding) for one in (f"echo mine > a.txt; : {at}", command)]
    )

    assert [told for told in results[1::2] if "not run" in told] == []
    assert len(results) == 2 * len(commands)


def test_restoring_the_files_of_a_revision_is_refused_where_protected_ones_differ(project: Path) -> None:
    remedy = "git checkout main -- . ':(top,exclude).envrc' ':(top,exclude).husky'"
    (project / "a.txt").write_text("mine\n")

    told, done = _play(project, ["git checkout main -- .", remedy])

    assert f"`{remedy}` leaves them" in told
    assert "not run" not in done
    assert ((project / "a.txt").read_text(), (project / ".envrc").read_text()) == ("one\n", "tools\n")


_UNTRACKED = "':(top,exclude).envrc' ':(top,exclude).vscode'"


@pytest.mark.parametrize(
    ("command", "remedy", "ignored"),
    [
        ("git clean -fd", "git clean -e /.envrc -e /.vscode -fd", ""),
        ("git clean -d --force .", "git clean -e /.envrc -e /.vscode -d --force .", ""),
        ("git clean -fdx -e '*.log'", "git clean -e /.envrc -e /.vscode -fdx -e '*.log'", "b.txt"),
        ("git clean -fdx", "git clean -e /.envrc -e /.vscode -fdx", ".envrc .vscode b.txt"),
        ("git clean -fd", "git clean -e /.vscode -fd", ".envrc"),
        ("git clean -fdX -- .", "git clean -fdX -- . ':(top,exclude).envrc'", ".envrc b.txt"),
        ("git clean -f", "git clean -e /.envrc -f", ""),
        ("git clean -fx -- :/", "git clean -e /.envrc -e /.vscode -fx -- :/", ".envrc b.txt"),
        ("git clean -fdx -e .envrc", "git clean -e /.vscode -fdx -e .envrc", ".envrc"),
        ("git stash -a", f"git stash push -a -- :/ {_UNTRACKED}", ".envrc .vscode b.txt"),
        ("git stash --include-untracked", "git stash push --include-untracked -- :/ ':(top,exclude).vscode'", ".envrc"),
        ("git stash push -ku -m 'a b'", f"git stash push -ku -m 'a b' -- :/ {_UNTRACKED}", ""),
        ("git stash save -u mine now", f"git stash push -u -m 'mine now' -- :/ {_UNTRACKED}", ""),
    ],
)
def test_removing_untracked_files_is_refused_where_protected_ones_are_among_them(
    dirty: Path, command: str, remedy: str, ignored: str
) -> None:
    (dirty / ".git" / "info" / "exclude").write_text("\n".join(ignored.split()))
    (dirty / "new" / "deep").mkdir(parents=True)
    (dirty / "new" / "deep" / "c.txt").write_text("new\n")
    person = Person(AllowOnce())

    [told, done] = _play(dirty, [command, remedy], person)

    assert f"`{remedy}` leaves them" in told
    assert len(person.questions) <= 1  # about what is lost with the second one
    assert "not run" not in done
    assert not (dirty / "b.txt").exists()
    assert (dirty / "new" / "deep" / "c.txt").exists() == (command in ("git clean -f", "git clean -fdX -- ."))
    assert ((dirty / ".envrc").read_text(), (dirty / ".vscode" / "settings.json").read_text()) == ("mine\n", "{}\n")


def test_removing_only_ignored_files_and_no_directories_has_no_other_way(dirty: Path) -> None:
    (dirty / ".git" / "info" / "exclude").write_text(".envrc\nb.txt\n")

    [told] = _play(dirty, ["git clean -fX"], Person(AllowOnce()))

    assert "changes or removes .envrc" in told
    assert "leaves them" not in told
    assert (dirty / "b.txt").exists()


def test_the_command_in_place_of_a_hard_reset_ends_a_merge(project: Path) -> None:
    for branch in ("twin", "same"):
        _git(project, "checkout", "-q", "-B", branch, "tools")
        (project / "a.txt").write_text(f"{branch}\n")
        _git(project, "commit", "-qam", branch)
    subprocess.run(["git", "-C", project, *_IDENTITY, "merge", "-q", "twin"], check=False, capture_output=True)
    (project / ".envrc").write_text("mine\n")
    remedy = f"{_RESTORE}':(top,exclude).envrc' && git reset -q"
    assert (project / ".git" / "MERGE_HEAD").exists()

    told, _ = _play(project, ["git reset --hard", remedy], Person(AllowOnce()))

    assert f"`{remedy}`" in told
    assert not (project / ".git" / "MERGE_HEAD").exists()
    assert ((project / "a.txt").read_text(), (project / ".envrc").read_text()) == ("same\n", "mine\n")


@pytest.mark.parametrize(
    "command",
    [
        "git clean -nfdx",
        "git clean -fd b.txt",
        "git clean -d",
        "git clean -fdx -e .envrc --exclude=.vscode",
        "git clean -fX",
    ],
)
def test_removing_what_is_not_protected_runs(dirty: Path, command: str) -> None:
    [told] = _play(dirty, [command], Person(AllowOnce()))

    assert "It was not run" not in told


def test_a_stash_of_a_changed_protected_file_is_refused(project: Path) -> None:
    (project / ".envrc").write_text("mine\n")

    [told] = _play(project, ["git stash push -qm mine"])

    assert "it changes or removes .envrc" in told
    assert "`git stash push -qm mine -- :/ ':(top,exclude).envrc'` leaves them" in told
    assert _git(project, "stash", "list") == ""
