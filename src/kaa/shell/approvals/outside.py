"""What a command would meet outside the sandbox, and do there: judged before somebody is asked to let it leave."""

import os
from collections.abc import Iterable, Sequence

import msgspec

from kaa.ext.escalations import OUTSIDE, Escalation
from kaa.host.shims import is_shim
from kaa.shell.approvals import wording
from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.foresight import removed_worktree
from kaa.shell.approvals.grammar import Words
from kaa.shell.approvals.programs import program_name
from kaa.shell.boundary import SandboxControl
from kaa.workspace.blocked import Blocked
from kaa.workspace.protocol import Links, Start

# Subcommands of git that write no file of the working tree.
_BRINGING_NOTHING = tuple((name,) for name in "commit fetch log ls-remote push remote show status tag".split())  # noqa: SIM905
_BRINGING_BY_CLIENT = frozenset({"checkout", "merge", "sync"})  # of gh and glab


class Outside:
    """Judges commands that are to leave the sandbox.

    Args:
        sandbox: that they would leave.
    """

    def __init__(self, sandbox: SandboxControl) -> None:
        self._sandbox = sandbox

    def objection(self, call: JudgedCall, blocked: Sequence[Blocked] = ()) -> str | None:
        """Why the person is not asked whether a command may leave the sandbox; None for what may be asked."""
        from kaa.shell.approvals.leaving import objection_to_leaving  # lazy: few calls have to leave

        if call.risk != "command" or not self.is_held_back:
            return None
        if any(one.kind == "process" for one in blocked):
            return "it would reach other processes of this machine"
        exposed = self.exposed(call) or self.runs_writable(call, is_to_leave=True)
        if exposed is None and (variable := self._sandbox.exposed_setting()) is not None:
            exposed = wording.exposed_setting(variable)
        if exposed is None and (script := self._loads_of_project(call)) is not None:
            exposed = wording.loads_of_project(script)
        return objection_to_leaving(
            call,
            self._sandbox.root,
            exposed,
            lambda path: self._writable(path) is None and self._sandbox.permits(Escalation("read", path)),
        )

    def loss(self, call: JudgedCall) -> str | None:
        """What a command may destroy outside the project, in a sentence; None if nothing."""
        from kaa.shell.approvals.leaving import loss_outside  # lazy, as above

        return loss_outside(call, self._sandbox.root, self._sandbox.writable)

    def hooks(self, call: JudgedCall) -> str | None:
        """Which hooks of git run with a command that is to leave the sandbox, in a sentence; None if there are none."""
        from kaa.shell.approvals.leaving import hooks_outside  # lazy, as above

        return hooks_outside(call, self._sandbox.root)

    def links(self, call: JudgedCall) -> Links:
        """What a command that leaves the sandbox does with links in what commands can write."""
        from kaa.shell.approvals.leaving import links_of  # lazy, as above

        return links_of(call, self._sandbox.root) if self.is_held_back else "followed"

    def _loads_of_project(self, call: JudgedCall) -> str | None:
        """The script that a command starts in the project, and that loads code from there; None if there is none."""
        if call.reach is None or self.start(call) == "home":
            return None
        names = dict.fromkeys(words[0] for words in call.reach.commands if words and words[0])
        return next(filter(None, map(self._sandbox.starts_module_here, filter(None, names))), None)

    def start(self, call: JudgedCall) -> Start:
        """Where a command that leaves the sandbox starts."""
        from kaa.shell.approvals.leaving import start_of  # lazy, as above

        return start_of(call, self._sandbox.root) if self.is_held_back else "trusting"

    def names_files(self, call: JudgedCall) -> bool:
        """Whether a command that is to leave the sandbox names files that commands can exchange afterwards."""
        from kaa.shell.approvals.leaving import names_files  # lazy, as above

        return call.risk == "command" and self.is_held_back and names_files(call)

    @property
    def is_held_back(self) -> bool:
        """Whether commands without a permit stay in a sandbox."""
        return self._sandbox.confined and self._sandbox.mode != "full-access"

    def exposed(self, call: JudgedCall) -> str | None:
        """Which program of a command that is to leave the sandbox commands can write or lead, in a sentence, if any."""
        if call.reach is None or self._sandbox.mode == "full-access":
            return None
        for name in dict.fromkeys(words[0] for words in call.reach.commands if words and words[0]):
            path = os.path.join(self._sandbox.root, os.path.expanduser(name or ""))
            if name and "/" in name:  # a rule may name a path, but not that of a shim
                if is_shim(path):
                    return wording.obeys_project(name)
            elif name and (found := self._sandbox.exposed_program(name)):
                return wording.exposed(name, found)
        return None

    def runs_writable(self, call: JudgedCall, *, is_to_leave: bool = False) -> str | None:
        """Which file that a command runs commands can write, in a sentence; None if none.

        Args:
            call: the command.
            is_to_leave: nothing allows it to leave the sandbox yet, so that files count that describe what it does.
        """
        from kaa.shell.approvals.scripts import files_described, files_named, led_by_settings  # lazy: few leave

        searches = (files_named, files_described) if is_to_leave else (files_named,)
        commands = call.reach.commands if call.reach and self._sandbox.mode != "full-access" else ()
        files = ((words[0] or "", file) for search in searches for words in commands for file in search(words))
        places = (self._writable,) if is_to_leave else (self._writable, self._in_known_project)
        paths = ((name, next(filter(None, (place(file) for place in places)), None)) for name, file in files)
        named = (wording.runs_writable(name, path) for name, path in paths if path)
        found = next(named, None) or led_by_settings(commands, self._sandbox)
        return found or (None if is_to_leave else self._replaced_by_git(commands))

    def _replaced_by_git(self, commands: Iterable[Words]) -> str | None:
        """What of the project git may bring and then obey in the same command; None if nothing.

        It brings commits, which the model can have made. Hooks are held while it runs.
        """
        if not any(map(_may_bring, commands)):
            return None
        from kaa.hands.confinement import repositories  # lazy, both: few rules let git out
        from kaa.hands.confinement.named import NamedByConfiguration

        root = os.path.realpath(self._sandbox.root)
        named = NamedByConfiguration((root,), os.path.expanduser("~"))
        gits = (*repositories.above((root,)), *repositories.find(root))
        files = (path for path in (*named.own(gits), *named.everywhere(gits)) if not os.path.isdir(path))
        return next(map(wording.replaced_by_git, files), None)

    def _writable(self, name: str) -> str | None:
        """Where a path leads, if calls without a permit can write there."""
        path = os.path.realpath(os.path.join(self._sandbox.root, os.path.expanduser(name)))
        return path if any(f"{path}/".startswith(f"{root.rstrip('/')}/") for root in self._sandbox.writable) else None

    def _in_known_project(self, name: str) -> str | None:
        """Where a path leads, if calls in another run of kaa could write there."""
        from kaa.host.known_projects import in_known_project  # lazy: few rules name files

        path = os.path.realpath(os.path.join(self._sandbox.root, os.path.expanduser(name)))
        return path if in_known_project(path, os.environ, self._sandbox.root, added=True) else None

    async def without_unneeded(self, call: JudgedCall) -> JudgedCall:
        """The call without the need to leave the sandbox for a worktree that a command has made in it."""
        if call.reach is None or call.works_elsewhere or self._sandbox.mode != "workspace-write":
            return call
        path = removed_worktree(call.reach)
        is_free = path is not None and await self._sandbox.can_remove_worktree(path)
        needs = tuple(need for need in call.needs if need.escalation != OUTSIDE)
        return msgspec.structs.replace(call, needs=needs) if is_free else call


def _may_bring(words: Words) -> bool:
    match program_name(words[0] or ""):
        case "git":
            return words[1:2] not in _BRINGING_NOTHING
        case "gh" | "glab":
            return not _BRINGING_BY_CLIENT.isdisjoint(words)
    return False
