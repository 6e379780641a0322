"""What Google's errors say beside their code and message: reasons, quotas, and when to come back.

Formats: https://cloud.google.com/apis/design/errors (`google.rpc.Status` and its details, as JSON).
"""

import re
from typing import Final

import msgspec

from kaa.core.messages import Json

_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_NO_QUOTA_AT_ALL: Final = re.compile(r"\blimit: 0\b")


class RpcDetails(msgspec.Struct, frozen=True):
    """The details of an error; empty for errors that are not Google's.

    Attributes:
        retry_after: seconds the server asks to wait; None if it does not.
        reasons: names such as `api_key_invalid`, in small letters.
        lasts: the quota that is used up is one of a day, or there is none to use: waiting a little does not help.
    """

    retry_after: float | None = None
    reasons: frozenset[str] = frozenset()
    lasts: bool = False


def rpc_details(error: Json) -> RpcDetails:
    """The details of a decoded error, alone or as servers wrap it: `{"error": …}`, or that in a list."""
    if isinstance(error, list):
        error = error[0] if error else None
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if not isinstance(error, dict) or not isinstance(error.get("details"), list):
        return RpcDetails()
    retry_after: float | None = None
    reasons: set[str] = set()
    lasts = _NO_QUOTA_AT_ALL.search(str(error.get("message"))) is not None
    for detail in error["details"]:
        match detail:
            case {"retryDelay": str(delay)} if seconds := _DURATION.fullmatch(delay):
                retry_after = float(seconds[1])
            case {"reason": str(reason)}:
                reasons.add(reason.lower())
            case {"violations": [*violations]}:
                lasts = lasts or any("PerDay" in str(violation) for violation in violations)
            case _:
                pass  # help, debug information, and whatever else is to come
    return RpcDetails(retry_after, frozenset(reasons), lasts)
