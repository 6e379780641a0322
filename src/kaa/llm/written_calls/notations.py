"""The notations in which models write tool calls, and what is a call and what only looks like one.

- `<tool_call>{"name": …, "arguments": …}</tool_call>`: Hermes, Qwen 2.5 and 3.
- `<function=NAME><parameter=KEY>VALUE</parameter></function>`, also within `<tool_call>`: Qwen3-Coder; with JSON in
  place of the parameters: Llama 3.1.
- `<|python_tag|>{…}; {…}`: Llama 3. `[TOOL_CALLS][{…}]` and `[TOOL_CALLS]NAME[ARGS]{…}`: Mistral.
- the same JSON in a Markdown fence, or as the whole reply: everybody who was not trained on a notation.

The last is also how one writes about calls, so it counts only where nothing else follows. What stands in quotes, or
word for word in what the model was given, is quoted and no call. Only tools that were offered can be called. Each text
is read in time that grows with its length.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec

from kaa.core.json_repair import BrokenJsonError, repair_json
from kaa.core.messages import Json
from kaa.core.provider import ToolSchema
from kaa.llm.written_calls.watching import FENCE_KINDS, MARKS


class PlainText(NamedTuple):
    """Text that is no call."""

    text: str


class WrittenCall(NamedTuple):
    """A call. `arguments` is JSON text, or what stands in its place if that cannot be read."""

    name: str
    arguments: str


ReplyPart: TypeAlias = PlainText | WrittenCall
Tools: TypeAlias = Mapping[str, ToolSchema]

# A text with more marks that turn out to mark nothing is not worth looking at to the end.
_MOST_FAILURES: Final = 32

_CLOSING_QUOTES: Final = {'"': '"', "'": "'", "“": "”", "«": "»"}
# What may differ between a call and its quotation.
_SETTING = re.compile(r"`{3,}[^\n`]*$|</?tool_call>|<\|python_tag\|>|\[TOOL_CALLS\]|\s+", re.MULTILINE)

_MARK = re.compile("|".join([r"^[ \t]*`{3,}[^\n`]*$", *map(re.escape, MARKS)]), re.MULTILINE)
_JSON_TOKEN = re.compile(r'"(?>(?:[^"\\]++|\\.)*)\\?("|\Z)|[{}\[\]]', re.DOTALL)
_BLANK = re.compile(r"\s*+")
_BETWEEN = re.compile(r"[\s;,]*+")
_NAME_KEY = re.compile(r"""["']name["']\s*+:\s*+["']([^"']{1,200})["']""")
_FUNCTION = re.compile(r"<function=\s*+[\"']?([^\s>\"'=]{1,200})[\"']?\s*+>")
_PARAMETER = re.compile(r"<parameter=\s*+[\"']?([^\s>\"'=]{1,200})[\"']?\s*+>")
# A value may speak of the end of a parameter, but not so that more of the notation follows.
_PARAMETER_END = re.compile(r"</parameter>(?=\s*+(?:<parameter=|</function>|</tool_call>|\Z))")
_MISTRAL_NAME = re.compile(r"\s*+([A-Za-z0-9_.:-]{1,200})\s*+(?:\[CALL_ID\][A-Za-z0-9_-]*+)?(?:\[ARGS\])?\s*+(?=\{)")
_END_OF_MESSAGE = re.compile(r"(?>(?:\s*+<\|(?:eom_id|eot_id|im_end)\|>)*)")


class _Span(NamedTuple):
    """Calls of one notation, and where they stand. `weak`: they count only where nothing but calls follows."""

    start: int
    end: int
    calls: list[WrittenCall]
    weak: bool = False


def read_calls(
    text: str, tools: Tools, *, complete: bool, line_before: str = "", given: Iterable[str] = ()
) -> list[ReplyPart]:
    """What `text` consists of, in its order. Without a call it is one text, as it came.

    Args:
        text: begins where the first call may begin.
        tools: that were offered, by name.
        complete: the reply was not cut off, so what has no end was just not ended.
        line_before: what comes before the text on its first line.
        given: what the model was given. A call in there is shown by the model rather than made, as when a file is
            about calls, or somebody put one into it for the model to repeat.
    """
    kept: list[_Span] = []
    following = len(text)
    only_calls = True
    spans = [span for span in _spans(text, tools, complete=complete) if not _is_in_quotes(text, span, line_before)]
    for span in reversed(_not_given(text, spans, given)):
        only_calls = only_calls and not text[span.end : following].strip()
        following = span.start
        if only_calls or not span.weak:
            kept.append(span)
    return list(_pieces(text, kept[::-1]))


def _not_given(text: str, spans: list[_Span], given: Iterable[str]) -> list[_Span]:
    """The spans that do not stand in what was given."""
    if not spans:
        return []
    known = "\0".join(_SETTING.sub("", one) for one in given)
    return [span for span in spans if _SETTING.sub("", text[span.start : span.end]) not in known]


def _is_in_quotes(text: str, span: _Span, line_before: str) -> bool:
    newline = text.rfind("\n", 0, span.start)
    line = text[newline + 1 : span.start] if newline >= 0 else line_before + text[: span.start]
    closing = _CLOSING_QUOTES.get(line[-1:])
    return line.lstrip().startswith(">") or (closing is not None and text.startswith(closing, span.end))


def _pieces(text: str, spans: list[_Span]) -> Iterator[ReplyPart]:
    position = 0
    for span in spans:
        if text[position : span.start].strip():
            yield PlainText(text[position : span.start])
        yield from span.calls
        position = span.end
    if not spans or text[position:].strip():
        yield PlainText(text[position:])


def _spans(text: str, tools: Tools, *, complete: bool) -> Iterator[_Span]:
    """All that reads as calls, weak ones too."""
    position = _skip(text, 0)
    if text.startswith(("{", "["), position):
        span = _bare(text, position, tools)
        if span is not None:
            yield span
            position = span.end
    # A last parameter without the end of its call may not have been the last.
    is_cut_off = not complete and text.rstrip().endswith("</parameter>")
    failures = 0
    while failures <= _MOST_FAILURES and (mark := _MARK.search(text, position)):
        position = mark.end()
        if text[mark.start() - 1 : mark.start()] == "`":
            continue  # talks about the mark
        span = _READERS.get(mark.group(), _fenced)(text, mark.start(), mark.end(), tools)
        if span is not None and not (is_cut_off and not text[span.end :].strip()):
            yield span
            position = span.end
        else:
            failures += _kind_of_fence(mark.group()) in FENCE_KINDS
            position = _end_of_code(text, mark) or position


def _kind_of_fence(line: str) -> str:
    """What a fence says it holds; nothing for other marks."""
    return line.strip().lstrip("`").strip().lower() if line.lstrip().startswith("`") else ""


def _end_of_code(text: str, mark: re.Match[str]) -> int | None:
    """Where a fence ends that holds no call, so that nothing is looked for in it; None for other marks."""
    fence = mark.group().strip()
    if not fence.startswith("`"):
        return None
    backticks = len(fence) - len(fence.lstrip("`"))
    end = re.compile(f"^[ \\t]*`{{{min(backticks, 200)},}}", re.MULTILINE).search(text, mark.end())
    return len(text) if end is None else end.end()


def _bare(text: str, start: int, tools: Tools) -> _Span | None:
    """Calls without a mark."""
    calls, end = _json_calls(text, start, tools)
    return _Span(start, end, calls, weak=True) if calls else None


def _fenced(text: str, start: int, inside: int, tools: Tools) -> _Span | None:
    """Calls in a fence that holds nothing else."""
    line = text[start:inside].strip()
    kind = _kind_of_fence(line)
    calls, end = _json_calls(text, inside, tools) if kind in FENCE_KINDS else ([], 0)
    if not calls:
        return None
    end = _skip(text, end)
    backticks = line[: len(line) - len(line.lstrip("`"))]
    if text.startswith(backticks, end):
        return _Span(start, end + len(backticks), calls, weak=True)
    return _Span(start, end, calls, weak=True) if end == len(text) else None


def _tagged(text: str, start: int, inside: int, tools: Tools) -> _Span | None:
    """`<tool_call>`, whatever is in it."""
    body = _skip(text, inside)
    if text.startswith("<function=", body):
        span = _function(text, body, body + len("<function="), tools)
        return None if span is None else _Span(start, _skip_end(text, span.end, "</tool_call>"), span.calls)
    calls, end = _json_calls(text, body, tools)
    if calls:
        return _Span(start, _skip_end(text, end, "</tool_call>"), calls)
    return _unreadable(text, start, body, tools)


def _unreadable(text: str, start: int, body: int, tools: Tools) -> _Span | None:
    """A call that cannot be read: the model is to be told so. Its arguments are all that stands there."""
    close = text.find("</tool_call>", body)
    if close < 0:
        return None
    inner, end = text[body:close], close + len("</tool_call>")
    if calls := _calls_in(inner, tools):  # only its last brackets are missing
        return _Span(start, end, calls)
    named = _NAME_KEY.search(inner)
    if named is None or named.group(1) not in tools or not _is_broken(inner):
        return None
    return _Span(start, end, [WrittenCall(named.group(1), inner.strip())])


def _function(text: str, start: int, inside: int, tools: Tools) -> _Span | None:
    """`<function=NAME>` with parameters, or with JSON."""
    opening = _FUNCTION.match(text, start)
    if opening is None or opening.group(1) not in tools:
        return None
    name = opening.group(1)
    position = _skip(text, opening.end())
    if text.startswith("{", position):
        closing = _json_end(text, position)
        if closing is None:
            return None
        return _Span(start, _skip_end(text, closing, "</function>"), [WrittenCall(name, text[position:closing])])
    given: dict[str, Json] = {}
    while parameter := _PARAMETER.match(text, position):
        end_mark = _PARAMETER_END.search(text, parameter.end())
        if end_mark is None:
            return None
        value = text[parameter.end() : end_mark.start()]
        given[parameter.group(1)] = _typed(value, tools[name], parameter.group(1))
        position = _skip(text, end_mark.end())
    end = _skip_end(text, position, "</function>")
    if not given and end == position:
        return None
    return _Span(start, end, [WrittenCall(name, msgspec.json.encode(given).decode())])


def _typed(value: str, tool: ToolSchema, key: str) -> Json:
    """The value as its type in the schema wants it; the line breaks that set it off are not part of it."""
    value = value.removeprefix("\n").removesuffix("\n")
    properties = tool.parameters.get("properties")
    described = properties.get(key) if isinstance(properties, dict) else None
    if isinstance(described, dict) and described.get("type") != "string":
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            pass  # checking the arguments says what is wrong, or repairs it
    return value


def _python_tag(text: str, start: int, inside: int, tools: Tools) -> _Span | None:
    """Llama 3's mark."""
    calls, end = _json_calls(text, inside, tools)
    ending = _END_OF_MESSAGE.match(text, end)
    return _Span(start, ending.end() if ending else end, calls) if calls else None


def _mistral(text: str, start: int, inside: int, tools: Tools) -> _Span | None:
    """Mistral's mark, with a list of calls behind it, or with names and arguments."""
    named = _MISTRAL_NAME.match(text, inside)
    if named is None:
        calls, end = _json_calls(text, inside, tools)
        return _Span(start, end, calls) if calls else None
    closing = _json_end(text, named.end())
    if named.group(1) not in tools or closing is None:
        return None
    return _Span(start, closing, [WrittenCall(named.group(1), text[named.end() : closing])])


_READERS: Final[dict[str, Callable[[str, int, int, Tools], _Span | None]]] = {
    "<tool_call>": _tagged,
    "<function=": _function,
    "<|python_tag|>": _python_tag,
    "[TOOL_CALLS]": _mistral,
}


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _skip_end(text: str, position: int, mark: str) -> int:
    """Behind the closing mark, if it is there."""
    after = _skip(text, position)
    return after + len(mark) if text.startswith(mark, after) else position


def _json_calls(text: str, position: int, tools: Tools) -> tuple[list[WrittenCall], int]:
    """The calls that stand here one after another as JSON, and where they end; none if one of them is no call."""
    calls: list[WrittenCall] = []
    while True:
        start = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]  # it matches nothing at all, too
        end = _json_end(text, start) if text.startswith(("{", "["), start) else None
        if end is None:
            return calls, position
        read = _calls_in(text[start:end], tools)
        if not read:
            return calls, position
        calls += read
        position = end


def _json_end(text: str, start: int) -> int | None:
    """Where the brackets that open at `start` close."""
    depth = 0
    for token in _JSON_TOKEN.finditer(text, start):
        match token.group()[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
            case _ if not token.group(1):
                return None  # a string without an end
        if depth == 0:
            return token.end()
    return None


def _calls_in(json: str, tools: Tools) -> list[WrittenCall]:
    """The calls that a JSON text is; none if it, or a part of it, is something else."""
    try:
        value: Json = repair_json(json).value
    except BrokenJsonError:
        return []
    calls = [_call(one, tools) for one in (value if isinstance(value, list) else [value])]
    return [call for call in calls if call is not None] if all(calls) else []


def _is_broken(json: str) -> bool:
    try:
        repair_json(json)
    except BrokenJsonError:
        return True
    return False


def _call(value: Json, tools: Tools) -> WrittenCall | None:
    """The call that an object describes, if it describes a call and nothing else."""
    match value:
        case {"type": "function", "function": dict(inner)}:
            return _call(inner, tools)
        case {"name": str(name)} if name in tools and set(value) <= {"name", "arguments", "parameters", "id", "type"}:
            pass
        case _:
            return None
    if ("arguments" in value) == ("parameters" in value):
        return None
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        return WrittenCall(name, arguments)
    return WrittenCall(name, msgspec.json.encode(arguments).decode()) if isinstance(arguments, dict) else None
