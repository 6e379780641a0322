"""Clients that may leave the sandbox, as far as kaa knows what their subcommands and options do.

Everything else may run another program or obey a file of the project, as `git clone -u`, `gh ext exec` and
`kubectl config set-credentials --exec-command` do; also what is joined (`-qc x`) or stands before a subcommand.
"""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

# git(1) and the pages of these subcommands, 2.51; long options without their values.
_OF_FETCH = (
    r"-[apqvtfn46]+|-j\d*|--(?:all|depth|dry-run|force|jobs|no-tags|prune|prune-tags|quiet|tags|unshallow|verbose)"
)
_GIT = {
    "clone": r"-[qvnl46]+|-[bj]|--(?:bare|branch|depth|filter|jobs|mirror|no-checkout|no-tags|quiet|recurse-submodules"
    r"|recursive|shallow-submodules|single-branch|verbose)",
    "commit": r"-[aqvsne]*(?:m.*|S.*)?|--(?:all|allow-empty|amend|fixup|gpg-sign|message|no-edit|no-verify|quiet"
    r"|signoff|squash|verbose)",
    "fetch": _OF_FETCH,
    "ls-remote": r"-[qht]+|--(?:branches|exit-code|heads|quiet|refs|sort|symref|tags)",
    "pull": _OF_FETCH + r"|-r|--(?:autostash|commit|ff|ff-only|no-commit|no-edit|no-ff|no-rebase|rebase|squash)",
    "push": r"-[ufndqv46]+|--(?:all|atomic|branches|delete|dry-run|follow-tags|force|force-if-includes"
    r"|force-with-lease|mirror|no-verify|porcelain|prune|quiet|set-upstream|tags|verbose)",
    "remote": r"-[vfpnt]+|-m|--(?:add|all|delete|dry-run|no-tags|prune|push|tags|verbose)",
    "submodule": r"-[qfb]+|-j\d*|--(?:branch|checkout|depth|force|init|jobs|name|no-fetch|quiet|recommend-shallow"
    r"|recursive|remote|single-branch)",
    "tag": r"-[adflnsv]*(?:m.*)?|-u|--(?:annotate|contains|delete|force|list|local-user|merged|message|points-at|sign"
    r"|sort|verify)",
}
_SUBMODULES = frozenset({"add", "init", "status", "sync", "update"})  # `foreach` runs what it is given
_BEFORE_SUBCOMMANDS = frozenset({"--no-pager", "-P"})
# Their first operand may be a repository.
_TO_REPOSITORIES = frozenset({"clone", "fetch", "ls-remote", "pull", "push"})


class _Client(NamedTuple):
    """What is known of a client besides git.

    Attributes:
        subcommands: all words before the first option.
        refused: options with which it runs or obeys something else, without their dashes.
    """

    subcommands: "re.Pattern[str]"
    refused: "re.Pattern[str]" = re.compile("(?!)")


_KUBERNETES = _Client(
    re.compile(
        r"(?:annotate|api-resources|api-versions|apply|auth can-i|cluster-info|cordon|create|delete|describe|drain"
        r"|events|exec|explain|get|label|logs|patch|rollout|scale|set|taint|top|uncordon|version|wait)(?: .*)?"
    ),
    re.compile("kubeconf.*|enable-.*|exec-.*|k|kustomize"),
)
_CLIENTS = {
    "aws": _Client(
        re.compile(r"(?!configure|ssm|ec2-instance-connect|codeartifact|emr |eks update)[a-z0-9-]+ [a-z0-9-]+.*")
    ),
    "az": _Client(re.compile(r"(?:[a-z0-9-]+ )+(?:list|show)(?: .*)?")),
    "doctl": _Client(re.compile(r"(?:[a-z0-9-]+ )+(?:list|get)(?: .*)?")),
    "gcloud": _Client(re.compile(r"(?:[a-z0-9-]+ )+(?:describe|list|read)(?: .*)?"), re.compile("flags-file")),
    "gh": _Client(
        re.compile(
            r"(?:api|auth status|status|(?:cache|gist|issue|label|pr|release|repo|ruleset|run|search|secret|variable"
            r"|workflow) [a-z-]+)(?: .*)?"
        ),
        re.compile("editor|e|web|w"),
    ),
    "glab": _Client(
        re.compile(r"(?:api|(?:ci|issue|label|mr|release|repo|variable) [a-z-]+)(?: .*)?"), re.compile("web|w")
    ),
    "gsutil": _Client(re.compile(r"(?:cat|cp|du|ls|rsync|stat)(?: .*)?")),
    "kubectl": _KUBERNETES,
    "oc": _KUBERNETES,
    "twine": _Client(re.compile(r"(?:check|upload)(?: .*)?"), re.compile("config-file")),
}
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)(?:=.*)?", re.DOTALL)
_IS_OPTION = re.compile(r"--?[^\W_]|--\Z")  # not `- `, with which a message may begin
_FILE_OF_VALUE = re.compile(r"@(?:[/~]|\.\.)")


def is_client(name: str) -> bool:
    """Whether something is known of a client."""
    return name == "git" or name in _CLIENTS


def obscurity(name: str, words: Sequence[str], root: str) -> str | None:
    """Return what of a client's words kaa does not know, part of a sentence; None if it knows what they do.

    Args:
        name: of the client.
        words: behind the program.
        root: the project.
    """
    return _of_git(words, root) if name == "git" else _of_client(_CLIENTS[name], words)


def _of_git(words: Sequence[str], root: str) -> str | None:
    while words and words[0] in _BEFORE_SUBCOMMANDS:
        words = words[1:]
    subcommand = words[0] if words else ""
    options = _GIT.get(subcommand)
    if options is None:
        return subcommand or "no subcommand"
    for word in words[1:]:
        given = word.partition("=")[0] if word.startswith("--") else word
        if _IS_OPTION.match(word) and not re.fullmatch(options, given, re.DOTALL):
            return word
    operands = [word for word in words[1:] if not word.startswith("-")]
    if subcommand == "submodule" and (not operands or operands[0] not in _SUBMODULES):
        return " ".join(("submodule", *operands[:1]))
    if subcommand in _TO_REPOSITORIES and operands and _is_local(operands[0], root):
        return f"{operands[0]}, a repository with hooks of its own"
    return None


def _is_local(repository: str, root: str) -> bool:
    """Whether git takes a word for a path: no host is before its first slash, or there is such a directory."""
    is_path = "/" in repository and ":" not in repository.partition("/")[0]
    path = os.path.join(root, repository)
    is_there = any(os.path.lexists(f"{path}{ending}") for ending in ("", ".git", ".bundle"))
    return is_path or is_there or repository.startswith((".", "~", "file:"))


def _of_client(client: _Client, words: Sequence[str]) -> str | None:
    first_option = next((number for number, word in enumerate(words) if word.startswith("-")), len(words))
    if not client.subcommands.fullmatch(" ".join(words[:first_option])):
        return " ".join(words[: max(1, min(first_option, 2))]) or "no subcommand"
    for word in filter(_IS_OPTION.match, words[first_option:]):
        option = _OPTION.fullmatch(word)
        if option is None or client.refused.fullmatch(option["name"]):
            return word
    return next(filter(_FILE_OF_VALUE.search, words), None)
