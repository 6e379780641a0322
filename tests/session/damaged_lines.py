"""Lines as anybody may have left them in a session file, for properties: twins, lost parents, turns, rubbish."""

import json

from hypothesis import strategies as st

from tests.support.sessions import HEADER, JsonObject, entry, user_entry

_IDS = st.sampled_from(["a", "b", "c", "d"])

Claim = tuple[str, str, str | None]
"""What a line is, its id, and its parent or target."""

CLAIMS: st.SearchStrategy[list[Claim]] = st.lists(
    st.one_of(
        st.tuples(st.just("user"), _IDS, st.none() | _IDS),
        st.tuples(st.just("leaf"), _IDS, st.none() | _IDS),
        st.tuples(st.just("glued"), _IDS, _IDS),
        st.tuples(st.just("rubbish"), _IDS, _IDS),
        st.tuples(st.just("header"), _IDS, _IDS),
    ),
    max_size=12,
)

TORN_ENDS = st.binary(max_size=10).map(lambda end: end.replace(b"{", b"["))


def compact(value: object) -> bytes:
    """JSON as kaa and pi write it."""
    return json.dumps(value, separators=(",", ":")).encode()


def session_of(claims: list[Claim], end: bytes) -> bytes:
    """A session file of such lines, with a torn one at its end. Messages say the numbers of their lines."""
    lines = [compact(HEADER), *(_line(number, *claim) for number, claim in enumerate(claims))]
    return b"\n".join(lines) + b"\n" + end


def _line(number: int, kind: str, entry_id: str, parent: str | None) -> bytes:
    said: JsonObject = user_entry(entry_id, parent, str(number))
    match kind:
        case "user":
            return compact(said)
        case "leaf":
            return compact(entry("leaf", entry_id, "a", targetId=parent))
        case "glued":
            return b'{"type":"message","id":"torn' + compact(said)
        case "header":
            return compact(HEADER)
        case _:
            return b'rubbish "parentId":"a"'
