"""What commands may not read, whatever else of the home they see (`home_list`).

Paths are absolute or begin with `~/`; they may be glob patterns.

Sources: what codex, Claude Code's sandbox-runtime and gemini-cli hide, and where the tools named here keep keys.
"""

import glob
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kaa.workspace.sandbox.home_list import listed, possible_logins, unlisted

_IN_HOME = (
    # keys and tokens of tools
    ".ssh",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/doctl",
    ".config/op",
    ".config/sops",
    ".config/rclone",
    ".kube",
    ".docker",
    ".config/containers",
    ".oci",
    ".terraform.d",
    ".vault-token",
    ".gnupg",
    ".password-store",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".npmrc",
    # what `npm config set --global` writes, below the prefix of each Node
    ".npm-global/etc/npmrc",
    ".npm-packages/etc/npmrc",
    ".n/etc/npmrc",
    ".nvm/versions/node/*/etc/npmrc",
    ".nodenv/versions/*/etc/npmrc",
    ".asdf/installs/nodejs/*/etc/npmrc",
    ".volta/tools/image/node/*/etc/npmrc",
    ".local/share/fnm/node-versions/*/installation/etc/npmrc",
    ".local/share/mise/installs/node/*/etc/npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip",
    ".config/pypoetry/auth.toml",
    "Library/Application Support/pypoetry/auth.toml",
    ".local/share/uv/credentials",
    "Library/Application Support/uv/credentials",
    ".rye/credentials",
    ".mamba/auth",
    ".conda/.condarc",
    ".config/mise/age.txt",
    ".config/composer/auth.json",
    ".composer/auth.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".m2/settings*.xml*",
    ".m2/.develocity",
    ".m2/.gradle-enterprise",
    ".gradle/gradle.properties",
    ".gradle/develocity",
    ".gradle/enterprise",
    ".ivy2/.credentials",
    ".sbt/.credentials",
    ".sbt/credentials",
    ".sbt/*/credentials.sbt",
    ".sbt/*/sonatype.sbt",
    "Library/Application Support/Coursier/credentials.properties",
    ".lein/credentials.clj*",
    ".bundle/config",
    ".hex/hex.config",
    ".pub-cache/credentials.json",
    ".conan2/credentials.json",
    ".conan/.conan.db",
    ".conan2/.conan.db",
    ".nuget/NuGet/NuGet.Config",
    ".dotnet/corefx/cryptography",
    ".cabal/config",
    ".config/cabal/config",
    ".stack/upload",
    ".local/share/stack/upload",
    ".luarocks/upload_config.lua",
    ".platformio/appstate.json",
    ".julia/servers",
    ".cache/huggingface/stored_tokens",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".databrickscfg",
    ".snowflake",
    ".config/huggingface",
    ".huggingface/token",
    ".cache/huggingface/token",
    # tools whose folder is seen because their programs are in it
    ".factory/auth*",
    ".fly/config.yml",
    ".foundry/keystores",
    ".lmstudio/.internal",
    ".modular/modular.cfg",
    ".orbstack/ssh",
    ".pulumi/credentials.json",
    ".railway/config.json",
    ".sui/sui_config",
    ".supabase/access-token",
    ".wasmer/wasmer.toml",
    # other agents
    ".pi/agent/auth.json",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".claude.json",
    ".gemini/oauth_creds.json",
    ".config/github-copilot",
    ".local/share/opencode/auth.json",
    ".continue/config.json",
    # keyrings, mail, browsers
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/python_keyring",
    ".config/python_keyring",
    ".mozilla",
    ".config/mozilla",
    ".thunderbird",
    ".config/google-chrome*",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge*",
    ".config/vivaldi",
    ".config/opera",
    "snap/firefox",
    "snap/chromium",
    ".var/app/org.mozilla.firefox",
    ".var/app/com.google.Chrome",
    ".var/app/org.chromium.Chromium",
    ".var/app/com.brave.Browser",
    "Library/Keychains",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    "Library/Cookies",
    ".cache/ms-playwright/mcp-*",
    "Library/Caches/ms-playwright/mcp-*",
    # what was typed before may hold keys
    ".*_history",
    ".local/share/fish/fish_history",
    ".lesshst",
    ".viminfo",
    ".vim/backup*",
    ".vim/swap*",
    ".vim/undo*",
    ".julia/logs",
    ".lein/repl-history",
)
# As an ordinary user none of these can be read anyway.
_OF_ROOT = ("/etc/shadow*", "/etc/gshadow*", "/etc/ssh/ssh_host_*_key", "/etc/sudoers*", "/root/.ssh")


class Concealment(NamedTuple):
    """What may not be read; see `Policy` for what the patterns mean."""

    hidden: tuple[str, ...]
    unlisted: tuple[str, ...]
    listed: tuple[str, ...]
    shown: tuple[str, ...]


def conceal(home: str, private: Iterable[str], chosen: Iterable[str], environment: Mapping[str, str]) -> Concealment:
    """What is hidden, and the exceptions from it.

    Args:
        private: kaa's own directories. No exception takes them back.
        chosen: the user's additions; with a leading `!`, exceptions. One that is the pattern of a default, such as
            `!~/.*`, takes only that default back.
        environment: the user's own, whose PATH says where programs are.
    """
    chosen = tuple(chosen)
    base = glob.escape(home)
    defaults = (*(f"{base}/{name}" for name in _IN_HOME), *_OF_ROOT)
    added = [_absolute(path, home) for path in chosen if not path.startswith("!")]
    shown = [_absolute(path[1:], home) for path in chosen if path.startswith("!")]
    usual = unlisted(home)
    logins, needed = possible_logins(home, environment)
    hidden = [*(path for path in (*defaults, *logins, *added) if path not in shown), *map(glob.escape, private)]
    return Concealment(
        tuple(dict.fromkeys(hidden)),
        tuple(pattern for pattern in usual if pattern not in shown),
        listed(home, environment),
        (*(path for path in shown if path not in usual), *needed),
    )


def _absolute(path: str, home: str) -> str:
    path = path.rstrip("/") or "/"
    return glob.escape(home) + path[1:] if path == "~" or path.startswith("~/") else path
