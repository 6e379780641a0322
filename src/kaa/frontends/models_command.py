"""`kaa models` and `--list-models`: the models there are, what they can do and cost, and whether there is a key."""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable, Sequence

import msgspec

from kaa.builtin.amounts import counted
from kaa.builtin.columns import fitted
from kaa.core.provider import ModelRates, Rates
from kaa.frontends.command_parser import CommandParser
from kaa.frontends.delivery import deliver, terminal_columns, while_delivered
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.extension_options import may_provide_models
from kaa.frontends.json_text import encoded
from kaa.llm.http.live import LiveTransport
from kaa.llm.models.discovery import look_for_servers
from kaa.llm.models.registry import ListedModel, ModelRegistry
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError
from kaa.tui.sanitize import squeezed

_HEAD = ("model", "window", "output", "thinking", "images", "$ in", "$ out", "$ cached", "$ written", "key")
# What a narrow terminal goes without, in this order.
_DISPENSABLE = ("$ written", "$ cached", "output", "images", "thinking", "window")


def main(arguments: Sequence[str]) -> int:
    """Run `kaa models`. Returns the exit code."""
    parsed = _parser().parse_args(arguments)
    return while_delivered(lambda: _report(parsed))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "kaa models",
        "List the models that can be used, those of servers on this machine too. Prices: US dollars per "
        "million tokens, ? where nobody knows, - where the cache has none. A narrow terminal shows fewer columns.",
        ("kaa models sonnet", "kaa models --all --json"),
    )
    parser.add_argument("search", nargs="*", help="only models with these words in provider, id or name")
    parser.add_argument("--all", action="store_true", help="also those that there is no key for")
    parser.add_argument("--json", action="store_true", help="print one JSON object per model")
    return parser


def _report(parsed: argparse.Namespace) -> int:
    try:
        home = Home.of(os.environ)
        models = ModelRegistry(home.path, os.environ)
    except SettingsError as error:
        _complain(str(error))
        return ExitCode.USAGE
    asyncio.run(_look_around(models))
    if may_provide_models():
        asyncio.run(_ask_extensions(models, home))
    for problem in (*models.problems, *models.obstacles()):
        _complain(problem)
    words = [word.lower() for text in parsed.search for word in text.split()]
    wanted = models.listed(usable=not parsed.all)
    if not wanted:
        hint = "" if words else ",  kaa models --all  lists those there are"
        _complain(f"no model can be used yet:  kaa login  keeps a key,  kaa --model ollama  needs none{hint}")
        if not words:
            return ExitCode.NO_MODEL
    is_all = parsed.all or not wanted  # a newcomer searches before there is a key
    if is_all:
        wanted = models.listed(usable=False)
    fitting = [one for one in wanted if _fits(one, words)]
    if fitting:
        deliver(sys.stdout, "".join(f"{line}\n" for line in (_lines if parsed.json else _table)(fitting)))
        return ExitCode.DONE
    without_key = 0 if is_all else sum(_fits(one, words) for one in models.listed(usable=False))
    hint = f"; --all lists {counted(without_key, 'model')} that there is no key for" if without_key else ""
    of = counted(len(wanted), "model") + ("" if is_all else " that can be used")
    _complain(f"none of the {of} has {' '.join(words)!r} in its name{hint}")
    return ExitCode.FAILED


async def _look_around(models: ModelRegistry) -> None:
    """Know the servers on this machine that answer; a second at most, and no time where none listens."""
    transport = LiveTransport()
    try:
        await look_for_servers(models, transport)
    finally:
        await transport.close()


async def _ask_extensions(models: ModelRegistry, home: Home) -> None:
    """Know the models of the user's extensions, which are loaded for that."""
    # Lazy: most users have no such extension.
    from kaa.host.process import current_directory
    from kaa.shell.extensions.trial import try_extensions
    from kaa.shell.models.provided import provided
    from kaa.shell.options import HostOptions
    from kaa.shell.trust.configuration import TrustError

    try:
        trial = await try_extensions(HostOptions(), home, os.environ, current_directory() or "/")
    except (SettingsError, TrustError, OSError) as error:
        _complain(f"the models of extensions are not listed: {error}")
        return
    providers, problems = provided(trial.providers)
    models.provide(providers)
    for problem in filter(None, (trial.failure, *(one.problem for one in trial.reports), *problems)):
        _complain(problem)


def _complain(text: str) -> None:
    sys.stderr.write(f"kaa: {squeezed(text)}\n")


def _fits(listed: ListedModel, words: Iterable[str]) -> bool:
    names = f"{listed.model.qualified_id} {listed.model.name}".lower()
    return all(word in names for word in words)


def _lines(models: Iterable[ListedModel]) -> list[str]:
    """One JSON object per model. `cost` is null where it is not known."""
    return [
        encoded(
            {**msgspec.to_builtins(one.model), "thinkingLevels": one.levels, "key": one.key, "usable": one.is_usable}
        ).decode()
        for one in models
    ]


def _table(models: Iterable[ListedModel]) -> list[str]:
    rows = [_HEAD, *map(_row, models)]
    return fitted(rows, terminal_columns(sys.stdout), _DISPENSABLE)


def _row(listed: ListedModel) -> tuple[str, ...]:
    model, levels = listed.model, listed.levels
    return (
        squeezed(model.qualified_id),
        _tokens(model.context_window),
        _tokens(model.max_tokens),
        "no" if levels in ((), ("off",)) else levels[0] if len(levels) == 1 else f"{levels[0]}-{levels[-1]}",
        "yes" if "image" in model.input else "no",
        *_prices(model.cost),
        listed.key,
    )


def _prices(cost: ModelRates | None) -> tuple[str, ...]:
    if cost is None:
        return ("?",) * 4
    every: tuple[Rates, ...] = (cost, *cost.tiers)
    columns = zip(*((one.input, one.output, one.cache_read, one.cache_write) for one in every), strict=True)
    said, answered, read, written = map(_range, columns)
    if cost.is_free:
        return said, answered, read, written
    # In the source a cache that costs nothing is one that is not there, or whose price nobody wrote down.
    return said, answered, *("-" if price == "0" else price for price in (read, written))


def _range(prices: Sequence[float]) -> str:
    """A price, or from the one of short prompts to that of the longest."""
    low, high = min(prices), max(prices)
    return f"{low:g}" if low == high else f"{low:g}-{high:g}"


def _tokens(count: int) -> str:
    """A limit in tokens, as vendors say them: 128k, 1M, 1.05M."""
    return f"{count / 1_000_000:.3g}M" if count >= 1_000_000 else f"{count / 1_000:.4g}k"
