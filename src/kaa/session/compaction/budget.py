"""How the model's context window is shared out: to the prompt, what is kept, a summary, and the next reply."""

import msgspec

# Of a window, at most so much is reserved, and of what is left at most so much is kept as it is. With pi's numbers
# (16,384 and 20,000 tokens) a window of 32,000 would be too small for what is kept, and be condensed without end.
_MOST_RESERVED = 1 / 4
_MOST_KEPT = 1 / 3
# Of the reserve, so much may be taken by the summary; as in pi.
_SUMMARY_OF_RESERVE = 0.8
# Of the window, so much may be taken by what is carried over word for word, for each kind of it.
_MOST_CARRIED = 1 / 20
# The user's words, a text of an extension's, and the files that were read and changed.
_CARRIED_KINDS = 4
_SMALLEST_SUMMARY_TOKENS = 256
# The words around what a summary is asked of, in tokens.
_REQUEST_WORDS_TOKENS = 1200
_SMALLEST_PIECE_TOKENS = 1000
# Texts may have more tokens than their length suggests.
_SAFE_SHARE = 0.8


class WindowShares(msgspec.Struct, frozen=True):
    """Shares of a context window, in tokens.

    Attributes:
        threshold: a conversation that takes more is condensed.
        keep: of it, at least so much is kept as it is, if there is as much.
        most: and at most so much.
        summary: the most that the summary may take.
        carried: the most that the user's own sentences may take; and as much each text of an extension's, and the
            names of the files of each kind.
    """

    threshold: int
    keep: int
    most: int
    summary: int
    carried: int

    def stretched(self, factor: float) -> "WindowShares":
        """The same for texts that have `factor` as many tokens as their lengths suggest."""
        return msgspec.structs.replace(
            self, keep=int(self.keep / factor), most=int(self.most / factor), carried=int(self.carried / factor)
        )


def share_out(window: int, overhead: int, reserve_tokens: int, keep_recent_tokens: int) -> WindowShares:
    """Share out a window of `window` tokens.

    Args:
        reserve_tokens: to leave free for the reply; less in a small window.
        keep_recent_tokens: to keep as they are; less in a small window.
    """
    reserve = min(reserve_tokens, int(window * _MOST_RESERVED))
    threshold = window - reserve
    room = max(threshold - overhead, 0)
    summary = max(int(reserve * _SUMMARY_OF_RESERVE), _SMALLEST_SUMMARY_TOKENS)
    carried = int(window * _MOST_CARRIED)
    keep = min(keep_recent_tokens, int(room * _MOST_KEPT))
    return WindowShares(threshold, keep, max(keep, room - summary - _CARRIED_KINDS * carried), summary, carried)


def piece_tokens(window: int, summary: int) -> int:
    """How many tokens of a conversation fit into one request for a summary, with an earlier summary beside it."""
    return max(int((window - 2 * summary - _REQUEST_WORDS_TOKENS) * _SAFE_SHARE), _SMALLEST_PIECE_TOKENS)
