"""What programs can do beyond what their names say: which of them a rule with `*` is never trusted with.

A rule allows a program's further words unseen. Of these programs a word can name another program to run, or a file
to write, or change what later commands of the line mean: only a rule for exactly the same words allows them. The list
is long because allow-lists of agents have been got around with echo, sed, awk, find, rg, git, cd and more
(CVE-2025-54795, -58764, -64755, -66032, CVE-2026-24887, -25722, -55582).
"""

import re
from collections.abc import Sequence

# What programs do, and those that do it. From the manual pages of Debian 12 and 13 (GNU coreutils, diffutils, binutils,
# util-linux, procps, moreutils, curl, wget) and of the projects themselves. A program whose name says what it does to
# the files it is given (cp, mv, chmod, gzip) is not here.
_EXECUTORS = {
    "runs whatever it is given": (
        "sh bash rbash dash zsh fish ksh mksh csh tcsh ash elvish nu xonsh pwsh busybox toybox tmux screen expect "
        "script scriptlive python pypy ipython perl ruby irb node nodejs ts-node tsx deno bun lua luajit php tclsh "
        "wish awk gawk mawk nawk sed gsed osascript java jshell groovy scala kotlin r rscript julia octave guile "
        "racket clisp sbcl erl iex elixir ghci runghc swift bc dc jq yq sqlite3 duckdb psql mysql mariadb mongo "
        "mongosh redis-cli m4 gnuplot mlr coverage"
    ),
    "can run programs on a key or an option": (
        "emacs vi vim view nvim ex ed nano pico less more most pg zless zmore bzless bzmore xzless xzmore man info "
        "lynx w3m ftp lftp sftp telnet nc ncat netcat socat tcpdump tshark nmap open xdg-open gdb lldb direnv bat "
        "batcat delta fzf ag ack ugrep diff3 sdiff cloc pylint tig lazygit hg svn cvs jj gh systemctl top htop aria2c "
        "ssh-keygen ssh-add ssh-agent openssl gpg gpg2 pandoc exiftool gs magick convert clang-tidy"
    ),
    "can run programs or write any file on an option": (
        "gcc g++ cc c++ c89 c99 cpp clang clang++ tcc ld gold lld as ar nm ranlib strip objcopy elfedit gcov ctags "
        "etags cscope rustc javac ghc zig nim crystal protoc swig flex bison yacc rpcgen go ccache sccache distcc "
        "groff troff nroff tic localedef ldd ld.so catchsegv sotruss"
    ),
    "runs other programs": (
        "env nice ionice chrt taskset nohup setsid setarch linux32 linux64 timeout time gtime stdbuf unbuffer watch "
        "entr parallel xargs find fd fdfind updatedb sudo doas su runuser newgrp sg pkexec chroot unshare nsenter "
        "bwrap firejail proot fakeroot strace ltrace valgrind perf rlwrap systemd-run at batch crontab flock "
        "start-stop-daemon tini dumb-init run-parts cpulimit caffeinate setpriv prlimit uclampset choom coresched "
        "pipesz enosys runcon hyperfine multitime poop chronic ifne lckdo mispipe pee vidir vipe zrun envdir chpst "
        "setuidgid softlimit gosu su-exec catatonit dotenv aws-vault op doppler sops chamber mise asdf rtx devbox nix "
        "nix-shell wine mount umount fsck mkfs agetty login ip rustup"
    ),
    "runs programs on other machines or in containers": (
        "ssh scp rsync rsh mosh docker docker-compose podman nerdctl buildah kubectl oc helm vagrant ansible "
        "ansible-playbook terraform tofu pulumi toolbox distrobox apptainer singularity flatpak snap lxc incus "
        "machinectl virsh rclone"
    ),
    "runs programs that a file describes": (
        "make gmake cmake ctest cpack ninja meson bazel bazelisk buck scons waf rake ant mvn mvnw gradle gradlew sbt "
        "lein tox nox just task mage invoke inv fab doit gulp grunt turbo nx lerna procs foreman honcho overmind "
        "stack cabal dune composer apt apt-get aptitude dpkg dnf yum rpm pacman"
    ),
    "can write any file or run a program as a filter": (
        "tar gtar bsdtar cpio pax zip unzip 7z 7za 7zr rar unrar sort gsort split csplit tee dd install ln"
    ),
    "can write any file": (
        "curl wget http https xh axel uniq shuf ptx xxd uudecode iconv recode sponge pv zstd lz4 lzop brotli patch "
        "rename prename utmpdump hardlink setterm pmap sysctl mknod xmllint xsltproc tidy pdftotext ffmpeg sox"
    ),
    "runs words as commands, or changes what later words mean": (
        "eval exec source . command builtin trap alias unalias hash enable bind complete compgen compopt mapfile "
        "readarray read printf test [ [[ let declare typeset local export readonly unset set shopt cd pushd popd fc "
        "history jobs wait coproc getopts"
    ),
}
_WITHOUT_PROGRAMS = ("can write any file", "runs words as commands, or changes what later words mean")
_DOES = {name: what for what, names in _EXECUTORS.items() for name in names.split()}
_VERSION = re.compile(r"(?<=[A-Za-z])-?[0-9][0-9.]*\Z")

# The words before the name of another program, which runs and gets all further words.
_RUNNERS = frozenset(
    {("npx",), ("pnpx",), ("bunx",), ("uvx",), ("pnpm", "exec"), ("uv", "run"), ("poetry", "run"), ("pdm", "run")}
    | {("pipenv", "run"), ("pipx", "run"), ("bundle", "exec"), ("rbenv", "exec"), ("pyenv", "exec")}
)
# Those of which further words can name yet another program, and those that run what a file of the project describes.
_OTHER_RUNNERS = {
    "bun": "x run",
    "cabal": "exec run",
    "cargo": "run",
    "conda": "run",
    "dart": "run",
    "dotnet": "exec run",
    "flutter": "run",
    "gem": "exec",
    "hatch": "run",
    "mamba": "run",
    "micromamba": "run",
    "mix": "run",
    "npm": "exec x",
    "opam": "exec",
    "pixi": "run",
    "pnpm": "dlx",
    "rye": "run",
    "swift": "run",
    "uv": "tool x",
    "yarn": "dlx exec",
}

# Options that run a program or write a file, of programs that are harmless without: letters, and long ones.
_NPM = (
    "--script-shell --shell --node-options --globalconfig --userconfig --init-module --git --editor --viewer --browser"
)
_OPTIONS = {
    "cargo": ("Z", "--config"),
    "date": ("s", "--set"),
    "file": ("C", "--compile"),
    "npm": ("", _NPM),
    "pip": ("", "--python --log --report --editable --cert --config-settings"),
    "pnpm": ("", _NPM),
    "rg": ("z", "--pre --hostname-bin --search-zip"),
    "tree": ("o", "--output"),
    "uv": ("", "--python --config-file --directory --project --output-file"),
    "yarn": ("", f"{_NPM} --use-yarnrc --cwd"),
}

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


def program_name(word: str) -> str:
    """The name a program is known by: without its directory and version, such as `python` for /usr/bin/python3.12."""
    name = word.rpartition("/")[2].casefold()  # there are file systems that do not distinguish case
    return name if name in _DOES else _VERSION.sub("", name)


def runs_programs(words: Sequence[str]) -> bool:
    """Whether further words of a program can name another one, or be code; not for builtins of bash."""
    does = _DOES.get(program_name(words[0]), "") if words else ""
    if does and does not in _WITHOUT_PROGRAMS:
        return True
    return bool(words) and (runner_length(words) > 0 or (distrust(words, 1) is not None and not does))


def distrust(words: Sequence[str], named: int) -> str | None:
    """Why a rule that ends in `*` does not allow these words, None if it may."""
    if behind := runner_length(words):
        if named <= behind or words[behind].startswith("-"):
            runner = " ".join(words[:behind])
            return f"{runner} runs other programs: only a rule without * or with the name of the program allows it"
        return distrust(words[behind:], named - behind)
    name = program_name(words[0])
    does = _DOES.get(name)
    if name == "git" and (distrusted := _git_distrust(words[1:])):
        name, does = f"git {distrusted}", "can run programs or write files"
    elif words[1:2] and words[1] in _OTHER_RUNNERS.get(name, "").split():
        name, does = f"{name} {words[1]}", "runs other programs"
    elif name in _OPTIONS and (option := _distrusted_option(name, words[1:])):
        name, does = f"{name} {option}", "can run programs or write files"
    return f"{name} {does}: only a rule without * allows it" if does else None


def runner_length(words: Sequence[str]) -> int:
    """How many words stand before the name of a program that they run; 0 if they run no other one."""
    known = (program_name(words[0]), *words[1:2])
    return next((length for length in (2, 1) if known[:length] in _RUNNERS and len(known) >= length), 0)


def _distrusted_option(name: str, words: Sequence[str]) -> str | None:
    """The first of these options among the words; many programs accept long ones abbreviated."""
    letters, options = _OPTIONS[name]
    for word in words:
        if word == "--":
            return None
        if word.startswith("--"):
            if any(option.startswith(word.partition("=")[0]) for option in options.split()):
                return word
        elif word.startswith("-") and not set(letters).isdisjoint(word):
            return word
    return None


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
