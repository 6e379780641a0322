"""What programs can do beyond what their names say: which of them a rule with `*` is never trusted with.

A rule allows a program's further words unseen. Of these programs a word can name another program to run, or a file
to write, or change what later commands of the line mean: only a rule for exactly the same words allows them. The list
is long because allow-lists of agents have been got around with echo, sed, awk, find, rg, git, cd and more
(CVE-2025-54795, -58764, -64755, -66032, CVE-2026-24887, -25722, -55582).
"""

import re
from collections.abc import Sequence

# What programs do, and those that do it.
_EXECUTORS = {
    "runs whatever it is given": (
        "sh bash rbash dash zsh fish ksh mksh csh tcsh ash elvish nu xonsh pwsh busybox toybox tmux screen expect "
        "script python pypy ipython perl ruby irb node nodejs deno bun lua luajit php tclsh wish awk gawk mawk nawk "
        "sed gsed osascript java jshell groovy scala kotlin r rscript julia octave guile racket clisp sbcl erl iex "
        "elixir ghci runghc bc dc jq yq sqlite3 psql mysql mongo redis-cli m4 gnuplot"
    ),
    "can run programs on a key or an option": (
        "emacs vi vim view nvim ex ed nano pico less more most man info lynx w3m ftp lftp sftp telnet nc ncat netcat "
        "socat tcpdump open xdg-open gdb lldb gcc g++ cc c++ clang clang++ ld as go ccache distcc direnv"
    ),
    "runs other programs": (
        "env nice ionice chrt taskset nohup setsid setarch linux32 linux64 timeout time gtime stdbuf unbuffer watch "
        "entr parallel xargs find fd fdfind sudo doas su runuser pkexec chroot unshare nsenter bwrap firejail proot "
        "fakeroot strace ltrace valgrind perf rlwrap systemd-run at batch crontab flock start-stop-daemon tini dumb- "
        "init run-parts cpulimit caffeinate"
    ),
    "runs programs on other machines or in containers": (
        "ssh scp rsync rsh mosh docker podman nerdctl kubectl helm vagrant ansible ansible-playbook terraform"
    ),
    "runs programs that it fetches or that a file describes": (
        "npx pnpx bunx uvx pipx make gmake cmake ninja meson bazel scons rake ant tox nox hatch"
    ),
    "can write any file or run a program as a filter": (
        "tar gtar bsdtar cpio pax zip unzip 7z rar sort gsort split csplit tee dd install ln"
    ),
    "runs words as commands, or changes what later words mean": (
        "eval exec source . command builtin trap alias unalias hash enable bind complete compgen compopt mapfile "
        "readarray read printf test [ [[ let declare typeset local export readonly unset set shopt cd pushd popd fc "
        "history jobs wait coproc getopts"
    ),
}
_DOES = {name: what for what, names in _EXECUTORS.items() for name in names.split()}
_VERSION = re.compile(r"(?<=[A-Za-z])-?[0-9][0-9.]*\Z")

# Subcommands of git of which no option names a program or a file to write.
_GIT_PLAIN = (
    "add branch check-ignore checkout cherry commit describe ls-files ls-tree merge-base mv reset restore rev-list "
    "rev-parse rm stash status switch tag"
)
# Subcommands that have such options (--output, --ext-diff, --textconv), and the options they are trusted with.
_GIT_LOOKING = "blame diff log shortlog show"
_GIT_LOOKING_OPTIONS = (
    "-- -p --patch -s --no-patch --oneline --stat --shortstat --numstat --summary --name-only --name-status --cached "
    "--staged --graph --decorate --all --reverse --merges --no-merges --first-parent --follow -w -b --word-diff "
    "--no-color --check --quiet -q -n -U -M -C -L -S -G -i --since --until --author --grep --max-count --format "
    "--pretty --abbrev-commit --date --no-ext-diff --no-textconv --diff-filter"
)
_COUNT = re.compile(r"-[0-9]+|-[nU][0-9]+")

_RG_EXECUTES = ("--pre", "--hostname-bin", "--search-zip")


def program_name(word: str) -> str:
    """The name a program is known by: without its directory and version, such as `python` for /usr/bin/python3.12."""
    name = word.rpartition("/")[2].casefold()  # there are file systems that do not distinguish case
    return name if name in _DOES else _VERSION.sub("", name)


def distrust(words: Sequence[str]) -> str | None:
    """Why a rule that ends in `*` does not allow these words, None if it may."""
    name = program_name(words[0])
    does = _DOES.get(name)
    if name == "git" and (distrusted := _git_distrust(words[1:])):
        name, does = f"git {distrusted}", "can run programs or write files"
    elif name == "rg" and any(_rg_executes(word) for word in words[1:]):
        does = "runs programs with such options"
    return f"{name} {does}: only a rule without * allows it" if does else None


def _git_distrust(words: Sequence[str]) -> str | None:
    """The word that git is not trusted with. Options before the subcommand (-c, --exec-path) are none of them."""
    match words:
        case [subcommand, *_] if subcommand in _GIT_PLAIN.split():
            return None
        case [subcommand, *rest] if subcommand in _GIT_LOOKING.split():
            return next((word for word in rest if word.startswith("-") and not _is_git_option(word)), None)
        case [subcommand, *_]:
            return subcommand
        case _:
            return None


def _is_git_option(word: str) -> bool:
    return word.partition("=")[0] in _GIT_LOOKING_OPTIONS.split() or _COUNT.fullmatch(word) is not None


def _rg_executes(word: str) -> bool:
    return word.startswith(_RG_EXECUTES) or (word.startswith("-") and not word.startswith("--") and "z" in word)
