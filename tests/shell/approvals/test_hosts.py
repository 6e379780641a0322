"""Questions about hosts: before a command runs, and while its connection is held."""

import asyncio
from pathlib import Path

import pytest

from kaa.ext.escalations import Escalation
from kaa.ext.questions import (
    Abort,
    AllowAlways,
    AllowForSession,
    AllowOnce,
    Answer,
    Deny,
    Dismissed,
)
from kaa.shell.approvals.rule_file import RuleFile
from kaa.workspace.network.asking import HostAnswer
from kaa.workspace.network.registries import ALL, hosts_of
from tests.shell.approvals.test_gate import Stage, results

_PYPI = ("pypi.org", "files.pythonhosted.org")
_RULES = "host: pypi.org\nhost: files.pythonhosted.org"
_REGISTRIES = hosts_of(ALL) or ()


def _held(stage: Stage, *hosts: str, alone: bool = True) -> HostAnswer:
    """What the gate answers for the connections of a command that runs."""
    stage.commands("make")
    asker = stage.sandbox.asker
    assert asker is not None
    return asyncio.run(asker.ask(asker.together(hosts), alone=alone))


class TestBeforeTheRun:
    def test_an_installer_is_one_question_that_names_the_hosts(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")

        end = stage.commands("pip install x")

        (question,) = stage.person.questions
        assert end.reason == "done"
        assert (question.only_connects, question.was_run, question.title) == (True, False, "pip install x")
        assert question.escalations == tuple(Escalation("network", host) for host in _REGISTRIES)
        assert question.reasons == ("pip install needs the network",)
        assert question.suggestion == "host: registries"
        assert stage.ran == [("pip install x", None)]
        assert (stage.sandbox.hosts, stage.sandbox.hosts_of_call) == ([], _REGISTRIES)

    def test_a_yes_for_the_session_is_not_asked_again_by_any_installer(self) -> None:
        stage = Stage(AllowForSession(), policy="auto")

        stage.commands("pip install x", "pip install y", "npm install z", "cargo fetch", "go mod download")

        assert len(stage.person.questions) == 1
        assert stage.sandbox.hosts == list(_REGISTRIES)

    def test_a_no_keeps_it_from_running(self) -> None:
        stage = Stage(Deny("use the vendored one"), policy="auto")

        end = stage.commands("pip install x")

        assert (end.reason, stage.ran) == ("denied", [])
        assert "use the vendored one" in results(end)[0].text

    @pytest.mark.parametrize(
        ("answer", "of_call", "of_session"), [(AllowOnce(), _REGISTRIES, ()), (AllowForSession(), (), _REGISTRIES)]
    )
    def test_where_the_call_is_asked_too_it_is_the_same_question(
        self, answer: Answer, of_call: tuple[str, ...], of_session: tuple[str, ...]
    ) -> None:
        stage = Stage(answer, policy="ask")

        stage.commands("pip install x")

        (question,) = stage.person.questions
        assert not question.only_connects
        assert [one.what for one in question.escalations] == list(_REGISTRIES)
        assert (stage.sandbox.hosts_of_call, tuple(stage.sandbox.hosts)) == (of_call, of_session)

    @pytest.mark.parametrize(("allow", "deny"), [(_RULES.splitlines(), []), ([], ["host: pypi.org"])])
    def test_what_rules_decide_is_not_asked(self, allow: list[str], deny: list[str]) -> None:
        stage = Stage(policy="auto", allow=allow, deny=deny)

        stage.commands("pip install x")

        assert stage.person.questions == []

    def test_a_registry_that_a_rule_denies_is_left_out_of_the_question_about_the_others(self) -> None:
        stage = Stage(AllowForSession(), policy="auto", deny=["host: registry.npmjs.org"])

        stage.commands("pip install x")

        (question,) = stage.person.questions
        assert [one.what for one in question.escalations] == [
            host for host in _REGISTRIES if host != "registry.npmjs.org"
        ]

    def test_without_a_user_it_runs_and_is_refused_at_once(self) -> None:
        stage = Stage(policy="auto", headless=True)

        stage.commands("pip install x")

        assert stage.ran == [("pip install x", None)]
        assert stage.sandbox.asker is not None
        assert not stage.sandbox.asker.can_ask


class TestWhileItIsHeld:
    @pytest.mark.parametrize(
        ("answer", "said"),
        [(AllowOnce(), "call"), (AllowForSession(), "session"), (Deny(), "no"), (Dismissed(), "no"), (Abort(), "no")],
    )
    def test_the_answer_is_passed_on(self, answer: Answer, said: HostAnswer) -> None:
        stage = Stage(answer, policy="auto")

        assert _held(stage, "example.com") == said

        (question,) = stage.person.questions
        assert question.escalations == (Escalation("network", "example.com"),)
        assert (question.only_connects, question.was_run, question.call_id) == (True, False, "c0")
        assert question.reasons == ("the command is running, and connects after your answer unless it gives up before",)

    def test_one_registry_brings_all_and_the_question_names_the_one_that_waits(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")

        assert _held(stage, "registry.npmjs.org") == "call"

        (question,) = stage.person.questions
        assert {one.what for one in question.escalations} == set(_REGISTRIES)
        assert question.permits[0] == "A yes allows network access to registries."
        assert "python, node, rust, go" in question.permits[1]
        assert "connects to registry.npmjs.org after your answer" in question.reasons[0]

    @pytest.mark.parametrize(("allow", "deny", "said"), [(_RULES, "", "session"), ("", "host: pypi.org", "no")])
    def test_rules_about_the_group_answer_without_a_question_about_all(
        self, allow: str, deny: str, said: HostAnswer
    ) -> None:
        stage = Stage(policy="auto", allow=allow.splitlines(), deny=deny.splitlines())

        assert _held(stage, "files.pythonhosted.org") == said
        assert stage.person.questions == []

    def test_a_rule_for_a_group_of_registries_covers_its_hosts(self) -> None:
        stage = Stage(policy="auto", allow=["host: registries"], deny=["host: registries/node"])

        assert (_held(stage, "crates.io"), _held(stage, "registry.npmjs.org")) == ("session", "no")

    @pytest.mark.parametrize(
        ("answer", "said"), [(AllowForSession(), "session"), (AllowOnce(), "call"), (Deny(), "no")]
    )
    def test_a_private_address_is_shown_and_no_rule_answers_for_it(self, answer: Answer, said: HostAnswer) -> None:
        stage = Stage(answer, policy="auto", allow=["host: git.example"])
        stage.commands("make")
        asker = stage.sandbox.asker
        assert asker is not None

        assert asyncio.run(asker.ask_private("git.example", ["10.1.2.3"], alone=True)) == said

        (question,) = stage.person.questions
        assert question.escalations == (Escalation("network", "git.example"),)
        assert question.reasons[0] == "git.example leads to 10.1.2.3, not to a public address"
        assert (question.lasting, question.suggestion) == (True, None)

    def test_other_commands_that_may_be_meant_are_mentioned(self) -> None:
        stage = Stage(AllowOnce(), policy="auto")

        _held(stage, "example.com", alone=False)

        assert "other commands are running too" in stage.person.questions[0].reasons[-1]

    def test_always_is_kept_as_rules(self, tmp_path: Path) -> None:
        file = RuleFile(tmp_path / "approvals.json")
        stage = Stage(AllowAlways("host: registries"), policy="auto", file=file)

        assert _held(stage, *_PYPI) == "session"

        assert [rule.text for rule in file.load().allow] == ["host: registries"]
        assert _held(Stage(policy="auto", file=file, headless=True), *_PYPI) == "session"

    def test_wider_rules_do_as_well(self, tmp_path: Path) -> None:
        stage = Stage(AllowAlways("host: *.example.com"), policy="auto", file=RuleFile(tmp_path / "approvals.json"))

        assert _held(stage, "a.example.com", "b.example.com") == "session"

    @pytest.mark.parametrize(
        ("rules", "problem"),
        [
            ("host: other.example", "do not allow example.com"),
            ("bash: make", "is not about a host"),
            ("host: localhost", "cannot be allowed"),
            ("host:", "missing"),
            ("outside host: example.com", "is written 'host: pypi.org'"),
        ],
    )
    def test_rules_that_do_not_allow_what_was_shown_are_asked_about_again(self, rules: str, problem: str) -> None:
        stage = Stage(AllowForSession(rules), Deny(), policy="auto")

        assert _held(stage, "example.com") == "no"

        assert problem in stage.person.questions[1].problem
        assert stage.person.questions[1].suggestion == rules

    def test_a_deny_rule_answers_for_the_user(self) -> None:
        stage = Stage(policy="auto", allow=["host: *.evil.example"], deny=["host: x.evil.example"])

        assert _held(stage, "x.evil.example") == "no"
        assert _held(stage, "y.evil.example") == "session"
        assert _held(stage, "y.evil.example", "x.evil.example") == "no"

    def test_an_answer_for_the_session_leaves_no_rule_that_outlives_a_change_of_the_network(self) -> None:
        stage = Stage(
            AllowForSession("host: registries"), AllowForSession("host: *.example.com"), Deny(), policy="auto"
        )

        assert _held(stage, *_PYPI) == "session"
        assert _held(stage, "a.example.com") == "session"

        assert _held(stage, "b.example.com") == "session"  # by the wider rule that was written
        assert _held(stage, *_PYPI) == "no"  # asked again
