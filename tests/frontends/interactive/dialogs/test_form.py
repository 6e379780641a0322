"""The dialogs of forms and of addresses."""

from kaa.core.forms import ChoiceField, ChoicesField, Field, FieldOption, NumberField, TextField, YesNoField
from kaa.ext.questions import Confirmed, Declined, Dismissed, Filled, Form, OpenUrl
from kaa.frontends.interactive.dialogs.address import AddressDialog
from kaa.frontends.interactive.dialogs.form import FormDialog
from kaa.tui.events import Paste
from tests.support.keyboard import keyboard_context, press, type_text
from tests.support.painted import visible

_COLOURS = (FieldOption("r", "Red"), FieldOption("b", "Blue"))


class Asked:
    """A form that is shown."""

    def __init__(self, *fields: Field, message: str = "") -> None:
        self.answers: list[Filled | Declined | Dismissed] = []
        self.dialog = FormDialog(keyboard_context(), Form("Register?", fields, message), self.answers.append)
        self.dialog.offer()

    @property
    def screen(self) -> str:
        return "\n".join(visible(self.dialog.render(70)))

    def type(self, text: str) -> None:
        type_text(self.dialog, text)

    def press(self, *keys: str) -> None:
        press(self.dialog, *keys)


def test_fields_are_filled_in_one_after_the_other_and_sent() -> None:
    asked = Asked(
        TextField("name", "Your name", "As in the passport", required=True),
        NumberField("age", whole=True),
        YesNoField("news", "Newsletter"),
        ChoiceField("colour", options=_COLOURS),
        ChoicesField("more", options=_COLOURS),
        message="For the record",
    )
    first = asked.screen
    asked.press("enter")
    question = asked.screen

    asked.type("Ann\n")
    asked.press("enter")
    asked.type("30\n")
    asked.press("enter", "down", "enter")
    asked.press("enter", "down", "enter")
    asked.press("enter", "enter", "down", "down", "enter")
    before = asked.screen
    asked.press("enter")

    assert "For the record" in first
    assert "(required)" in first
    assert "As in the passport" in question
    assert "Ann" in before
    assert "Blue" in before
    assert asked.answers == [Filled({"name": "Ann", "age": 30, "news": False, "colour": "b", "more": ["r"]})]


def test_defaults_are_shown_and_sent() -> None:
    asked = Asked(TextField("name", default="Ann"), YesNoField("news", default=True))
    shown = asked.screen

    asked.press("down", "down", "enter")

    assert "Ann" in shown
    assert "Yes" in shown
    assert asked.answers == [Filled({"name": "Ann", "news": True})]


def test_a_missing_value_is_said_and_nothing_is_sent() -> None:
    asked = Asked(TextField("name", "Your name", required=True))

    asked.press("down", "enter")

    assert "Your name is required" in asked.screen
    assert asked.answers == []


def test_an_unfit_value_stays_to_be_corrected() -> None:
    asked = Asked(NumberField("age", maximum=120))
    asked.press("enter")

    asked.type("300\n")
    problem = asked.screen
    asked.press("backspace", "enter", "enter")

    assert "enter at most 120" in problem
    assert asked.answers == [Filled({"age": 30})]


def test_an_optional_value_can_be_taken_back() -> None:
    asked = Asked(TextField("name", default="A"))

    asked.press("enter", "backspace", "enter", "enter")

    assert asked.answers == [Filled({})]


def test_escape_goes_back_from_a_field_and_then_dismisses() -> None:
    asked = Asked(TextField("name"))
    asked.press("enter")
    asked.type("x")

    asked.press("escape")
    assert asked.answers == []
    assert "(empty)" in asked.screen
    asked.press("escape")

    assert asked.answers == [Dismissed()]


def test_typing_begins_the_value_of_the_selected_field() -> None:
    asked = Asked(TextField("name", "Your name", default="Bea"), TextField("city"))

    asked.type("An")
    typing = asked.screen
    asked.type("n\n")
    filled = asked.screen
    asked.press("down", "enter")

    assert "An" in typing
    assert "Bea" not in typing
    assert typing.count("Your name") == 1
    assert "city" in filled
    assert asked.answers == [Filled({"name": "Ann"})]


def test_typing_finds_an_option_of_the_selected_field_and_escape_brings_a_value_back() -> None:
    asked = Asked(ChoiceField("colour", options=_COLOURS), TextField("name", default="Bea"))

    asked.type("bl\n")
    asked.type("x")
    asked.press("escape")
    asked.dialog.key(Paste("An\nn"))
    asked.press("escape", "down", "enter")

    assert asked.answers == [Filled({"colour": "b", "name": "Bea"})]


def test_typing_neither_sends_nor_hides_anything() -> None:
    asked = Asked(TextField("name"))
    asked.press("down")
    before = asked.screen

    asked.type("xyz")

    assert asked.screen == before
    assert "Decline" in before


def test_a_form_can_be_declined() -> None:
    asked = Asked(TextField("name"))

    asked.press("up", "enter")

    assert asked.answers == [Declined()]


def test_enter_alone_never_sends_a_form_without_fields() -> None:
    asked = Asked(message="Agree to everything")

    asked.press("enter")

    assert asked.answers == [Declined()]


def test_foreign_texts_reach_no_terminal() -> None:
    asked = Asked(TextField("name", "\x1b[2JName", "\x1b]0;x\x07", default="\x1b[31m"), message="\x1b[5mHello")
    overview = "".join(asked.dialog.render(70))
    asked.press("enter")

    for hostile in ("\x1b[2J", "\x1b]0", "\x1b[5m", "\x1b[31m"):
        assert hostile not in overview
        assert hostile not in "".join(asked.dialog.render(70))


class Address:
    """An address that is asked about."""

    def __init__(self, url: str, *, has_browser: bool = True) -> None:
        self.answers: list[Confirmed | Declined | Dismissed] = []
        self.opened: list[str] = []
        self.copied: list[str] = []
        self._has_browser = has_browser
        question = OpenUrl("x asks to open an address", url, "To pay")
        self.dialog = AddressDialog(keyboard_context(), question, self.answers.append, self._open, self.copied.append)
        self.dialog.offer()
        self.screen = "\n".join(visible(self.dialog.render(70)))

    def _open(self, url: str) -> bool:
        self.opened.append(url)
        return self._has_browser


def test_an_address_is_shown_with_its_host_and_opened_after_a_yes() -> None:
    asked = Address("https://good.example@evil.example/pay?x=1")
    opened_before = list(asked.opened)

    press(asked.dialog, "down", "enter")

    assert "Host: evil.example" in asked.screen
    assert "https://good.example@evil.example/pay?x=1" in asked.screen
    assert opened_before == []
    assert asked.opened == ["https://good.example@evil.example/pay?x=1"]
    assert asked.answers == [Confirmed(yes=True)]


def test_enter_alone_does_not_open_an_address() -> None:
    asked = Address("https://example.com")

    press(asked.dialog, "enter")

    assert (asked.opened, asked.answers) == ([], [Declined()])


def test_without_a_browser_an_address_is_copied() -> None:
    asked = Address("https://example.com", has_browser=False)

    type_text(asked.dialog, "o")
    problem = "\n".join(visible(asked.dialog.render(70)))
    type_text(asked.dialog, "c")

    assert "no browser" in problem
    assert asked.copied == ["https://example.com"]
    assert asked.answers == [Confirmed(yes=True)]
