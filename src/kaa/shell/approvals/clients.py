"""Clients that may leave the sandbox, as far as kaa knows what their subcommands and options do.

Everything else may run another program or obey a file of the project, as `git clone -u`, `gh ext exec` and
`kubectl config set-credentials --exec-command` do; also what is joined (`-qc x`) or stands before a subcommand.
"""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from kaa.hands.git_config_keys import is_inert
from kaa.hands.lazy_pattern import LazyPattern
from kaa.hands.protected import is_protected
from kaa.shell.approvals.remotes import objection_to_repositories

# git(1) and the pages of these subcommands, 2.51; long options without their values. Not --recurse-submodules of fetch:
# commands may have written the configuration of a submodule.
_OF_FETCH = (
    r"-[apqvtfn46]+|-j\d*|--(?:all|depth|dry-run|force|jobs|no-tags|prune|prune-tags|quiet|tags|unshallow|verbose)"
)
_GIT = {
    "checkout": r"-[qdt]*b?|--(?:detach|guess|no-guess|no-track|quiet|track)",
    "clone": r"-[qvnl46]+|-[bjo]|--(?:bare|branch|depth|filter|jobs|mirror|no-checkout|no-tags|origin|quiet"
    r"|recurse-submodules|recursive|shallow-submodules|single-branch|verbose)",
    "commit": r"-[aqvsne]*(?:m.*|S.*)?|-F|--(?:all|allow-empty|amend|author|date|file|fixup|gpg-sign|message|no-edit"
    r"|no-verify|quiet|signoff|squash|verbose)",
    "config": r"--(?:add|bool|fixed-value|int|local|replace-all|unset|unset-all)",
    "fetch": _OF_FETCH,
    "ls-remote": r"-[qht]+|--(?:branches|exit-code|heads|quiet|refs|sort|symref|tags)",
    "pull": _OF_FETCH + r"|-r|--(?:autostash|commit|ff|ff-only|no-commit|no-edit|no-ff|no-rebase|rebase|squash)",
    "push": r"-[ufndqv46]+|-o.*|--(?:all|atomic|branches|delete|dry-run|follow-tags|force|force-if-includes"
    r"|force-with-lease|mirror|no-verify|porcelain|prune|push-option|quiet|set-upstream|tags|verbose)",
    "remote": r"-[vfpnt]+|-m|--(?:add|all|delete|dry-run|no-tags|prune|push|tags|verbose)",
    "submodule": r"-[qfb]+|-j\d*|--(?:all|branch|checkout|depth|force|init|jobs|name|no-fetch|quiet|recommend-shallow"
    r"|recursive|remote|single-branch)",
    "switch": r"-[qdt]*c?|--(?:create|detach|guess|no-guess|no-track|quiet|track)",
    "tag": r"-[adflnsv]*(?:m.*)?|-u|--(?:annotate|contains|delete|force|list|local-user|merged|message|points-at|sign"
    r"|sort|verify)",
    "worktree": r"-[fvn]+|--(?:dry-run|expire|force|verbose)",
}
_SUBMODULES = frozenset({"add", "deinit", "init", "status", "sync", "update"})  # `foreach` runs what it is given
_OF_WORKTREES = frozenset({"list", "prune", "remove"})  # `add` and `move` make a directory of any name
_BEFORE_SUBCOMMANDS = frozenset({"--no-pager", "-P"})
# Their first operand is a repository. These options have a value in the next word.
_TO_REPOSITORIES = {
    "clone": r"-[bjo]|--(?:branch|depth|filter|jobs|origin)",
    "fetch": r"-j|--(?:depth|jobs)",
    "ls-remote": r"--sort",
    "pull": r"-j|--(?:depth|jobs)",
    "push": r"-o|--push-option",
}
_TO_NAMED_DIRECTORIES = frozenset({"clone", "submodule"})
_FILE_OF_GIT = LazyPattern("-[aqvsne]*F|--fi")
# Of what is known to be data, git connects to some.
_WITH_ADDRESSES = frozenset({"remote", "submodule", "svn-remote", "url"})
_ADDING_REMOTES = frozenset({"add", "set-url"})


def _options(names: str) -> LazyPattern[str]:
    return LazyPattern("|".join(names.split()))


class _Client(NamedTuple):
    """What is known of a client besides git.

    Attributes:
        subcommands: all words before the first option, but for those of `before`.
        options: options that only select, filter or say what is done, without their dashes. Not those with which it
            runs or obeys something else or sends credentials elsewhere. A shortened one is none of them.
        before: options that only select what it works with, and may stand before the subcommand; each has a value.
        remote: subcommands behind whose `--` is what runs elsewhere.
        telling: begins like all words of a call that prints credentials.
        flags: letters of options without a value, which may be joined.
        fileless: subcommands whose operands are no files.
        of_files: letters of options whose value is a file.
    """

    subcommands: LazyPattern[str]
    options: LazyPattern[str]
    before: LazyPattern[str] = LazyPattern("(?!)")
    remote: frozenset[str] = frozenset()
    telling: LazyPattern[str] = LazyPattern("(?!)")
    flags: str = ""
    fileless: LazyPattern[str] = LazyPattern("(?!)")
    of_files: str = "DFOT"


_KUBERNETES = _Client(
    LazyPattern(
        r"(?:annotate|api-resources|api-versions|apply|auth can-i|cluster-info|cordon|create|delete|describe|drain"
        r"|events|exec|explain|get|label|logs|patch|rollout|scale|set|taint|top|uncordon|version|wait)(?: .*)?"
    ),
    # kubectl 1.34. Not: another configuration, an editor, kustomize and its plugins, which can be programs, and where
    # the credentials of the user's configuration go.
    _options(
        """
        A F L R all all-containers all-namespaces all-pods api-group c cascade chunk-size client cluster condition
        container containers context cpu cpu-percent current-replicas delete-emptydir-data disable-eviction dry-run f
        field-manager field-selector filename follow for force force-conflicts from-env-file from-file from-literal
        grace-period h help i ignore-daemonsets ignore-not-found image interactive l label-columns labels limit-bytes
        limits list local max max-log-requests memory min n name namespace namespaced no-headers now o output
        output-watch-events overwrite p patch patch-file pod-running-timeout pod-selector port prefix previous quiet q
        replicas request-timeout requests resource-version resource restart-policy revision schedule selector
        server-print server-side show-kind show-labels show-managed-fields since since-time sort-by stdin subresource
        sum t tail tcp template timeout timestamps to-revision tty type validate verbs w wait watch watch-only
        """
    ),
    # Names in the user's own configuration, which commands cannot write.
    _options("n namespace context cluster"),
    frozenset({"exec"}),
    # Kinds are written in any case; the kinds in a file are not seen. Most subcommands print what they have changed, or
    # would change, in the format of `-o`.
    LazyPattern(
        r"(?i:get .*\bsecrets?\b|create .*\btoken\b)|get (?:.* )?-(?:[A-Za-z]*f|-filename)"
        r"|(?=.* (?:-o|--output)[ =](?!(?:name|wide)(?: |$))).*"
        r"(?:\b(?i:secrets?)\b| -(?:[A-Za-z]*[fk]|-filename|-kustomize)(?:[ =]|$))"
    ),
    "AFRfhiqtw",  # `f` has a value, which is then the next word
    LazyPattern(
        r"(?:api-resources|api-versions|auth|cluster-info|cordon|describe|drain|events|exec|explain|get|label|logs"
        r"|rollout|scale|taint|top|uncordon|version|wait)(?: .*)?"
    ),
    "Ffk",
)
# Of clouds, what the words before a verb may be: as operands or as other verbs, they could run or write something.
_OF_AZURE = (
    "account acr activity-log ad aks alert app appservice assignment backup batch blob cognitiveservices container"
    " containerapp cosmosdb db definition deployment disk dns endpoint env eventhubs eventhub extension"
    " flexible-server functionapp group hub identity image iot job lb location lock log-analytics managed-cluster"
    " metrics monitor mysql nat namespace network nic node nodepool nsg plan policy pool postgres private-endpoint"
    " public-ip queue record-set redis replication replica repository resource revision role rule server service"
    " servicebus share signalr site slot snapshot sp sql staticwebapp storage subnet subscription tag tags topic"
    " traffic-manager user vm vmss vnet webapp workspace zone"
)
_OF_DIGITALOCEAN = (
    "1-click account action apps balance billing-history certificate compute domain droplet firewall image invoice"
    " kubernetes k8s cluster load-balancer monitoring alert node-pool projects records region registry repository"
    " reserved-ip size snapshot ssh-key tag volume vpcs"
)
_OF_GOOGLE = (
    "accounts addresses app artifacts auth backend-services backups bigtable billing buckets builds clusters"
    " components compute config configurations connectors container databases datasets disks dns docker domains"
    " endpoints executions filestore firestore firewall-rules folders forwarding-rules functions health-checks iam"
    " images instance-groups instance-templates instances jobs kms keyrings locations logging logs machine-types"
    " managed managed-zones memcache monitoring networks node-pools objects operations organizations packages policies"
    " projects pubsub queues record-sets recommender redis regions releases repositories revisions roles routers run"
    " scheduler secrets service-accounts services snapshots source spanner sql ssl-certificates storage subnets"
    " subscriptions tags target-pools tasks topics triggers url-maps versions vpn-tunnels workflows zones"
)


def _reading(groups: str, verbs: str) -> LazyPattern[str]:
    """Groups of a client of a cloud, and what only reads of them."""
    return LazyPattern(f"(?:(?:{'|'.join(groups.split())}) )+(?:{verbs})(?: .*)?")


_CLIENTS = {
    "aws": _Client(
        # What lists and shows, and copies of s3. Not: what ssm starts here, and credentials.
        LazyPattern(
            r"configure list|s3 (?:cp|ls|sync)(?: .*)?|logs tail(?: .*)?|dynamodb (?:query|scan)"
            r"|(?!ssm )[a-z0-9-]+ (?:wait [a-z0-9-]+|(?:batch-get|describe|get|head|list|lookup|search)-[a-z0-9-]+)"
            r"(?: .*)?"
        ),
        # Each operation has options of its own; the AWS CLI takes those for all of them shortened, too.
        LazyPattern(
            r"(?!(?:c|ca|ca-.*|cli?|cli-.*|d|de|deb|debu|debug|e|en|end|endp.*|n|no|no-|no-[cv].*)\Z).*|no-cli-pager"
        ),
        _options("output profile region"),
        telling=LazyPattern(
            r"(?!sts get-access-key-info)[a-z0-9-]+ (?:batch-)?get-[a-z0-9-]*"
            r"(?:access|api-key|authorization|credential|login|password|secret|token)"
            r"|apigateway get-api-key|appsync list-api-keys|cognito-idp describe-user-pool-client"
            r"|lambda (?:get-function|list-functions)"
        ),
        fileless=LazyPattern(
            r"configure list|s3 ls(?: .*)?|logs tail(?: .*)?|sts get-caller-identity"
            r"|[a-z0-9-]+ (?:describe|list)-[a-z0-9-]+(?: .*)?"
        ),
    ),
    "az": _Client(
        _reading(_OF_AZURE, "list|show"),
        _options(
            """
            account-name all container-name d filter g ids l location n name namespace-name o only-show-errors output
            query registry repository resource-group resource-type scope server server-name show-details subscription
            tag top vnet-name zone-name
            """
        ),
        telling=LazyPattern(".*(?:appsettings|connection-string|credential|key|password|secret|token)"),
        fileless=LazyPattern(".*"),
    ),
    "doctl": _Client(
        _reading(_OF_DIGITALOCEAN, "list|get"),
        _options("context format no-header o output public region resource tag-name v verbose"),
        _options("context"),
        fileless=LazyPattern(".*"),
    ),
    "gcloud": _Client(
        _reading(_OF_GOOGLE, "describe|list|read"),
        _options(
            """
            account cluster configuration databases-instance filter flatten format freshness function-version gen2
            global instance job keyring limit location locations log-filter order page-size platform project q quiet
            region regions repository service sort-by uri version zone zones
            """
        ),
        _options("account configuration format project"),
        telling=LazyPattern("auth (?!list)|container clusters describe"),
        fileless=LazyPattern(".*"),
    ),
    "gh": _Client(
        # `gist edit` starts an editor.
        LazyPattern(
            r"(?:api|auth (?:login|status)|status|(?!gist edit)(?:cache|gist|issue|label|pr|release|repo|ruleset|run"
            r"|search|secret|variable|workflow) [a-z-]+)(?: .*)?"
        ),
        # gh 2.83. Not: an editor (`e`) or a browser (`w`), the hooks of a push, and submodules with configurations of
        # their own.
        _options(
            """
            A B D F H L M O R S T X a active add-assignee add-label add-milestone add-project add-reviewer admin all
            app approve archive archived assignee attempt author auto b base body body-file branch c cache checkout
            clobber clone closed color comment comments commit committer created d default-branch delete-branch
            delete-last description dir disable-auto disable-issues disable-wiki discussion-category draft dry-run
            duplicate-of edit-last env event exclude-drafts exit-status f fail-fast field filename fill fill-first
            fill-verbose follow force fork generate-notes git-protocol h head header help homepage hostname include
            input internal interval involves issue j job jq json k key l label language latest limit log log-failed
            match match-head-commit mention mentions merge merged method milestone n name name-only no-maintainer-edit
            notes notes-file notes-from-tag notes-start-tag o order org output owner p paginate patch pattern
            prerelease preview private project public q r raw raw-field reason rebase ref remote remove-assignee
            remove-label remove-milestone remove-project remove-reviewer repo repos request-changes required reviewer
            s scopes search sha silent skip-existing slurp sort source squash state status subject t tag target
            template title topic u undo updated user v verbose verify-tag visibility workflow yes
            """
        ),
        _options("R repo"),
        telling=LazyPattern(r"auth (?:.* )?-(?:[a-z]*t|-show-t[a-z]*)(?:[ =]|$)"),
        flags="adfh",
        fileless=LazyPattern(
            r"(?:auth (?:login|status)|status|search [a-z]+|(?:issue|pr|repo|run|workflow) (?:cancel|checks|checkout"
            r"|close|comment|create|delete|diff|disable|edit|enable|list|merge|ready|reopen|rerun|review|run|status"
            r"|sync|view|watch)|(?:cache|label|ruleset) [a-z]+|(?:gist|release|secret|variable) (?:delete|list|view))"
            r"(?: .*)?"
        ),
    ),
    "glab": _Client(
        LazyPattern(r"(?:api|auth status|(?:ci|issue|label|mr|release|repo|variable) [a-z-]+)(?: .*)?"),
        _options(
            """
            A F L P R X a all allow-collaboration assignee assets-links author b body c closed color comments
            confidential create-source-branch d description draft due-date f field fill group h head header help
            hostname i input issue-type job l label m merged milestone mine n name no-editor not-draft notes
            notes-file o opened order output p page paginate per-page pipeline-id r raw-field ref ref-name
            related-issue remove-source-branch repo reviewer s scope search sha signoff silent source-branch sort
            squash squash-before-merge squash-message state status t tag-message tag-name target-branch title type u
            unlabel unassign v visibility weight wip y yes
            """
        ),
        _options("R repo"),
        telling=LazyPattern(r"auth (?:.* )?-(?:[a-z]*t|-show-t[a-z]*)(?:[ =]|$)|variable (?:export|get|list)"),
        fileless=LazyPattern(
            r"(?:auth status|(?:issue|mr) (?:approve|close|create|list|merge|note|reopen|update|view)"
            r"|(?:ci|label|release|repo) (?:list|status|view))(?: .*)?"
        ),
    ),
    "gsutil": _Client(
        LazyPattern(r"(?:cat|cp|du|ls|rsync|stat)(?: .*)?"),
        _options("L P R a c d e h l n p r s"),
        flags="PRaehlnr",
        fileless=LazyPattern(r"(?:du|ls|stat)(?: .*)?"),
    ),
    "kubectl": _KUBERNETES,
    "oc": _KUBERNETES,
    "twine": _Client(
        LazyPattern(r"(?:check|upload)(?: .*)?"),
        _options(
            "c comment disable-progress-bar non-interactive p r repository skip-existing strict u username verbose"
        ),
    ),
}
# Options whose value is a file, of any client, and values that name one.
_OF_FILES = LazyPattern(r"--(?:[a-z]+-)*(?:assets|file|files|filename|dir|input|kustomize|source|template)(?:[-=].*)?")
_NAMES_FILE = LazyPattern(r"(?:^|=)(?:@|fileb?://)")
_OPTION = LazyPattern(r"--?(?P<name>[A-Za-z][\w-]*)(?P<value>=.*)?", re.DOTALL)
_IS_OPTION = LazyPattern(r"--?[^\W_]|--\Z")  # not `- `, with which a message may begin
_FILE_OF_VALUE = LazyPattern(r"(?:^|=)@(?:[/~]|\.\.)")  # not in a text, such as `for @/team`


def may_use_files(name: str, words: Sequence[str]) -> bool:
    """Whether a client may read or write a file of the project that its words name. It counts as so if in doubt."""
    if name == "git":
        while words and words[0] in _BEFORE_SUBCOMMANDS:
            words = words[1:]
        return words[0] in _TO_NAMED_DIRECTORIES or any(map(_FILE_OF_GIT.match, words)) if words else False
    client = _CLIENTS[name]
    words = _behind(client.before, here(name, words))
    of_files = re.compile(f"-[A-Za-z]*[{client.of_files}].*")
    if any(_OF_FILES.fullmatch(word) or of_files.match(word) or _NAMES_FILE.search(word) for word in words):
        return True
    return client.fileless.fullmatch(" ".join(_subcommand(words))) is None


def is_client(name: str) -> bool:
    """Whether something is known of a client."""
    return name == "git" or name in _CLIENTS


def obscurity(name: str, words: Sequence[str], root: str) -> str | None:
    """Return what of a client's words kaa does not know, part of a sentence; None if it knows what they do."""
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
    operands = [word for word in words[1:] if not word.startswith("-")]
    if subcommand == "submodule" and (not operands or operands[0] not in _SUBMODULES):
        return " ".join(("submodule", *operands[:1]))
    if subcommand == "worktree" and (not operands or operands[0] not in _OF_WORKTREES):
        return " ".join(("worktree", *operands[:1]))
    for word in words[1:]:
        given = word.partition("=")[0] if word.startswith("--") else word
        if _IS_OPTION.match(word) and not re.fullmatch(options, given, re.DOTALL):
            return f"{subcommand} {word}"
    if subcommand == "config" and not _is_inert(operands):
        return " ".join(("config", *operands[:1]))
    return objection_to_repositories(subcommand, _repositories(subcommand, words[1:], operands), root)


def _is_inert(operands: Sequence[str]) -> bool:
    """Whether `git config` with these operands sets a variable that neither runs, writes nor reaches anything."""
    section, _, rest = operands[0].casefold().partition(".") if operands else ("", "", "")
    name = rest.rpartition(".")[2]
    return len(operands) <= 2 and section not in _WITH_ADDRESSES and "url" not in name and is_inert(section, name)


def _repositories(subcommand: str, words: Sequence[str], operands: Sequence[str]) -> Sequence[str]:
    """Which operands may be addresses of repositories.

    Args:
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
    before_options = _subcommand(words)
    subcommand = " ".join(before_options)
    if not client.subcommands.fullmatch(subcommand):
        return " ".join(words[: max(1, min(len(before_options), 2))]) or "no subcommand"
    for word in filter(_IS_OPTION.match, words[len(before_options) :]):
        option = _OPTION.fullmatch(word)
        if option is None:
            return word
        name = option["name"]
        is_joined = not word.startswith("--") and len(name) > 1
        if not (_is_joined(name, client) if is_joined else client.options.fullmatch(name)):
            return word
    if client.telling.match(" ".join(words)):
        return f"{subcommand}, which may print credentials"
    if executed := next((word for word in words if is_executed(word, root)), None):
        return f"{executed}, which other programs execute"
    return next(filter(_FILE_OF_VALUE.search, words), None)


def _subcommand(words: Sequence[str]) -> Sequence[str]:
    """The words before the first option."""
    return words[: next((number for number, word in enumerate(words) if word.startswith("-")), len(words))]


def _is_joined(letters: str, client: _Client) -> bool:
    """Whether a short word is options without a value, or one with a number, such as `-L10`."""
    if letters[1:].isdigit():
        return client.options.fullmatch(letters[0]) is not None
    return set(letters) <= set(client.flags)


def _behind(before: LazyPattern[str], words: Sequence[str]) -> Sequence[str]:
    """The words behind the options that may stand before a subcommand."""
    while words and (option := _OPTION.fullmatch(words[0])) and before.fullmatch(option["name"]):
        words = words[1:] if option["value"] else words[2:]
    return words
