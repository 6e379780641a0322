"""Variables that let programs work inside a policy: where temporary files and caches go, how to reach the network.

Commands write caches of the project. In tier `full` they see through these what the user downloaded or built before.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from kaa.hands.policy import Policy


class _ToolCache(NamedTuple):
    """A cache.

    Attributes:
        home: where the user has it if the variable is not set, below the home directory; empty if nothing is shared.
        parts: directories in it that hold no credentials, if it holds some besides; `.` is all of it.
    """

    variable: str
    folder: str
    home: str = ""
    parts: tuple[str, ...] = (".",)


CACHES = "XDG_CACHE_HOME"  # the variable that names the directory of all of them
_CACHES = (
    _ToolCache(CACHES, ""),
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
# Maven has no variable for it, but one for its arguments (since 3.9), and one for options of its JVM, which its script
# splits at blanks. Neither prints a line, as `JAVA_TOOL_OPTIONS` does.
_MAVEN_ARGUMENTS, _MAVEN_OPTIONS, _MAVEN_FOLDER = "MAVEN_ARGS", "MAVEN_OPTS", "maven"
# Since 3.9: else it looks for no proxy of the JVM.
_MAVEN_RESOLVER = ("-Daether.connector.http.useSystemProperties=true",)
_GRADLE_OPTIONS = "GRADLE_OPTS"
_MAVEN_HOME = ".m2/repository"
# Nobody asked for these connections, and they would be reported as blocked.
_NO_UPDATE_CHECKS = {
    "npm_config_update_notifier": "false",
    "NO_UPDATE_NOTIFIER": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
}
# Where `go install`, `uv tool install`, `pipx install`, `npm link` and `npm install -g` put programs, below the caches.
_PREFIX = "prefix"
_INSTALLED = {
    "GOBIN": "bin",
    "UV_TOOL_BIN_DIR": "bin",
    "UV_TOOL_DIR": "uv",
    "PIPX_BIN_DIR": "bin",
    "PIPX_HOME": "pipx",
}
_NPM_PREFIX = "npm_config_prefix"
_NPM_GLOBAL = "npm_config_globalconfig"
_CARGO_BIN = os.path.join("cargo", "bin")  # of `cargo install`, below CARGO_HOME
_MOUNTED_TEMPORARY = "/tmp"  # noqa: S108 - a directory of its own is mounted there


def sandbox_environment(policy: Policy, proxy_port: int | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Variables to set for commands.

    Args:
        proxy_port: where the network proxy listens inside the sandbox; None without one.
    """
    from kaa.workspace.network.environment import (  # lazy: many conversations run no command
        java_proxy_options,
        proxy_environment,
    )

    if policy.tier == "none":
        return {}
    temporary = _MOUNTED_TEMPORARY if policy.tier in ("full", "bwrap") else policy.temporary
    variables = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), temporary)
    caches = policy.cache or os.path.join(temporary, "caches")
    variables |= {cache.variable: os.path.join(caches, cache.folder).rstrip("/") for cache in _CACHES}
    repository = os.path.join(caches, _MAVEN_FOLDER)
    variables[_MAVEN_ARGUMENTS] = f"-Dmaven.repo.local={shlex.quote(repository)}"
    proxy = java_proxy_options(proxy_port) if proxy_port is not None else ()
    place = () if " " in repository else (f"-Dmaven.repo.local={repository}",)
    options = {_MAVEN_OPTIONS: (*place, *proxy, *(_MAVEN_RESOLVER if proxy else ())), _GRADLE_OPTIONS: proxy}
    for name, ours in options.items():
        if ours:
            variables[name] = " ".join((*filter(None, [environment.get(name)]), *ours))
    variables |= _NO_UPDATE_CHECKS
    variables["KAA_SANDBOX"] = policy.mode
    return variables | (proxy_environment(proxy_port) if proxy_port is not None else {})


def installation_environment(caches: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Variables by which commands install programs, and find them behind the user's own.

    They are for commands only: a program of kaa's must find nothing there, because commands can write it.
    """
    prefix = os.path.join(caches, _PREFIX)
    variables = {name: os.path.join(prefix, place) for name, place in _INSTALLED.items() if name not in environment}
    if "GOPATH" in environment:  # the user's PATH may have its `bin`, where an older program would stay
        variables.pop("GOBIN", None)
    names = {name.lower() for name in environment}
    if _NPM_PREFIX not in names and "nvm_dir" not in names:  # nvm refuses to work with it
        variables[_NPM_PREFIX] = prefix
        if _NPM_GLOBAL not in names and (configuration := _npm_configuration(environment.get("PATH", ""))):
            variables[_NPM_GLOBAL] = configuration
    if path := environment.get("PATH"):
        variables["PATH"] = os.pathsep.join((path, os.path.join(prefix, "bin"), os.path.join(caches, _CARGO_BIN)))
    return variables


@lru_cache
def _npm_configuration(path: str) -> str | None:
    """Where npm has its global configuration without a prefix of kaa's: `etc/npmrc` beside the `bin` of its node."""
    nodes = (os.path.join(directory, "node") for directory in path.split(os.pathsep))
    node = next((node for node in nodes if os.access(node, os.X_OK)), None)
    return os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(node))), "etc", "npmrc") if node else None


def shared_caches(home: str, environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Directories of the project's caches, and those of the user that commands see through them."""
    return (*_shared(home, environment), (_MAVEN_FOLDER, os.path.join(home, _MAVEN_HOME)))


def _shared(home: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for cache in _CACHES:
        if not cache.home:
            continue
        chosen = environment.get(cache.variable, "")
        place = chosen if os.path.isabs(chosen) else os.path.join(home, cache.home)
        for part in cache.parts:
            yield os.path.normpath(os.path.join(cache.folder, part)), os.path.normpath(os.path.join(place, part))
