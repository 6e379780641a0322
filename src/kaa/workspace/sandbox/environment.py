"""Variables that let programs work inside a policy: where temporary files and caches go, how to reach the network."""

import os

from kaa.hands.policy import Policy
from kaa.workspace.network.environment import proxy_environment

# Where installers and compilers keep what they download or build; without these they fail in a read-only home.
_CACHES = {
    "XDG_CACHE_HOME": "",
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "POETRY_CACHE_DIR": "poetry",
    "npm_config_cache": "npm",
    "YARN_CACHE_FOLDER": "yarn",
    "pnpm_config_store_dir": "pnpm",
    "BUN_INSTALL_CACHE_DIR": "bun",
    "DENO_DIR": "deno",
    "CARGO_HOME": "cargo",
    "GOCACHE": "go-build",
    "GOMODCACHE": "go-mod",
    "GRADLE_USER_HOME": "gradle",
    "COMPOSER_CACHE_DIR": "composer",
    "BUNDLE_USER_CACHE": "bundle",
    "NUGET_PACKAGES": "nuget",
    "CCACHE_DIR": "ccache",
    "PRE_COMMIT_HOME": "pre-commit",
    "MPLCONFIGDIR": "matplotlib",
}
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
    variables |= {name: os.path.join(caches, folder).rstrip("/") for name, folder in _CACHES.items()}
    variables |= _NO_UPDATE_CHECKS
    variables["KAA_SANDBOX"] = policy.mode
    return variables | (proxy_environment(proxy_port) if proxy_port is not None else {})
