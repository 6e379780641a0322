"""Variables that let programs work inside a policy: where temporary files and caches go, how to reach the network.

Commands write caches of the project. In tier `full` they see through these what the user downloaded or built before.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kaa.hands.policy import Policy
from kaa.workspace.network.environment import proxy_environment


class _ToolCache(NamedTuple):
    """A cache.

    Attributes:
        variable: says where it is.
        folder: of the project's.
        home: where the user has it if the variable is not set, below the home directory; empty if nothing is shared.
        parts: directories in it that hold no credentials, if it holds some besides; `.` is all of it.
    """

    variable: str
    folder: str
    home: str = ""
    parts: tuple[str, ...] = (".",)


_CACHES = (
    _ToolCache("XDG_CACHE_HOME", ""),
    _ToolCache("PIP_CACHE_DIR", "pip", ".cache/pip"),
    _ToolCache("UV_CACHE_DIR", "uv", ".cache/uv"),
    _ToolCache("POETRY_CACHE_DIR", "poetry", ".cache/pypoetry"),
    _ToolCache("npm_config_cache", "npm", ".npm", ("_cacache",)),
    _ToolCache("YARN_CACHE_FOLDER", "yarn", ".cache/yarn"),
    _ToolCache("pnpm_config_store_dir", "pnpm", ".local/share/pnpm/store"),
    _ToolCache("BUN_INSTALL_CACHE_DIR", "bun", ".bun/install/cache"),
    _ToolCache("DENO_DIR", "deno", ".cache/deno"),
    _ToolCache("CARGO_HOME", "cargo", ".cargo", ("registry", "git")),
    _ToolCache("GOCACHE", "go-build", ".cache/go-build"),
    _ToolCache("GOMODCACHE", "go-mod", "go/pkg/mod"),
    _ToolCache("GRADLE_USER_HOME", "gradle", ".gradle", ("caches", "wrapper")),
    _ToolCache("COMPOSER_CACHE_DIR", "composer", ".cache/composer"),
    _ToolCache("BUNDLE_USER_CACHE", "bundle", ".bundle/cache"),
    _ToolCache("NUGET_PACKAGES", "nuget", ".nuget/packages"),
    _ToolCache("CCACHE_DIR", "ccache", ".cache/ccache"),
    _ToolCache("PRE_COMMIT_HOME", "pre-commit", ".cache/pre-commit"),
    _ToolCache("MPLCONFIGDIR", "matplotlib"),
)
# Maven has no variable for it, but one for its arguments (since 3.9).
_MAVEN_ARGUMENTS, _MAVEN_FOLDER = "MAVEN_ARGS", "maven"
_MAVEN_HOME = ".m2/repository"
# Nobody asked for these connections, and they would be reported as blocked.
_NO_UPDATE_CHECKS = {
    "npm_config_update_notifier": "false",
    "NO_UPDATE_NOTIFIER": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
}
_MOUNTED_TEMPORARY = "/tmp"  # noqa: S108 - a directory of its own is mounted there


def sandbox_environment(policy: Policy, proxy_port: int | None) -> dict[str, str]:
    """Variables to set for commands.

    Args:
        policy: of the hands that run them.
        proxy_port: where the network proxy listens inside the sandbox; None without one.
    """
    if policy.tier == "none":
        return {}
    temporary = _MOUNTED_TEMPORARY if policy.tier in ("full", "bwrap") else policy.temporary
    variables = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), temporary)
    caches = policy.cache or os.path.join(temporary, "caches")
    variables |= {cache.variable: os.path.join(caches, cache.folder).rstrip("/") for cache in _CACHES}
    variables[_MAVEN_ARGUMENTS] = f"-Dmaven.repo.local={shlex.quote(os.path.join(caches, _MAVEN_FOLDER))}"
    variables |= _NO_UPDATE_CHECKS
    variables["KAA_SANDBOX"] = policy.mode
    return variables | (proxy_environment(proxy_port) if proxy_port is not None else {})


def shared_caches(home: str, environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Directories of the project's caches, and those of the user that commands see through them.

    Args:
        home: the user's home directory.
        environment: the user's own.
    """
    return (*_shared(home, environment), (_MAVEN_FOLDER, os.path.join(home, _MAVEN_HOME)))


def _shared(home: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for cache in _CACHES:
        if not cache.home:
            continue
        chosen = environment.get(cache.variable, "")
        place = chosen if os.path.isabs(chosen) else os.path.join(home, cache.home)
        for part in cache.parts:
            yield os.path.normpath(os.path.join(cache.folder, part)), os.path.normpath(os.path.join(place, part))
