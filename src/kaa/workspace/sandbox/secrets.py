"""What of the home commands may read: of its dot entries what toolchains need, and nothing that hides credentials.

Listed names are relative to the home and may have wildcards in the last part. Left out on purpose: start-up files of
shells, configuration of programs that log in somewhere, and of editors and desktops. Hidden paths are absolute or begin
with `~/`; they may be glob patterns.

Sources: what codex, Claude Code's sandbox-runtime and gemini-cli hide, and where the tools named here keep keys.
"""

import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

# Of these directories, the entries that match are seen only if they are listed.
_UNLISTED = (
    ".*",
    ".config/*",
    ".local/*",
    ".local/share/*",
    ".local/state/*",
    ".cache/*",
    "Library/*",
    "Library/Application Support/*",
    "Library/Caches/*",
)
_LISTED: dict[str, tuple[str, ...]] = {
    "": (
        # git, searching, formatting and checking
        *(".gitconfig*", ".gitignore*", ".gitattributes*", ".gitmessage*", ".git-templates", ".git_template*"),
        *(".ignore", ".rgignore", ".ripgreprc", ".fdignore", ".agignore", ".ackrc", ".editorconfig"),
        *(
            ".clang-format",
            ".clang-tidy",
            ".clangd",
            ".flake8",
            ".pylintrc",
            ".pycodestyle",
            ".isort.cfg",
            ".style.yapf",
        ),
        *(".prettierrc*", ".eslintrc*", ".eslintignore", ".stylelintrc*", ".rubocop.yml", ".rspec", ".irbrc", ".pryrc"),
        *(".gdbinit", ".gdbinit.d", ".lldbinit", ".inputrc", ".dircolors", ".terminfo", ".vimrc", ".vim", ".nanorc"),
        *(".tool-versions", ".nvmrc", ".node-version", ".python-version", ".ruby-version", ".java-version"),
        # version managers and toolchains
        *(".asdf", ".mise", ".proto", ".local", ".linuxbrew", ".nix-profile", ".nix-defexpr", ".guix-profile"),
        *(".pyenv", ".rye", ".pixi", ".pipx", ".conda", ".mamba", ".micromamba", ".virtualenvs", ".venv", ".venvs"),
        *(".nvm", ".fnm", ".n", ".nodenv", ".volta", ".npm", ".npm-global", ".npm-packages", ".node-gyp"),
        *(".node_modules", ".pnpm", ".pnpm-store", ".yarn", ".bun", ".deno", ".electron", ".electron-gyp"),
        *(
            ".cargo",
            ".rustup",
            ".goenv",
            ".gvm",
            ".go",
            ".zvm",
            ".zig",
            ".swiftly",
            ".swiftpm",
            ".nimble",
            ".choosenim",
        ),
        *(
            ".rbenv",
            ".rvm",
            ".gem",
            ".bundle",
            ".plenv",
            ".cpan",
            ".cpanm",
            ".perl5",
            ".phpenv",
            ".phpbrew",
            ".composer",
        ),
        *(".jenv", ".jabba", ".jdks", ".sdkman", ".m2", ".gradle", ".ivy2", ".sbt", ".coursier", ".lein", ".clojure"),
        *(".konan", ".dotnet", ".nuget", ".ghcup", ".ghc", ".cabal", ".stack", ".opam", ".elan", ".juliaup", ".julia"),
        *(".mix", ".hex", ".kerl", ".exenv", ".pub-cache", ".fvm", ".dart", ".R", ".quicklisp", ".sbclrc", ".racket"),
        *(
            ".ccache",
            ".conan",
            ".conan2",
            ".vcpkg",
            ".xmake",
            ".mozbuild",
            ".platformio",
            ".espressif",
            ".emscripten_cache",
        ),
        *(".tfenv", ".tgenv", ".luarocks", ".luaver", ".texlive*", ".texmf-*", ".TinyTeX", ".latexmkrc", ".fonts"),
        *(".fonts.conf", ".matplotlib", ".nltk_data", ".keras", ".torch", ".sqliterc"),
    ),
    ".config": (
        *("git", "go", "fontconfig", "matplotlib", "ripgrep", "fd", "bat", "clangd", "yapf", "black", "ruff", "flake8"),
        *("pylint*", "pycodestyle", "mypy", "isort*", "rustfmt", "stylua", "luacheck", "fourmolu.yaml", "hlint", "gdb"),
        *("mise", "asdf", "rtx", "pypoetry", "composer", "yarn", "ccache", "cabal"),
    ),
    ".local": ("bin", "sbin", "lib", "lib64", "libexec", "include", "opt", "man", "pipx", "venv*"),
    ".local/share": (
        *("uv", "mise", "asdf", "rtx", "proto", "aquaproj-aqua", "fnm", "nvm", "pnpm", "npm", "yarn", "node", "bun"),
        *("deno", "pipx", "pypoetry", "hatch", "pdm", "pixi", "virtualenv*", "pyenv", "python*", "rustup", "cargo"),
        *("luarocks", "zig*", "zvm", "julia*", "jdk*", "ruby*", "rvm", "goenv", "nodenv", "stack", "racket", "bob"),
        *("gem", "bundle", "rbenv", "go", "ghcup", "opam", "coursier", "dotnet", "swiftly", "swiftpm", "nltk_data"),
        *("man", "bash-completion", "fonts", "mime", "locale", "terminfo", "pkgconfig", "cmake", "vulkan", "texmf"),
    ),
    ".local/state": ("nix", "mise", "fnm_multishells"),
    ".cache": (
        *("pip", "uv", "pypoetry", "pdm", "pre-commit", "npm", "pnpm", "yarn", "node*", "bun", "deno", "go-build"),
        *("golangci-lint", "bazel", "bazelisk", "coursier", "ccache", "zig", "rattler", "nix", "mise", "fontconfig"),
        *("ms-playwright*", "puppeteer", "Cypress", "electron*", "selenium", "huggingface", "torch", "whisper", "clip"),
        "matplotlib",
    ),
    "Library": ("Android", "Fonts", "Frameworks", "Java", "Perl", "Python", "R", "pnpm"),
    "Library/Application Support": ("fnm", "Coursier", "pypoetry", "virtualenv", "uv"),
    "Library/Caches": (
        *("pip", "uv", "pypoetry", "go-build", "golangci-lint", "Homebrew", "pnpm", "Yarn", "bazel*", "ms-playwright*"),
        *("Cypress", "electron*", "Coursier", "deno"),
    ),
}
_PROGRAMS = ("bin", "sbin", "shims")
# Beside the programs of a tool that is not listed, its logins may be in such files; most are written after the start.
_LOGIN_WORDS = ("auth", "credential", "key", "secret", "token")
_OF_LOGINS = (
    *("*.cfg", "*.conf", "*.db", "*.ini", "*.json", "*.toml", "*.yaml", "*.yml", ".env*"),
    *(f"*{word}*" for one in _LOGIN_WORDS for word in (one, one.title(), one.upper())),
)
_NEEDED_BY_PROGRAMS = ("package.json", "pyvenv.cfg")  # Node and Python read them before they run what is below
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
    # agents: also kaa's usual folder, where KAA_DIR names another one
    ".kaa/agent",
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


def unlisted(home: str) -> tuple[str, ...]:
    """Patterns of the entries that are hidden unless they are listed."""
    return tuple(f"{glob.escape(home)}/{name}" for name in _UNLISTED)


def listed(home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Patterns of what is seen all the same: the list, and where `PATH` says that programs are."""
    base = glob.escape(home)
    names = (f"{folder}/{name}".lstrip("/") for folder, names in _LISTED.items() for name in names)
    searched = map(glob.escape, _of_programs(home, environment.get("PATH", "").split(os.pathsep)))
    return tuple(dict.fromkeys((*(f"{base}/{name}" for name in names), *searched)))


def possible_logins(home: str, environment: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return patterns of files beside programs of unlisted tools that may hold logins, and what of them is needed."""
    searched = [os.path.normpath(one) for one in environment.get("PATH", "").split(os.pathsep)]
    tools = [path for path in _of_programs(home, searched) if _is_open(path, home, searched)]
    patterns = tuple(f"{glob.escape(tool)}/{name}" for tool in tools for name in _OF_LOGINS)
    return patterns, tuple(f"{glob.escape(tool)}/{name}" for tool in tools for name in _NEEDED_BY_PROGRAMS)


def _is_open(path: str, home: str, searched: Sequence[str]) -> bool:
    """Whether a directory is seen only because programs in it are on the PATH, and holds more than programs."""
    entry = path
    while entry != home:
        folder, name = os.path.split(entry)
        place = folder.removeprefix(home).lstrip("/")
        unlisted_names = (os.path.basename(one) for one in _UNLISTED if os.path.dirname(one) == place)
        if any(fnmatch.fnmatchcase(name, one) for one in unlisted_names):
            is_beside = entry == path or not {f"{path}/{programs}" for programs in _PROGRAMS}.isdisjoint(searched)
            return is_beside and not any(fnmatch.fnmatchcase(name, one) for one in _LISTED.get(place, ()))
        entry = folder
    return False


def _of_programs(home: str, searched: Iterable[str]) -> Iterator[str]:
    """Directories of the home on the PATH; of `~/.tool/bin` also what is beside it, without which it does not run."""
    closed = {home, *(os.path.dirname(f"{home}/{name}") for name in _UNLISTED)}
    for path in map(os.path.normpath, filter(os.path.isabs, searched)):
        if not path.startswith(f"{home}/") or path in closed:
            continue
        yield path
        above = os.path.dirname(path)
        if os.path.basename(path) in _PROGRAMS and above not in closed:
            yield above


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
