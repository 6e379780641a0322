from kaa.frontends.interactive.transcript.header import StartHeader
from tests.frontends.interactive.transcript.conversations import Session, text_of

HINTS = [("app.tools.expand", "expands"), ("app.unbound", "does nothing"), ("app.thinking.toggle", "thinking")]


def test_it_says_what_runs_where_and_with_which_keys() -> None:
    header = StartHeader(Session().view, "kaa", "1.2", "~/project", HINTS, "sonnet")

    assert text_of([header]) == "kaa 1.2 · sonnet · ~/project\nCtrl+O expands · Ctrl+T thinking"


def test_the_model_may_be_known_later() -> None:
    header = StartHeader(Session().view, "kaa", "1.2", "~/project")
    assert text_of([header]) == "kaa 1.2 · ~/project"

    header.show_model("sonnet")

    assert text_of([header]) == "kaa 1.2 · sonnet · ~/project"


def test_it_keeps_to_the_width() -> None:
    header = StartHeader(Session().view, "kaa", "1.2", "/a/long/path", HINTS, "sonnet")

    assert text_of([header], 16) == "kaa 1.2 · sonnet\n· /a/long/path\nCtrl+O expands ·\nCtrl+T thinking"
