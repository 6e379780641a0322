"""Manifests on the disk: one for each server that is still used."""

import os
import time
from pathlib import Path

import pytest

from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.manifests import ServerManifests
from tests.support.mcp_host import manifest, tool_info

_FILE = Path("/home/ann/.kaa/agent/mcp.json")


@pytest.fixture
def manifests(tmp_path: Path) -> ServerManifests:
    return ServerManifests(Home(tmp_path))


def server(name: str, digest: str = "1", file: Path = _FILE) -> ConfiguredServer:
    return ConfiguredServer(name, ServerEntry(command="x"), Source(str(file), "user"), digest)


def test_a_manifest_is_read_for_its_configuration_only(manifests: ServerManifests) -> None:
    kept = manifest(tool_info("one"))

    manifests.write(server("a"), kept)

    assert manifests.read(server("a")) == kept
    assert manifests.read(server("a", "2")) is None
    assert manifests.read(server("b")) is None


def test_a_new_configuration_replaces_the_manifest_of_the_old_one(manifests: ServerManifests) -> None:
    manifests.write(server("b"), manifest())
    manifests.write(server("a", file=Path("/other")), manifest())
    manifests.write(server("a", "1"), manifest())

    manifests.write(server("a", "2"), manifest())

    assert manifests.read(server("a", "1")) is None
    assert manifests.read(server("a", "2")) is not None
    assert manifests.read(server("a", file=Path("/other"))) is not None
    assert manifests.read(server("b")) is not None


def test_the_manifest_of_a_removed_server_is_deleted(manifests: ServerManifests) -> None:
    manifests.write(server("a"), manifest())
    manifests.write(server("b"), manifest())

    manifests.forget(_FILE, "a")

    assert manifests.read(server("a")) is None
    assert manifests.read(server("b")) is not None


def test_manifests_of_servers_that_have_not_started_for_long_are_deleted(
    manifests: ServerManifests, tmp_path: Path
) -> None:
    manifests.write(server("old"), manifest())
    [old] = tmp_path.rglob("*.json")
    manifests.write(server("used"), manifest())
    months_ago = time.time() - 91 * 86_400
    os.utime(old, (months_ago, months_ago))

    manifests.write(server("new"), manifest())

    assert manifests.read(server("old")) is None
    assert manifests.read(server("used")) is not None


def test_nothing_is_deleted_where_nothing_was_kept(manifests: ServerManifests) -> None:
    manifests.forget(_FILE, "a")

    assert manifests.read(server("a")) is None
