"""What the user chose about the sandbox, from flags first and then from the user's own settings.

A project has no say here: this is decided before anything of it is read.
"""

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from kaa.ext.places import code_paths, discover, entry_file
from kaa.hands.policy import Mode
from kaa.host.code import folders_of_code
from kaa.host.paths import exchangeable, is_below, trail
from kaa.host.programs import commands_can_write
from kaa.shell.components import existing, plugin_places, user_places
from kaa.shell.home import Home, expanded, may_be_worktree
from kaa.shell.key_variables import without_keys
from kaa.shell.own_files import check_way, is_held, own_paths, protected_paths
from kaa.shell.settings import SandboxSettings, SettingsError, load_user_settings
from kaa.workspace.launch import LaunchedHands
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.network.allow_list import NetworkRuleError, NetworkState
from kaa.workspace.sandbox.options import SandboxOptions
from kaa.workspace.sandbox.roots import holding, identity
from kaa.workspace.sandbox.sandbox import Sandbox


class SandboxFlags(msgspec.Struct, frozen=True):
    """What the command line says of the sandbox; None leaves it to the settings.

    Attributes:
        network: `off`, `on`, or domains separated by commas.
        writable: directories to add, relative to that of the project.
        git: whether `.git` may be written, but for what executes, if the settings allow it too.
        extensions: files and folders that kaa loads for this run, relative to that of the project.
        files: other files that kaa obeys for this run, likewise.
        only_surveys: kaa itself looks at the project, and runs no command there.
    """

    mode: Mode | None = None
    network: str | None = None
    writable: tuple[str, ...] = ()
    git: bool = True
    extensions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    only_surveys: bool = False


def sandbox_options(home: Home, flags: SandboxFlags, directory: str) -> SandboxOptions:
    """The sandbox the user wants.

    Args:
        directory: of the project, absolute.

    Raises:
        SettingsError: the user's settings, or the flags, have a mistake.
    """
    user = load_user_settings(home.settings, directory)
    settings, copy = user.sandbox, tuple[str, ...]()
    if may_be_worktree(real := os.path.realpath(directory)):
        from kaa.shell.worktrees.choices import choices_for_copy  # lazy: most directories are in no worktree

        settings, copy = choices_for_copy(settings, real, os.environ)
    mode = flags.mode or settings.mode
    if os.path.realpath(home.path).startswith(os.path.realpath(directory).rstrip("/") + "/"):
        # In the project, a command could make it: with settings and extensions of its own, for the next kaa.
        os.makedirs(os.path.realpath(home.path), 0o700, exist_ok=True)
    if mode == "workspace-write" and os.path.realpath(directory) == "/":
        raise SettingsError(
            "the current directory is /, and all of it cannot be writable: change to a project, or choose"
            " --sandbox read-only or full-access"
        )
    named = (
        *(_directory(path, f"{home.settings}: sandbox.writable", directory) for path in settings.writable),
        *(_directory(path, "--add-dir", directory) for path in flags.writable),
    )
    writable = tuple(checked_root(path, tuple(map(os.path.realpath, (directory, *named)))) for path in named)
    if mode != "full-access" and not flags.only_surveys:
        _refuse_own_folders(home, directory, *writable)
    extensions = (*discover(home.extensions), *map(expanded, user.extensions))
    changeable = tuple(map(os.path.realpath, (directory, *writable)))
    places = user_places(home.path, user.use_files_of, user.skills, user.prompts)
    plugins = plugin_places(home)
    own = own_paths(home, user, plugins)
    # Behind links into the project: nobody is asked about them when they change.
    obeyed = protected_paths(own, home, changeable, lambda path: _is_copied(path, changeable))
    named_now = [str(Path(directory, expanded(one))) for one in flags.files]
    for path in named_now:
        check_way(path, lambda link: is_below(link, changeable))
    obeyed += tuple(real for real in map(os.path.realpath, named_now) if is_below(real, changeable))
    chosen = [_spelled_out(path, directory) for path in settings.hidden]
    if over_levels := next((path for path in settings.hidden if "**" in path.lstrip("!").split("/")), None):
        raise SettingsError(
            f"{home.settings}: sandbox.hidden: {over_levels} would hide only what `*` hides, one level: name each level"
            " (`a/*/key`, `a/*/*/key`), or hide the folder"
        )
    for one in plugins:
        one.data.mkdir(0o700, parents=True, exist_ok=True)
    return SandboxOptions(
        mode=mode,
        network=_network(settings, flags.network, str(home.settings)),
        writable=writable,
        hidden=(
            # The scripts of skills, in folders that are hidden otherwise.
            *(f"!{glob.escape(one.folder)}" for one in existing(places) if one.kind == "skill"),
            *(path for path in chosen if not _uncovers(path, home.path)),
        ),
        plugins=tuple(str(one.root) for one in plugins),
        listed=copy,
        private=(str(home.path),),
        git_writable=flags.git and settings.git,
        ports=settings.ports,
        loaded=(
            *(path for one in extensions for path in _code_of(one, home, directory, changeable, copied=True)),
            *(path for one in map(expanded, flags.extensions) for path in _code_of(one, home, directory, changeable)),
            *obeyed,
        ),
        obeyed=obeyed,
        own=own,
    )


class UnopenedWorkspace(msgspec.Struct, frozen=True):
    """Why there is no workspace. `usage`: the user can repair it by asking differently."""

    reason: str
    usage: bool


def start_workspace(
    directory: str, flags: SandboxFlags, home: Home, environ: Mapping[str, str], hands: LaunchedHands | None = None
) -> LocalWorkspace:
    """Open a directory under the sandbox that the user wants, without waiting for it.

    Args:
        directory: absolute.
        hands: started already; None starts them.

    Raises:
        SettingsError: the user's settings, or the flags, have a mistake.
        OSError: the directories for temporary files and caches cannot be created.
    """
    root, options = checked_root(directory), sandbox_options(home, flags, directory)
    with holding({path: identity(path) for path in (root, *options.writable)}):
        return LocalWorkspace.start(root, env=without_keys(environ, home), launched=hands, sandbox=options)


def open_workspace(
    hands: LaunchedHands, directory: str | None, flags: SandboxFlags
) -> LocalWorkspace | UnopenedWorkspace:
    """Open the project that kaa was started in, without waiting for it.

    Args:
        directory: the current one; None if it does not exist any more.
    """
    if directory is None:
        return UnopenedWorkspace("the current directory does not exist any more; change to another one", usage=True)
    try:
        named = os.environ.get("PWD", "")  # as the shell reached it, which may be through links
        if named != directory and os.path.isabs(named) and os.path.realpath(named) == directory:
            checked_root(named)
        return start_workspace(directory, flags, Home.of(os.environ), os.environ, hands)
    except SettingsError as error:
        return UnopenedWorkspace(str(error), usage=True)
    except OSError as error:
        return UnopenedWorkspace(str(error), usage=False)


def checked_root(directory: str, writable: Iterable[str] = ()) -> str:
    """Return the real path of a directory to work in, if no link that a command may have made leads there.

    Args:
        directory: absolute, as the user named it.
        writable: what commands will be able to write, as real paths.

    Raises:
        SettingsError: one does.
    """
    *links, target = trail(directory)
    if not links:
        return target
    from kaa.host.known_projects import planted_link  # lazy: links on the way to a project are rare

    if planted := planted_link(links, target, os.environ, writable):
        link, place = planted
        raise SettingsError(
            f"{directory}: the link {link} leads to {target}, and commands of the model could make it, since they can"
            f" write {place}, or could in another conversation. If you mean that directory, name it without the link:"
            f" {target}"
        )
    return target


def _network(settings: SandboxSettings, flag: str | None, file: str) -> NetworkState:
    chosen = settings.network if isinstance(settings.network, str) else ",".join(settings.network) or "off"
    try:
        return NetworkState.parse(chosen if flag is None else flag)
    except NetworkRuleError as error:
        place = "--net" if flag is not None else f"{file}: sandbox.network"
        raise SettingsError(f"{place}: {error}") from error


def _refuse_own_folders(home: Home, *directories: str) -> None:
    """Refuse to work in kaa's own folder, which has its keys and is hidden from commands, and in what kaa runs from.

    Raises:
        SettingsError: a directory is one of these, or in one.
    """
    own, code = os.path.realpath(home.path), folders_of_code()
    for one in directories:
        real = os.path.realpath(one)
        if is_below(real, (own,)):
            raise SettingsError(
                f"{one} is in kaa's own folder, {home.path}: commands must not see its keys, nor write what kaa obeys"
                " in all projects. Keep extensions and skills that you work on in a folder elsewhere, start kaa there,"
                " and use them from there: `kaa ext install PATH --link`, or `skills` in your settings. To work in"
                " kaa's own folder without a sandbox, use --sandbox full-access"
            )
        if is_below(real, code):
            raise SettingsError(
                f"{one} is among the code that kaa itself runs from, which commands must not write. Start kaa in a"
                " directory above, where it is read-only, or use a kaa that is installed elsewhere (`pipx install`,"
                " `uv tool install`)"
            )


def _directory(path: str, place: str, below: str) -> str:
    absolute = os.path.abspath(Path(below, expanded(path)))
    if not os.path.isdir(absolute):
        raise SettingsError(f"{place}: {path} is not a directory")
    if absolute == "/":
        raise SettingsError(f"{place}: all of / cannot be writable; that would be --sandbox full-access")
    return absolute


def is_protected(extension: Path, sandboxes: Iterable[Sandbox]) -> bool:
    """Whether no command of this process can change an extension, or could since these sandboxes were started."""
    file = entry_file(extension.absolute())
    if exchangeable(str(file), commands_can_write) is not None:
        return False
    code = set(code_paths(extension.absolute(), commands_can_write))
    if not any(commands_can_write(os.path.realpath(path)) for path in code):
        return True
    return all(code.issubset(sandbox.loaded) for sandbox in sandboxes)


def _is_copied(path: str, writable: Sequence[str]) -> bool:
    """Whether kaa loads an extension at a real path from a copy, as the user approved it.

    It does where a project is (`kaa.shell.extensions.in_projects`), but the whole home is none.
    """
    user = os.path.realpath(os.path.expanduser("~"))
    return is_below(path, (one for one in writable if not is_below(user, (one,))))


def _code_of(
    extension: Path, home: Home, directory: str, writable: Sequence[str], *, copied: bool = False
) -> Iterator[str]:
    """What commands must not change of an extension: its file, or its folder and where links in it lead.

    Args:
        home: kaa's folder, which commands neither see nor write, wherever it is.
        directory: that a relative path starts from.
        writable: what commands can write, as real paths.
        copied: kaa loads it from a copy where it lies in a project; else it does where it is, or contains, the project.

    Raises:
        SettingsError: a link that commands can exchange leads to it.
    """
    file = entry_file(Path(directory, extension))
    top = os.path.realpath(home.path)
    check_way(str(file), lambda link: is_below(link, writable) and not is_below(link, (top,)), "extension ")
    code = code_paths(Path(directory, extension), lambda path: is_below(path, writable))
    for path in code:
        real = os.path.realpath(path)
        if is_held(real, writable) and not (copied and _is_copied(real, writable)):
            yield path


def _spelled_out(path: str, directory: str) -> str:
    """A hidden path or exception, absolute."""
    mark = "!" if path.startswith("!") else ""
    return mark + os.path.abspath(Path(directory, expanded(path.removeprefix("!"))))


def _uncovers(hidden: str, private: Path) -> bool:
    """Whether an exception is about something in kaa's own folder, which nothing uncovers."""
    if not hidden.startswith("!"):
        return False
    found = (hidden[1:], *glob.glob(hidden[1:], include_hidden=True))
    return any(is_below(os.path.realpath(path), (os.path.realpath(private),)) for path in found)
