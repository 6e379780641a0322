"""What the default approval mode means, and why it is that."""

import pytest

from kaa.shell.approvals.rule_file import ApprovalRules
from kaa.shell.gatekeeper import Gatekeeper
from kaa.shell.settings import ApprovalPolicy, ApprovalSettings


def _keeper(choice: ApprovalPolicy | None, default: ApprovalPolicy) -> Gatekeeper:
    def build(*_: object) -> object:
        raise AssertionError("no call was judged")

    return Gatekeeper(choice, lambda: default, ApprovalSettings(), lambda _: ApprovalRules(), build)  # type: ignore[arg-type]  # no gate is made


@pytest.mark.parametrize(("default", "why"), [("auto", "in the sandbox"), ("ask", "`kaa doctor` says why")])
def test_the_mode_that_nobody_chose_is_explained(default: ApprovalPolicy, why: str) -> None:
    assert why in str(_keeper(None, default).explained)
    assert _keeper(default, default).explained is None
