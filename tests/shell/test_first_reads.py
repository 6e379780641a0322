"""Reads in the project run before the gate is loaded: whatever is called, the answers are those of the gate itself."""

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kaa.core.messages import Json, ToolCall
from kaa.core.tool import Tool, ToolResult, text_result
from kaa.ext.asking import NOBODY
from kaa.ext.context import ToolContext, WorkspacePermit
from kaa.ext.questions import AllowForSession, AllowOnce, Answer, Deny, Question
from kaa.ext.tools import RegisteredTool, Risk, ToolServer
from kaa.hands.policy import Mode
from kaa.shell.approvals.rule_file import ApprovalsError, parse_rules
from kaa.shell.containment import Containment
from kaa.shell.gatekeeper import Gatekeeper, create_gatekeeper
from kaa.shell.home import Home
from kaa.shell.settings import ApprovalPolicy, ApprovalSettings
from kaa.workspace.checkpoints.contract import Kept
from kaa.workspace.memory import MemoryWorkspace
from tests.shell.approvals.judging import ROOT
from tests.shell.approvals.test_gate import Sandbox
from tests.support.person import AnswerT

_RISKS: dict[str, Risk] = {
    "read": "read",
    "grep": "read",
    "find": "read",
    "ls": "read",
    "process": "read",
    "request_permission": "read",
    "bash": "command",
    "write": "write",
    "web_fetch": "fetch",
    "deploy": "outside",
}


class _Person:
    """Gives the same answer to everything.

    Attributes:
        questions: what was asked.
        was_looked_at: it was looked whether there is anybody.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.questions: list[Any] = []  # any: what is asked depends on the test
        self.was_looked_at = False

    @property
    def can_ask(self) -> bool:
        self.was_looked_at = True
        return True

    async def ask(self, question: Question[AnswerT]) -> AnswerT:
        self.questions.append(question)
        return cast("AnswerT", self._answer)


def _keep(home: Path, rules: dict[str, list[str]]) -> None:
    (home / "approvals.json").write_text(json.dumps(rules))
    (home / "approvals.json").chmod(0o600)


class _Situation(NamedTuple):
    """What the calls of a conversation are judged by.

    Attributes:
        kept: rules in approvals.json, as `allow` and `deny`; None: there is no such file.
        risks: of tools, other than usual.
        server: the one of all tools.
        limits: deny rules of an agent.
        answer: to each question; None: nobody can be asked.
    """

    policy: ApprovalPolicy | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    kept: dict[str, list[str]] | None = None
    mode: Mode = "workspace-write"
    confined: bool = True
    narrowed: bool = False
    risks: tuple[tuple[str, Risk], ...] = ()
    server: bool = False
    limits: tuple[str, ...] = ()
    answer: Answer | None = None


class _Step(NamedTuple):
    """A call with the details of its result, or another choice of the user's before it."""

    tool: str
    arguments: dict[str, Json]
    details: Json = None
    policy: ApprovalPolicy | None = None
    rules: ApprovalSettings | None = None
    grant: str = ""


class _Judged:
    """A gatekeeper, and what it says and asks."""

    def __init__(self, home: Path, situation: _Situation) -> None:
        self.person = None if situation.answer is None else _Person(situation.answer)
        self._said: list[object] = []
        sandbox = Sandbox()
        sandbox.mode, sandbox.confined, sandbox.is_narrowed = situation.mode, situation.confined, situation.narrowed
        sandbox.links = {"link": "/etc/passwd", "a.py": f"{ROOT}/a.py"}
        risks = _RISKS | dict(situation.risks)
        server = ToolServer("web") if situation.server else None
        tools = {
            name: RegisteredTool(cast("Tool[ToolContext]", None), "", risk=risk, server=server)
            for name, risk in risks.items()
        }

        async def keeps(patterns: Sequence[str], *, name: str = "", kind: str = "") -> Kept:
            return Kept(False)

        self.keeper = create_gatekeeper(
            situation.policy,
            ApprovalSettings(allow=situation.allow, deny=situation.deny),
            tools.get,
            workspace=MemoryWorkspace({}, root=ROOT),
            containment=cast("Containment", sandbox),
            home=Home(home),
            asker=self.person or NOBODY,
            abort=lambda: None,
            keeps=keeps,
            notify=self._said.append,
        )
        if situation.limits:
            self.keeper.load().limit([parse_rules((), situation.limits, "test")])

    async def take(self, steps: Sequence[_Step]) -> list[object]:
        """What it says and asks at each step."""
        for number, step in enumerate(steps):
            if step.policy is not None:
                self.keeper.choose(step.policy)
            if step.rules is not None:
                self.keeper.reload(step.rules)
            call = ToolCall(str(number), step.tool, step.arguments)
            if step.grant:
                with self.keeper.granting([step.grant]):
                    await self._judge(call, step.details)
            else:
                await self._judge(call, step.details)
        return [*self._said, *(self.person.questions if self.person else ())]

    async def _judge(self, call: ToolCall, details: Json) -> None:
        before = await self.keeper.before(call)
        self._said.append(str(before.workspace) if isinstance(before, WorkspacePermit) else before)
        after = await self.keeper.after(call, text_result("found", details=details))
        self._said.append(str(after) if after is not None and not isinstance(after, ToolResult) else after)


_POLICIES = st.sampled_from(["ask", "auto", "never", "step"])
_RULES = st.lists(
    st.sampled_from(["read", "read: a.py", "read: **", "read: /etc/**", "grep", "bash: ls", "write: src/**", "deploy"]),
    max_size=2,
)
_PATHS = st.sampled_from(
    [
        *("a.py", f"{ROOT}/a.py", ROOT, ".", "./src/../../x", "../x", f"{ROOT}/../x", f"{ROOT}x/y"),
        *("/etc/passwd", "~/x", "@/etc/passwd", "link", "", "a\0b"),
    ]
)
_BLOCKED: list[Json] = [{"kind": "read", "what": "/etc/shadow"}]
_DETAILS: st.SearchStrategy[Json] = st.sampled_from(
    [None, {}, {"truncation": {}}, [1], {"blocked": _BLOCKED}, {"blocked": []}, {"blockedEarlier": _BLOCKED}]
)
_ARGUMENTS = st.one_of(
    _PATHS.map(lambda path: cast("dict[str, Json]", {"path": path})),
    _PATHS.map(lambda path: cast("dict[str, Json]", {"file_path": path})),
    st.sampled_from(cast("list[dict[str, Json]]", [{}, {"path": 7}, {"path": "a.py", "command": "ls"}])),
    st.just(cast("dict[str, Json]", {"path": "a.py", "command": "rm -rf x", "reason": "why", "hosts": ["x.example"]})),
)
_STEPS = st.builds(
    _Step,
    st.sampled_from([*_RISKS, "surprise"]) | st.sampled_from(["read", "grep"]),
    _ARGUMENTS,
    _DETAILS,
    st.none() | _POLICIES,
    st.none() | st.builds(ApprovalSettings, allow=_RULES.map(tuple), deny=_RULES.map(tuple)),
    st.sampled_from(["", "", "bash: ls"]),
)
_SITUATIONS = st.builds(
    _Situation,
    st.none() | _POLICIES,
    _RULES.map(tuple),
    _RULES.map(tuple),
    st.none() | st.fixed_dictionaries({"allow": _RULES, "deny": _RULES}),
    st.sampled_from(["read-only", "workspace-write", "full-access"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(), (("read", "outside"),), (("grep", "write"),), (("ls", "command"),)]),
    st.booleans(),
    st.sampled_from([(), ("read: a.py",)]),
    st.sampled_from([None, AllowOnce(), Deny("no"), AllowForSession()]),
)
_READ = _Step("read", {"path": "a.py"})


@given(_SITUATIONS, st.lists(_STEPS, min_size=1, max_size=4))
@example(_Situation(), [_READ, _READ])
@example(_Situation(policy="step", answer=Deny("no")), [_READ])
@example(_Situation(answer=Deny("no")), [_READ, _READ._replace(policy="step")])
@example(_Situation(deny=("read: a.py",)), [_READ])
@example(_Situation(kept={"allow": [], "deny": ["read: **"]}), [_READ])
@example(_Situation(), [_READ, _READ._replace(rules=ApprovalSettings(deny=("read: a.py",)))])
@example(_Situation(risks=(("read", "outside"),)), [_READ])
@example(_Situation(limits=("read: a.py",)), [_READ])
@example(_Situation(answer=Deny("no")), [_READ._replace(details={"blocked": _BLOCKED})])
@example(_Situation(), [_READ._replace(details={"blocked": _BLOCKED})])
@example(_Situation(), [_READ._replace(details={"blockedEarlier": _BLOCKED})])
@example(_Situation(), [_Step("bash", {"command": "ls", "path": "a.py"}), _READ])
def test_the_answers_are_those_of_the_gate(situation: _Situation, steps: list[_Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if situation.kept is not None:
            _keep(home, situation.kept)
        lazy, whole = _Judged(home, situation), _Judged(home, situation)
        whole.keeper.load()

        answers, expected = (asyncio.run(judged.take(steps)) for judged in (lazy, whole))

    assert answers == expected


def _keeper(policy: ApprovalPolicy = "auto", settings: ApprovalSettings | None = None) -> Gatekeeper:
    """A gatekeeper that takes every call for a plain read, and whose gate is not to be made."""

    def build(*_: object) -> Any:
        raise AssertionError("a gate was made")

    return Gatekeeper(
        None,
        lambda: policy,
        settings or ApprovalSettings(),
        lambda _: cast("Any", None),
        build,
        is_plain_read=lambda call: call.name == "read",
    )


async def _whole(keeper: Gatekeeper, call: ToolCall, details: Json = None) -> None:
    await keeper.before(call)
    await keeper.after(call, text_result("found", details=details))


def test_a_plain_read_needs_no_gate() -> None:
    asyncio.run(_whole(_keeper(), ToolCall("1", "read", {"path": "a.py"}), {"truncation": {}}))


@pytest.mark.parametrize(
    ("keeper", "tool", "details"),
    [
        (_keeper("step"), "read", None),
        (_keeper(settings=ApprovalSettings(allow=("bash: ls",))), "read", None),
        (_keeper(settings=ApprovalSettings(deny=("read",))), "read", None),
        (_keeper(), "bash", None),
        (_keeper(), "read", {"blocked": _BLOCKED}),
        (_keeper(), "read", {"blockedEarlier": _BLOCKED}),
    ],
)
def test_all_else_has_one(keeper: Gatekeeper, tool: str, details: Json) -> None:
    with pytest.raises(AssertionError, match="a gate was made"):
        asyncio.run(_whole(keeper, ToolCall("1", tool, {"path": "a.py"}), details))


def test_limits_of_an_agent_hold(tmp_path: Path) -> None:
    judged = _Judged(tmp_path, _Situation(limits=("read: a.py",)))

    [before, _] = asyncio.run(judged.take([_READ]))

    assert "may not make calls such as 'read: a.py'" in str(before)


def test_rules_that_are_kept_meanwhile_hold(tmp_path: Path) -> None:
    judged = _Judged(tmp_path, _Situation())
    said = asyncio.run(judged.take([_READ]))

    _keep(tmp_path, {"deny": ["read: a.py"]})
    said = asyncio.run(judged.take([_READ]))

    assert said[:2] == [None, None]
    assert "read: a.py" in str(said[2])


@pytest.mark.parametrize("what", ["broken", "a link", "not below a folder"])
def test_a_file_of_rules_that_cannot_be_used_refuses_the_call(tmp_path: Path, what: str) -> None:
    home = tmp_path / "home"
    judged = _Judged(home, _Situation())

    match what:
        case "broken":
            home.mkdir()
            (home / "approvals.json").write_text("{")
        case "a link":
            home.mkdir()
            (home / "approvals.json").symlink_to("nowhere")
        case _:
            home.write_text("")

    with pytest.raises(ApprovalsError):
        asyncio.run(judged.take([_READ]))


@pytest.mark.parametrize("path", ["a.py", f"{ROOT}/a.py", ROOT, ".", "src/../a.py"])
def test_the_gate_is_not_asked_about_reads_in_the_project(tmp_path: Path, path: str) -> None:
    assert not _asks_the_gate(tmp_path, "read", {"path": path})


@pytest.mark.parametrize(
    "path", ["../x", f"{ROOT}/../x", f"{ROOT}x/y", "/etc/passwd", "~/x", "@/etc/passwd", "a\0b", 7]
)
def test_the_gate_is_asked_about_other_paths(tmp_path: Path, path: Json) -> None:
    assert _asks_the_gate(tmp_path, "read", {"path": path})


@pytest.mark.parametrize("tool", ["bash", "write", "process", "request_permission", "web_fetch", "deploy", "surprise"])
def test_the_gate_is_asked_about_other_tools(tmp_path: Path, tool: str) -> None:
    assert _asks_the_gate(tmp_path, tool, {"path": "a.py"})


def _asks_the_gate(home: Path, tool: str, arguments: dict[str, Json]) -> bool:
    """Whether anything but the mode, which is chosen, was looked at: only the gate wants to know who can be asked."""
    judged = _Judged(home, _Situation(policy="auto", answer=Deny("no")))
    assert judged.person is not None
    judged.person.was_looked_at = False
    asyncio.run(judged.take([_Step(tool, arguments)]))
    return judged.person.was_looked_at
