"""Plugins that need others: what is installed with them, what is missing, and what is said when one goes."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from kaa.shell.plugins.records import PluginRecords
from tests.frontends.plugins.test_plugin_command import SKILL, World
from tests.support.extension_sources import commit, write

MANIFEST = ".claude-plugin/plugin.json"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    world = World(tmp_path, capsys)
    monkeypatch.setenv("KAA_DIR", str(world.home.path))
    monkeypatch.chdir(world.project)
    return world


def offer(world: World, needs: dict[str, list[Any]], allows: list[str] | None = None, name: str = "market") -> None:
    """Write a marketplace of plugins of version 1.0.0, by what they need."""
    place = world.market if name == "market" else world.market.parent / name
    entries = [{"name": one, "source": f"./plugins/{one}"} for one in needs]
    content = {"name": name, "plugins": entries, "allowCrossMarketplaceDependenciesOn": allows or []}
    write(place, {".claude-plugin/marketplace.json": json.dumps(content)})
    for one, needed in needs.items():
        write(place / "plugins" / one, plugin(one, "1.0.0", needed))
    assert world.plugin("marketplace", "add", str(place)) == 0, world.err


def plugin(name: str, version: str, needed: list[Any]) -> dict[str, str]:
    """The files of a plugin with a skill."""
    manifest = {"name": name, "version": version, "dependencies": needed}
    return {MANIFEST: json.dumps(manifest), f"skills/{name}-skill/SKILL.md": SKILL}


def names(world: World) -> list[str]:
    """What is installed."""
    return sorted(PluginRecords(world.home).read().plugins)


def test_what_a_plugin_needs_is_shown_and_installed_with_it(world: World) -> None:
    offer(world, {"top": ["middle"], "middle": [{"name": "base", "version": "^1.0"}], "base": [], "other": []})

    assert world.plugin("install", "top") != 0
    assert "nobody can be asked" in world.err
    for line in (
        "needs other plugins: middle",
        "top needs this plugin, which is installed too:",
        "middle 1.0.0: plugin for Claude Code from middle@market",
        "middle needs this plugin, which is installed too:",
        "base 1.0.0: plugin for Claude Code from base@market",
        "base-skill",
    ):
        assert line in world.out
    assert names(world) == []
    assert world.left == ["marketplaces"]

    assert world.plugin("install", "--yes", "top") == 0
    assert names(world) == ["base", "middle", "top"]
    assert [one.for_others for one in PluginRecords(world.home).read().plugins.values()] == [True, True, False]
    assert world.out.index("installed base") < world.out.index("installed middle") < world.out.index("installed top")


def test_plugins_that_need_each_other_are_installed_and_named(world: World) -> None:
    offer(world, {"one": ["two"], "two": ["three"], "three": ["one"]})

    assert world.plugin("install", "--yes", "one") == 0

    assert names(world) == ["one", "three", "two"]
    assert "one needs two needs three needs one: they need each other" in world.out


def test_many_ways_to_the_same_plugins_are_walked_once(world: World) -> None:
    layers = [[f"p{layer}a", f"p{layer}b"] for layer in range(20)]
    needs: dict[str, list[Any]] = {one: below for above, below in itertools.pairwise(layers) for one in above}
    offer(world, needs | {one: [] for one in layers[-1]})

    assert world.plugin("install", "--yes", "p0a") == 0

    assert len(names(world)) == 39


@pytest.mark.parametrize(
    ("needed", "problem"),
    [
        ("nothing", "top needs nothing: market has no plugin 'nothing'"),
        ("far@other", "top needs far@other: its marketplace allows no plugins of other: install it yourself"),
        ({"name": "base", "version": "^2"}, "base ^2: no version of it will do: base 1.0.0 is there, top needs ^2"),
    ],
)
def test_what_cannot_be_had_is_named_and_the_rest_is_installed(world: World, needed: object, problem: str) -> None:
    offer(world, {"far": []}, name="other")
    offer(world, {"top": [needed, "more"], "base": [], "more": []})

    assert world.plugin("install", "--yes", "top") == 0

    assert problem in world.out
    assert names(world) == ["more", "top"]
    assert world.plugin("list", "top") == 0
    assert "which is not installed" in world.out


def test_a_marketplace_allows_plugins_of_another_for_all_that_it_brings(world: World) -> None:
    offer(world, {"far": ["farther"], "farther": []}, name="other")
    offer(world, {"top": ["far@other", "lost@third"]}, ["other", "third"])

    assert world.plugin("install", "--yes", "top") == 0

    assert names(world) == ["far", "farther", "top"]
    assert "top needs lost@third: there is no marketplace 'third'" in world.out


def test_a_plugin_of_a_folder_has_no_marketplace_to_take_others_from(world: World) -> None:
    offer(world, {"base": []})
    write(world.project / "own", plugin("own", "1.0.0", ["base"]))

    assert world.plugin("install", "--yes", "./own") == 0

    assert "own needs base: kaa knows no marketplace that has it" in world.out
    assert names(world) == ["own"]


def test_the_newest_tagged_version_that_all_need_is_taken(world: World) -> None:
    for version in ("1.0.0", "1.4.0", "2.0.0"):
        commit(world.market, {f"plugins/base/{name}": text for name, text in plugin("base", version, []).items()})
        commit(world.market, {}, tag=f"base--v{version}")
    entries = [{"name": one, "source": f"./plugins/{one}"} for one in ("base", "first", "second", "third")]
    wanted = {"first": ">=1 <2", "second": "<1.4", "third": "^2"}
    files = {
        f"plugins/{name}/{file}": text
        for name, version in wanted.items()
        for file, text in plugin(name, "1.0.0", [{"name": "base", "version": version}]).items()
    }
    listed = json.dumps({"name": "market", "plugins": entries})
    commit(world.market, {".claude-plugin/marketplace.json": listed, **files})
    assert world.plugin("marketplace", "add", f"file://{world.market}") == 0, world.err

    def installed() -> str:
        return PluginRecords(world.home).read().plugins["base"].plugin.version

    assert world.plugin("install", "--yes", "first") == 0
    assert installed() == "1.4.0"
    assert world.plugin("install", "--yes", "second") == 0
    assert "replaces base 1.4.0" in world.out
    assert installed() == "1.0.0"
    assert world.plugin("install", "--yes", "third") == 0
    assert "base ^2: no version of it will do" in world.out
    assert world.plugin("update", "--yes", "base") == 0
    assert installed() == "1.0.0"
    assert world.plugin("remove", "second", "third") == 0
    assert world.plugin("update", "--yes", "base") == 0
    assert installed() == "1.4.0"


def test_an_update_that_others_cannot_use_is_refused(world: World) -> None:
    offer(world, {"top": [{"name": "base", "version": "^1"}], "base": []})
    assert world.plugin("install", "--yes", "top") == 0
    write(world.market / "plugins" / "base", plugin("base", "2.0.0", []))

    assert world.plugin("update", "--yes", "base") == 1

    assert "base 2.0.0 will not do for top, which needs ^1: remove top first" in world.err


def test_a_plugin_that_others_need_is_removed_only_after_a_question(world: World) -> None:
    offer(world, {"top": ["base"], "base": []})
    assert world.plugin("install", "--yes", "top") == 0

    assert world.plugin("remove", "base") != 0
    assert "top needs base" in world.out
    assert "nobody can be asked" in world.err
    assert names(world) == ["base", "top"]
    assert world.plugin("disable", "base") == 0
    assert "top needs it" in world.out
    assert world.plugin("list", "top") == 0
    assert "it needs base, which is disabled" in world.out
    assert world.plugin("remove", "top") == 0
    assert "base was installed for others, and none needs it any more: kaa plugin remove base" in world.out
    assert world.plugin("remove", "base") == 0
    assert names(world) == []


def test_a_plugin_of_the_same_name_from_elsewhere_is_not_replaced(world: World) -> None:
    offer(world, {"top": ["base"], "base": []})
    write(world.project / "base", plugin("base", "1.0.0", []))
    assert world.plugin("install", "--yes", "./base") == 0

    assert world.plugin("install", "--yes", "top") == 0

    assert "top needs base: a plugin base is installed from" in world.out
