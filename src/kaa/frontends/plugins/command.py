"""`kaa plugin`: its subcommands."""

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Mapping, Sequence

import msgspec

from kaa.builtin.amounts import counted
from kaa.builtin.columns import aligned
from kaa.components.plugins.manifest import Plugin, UserOption
from kaa.components.plugins.marketplace import Marketplace
from kaa.core.messages import Json
from kaa.frontends.confirming import NobodyAnswersError, confirmed
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extensions.report import printable
from kaa.frontends.json_text import json_line
from kaa.frontends.plugins.report import facts, list_lines, part_lines, report_lines
from kaa.frontends.subcommands import Subcommand, run_subcommand
from kaa.shell.extensions.errors import InstallationError, UnknownNameError
from kaa.shell.home import Home
from kaa.shell.plugins.records import dependants, unmet
from kaa.shell.plugins.resolution import ResolvedPlugin, prepared_with_dependencies
from kaa.shell.plugins.store import PluginStore
from kaa.tui.sanitize import one_line

_EPILOG = """\
plugins:
  NAME, NAME@MARKETPLACE            of a marketplace that you added
  ./FOLDER                          a copy of a folder
  OWNER/REPOSITORY[@REF]            of GitHub
  https://HOST/REPOSITORY.git@REF   a git repository; also ssh:// and git@HOST:PATH
  npm:NAME, npm:NAME@VERSION        a package of npm
  wheel:NAME                        of a Python package in the project's virtual environment

Installing executes nothing of the plugin. kaa uses it from the next conversation on.
"""
_DESCRIPTION_CHARACTERS = 100


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa plugin`. Returns the exit code."""
    about = "Install plugins of Claude Code, Codex, Gemini CLI and pi."
    failures = (InstallationError, NobodyAnswersError, OSError)
    return run_subcommand("plugin", about, SUBCOMMANDS, failures, arguments, directory)


def _say(*lines: str) -> None:
    deliver(sys.stdout, printable(lines))


def _store(home: Home) -> PluginStore:
    return PluginStore(home, os.environ)


def _add_install(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("plugin", metavar="PLUGIN", help="which one, see below")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a value for an option of it")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _install(parsed: argparse.Namespace, home: Home) -> int:
    store = _store(home)
    with prepared_with_dependencies(store, parsed.plugin, parsed.directory) as preparation:
        _say(*report_lines(preparation, home))
        word = "Install" if preparation.wanted.previous is None else "Replace"
        return _installed(store, preparation, parsed.set, word, is_agreed=parsed.yes)


def _installed(
    store: PluginStore, preparation: ResolvedPlugin, given: Sequence[str], word: str, *, is_agreed: bool
) -> ExitCode:
    wanted = preparation.wanted
    values_of = {one.plugin.name: dict(one.record.values) for one in preparation.plugins}
    values_of[wanted.plugin.name] |= _values_in(wanted.plugin, given)
    if not is_agreed:
        if not confirmed(
            f"{word} {', '.join([wanted.plugin.name, *(one.plugin.name for one in preparation.needed)])}?"
        ):
            deliver(sys.stderr, "nothing is installed\n")
            return ExitCode.DENIED
        values_of |= {
            one.plugin.name: _ask_for_options(one.plugin, values_of[one.plugin.name]) for one in preparation.plugins
        }
    store.install([(one, values_of[one.plugin.name]) for one in preparation.plugins])
    for plugin in (one.plugin for one in preparation.plugins):
        _say(f"installed {plugin.name}; kaa uses it from the next conversation on")
        if needed := _missing_options(plugin, values_of[plugin.name]):
            _say(f"it needs {', '.join(needed)}: kaa plugin configure {plugin.name} {needed[0]}=VALUE")
    return ExitCode.DONE


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="of a plugin, as kaa plugin list shows it")


def _add_update(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these plugins")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _update(parsed: argparse.Namespace, home: Home) -> int:
    """One plugin that fails keeps its version, and no other from its update."""
    store = _store(home)
    records = store.read()
    if unknown := [name for name in parsed.names if name not in records.plugins]:
        raise UnknownNameError(f"there is no plugin {unknown[0]!r}: kaa plugin list shows those that are installed")
    codes = [ExitCode.DONE]
    names = parsed.names or list(records.plugins)
    refreshed: set[str] = set()
    for name in names:
        try:
            marketplace = records.plugins[name].source.partition("@")[2]
            if (known := records.marketplaces.get(marketplace)) is not None and marketplace not in refreshed:
                refreshed.add(marketplace)
                store.add_marketplace(known.source, os.sep)
            with prepared_with_dependencies(store, records.plugins[name].source, os.sep) as preparation:
                codes.append(_updated(store, home, preparation, name, is_agreed=parsed.yes))
        except InstallationError as error:
            deliver(sys.stderr, printable([f"kaa: {name} is not updated: {error}"]))
            codes.append(ExitCode.FAILED)
    return ExitCode.FAILED if ExitCode.FAILED in codes else max(codes)


def _updated(store: PluginStore, home: Home, preparation: ResolvedPlugin, name: str, *, is_agreed: bool) -> ExitCode:
    if preparation.wanted.plugin.name != name:
        raise InstallationError(
            f"it is called {preparation.wanted.plugin.name} now: install that with kaa plugin install"
        )
    if not any(one.is_new for one in preparation.plugins):
        _say(f"{name} is up to date", *(f"  {problem}" for problem in preparation.problems))
        return ExitCode.DONE
    _say(*report_lines(preparation, home))
    return _installed(store, preparation, (), "Update", is_agreed=is_agreed)


def _add_remove(parser: argparse.ArgumentParser) -> None:
    _add_names(parser)
    parser.add_argument("--data", action="store_true", help="remove what the plugins keep, too")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask, even if other plugins need them")


def _remove(parsed: argparse.Namespace, home: Home) -> int:
    """Asks only if a plugin that stays needs one that goes."""
    store = _store(home)
    before = store.read()
    for name in parsed.names:
        needing = [one for one in dependants(name, before) if one not in parsed.names]
        if needing:
            _say(f"{', '.join(needing)} {'needs' if len(needing) == 1 else 'need'} {name}")
            if not parsed.yes and not confirmed(f"Remove {name}?"):
                deliver(sys.stderr, f"{name} is not removed\n")
                return ExitCode.DENIED
        kept = store.remove(name, with_data=parsed.data)
        _say(f"removed {name}")
        if kept is not None:
            _say(f"its data stays in {kept}: --data removes it, or remove the folder")
    after = store.read()
    for name, one in after.plugins.items():
        if one.for_others and dependants(name, before) and not dependants(name, after):
            _say(f"{name} was installed for others, and none needs it any more: kaa plugin remove {name}")
    return ExitCode.DONE


def _switch(*, enabled: bool) -> Callable[[argparse.Namespace, Home], int]:
    def run(parsed: argparse.Namespace, home: Home) -> int:
        word = "enabled" if enabled else "disabled"
        store = _store(home)
        for name in parsed.names:
            before = store.change(name, enabled=enabled)
            _say(f"{name} {'was already' if before.enabled == enabled else 'is'} {word}")
            if not enabled and (needing := dependants(name, store.read())):
                _say(f"  {', '.join(needing)} {'needs' if len(needing) == 1 else 'need'} it")
        return ExitCode.DONE

    return run


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="show what these plugins have")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def _list(parsed: argparse.Namespace, home: Home) -> int:
    records = _store(home).read()
    plugins = records.plugins
    if unknown := [name for name in parsed.names if name not in plugins]:
        raise UnknownNameError(f"there is no plugin {unknown[0]!r}: {', '.join(plugins) or 'none is installed'}")
    found = [plugins[name] for name in parsed.names] or list(plugins.values())
    if parsed.json:
        deliver(sys.stdout, "".join(json_line(facts(one)) for one in found))
    elif parsed.names:
        for one in found:
            _say(f"{one.plugin.name} {one.plugin.version}".rstrip(), *part_lines(one.plugin))
            _say(*(f"  {sentence}" for sentence in unmet(one, records)))
    elif found:
        _say(*list_lines(found))
    else:
        deliver(sys.stderr, "kaa: no plugin is installed: kaa plugin install --help shows how\n")
    return ExitCode.DONE


def _add_configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of a plugin, as kaa plugin list shows it")
    parser.add_argument("values", nargs="*", metavar="OPTION=VALUE", help="asked for if none is given")


def _configure(parsed: argparse.Namespace, home: Home) -> int:
    store = _store(home)
    plugins = store.read().plugins
    if parsed.name not in plugins:
        raise UnknownNameError(f"there is no plugin {parsed.name!r}: {', '.join(plugins) or 'none is installed'}")
    plugin = plugins[parsed.name].plugin
    values = _values_in(plugin, parsed.values) if parsed.values else _ask_for_options(plugin, {})
    store.change(parsed.name, values=values)
    _say(f"{parsed.name} has {counted(len(values), 'new value')}" if values else "nothing has changed")
    return ExitCode.DONE


def _add_marketplace(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", required=True, metavar="COMMAND")
    about = "add a marketplace: OWNER/REPOSITORY, an address of git, or a path"
    example = "kaa plugin marketplace"
    add = commands.add_parser("add", help=about, examples=(f"{example} add anthropics/claude-plugins",))
    add.add_argument("source", metavar="SOURCE", help="where it is")
    about = "list the marketplaces, or the plugins of one"
    listing = commands.add_parser("list", help=about, examples=(f"{example} list claude-plugins",))
    listing.add_argument("name", nargs="?", metavar="NAME", help="of a marketplace")
    listing.add_argument("--json", action="store_true", help="print one JSON object per line")
    about = "get the newest lists; installed plugins stay as they are"
    update = commands.add_parser("update", help=about, examples=(f"{example} update",))
    update.add_argument("names", nargs="*", metavar="NAME", help="of marketplaces; all unless told")
    about = "remove a marketplace; its plugins stay"
    remove = commands.add_parser("remove", help=about, examples=(f"{example} remove claude-plugins",))
    remove.add_argument("names", nargs="+", metavar="NAME", help="of marketplaces")


def _marketplace(parsed: argparse.Namespace, home: Home) -> int:
    store = _store(home)
    match parsed.action:
        case "add":
            _tell_added(*store.add_marketplace(parsed.source, parsed.directory))
        case "update":
            known = store.read().marketplaces
            if unknown := [name for name in parsed.names if name not in known]:
                raise UnknownNameError(f"there is no marketplace {unknown[0]!r}: {', '.join(known) or 'add one'}")
            for name in parsed.names or known:
                _tell_added(*store.add_marketplace(known[name].source, os.sep))
        case "remove":
            for name in parsed.names:
                store.remove_marketplace(name)
                _say(f"removed {name}")
        case _:
            _list_marketplaces(store, parsed)
    return ExitCode.DONE


def _tell_added(marketplace: Marketplace, commit: str) -> None:
    at = f", commit {commit[:12]}" if commit else ""
    _say(f"{marketplace.name}: {counted(len(marketplace.entries), 'plugin')}{at}")
    _say(*(f"  {note}" for note in marketplace.notes))


def _list_marketplaces(store: PluginStore, parsed: argparse.Namespace) -> None:
    known = store.read().marketplaces
    if parsed.name is not None:
        entries = list(store.marketplace(parsed.name).entries.values())
        if parsed.json:
            lines = (msgspec.to_builtins(one) for one in entries)
            deliver(sys.stdout, "".join(json_line(one) for one in lines))
        else:
            rows = [(one.name, one.version or "-", one.description[:_DESCRIPTION_CHARACTERS]) for one in entries]
            _say(*aligned([("name", "version", "description"), *rows], left=3))
    elif parsed.json:
        lines = ({"name": name, **msgspec.to_builtins(one)} for name, one in known.items())
        deliver(sys.stdout, "".join(json_line(one) for one in lines))
    elif known:
        facts_of = [(name, one.commit[:12] or "-", one.since, one.source) for name, one in known.items()]
        _say(*aligned([("name", "commit", "since", "source"), *facts_of], left=4))
    else:
        deliver(sys.stderr, "kaa: you have added no marketplace: kaa plugin marketplace add SOURCE adds one\n")


SUBCOMMANDS = {
    "marketplace": Subcommand(
        "add, list, update and remove marketplaces", "add anthropics/claude-plugins", _add_marketplace, _marketplace
    ),
    "install": Subcommand(
        "show what a plugin would run, and install it", "notes@claude-plugins", _add_install, _install
    ),
    "list": Subcommand("list the installed plugins, or what is in them", "notes", _add_list, _list),
    "update": Subcommand("install the newest versions from the same sources", "notes", _add_update, _update),
    "configure": Subcommand("give values to the options of a plugin", "notes key=VALUE", _add_configure, _configure),
    "enable": Subcommand("use plugins again that were disabled", "notes", _add_names, _switch(enabled=True)),
    "disable": Subcommand("keep plugins, but do not use them", "notes", _add_names, _switch(enabled=False)),
    "remove": Subcommand("remove plugins", "notes", _add_remove, _remove),
}


_WORDS = {"true": True, "yes": True, "false": False, "no": False}


def _values_in(plugin: Plugin, given: Sequence[str]) -> dict[str, Json]:
    """The values that were given on the command line.

    Args:
        given: each `NAME=VALUE`.

    Raises:
        InstallationError: one is not for an option, or does not fit it.
    """
    options = {option.name: option for option in plugin.options}
    values: dict[str, Json] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in options:
            known = ", ".join(options) or "it has none"
            raise InstallationError(f"{text.partition('=')[0]!r} is no option of {plugin.name}: {known}")
        values[name] = _option_value(options[name], value)
    return values


def _ask_for_options(plugin: Plugin, known: Mapping[str, Json]) -> dict[str, Json]:
    """Ask on the terminal for what is missing. Without a terminal, nothing is asked."""
    values = dict(known)
    for option in plugin.options:
        if option.name in values or option.default is not None or not sys.stdin.isatty():
            continue
        what = one_line(option.description or option.title)
        deliver(sys.stderr, f"{option.name}{f' ({what})' if what else ''}, empty for none: ")
        entered = getpass.getpass("") if option.secret else sys.stdin.readline().strip()
        if entered:
            values[option.name] = _option_value(option, entered)
    return values


def _missing_options(plugin: Plugin, values: Mapping[str, Json]) -> list[str]:
    """The options that need a value and have none."""
    return [one.name for one in plugin.options if one.required and one.default is None and one.name not in values]


def _option_value(option: UserOption, text: str) -> Json:
    if option.multiple:
        return [_single_value(option, part.strip()) for part in text.split(",") if part.strip()]
    return _single_value(option, text)


def _single_value(option: UserOption, text: str) -> Json:
    if option.kind == "boolean":
        if text.lower() not in _WORDS:
            raise InstallationError(f"{option.name} is {text!r}: write true or false")
        return _WORDS[text.lower()]
    if option.kind != "number":
        return text
    try:
        number = float(text)
    except ValueError:
        raise InstallationError(f"{option.name} is {text!r}, which is no number") from None
    least, most = option.minimum, option.maximum
    if (least is not None and number < least) or (most is not None and number > most):
        raise InstallationError(f"{option.name} is {text}: it must be from {least} to {most}")
    return int(number) if number.is_integer() else number
