"""Calls of tools that do what the user permitted their extension."""

import pytest

from kaa.shell.approvals.judgement import Allowed, Denied, Doubtful
from kaa.shell.settings import ApprovalPolicy
from tests.shell.approvals.judging import CONFINED, FULL_ACCESS, NARROWED, READ_ONLY, UNCONFINED, Confinement, verdict
from tests.support.tables import each


@each("confinement", [CONFINED, UNCONFINED, FULL_ACCESS])
@each("policy", ["auto", "never"])
def test_they_run_without_a_question(policy: ApprovalPolicy, confinement: Confinement) -> None:
    assert verdict("ticket", {"path": "/etc"}, policy=policy, confinement=confinement) == Allowed()


@pytest.mark.parametrize("policy", ["ask", "step"])
def test_they_are_asked_about_where_every_change_is(policy: ApprovalPolicy) -> None:
    asked = verdict("ticket", {}, policy=policy)

    assert isinstance(asked, Doubtful)


def test_a_rule_with_the_name_allows_them() -> None:
    asked = verdict("ticket", {}, policy="ask")

    assert isinstance(asked, Doubtful)
    assert asked.suggestion == "ticket"
    assert verdict("ticket", {}, policy="ask", allow=["ticket"]) == Allowed()


def test_a_rule_with_the_name_denies_them() -> None:
    assert isinstance(verdict("ticket", {}, policy="auto", deny=["ticket"]), Denied)


@pytest.mark.parametrize("confinement", [READ_ONLY, NARROWED])
def test_a_run_with_fewer_rights_asks(confinement: Confinement) -> None:
    asked = verdict("ticket", {}, policy="auto", confinement=confinement)

    assert isinstance(asked, Doubtful)
    assert asked.reasons == ("ticket keeps the rights of its extension, which are more than those of this run",)
