"""approvals.json: the rules that a user answered "always" with, in the user's own folder and nowhere else.

`{"allow": ["bash: npm test"], "deny": ["bash: git push"]}`; made to be edited by hand too. Other keys are kept.
"""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from kaa.core.messages import Json
from kaa.host.private_file import RecordsFile
from kaa.shell.approvals.rules import Rule, RuleError, parse_rule
from kaa.shell.settings import SettingsError

_Content: TypeAlias = dict[str, Json]


class ApprovalsError(SettingsError):
    """Rules cannot be read or kept; the message names the place and says what to do. Nothing was overwritten."""


class ApprovalRules(msgspec.Struct, frozen=True):
    """Rules in force."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def __add__(self, other: "ApprovalRules") -> "ApprovalRules":
        return ApprovalRules((*self.allow, *other.allow), (*self.deny, *other.deny))


def parse_rules(allow: Sequence[str], deny: Sequence[str], place: str) -> ApprovalRules:
    """Read lists of rules.

    Args:
        allow: what needs no question.

    Raises:
        ApprovalsError: one is no rule.
    """
    try:
        return ApprovalRules(tuple(map(parse_rule, allow)), tuple(parse_rule(text, deny=True) for text in deny))
    except RuleError as error:
        raise ApprovalsError(f"{place}: {error}") from error


class RuleFile(RecordsFile[_Content]):
    _error = ApprovalsError

    def load(self) -> ApprovalRules:
        """The rules in it.

        Raises:
            ApprovalsError: it cannot be read or relied on, or holds what is no rule.
        """
        return self._rules(self.read())

    def allow(self, rules: Sequence[Rule]) -> ApprovalRules:
        """Keep further allow rules. Returns all that are kept, with those that another kaa has added meanwhile.

        Raises:
            ApprovalsError: as `load`, or it cannot be written.
        """
        with self.rewriting() as content:
            known = [rule.text for rule in self._rules(content).allow]
            added = list(dict.fromkeys(rule.text for rule in rules if rule.text not in known))
            content["allow"] = [*known, *added]
        return self._rules(content)

    def _parsed(self, content: bytes | None) -> _Content:
        if content is None or not content.strip():
            return {}
        try:
            return msgspec.json.decode(content, type=_Content)
        except msgspec.DecodeError as error:
            raise ApprovalsError(f"{self.path} is not a JSON object: {error}. Correct or remove it") from error

    def _rules(self, content: _Content) -> ApprovalRules:
        try:
            lists = msgspec.convert(content, _Lists)
        except msgspec.ValidationError as error:
            raise ApprovalsError(f"{self.path}: {error}. Expected lists of rules, each a text") from error
        return parse_rules(lists.allow, lists.deny, str(self.path))


class _Lists(msgspec.Struct, frozen=True):
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
