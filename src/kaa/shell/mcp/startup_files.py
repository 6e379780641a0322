"""Knows the files of a home that programs obey whenever they start, such as `~/.profile` of a login shell.

They are read as texts of the server: what they name is executed although no word of a command line says it.
"""

import os
import re
from collections.abc import Iterator
from glob import escape, glob

from kaa.hands.git_config import ConfigSyntaxError, entries

_PACKAGES = ".local/lib/python*/site-packages"
# What programs obey in the home. A folder in `XDG_CONFIG_HOME` or another variable of the user is not looked for.
_TABLE = {
    # Shells, whatever their options are.
    "zsh": ".zshenv .config/zsh/.zshenv",
    "fish": ".config/fish/config.fish .config/fish/conf.d/*.fish .config/fish/functions/*.fish",
    "csh tcsh": ".cshrc .tcshrc .login",
    "nu": ".config/nushell/*.nu",
    "xonsh": ".xonshrc .config/xonsh/rc.xsh .config/xonsh/rc.d/*",
    "pwsh": ".config/powershell/*.ps1",
    # Package managers: options of the programs that they start, other shells, hooks, folders with packages.
    "npm npx pnpm pnpx yarn corepack": ".npmrc .yarnrc .yarnrc.yml .config/pnpm/rc",
    "bun bunx": ".bunfig.toml .config/.bunfig.toml",
    "uv uvx pip pipx": ".config/uv/uv.toml .config/pip/pip.conf .pip/pip.conf",
    "poetry": ".config/pypoetry/config.toml",
    "conda mamba micromamba pixi": ".condarc .mambarc .config/conda/* .pixi/config.toml",
    "cargo": ".cargo/config.toml .cargo/config",
    "go": ".config/go/env",
    "gradle gradlew": ".gradle/gradle.properties .gradle/init.gradle* .gradle/init.d/*",
    "mvn mvnd mvnw": ".mavenrc .m2/settings.xml .m2/extensions.xml",
    "sbt": ".sbtopts .sbt/*/*.sbt .sbt/*/plugins/*",
    "clojure clj lein bb": ".clojure/deps.edn .config/clojure/deps.edn .lein/profiles.clj .lein/init.clj",
    "bundle gem rake": ".bundle/config .gemrc .rake/*",
    "composer": ".composer/*.json .config/composer/*.json",
    "stack cabal ghc ghci runghc": ".stack/config.yaml .cabal/config .config/cabal/config .ghci .ghc/ghci.conf",
    "terraform tofu": ".terraformrc .tofurc",
    "mise rtx": ".config/mise/*.toml .config/mise/conf.d/*.toml .mise.toml",
    "asdf": ".asdfrc",
    "direnv": ".direnvrc .config/direnv/* .config/direnv/lib/*",
    # Interpreters, and programs with commands in their settings.
    "python pypy": f"{_PACKAGES}/usercustomize.py {_PACKAGES}/sitecustomize.py",
    "ipython jupyter": ".ipython/profile_default/*.py .ipython/profile_default/startup/*",
    "Rscript R": ".Rprofile .Renviron",
    "julia": ".julia/config/startup.jl",
    "emacs": ".emacs .emacs.el .emacs.d/*.el .config/emacs/*.el",
    "vim nvim": ".vimrc .vim/vimrc .config/nvim/init.*",
    "gdb": ".gdbinit .config/gdb/*",
    "git": ".gitconfig .config/git/config .ssh/config .ssh/config.d/*",
    "ssh scp sftp rsync": ".ssh/config .ssh/config.d/*",
    "gh": ".config/gh/config.yml",
    "hg": ".hgrc .config/hg/hgrc",
    "docker podman": ".docker/config.json",
    "kubectl helm oc": ".kube/config",
    "aws": ".aws/config .aws/cli/alias",
    "sqlite": ".sqliterc .config/sqlite3/sqliterc",
    "psql": ".psqlrc .config/psql/psqlrc",
    "tmux": ".tmux.conf .config/tmux/tmux.conf",
    "screen": ".screenrc",
}
_FILES = {name: files.split() for names, files in _TABLE.items() for name in names.split()}
_NAME = re.compile(r"(?<![\w.@-])([A-Za-z]+)\d*(?:\.\d+)*(?![\w-]|\.\w)")  # `python3.12` is called `python`

# A shell with an option, perhaps behind others, also in a list of strings.
_SEPARATED = r"[\s'\",\[(]{1,20}"
_OPTIONS = rf"(?:{_SEPARATED}(?:-[\w-]+|[+-][oO]{_SEPARATED}\w+|--(?:rcfile|init-file)[\s=][^\s'\",]+))*?{_SEPARATED}"
_BY_OTHERS = rf"(?<![\w.-])(?:(?:su|sudo|runuser|doas){_SEPARATED}-|exec{_SEPARATED}-[a-z]*l)"


def _with_option(letter: str, name: str) -> re.Pattern[str]:
    shell = rf"(?<![\w.-])\w{{0,4}}sh['\"]?{_OPTIONS}"
    return re.compile(rf"{shell}(?:-[A-Za-z]*{letter}[A-Za-z]*|--{name})(?![\w-])|{_BY_OTHERS}")


_LOGS_IN, _IS_INTERACTIVE = _with_option("l", "login"), _with_option("i", "interactive")
_OF_LOGIN = [
    *(".profile", ".bash_profile", ".bash_login"),
    *(".zprofile", ".zlogin", ".config/zsh/.zprofile", ".config/zsh/.zlogin"),
]
_OF_INTERACTIVE = [".bashrc", ".zshrc", ".config/zsh/.zshrc", ".kshrc", ".mkshrc", ".shrc", ".shinit"]

_REPOSITORIES = frozenset({"repo", "recentrepo"})  # of `git maintenance` and the like
_OF_SSH = re.compile(r"\s*(?:\w*Command|Match|Include|\w*Provider)\b", re.IGNORECASE)


def startup_files(text: str, homes: tuple[str, ...], known: set[str]) -> Iterator[str]:
    """The files that programs obey which a text seems to start.

    Args:
        text: a command line, or a script with its first line. A name of a program counts wherever it is a word.
        known: those that were looked for already; these are added.
    """
    files = [file for name in dict.fromkeys(_NAME.findall(text)) for file in _FILES.get(name, ())]
    if _LOGS_IN.search(text):
        files += (*_OF_LOGIN, *_FILES["fish"])
    if _IS_INTERACTIVE.search(text):
        files += _OF_INTERACTIVE
    wanted = [file for file in dict.fromkeys(files) if file not in known]
    known.update(wanted)
    for file in wanted:
        for home in homes:
            yield from filter(os.path.isfile, sorted(glob(f"{escape(home)}/{file}", include_hidden=True)))


def executing_part(path: str, text: str) -> str:
    """The part of a file of a home that can make a program execute something; all of it for most files.

    The settings of git and ssh name many folders that nothing is executed from.
    """
    folder, name = os.path.split(path)
    if name == ".gitconfig" or (name == "config" and os.path.basename(folder) == "git"):
        try:
            found = (one for one in entries(os.fsencode(text)) if one.name not in _REPOSITORIES)
            return "\n".join(one.value for one in found if one.executes)
        except ConfigSyntaxError:
            return text
    if path.endswith("/.ssh/config") or folder.endswith("/.ssh/config.d"):
        return "\n".join(filter(_OF_SSH.match, text.splitlines()))
    return text
