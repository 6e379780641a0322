"""approvals.json: the rules that a user answered "always" with, in the user's own folder and nowhere else.

`{"allow": ["bash: npm test"], "deny": ["bash: git push"]}`; made to be edited by hand too. Other keys are kept.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from kaa.core.messages import Json
from kaa.host.private_file import PrivateFile, PrivateFileError
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
        deny: what is forbidden.
        place: where they are written, for messages.

    Raises:
        ApprovalsError: one is no rule.
    """
    try:
        return ApprovalRules(tuple(map(parse_rule, allow)), tuple(parse_rule(text, deny=True) for text in deny))
    except RuleError as error:
        raise ApprovalsError(f"{place}: {error}") from error


class RuleFile:
    """The file.

    Args:
        path: it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = PrivateFile(path)

    def load(self) -> ApprovalRules:
        """The rules in it.

        Raises:
            ApprovalsError: it cannot be read or relied on, or holds what is no rule.
        """
        try:
            return self._rules(self._parse(self._file.read()))
        except PrivateFileError as error:
            raise ApprovalsError(str(error)) from error

    def allow(self, rules: Sequence[Rule]) -> ApprovalRules:
        """Keep further allow rules. Returns all that are kept, with those that another kaa has added meanwhile.

        Raises:
            ApprovalsError: as `load`, or it cannot be written.
        """
        try:
            with self._file.rewriting() as present:
                content = self._parse(present)
                kept = self._rules(content)
                known = [rule.text for rule in kept.allow]
                added = list(dict.fromkeys(rule.text for rule in rules if rule.text not in known))
                content["allow"] = [*known, *added]
                self._file.replace(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
        except PrivateFileError as error:
            raise ApprovalsError(str(error)) from error
        return self._rules(content)

    def _parse(self, content: bytes | None) -> _Content:
        if content is None or not content.strip():
            return {}
        try:
            return msgspec.json.decode(content, type=_Content)
        except msgspec.DecodeError as error:
            raise ApprovalsError(f"{self._path} is not a JSON object: {error}. Correct or remove it") from error

    def _rules(self, content: _Content) -> ApprovalRules:
        try:
            lists = msgspec.convert(content, _Lists)
        except msgspec.ValidationError as error:
            raise ApprovalsError(f"{self._path}: {error}. Expected lists of rules, each a text") from error
        return parse_rules(lists.allow, lists.deny, str(self._path))


class _Lists(msgspec.Struct, frozen=True):
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
