"""Commands that throw work away, and what would be lost: a courtesy against accidents.

It is no boundary: whoever wants to destroy something finds a way that is not listed here. What the sandbox keeps from
being written is safe, what it lets be written is not, and this asks before the usual ways to lose it.
"""

import glob
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import takewhile

from kaa.shell.approvals.finding import deletion
from kaa.shell.approvals.git_losses import git_loss
from kaa.shell.approvals.grammar import Words
from kaa.shell.approvals.losses import Loss, listed
from kaa.shell.approvals.programs import program_name
from kaa.shell.approvals.reach import CommandReach

_DEVICE = re.compile(r"[0-9&]*>+\|?\s*/dev/(?:sd|hd|vd|nvme|mmcblk|disk|mem|dm-|mapper)")
_SQL = re.compile(
    r"\b(?:drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from\s+\S+\s*(?:;|$))", re.IGNORECASE
)
# What a command makes and removes again: T=$(mktemp -d); …; rm -rf "$T"
_MAKES_TEMPORARY = re.compile(r"(\w+)=\"?\$\(mktemp(?: [\w ./%+:=~-]*)?\)\"?")
_REMOVES_VARIABLE = re.compile(r"rm(?: -[\w-]+)* \"?\$(?:\{(\w+)\}|(\w+))\"?")
_EVERYWHERE = ("/", "/*", "~", ".", "..")


def losses(reach: CommandReach, temporary: Sequence[str], whole: str = "") -> tuple[Loss, ...]:
    """What a command would throw away, as far as can be seen.

    Args:
        whole: the command as it is written.
    """
    found = [loss for words in _with_globs(reach, whole) if (loss := _loss(words, temporary))]
    redirections = (text for command in reach.simple for text in command.redirections)
    found += [Loss("overwrites a disk") for text in redirections if _DEVICE.match(text)]
    return tuple(dict.fromkeys(found))


class _Glob(str):
    """A word that bash expands to names of files."""


def _made_temporary(reach: CommandReach, command: str) -> frozenset[str]:
    """Return the variables that have the path of a temporary file or directory of this command, and nothing else."""
    made = [found[1] for one in reach.simple if (found := _MAKES_TEMPORARY.fullmatch(one.text))]
    if not made or re.search(r"\bprintf\s+-v", command):
        return frozenset()
    named = Counter(re.findall(r"(?<![${\w])\w+", _REMOVES_VARIABLE.sub("", command)))
    return frozenset(name for name in made if named[name] == 1)


def _removes_only(text: str, variables: frozenset[str]) -> bool:
    found = _REMOVES_VARIABLE.fullmatch(text) if variables else None
    return found is not None and (found[1] or found[2]) in variables


def _with_globs(reach: CommandReach, whole: str) -> Iterator[Words]:
    """The commands, with simple globs as they are written, and without those that a simple `find` runs."""
    written: defaultdict[Words, list[Words]] = defaultdict(list)
    made = _made_temporary(reach, whole)
    if not any(command.words[:1] == ("shopt",) for command in reach.simple):  # it changes what a glob means
        for command in reach.simple:
            pairs = zip(command.words, command.globs, strict=False)
            patterns = tuple(_Glob(pattern) if word is None and pattern else word for word, pattern in pairs)
            removed = ("rm",) if _removes_only(command.text, made) else patterns
            written[command.words].append(removed)
    inner = Counter(found.inner for words in reach.commands if (found := deletion(words)))
    for words in reach.commands:
        if inner[words] > 0:
            inner[words] -= 1
        elif words[0] is not None and program_name(words[0]) == "rm" and None in words and written[words]:
            yield written[words].pop(0)
        else:
            yield words


def _loss(words: Words, temporary: Sequence[str]) -> Loss | None:
    program, *rest = words
    name = program_name(program or "")
    options = {word for word in rest if word is not None and word.startswith("-")}
    operands = _operands(rest)
    letters = {letter for option in options if not option.startswith("--") for letter in option[1:]}
    match name:
        case "git":
            return git_loss(rest)
        case "rm" | "unlink":
            lost = [word for word in operands if not _is_temporary(word, temporary)]
            return _lost_files(f"deletes {listed(lost)}", lost) if lost else None
        case "find":
            return _found_loss(words, rest)
        case "shred" | "wipefs":
            return Loss(f"destroys {listed(operands)} for good")
        case "truncate" | "dd" | "cp":
            return _overwritten(name, operands, temporary)
        case "chmod" | "chown" | "chgrp" if "R" in letters or "--recursive" in options:
            wide = [word for word in operands[1:] if word is None or word in _EVERYWHERE or word.startswith(("/", "~"))]
            return Loss(f"changes the permissions or owners of everything in {listed(wide)}") if wide else None
        case "kill" if "-1" in operands or rest[-1:] == ["-1"]:
            return Loss("ends every process it can")
        case "docker" | "podman":
            return _container_loss(operands, options)
        case "psql" | "mysql" | "sqlite" | "sqlite3" | "mariadb" if any(word and _SQL.search(word) for word in rest):
            return Loss("deletes data of a database")
        case _ if name.startswith("mkfs"):
            return Loss(f"formats {listed(operands[-1:])}: everything on it is lost")
    return None


def _overwritten(name: str, operands: Sequence[str | None], temporary: Sequence[str]) -> Loss | None:
    if name == "truncate":
        return _lost_files(f"cuts off the content of {listed(operands[-1:])}", operands)
    if name == "cp":
        lost = [word for word in operands[-1:] if operands[:-1] == ["/dev/null"] and not _is_temporary(word, temporary)]
        return _lost_files(f"cuts off the content of {listed(lost)}", lost) if lost else None
    targets = [word[3:] for word in operands if word is not None and word.startswith("of=")]
    lost = [word for word in targets if word != "/dev/null" and not _is_temporary(word, temporary)]
    return _lost_files(f"overwrites {listed(lost)}", lost) if lost else None


def _found_loss(words: Words, rest: Sequence[str | None]) -> Loss | None:
    sentence = "deletes all files it finds"
    if found := deletion(words):
        return Loss(sentence, "files", tuple(map(glob.escape, found.starts)), found.name, found.type)
    return _lost_files(sentence, _starts_of_find(rest)) if "-delete" in rest else None


def _operands(words: Sequence[str | None]) -> list[str | None]:
    """The words that are no options; all words behind `--` are none."""
    end = words.index("--") if "--" in words else len(words)
    return [word for word in words[:end] if word is None or not word.startswith("-")] + list(words[end + 1 :])


def _starts_of_find(words: Sequence[str | None]) -> list[str | None]:
    """Where find begins; None among them if that is not certain, as with links that it follows."""
    begins = takewhile(lambda word: word is None or not word.startswith(("-", "(", "!")), words)
    known = list(begins) or ["."]
    return [*known, *(None for word in words if word in ("-L", "-H", "-follow", "-files0-from"))]


def _lost_files(sentence: str, paths: Sequence[str | None]) -> Loss:
    known = tuple(path if isinstance(path, _Glob) else glob.escape(path) for path in paths if path is not None)
    return Loss(sentence, "files", known) if known and len(known) == len(paths) else Loss(sentence)


def _container_loss(operands: Sequence[str | None], options: set[str]) -> Loss | None:
    match operands:
        case ["system" | "volume" | "image" | "container" | "builder" as what, "prune", *_]:
            return Loss(f"deletes every unused {what if what != 'system' else 'container, network and image'}")
        case ["volume", "rm", *names]:
            return Loss(f"deletes {listed(names)} and the data in it")
        case ["compose", *_, "down"] if options & {"-v", "--volumes"}:
            return Loss("deletes the volumes and the data in them")
    return None


def _is_temporary(path: str | None, temporary: Sequence[str]) -> bool:
    if path is None or isinstance(path, _Glob):
        return False
    return any(posixpath.normpath(path).startswith(directory.rstrip("/") + "/") for directory in temporary)
