"""What is known of the user's will: rules from the settings, from approvals.json, and answers of this session."""

from collections.abc import Callable, Sequence

import msgspec

from kaa.ext.api import Risk
from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.coverage import Permission, permission
from kaa.shell.approvals.rule_file import ApprovalRules, ApprovalsError, RuleFile
from kaa.shell.approvals.rules import Rule, RuleError, parse_rule


class Memory:
    """Rules in force, and calls that were answered for the whole session.

    Args:
        configured: rules of the settings, those of the project among them.
        file: where the user's answers are kept; None keeps them for this session.
        keep_writable: keeps directories in the user's settings of the project; None if there are none.

    Raises:
        ApprovalsError: the file cannot be used.
    """

    def __init__(
        self,
        configured: ApprovalRules,
        file: RuleFile | None,
        keep_writable: Callable[[Sequence[str]], None] | None = None,
    ) -> None:
        self._keep_writable = keep_writable
        self._configured = configured
        self._file = file
        self._kept = file.load() if file else ApprovalRules()
        self._of_session = ApprovalRules()
        self._calls: dict[tuple[str, bytes], Permission] = {}

    def reload(self, configured: ApprovalRules) -> None:
        """Put other rules of the settings in force, and those of the file as it is now. Answers of this session stay.

        Raises:
            ApprovalsError: the file cannot be used; everything stays as it was.
        """
        self._kept = self._file.load() if self._file else ApprovalRules()
        self._configured = configured

    @property
    def rules(self) -> ApprovalRules:
        """All rules in force."""
        return self._configured + self._kept + self._of_session

    def answer_to(self, call: JudgedCall) -> Permission | None:
        """What was answered to a call of the same tool with the same arguments that led to the same place."""
        return self._calls.get(_key(call))

    def concerns(self, tool: str, risk: Risk) -> bool:
        """Whether anything is known that could decide about calls of this tool."""
        rules = (*self.rules.allow, *self.rules.deny)
        return any(rule.subject in (tool, risk) or rule.names(tool) for rule in rules) or any(
            known == tool for known, _ in self._calls
        )

    def allow_call(self, call: JudgedCall, permission: Permission) -> None:
        """Allow calls with exactly these arguments, as long as they lead there, until the session ends."""
        self._calls[_key(call)] = permission

    def allow_for_session(self, rules: Sequence[Rule]) -> None:
        """Let rules hold until the session ends."""
        self._of_session += ApprovalRules(allow=tuple(rules))

    def rules_in(self, text: str, call: JudgedCall, root: str, *, outside: bool, counts: bool) -> list[Rule]:
        """Return the rules a user answered with.

        Raises:
            RuleError: one is none, or together with the others in force they would not have allowed the call.
        """
        if not counts:
            raise RuleError("no rule can allow this: allow it once, or deny it")
        rules = [parse_rule(line) for line in text.splitlines() if line.strip()]
        granted = permission(call, [*self.rules.allow, *rules], root)
        if granted is None or (outside and not granted.outside):
            lacks = outside and not all(rule.outside for rule in rules)
            needed = ", which has to leave the sandbox: 'outside' must stand before each rule" if lacks else ""
            raise RuleError(f"{text.strip()!r} does not allow this call{needed}")
        return rules

    def allow_always(self, rules: Sequence[Rule]) -> None:
        """Let rules hold from now on.

        Raises:
            ApprovalsError: they cannot be kept.
        """
        if self._file is None:
            raise ApprovalsError("there is no file to keep rules in: allow it for this session")
        self._kept = self._file.allow(rules)

    def allow_in_project(self, directories: Sequence[str]) -> None:
        """Let commands write in directories whenever kaa runs in this project.

        Raises:
            ApprovalsError: they cannot be kept.
            RuleError: there are none.
            SettingsError: the settings cannot be changed.
        """
        if not directories:
            raise RuleError("only a directory can be kept for this project: allow it once, or deny it")
        if self._keep_writable is None:
            raise ApprovalsError("there are no settings to keep directories in: allow it for this session")
        self._keep_writable(directories)


def _key(call: JudgedCall) -> tuple[str, bytes]:
    return call.tool, msgspec.json.encode((call.arguments, call.paths), order="deterministic")
