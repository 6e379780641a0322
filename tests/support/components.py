"""Small WebAssembly components, written as text that wasmtime assembles.

`libc` has the memory, an allocator that frees nothing, and the data. `main` has the code; it imports the memory and the
functions of kaa and WASI. Every export is a function of `main` that returns the address of its result in memory.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from wasmtime import wat2wasm

SCHEMA = json.dumps({"type": "object", "properties": {"text": {"type": "string"}}})

RESULT = "(result (result string (error string)))"
_ARGUMENTS = '(param "name" string) (param "call-id" string) (param "arguments-json" string)'
_RAB_ARGUMENTS = '(param "tool-name" string) (param "tool-call-id" string) (param "args-json" string)'

# Bodies of `execute-tool`: locals 0 to 5 are addresses and lengths of the name, the call's id and the arguments.
ECHO = """(i32.store (i32.const 16) (i32.const 0)) (i32.store (i32.const 20) (local.get 4))
  (i32.store (i32.const 24) (local.get 5)) (i32.const 16)"""
FAIL = ECHO.replace("(i32.const 16) (i32.const 0)", "(i32.const 16) (i32.const 1)", 1)
TRAP = "unreachable"
LOOP = "(loop $again (br $again)) unreachable"
GROW = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 64)) (i32.const -1)))) unreachable"
DEEP = "(call $execute (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5))"
OUTSIDE_OF_MEMORY = "(i32.const -16)"
NOT_UTF8 = """(i32.store (i32.const 16) (i32.const 0)) (i32.store (i32.const 20) (i32.const 32))
  (i32.store (i32.const 24) (i32.const 1)) (i32.store8 (i32.const 32) (i32.const 255)) (i32.const 16)"""
HUGE = """(drop (memory.grow (i32.const 1000))) (i32.store (i32.const 16) (i32.const 0))
  (i32.store (i32.const 20) (i32.const 65536)) (i32.store (i32.const 24) (i32.const 33554432)) (i32.const 16)"""
COUNTING = """(i32.store (i32.const 40) (i32.add (i32.load (i32.const 40)) (i32.const 1)))
  (i32.store8 (i32.const 48) (i32.add (i32.load (i32.const 40)) (i32.const 48)))
  (i32.store (i32.const 16) (i32.const 0)) (i32.store (i32.const 20) (i32.const 48))
  (i32.store (i32.const 24) (i32.const 1)) (i32.const 16)"""


class Host:
    """A function of kaa that takes one text and returns `result<string, string>`, called with the arguments.

    Args:
        interface: of kaa:extension.
        function: of the interface.
        parameter: its name.
        then: what the component does afterwards; by default it returns what it got.
    """

    def __init__(self, interface: str, function: str, parameter: str, then: str = "(i32.const 16)") -> None:
        self.imports = f"""
 (import "kaa:extension/{interface}@0.1.0"
   (instance $asked (export "{function}" (func (param "{parameter}" string) {RESULT}))))
 (core func $asked_core (canon lower (func $asked "{function}") (memory $memory) (realloc $realloc)))"""
        self.core_type = "(func $asked (param i32 i32 i32))"
        self.execute = f"(call $asked (local.get 4) (local.get 5) (i32.const 16)) {then}"


class Setting:
    """Returns the value of a setting, or fails if there is none."""

    core_type = "(func $asked (param i32 i32 i32))"
    imports = """
 (import "kaa:extension/settings@0.1.0"
   (instance $asked (export "get" (func (param "name" string) (result (option string))))))
 (core func $asked_core (canon lower (func $asked "get") (memory $memory) (realloc $realloc)))"""

    def __init__(self, name: str) -> None:
        data = name.encode()
        stores = "".join(f"(i32.store8 (i32.const {200 + at}) (i32.const {byte}))" for at, byte in enumerate(data))
        # An option has its value where a result has it; 0 is `none`, and `ok`.
        self.execute = f"""{stores} (call $asked (i32.const 200) (i32.const {len(data)}) (i32.const 16))
  (i32.store (i32.const 16) (i32.eqz (i32.load8_u (i32.const 16)))) (i32.const 16)"""


class Notice:
    """Shows the arguments to the user, and returns them."""

    core_type = "(func $asked (param i32 i32))"
    execute = f"(call $asked (local.get 4) (local.get 5)) {ECHO}"
    imports = """
 (import "kaa:extension/notices@0.1.0" (instance $asked (export "notify" (func (param "text" string)))))
 (core func $asked_core (canon lower (func $asked "notify") (memory $memory) (realloc $realloc)))"""


class Wasi:
    """A function of WASI that returns a list, of which the component tells the length as a digit."""

    core_type = "(func $asked (param i32))"
    execute = """(call $asked (i32.const 64))
  (i32.store8 (i32.const 48) (i32.add (i32.load (i32.const 68)) (i32.const 48)))
  (i32.store (i32.const 16) (i32.const 0)) (i32.store (i32.const 20) (i32.const 48))
  (i32.store (i32.const 24) (i32.const 1)) (i32.const 16)"""

    def __init__(self, what: str) -> None:
        listed = {
            "environment": """
 (import "wasi:cli/environment@0.2.0"
   (instance $asked (export "get-environment" (func (result (list (tuple string string)))))))
 (core func $asked_core (canon lower (func $asked "get-environment") (memory $memory) (realloc $realloc)))""",
            "directories": """
 (import "wasi:filesystem/types@0.2.0" (instance $types (export "descriptor" (type (sub resource)))))
 (alias export $types "descriptor" (type $descriptor))
 (import "wasi:filesystem/preopens@0.2.0" (instance $asked
   (alias outer 1 $descriptor (type $outer)) (export "descriptor" (type $inner (eq $outer)))
   (export "get-directories" (func (result (list (tuple (own $inner) string)))))))
 (core func $asked_core (canon lower (func $asked "get-directories") (memory $memory) (realloc $realloc)))""",
        }
        self.imports = listed[what]


class Sleep:
    """Asks WASI for a time to wait for."""

    core_type = "(func $asked (param i64) (result i32))"
    execute = "(drop (call $asked (i64.const 3600000000000))) unreachable"
    imports = """
 (import "wasi:io/poll@0.2.0" (instance $poll (export "pollable" (type (sub resource)))))
 (alias export $poll "pollable" (type $pollable))
 (import "wasi:clocks/monotonic-clock@0.2.0" (instance $asked
   (alias outer 1 $pollable (type $outer)) (export "pollable" (type $inner (eq $outer)))
   (export "subscribe-duration" (func (param "when" u64) (result (own $inner))))))
 (core func $asked_core (canon lower (func $asked "subscribe-duration")))"""


class _Memory:
    """Data at fixed addresses."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._start = 1024

    def text(self, text: str) -> tuple[int, int]:
        data = text.encode()
        place = self._put(data)
        return place, len(data)

    def words(self, words: Iterable[int]) -> int:
        return self._put(b"".join(word.to_bytes(4, "little", signed=word < 0) for word in words))

    def records(self, records: Sequence[Sequence[str]]) -> int:
        """A list of records of texts, as a function returns it."""
        parts = [word for fields in records for text in fields for word in self.text(text)]
        return self.words((self.words(parts), len(records)))

    def option(self, text: str | None) -> int:
        return self.words((0, 0, 0) if text is None else (1, *self.text(text)))

    def variant(self, case: int, text: str = "") -> int:
        return self.words((case, *self.text(text)))

    def _put(self, data: bytes) -> int:
        self._data.extend(bytes(-len(self._data) % 8))
        place = self._start + len(self._data)
        self._data.extend(data)
        return place

    @property
    def segment(self) -> str:
        escaped = "".join(f"\\{byte:02x}" for byte in self._data)
        return f'(data (i32.const {self._start}) "{escaped}")'


def _assembled(
    memory: _Memory,
    functions: Mapping[str, str],
    outside: str,
    asks: Host | Setting | Notice | Wasi | Sleep | None = None,
) -> bytes:
    imported = "" if asks is None else f'(import "host" "asked" {asks.core_type})'
    given = "" if asks is None else '(with "host" (instance (export "asked" (func $asked_core))))'
    bodies = "\n  ".join(functions.values())
    return bytes(
        wat2wasm(f"""(component
 (core module $libc
  (memory (export "memory") 2)
  (global $top (mut i32) (i32.const 100000))
  (func (export "realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
    (local.set $at (i32.and
      (i32.add (global.get $top) (i32.sub (local.get 2) (i32.const 1))) (i32.sub (i32.const 0) (local.get 2))))
    (global.set $top (i32.add (local.get $at) (local.get 3)))
    (block $done (loop $more
      (br_if $done (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
      (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))) unreachable))
    (local.get $at))
  {memory.segment})
 (core instance $libc (instantiate $libc))
 (alias core export $libc "memory" (core memory $memory))
 (alias core export $libc "realloc" (core func $realloc))
 {"" if asks is None else asks.imports}
 (core module $main
  (import "libc" "memory" (memory 1))
  {imported}
  {bodies})
 (core instance $main (instantiate $main (with "libc" (instance $libc)) {given}))
 {outside})""")
    )


def _execute(body: str) -> str:
    parameters = "(param i32 i32 i32 i32 i32 i32)"
    return f'(func $execute (export "execute") {parameters} (result i32) {body})'


def _constant(name: str, place: int) -> str:
    return f'(func (export "{name}") (result i32) (i32.const {place}))'


def _lift(name: str, kind: str) -> str:
    return (
        f'(func ${name} {kind} (canon lift (core func $main "{name}") (memory $memory) (realloc $realloc)'
        " string-encoding=utf8))"
    )


def tools_component(
    execute: str = ECHO,
    *,
    tools: Sequence[tuple[str, str, str, str]] = (("say", "Say something", SCHEMA, "says something"),),
    asks: Host | Setting | Notice | Wasi | Sleep | None = None,
    version: str = "0.1.0",
    self_test: str | None = None,
    parameter: str = "arguments-json",
) -> bytes:
    """A component with the interface `tools`.

    Args:
        execute: the body of `execute-tool`; unused if it asks.
        tools: name, description, schema and snippet of each.
        asks: what `execute-tool` calls.
        version: of the package.
        self_test: why its self-test fails; None for no self-test.
        parameter: the name of the third parameter of `execute-tool`.
    """
    memory = _Memory()
    functions = {
        "tools": _constant("tools", memory.records(tools)),
        "execute": _execute(execute if asks is None else asks.execute),
    }
    outside = f"""
 (type $tool (record (field "name" string) (field "description" string) (field "parameters-json" string)
   (field "snippet" string)))
 {_lift("tools", "(result (list $tool))")}
 {_lift("execute", f"{_ARGUMENTS.replace('arguments-json', parameter)} {RESULT}")}
 (instance $exported (export "tool" (type $tool)) (export "tools" (func $tools))
   (export "execute-tool" (func $execute)))
 (export "kaa:extension/tools@{version}" (instance $exported))"""
    if self_test is not None:
        functions["test"] = _constant("test", memory.variant(1, self_test))
        outside += f"""
 {_lift("test", "(result (result (error string)))")}
 (instance $tests (export "self-test" (func $test)))
 (export "kaa:extension/self-test@{version}" (instance $tests))"""
    return _assembled(memory, functions, outside, asks)


def rab_component(
    execute: str = ECHO,
    *,
    tools: Sequence[tuple[str, str, str, str]] = (("say", "Say something", SCHEMA, "Say"),),
    commands: Sequence[tuple[str, str]] | None = (("shout", "Shout something"),),
    self_test: str | None = None,
) -> bytes:
    """A component of rab's world. `self_test`: why its self-test fails; None for no self-test."""
    memory = _Memory()
    functions = {
        "name": _constant("name", memory.words(memory.text("rabbit"))),
        "tools": _constant("tools", memory.records(tools)),
        "execute": _execute(execute),
    }
    outside = f"""
 (type $tool (record (field "name" string) (field "description" string) (field "parameters" string)
   (field "label" string)))
 (export $tool-def "tool-def" (type $tool))
 {_lift("name", "(result string)")} (export "name" (func $name))
 {_lift("tools", "(result (list $tool-def))")} (export "tools" (func $tools))
 {_lift("execute", f"{_RAB_ARGUMENTS} {RESULT}")} (export "execute-tool" (func $execute))"""
    if commands is not None:
        functions["commands"] = _constant("commands", memory.records(commands))
        outside += f"""
 (type $command (record (field "name" string) (field "description" string)))
 (export $slash-command "slash-command" (type $command))
 {_lift("commands", "(result (list $slash-command))")} (export "commands" (func $commands))"""
    if self_test is not None:
        functions["test"] = _constant("test", memory.variant(1, self_test))
        outside += f"""
 {_lift("test", "(result (result (error string)))")} (export "self-test" (func $test))"""
    return _assembled(memory, functions, outside)


def conversation_component(
    *,
    action: tuple[int, str] = (1, "done"),
    before: tuple[int, str] = (0, ""),
    after: str | None = None,
    message: tuple[int, str] = (0, ""),
    section: str | None = "Be brief.",
    events: Sequence[str] = (),
    event_body: str = "",
) -> bytes:
    """A component with all interfaces but `tools`, with fixed answers.

    Args:
        action: of its command `act`: the number of the case, and the text.
        before: the verdict before tools, likewise.
        after: the text that replaces results; None keeps them.
        message: the verdict on messages.
        section: of the prompt.
        events: the types of events that it wants.
        event_body: what it does with one.
    """
    memory = _Memory()
    # result<action, string>: the case of the result, then the case of the action and its text.
    acted = memory.words((0, action[0], *memory.text(action[1])))
    changed = memory.words((0, 0, 0, 0) if after is None else (1, *memory.text(after), 0))
    functions = {
        "commands": _constant("commands", memory.records([("act", "Act", "[HOW]")])),
        "act": f'(func (export "act") (param i32 i32 i32 i32) (result i32) (i32.const {acted}))',
        "before": f'(func (export "before") (param i32 i32 i32 i32 i32 i32) (result i32)'
        f" (i32.const {memory.variant(*before)}))",
        "after": f'(func (export "after") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)'
        f" (i32.const {changed}))",
        "message": f'(func (export "message") (param i32 i32) (result i32) (i32.const {memory.variant(*message)}))',
        "section": _constant("section", memory.option(section)),
        "wanted": _constant("wanted", memory.records([(event,) for event in events])),
        "event": f'(func (export "event") (param i32 i32) {event_body})',
    }
    outside = f"""
 (type $command (record (field "name" string) (field "description" string) (field "argument-hint" string)))
 (type $action (variant (case "nothing") (case "reply" string) (case "submit" string)))
 (type $verdict (variant (case "proceed") (case "block" string) (case "replace" string)))
 (type $call (record (field "id" string) (field "name" string) (field "arguments-json" string)))
 (type $outcome (record (field "text" string) (field "is-error" bool)))
 {_lift("commands", "(result (list $command))")}
 {_lift("act", '(param "name" string) (param "arguments" string) (result (result $action (error string)))')}
 {_lift("before", '(param "call" $call) (result $verdict)')}
 {_lift("after", '(param "call" $call) (param "outcome" $outcome) (result (option $outcome))')}
 {_lift("message", '(param "text" string) (result $verdict)')}
 {_lift("section", "(result (option string))")}
 {_lift("wanted", "(result (list string))")}
 {_lift("event", '(param "event-json" string)')}
 (instance $c (export "command" (type $command)) (export "command-action" (type $action))
   (export "commands" (func $commands)) (export "run-command" (func $act)))
 (export "kaa:extension/commands@0.1.0" (instance $c))
 (instance $b (export "tool-call" (type $call)) (export "verdict" (type $verdict))
   (export "before-tool" (func $before)))
 (export "kaa:extension/before-tool@0.1.0" (instance $b))
 (instance $a (export "tool-call" (type $call)) (export "tool-result" (type $outcome))
   (export "after-tool" (func $after)))
 (export "kaa:extension/after-tool@0.1.0" (instance $a))
 (instance $u (export "verdict" (type $verdict)) (export "user-message" (func $message)))
 (export "kaa:extension/user-message@0.1.0" (instance $u))
 (instance $p (export "section" (func $section)))
 (export "kaa:extension/prompt@0.1.0" (instance $p))
 (instance $e (export "subscriptions" (func $wanted)) (export "on-event" (func $event)))
 (export "kaa:extension/events@0.1.0" (instance $e))"""
    return _assembled(memory, functions, outside)


CORE_MODULE = bytes(wat2wasm("(module)"))
NO_WORLD = bytes(
    wat2wasm(
        '(component (core module $m (func (export "f"))) (core instance $i (instantiate $m))'
        ' (func (export "f") (canon lift (core func $i "f"))))'
    )
)
