"""Whether the question about trust can permit the package registries, too, which the first installation asks about."""

from kaa.shell.approvals.rule_file import RuleFile, parse_rules
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError, load_user_settings
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.network.registries import ALL, hosts_of
from kaa.workspace.protocol import Workspace

# Files for which somebody installs packages sooner or later.
_MANIFESTS = frozenset(
    {
        "pyproject.toml",
        "requirements.txt",
        "setup.py",
        "Pipfile",
        "package.json",
        "Cargo.toml",
        "go.mod",
        "Gemfile",
        "composer.json",
    }
)


async def manifests_in(workspace: Workspace, home: Home) -> tuple[str, ...]:
    """The files of package managers at the top of a project; empty if a yes to registries would change nothing there.

    Rules of the user's about hosts decide for themselves.
    """
    if not isinstance(workspace, LocalWorkspace) or workspace.sandbox.mode == "full-access":
        return ()
    if not workspace.sandbox.tells_hosts_apart or all(map(workspace.sandbox.network.allows, _hosts())):
        return ()
    names = sorted(_MANIFESTS.intersection(entry.name for entry in await workspace.list(".")))
    return () if not names or _has_rules(home) else tuple(names)


def permit_registries(workspace: Workspace) -> None:
    """Let commands reach the registries until kaa ends, as the answer to their own question does."""
    if isinstance(workspace, LocalWorkspace):
        for host in _hosts():
            workspace.sandbox.network.allow(host)


def _hosts() -> tuple[str, ...]:
    return hosts_of(ALL) or ()


def _has_rules(home: Home) -> bool:
    """Whether rules of the user's are about hosts, or cannot be read, which is told elsewhere."""
    try:
        approvals = load_user_settings(home.settings).approvals
        rules = (
            parse_rules(approvals.allow, approvals.deny, str(home.settings))
            + RuleFile(home.path / "approvals.json").load()
        )
    except SettingsError:
        return True
    return any(rule.hosts for rule in (*rules.allow, *rules.deny))
