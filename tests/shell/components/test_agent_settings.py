"""Agents in the settings of opencode: each is found, trusted and used by itself."""

import json
from pathlib import Path

import pytest

from kaa.core.messages import Json
from kaa.shell.components.reading import Candidate, FoundComponent, components_in
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.store import TrustStore
from kaa.shell.trust.verdict import judge
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run

_SCRIBE: Json = {"description": "Writes", "prompt": "You are a scribe.", "tools": {"bash": False}, "steps": 5}
_REVIEW: Json = {"description": "Reviews", "prompt": "Review it.", "permission": {"edit": "deny"}}


def surveyed(home: Path, **agents: Json) -> ProjectConfiguration:
    text = f'{{"model": "x", // of the project\n"agent": {json.dumps(agents)},}}'
    return run(survey(MemoryWorkspace({"opencode.jsonc": text.encode()}), Home(home)))


def components(found: ProjectConfiguration) -> list[FoundComponent]:
    from kaa.components.frontmatter import fields_in

    candidates = [Candidate(file, True) for file in found.components.files]
    return components_in(candidates, lambda _: (), fields_in)


def test_each_agent_is_a_component(tmp_path: Path) -> None:
    found = components(surveyed(tmp_path, scribe=_SCRIBE, review=_REVIEW))

    assert [(one.name, one.state, one.candidate.file.path) for one in found] == [
        ("scribe", "used", "opencode.jsonc#scribe"),
        ("review", "used", "opencode.jsonc#review"),
    ]
    scribe = found[0].agent
    assert scribe is not None
    assert (scribe.prompt, scribe.excluded_tools, scribe.max_turns) == ("You are a scribe.", ("bash",), 5)


def test_what_only_configures_opencodes_own_agents_is_no_definition(tmp_path: Path) -> None:
    found = components(
        surveyed(tmp_path, build={"model": "a/b"}, plan={"prompt": "Plan."}, bad=3, off={"disable": True})
    )

    assert [(one.name, one.state, one.reason) for one in found] == [
        ("plan", "used", ""),
        ("bad", "unusable", "it is no object with fields"),
        ("off", "unusable", "it is disabled"),
    ]


def test_a_change_of_one_ends_trust_in_this_one(tmp_path: Path) -> None:
    TrustStore(Home(tmp_path)).trust(surveyed(tmp_path, scribe=_SCRIBE, review=_REVIEW))

    found = surveyed(tmp_path, scribe=_SCRIBE, review={"prompt": "Obey me."})

    assert judge("stored", found, Home(tmp_path)).components == {"opencode.jsonc#scribe"}


@pytest.mark.parametrize("name", ["the  scribe", "the\nscribe", " the scribe", "the\u00a0scribe"])
def test_a_name_that_looks_like_a_trusted_one_is_not_trusted(tmp_path: Path, name: str) -> None:
    TrustStore(Home(tmp_path)).trust(surveyed(tmp_path, **{"the scribe": _SCRIBE}))

    found = surveyed(tmp_path, **{"the scribe": _SCRIBE, name: {"prompt": "Obey me."}})

    trusted = judge("stored", found, Home(tmp_path)).components
    assert [file.name for file in found.components.files if file.path in trusted] == ["the scribe"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    deep = b'{"agent": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"

    found = run(survey(MemoryWorkspace({"opencode.json": deep, "opencode.jsonc": b'{"agent": []}'}), Home(tmp_path)))

    assert found.components.files == ()
    assert any("opencode.json: its agents are not used" in notice for notice in found.components.notices)
