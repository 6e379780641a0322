import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.messages import Json
from kaa.llm.server_errors import RpcDetails, rpc_details
from tests.support.tables import each

_RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.074824224s"}
_REASON = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}


def _quota(quota_id: str) -> Json:
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota_id}]}


@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: {"error": e}, lambda e: [{"error": e}]])
def test_details_however_the_error_is_wrapped(wrap: type) -> None:
    error = {"code": 429, "message": "slow down", "details": [_RETRY, _REASON, _quota("PerMinute-FreeTier")]}

    assert rpc_details(wrap(error)) == RpcDetails(34.074824224, frozenset({"api_key_invalid"}), lasts=False)


def test_quotas_of_a_day_last() -> None:
    assert rpc_details({"details": [_quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), _RETRY]}).lasts


def test_a_quota_of_nothing_lasts() -> None:
    assert rpc_details({"message": "Quota exceeded, limit: 0, model: gemini-3-pro", "details": [_RETRY]}).lasts
    assert not rpc_details({"message": "Quota exceeded, limit: 05, model: gemini-3-pro", "details": [_RETRY]}).lasts


@each("delay", ["", "soon", "-3s", "1e9s", 5, None, "9999999999s"])
def test_a_delay_that_is_none_is_not_waited_for(delay: Json) -> None:
    assert rpc_details({"details": [{"retryDelay": delay}]}).retry_after is None


_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "details", "message", "violations", "reason", "retryDelay"]), inner, max_size=3
        )
    ),
)


@given(_JSON)
def test_other_errors_have_no_details_and_do_no_harm(error: Json) -> None:
    assert isinstance(rpc_details(error), RpcDetails)
