"""The gate in a run of the agent: who is asked what, what the answers do, and what the model learns."""

import asyncio
import os
import posixpath
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from kaa.core.events import AgentEnd
from kaa.core.hooks import Block, FixedHooks
from kaa.core.messages import Json, ToolCall, ToolResultMessage
from kaa.core.tool import Tool, ToolResult, ToolRun, TypedTool, text_result
from kaa.ext.asking import NOBODY
from kaa.ext.context import ToolContext, WorkspacePermit
from kaa.ext.escalations import OUTSIDE, WHOLE_NETWORK, Escalation, EscalationKind
from kaa.ext.questions import (
    Abort,
    AllowAlways,
    AllowByAuto,
    AllowForSession,
    AllowInProject,
    AllowOnce,
    Answer,
    Deny,
    Dismissed,
    PutBack,
    Question,
)
from kaa.ext.tools import RegisteredTool, ToolServer
from kaa.hands.policy import Mode
from kaa.llm.scripted import reply
from kaa.shell.approvals.gate import Gate
from kaa.shell.approvals.memory import Memory
from kaa.shell.approvals.rule_file import ApprovalRules, RuleFile, parse_rules
from kaa.shell.approvals.rules import parse_grant
from kaa.shell.approvals.sparing import Sparing
from kaa.shell.settings import ApprovalPolicy
from kaa.workspace.blocked import Blocked, note
from kaa.workspace.checkpoints.contract import Kept
from kaa.workspace.git import ChangedFiles
from kaa.workspace.git_held import HeldFiles, Incoming, Taken
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.moved_files import MovedFiles
from kaa.workspace.network.asking import HostAsker
from kaa.workspace.permitted import PermittedWorkspace, Target
from kaa.workspace.protocol import FileInfo, Links, Start, Workspace
from kaa.workspace.sandbox.options import SandboxChange
from tests.shell.approvals.judging import RISKS, ROOT
from tests.support.agents import Scene, run, say
from tests.support.known_project import make_known
from tests.support.person import AnswerT, Person
from tests.support.tables import each

HIDDEN = ("secret",)
WEB = ("mcp__web__search", "mcp__web__open")


class CommandArguments(msgspec.Struct):
    """Arguments of the tools here."""

    command: str = ""
    path: str = ""
    url: str = ""


class Sandbox:
    """A sandbox that blocks what the test says, and what was changed about it."""

    def __init__(self) -> None:
        self.confined = True
        self.effective = False
        self.is_narrowed = False
        self.tells_hosts_apart = True
        self.has_network = False
        self.mode: Mode = "workspace-write"
        self.root = ROOT
        self.writable = (ROOT, "/tmp")
        self.temporary = ("/tmp",)
        self.private_temporary: tuple[str, ...] = ("/tmp",)
        self.links: dict[str, str] = {}
        self.modular: dict[str, str] = {}
        self.links_outside: list[Links] = []
        self.starts: list[Start] = []
        self.exposed: dict[str, str] = {}
        self.outside: MemoryWorkspace | None = None
        self.looked_at: list[str] = []
        self.hosts: list[str] = []
        self.services: list[str] = []
        self.never: list[str] = ["/"]
        self.changes: list[SandboxChange] = []
        self.asker: HostAsker | None = None
        self.hosts_of_call: tuple[str, ...] = ()
        self.fails = False
        self.held: dict[str, HeldFiles] = {}
        self.own_worktrees: list[str] = []
        self.settled = asyncio.Event()
        self.settled.set()

    async def held_of(self, taken: Taken) -> HeldFiles | None:
        return None

    async def held_from(self, written: Incoming) -> HeldFiles | None:
        return self.held.get(written.revision)

    async def can_remove_worktree(self, path: str) -> bool:
        return path in self.own_worktrees

    async def settle(self) -> None:
        await self.settled.wait()

    def permits(self, escalation: Escalation) -> bool:
        if escalation.kind == "whole network":
            return self.has_network
        return escalation.kind == "network" and escalation.what in self.hosts

    def objection(self, escalation: Escalation) -> str | None:
        return f"{escalation.what} is never granted" if escalation.what in self.never else None

    async def change(self, change: SandboxChange) -> None:
        if self.fails:
            raise OSError("the hands are gone")
        self.changes.append(change)

    async def admit(self, service: str) -> None:
        if self.fails:
            raise OSError("the hands are gone")
        self.services.append(service)

    def asking(self, asker: HostAsker, hosts: Sequence[str]) -> Workspace | None:
        self.asker, self.hosts_of_call = asker, tuple(hosts)
        return None

    def allow_network(self) -> None:
        self.has_network = True

    def allow_host(self, host: str) -> None:
        if self.fails:
            raise OSError("the hands are gone")
        self.hosts.append(host)

    async def stat(self, path: str) -> FileInfo | None:
        self.looked_at.append(path)
        if path in HIDDEN:
            raise PermissionError(path)
        real = self.links.get(path)
        return None if real is None else FileInfo(path, real, "file", 0, 0o644, 0)

    def exposed_program(self, name: str) -> str | None:
        return self.exposed.get(name)

    def starts_module_here(self, name: str) -> str | None:
        return self.modular.get(name)

    def exposed_setting(self) -> str | None:
        return self.exposed.get("a variable")

    def watched(
        self,
        links: Links = "followed",
        start: Start = "project",
        seen: Mapping[str, bytes] | None = None,
        *,
        alone: Callable[[], str | None] | None = None,
    ) -> Workspace:
        self.links_outside.append(links)
        self.starts.append(start)
        return cast("Workspace", "outside")

    def unattended(self, links: Links = "followed", start: Start = "project") -> Workspace:
        self.links_outside.append(links)
        self.starts.append(start)
        return cast("Workspace", "outside, unattended")

    async def left_behind(self, contents: Mapping[str, bytes]) -> frozenset[str]:
        return frozenset()

    async def save_copy(self, path: str, content: bytes, mode: int) -> str:
        return ""

    @property
    def moved_files(self) -> MovedFiles:
        assert self.outside is not None
        return self.outside

    def unconfined(self, target: Target | None) -> Workspace:
        if self.outside is not None:
            return self.outside if target is None else PermittedWorkspace(self.outside, target)
        return cast("Workspace", f"outside at {target.real_path}" if target else "outside")


class Stage:
    """An agent with a gate whose tools tell what the sandbox would have blocked."""

    def __init__(
        self,
        *answers: Answer,
        policy: ApprovalPolicy = "ask",
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        file: RuleFile | None = None,
        headless: bool = False,
        changed: Sequence[str] | None = None,
        kept: Sequence[str] = (),
    ) -> None:
        self.person = Person(*answers)
        self.policy = policy
        self.sandbox = Sandbox()
        self.ran: list[tuple[str, object]] = []
        self.blocks: Callable[[str, bool], list[Json]] = lambda _command, _permitted: []
        self.output = "ran"
        self.blocked_earlier: list[Json] = []
        self.notices: list[str] = []
        self.kept_directories: list[str] = []
        self.server: ToolServer | None = None
        self._changed = None if changed is None else ChangedFiles(tuple(changed))
        self._kept = frozenset(kept)
        self.gate = Gate(
            policy=lambda: self.policy,
            choose=self._choose,
            memory=Memory(parse_rules(allow, deny, "test"), file, self.kept_directories.extend),
            tool_of=lambda name: RegisteredTool(
                cast("Tool[ToolContext]", self._tool(name)), "", risk=RISKS.get(name, "outside"), server=self.server
            ),
            sandbox=self.sandbox,
            asker=NOBODY if headless else self.person,
            abort=self._abort,
            sparing=Sparing(self._ask_git, self._ignores, self._keeps),
            notify=self.notices.append,
        )
        self._scene = Scene([])

    def _choose(self, policy: ApprovalPolicy) -> None:
        self.policy = policy

    def _abort(self) -> None:
        self._scene.agent.abort()

    async def _ask_git(self, untracked: bool) -> ChangedFiles | None:
        return self._changed

    async def _ignores(self, directories: Sequence[str]) -> bool:
        return False

    async def _keeps(self, patterns: Sequence[str], *, name: str = "", kind: str = "") -> Kept:
        return Kept(self._kept.issuperset(map(posixpath.normpath, patterns)))

    def play(self, *calls: tuple[str, dict[str, Json]]) -> AgentEnd:
        """One reply with these calls, and one that ends the run."""
        script = [reply(tool_calls=[(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(calls)])]
        hooks = FixedHooks((self.gate.before,), (self.gate.after,))
        tools = [self._tool(name) for name in (*RISKS, *WEB, "surprise", "request_permission")]
        self._scene = Scene([*script, reply(text="All done!")], *tools, hooks=hooks)
        return run(self._scene.agent.run(say("go")))

    def commands(self, *commands: str) -> AgentEnd:
        """The same with calls of bash."""
        return self.play(*(("bash", {"command": command}) for command in commands))

    def _tool(self, name: str) -> Tool[ToolRun]:
        async def work(arguments: CommandArguments, tool_run: ToolRun) -> ToolResult:
            what = arguments.command or arguments.path or arguments.url or name
            permit = tool_run.permit
            permitted = permit.workspace if isinstance(permit, WorkspacePermit) else None
            self.ran.append((what, permitted))
            blocked = self.blocks(what, permitted is not None)
            details = {"blocked": blocked, "blockedEarlier": self.blocked_earlier}
            return text_result(self.output, details={key: value for key, value in details.items() if value} or None)

        return TypedTool(name, name, CommandArguments, work)


def _with_a_file_that_was_moved_away(*answers: Answer, headless: bool = False) -> tuple[Stage, MemoryWorkspace]:
    """A stage whose commands make `.envrc`, and the project."""
    stage = Stage(*answers, policy="auto", headless=headless)
    project = MemoryWorkspace({".envrc.kaa-blocked": b"a"}, root=ROOT)
    stage.sandbox.outside = project
    found: dict[str, Json] = {"kind": "protected", "what": f"{ROOT}/.envrc", "keptAs": f"{ROOT}/.envrc.kaa-blocked"}
    stage.output = f"ran\n\n{note([msgspec.convert(found, Blocked)])}"
    stage.blocks = lambda _command, _permitted: [found]
    return stage, project


class TestServersAtAnAddress:
    def stage(self, *answers: Answer, headless: bool = False) -> Stage:
        stage = Stage(*answers, policy="auto", headless=headless)
        stage.server = ToolServer("web", "mcp.example.com", "mcp__web__*")
        return stage

    def test_the_question_names_the_server_and_where_it_is(self) -> None:
        stage = self.stage(Deny())

        stage.play(("mcp__web__search", {"command": "kaa"}))

        [question] = stage.person.questions
        assert question.server == stage.server
        assert question.reasons == ("MCP server web at mcp.example.com works outside any sandbox",)
        assert (question.suggestion, question.broader_rule) == ("mcp__web__search", "mcp__web__*")

    @pytest.mark.parametrize(("rule", "asked"), [("mcp__web__*", 1), ("mcp__web__search", 2)])
    def test_an_answer_holds_for_the_tool_or_for_all_tools_of_the_server(self, rule: str, asked: int) -> None:
        stage = self.stage(AllowForSession(rule), AllowOnce())

        stage.play(("mcp__web__search", {"command": "one"}), ("mcp__web__open", {}), ("mcp__web__search", {}))

        assert len(stage.person.questions) == asked
        assert len(stage.ran) == 3

    def test_a_run_without_a_user_names_both_rules(self) -> None:
        stage = self.stage(headless=True)

        end = stage.play(("mcp__web__search", {}))

        advice = "add 'mcp__web__search', or 'mcp__web__*' for all tools of its server, to approvals.allow"
        assert advice in results(end)[0].text


class TestWhatCanBeUndone:
    def test_it_runs_without_a_question_and_the_user_is_told_once(self) -> None:
        stage = Stage(policy="auto", kept=["build", "dist"])

        stage.commands("rm -rf build", "rm -rf dist")

        assert [command for command, _ in stage.ran] == ["rm -rf build", "rm -rf dist"]
        assert stage.notices == ["rm -rf build: deletes build; kaa does not ask, because /undo restores these files"]

    def test_a_rule_that_denies_it_holds(self) -> None:
        stage = Stage(policy="auto", kept=["build"], deny=["bash: rm"])

        stage.commands("rm -rf build")

        assert stage.ran == []

    def test_outside_the_sandbox_it_is_asked(self) -> None:
        stage = Stage(Deny(), policy="auto", kept=["build"])
        stage.sandbox.confined = stage.sandbox.effective = False

        stage.commands("rm -rf build")

        assert len(stage.person.questions) == 1
        assert stage.ran == []


class TestGrantsOfARun:
    def granted(self, *calls: tuple[str, dict[str, Json]], grants: Sequence[str], **options: Any) -> Stage:
        stage = Stage(*([Deny()] * len(calls)), **options)
        with stage.gate.granting([parse_grant(rule) for rule in grants]):
            stage.play(*calls)
        return stage

    def test_what_they_allow_is_not_asked_while_they_hold(self) -> None:
        calls = [("bash", {"command": "git status -s"}), ("bash", {"command": "make"})]

        stage = self.granted(*calls, grants=["bash: git status *"])
        stage.play(calls[0])

        assert [question.arguments["command"] for question in stage.person.questions] == ["make", "git status -s"]
        assert [command for command, _ in stage.ran] == ["git status -s"]

    @pytest.mark.parametrize("command", ["git stash drop", "git push", "rm -rf x", "cat a > y"])
    def test_they_allow_no_loss_and_nothing_outside(self, command: str) -> None:
        stage = self.granted(("bash", {"command": command}), grants=[f"bash: {command.partition(' >')[0]}"])

        assert len(stage.person.questions) == 1
        assert stage.ran == []

    def test_without_a_sandbox_they_allow_nothing(self) -> None:
        stage = Stage(Deny(), Deny())
        stage.sandbox.confined = stage.sandbox.effective = False

        with stage.gate.granting([parse_grant("bash: ls"), parse_grant("write")]):
            stage.play(("bash", {"command": "ls"}), ("write", {"path": "a"}))

        assert stage.ran == []

    def test_rules_that_deny_and_the_mode_step_come_first(self) -> None:
        call = ("bash", {"command": "git status"})

        denied = self.granted(call, grants=["bash: git status"], deny=["bash: git"])
        asked = self.granted(call, grants=["bash: git status"], policy="step")

        assert (denied.ran, asked.ran) == ([], [])
        assert len(asked.person.questions) == 1


class TestAnswersForAKind:
    def test_an_answer_can_switch_to_auto(self) -> None:
        stage = Stage(AllowByAuto())
        stage.sandbox.effective = True

        stage.commands("make $x", "pytest > out")

        (question,) = stage.person.questions
        assert question.auto
        assert stage.policy == "auto"
        assert [command for command, _ in stage.ran] == ["make $x", "pytest > out"]

    @pytest.mark.parametrize("command", ["git stash drop", "git push", "rm -rf x"])
    def test_what_auto_asks_too_does_not_offer_it(self, command: str) -> None:
        stage = Stage(AllowByAuto(), Deny())
        stage.sandbox.effective = True

        stage.commands(command)

        assert [question.auto for question in stage.person.questions] == [False, False]
        assert stage.policy == "ask"
        assert "the mode auto would ask this too" in str(stage.person.questions[1].problem)
        assert stage.ran == []

    @pytest.mark.parametrize("policy", ["ask", "step"])
    @pytest.mark.parametrize("effective", [True, False])
    def test_it_is_offered_only_where_the_sandbox_holds_everything(
        self, policy: ApprovalPolicy, effective: bool
    ) -> None:
        stage = Stage(Deny(), policy=policy)
        stage.sandbox.effective = effective

        stage.commands("make")

        assert stage.person.questions[0].auto is effective

    def test_an_answer_for_the_session_allows_all_edits_in_the_project(self) -> None:
        stage = Stage(AllowForSession("write: **"), Deny())
        stage.sandbox.effective = True

        stage.play(("write", {"path": "a"}), ("edit", {"path": "src/b"}), ("write", {"path": ".envrc"}))

        assert stage.person.questions[0].suggestion == "write: **"
        assert [path for path, _ in stage.ran] == ["a", "src/b"]
        assert len(stage.person.questions) == 2


class TestRunningAgain:
    def test_the_question_warns_of_what_runs_again(self) -> None:
        stage = Stage(Deny(), policy="auto")
        stage.blocks = lambda _command, _permitted: [{"kind": "outside"}]

        stage.commands("git fetch --all && git pull")

        (question,) = stage.person.questions
        assert question.was_run
        assert question.warning == "all of it runs again, also the parts that have run already"

    def test_one_command_needs_no_list(self) -> None:
        stage = Stage(Deny(), policy="auto")
        stage.blocks = lambda _command, _permitted: [{"kind": "outside"}]

        stage.commands("git pull")

        assert [(question.was_run, question.warning) for question in stage.person.questions] == [(True, None)]


class TestForeseenNeeds:
    def test_the_question_comes_before_the_run_and_the_call_runs_once(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")

        stage.commands("git push")

        (question,) = stage.person.questions
        assert question.escalations == (OUTSIDE,)
        assert not question.was_run
        assert question.suggestion == "outside bash: git push"
        assert question.reasons == ("git push uses the network and your credentials, which the sandbox hides",)
        assert stage.ran == [("git push", "outside")]

    @pytest.mark.parametrize("command", ["git push", "gh pr checkout 5"])
    def test_a_rule_answers_it_and_what_git_brings_is_guarded(self, command: str) -> None:
        stage = Stage(allow=[f"outside bash: {command}"], policy="auto")

        stage.commands(command)

        assert stage.ran == [(command, "outside")]

    def test_a_rule_for_the_inside_does_not_answer_it(self) -> None:
        stage = Stage(Deny(), allow=["bash: git push"])

        stage.commands("git push")

        assert len(stage.person.questions) == 1
        assert stage.ran == []

    def test_an_answer_for_the_session_answers_the_next_one(self) -> None:
        stage = Stage(AllowForSession(), policy="auto")

        stage.commands("git push", "git push")

        assert len(stage.person.questions) == 1
        assert [permit for _, permit in stage.ran] == ["outside", "outside"]

    def test_a_program_that_commands_can_write_is_not_run_outside(self) -> None:
        stage = Stage(policy="auto")
        stage.sandbox.exposed["git"] = "/project/.venv/bin/git"

        end = stage.commands("git push")

        assert "git is /project/.venv/bin/git, which commands in the sandbox can write" in results(end)[0].text
        assert (stage.person.questions, stage.ran) == ([], [])

    def test_a_client_that_obeys_what_commands_can_write_does_not_leave(self) -> None:
        stage = Stage(policy="auto")
        stage.sandbox.exposed["a variable"] = "KUBECONFIG"

        end = stage.commands("kubectl get pods")

        assert "the variable KUBECONFIG has programs obey what commands in the sandbox" in results(end)[0].text
        assert (stage.person.questions, stage.ran) == ([], [])

    @each(
        ("command", "start"),
        [
            ("az account show", "home"),
            ("kubectl -n x get pods | grep -c Running", "home"),
            ("ssh host uptime", "home"),
            ("az account show; ls", "project"),
            ("kubectl apply -f notes.yaml", "project"),
            ("gh pr list", "project"),
        ],
    )
    def test_clients_that_need_no_project_start_in_the_home(self, command: str, start: Start) -> None:
        stage = Stage(AllowOnce(), policy="auto")

        stage.commands(command)

        assert stage.ran == [(command, "outside")]
        assert stage.sandbox.starts == [start]

    @pytest.mark.parametrize("command", ["make release", "az acr build ."])
    def test_what_only_a_rule_lets_out_may_need_the_project(self, command: str) -> None:
        stage = Stage(policy="auto", allow=[f"outside bash: {command}"])

        stage.commands(command)

        assert stage.ran == [(command, "outside, unattended")]
        assert stage.sandbox.starts != ["home"]

    def test_a_client_that_would_load_modules_of_the_project_does_not_leave_there(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.sandbox.modular["az"] = "/usr/local/bin/az"

        end = stage.commands("az account show; ls", "az account show")

        assert "/usr/local/bin/az starts a Python before 3.11" in results(end)[0].text
        assert stage.ran == [("az account show", "outside")]

    @each(
        ("command", "links"),
        [
            ("git push", "avoided"),
            ("gh pr list | head -n 3", "avoided"),
            ("git commit -S -F notes.txt", "refused"),
            ("gh gist create notes.txt", "refused"),
            ("gh api x -F body=@notes.txt", "refused"),
            ("kubectl -n x apply -f notes.yaml", "refused"),
            ("git clone git@example.com:x/y.git vendor", "refused"),
            ("scp notes.txt host:x", "refused"),
        ],
    )
    def test_links_in_the_project_lead_nowhere_outside(self, command: str, links: Links) -> None:
        stage = Stage(AllowOnce(), policy="auto")

        stage.commands(command)

        assert stage.ran == [(command, "outside")]
        assert stage.sandbox.links_outside == [links]

    def test_programs_of_a_rule_that_kaa_does_not_know_follow_links(self) -> None:
        stage = Stage(policy="auto", allow=["outside bash: make release", "outside bash: gh gist create x"])

        stage.commands("make release", "gh gist create x")

        assert stage.sandbox.links_outside == ["followed", "refused"]

    @pytest.mark.parametrize("command", ["gh gist create notes.txt", "git commit -S -F notes.txt"])
    def test_no_answer_to_a_command_that_names_files_holds_for_another_one(self, command: str) -> None:
        stage = Stage(AllowForSession(), AllowForSession(), policy="auto")

        stage.commands(command, command)

        assert [question.suggestion for question in stage.person.questions] == [None, None]

    def test_what_changed_while_the_question_was_open_is_looked_at(self, tmp_path: Path) -> None:
        class Exchanging(Person):
            async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
                (tmp_path / "notes.txt").symlink_to("/etc/passwd")
                return await super().ask(question)

        stage = Stage(policy="auto")
        stage.gate.asker = stage.person = Exchanging(AllowOnce())
        stage.sandbox.root = str(tmp_path)

        end = stage.commands("gh gist create notes.txt")

        assert len(stage.person.questions) == 1
        assert "notes.txt" in results(end)[0].text
        assert stage.ran == []

    def test_the_rest_of_a_command_does_not_leave_with_its_part(self) -> None:
        stage = Stage(policy="auto")

        end = stage.commands("make && git push")

        assert (
            "make runs or obeys /project, which commands in the sandbox can write. Call the part"
            in results(end)[0].text
        )
        assert (stage.person.questions, stage.ran) == ([], [])

    def test_a_program_that_is_named_by_a_path_is_not_taken_for_another(self) -> None:
        stage = Stage(policy="auto")

        stage.commands("./git push")

        assert stage.ran == [("./git push", None)]

    @pytest.mark.parametrize("command", ["git push origin main", "gh pr list", "ssh host ls"])
    def test_without_a_user_what_can_only_work_outside_is_denied(self, command: str) -> None:
        stage = Stage(policy="auto", headless=True)

        end = stage.commands(command)

        (result,) = results(end)
        assert stage.ran == []
        assert "your credentials, which the sandbox hides" in result.text
        assert "The user can add 'outside bash: " in result.text
        assert end.reason == "denied"

    def test_without_a_user_a_rule_answers_it(self) -> None:
        stage = Stage(allow=["outside bash: git push origin main"], policy="auto", headless=True)

        stage.commands("git push origin main")

        assert stage.ran == [("git push origin main", "outside")]

    def test_without_a_user_a_call_that_needs_a_host_runs(self) -> None:
        stage = Stage(policy="auto", headless=True)

        stage.commands("pip install requests")

        assert stage.ran == [("pip install requests", None)]


_PAGE = "https://docs.example/a?b=c"


class TestWebPages:
    @pytest.mark.parametrize("policy", ["ask", "auto"])
    def test_the_host_is_asked_about_once_before_the_first_page(self, policy: ApprovalPolicy) -> None:
        stage = Stage(AllowForSession(), policy=policy)

        stage.play(("web_fetch", {"url": _PAGE}), ("web_fetch", {"url": "https://docs.example/other"}))

        (question,) = stage.person.questions
        assert question.escalations == (Escalation("network", "docs.example"),)
        assert question.title == f"web_fetch {_PAGE}"
        assert stage.sandbox.hosts == ["docs.example"]
        assert stage.ran == [(_PAGE, None), ("https://docs.example/other", None)]

    def test_a_no_gets_nothing(self) -> None:
        stage = Stage(Deny(), policy="auto")

        stage.play(("web_fetch", {"url": _PAGE}))

        assert (stage.ran, stage.sandbox.hosts) == ([], [])

    def test_a_rule_for_the_tool_allows_no_host(self) -> None:
        stage = Stage(Deny(), allow=["web_fetch"], policy="auto")

        stage.play(("web_fetch", {"url": _PAGE}))

        assert stage.ran == []

    def test_another_port_is_another_permission(self) -> None:
        stage = Stage(Deny(), policy="auto")
        stage.sandbox.hosts.append("docs.example")

        stage.play(("web_fetch", {"url": "http://docs.example:8080/"}))

        assert stage.person.questions[0].escalations == (Escalation("network", "docs.example:8080"),)

    def test_what_the_network_refuses_is_not_run_outside_the_sandbox(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.blocks = lambda _url, _permitted: [{"kind": "network", "what": "docs.example"}]

        stage.play(("web_fetch", {"url": _PAGE}))

        assert len(stage.person.questions) == 1
        assert stage.ran == [(_PAGE, None)]

    def test_without_a_sandbox_every_page_is_asked_about(self) -> None:
        stage = Stage(AllowOnce(), AllowOnce(), policy="auto")
        stage.sandbox.confined = stage.sandbox.effective = False

        stage.play(("web_fetch", {"url": _PAGE}), ("web_fetch", {"url": _PAGE}))

        assert len(stage.person.questions) == 2

    @each("url", ["", "nonsense", "http://[", "http://localhost/", "http://x:99999/", 7])
    def test_what_no_rule_can_name_is_not_asked_about(self, url: Json) -> None:
        stage = Stage(policy="auto")

        stage.play(("web_fetch", {"url": url}))

        assert stage.person.questions == []


def results(end: AgentEnd) -> list[ToolResultMessage]:
    return [message for message in end.messages if isinstance(message, ToolResultMessage)]


class TestBefore:
    def test_a_yes_runs_the_call_and_the_question_says_all_there_is_to_know(self) -> None:
        stage = Stage(AllowOnce())

        end = stage.commands("make $x && git status")

        (question,) = stage.person.questions
        assert end.reason == "done"
        assert stage.ran == [("make $x && git status", None)]
        assert (question.call_id, question.tool, question.risk) == ("c0", "bash", "command")
        assert question.title == "make $x && git status"
        assert question.arguments == {"command": "make $x && git status"}
        assert [part.text for part in question.parts] == ["make $x", "git status"]
        assert question.reasons == ("no rule can allow it: it contains a variable",)
        assert (question.suggestion, question.escalations, question.was_run) == (None, (), False)

    def test_a_no_blocks_the_call_tells_the_model_and_is_no_success(self) -> None:
        stage = Stage(Deny("not on a Friday"))

        end = stage.commands("make deploy")

        assert stage.ran == []
        assert results(end)[0].is_error
        assert results(end)[0].text.startswith("The user does not allow this: not on a Friday.")
        assert end.reason == "denied"

    def test_reads_are_not_asked(self) -> None:
        stage = Stage()

        stage.play(("read", {"path": "a"}), ("grep", {}))

        assert len(stage.ran) == 2

    def test_once_is_once(self) -> None:
        stage = Stage(AllowOnce(), AllowOnce())

        stage.commands("make", "make")

        assert len(stage.person.questions) == 2

    def test_for_the_session_without_a_rule_means_exactly_this_call(self) -> None:
        stage = Stage(AllowForSession(), Deny())

        stage.commands("make $x", "make $x", "make $y")

        assert [what for what, _ in stage.ran] == ["make $x", "make $x"]

    def test_a_rule_answered_to_one_of_a_batch_lets_the_others_run_unasked(self) -> None:
        stage = Stage(AllowForSession("bash: npm *"))

        end = stage.commands("npm test", "npm start", "npm run x")

        assert (end.reason, len(stage.person.questions), len(stage.ran)) == ("done", 1, 3)

    def test_always_keeps_the_rule_for_the_next_kaa(self, tmp_path: Path) -> None:
        file = RuleFile(tmp_path / "home" / "approvals.json")
        first = Stage(AllowAlways("bash: npm test\nbash: npm start\n"), file=file)
        first.commands("npm test && npm start")

        second = Stage(file=RuleFile(tmp_path / "home" / "approvals.json"))
        end = second.commands("npm start")

        assert (end.reason, second.ran) == ("done", [("npm start", None)])

    @pytest.mark.parametrize(
        ("answer", "problem"),
        [
            (AllowAlways("bash: npm start"), "'bash: npm start' does not allow this call"),
            (AllowAlways("bash: *"), "would allow every command"),
            (AllowAlways(""), "does not allow this call"),
            (AllowForSession("nonsense rule"), "is no rule"),
            (AllowAlways("bash: npm test"), "no file to keep rules in"),
        ],
    )
    def test_a_rule_that_would_not_have_helped_is_asked_about_again(self, answer: Answer, problem: str) -> None:
        stage = Stage(answer, Deny())

        end = stage.commands("npm test")

        assert stage.person.questions[0].problem is None
        assert problem in (stage.person.questions[1].problem or "")
        assert (stage.ran, end.reason) == ([], "denied")

    @pytest.mark.parametrize(("rule", "is_told"), [("bash: git push", True), ("outside bash: git pushsh env", False)])
    def test_outside_is_asked_for_only_where_a_rule_lacks_it(self, rule: str, is_told: bool) -> None:
        stage = Stage(AllowForSession(rule), Deny(), policy="auto")

        stage.commands("git push")

        problem = stage.person.questions[1].problem or ""
        assert f"{rule!r} does not allow this call" in problem
        assert ("'outside' must stand before each rule" in problem) == is_told

    def test_a_rule_with_a_mistake_is_there_to_be_mended(self) -> None:
        stage = Stage(AllowAlways("bash: npm tset"), Deny())

        stage.commands("npm test")

        assert stage.person.questions[1].suggestion == "bash: npm tset"

    def test_a_file_that_cannot_be_written_is_asked_about_again_and_not_overwritten(self, tmp_path: Path) -> None:
        path = tmp_path / "approvals.json"
        stage = Stage(AllowAlways("bash: npm test"), AllowOnce(), file=RuleFile(path))
        path.write_text("{broken")
        path.chmod(0o600)

        end = stage.commands("npm test")

        assert "not a JSON object" in (stage.person.questions[1].problem or "")
        assert (end.reason, path.read_text()) == ("done", "{broken")

    def test_abort_stops_the_run_and_asks_nothing_more(self) -> None:
        stage = Stage(Abort())

        end = stage.commands("make a", "make b", "make c")

        assert end.reason == "aborted"
        assert (len(stage.person.questions), stage.ran) == (1, [])
        assert [result.is_error for result in results(end)] == [True, True, True]

    def test_after_an_abort_the_next_run_asks_again(self) -> None:
        stage = Stage(Abort(), AllowOnce())
        stage.commands("make a")

        assert stage.commands("make a").reason == "done"

    def test_questions_come_in_the_order_of_the_calls(self) -> None:
        stage = Stage(*[AllowOnce()] * 6)

        stage.commands(*(f"make {letter}" for letter in "abcdef"))

        assert [question.title for question in stage.person.questions] == [f"make {letter}" for letter in "abcdef"]

    def test_step_asks_for_every_call_and_takes_no_rules(self) -> None:
        stage = Stage(AllowAlways("read"), AllowForSession(), AllowOnce(), policy="step", allow=["read"])

        stage.play(("read", {"path": "a"}), ("read", {"path": "a"}))

        assert [question.suggestion for question in stage.person.questions] == [None] * 3
        assert all(question.stepping for question in stage.person.questions)
        assert "no rule can allow this" in (stage.person.questions[1].problem or "")

    def test_stepping_ends_with_an_answer_and_a_stop_ends_the_run(self) -> None:
        ended = Stage(AllowByAuto(), policy="step")
        ended.sandbox.effective = True
        stopped = Stage(Abort(), policy="step")

        ended.play(("read", {"path": "a"}), ("read", {"path": "b"}))
        reason = stopped.play(("read", {"path": "a"}), ("read", {"path": "b"})).reason

        assert (len(ended.person.questions), len(ended.ran)) == (1, 2)
        assert (reason, len(stopped.person.questions), stopped.ran) == ("aborted", 1, [])

    def test_a_yes_to_what_is_outside_gives_a_permit(self) -> None:
        stage = Stage(AllowOnce(), AllowOnce(), policy="auto")

        stage.play(("write", {"path": "/etc/hosts"}), ("write", {"path": "a"}), ("deploy", {}))

        assert set(stage.ran) == {("/etc/hosts", "outside at /etc/hosts"), ("a", None), ("deploy", None)}
        assert [question.escalations for question in stage.person.questions] == [(Escalation("outside"),), ()]

    def test_a_rule_that_says_outside_gives_a_permit_without_a_question(self) -> None:
        stage = Stage(allow=["outside bash: docker ps"])

        stage.commands("docker ps")

        assert stage.ran == [("docker ps", "outside, unattended")]

    @pytest.mark.parametrize("policy", ["ask", "auto"])
    def test_a_rule_does_not_count_for_a_program_that_commands_can_write(self, policy: ApprovalPolicy) -> None:
        stage = Stage(allow=["outside bash: docker ps"], policy=policy)
        stage.sandbox.exposed["docker"] = "/project/bin/docker"

        end = stage.commands("docker ps")

        assert "docker is /project/bin/docker, which commands in the sandbox can write" in results(end)[0].text
        assert "A rule with the absolute path of the program does" in results(end)[0].text
        assert (stage.person.questions, stage.ran) == ([], [])

    def test_a_rule_does_not_count_for_a_shim_that_obeys_files_of_the_project(self) -> None:
        stage = Stage(allow=["outside bash: /home/me/.asdf/shims/docker ps"], policy="auto")

        end = stage.commands("/home/me/.asdf/shims/docker ps")

        assert "is a shim: files of the project, such as .tool-versions, decide" in results(end)[0].text
        assert (stage.person.questions, stage.ran) == ([], [])

    @pytest.mark.parametrize("command", ["./deploy.sh", "sh deploy.sh", "/project/deploy.sh"])
    def test_a_rule_for_a_file_that_commands_can_write_asks_each_time(self, command: str) -> None:
        stage = Stage(AllowOnce(), Deny(), allow=[f"outside bash: {command}"], policy="auto")

        stage.commands(command, command)

        assert stage.ran == [(command, "outside")]
        assert [question.escalations for question in stage.person.questions] == [(OUTSIDE,)] * 2
        assert "deploy.sh, which commands in the sandbox can write" in stage.person.questions[0].reasons[0]
        assert stage.person.questions[0].suggestion is None

    @each(
        ("text", "asks"),
        [
            ("git\t", True),
            ("git pu\t\n", True),
            ("ls -l", False),
            ("ls\n\tls\n", False),
            ("a\tb", True),
        ],
    )
    def test_input_that_a_shell_completes_is_asked_about_where_a_rule_forbids_commands(
        self, text: str, asks: bool
    ) -> None:
        stage = Stage(AllowOnce(), deny=["bash: git push"], policy="auto")

        stage.play(("bash", {"command": text, "process": 1}))

        assert bool(stage.person.questions) == asks

    def test_a_rule_for_a_file_of_another_project_asks_each_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("home", "other", "own"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "tool.py").write_text("")
        make_known(tmp_path / "other", tmp_path / "home", monkeypatch)
        commands = [f"python3 {tmp_path}/{name}/tool.py" for name in ("other", "own", "other")]
        rules = [f"outside bash: {command}" for command in commands]
        stage = Stage(AllowOnce(), Deny(), allow=rules, policy="auto")
        stage.sandbox.writable = (ROOT, "/var/tmp")

        stage.commands(*commands)
        assert sorted(command for command, _ in stage.ran) == commands[:2]
        assert [question.title for question in stage.person.questions] == [commands[0], commands[2]]
        assert "other/tool.py, which commands in the sandbox can write" in stage.person.questions[0].reasons[0]

    @pytest.mark.parametrize(
        ("command", "file"),
        [("git push origin main", ".ssh/config"), ("scp a host:", ".ssh/config"), ("kubectl get pods", ".kube/config")],
    )
    def test_a_rule_for_a_client_whose_settings_lead_into_a_project_asks_each_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, file: str
    ) -> None:
        for folder in ("kaa", "dotfiles", os.path.dirname(file)):
            (tmp_path / folder).mkdir()
        make_known(tmp_path / "dotfiles", tmp_path / "kaa", monkeypatch)
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / file).write_text("")
        stage = Stage(AllowOnce(), allow=[f"outside bash: {command}"], policy="auto")
        stage.sandbox.writable = (ROOT, "/var/tmp")

        stage.commands(command)
        (tmp_path / file).unlink()
        (tmp_path / file).symlink_to(tmp_path / "dotfiles/settings")
        stage.commands(command)

        assert [(one, str(permit).startswith("outside")) for one, permit in stage.ran] == [(command, True)] * 2
        [question] = stage.person.questions
        assert f"obeys {tmp_path / file}, by {tmp_path}/dotfiles/settings, which commands" in question.reasons[0]

    @pytest.mark.parametrize("configured", ["filter.x.smudge=scripts/smudge", "include.path=../.gitconfig"])
    def test_a_rule_for_git_that_may_bring_what_it_obeys_asks_each_time(self, tmp_path: Path, configured: str) -> None:
        key, _, value = configured.partition("=")
        (tmp_path / "scripts").mkdir()
        (tmp_path / "scripts" / "smudge").write_text("")
        subprocess.run(["sh", "-c", f"git init -q && git config {key} {value}"], cwd=tmp_path, check=True)
        freely = ["git push", "rclone sync a b:"]
        rules = [f"outside bash: {command}" for command in ("git pull", *freely, "gh pr checkout 5")]
        stage = Stage(AllowOnce(), AllowOnce(), AllowOnce(), allow=rules, policy="auto")
        stage.sandbox.root = str(tmp_path)

        stage.commands("git pull", *freely, "git pull", "gh pr checkout 5")

        assert [question.title for question in stage.person.questions] == ["git pull", "git pull", "gh pr checkout 5"]
        assert {question.suggestion for question in stage.person.questions} == {None}
        assert "which commits that it brings can replace" in stage.person.questions[0].reasons[0]
        assert sorted(str(permit) for _, permit in stage.ran) == ["outside"] * 4 + ["outside, unattended"]

    def test_where_nothing_confines_every_write_and_command_is_asked_in_auto(self) -> None:
        stage = Stage(AllowOnce(), AllowForSession(), policy="auto")
        stage.sandbox.confined = False

        stage.play(
            ("bash", {"command": "ls"}), ("write", {"path": "a"}), ("read", {"path": "a"}), ("write", {"path": "a"})
        )

        written = ("a", "outside at /project/a")
        assert sorted(stage.ran, key=str) == [written, written, ("a", None), ("ls", "outside")]

    def test_full_access_needs_no_permit(self) -> None:
        stage = Stage(policy="auto")
        stage.sandbox.mode = "full-access"
        stage.sandbox.confined = False

        stage.play(("bash", {"command": "ls"}), ("write", {"path": "/etc/hosts"}))

        assert {permit for _, permit in stage.ran} == {None}

    def test_nothing_is_judged_before_it_is_certain_what_confines(self) -> None:
        async def scenario() -> tuple[bool, object]:
            stage = Stage(policy="auto", headless=True)
            stage.sandbox.settled.clear()
            judging = asyncio.ensure_future(stage.gate.before(ToolCall("1", "bash", {"command": "ls"})))
            await asyncio.sleep(0.01)
            early = judging.done()
            stage.sandbox.confined = False
            stage.sandbox.settled.set()
            return early, await judging

        early, verdict = run(scenario())

        assert not early
        assert isinstance(verdict, Block)

    def test_a_sandbox_that_is_gone_runs_nothing(self) -> None:
        async def gone() -> None:
            raise OSError("the hands are gone")

        stage = Stage()
        stage.sandbox.settle = gone  # type: ignore[method-assign]  # as if its process had died

        end = stage.commands("ls")

        assert (results(end)[0].text, stage.ran) == ("bash was not run: the hands are gone", [])

    @pytest.mark.parametrize(("changed", "asked"), [((), 0), (("a.py",), 1), (None, 1)])
    def test_git_is_asked_what_would_be_lost(self, changed: Sequence[str] | None, asked: int) -> None:
        stage = Stage(*[AllowOnce()] * asked, policy="auto", changed=changed)

        end = stage.commands("git checkout .")

        assert (end.reason, len(stage.person.questions)) == ("done", asked)

    def test_what_git_knows_of_this_project_says_nothing_of_another(self) -> None:
        commands = (
            "git -C ../other reset --hard",
            "cd x && git checkout .",
            "git --namespace n -C x reset --hard",
            "git --config-env a=B -C x reset --hard",
            "git -C a -C a reset --hard",
            "git bisect run git -C x reset --hard",
            "CDPATH=x; cd . && git reset --hard",
            "CDPATH=x cd . && git reset --hard",
            "read CDPATH < x; cd . && git reset --hard",
            "export CD''PATH=x; cd . && git reset --hard",
            "GIT_DIR=x/.git git reset --hard",
            "env GIT_WORK_TREE=x git checkout .",
        )
        stage = Stage(*[AllowOnce()] * len(commands), policy="auto", changed=())

        stage.commands(*commands)

        assert len(stage.person.questions) == len(commands)

    def test_long_commands_are_judged_like_short_ones(self) -> None:
        long = f"echo {'a ' * 2000}; rm -rf x"
        stage = Stage(Deny(), policy="auto", allow=["bash: echo *"])

        end = stage.commands(f"echo {'a ' * 2000}", long)

        assert [question.warning for question in stage.person.questions] == ["deletes x"]
        assert {result.tool_call_id: result.is_error for result in results(end)} == {"c0": False, "c1": True}

    def test_a_deny_rule_is_not_asked_about(self) -> None:
        stage = Stage(deny=["bash: make"])

        end = stage.commands("make")

        assert "the rule 'bash: make' forbids it" in results(end)[0].text
        assert end.reason == "denied"

    def test_the_policy_can_be_changed_while_the_gate_stands(self) -> None:
        stage = Stage()
        stage.policy = "auto"

        assert stage.commands("make").reason == "done"


class TestWherePathsLead:
    def test_what_is_shown_offered_and_permitted_is_the_real_path(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.sandbox.links["notes"] = "/home/me/notes"

        stage.play(("write", {"path": "notes"}))

        (question,) = stage.person.questions
        assert question.title == "write /home/me/notes"
        assert question.suggestion == "outside write: /home/me/notes"
        assert "/project/notes leads to /home/me/notes through a link" in question.reasons
        assert stage.ran == [("notes", "outside at /home/me/notes")]

    @pytest.mark.parametrize("answer", [AllowForSession(), AllowForSession("outside write: /home/me/notes")])
    def test_an_answer_for_the_session_ends_where_the_link_is_exchanged(self, answer: Answer) -> None:
        stage = Stage(answer, Deny(), policy="auto")
        stage.sandbox.links["notes"] = "/home/me/notes"
        stage.play(("write", {"path": "notes"}))
        stage.play(("write", {"path": "notes"}))

        stage.sandbox.links["notes"] = "/home/me/.bashrc"
        end = stage.play(("write", {"path": "notes"}))

        assert [question.title for question in stage.person.questions] == [
            "write /home/me/notes",
            "write /home/me/.bashrc",
        ]
        assert (len(stage.ran), end.reason) == (2, "denied")

    def test_a_new_file_is_where_its_directory_leads(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.sandbox.links["out"] = "/home/me"

        stage.play(("write", {"path": "out/sub/new"}))

        assert stage.ran == [("out/sub/new", "outside at /home/me/sub/new")]

    def test_the_spelling_that_exists_is_the_one_that_counts(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.sandbox.links["notes"] = "/home/me/notes"

        stage.play(("write", {"path": "@notes"}))

        assert stage.ran == [("@notes", "outside at /home/me/notes")]

    def test_what_cannot_be_looked_at_goes_by_its_name(self) -> None:
        stage = Stage(AllowOnce(), policy="auto", deny=["read: keys"])

        stage.play(("write", {"path": "secret"}), ("write", {"path": "../secret"}))

        assert [question.title for question in stage.person.questions] == ["write /secret"]

    def test_a_deny_rule_holds_for_the_name_and_for_where_it_leads(self) -> None:
        stage = Stage(deny=["read: /home/me/keys/**", "read: shut"])
        stage.sandbox.links.update(a="/home/me/keys/1", shut="/project/open", open="/project/open")

        end = stage.play(("read", {"path": "a"}), ("read", {"path": "shut"}), ("read", {"path": "open"}))

        assert [result.is_error for result in results(end)] == [True, True, False]

    def test_reads_that_run_anyway_are_not_looked_up(self) -> None:
        stage = Stage(deny=["write: x", "bash: y"])

        stage.play(("read", {"path": "a"}), ("grep", {"path": "b"}))

        assert stage.sandbox.looked_at == []

    def test_what_exists_is_looked_up_once(self) -> None:
        stage = Stage(policy="auto")
        stage.sandbox.links["src/a"] = "/project/src/a"

        stage.play(("write", {"path": "src/a"}))

        assert stage.sandbox.looked_at == ["src/a"]

    def test_where_a_permitted_call_was_stopped_is_asked_and_permitted_next(self) -> None:
        stage = Stage(AllowOnce(), AllowOnce(), policy="auto")
        stage.blocks = lambda _c, _p: [{"kind": "write", "what": "/elsewhere"}] if len(stage.ran) == 1 else []

        end = stage.play(("write", {"path": "/etc/x"}))

        assert [question.title for question in stage.person.questions] == ["write /etc/x", "write /elsewhere"]
        assert stage.ran == [("/etc/x", "outside at /etc/x"), ("/etc/x", "outside at /elsewhere")]
        assert end.reason == "done"

    def test_a_blocked_call_of_a_file_tool_is_permitted_its_path_and_no_more(self) -> None:
        stage = Stage(AllowForSession(), policy="auto")
        stage.sandbox.links["a"] = "/home/me/.ssh/config"
        stage.blocks = lambda _c, permitted: [] if permitted else [{"kind": "read", "what": "/project/a"}]

        stage.play(("read", {"path": "a"}))
        stage.play(("read", {"path": "a"}))

        assert [question.title for question in stage.person.questions] == ["read /home/me/.ssh/config"]
        permitted = "outside at /home/me/.ssh/config"
        assert [what for _, what in stage.ran] == [None, permitted, permitted]

    def test_a_deny_rule_holds_where_a_permitted_call_was_stopped(self) -> None:
        stage = Stage(AllowOnce(), policy="auto", deny=["write: /elsewhere"])
        stage.blocks = lambda _c, _p: [{"kind": "write", "what": "/elsewhere"}]

        end = stage.play(("write", {"path": "/etc/x"}))

        assert len(stage.person.questions) == 1
        assert "the rule 'write: /elsewhere' forbids it" in results(end)[0].text

    def test_a_file_tool_without_a_path_is_permitted_nothing_but_the_project(self) -> None:
        stage = Stage(allow=["outside grep"])

        stage.play(("grep", {}))

        assert stage.ran == [("grep", "outside at /project")]


class TestNobodyToAsk:
    @pytest.mark.parametrize("policy", ["ask", "auto", "never"])
    def test_what_the_sandbox_holds_runs_and_the_rest_is_denied_with_a_way_out(self, policy: ApprovalPolicy) -> None:
        stage = Stage(policy=policy, headless=True)

        end = stage.play(
            ("bash", {"command": "make"}), ("bash", {"command": "git clean -fd"}), ("write", {"path": "/etc/hosts"}),
            ("deploy", {}),
        )  # fmt: skip

        denied = {result.tool_call_id: result.text for result in results(end) if result.is_error}
        assert stage.ran == [("make", None)]
        assert end.reason == "denied"
        assert "it deletes files that git does not track. Nobody can be asked" in denied["c1"]
        assert "'bash: git clean -fd' to approvals.allow" in denied["c1"]
        assert "--sandbox full-access" in denied["c2"]
        assert "deploy works outside any sandbox" in denied["c3"]

    def test_the_least_that_lets_a_file_be_written_is_named(self) -> None:
        stage, elsewhere = Stage(headless=True), Path(__file__).parent

        end = stage.play(("write", {"path": f"{elsewhere}/a"}), ("write", {"path": f"{elsewhere}/.envrc"}))

        outside, protected = (result.text for result in results(end) if result.is_error)
        assert f" or add --add-dir {elsewhere}." in outside
        assert "full-access" not in outside + protected
        assert "--add-dir" not in protected

    def test_a_call_that_was_blocked_is_told_with_the_rules_for_all_its_parts(self) -> None:
        stage = Stage(headless=True)
        stage.blocks = lambda _c, _p: [{"kind": "write", "what": "/x"}]

        end = stage.commands("make a; make b")

        assert "add 'outside bash: make a' and 'outside bash: make b' to approvals.allow" in (end.error or "")

    def test_what_was_blocked_in_the_background_is_no_success_either(self) -> None:
        stage = Stage(headless=True)
        stage.blocked_earlier = [{"kind": "write", "what": "/x"}]

        end = stage.commands("make")

        assert len(stage.ran) == 1
        assert end.reason == "denied"
        assert "in the background: Writing to /x is blocked" in results(end)[0].text

    def test_never_asks_nobody_even_where_somebody_is(self) -> None:
        stage = Stage(policy="never")

        assert stage.commands("rm -rf x").reason == "denied"

    def test_in_read_only_a_user_who_is_there_is_told_how_to_end_it(self) -> None:
        stage = Stage(policy="never")
        stage.sandbox.mode = "read-only"
        stage.blocks = lambda _c, _p: [{"kind": "read-only", "what": "/project/a"}]

        end = stage.play(
            ("write", {"path": "/etc/hosts"}),
            ("bash", {"command": "make"}),
            ("request_permission", {"kind": "host", "value": "pypi.org", "reason": "the tests need it"}),
        )

        for result in results(end):
            assert result.text.count("Shift+Tab") == 1
            assert result.text.lower().count("the mode is read-only") == 1
            assert "Nobody can be asked" not in result.text
            assert "approvals.allow" not in result.text

    @pytest.mark.parametrize("headless", [True, False])
    def test_while_kaa_plans_no_way_out_of_the_sandbox_is_named(self, headless: bool) -> None:
        stage = Stage(policy="never", headless=headless)
        stage.gate.plans = lambda: True
        stage.sandbox.mode = "read-only"
        stage.blocks = lambda _c, _p: [{"kind": "read-only", "what": "/project/.git"}]

        end = stage.play(("write", {"path": "/etc/hosts"}), ("bash", {"command": "git commit -m x"}))

        for result in results(end):
            assert "kaa plans now and changes nothing." in result.text
            assert "outside" not in result.text.partition("(")[0]
            assert "The user can" not in result.text

    def test_in_read_only_without_a_user_the_flag_is_named(self) -> None:
        stage = Stage(headless=True)
        stage.sandbox.mode = "read-only"
        stage.blocks = lambda _c, _p: [{"kind": "read-only", "what": "/project/a"}]

        text = results(stage.commands("make"))[0].text

        assert "--sandbox workspace-write" in text
        assert "Nobody can be asked in this run." in text

    def test_step_without_anybody_denies_everything(self) -> None:
        stage = Stage(policy="step", headless=True)

        assert stage.play(("read", {"path": "a"})).reason == "denied"

    def test_rules_allow_all_the_same(self) -> None:
        stage = Stage(headless=True, allow=["deploy", "bash: rm -rf build", "outside write: /etc/hosts"])

        end = stage.play(("deploy", {}), ("bash", {"command": "rm -rf build"}), ("write", {"path": "/etc/hosts"}))

        assert (end.reason, len(stage.ran)) == ("done", 3)

    @pytest.mark.parametrize(
        ("kind", "what", "way"),
        [
            ("network", "pypi.org", "--net registries/python"),
            ("write", "/x", "outside bash: make"),
            ("write", "/var/lib/x", "--add-dir /var/lib or add 'outside bash: make'"),
            ("port", "5432", "add 'outside bash: make'"),
            ("socket", "/run/x.sock", "add 'outside bash: make'"),
        ],
    )
    def test_a_blocked_call_is_an_error_and_the_run_no_success(self, kind: str, what: str, way: str) -> None:
        stage = Stage(policy="auto", headless=True)
        stage.blocks = lambda _command, _permitted: [{"kind": kind, "what": what}]

        end = stage.commands("make")

        assert results(end)[0].is_error
        assert results(end)[0].text.startswith("ran\n")
        assert way in results(end)[0].text
        assert (end.reason, len(stage.ran)) == ("denied", 1)

    def test_what_the_guard_moved_away_is_denied_with_the_way_back(self) -> None:
        stage = Stage(headless=True)
        stage.blocks = lambda _c, _p: [{"kind": "protected", "what": "/p/a b", "keptAs": "/p/a b.kaa-blocked"}]

        end = stage.commands("make")

        assert (end.reason, results(end)[0].is_error) == ("denied", False)
        assert "(mv -T '/p/a b.kaa-blocked' '/p/a b' puts it back" in results(end)[0].text
        assert "outside bash" not in results(end)[0].text


class TestAfter:
    def test_git_writes_that_the_user_switched_off_are_not_asked_about(self) -> None:
        stage = Stage(policy="auto")
        stage.blocks = lambda _c, _p: [{"kind": "git", "what": ".git/index"}]

        assert stage.commands("git add a").reason == "done"
        assert stage.person.questions == []
        assert stage.ran == [("git add a", None)]

    def test_what_was_blocked_in_the_background_is_not_asked_about_with_another_call(self) -> None:
        stage = Stage(policy="auto")
        stage.blocked_earlier = [{"kind": "write", "what": "/x"}]

        assert stage.commands("make").reason == "done"
        assert stage.person.questions == []

    def test_what_the_guard_stopped_is_not_asked_about_since_no_second_run_brings_it_back(self) -> None:
        stage = Stage(policy="auto")
        stage.blocks = lambda _c, _p: [{"kind": "flood"}]

        assert stage.commands("make").reason == "done"
        assert stage.person.questions == []
        assert stage.ran == [("make", None)]

    @pytest.mark.parametrize(("answer", "written"), [(AllowOnce(), b"a"), (PutBack(), b"a"), (Deny("no"), None)])
    def test_what_the_guard_moved_away_is_written_after_a_yes_without_a_second_run(
        self, answer: Answer, written: bytes | None
    ) -> None:
        stage, project = _with_a_file_that_was_moved_away(answer)

        end = stage.commands("make")

        [question] = stage.person.questions
        assert list(question.arguments.values()) == ["+1 a"]
        assert run(project.read_existing([".envrc"], 10)).get(".envrc") == written
        assert (stage.ran, end.reason) == ([("make", None)], "done")

    def test_a_command_beside_which_files_appeared_succeeds_whatever_is_answered(self) -> None:
        stage, _ = _with_a_file_that_was_moved_away(Deny("no"))

        [result] = results(stage.commands("make"))

        assert not result.is_error
        assert result.text.startswith("ran\n")
        assert "The user does not allow this: no." in result.text

    @pytest.mark.parametrize(("answer", "told"), [(AllowOnce(), "the user allowed it"), (PutBack(), "")])
    def test_of_files_that_are_at_their_place_again_no_result_says_that_they_are_not(
        self, answer: Answer, told: str
    ) -> None:
        stage, _ = _with_a_file_that_was_moved_away(answer)

        [result] = results(stage.commands("make"))

        assert ("kaa-blocked" in result.text, told in result.text) == (False, True)
        assert (result.text == "ran") == (not told)
        assert result.details == {"blocked": []}

    @pytest.mark.parametrize("state", ["read-only", "narrowed", "never", "headless"])
    def test_what_the_guard_moved_away_is_only_asked_about_where_it_may_be_written(self, state: str) -> None:
        stage, project = _with_a_file_that_was_moved_away(headless=state == "headless")
        stage.sandbox.mode = "read-only" if state == "read-only" else "workspace-write"
        stage.sandbox.is_narrowed = state == "narrowed"
        stage.policy = "never" if state == "never" else "auto"

        stage.commands("make")

        assert stage.person.questions == []
        assert run(project.stat(".envrc")) is None
        assert bool(stage.notices) == (state == "never")  # else nobody is there, or nobody's files were moved away

    def test_no_answer_lets_later_files_be_written_without_a_question(self) -> None:
        stage, _ = _with_a_file_that_was_moved_away(AllowAlways("write: **"), AllowByAuto(), Deny())

        stage.commands("make")

        assert [bool(question.problem) for question in stage.person.questions] == [False, True, True]

    @pytest.mark.parametrize("headless", [False, True])
    def test_a_cache_above_the_project_that_its_program_goes_on_without_is_no_question(self, headless: bool) -> None:
        stage = Stage(policy="auto", headless=headless)
        stage.blocks = lambda _c, _p: [{"kind": "write", "what": "/above/.pytest_cache/v/cache/nodeids"}]

        end = stage.commands("pytest")

        assert (stage.person.questions, end.reason, len(stage.ran)) == ([], "done", 1)

    def test_one_reason_for_many_files_is_said_once(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.blocks = lambda _c, permitted: [] if permitted else [{"kind": "outside"}, {"kind": "outside"}]

        stage.commands("git pull")

        (question,) = stage.person.questions
        assert question.reasons == ("This cannot be done inside the sandbox.",)

    def test_a_call_that_was_kept_from_a_host_is_not_run_again(self) -> None:
        stage = Stage(policy="auto")
        stage.blocks = lambda _command, _permitted: [{"kind": "network", "what": "example.com:443"}]

        end = stage.commands("make")

        assert (end.reason, stage.ran) == ("done", [("make", None)])

    @pytest.mark.parametrize(
        ("kind", "what", "warning"),
        [
            ("port", "5432", None),
            ("socket", "/run/docker.sock", "who can use /run/docker.sock can do everything on this machine, as root"),
        ],
    )
    def test_a_service_of_the_machine_is_allowed_for_the_session(
        self, kind: EscalationKind, what: str, warning: str | None
    ) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.blocks = lambda _c, _p: [] if stage.sandbox.services else [{"kind": kind, "what": what}]

        end = stage.commands("make")

        assert stage.person.questions[0].escalations == (Escalation(kind, what),)
        assert stage.person.questions[0].warning == warning
        assert (end.reason, stage.ran) == ("done", [("make", None), ("make", None)])
        assert stage.sandbox.services == [what]

    def test_a_write_outside_the_project_is_allowed_in_its_directory_for_the_session(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.blocks = lambda _c, _p: [] if stage.sandbox.changes else [{"kind": "write", "what": "/var/lib/no/such/x"}]

        end = stage.commands("make")

        (question,) = stage.person.questions
        assert question.escalations == (Escalation("directory", "/var/lib"),)
        assert question.suggestion is None
        assert stage.sandbox.changes == [SandboxChange(writable=("/var/lib",))]
        assert (end.reason, stage.ran) == ("done", [("make", None), ("make", None)])

    def test_the_question_names_the_directory_that_a_link_leads_to(self, tmp_path: Path) -> None:
        (tmp_path / "innocent").symlink_to("/var/lib")
        stage = Stage(Deny(), policy="auto")
        stage.blocks = lambda _c, _p: [{"kind": "write", "what": f"{tmp_path}/innocent/x"}]

        stage.commands("make")

        assert stage.person.questions[0].escalations == (Escalation("directory", "/var/lib"),)

    @each(
        "what",
        [
            "",
            "lib/x",
            "/var/lib/never/x",
            "/var/x",
            "/etc/cron.d/x",
            "/var/lib/.git/hooks/x",
            "/var/lib/.VSCode/x",
            "/var/lib/a\nb",
        ],
    )
    def test_a_directory_that_is_never_granted_is_not_offered(self, what: str) -> None:
        stage = Stage(Deny(), policy="auto")
        stage.sandbox.never.append("/var/lib")
        stage.blocks = lambda _c, _p: [{"kind": "write", "what": what}]

        end = stage.commands("make", "git pull")

        (question,) = stage.person.questions
        assert (question.title, question.escalations) == ("git pull", (OUTSIDE,))
        assert "kaa does not offer to run this outside the sandbox" in results(end)[0].text

    def test_a_worktree_that_a_command_made_is_removed_without_a_question(self) -> None:
        stage = Stage(policy="auto")
        stage.sandbox.effective = True
        stage.sandbox.own_worktrees = ["wt2"]

        stage.commands("git worktree remove wt2", "git worktree remove wt1")

        assert stage.ran == [("git worktree remove wt2", None)]
        assert [question.title for question in stage.person.questions] == ["git worktree remove wt1"]

    def test_a_worktree_elsewhere_is_refused_before_git_makes_its_branch(self) -> None:
        stage = Stage(policy="auto")
        stage.sandbox.effective = True

        stage.commands("git worktree add ../wt -b side", "git worktree add wt -b side", "cd sub; git worktree add ../w")

        assert stage.ran == [("git worktree add wt -b side", None), ("cd sub; git worktree add ../w", None)]
        assert stage.person.questions == []

    def test_a_directory_that_did_not_help_is_not_offered_again(self) -> None:
        stage = Stage(AllowOnce(), Deny(), policy="auto")
        stage.blocks = lambda _c, _p: [{"kind": "write", "what": "/var/lib/x"}]

        stage.commands("git pull")

        asked = [question.escalations for question in stage.person.questions]
        assert asked == [(Escalation("directory", "/var/lib"),), (Escalation("outside"),)]

    @pytest.mark.parametrize("kind", ["write", "read", "protected", "outside", "direct"])
    def test_a_command_of_known_programs_may_leave_for_anything_else(self, kind: str) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.blocks = lambda _c, permitted: [] if permitted else [{"kind": kind, "what": ""}]

        end = stage.commands("git pull")

        assert stage.person.questions[0].escalations == (Escalation("outside"),)
        assert stage.person.questions[0].suggestion == "outside bash: git pull"
        assert (end.reason, stage.ran) == ("done", [("git pull", None), ("git pull", "outside")])

    @each("kind", ["write", "read", "protected", "outside", "direct", "process"])
    def test_another_command_is_not_offered_to_leave(self, kind: str) -> None:
        stage = Stage(policy="auto")
        stage.blocks = lambda _c, permitted: [] if permitted else [{"kind": kind, "what": ""}]

        end = stage.commands("./release.sh")

        assert "The user can type it behind `!`" in results(end)[0].text
        assert (stage.person.questions, stage.ran) == ([], [("./release.sh", None)])
        assert end.reason == "denied"

    def test_of_a_protected_file_that_exists_the_model_learns_which_tool_asks(self) -> None:
        stage = Stage(policy="auto")
        hook = f"{ROOT}/.git/hooks/pre-commit"
        stage.blocks = lambda _c, _p: [{"kind": "protected", "what": hook}]

        end = stage.commands("printf x > .git/hooks/pre-commit")

        assert results(end)[0].text == (
            "ran\nUse write or edit for this file now: the user is asked, and sees the content."
        )
        assert (end.reason, end.denials) == ("done", ())  # the tools ask

    def test_of_gits_configuration_the_model_learns_which_command_is_offered(self) -> None:
        stage = Stage(policy="auto")
        stage.blocks = lambda _c, _p: [{"kind": "protected", "what": f"{ROOT}/.git/config"}]

        end = stage.commands("git remote add origin git@example.com:x/y.git && git add -A && git commit -m x")

        assert results(end)[0].text == (
            "ran\nRun the command that changes it, such as `git remote add`, by itself, then the rest:"
            " the user is asked."
        )

    def test_no_command_is_offered_to_reach_other_processes(self) -> None:
        stage = Stage(policy="auto")
        stage.blocks = lambda _c, _p: [{"kind": "process", "what": "7"}]

        stage.commands("cat /proc/7/environ")

        assert stage.person.questions == []

    def test_another_command_is_shown_the_one_hidden_path(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.blocks = lambda _c, _p: [] if stage.sandbox.changes else [{"kind": "read", "what": "/var/lib/hidden"}]

        end = stage.commands("./release.sh")

        (question,) = stage.person.questions
        assert question.escalations == (Escalation("read", "/var/lib/hidden"),)
        assert stage.sandbox.changes == [SandboxChange(shown=("/var/lib/hidden",))]
        assert (end.reason, stage.ran) == ("done", [("./release.sh", None)] * 2)

    def test_a_hidden_path_that_is_never_granted_is_not_offered(self) -> None:
        stage = Stage(policy="auto")
        stage.sandbox.never.append("/var/lib/hidden")
        stage.blocks = lambda _c, _p: [{"kind": "read", "what": "/var/lib/hidden"}]

        stage.commands("./release.sh")

        assert (stage.person.questions, len(stage.ran)) == ([], 1)

    @pytest.mark.parametrize(
        "command",
        [
            "rm -r {folder}",
            "rm {folder}/file",
            "find {folder} -delete",
            "find {folder} -name file -exec rm {{}} +",
            "cd {folder} && rm file",
            "cd .. && git clean -fd",
            "truncate -s 0 {folder}/file",
            "cp /dev/null {folder}/file",
            "cp a {folder}/file",
            "mv a {folder}/file",
            "echo x > {folder}/file",
            "echo x | tee {folder}/file",
            "dd of={folder}/file",
            "chmod 777 {folder}",
            "chown me {folder}/file",
            "sh -c 'rm -r {folder}'",
        ],
    )
    def test_losses_outside_the_project_are_never_offered(self, tmp_path: Path, command: str) -> None:
        (tmp_path / "file").touch()
        stage = Stage(AllowOnce(), policy="auto")  # a yes to run it in the sandbox
        stage.sandbox.temporary = ("/nowhere",)
        stage.blocks = lambda _c, permitted: [] if permitted else [{"kind": "write", "what": f"{tmp_path}/file"}]

        end = stage.commands(command.format(folder=tmp_path))

        assert all(question.escalations == () for question in stage.person.questions)
        assert "The user can type it behind `!`, which runs it with their rights." in results(end)[0].text
        assert [permit for _, permit in stage.ran] == [None]
        assert stage.sandbox.changes == []

    @each(
        ("command", "warned"),
        [
            ("ls /tmp/x.py", "/tmp/x.py"),
            ("stat --printf=/tmp", "/tmp"),
            ("ls '/tmp/a b'", "/tmp/a"),
            ("ls $TMPDIR/x", "$TMPDIR/x"),
            ("ls ${TMPDIR}/x", "${TMPDIR}/x"),
            ("ls /tmpfile ./tmp/x build/tmp/x ../tmp '$TMPDIRS'", None),
        ],
    )
    def test_temporary_files_are_not_the_same_outside(self, command: str, warned: str | None) -> None:
        stage = Stage(AllowOnce(), policy="auto")
        stage.blocks = lambda _c, permitted: [] if permitted else [{"kind": "write", "what": "/x"}]

        stage.commands(command)

        warning = stage.person.questions[0].warning
        assert (warning or "").startswith(f"outside the sandbox {warned} is another file") is (warned is not None)

    def test_temporary_files_are_no_matter_where_they_are_shared_or_nothing_leaves_the_sandbox(self) -> None:
        stage = Stage(AllowOnce(), AllowOnce(), policy="auto")
        stage.sandbox.private_temporary = ()
        stage.blocks = lambda _c, permitted: [] if permitted else [{"kind": "write", "what": "/x"}]
        stage.commands("ls /tmp/x")
        stage.sandbox.private_temporary = ("/tmp",)
        stage.blocks = lambda _c, _p: [] if stage.sandbox.hosts else [{"kind": "network", "what": "pypi.org"}]
        stage.commands("pip install -r /tmp/x")

        assert [question.warning for question in stage.person.questions] == [None, None]

    def test_a_session_answer_lets_the_same_call_out_from_the_start(self) -> None:
        stage = Stage(AllowForSession(), policy="auto")
        stage.blocks = lambda _c, permitted: [] if permitted else [{"kind": "write", "what": "/x"}]
        stage.commands("git pull")

        stage.commands("git pull")

        assert stage.ran[-1] == ("git pull", "outside")
        assert len(stage.ran) == 3

    def test_a_rule_for_always_must_say_outside(self, tmp_path: Path) -> None:
        file = RuleFile(tmp_path / "home" / "approvals.json")
        stage = Stage(AllowAlways("bash: git pull"), AllowAlways("outside bash: git pull"), policy="auto", file=file)
        stage.blocks = lambda _c, permitted: [] if permitted else [{"kind": "write", "what": "/x"}]

        end = stage.commands("git pull")

        assert "has to leave the sandbox" in (stage.person.questions[1].problem or "")
        assert end.reason == "done"
        assert file.load() == ApprovalRules(parse_rules(["outside bash: git pull"], [], "").allow)

    def test_a_call_that_is_blocked_for_ever_ends(self) -> None:
        stage = Stage(*[AllowOnce()] * 9, policy="auto")
        stage.blocks = lambda _c, _p: [{"kind": "write", "what": "/x"}]

        assert stage.commands("git pull").reason == "denied"

    def test_a_no_keeps_the_result_as_an_error(self) -> None:
        stage = Stage(Deny("never"), policy="auto")
        stage.blocks = lambda _c, _p: [{"kind": "write", "what": "/x"}]

        end = stage.commands("git pull")

        assert results(end)[0].is_error
        assert results(end)[0].text.startswith("ran\nThe user does not allow this: never.")
        assert end.reason == "denied"

    def test_abort_stops_the_run(self) -> None:
        stage = Stage(Abort(), policy="auto")
        stage.blocks = lambda _c, _p: [{"kind": "write", "what": "/x"}]

        assert stage.commands("git pull", "git pull").reason == "aborted"

    def test_a_sandbox_that_cannot_be_changed_is_said(self) -> None:
        stage = Stage(AllowForSession(), policy="auto")
        stage.sandbox.fails = True

        end = stage.commands("pip install x")

        assert "the hands are gone" in results(end)[0].text
        assert end.reason == "denied"

    @each("details", [None, [], {"blocked": []}, {"blocked": "x"}, {"blocked": [{"kind": "odd"}]}, 5])
    def test_details_that_tell_of_nothing_blocked_change_nothing(self, details: Json) -> None:
        stage = Stage()

        async def scenario() -> object:
            return await stage.gate.after(ToolCall("1", "bash", {}), text_result("ran", details=details))

        assert run(scenario()) is None


@pytest.mark.parametrize(
    ("lift", "text"),
    [
        (Escalation("outside"), "runs this call outside the sandbox"),
        (Escalation("network", "pypi.org"), "allows network access to pypi.org"),
    ],
)
def test_what_a_yes_does_is_said(lift: Escalation, text: str) -> None:
    assert lift.text == text


class TestRequests:
    """The model asks for permissions with `request_permission`."""

    def request(self, kind: str, value: str, reason: str = "the tests need it") -> dict[str, Json]:
        return {"kind": kind, "value": value, "reason": reason}

    @pytest.mark.parametrize(
        ("kind", "value", "escalation"),
        [
            ("host", "PyPI.org", Escalation("network", "pypi.org")),
            ("port", "05432", Escalation("port", "5432")),
            ("socket", "/run/../run/docker.sock", Escalation("socket", "/run/docker.sock")),
            ("write", "/usr/share/../lib", Escalation("directory", "/usr/lib")),
            ("read", "/etc/no-such-file", Escalation("read", "/etc/no-such-file")),
        ],
    )
    def test_the_question_shows_the_exact_value_and_the_reason(
        self, kind: str, value: str, escalation: Escalation
    ) -> None:
        stage = Stage(AllowOnce(), policy="auto")

        end = stage.play(("request_permission", self.request(kind, value)))

        question = stage.person.questions[0]
        assert end.reason == "done"
        assert question.escalations == (escalation,)
        assert question.title == escalation.text
        assert question.arguments == {"value": escalation.what}
        assert question.reasons == ('The model gives this reason: "the tests need it"',)
        assert question.suggestion is None
        lifted = (*stage.sandbox.hosts, *stage.sandbox.services, *stage.sandbox.changes)
        assert len(lifted) == 1

    def test_a_directory_can_be_kept_for_the_project(self) -> None:
        stage = Stage(AllowInProject(), policy="auto")

        stage.play(("request_permission", self.request("write", "/usr/lib")))

        assert stage.kept_directories == ["/usr/lib"]
        assert stage.sandbox.changes == [SandboxChange(writable=("/usr/lib",))]

    @pytest.mark.parametrize(("kind", "value"), [("port", "5432"), ("read", "/etc/no-such-file"), ("command", "ls")])
    def test_nothing_else_can_be_kept_for_the_project(self, kind: str, value: str) -> None:
        stage = Stage(AllowInProject(), Deny(), policy="auto")

        stage.play(("request_permission", self.request(kind, value)), ("bash", {"command": "ls"}))

        assert "only a directory can be kept for this project" in (stage.person.questions[1].problem or "")
        assert stage.kept_directories == []
        assert stage.sandbox.changes == []

    def test_a_command_is_asked_about_when_it_is_called_and_runs_outside_once(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")

        stage.play(("request_permission", self.request("command", "ls  x")))
        asked_before = len(stage.person.questions)
        for wanted in ("ls x", "ls  x", "ls  x"):
            stage.commands(wanted)

        assert asked_before == 0
        assert stage.ran[-3:] == [("ls x", None), ("ls  x", "outside"), ("ls  x", None)]
        (question,) = stage.person.questions
        assert question.arguments == {"command": "ls  x"}
        assert question.reasons == ('The model gives this reason: "the tests need it"',)
        assert question.escalations == (OUTSIDE,)
        assert question.suggestion is None

    @pytest.mark.parametrize("answer", [Deny("no"), Dismissed()])
    def test_a_denied_command_does_not_run(self, answer: Answer) -> None:
        stage = Stage(answer, policy="auto")

        stage.play(("request_permission", self.request("command", "ls")), ("bash", {"command": "ls"}))

        assert [what for what, _ in stage.ran] == ["request_permission"]

    @pytest.mark.parametrize("policy", ["ask", "auto"])
    def test_there_is_one_question_about_a_command(self, policy: ApprovalPolicy) -> None:
        stage = Stage(AllowOnce(), policy=policy)
        command = "git push --force"

        stage.play(("request_permission", self.request("command", command)), ("bash", {"command": command}))

        (question,) = stage.person.questions
        assert "overwrites what others see" in str(question.warning)
        assert stage.ran[-1] == (command, "outside")

    @pytest.mark.parametrize(
        ("command", "file"),
        [
            ("sh deploy.sh", f"{ROOT}/deploy.sh"),
            ("bash -eu tools/deploy.sh now", f"{ROOT}/tools/deploy.sh"),
            ("python3.12 deploy.py", f"{ROOT}/deploy.py"),
            ("env A=1 sh -c './deploy --all'", f"{ROOT}/deploy"),
            ("sudo ./deploy", f"{ROOT}/deploy"),
            ("sh $script", ROOT),
            ("cat deploy.sh | sh", ROOT),
            ("python -m deploy", ROOT),
            ("make deploy", ROOT),
            ("npm run deploy", ROOT),
        ],
    )
    def test_a_command_that_runs_files_which_commands_can_write_is_not_offered(self, command: str, file: str) -> None:
        stage = Stage(policy="auto")

        end = stage.play(("request_permission", self.request("command", command)))

        assert stage.person.questions == []
        assert f"{file}, which commands in the sandbox can write" in results(end)[0].text
        assert f"which runs it with their rights: `!{command}`." in results(end)[0].text

    @pytest.mark.parametrize("command", ["rm -rf build", "./release.sh", "docker ps", "cat x > y", "A=1 ls"])
    def test_a_command_that_kaa_cannot_judge_is_not_offered(self, command: str) -> None:
        stage = Stage(policy="auto")

        end = stage.play(("request_permission", self.request("command", command)))

        assert stage.person.questions == []
        assert "The user can type it behind `!`" in results(end)[0].text

    def test_no_rule_can_be_given_for_a_request(self) -> None:
        stage = Stage(AllowAlways("outside bash: ls"), Deny(), policy="auto")

        stage.play(("request_permission", self.request("command", "ls")), ("bash", {"command": "ls"}))

        assert "no rule can allow this" in str(stage.person.questions[1].problem)

    def test_an_answer_for_the_session_to_a_request_counts_once(self) -> None:
        stage = Stage(AllowForSession(), policy="auto")

        stage.play(("request_permission", self.request("command", "ls")))
        stage.commands("ls")
        stage.commands("ls")

        assert stage.ran[-2:] == [("ls", "outside"), ("ls", None)]

    @pytest.mark.parametrize("quote", ['"', "\u201d", "\u00bb", "\u2019", "`"])
    def test_the_reason_cannot_leave_its_quotation_marks(self, quote: str) -> None:
        stage = Stage(Deny(), policy="auto")

        stage.play(("request_permission", self.request("host", "example.com", f"deploy{quote}; kaa has checked it")))

        assert stage.person.questions[0].reasons == ('The model gives this reason: "deploy\'; kaa has checked it"',)

    @each(
        ("kind", "value"),
        [
            ("host", "*.example.com"),
            ("host", "on"),
            ("host", "localhost"),
            ("host", "a.example, b.example"),
            ("host", "example.com\x1b[2J"),
            ("port", "0"),
            ("port", "65536"),
            ("port", "५"),
            ("port", "22; rm"),
            ("socket", "/run/docker.sock\u202e"),
            ("read", "/etc/x\n[y]"),
            ("write", "/etc/hostname"),
            ("write", "/"),
            ("write", "/usr/lib/.git/hooks"),
            ("write", "/usr/lib/.vscode"),
            ("command", "make\x1b]0;title\x07"),
            ("command", "make \u202emoc"),
            ("command", "  "),
            ("anything", "x"),
        ],
    )
    def test_what_hides_something_or_is_too_wide_is_refused_without_a_question(self, kind: str, value: str) -> None:
        stage = Stage(policy="auto")
        if value == "/":
            stage.sandbox.never.append("/")

        stage.play(("request_permission", self.request(kind, value)))

        assert stage.person.questions == []
        assert [*stage.sandbox.hosts, *stage.sandbox.services, *stage.sandbox.changes] == []

    def test_the_reason_is_one_line_of_the_model_s(self) -> None:
        stage = Stage(Deny(), policy="auto")
        forged = 'x"\nA yes does nothing.\x1b[2J\u202e' + "y" * 1000

        stage.play(("request_permission", self.request("host", "example.com", forged)))

        (reason,) = stage.person.questions[0].reasons
        assert reason.isprintable()
        assert reason.startswith("The model gives this reason: ")
        assert len(reason) < 500

    def test_a_link_is_shown_as_what_it_leads_to(self, tmp_path: Path) -> None:
        (tmp_path / "innocent").symlink_to("/usr/lib")
        stage = Stage(Deny(), policy="auto")

        stage.play(("request_permission", self.request("write", f"{tmp_path}/innocent")))

        assert stage.person.questions[0].escalations == (Escalation("directory", "/usr/lib"),)

    def test_what_the_sandbox_never_grants_is_not_asked(self) -> None:
        stage = Stage(policy="auto")
        stage.sandbox.never.append("/usr/lib")

        stage.play(("request_permission", self.request("write", "/usr/lib")))

        assert stage.person.questions == []

    def test_a_denied_command_cannot_be_requested(self) -> None:
        stage = Stage(policy="auto", deny=["bash: git push"])

        stage.play(("request_permission", self.request("command", "git push --force")))

        assert stage.person.questions == []

    def test_a_script_is_told_which_flag_permits_it(self) -> None:
        stage = Stage(headless=True)

        end = stage.play(("request_permission", self.request("host", "pypi.org")))

        assert "--net registries/python" in results(end)[0].text
        assert stage.sandbox.hosts == []


class TestWhereHostsCannotBeToldApart:
    def stage(self, *answers: Answer, headless: bool = False) -> Stage:
        stage = Stage(
            *answers, policy="auto", allow=["host: pypi.org", "host: files.pythonhosted.org"], headless=headless
        )
        stage.sandbox.tells_hosts_apart = False
        return stage

    def test_a_yes_permits_the_whole_network_and_says_so(self) -> None:
        stage = self.stage(AllowForSession())

        stage.commands("pip install x", "curl https://example.com")

        [question] = stage.person.questions
        assert not question.only_connects
        assert (question.lasting, question.suggestion) == (True, None)
        assert question.permits == (
            "A yes lets commands use this machine's whole network for this session, also its private part: the sandbox"
            " cannot permit single hosts on this machine.",
        )
        assert stage.sandbox.has_network
        assert stage.sandbox.hosts == []
        assert [command for command, _ in stage.ran] == ["pip install x", "curl https://example.com"]

    def test_the_network_stays_open_where_the_call_itself_is_asked_about_too(self) -> None:
        stage = Stage(AllowForSession(), policy="ask")
        stage.sandbox.tells_hosts_apart = False

        stage.commands("curl -X POST https://example.com")

        [question] = stage.person.questions
        assert (question.lasting, question.suggestion) == (True, None)
        assert stage.sandbox.has_network

    def test_without_anybody_to_ask_a_command_runs_without_the_network(self) -> None:
        stage = self.stage(headless=True)

        end = stage.commands("pip install x; make")

        assert [command for command, _ in stage.ran] == ["pip install x; make"]
        assert end.error is None

    def test_a_requested_host_is_a_question_about_the_whole_network(self) -> None:
        stage = self.stage(Deny())

        stage.play(("request_permission", {"kind": "host", "value": "example.com", "reason": "data"}))

        [question] = stage.person.questions
        assert question.escalations == (WHOLE_NETWORK,)
        assert not stage.sandbox.has_network
