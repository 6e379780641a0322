"""Which programs a command would run, as far as can be seen: also those that `sudo`, `xargs` or `sh -c` would run.

For deny rules and warnings, where seeing more is better; nothing is allowed because of what is found here.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

import msgspec

from kaa.shell.approvals.grammar import CODE, EVALUATING, Script, SimpleCommand, Words, read
from kaa.shell.approvals.programs import program_name

# Wrappers within wrappers; deeper than this nobody writes by accident.
_MAX_DEPTH = 8
# Words of all commands that one leads to. More are not looked at and count as unseen; 16 KiB hold 8,000 words.
_MAX_WORDS = 20_000

# Programs that run the words after their own options; with the options that take a value in the next word, and how
# many words of their own follow the options. From the manual pages (GNU coreutils 9, sudo 1.9, util-linux 2.39).
_WRAPPERS: dict[str, tuple[str, int]] = {
    "builtin": ("", 0),
    "busybox": ("", 0),
    "caffeinate": ("-t -w", 0),
    "choom": ("-n --adjust", 0),
    "chronic": ("", 0),
    "chroot": ("", 1),
    "chrt": ("-T -P -D", 1),
    "command": ("", 0),
    "coproc": ("", 0),
    "dbus-run-session": ("--config-file --dbus-daemon", 0),
    "doas": ("-u -C", 0),
    "dumb-init": ("", 0),
    "eatmydata": ("", 0),
    "entr": ("", 0),
    "env": ("-u --unset -C --chdir", 0),
    "exec": ("-a", 0),
    "fakeroot": ("-l -s -i", 0),
    "flock": ("-w --timeout -E", 1),
    "gosu": ("", 1),
    "gtime": ("-f -o", 0),
    "ionice": ("-c -n -p --class --classdata", 0),
    "linux32": ("", 0),
    "linux64": ("", 0),
    "ltrace": ("-e -o -p -s -u", 0),
    "nice": ("-n --adjustment", 0),
    "nohup": ("", 0),
    "nsenter": ("-t --target -S --setuid -G --setgid", 0),
    "parallel": ("-j --jobs -a -n", 0),
    "pkexec": ("--user", 0),
    "prlimit": ("", 0),
    "proot": ("-r -b -w", 0),
    "rlwrap": ("-a -b -f -H -P -s", 0),
    "sem": ("-j --jobs", 0),
    "setarch": ("", 1),
    "setpriv": ("--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig", 0),
    "setsid": ("", 0),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "strace": ("-e -o -p -s -u -E -P -S", 0),
    "su-exec": ("", 1),
    "sudo": ("-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot", 0),
    "systemd-run": ("-p -u --unit -M --slice", 0),
    "taskset": ("", 1),
    "time": ("-f -o", 0),
    "timeout": ("-s --signal -k --kill-after", 1),
    "tini": ("-p -e", 0),
    "toybox": ("", 0),
    "unbuffer": ("", 0),
    "unshare": ("-R --root -w --wd -S --setuid -G --setgid --propagation --setgroups", 0),
    "valgrind": ("", 0),
    "watch": ("-n --interval", 0),
    "xargs": ("-I -J -R -S -n -P -L -s -d -E -a --max-args --max-procs --max-lines --arg-file --delimiter", 0),
}
_SHELLS = "sh bash rbash dash zsh fish ksh mksh csh tcsh ash su runuser script"
_SPLIT_LETTER = re.compile("-[iv0]*S")
_FIND_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})
_NAMING = {"alias": "=", "hash": "^-[a-z]*p"}
_JOINED_ACTION = re.compile("(?:-[xX]|--exec(?:-batch)?=)(.+)")  # of fd, and the program
# Global options of git that take a value in the next word (git(1)).
GIT_OPTIONS_WITH_VALUES = "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source"
# They hand commands that they do not know to git, and what they know pushes and fetches, too.
_LIKE_GIT = frozenset({"hub", "lab", "yadm"})
# What subcommands do by another name: git-subtree(1) runs the other one, the rest is what the other one runs.
_GIT_OTHERWISE = {
    ("fetch-pack",): "fetch",
    ("http-push",): "push",
    ("send-pack",): "push",
    ("subtree", "pull"): "pull",
    ("subtree", "push"): "push",
}

# Options of ssh that take a value in the next word (ssh(1)).
_SSH_VALUES = "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -Q -R -S -W -w"
_USING_GIT = frozenset({"gh", "git", "glab"})


class CommandReach(msgspec.Struct, frozen=True):
    """What a command would run.

    Attributes:
        commands: the programs with their arguments; options of git before its subcommand are left out.
        simple: the simple commands themselves, with those in nested command strings.
        complete: nothing is hidden from us by syntax, by words that bash computes or by depth.
        is_flat: all of it is lists and pipes of simple commands.
    """

    commands: tuple[Words, ...]
    simple: tuple[SimpleCommand, ...]
    complete: bool
    is_flat: bool = False

    @property
    def uses_git(self) -> bool:
        """Whether one of the programs is git, or a client that runs it, wherever it lies."""
        return any(words and posixpath.basename(words[0] or "") in _USING_GIT for words in self.commands)


def reach(script: Script) -> CommandReach:
    """Everything `script` would run, as far as can be seen."""
    search = _Search()
    search.add(script, 0)
    return CommandReach(tuple(search.commands), tuple(search.simple), search.complete, search.is_flat)


class _Search:
    def __init__(self) -> None:
        self.commands: list[Words] = []
        self.simple: list[SimpleCommand] = []
        self.complete = True
        self.is_flat = True
        self._words_seen = 0

    def add(self, script: Script, depth: int) -> None:
        self.complete &= script.understood
        self.is_flat &= script.is_flat
        for command in script.commands:
            self.simple.append(command)
            for word in command.evaluated:
                self._add_code(word, depth)
            if command.words:
                self._add_words(command.words, depth)

    def _add_words(self, words: Words, depth: int) -> None:
        self._words_seen += len(words)
        program, rest = words[0], words[1:]
        if program is None or self._is_exhausted(depth):
            self.complete = False
            return
        name = program_name(program)
        self.commands.append(_resolved(name, words))
        for text in (*_command_strings(name, rest), *_callbacks(name, rest)):
            if text is None or self._is_exhausted(depth):
                self.complete = False
                break
            self.add(read(text), depth + 1)
        for word in _evaluated(name, rest):
            self._add_code(word, depth)
        for inner in (*_wrapped(name, rest), *_git_aliased(name, rest), *_git_otherwise(self.commands[-1])):
            if self._is_exhausted(depth):
                self.complete = False
                break
            self._add_words(inner, depth + 1)

    def _add_code(self, word: str | None, depth: int) -> None:
        """Add what bash executes when it evaluates a word."""
        if word is None or self._is_exhausted(depth):
            self.complete = False
        elif found := CODE.search(word):
            self.add(read(word[found.start() :]), depth + 1)

    def _is_exhausted(self, depth: int) -> bool:
        return depth > _MAX_DEPTH or self._words_seen > _MAX_WORDS


def behind_options_of_ssh(rest: Sequence[str | None]) -> Sequence[str | None]:
    """The host and what runs there. `rest`: the words after `ssh`."""
    return _behind_options(rest, _SSH_VALUES, assignments=False)


def _resolved(name: str, words: Words) -> Words:
    """The program that runs, and its arguments: git also by the names of its parts."""
    program, rest = words[0], words[1:]
    if name == "git":
        return (program, *_without_git_options(rest))
    if name.startswith("git-"):
        return ("git", name.removeprefix("git-"), *rest)
    return words


def _git_aliased(name: str, rest: Sequence[str | None]) -> Iterator[Words]:
    """What git runs by an alias that stands in the command itself: `git -c alias.p=push p`."""
    command = _without_git_options(rest) if name == "git" else ()
    if not command or command[0] is None:
        return
    key = f"alias.{command[0]}=".casefold()
    for option, setting in pairwise(rest):
        if option == "-c" and setting is not None and setting.casefold().startswith(key):
            value = setting[len(key) :]
            # A shell gets all of it; git itself splits words much as a shell does.
            words = ("sh", "-c", value[1:]) if value.startswith("!") else (name, *value.split(), *command[1:])
            yield words


def _git_otherwise(words: Words) -> Iterator[Words]:
    """What a subcommand of git does that is known by another name. `words`: without options before the subcommand."""
    if program_name(words[0] or "") != "git":
        return
    if words[1:2] == ("for-each-repo",):
        yield ("git", *_behind_options(words[2:], "--config", assignments=False))
    if words[1:3] == ("bisect", "run"):
        yield words[3:]
    for subcommand, other in _GIT_OTHERWISE.items():
        if words[1 : 1 + len(subcommand)] == subcommand:
            yield ("git", other, *words[1 + len(subcommand) :])


def _wrapped(name: str, rest: Sequence[str | None]) -> Iterator[Words]:
    """The commands that a wrapper would run as they stand among its words."""
    if name in _LIKE_GIT:
        yield ("git", *rest)
    if name in ("find", "fd", "fdfind"):
        for index, word in enumerate(rest):
            joined = None if name == "find" else _JOINED_ACTION.match(word or "")
            if joined or word in _FIND_ACTIONS:
                first = (joined[1],) if joined else ()
                words = (*first, *takewhile(lambda word: word not in (";", "+"), rest[index + 1 :]))
                yield from [(None if "{}" in (words[0] or "") else words[0], *words[1:])] if words else ()
    elif name in _WRAPPERS and not (name == "command" and rest[:1] in (["-v"], ["-V"])):
        options, own_words = _WRAPPERS[name]
        behind = _behind_options(rest, options, assignments=name in ("env", "sudo", "doas"))
        if inner := behind[own_words:]:
            yield tuple(_filled(inner, rest[: -len(behind)]) if name in ("parallel", "sem", "xargs") else inner)


def _filled(words: Sequence[str | None], options: Sequence[str | None]) -> Iterator[str | None]:
    """The words of a command that gets more of them from its input, or behind `:::`, also in the place of others."""
    given = (*_values(options, "[IJ]", "--replace"), *(word[2:] for word in options if word and word.startswith("-i")))
    places = ("{}", *filter(None, given))
    for word in takewhile(lambda word: not (word or "").startswith(":::"), words):
        yield None if word is None or any(place in word for place in places) else word
    yield None


def _command_strings(name: str, rest: Sequence[str | None]) -> Iterator[str | None]:
    """The texts among a program's words that it would have a shell run; None for one that bash computes."""
    if name in _SHELLS.split():
        for index, word in enumerate(rest[:-1]):
            if word is not None and word.startswith("-") and not word.startswith("--") and word.endswith("c"):
                yield rest[index + 1]
                return
    elif name == "eval":
        yield None if None in rest else " ".join(word for word in rest if word is not None)
    elif name == "trap" and len(rest) > 1:
        yield rest[0]
    elif name == "env":
        yield from _split_strings(rest)
    elif name == "ssh":
        if remote := behind_options_of_ssh(rest)[1:]:
            yield None if None in remote else " ".join(word for word in remote if word is not None)
    elif name in ("parallel", "sem", "watch"):
        yield from (word for word in rest if word is not None and " " in word)


def _callbacks(name: str, rest: Sequence[str | None]) -> Iterator[str | None]:
    """The texts that bash or git runs later or for each of many, as values of options; None for what is not seen."""
    if name in ("compgen", "complete", "mapfile", "readarray"):
        yield from _values(rest, "C")
    elif name == "enable" and any((word or "").startswith("-f") for word in rest):
        yield None  # it loads a builtin from a file
    elif name in _NAMING and any(re.search(_NAMING[name], word or "=") for word in rest):
        yield None  # it gives a program another name
    elif name in ("gmake", "make") and None in _values(rest, "f", "--file"):
        yield None
    elif name == "git" and tuple((command := _without_git_options(rest))[:1]) == ("rebase",):
        yield from _values(command, "x", "--exec")


def _evaluated(name: str, rest: Sequence[str | None]) -> Iterator[str]:
    """The words that a builtin evaluates: a subscript in them can hold a command, also in quotes."""
    if name == "printf":
        rest = rest[:2] if rest and (rest[0] or "").startswith("-v") else ()
    elif name == "compgen":
        rest = [word for option, word in pairwise(rest) if option == "-W"]
    elif name not in EVALUATING:
        return
    yield from (word for word in rest if word is not None and CODE.search(word))


def _split_strings(rest: Sequence[str | None]) -> Iterator[str | None]:
    """The texts that `env` makes commands of."""
    for index, word in enumerate(rest):
        if word is None or not word.startswith("-"):
            continue
        long, equals, text = word.partition("=")
        if equals and len(long) > len("--s") and "--split-string".startswith(long):
            yield text
        elif match := _SPLIT_LETTER.match(word):
            yield word[match.end() :] or next(iter(rest[index + 1 :]), "")
        elif len(word) > len("--s") and "--split-string".startswith(word):
            yield next(iter(rest[index + 1 :]), "")


def _behind_options(rest: Sequence[str | None], with_value: str, *, assignments: bool) -> Sequence[str | None]:
    index, options = 0, with_value.split()
    letters = re.escape("".join(option[1] for option in options if len(option) == len("-x"))) or "-"
    while index < len(rest):
        word = rest[index]
        if word == "--":
            return rest[index + 1 :]
        is_option = word is not None and word.startswith("-") and word != "-"
        if not is_option and not (assignments and word is not None and "=" in word):
            break
        # The last one of joined letters may be such an option.
        index += 2 if word in options or re.fullmatch(f"-[^{letters}-]*[{letters}]", word or "") else 1
    return rest[index:]


def _values(rest: Sequence[str | None], letter: str, long: str = "") -> Iterator[str | None]:
    """The values of an option, in the same word or in the next one."""
    for index, word in enumerate(rest):
        name, equals, value = (word or "").partition("=")
        if long and equals and len(name) > len("--e") and long.startswith(name):
            yield value
        elif match := re.match(f"-[A-Za-z0-9]*?{letter}", word or ""):
            yield (word or "")[match.end() :] or next(iter(rest[index + 1 :]), "")
        elif word == long:
            yield next(iter(rest[index + 1 :]), "")


def _without_git_options(rest: Sequence[str | None]) -> Sequence[str | None]:
    return _behind_options(rest, GIT_OPTIONS_WITH_VALUES, assignments=False)
