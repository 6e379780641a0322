"""Which commands kaa offers to run outside the sandbox: it knows every program in them, and they destroy nothing.

Only flat lists of simple commands leave, in which a person sees what runs. Outside, a mistake can cost the whole
machine: a client that accepted every question once had kaa run a command there that deleted files of the system. All
other commands get the one host or path that they lack, inside the sandbox.
"""

import os.path
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from kaa.hands.confinement.repositories import git_directories
from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.clients import here, is_client, is_executed, may_use_files, obscurity
from kaa.shell.approvals.grammar import SimpleCommand, Words
from kaa.shell.approvals.places import absolute
from kaa.shell.approvals.programs import program_name
from kaa.shell.approvals.reach import behind_options_of_ssh
from kaa.shell.approvals.remotes import IS_HERE
from kaa.shell.approvals.transfers import objection_to_transfer
from kaa.workspace.blocked import Blocked
from kaa.workspace.protocol import Links, Start

# They only look or tell, whatever their arguments are (POSIX, GNU coreutils 9, procps), but for those below. Not `du`,
# which reads lists of files, and not `test` and `[`: bash evaluates what they are given, as in `test -v 'a[$(x)]'`.
_LOOKING = frozenset(
    """
    : basename cat cd cut df dirname echo egrep false fgrep grep head id ls nl nproc printf ps pwd readlink
    realpath seq sleep stat tail tr true uname uptime wc which whoami
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)
# Of these, those that print what is in the files that they name: outside, a link leads to whatever is hidden.
_PRINTING = frozenset("cat cut egrep fgrep grep head nl tail wc".split())  # noqa: SIM905
_WITH_PATTERN = frozenset({"egrep", "fgrep", "grep"})
# Their options with a value in the next word that is no file.
_VALUES_OF_PRINTING = {
    "cut": frozenset({"-b", "-c", "-d", "-f"}),
    **dict.fromkeys(("head", "tail"), frozenset({"-c", "-n"})),
    **dict.fromkeys(_WITH_PATTERN, frozenset({"-A", "-B", "-C", "-m"})),
}
# Options with which these read further files, or whole directories; long ones can be shortened.
_READING_MORE = {
    **dict.fromkeys(_WITH_PATTERN, re.compile(r"-[A-Za-z0-9]*[defrR].*|--[defr].*")),
    "wc": re.compile("--f.*"),
}
# What these hold is known anyway; other variables may hold credentials.
_HARMLESS_VARIABLE = re.compile(r"\$(?:\?|(?:HOME|PWD|TMPDIR)\b|\{(?:HOME|PWD|TMPDIR)\})")
# Of ps, what prints the environments of all processes: a cluster of BSD options with `e`, also behind a dash together
# with `u` or `x`, and the column.
_ENVIRONMENTS = re.compile(r"[A-Za-z]*e[A-Za-z]*|-(?=\w*e)\w*[ux]\w*|.*environ.*")
# Processes, their environments and memory, under any name.
_PROCESSES = ("/proc", "/dev")
# They do the same in every directory, unless they name files. git, gh and glab work with the repository they start in.
_ANYWHERE = frozenset(
    """
    : aws az basename cat cut dirname doctl echo egrep false fgrep gcloud grep gsutil head id kubectl nice nl nproc oc
    printf ps seq sleep ssh tail timeout tr true uname uptime wc which whoami
    """.split()  # noqa: SIM905 - as above
)
# They add nothing to what the program behind them does.
_TIMING = frozenset({"nice", "timeout"})
# Hooks of the repository that run with these: githooks(5). What changes a branch or a tag runs the last one.
_OF_MERGES = ("pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge")
_OF_REFERENCES = "reference-transaction"
_HOOKS = {
    "checkout": ("post-checkout", _OF_REFERENCES),
    "commit": ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", _OF_REFERENCES),
    "fetch": (_OF_REFERENCES,),
    "pull": (*_OF_MERGES, "pre-rebase", "post-rewrite", "post-checkout", _OF_REFERENCES),
    "push": ("pre-push", _OF_REFERENCES),
    "remote": (_OF_REFERENCES,),
    "switch": ("post-checkout", _OF_REFERENCES),
    "tag": (_OF_REFERENCES,),
}
_HOOKS_OF_GH = {
    ("pr", "checkout"): ("post-checkout", "post-merge", _OF_REFERENCES),
    ("pr", "create"): _HOOKS["push"],
    ("pr", "merge"): ("post-checkout", "post-merge", _OF_REFERENCES),
    ("repo", "sync"): ("post-merge", _OF_REFERENCES),
}
_WITHOUT_VERIFICATION = frozenset({"commit-msg", "pre-commit", "pre-merge-commit", "pre-push"})
# Of these, the options that are known; short ones may be joined. ssh(1), scp(1), rsync(1).
_SAFE_OPTIONS = {
    "rsync": re.compile(r"-[DHPSXacghilnoprtuvxz]+|--(archive|compress|dry-run|exclude=.*|include=.*|stats|verbose)"),
    "scp": re.compile(r"-[346BCTpqrv]+|-[Pil]"),
    "ssh": re.compile(r"-[46CNTntqvx]+|-[ilp]"),
}
# Where git has files that it writes, besides those directly in `.git`.
_WRITTEN_BY_GIT = ("info", "logs", "refs", "worktrees")
_MOST_FILES_OF_GIT = 4096
# Of rsync, only at a host: there is nothing of this machine.
_DELETING = frozenset({"--delete", "--delete-after", "--delete-before", "--delete-during", "--delete-excluded"})
# The last word of these is where they write.
_COPYING = frozenset({"rsync", "scp"})
_NOTHING = re.compile("(?!)")
# What a word of a client may hold besides a file: a name and `=`, an `@`, or a label of gh behind `#`.
_VALUE = re.compile("[=@#]")
_REMOTE = re.compile(r"[^/:]+:.*")
_ELSEWHERE = re.compile(r"(?:-[^=]*=)?(?:[^\s=]*=)*@?(?:fileb?:)?(?P<path>[/~].*|\.\.|\.\./.*|.*/\.\.(?:/.*)?)")
# What they do to a place that exists is removal, or a change of its owner or permissions.
_DESTROYING = frozenset(
    "chattr chgrp chmod chown dd rm rmdir setfacl shred truncate unlink wipefs".split()  # noqa: SIM905
)
_MOST_CONFIGURATION = 256 * 1024
_OVERWRITES = re.compile(r"[0-9&]*>(?!>)")
_OVERWRITING = frozenset("cp install ln mv rsync tee".split())  # noqa: SIM905


def objection_to_leaving(
    call: JudgedCall, root: str, exposed: str | None, is_readable: Callable[[str], bool] = lambda _path: True
) -> str | None:
    """Return why a command is not offered to run outside, a sentence without a full stop; None if it may be.

    Args:
        call: a call of a tool that runs commands.
        root: the project.
        exposed: which program or file that it runs commands can write, in a sentence; None if none.
        is_readable: whether commands in the sandbox can read what is at a path.
    """
    if call.reach is None or not call.reach.complete:
        return "kaa cannot see all that it would run"
    for loss in (*call.losses, *call.restorable):
        if loss.kind != "remote":
            return f"it {loss.sentence}"
    if exposed is not None:
        return exposed
    moves = any(words[0] == "cd" and not _is_project(words[1:], root) for words in call.reach.commands)
    reading = (words[0] for words in call.reach.commands if program_name(words[0] or "") in _PRINTING)
    if moves and (program := next(reading, None)):
        return f"kaa cannot see which files {program} reads in another directory"
    for command in call.reach.simple:
        if reason := _hidden(command, root, moves=moves):
            return reason
    if not call.reach.is_flat:
        return "it is no plain list of commands, in which one could see what runs"
    if call.reach.uses_git and (link := _link_of_git(root)):
        return f"git would write through the link {link}"
    uses_glab = any(program_name(words[0] or "") == "glab" for words in call.reach.commands)
    if uses_glab and (settings := _settings_of_glab(root)):
        return f"glab obeys {settings}, which commands in the sandbox can write"
    unknown = next((words for words in call.reach.commands if not _is_judged(words, root, is_readable)), None)
    return None if unknown is None else f"kaa cannot judge what {' '.join(filter(None, unknown[:2]))} does"


def links_of(call: JudgedCall, root: str) -> Links:
    """Return what a command that leaves the sandbox may do with links in what commands can write.

    kaa knows that its clients need none. What others run, and hooks of git, may: `node_modules/.bin` has only links.

    Args:
        call: a call of a tool that runs commands.
        root: the project.
    """
    commands = call.reach.commands if call.reach is not None else ()
    if not commands or not all(map(_is_known, commands)):
        return "followed"
    if names_files(call):
        return "refused"
    return "avoided" if hooks_outside(call, root) is None else "followed"


def start_of(call: JudgedCall, root: str) -> Start:
    """Return where a command that leaves the sandbox starts: in the home, if all clients in it do the same there.

    Many programs load code, or obey settings, of the directory that they start in. What the user's rules let out may
    need that; kaa knows that its clients do not.

    Args:
        call: a call of a tool that runs commands.
        root: the project.
    """
    commands = call.reach.commands if call.reach is not None else ()
    if not commands or not all(map(_is_known, commands)):
        return "trusting"
    return "project" if any(_needs_project(words, root) for words in commands) else "home"


def _needs_project(command: Words, root: str) -> bool:
    name = program_name(command[0] or "")
    words = [word for word in command[1:] if word is not None]
    is_obscure = is_client(name) and _unknown(name, words, root) is not None
    return is_obscure or name not in _ANYWHERE or _names_files(command)


def names_files(call: JudgedCall) -> bool:
    """Whether a client in a command may read or write a file of the project that its words name."""
    return call.reach is not None and any(map(_names_files, call.reach.commands))


def _is_known(command: Words) -> bool:
    name = program_name(command[0] or "")
    return name in _LOOKING or name in _TIMING or name in _SAFE_OPTIONS or is_client(name)


def _names_files(command: Words) -> bool:
    name = program_name(command[0] or "")
    words = [word for word in command[1:] if word is not None]
    if name in _PRINTING:
        return any(not os.path.isabs(os.path.expanduser(file)) for file in _printed(name, words))
    if name == "ssh":
        return any(word.startswith("-i") for word in words)
    return name in _COPYING or (is_client(name) and may_use_files(name, words))


def loss_outside(call: JudgedCall, root: str, writable: Sequence[str]) -> str | None:
    """Return what a command may destroy outside the project, a sentence; None if nothing there.

    Args:
        call: a call of a tool that runs commands.
        root: the project.
        writable: directories that commands in the sandbox can write.
    """
    for loss in (*call.losses, *call.restorable):
        match loss.kind:
            case "remote":
                continue
            case "files" if loss.paths:
                places = [absolute(path, absolute(start, root)) for start in call.directories for path in loss.paths]
                if places and all(_is_below(place, writable) for place in places):
                    continue
            case "changes" | "untracked" | "repository" if not call.works_elsewhere:
                continue
        return f"it {loss.sentence}"
    return None


def hooks_outside(call: JudgedCall, root: str) -> str | None:
    """Return which hooks git may run outside with a command, a sentence; None if there are none.

    Args:
        call: a call of a tool that runs commands.
        root: the project.
    """
    commands = call.reach.commands if call.reach is not None else ()
    names = dict.fromkeys(hook for command in commands for hook in _hooks_of(command))
    hooks = [name for name in names if _has_hook(root, name)]
    if not hooks:
        return None
    return f"git runs the hook {', '.join(hooks)} with your rights, and with it what this hook runs of the project"


def _hooks_of(command: Words) -> Iterator[str]:
    """Hooks that may run with a command of git or gh, whether there are any or not."""
    words = [word for word in command[1:] if word is not None]
    match program_name(command[0] or ""):
        case "git":
            subcommand = next((word for word in words if word in _HOOKS), "")
            skipped = _WITHOUT_VERIFICATION if "--no-verify" in words else frozenset[str]()
            yield from (hook for hook in _HOOKS.get(subcommand, ()) if hook not in skipped)
        case "gh":  # options of it may stand before the subcommand
            for pair in pairwise(words):
                yield from _HOOKS_OF_GH.get(pair, ())


def harm_at(call: JudgedCall, blocked: Sequence[Blocked]) -> str | None:
    """Return why no permission to write is offered for what was blocked, a sentence; None if one may be.

    Args:
        call: a call of a tool that runs commands.
        blocked: what stopped it.
    """
    written = [one.what for one in blocked if one.kind == "write"]
    existing = next((path for path in written if os.path.isfile(path)), None)
    if not written or call.reach is None:
        return None
    for words in call.reach.commands:
        name = program_name(words[0] or "")
        if name in _DESTROYING or name.startswith("mkfs"):
            return f"{name} destroys or changes places outside the project"
        if name == "find" and "-delete" in words:
            return "find deletes places outside the project"
        if name in _OVERWRITING and existing is not None:
            return f"{name} overwrites {existing}"
    redirections = [text for command in call.reach.simple for text in command.redirections]
    overwrites = any(_OVERWRITES.match(text) for text in redirections)
    return f"it overwrites {existing}" if overwrites and existing is not None else None


def _has_hook(root: str, name: str) -> bool:
    """Whether the project may have a hook: in its repository, or where its configuration says that hooks are."""
    directory = os.path.join(root, ".git")
    if not os.path.isdir(directory) or os.path.exists(os.path.join(directory, "hooks", name)):
        return os.path.lexists(directory)  # of a worktree, the repository is elsewhere
    try:
        with open(os.path.join(directory, "config"), encoding="utf-8", errors="replace") as file:
            return "hookspath" in file.read(_MOST_CONFIGURATION).lower()
    except OSError:
        return False


def _hidden(command: SimpleCommand, root: str, *, moves: bool) -> str | None:
    """What a simple command does besides what its program and arguments say.

    Args:
        command: the command.
        root: the project.
        moves: another directory was entered before it.
    """
    if command.assigns:
        return "it sets variables, which can have a program do something else"
    if command.redirections:
        return f"it writes a file by {command.redirections[0]}"
    if not command.words or command.words[0] is None:
        return None
    program, name = command.words[0], program_name(command.words[0])
    if name == "printf" and any(word is None or word.startswith("-") for word in command.words[1:2]):
        return "printf sets a variable, which can have a program do something else"
    if not is_client(name) and name not in _SAFE_OPTIONS:
        computed = None in command.words and _HARMLESS_VARIABLE.sub("", command.text)
        hides = computed and any(sign in computed for sign in "$`…")
        return f"kaa cannot see what {program} would print of the environment" if hides else None
    return _hidden_of_client(command, program, root, moves=moves)


def _hidden_of_client(command: SimpleCommand, program: str, root: str, *, moves: bool) -> str | None:
    name = program_name(program)
    if None in command.words:
        return "kaa cannot see all that it would run"
    words = [word for word in command.words[1:] if word is not None]
    if name == "ssh":
        remote = behind_options_of_ssh(words)
        if len(remote) < 2:
            return "kaa cannot see what would run at the host"
        words = words[: len(words) - len(remote)]
    if reason := _works_elsewhere(name, words, moves=moves):
        return reason
    if name == "git" and words[:2] == ["worktree", "add"]:
        return "it writes files that nobody has looked at. Inside the project it needs no approval"
    if unknown := _unknown(name, words, root):
        if unknown.endswith(IS_HERE):
            return unknown
        return f"kaa cannot judge which programs and files `{program} {unknown}` uses"
    if name in _COPYING and (executed := next((word for word in words if is_executed(word, root)), None)):
        return f"other programs execute {executed}"
    if place := _place_elsewhere(name, words, root):
        return f"kaa cannot judge what {program} does with {place}, outside the project or behind a link"
    return objection_to_transfer(name, here(name, words), root)


def _works_elsewhere(name: str, words: Sequence[str], *, moves: bool) -> str | None:
    if name == "git" and (moves or "-C" in words):
        return "git works in another directory, whose configuration it obeys"
    return f"kaa cannot see which files {name} uses in another directory" if moves and name != "ssh" else None


def _place_elsewhere(name: str, words: Sequence[str], root: str) -> str | None:
    """Which word of a client may lead out of the project; to copy from elsewhere is fine if its path says so."""
    if name == "ssh":
        return None
    if name not in _COPYING:
        return next((word for word in here(name, words) if _is_elsewhere(word, root)), None)
    links = (word for word in words if _leads_through_link(word, root))
    return next(links, None) or next((word for word in words[-1:] if _is_elsewhere(word, root)), None)


def _is_project(words: Words, root: str) -> bool:
    return len(words) == 1 and words[0] is not None and absolute(words[0], root) == root


def _is_elsewhere(word: str, root: str) -> bool:
    """Whether a word may be a path outside the project; not if it names something remote, such as `/aws/lambda/x`."""
    match = _ELSEWHERE.fullmatch(word)
    if match is None:
        return any(_leads_through_link(text, root) for text in (word, *_VALUE.split(word)))
    path = absolute(match["path"], root)
    is_remote = match["path"].startswith("/") and not os.path.lexists(f"/{path.split('/')[1]}")
    return not is_remote and not _is_below(path, [root])


def _leads_through_link(word: str, root: str) -> bool:
    """Whether a word names a place in the project, if only a new one, on the way to which a link is followed."""
    project = os.path.realpath(root)
    named = absolute(word, project)
    return _is_below(named, [project]) and os.path.realpath(named) != named


def _link_of_git(root: str) -> str | None:
    """Which of git's own files is a link that leads out of the project's repository."""
    found = (_link_out_of(directory) for directory in git_directories(os.path.realpath(root)))
    return next(filter(None, found), None)


def _settings_of_glab(root: str) -> str | None:
    """The file of the repository that can have glab send credentials elsewhere; None if there is none."""
    paths = (os.path.join(directory, "glab-cli") for directory in git_directories(os.path.realpath(root)))
    return next(filter(os.path.lexists, paths), None)


def _link_out_of(directory: str) -> str | None:
    seen = 0
    pending = [directory]
    while pending and seen < _MOST_FILES_OF_GIT:
        folder = pending.pop()
        try:
            content = list(os.scandir(folder))
        except OSError:
            continue
        seen += len(content)
        for entry in content:
            if entry.is_symlink():
                if entry.name != "hooks" and not _is_below(os.path.realpath(entry.path), [directory]):
                    return entry.path
            elif entry.is_dir() and (folder != directory or entry.name in _WRITTEN_BY_GIT):
                pending.append(entry.path)
    return None


def _is_below(path: str, directories: Sequence[str]) -> bool:
    return any(f"{path}/".startswith(f"{directory.rstrip('/')}/") for directory in directories)


def _printed(name: str, words: Sequence[str]) -> list[str]:
    """The files that a program prints, as far as its words name them."""
    files: list[str] = []
    is_value, has_pattern, has_options = False, name not in _WITH_PATTERN, True
    for word in words:
        if is_value:
            is_value = False
        elif has_options and word == "--":
            has_options = False
        elif has_options and word.startswith("-"):
            is_value = word in _VALUES_OF_PRINTING.get(name, ())
        elif not has_pattern:
            has_pattern = True
        else:
            files.append(word)
    return files


def _is_plain_path(word: str, root: str) -> bool:
    """Whether a word is an absolute path outside the project that leads through no link."""
    path = os.path.expanduser(word)
    return os.path.isabs(path) and os.path.realpath(path) == os.path.normpath(path) and not _is_below(path, [root])


def _is_readable(word: str, is_readable: Callable[[str], bool]) -> bool:
    """Whether a path is one that commands can read without leaving the sandbox."""
    path = os.path.normpath(os.path.expanduser(word))
    return not _is_below(path, _PROCESSES) and is_readable(path)


def _is_judged(words: Words, root: str, is_readable: Callable[[str], bool]) -> bool:
    program = words[0] or ""
    name = program_name(program)
    if "/" in program:  # a program of this name, but which one?
        return False
    if name in _PRINTING:
        known = [word for word in words[1:] if word is not None]
        if len(known) < len(words) - 1 or any(map(_READING_MORE.get(name, _NOTHING).fullmatch, known)):
            return False
        return all(_is_plain_path(path, root) and _is_readable(path, is_readable) for path in _printed(name, known))
    if name == "ps" and any(word is None or _ENVIRONMENTS.fullmatch(word) for word in words[1:]):
        return False
    if name in _LOOKING or name in _TIMING:
        return True
    if name in _SAFE_OPTIONS:
        return True
    arguments = [word for word in words[1:] if word is not None]
    return is_client(name) and _unknown(name, arguments, root) is None


def _unknown(name: str, words: Sequence[str], root: str) -> str | None:
    """What of a client's words kaa does not know; None if it knows what they do."""
    if (safe := _SAFE_OPTIONS.get(name)) is None:
        return obscurity(name, words, root)
    deletes = _DELETING if name == "rsync" and words and _REMOTE.fullmatch(words[-1]) else frozenset[str]()
    options = (word for word in words if word.startswith("-") and word != "-" and word not in deletes)
    return next((word for word in options if not safe.fullmatch(word)), None)
