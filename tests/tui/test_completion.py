from kaa.tui.completion import Completion, Completions, CompletionSession


class Broken:
    def complete(self, text: str, caret: int, *, requested: bool) -> Completions | None:
        raise TypeError("bug")


class Words:
    def complete(self, text: str, caret: int, *, requested: bool) -> Completions | None:
        return Completions(0, caret, [Completion("word", "word")])


def test_a_source_that_fails_offers_nothing_and_the_next_is_asked() -> None:
    session = CompletionSession(lambda: None)

    session.sources = [Broken()]
    session.refresh("w", 1)
    assert session.offer is None

    session.sources = [Broken(), Words()]
    session.refresh("w", 1)
    assert session.offer is not None
