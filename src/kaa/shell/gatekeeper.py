"""Puts the gate between the model and the tools, and loads it with the first call: many conversations have none."""

import os.path
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

import msgspec

from kaa.core.hooks import Block, Refuse, RunAgain
from kaa.core.messages import Json, ToolCall
from kaa.core.tool import Permit, ToolResult
from kaa.ext.asking import Asker
from kaa.ext.errors import CommandError
from kaa.ext.tools import RegisteredTool
from kaa.host.paths import is_below
from kaa.shell.containment import Containment
from kaa.shell.home import Home
from kaa.shell.project_files import PROJECT_SETTINGS
from kaa.shell.settings import ApprovalPolicy, ApprovalSettings
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.shell.approvals.gate import Gate
    from kaa.shell.approvals.rule_file import ApprovalRules
    from kaa.shell.approvals.set_aside import FileAnswers
    from kaa.shell.approvals.sparing import Keeps
    from kaa.workspace.git import ChangedFiles, ProjectRepository

_POLICIES: Final[Mapping[str, str]] = {
    "ask": "only reads run without your approval, unless a rule allows more",
    "auto": "calls inside the sandbox run; others need your approval",
    "never": "kaa denies every call that would need your approval",
    "step": "every call needs your approval",
}
_AUTO_EXPLAINED: Final = (
    "Commands and edits run without questions in the sandbox; kaa asks before one leaves it or destroys what /undo"
    " cannot restore (/approvals changes it)."
)
_ASK_EXPLAINED: Final = (
    "kaa asks before each edit and command, because no sandbox of the tiers `full` or `bwrap` confines them here:"
    " `kaa doctor` says why, docs/sandbox.md (Tiers) what these need. /approvals auto asks less."
)
# Tools whose calls only look at the file or directory that their path names.
_READERS: Final = frozenset({"read", "grep", "find", "ls"})
# For the model, instead of what it should do where a refusal keeps it from its task.
_PLANNING: Final = "You plan now: what has to be changed belongs into a step of the plan."


class Gatekeeper:
    """The hooks of a gate that may not exist yet.

    Args:
        choice: the mode that somebody chose; None for the default.
        default: the mode where nobody chose one. It depends on what the machine can confine, which is known later.
        build: makes the gate, which judges by the mode that the function gives.
        is_plain_read: tells calls that only read in the project, while no rules are kept: every gate without rules and
            answers lets them run, so that the first ones need not wait until it is loaded.

    Attributes:
        plans: the agent plans: what it may not do is expected, and does not count against the run.
        owner: asks the person about files of theirs that were moved away; None: who asks about calls does.
    """

    def __init__(
        self,
        choice: ApprovalPolicy | None,
        default: Callable[[], ApprovalPolicy],
        chosen: ApprovalSettings,
        parse: "Callable[[ApprovalSettings], ApprovalRules]",
        build: "Callable[[Callable[[], ApprovalPolicy], ApprovalRules], Gate]",
        is_plain_read: Callable[[ToolCall], bool] = lambda _: False,
    ) -> None:
        self._choice = choice
        self._default = default
        self._chosen = chosen
        self._parse = parse
        self._build = build
        self._is_plain_read = is_plain_read
        self._gate: Gate | None = None
        self._followed: Gatekeeper | None = None
        self._file_answers: FileAnswers | None = None
        self.plans = False
        self.owner: Asker | None = None

    @property
    def policy(self) -> ApprovalPolicy:
        """Who is asked before what."""
        return self._choice or self._default()

    @property
    def choice(self) -> ApprovalPolicy | None:
        """The mode that somebody chose, None for the default."""
        return self._choice

    @property
    def explained(self) -> str | None:
        """What the default means, for the first start; None where somebody chose the mode."""
        explanations = {"auto": _AUTO_EXPLAINED, "ask": _ASK_EXPLAINED}
        return explanations.get(self.policy) if self._choice is None else None

    @property
    def chosen(self) -> ApprovalSettings:
        return self._chosen

    @property
    def policies(self) -> Mapping[str, str]:
        return _POLICIES

    def choose(self, policy: str) -> ApprovalPolicy:
        """Set the mode, from the next call on. Returns it.

        Raises:
            CommandError: there is no such mode.
        """
        modes: tuple[ApprovalPolicy, ...] = get_args(ApprovalPolicy)
        chosen = next((known for known in modes if known == policy), None)
        if chosen is None:
            raise CommandError(f"invalid approval mode {policy!r}: use {', '.join(modes)}")
        self._choice = chosen
        if self._followed is not None:
            self._followed.choose(chosen)
        return chosen

    def restore(self, choice: ApprovalPolicy | None) -> None:
        """Set what `choice` was before."""
        self._choice = choice

    def load(self) -> "Gate":
        """The gate.

        Raises:
            ApprovalsError: a rule is none, or the kept ones cannot be read.
        """
        if self._gate is None:
            self._gate = self._build(lambda: self.policy, self._parse(self._chosen))
            self._gate.plans = lambda: self.plans
            self._gate.ask_about_files(self.owner, self.file_answers)
        return self._gate

    def reload(self, chosen: ApprovalSettings) -> None:
        """Put other rules in force, from the next call on; answers of this session stay, and so does the policy.

        Raises:
            ApprovalsError: a rule is none, or the kept ones cannot be read; everything stays as it was.
        """
        if self._gate is not None:
            self._gate.reload(self._parse(chosen))
        elif chosen.allow or chosen.deny:
            self._parse(chosen)
        self._chosen = chosen

    @contextmanager
    def granting(self, rules: Sequence[str]) -> Iterator[None]:
        """Let some calls need no question meanwhile, in the sandbox. No gate that follows this one does.

        Raises:
            RuleError: one is no rule for commands or changed files.
            ApprovalsError: the kept rules cannot be read.
        """
        from kaa.shell.approvals.rules import parse_grant  # lazy: few commands grant anything

        with self.load().granting([parse_grant(rule) for rule in rules]):
            yield

    def follow(self, other: "Gatekeeper") -> None:
        """Take over the mode of another one, and its rules where they were read again, from the next call on.

        An answer that sets the mode sets that of the other one.

        Raises:
            ApprovalsError: the kept rules cannot be read; the rules stay as they were.
        """
        self._followed = other
        self._choice, self.plans = other.choice, other.plans
        if other.chosen is not self._chosen:
            self.reload(other.chosen)

    def file_answers(self) -> "FileAnswers":
        """Return the answers about files that were moved away; a gate that follows another one shares those of that."""
        if self._followed is not None:
            return self._followed.file_answers()
        if self._file_answers is None:
            from kaa.shell.approvals.set_aside import FileAnswers  # lazy: few commands make such files

            self._file_answers = FileAnswers()
        return self._file_answers

    async def before(self, call: ToolCall) -> Block | Permit | None:
        """The last hook before tools."""
        if self._is_free(call):
            return None
        verdict = await self.load().before(call)
        if isinstance(verdict, Block) and self.plans:
            return msgspec.structs.replace(verdict, denied=False, advice=_PLANNING)
        return verdict

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult | RunAgain | Refuse | None:
        """The first hook after tools."""
        if _is_unblocked(result) and self._is_free(call):
            return None
        verdict = await self.load().after(call, result)
        if isinstance(verdict, Refuse) and self.plans:
            return msgspec.structs.replace(verdict, denied=False, advice=_PLANNING)
        return verdict

    def _is_free(self, call: ToolCall) -> bool:
        """Whether a gate would let a call run without any look at it: there are no rules, answers and limits yet."""
        if self._gate is not None or self._chosen.allow or self._chosen.deny or self.policy == "step":
            return False
        return self._is_plain_read(call)


def _is_unblocked(result: ToolResult) -> bool:
    """Whether a result says nothing of what the sandbox stopped."""
    details = result.details
    return details is None or (isinstance(details, dict) and details.keys().isdisjoint(("blocked", "blockedEarlier")))


def _reads_in(root: str, call: ToolCall, tool: RegisteredTool | None) -> bool:
    """Whether a call of a tool certainly only reads, and that by a path in a directory."""
    path = call.arguments.get("path")
    if call.name not in _READERS or tool is None or tool.risk != "read":
        return False
    if not isinstance(path, str) or path.startswith(("~", "@")) or "\0" in path:
        return False
    return is_below(os.path.normpath(os.path.join(root, path)), (root,))


def _is_missing(path: Path) -> bool:
    """Whether it is certain that nothing has this name."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        pass
    return False


def create_gatekeeper(
    policy: ApprovalPolicy | None,
    chosen: ApprovalSettings,
    tool_of: Callable[[str], RegisteredTool | None],
    *,
    workspace: Workspace,
    containment: Containment,
    home: Home,
    asker: Asker,
    abort: Callable[[], None],
    keeps: "Keeps",
    notify: Callable[[str], None],
) -> Gatekeeper:
    """Choose who stands between the model and the tools.

    Args:
        policy: who is asked before what; None takes that of the settings, or the default.
        tool_of: the registered tool of a name, at the moment.
        keeps: what `/undo` would restore of some files.
        notify: tells the user what runs without a question because it can be undone.

    Raises:
        ApprovalsError: a rule is none, or the kept ones cannot be read.
    """
    kept = home.path / "approvals.json"

    def parse(approvals: ApprovalSettings) -> "ApprovalRules":
        from kaa.shell.approvals.rule_file import parse_rules  # lazy: many conversations need no gate

        return parse_rules(approvals.allow, approvals.deny, f"{home.settings} or {PROJECT_SETTINGS}: approvals")

    def default() -> ApprovalPolicy:
        if not asker.can_ask:
            return "never"
        return "auto" if containment.effective else "ask"

    def is_plain_read(call: ToolCall) -> bool:
        return _reads_in(containment.root, call, tool_of(call.name)) and _is_missing(kept)

    def keep_writable(directories: Sequence[str]) -> None:
        from kaa.shell.project_choices import keep_writable  # lazy: few answers are kept for a project

        keep_writable(home.settings, workspace.root, directories)

    def build(policy: Callable[[], ApprovalPolicy], configured: "ApprovalRules") -> "Gate":
        from kaa.shell.approvals.gate import Gate  # lazy, as above
        from kaa.shell.approvals.memory import Memory
        from kaa.shell.approvals.rule_file import RuleFile
        from kaa.shell.approvals.sparing import Sparing

        @cache
        def git() -> "ProjectRepository":
            from kaa.workspace.git import ProjectRepository  # lazy: few commands destroy something

            return ProjectRepository(workspace)

        async def ignores(directories: Sequence[str]) -> bool:
            return await git().ignores(directories)

        async def ask_git(untracked: bool) -> "ChangedFiles | None":
            changed = await git().changed_files(untracked=untracked)
            is_top = changed is None or not changed.paths or await workspace.stat(".git") is not None
            return changed if is_top else None  # its paths begin at the top of the repository

        async def preview(tool: str, arguments: dict[str, Json]) -> str:
            from kaa.builtin.change_preview import change_preview  # lazy: only for questions about changes

            return await change_preview(workspace, tool, arguments)

        return Gate(
            policy=policy,
            choose=keeper.choose,
            memory=Memory(configured, RuleFile(kept), keep_writable),
            tool_of=tool_of,
            sandbox=containment,
            asker=asker,
            abort=abort,
            sparing=Sparing(ask_git, ignores, keeps),
            notify=notify,
            preview=preview,
        )

    keeper = Gatekeeper(policy or chosen.policy, default, chosen, parse, build, is_plain_read)
    if chosen.allow or chosen.deny or kept.exists():
        keeper.load()  # a mistake in a rule is told before anything happens
    return keeper
