"""Which measures that help models succeed are in force: `features` in settings.json, for all models or for some."""

from fnmatch import fnmatchcase
from typing import Annotated, Literal

import msgspec

from kaa.core.messages import Json

_MODELS = "models"


class Features(msgspec.Struct, rename="camel", frozen=True):
    """The measures, each with its switch. What each does and costs is in docs/effectiveness.md.

    Attributes:
        workflow: the system prompt says how to fix a bug, and to verify each point of the request before the end.
        unattended: the system prompt of a run in which nobody answers says to decide.
        completion_check: before a run ends, is what was edited executed, and does code stand only in the reply?
            `light`: only declared commands are run. `auto` is how older settings say `full`.
        briefing: the model is told early what there is in the project and on the machine, and how much is left.
        briefing_wait_ms: how long the first result of a tool waits for that; it comes with a later one otherwise.
        loop_detection: calls that lead nowhere are told to the model, then to the user, and stopped.
        result_masking: old results of tools are replaced by a line before anything is summarized.
        masking_turns: the results of so many replies, the newest ones, are not old.
        masking_tokens: old results are replaced when that saves at least so many tokens in each request.
        diagnostics: new errors follow the result of an edit; `syntax`: without linters and language servers.
        diagnostics_wait_ms: how long the result of an edit waits for them.
        condensed_output: of the output of known test runners and compilers, the errors come first.
        edited_lines: the result of an edit has the lines that changed, and some around them.
        output_kilobytes: so much of the output of a command goes to the model, of its beginning and its end.
        edit_tool: how files are edited; `auto`: as the model was trained.
        adaptive_thinking: think hard where plans are made and work is checked, and less in between.
        models: other values for some models, by patterns of `provider/id` such as `openai/gpt-5*`; the last one that
            fits a model takes precedence.
    """

    workflow: bool = True
    unattended: bool = True
    completion_check: Literal["full", "light", "off", "auto"] = "full"
    briefing: bool = True
    briefing_wait_ms: Annotated[int, msgspec.Meta(ge=0, le=30_000)] = 0
    loop_detection: bool = True
    result_masking: bool = True
    masking_turns: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 8
    masking_tokens: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 4000
    diagnostics: Literal["full", "syntax", "off"] = "full"
    diagnostics_wait_ms: Annotated[int, msgspec.Meta(ge=0, le=30_000)] = 1000
    condensed_output: bool = True
    edited_lines: bool = True
    output_kilobytes: Annotated[int, msgspec.Meta(ge=1, le=50)] = 20
    edit_tool: Literal["auto", "edit", "apply_patch"] = "auto"
    adaptive_thinking: bool = False
    models: Annotated[dict[str, dict[str, Json]], msgspec.Meta(max_length=100)] = {}

    def __post_init__(self) -> None:
        """Check the values for some models.

        Raises:
            ValueError: one is wrong, or there is no such measure.
        """
        known = {*self.__struct_encode_fields__} - {_MODELS}
        for pattern, values in self.models.items():
            if unknown := values.keys() - known:
                raise ValueError(f"unknown feature {min(unknown)!r} for {pattern!r}: use {', '.join(sorted(known))}")
            try:
                msgspec.convert(values, Features)
            except msgspec.ValidationError as error:
                raise ValueError(f"{error} - for {pattern!r}") from error

    def for_model(self, provider: str, model: str) -> "Features":
        """What is in force for a model."""
        name = f"{provider}/{model}"
        fitting = [values for pattern, values in self.models.items() if fnmatchcase(name, pattern)]
        if not fitting:
            return self
        merged = msgspec.to_builtins(self)
        for values in fitting:
            merged |= values
        return msgspec.convert(merged, Features)
