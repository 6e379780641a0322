"""Clients that may leave the sandbox, as far as kaa knows what their subcommands and options do.

Everything else may run another program or obey a file of the project, as `git clone -u`, `gh ext exec` and
`kubectl config set-credentials --exec-command` do; also what is joined (`-qc x`) or stands before a subcommand.
"""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from kaa.hands.protected import is_protected
from kaa.shell.approvals.remotes import objection_to_repositories

# git(1) and the pages of these subcommands, 2.51; long options without their values. Not --recurse-submodules of fetch:
# commands may have written the configuration of a submodule.
_OF_FETCH = (
    r"-[apqvtfn46]+|-j\d*|--(?:all|depth|dry-run|force|jobs|no-tags|prune|prune-tags|quiet|tags|unshallow|verbose)"
)
_GIT = {
    "clone": r"-[qvnl46]+|-[bjo]|--(?:bare|branch|depth|filter|jobs|mirror|no-checkout|no-tags|origin|quiet"
    r"|recurse-submodules|recursive|shallow-submodules|single-branch|verbose)",
    "commit": r"-[aqvsne]*(?:m.*|S.*)?|-F|--(?:all|allow-empty|amend|author|date|file|fixup|gpg-sign|message|no-edit"
    r"|no-verify|quiet|signoff|squash|verbose)",
    "fetch": _OF_FETCH,
    "ls-remote": r"-[qht]+|--(?:branches|exit-code|heads|quiet|refs|sort|symref|tags)",
    "pull": _OF_FETCH + r"|-r|--(?:autostash|commit|ff|ff-only|no-commit|no-edit|no-ff|no-rebase|rebase|squash)",
    "push": r"-[ufndqv46]+|-o.*|--(?:all|atomic|branches|delete|dry-run|follow-tags|force|force-if-includes"
    r"|force-with-lease|mirror|no-verify|porcelain|prune|push-option|quiet|set-upstream|tags|verbose)",
    "remote": r"-[vfpnt]+|-m|--(?:add|all|delete|dry-run|no-tags|prune|push|tags|verbose)",
    "submodule": r"-[qfb]+|-j\d*|--(?:branch|checkout|depth|force|init|jobs|name|no-fetch|quiet|recommend-shallow"
    r"|recursive|remote|single-branch)",
    "tag": r"-[adflnsv]*(?:m.*)?|-u|--(?:annotate|contains|delete|force|list|local-user|merged|message|points-at|sign"
    r"|sort|verify)",
}
_SUBMODULES = frozenset({"add", "init", "status", "sync", "update"})  # `foreach` runs what it is given
_BEFORE_SUBCOMMANDS = frozenset({"--no-pager", "-P"})
# Their first operand is a repository. These options have a value in the next word.
_TO_REPOSITORIES = {
    "clone": r"-[bjo]|--(?:branch|depth|filter|jobs|origin)",
    "fetch": r"-j|--(?:depth|jobs)",
    "ls-remote": r"--sort",
    "pull": r"-j|--(?:depth|jobs)",
    "push": r"-o|--push-option",
}
_ADDING_REMOTES = frozenset({"add", "set-url"})


class _Client(NamedTuple):
    """What is known of a client besides git.

    Attributes:
        subcommands: all words before the first option, but for those of `before`.
        refused: options with which it runs or obeys something else, without their dashes.
        before: options that only select what it works with, and may stand before the subcommand; each has a value.
        remote: subcommands behind whose `--` is what runs elsewhere.
        telling: begins like all words of a call that prints credentials.
        flags: letters of options without a value, which may be joined.
    """

    subcommands: "re.Pattern[str]"
    refused: "re.Pattern[str]" = re.compile("(?!)")
    before: "re.Pattern[str]" = re.compile("(?!)")
    remote: frozenset[str] = frozenset()
    telling: "re.Pattern[str]" = re.compile("(?!)")
    flags: str = ""


_KUBERNETES = _Client(
    re.compile(
        r"(?:annotate|api-resources|api-versions|apply|auth can-i|cluster-info|cordon|create|delete|describe|drain"
        r"|events|exec|explain|get|label|logs|patch|rollout|scale|set|taint|top|uncordon|version|wait)(?: .*)?"
    ),
    # Another configuration, an editor, kustomize and its plugins, which can be programs; and where the credentials of
    # the user's configuration go.
    re.compile(
        "kubeconf.*|edit|enable-.*|exec-.*|k|kustomize|s|server|certificate-.*|insecure-.*|proxy-url|tls-server-name"
        "|token|raw"
    ),
    # Names in the user's own configuration, which commands cannot write.
    re.compile("n|namespace|context|cluster"),
    frozenset({"exec"}),
    re.compile(r"get .*\bsecrets?\b|create .*\btoken\b"),
    "AFRfhiqtw",  # `f` has a value, which is then the next word
)
_CLIENTS = {
    "aws": _Client(
        # What lists and shows, and copies of s3. Not: what ssm starts here, and credentials.
        re.compile(
            r"configure list|s3 (?:cp|ls|sync)(?: .*)?|logs tail(?: .*)?|dynamodb (?:query|scan)"
            r"|(?!ssm )[a-z0-9-]+ (?:wait [a-z0-9-]+|(?:batch-get|describe|get|head|list|lookup|search)-[a-z0-9-]+)"
            r"(?: .*)?"
        ),
        re.compile("endpoint.*|no-v.*|ca-.*|cli-.*"),
        re.compile("output|profile|region"),
        telling=re.compile(
            r"(?!sts get-access-key-info)[a-z0-9-]+ (?:batch-)?get-[a-z0-9-]*"
            r"(?:access|api-key|authorization|credential|login|password|secret|token)"
        ),
    ),
    "az": _Client(
        re.compile(r"(?:[a-z0-9-]+ )+(?:list|show)(?: .*)?"),
        telling=re.compile(".*(?:appsettings|connection-string|credential|key|password|secret|token)"),
    ),
    "doctl": _Client(
        re.compile(r"(?:[a-z0-9-]+ )+(?:list|get)(?: .*)?"),
        re.compile("access-token|api-url|config|c|t|u"),
        re.compile("context"),
        telling=re.compile("(?:databases?|db|dbs) "),
    ),
    "gcloud": _Client(
        re.compile(r"(?:[a-z0-9-]+ )+(?:describe|list|read)(?: .*)?"),
        re.compile("flags-.*|log-.*|access-.*"),
        re.compile("account|configuration|format|project"),
        telling=re.compile("auth (?!list)"),
    ),
    "gh": _Client(
        # `gist edit` starts an editor.
        re.compile(
            r"(?:api|auth (?:login|status)|status|(?!gist edit)(?:cache|gist|issue|label|pr|release|repo|ruleset|run"
            r"|search|secret|variable|workflow) [a-z-]+)(?: .*)?"
        ),
        # An editor or a browser, the hooks of a push, and submodules with configurations of their own.
        re.compile("editor|e|web|w|push|recurse-submodules|insecure-storage"),
        re.compile("R|repo"),
        telling=re.compile(r"auth (?:.* )?-(?:[a-z]*t|-show-t[a-z]*)(?:[ =]|$)"),
        flags="adfh",
    ),
    "glab": _Client(
        re.compile(r"(?:api|auth status|(?:ci|issue|label|mr|release|repo|variable) [a-z-]+)(?: .*)?"),
        re.compile("web|w"),
        re.compile("R|repo"),
        telling=re.compile(r"auth (?:.* )?-(?:[a-z]*t|-show-t[a-z]*)(?:[ =]|$)|variable (?:export|get|list)"),
    ),
    "gsutil": _Client(re.compile(r"(?:cat|cp|du|ls|rsync|stat)(?: .*)?"), flags="LPRahlnrs"),
    "kubectl": _KUBERNETES,
    "oc": _KUBERNETES,
    "twine": _Client(re.compile(r"(?:check|upload)(?: .*)?"), re.compile("con.*|repository-.*|cert|client-.*")),
}
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)(?P<value>=.*)?", re.DOTALL)
_IS_OPTION = re.compile(r"--?[^\W_]|--\Z")  # not `- `, with which a message may begin
_FILE_OF_VALUE = re.compile(r"(?:^|=)@(?:[/~]|\.\.)")  # not in a text, such as `for @/team`


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
    return _of_git(words, root) if name == "git" else _of_client(_CLIENTS[name], here(name, words), root)


def here(name: str, words: Sequence[str]) -> Sequence[str]:
    """Return those of a client's words that say what it does on this machine: not the command of `kubectl exec`."""
    client = _CLIENTS.get(name)
    if client is None or "--" not in words:
        return words
    subcommand = next(iter(_behind(client.before, words)), "")
    return words[: words.index("--")] if subcommand in client.remote else words


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
    return objection_to_repositories(subcommand, _repositories(subcommand, words[1:], operands), root)


def _repositories(subcommand: str, words: Sequence[str], operands: Sequence[str]) -> Sequence[str]:
    """Which operands may be addresses of repositories.

    Args:
        subcommand: of git.
        words: behind the subcommand.
        operands: those of the words that are no options.
    """
    if subcommand == "remote":
        return operands[2:] if operands and operands[0] in _ADDING_REMOTES else ()
    if subcommand == "submodule":
        return [word for word in operands[1:] if "::" in word]  # git itself refuses hooks and helpers of others here
    if (valued := _TO_REPOSITORIES.get(subcommand)) is None:
        return ()
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-"):
            return (word,)
        is_value = not is_value and re.fullmatch(valued, word) is not None
    return ()


def is_executed(word: str, root: str) -> bool:
    """Whether a word of a client that copies may name a file that other programs execute, such as `.envrc`.

    The name counts at the other side too: copied to a directory, a file keeps it.
    """
    for text in re.split("[=@:]", word):
        path = os.path.normpath(os.path.join(root, text))
        inside = path.removeprefix(f"{root.rstrip('/')}/")
        names = (inside if inside != path else os.path.basename(path)).split("/")
        if text and (".git" in names or is_protected(names)):
            return True
    return False


def _of_client(client: _Client, words: Sequence[str], root: str) -> str | None:
    words = _behind(client.before, words)
    first_option = next((number for number, word in enumerate(words) if word.startswith("-")), len(words))
    subcommand = " ".join(words[:first_option])
    if not client.subcommands.fullmatch(subcommand):
        return " ".join(words[: max(1, min(first_option, 2))]) or "no subcommand"
    for word in filter(_IS_OPTION.match, words[first_option:]):
        option = _OPTION.fullmatch(word)
        if option is None or client.refused.fullmatch(option["name"]):
            return word
        name = option["name"]
        if not word.startswith("--") and len(name) > 1 and not _is_joined(name, client):
            return word
    if client.telling.match(" ".join(words)):
        return f"{subcommand}, which may print credentials"
    if executed := next((word for word in words if is_executed(word, root)), None):
        return f"{executed}, which other programs execute"
    return next(filter(_FILE_OF_VALUE.search, words), None)


def _is_joined(letters: str, client: _Client) -> bool:
    """Whether a short word is options without a value, or one with a number, such as `-L10`."""
    if letters[1:].isdigit():
        return client.refused.fullmatch(letters[0]) is None
    return set(letters) <= set(client.flags)


def _behind(before: "re.Pattern[str]", words: Sequence[str]) -> Sequence[str]:
    """The words behind the options that may stand before a subcommand."""
    while words and (option := _OPTION.fullmatch(words[0])) and before.fullmatch(option["name"]):
        words = words[1:] if option["value"] else words[2:]
    return words
