"""Makes one call of a component at a time: the engine, what it can import, and the limits."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError as FutureCancelledError
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from kaa.ext.command_context import CommandContext
from kaa.ext.context import ConversationContext
from kaa.ext.wasm.compiled import CompiledFiles, brief, engine
from kaa.ext.wasm.description import Limits
from kaa.ext.wasm.errors import ComponentError
from kaa.host.log import LOG

if TYPE_CHECKING:
    from wasmtime import Store
    from wasmtime.component import ComponentItem, FuncType, Linker, LinkerInstance, ValType
    from wasmtime.component._types import ComponentExtern


# A guest waits only in a sleep: nothing else that WASI offers it here can block. A thread in a sleep cannot be
# interrupted, so there is none.
_CLOCK = "wasi:clocks/monotonic-clock@0.2."
_MAX_OUTPUT_BYTES = 16 * 1024
_MAX_INSTANCES, _MAX_MEMORIES, _MAX_TABLES, _MAX_TABLE_ELEMENTS = 100, 4, 50, 1_000_000

HostContext: TypeAlias = ConversationContext | CommandContext


class HostFunction(msgspec.Struct, frozen=True):
    """A function of kaa.

    Attributes:
        kind: its type, as `_signature` writes it.
        work: gets the context of the call, None while kaa loads the extension, and the arguments.
    """

    kind: str
    work: Callable[..., Awaitable[object]]


HostFunctions: TypeAlias = dict[str, dict[str, HostFunction]]
"""By the name of the interface, with its version, and the name of the function."""


class Call:
    """One call. The event loop owns it; the thread asks it for host functions.

    Attributes:
        name: the function, for messages.
        clock: the limit of time, which stands still in host functions.
        interrupt: ends its code, while that runs.
        is_stopped: nobody waits for the result any more.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        export: str,
        arguments: tuple[object, ...],
        context: HostContext | None,
    ) -> None:
        self.export = export
        self.name = export.rpartition("#")[2]
        self.arguments = arguments
        self.clock: asyncio.Timeout | None = None
        self.interrupt: Callable[[], None] | None = None
        self.is_stopped = False
        self._loop = loop
        self._context = context
        self._pending: Future[object] | None = None

    def stop(self) -> None:
        """End the call: its code, and a host function that it waits for."""
        self.is_stopped = True
        pending, interrupt = self._pending, self.interrupt  # the thread clears them when it is done
        if pending is not None:
            pending.cancel()
        if interrupt is not None:
            interrupt()

    def serve(self, function: HostFunction, arguments: tuple[object, ...]) -> object:
        """Run a host function on the event loop and wait for it, in the thread of the call."""
        self._pending = asyncio.run_coroutine_threadsafe(self._untimed(function, arguments), self._loop)
        try:
            return self._pending.result()
        finally:
            self._pending = None

    async def _untimed(self, function: HostFunction, arguments: tuple[object, ...]) -> object:
        clock = self.clock
        if self.is_stopped or clock is None or clock.expired():
            raise asyncio.CancelledError
        ends = clock.when()
        left = 0.0 if ends is None else ends - self._loop.time()
        clock.reschedule(None)
        try:
            return await function.work(self._context, *arguments)
        finally:
            if not self.is_stopped:
                clock.reschedule(self._loop.time() + left)


class Worker:
    """An engine with the component's code, for one call at a time: interrupting it ends that call only."""

    def __init__(self, files: CompiledFiles, data: bytes, offered: HostFunctions) -> None:
        from wasmtime.component import Linker

        self._engine = engine()
        self._component = files.load(self._engine, data)
        self._slot = _Slot()
        self._linker = Linker(self._engine)
        _link(self._linker, self.imports, offered, self._slot)

    @property
    def imports(self) -> dict[str, str]:
        """What the component imports, as `Machine.load` returns exports."""
        return self._signatures(self._component.type.imports(self._engine))

    @property
    def exports(self) -> dict[str, str]:
        """What it exports."""
        return self._signatures(self._component.type.exports(self._engine))

    def _signatures(self, items: "dict[str, ComponentExtern]") -> dict[str, str]:
        from wasmtime.component import ComponentInstanceType

        found: dict[str, str] = {}
        for name, item in items.items():
            kind = item.ty
            if isinstance(kind, ComponentInstanceType):
                parts = kind.exports(self._engine).items()
                found |= {f"{name}#{part}": text for part, one in parts if (text := _signature(one.ty))}
            elif text := _signature(kind):
                found[name] = text
        return found

    def run(self, call: Call, limits: Limits, output: bytearray) -> object:
        """Make the call in a fresh instance.

        Raises:
            ComponentError: it trapped or used up a limit.
        """
        from wasmtime import Store, WasiConfig, WasmtimeError

        def keep(data: bytes) -> None:
            output.extend(data[: max(0, _MAX_OUTPUT_BYTES - len(output))])

        wasi = WasiConfig()  # no files, no variables, no network, no standard streams
        wasi.stdout_custom = keep
        wasi.stderr_custom = keep
        with Store(self._engine) as store:
            store.set_limits(limits.memory << 20, _MAX_TABLE_ELEMENTS, _MAX_INSTANCES, _MAX_TABLES, _MAX_MEMORIES)
            store.set_fuel(limits.fuel)
            store.set_wasi(wasi)
            store.set_epoch_deadline(1)
            call.interrupt, self._slot.call = self._engine.increment_epoch, call
            try:
                if call.is_stopped:  # before `interrupt` was there
                    raise ComponentError("it was stopped")
                return self._enter(store, call)
            except WasmtimeError as error:
                raise _failure(call, limits, store, str(error), bytes(output)) from error
            finally:
                call.interrupt = self._slot.call = None

    def _enter(self, store: "Store", call: Call) -> object:
        instance = self._linker.instantiate(store, self._component)
        outer, _, name = call.export.rpartition("#")
        index = instance.get_export_index(store, outer) if outer else None
        index = instance.get_export_index(store, name, index)
        function = None if index is None else instance.get_func(store, index)
        assert function is not None, "it is one of those that load returned"
        return function(store, *call.arguments)


class _Slot:
    """Leads host functions to the call under way."""

    def __init__(self) -> None:
        self.call: Call | None = None


def _link(linker: "Linker", imports: dict[str, str], offered: HostFunctions, slot: _Slot) -> None:
    linker.add_wasip2()
    linker.allow_shadowing = True
    with linker.root() as root:
        for name in sorted({name.partition("#")[0] for name in imports}):
            if name.startswith(_CLOCK):
                with root.add_instance(name) as clock:
                    _add_clock(clock)
            elif name in offered:
                with root.add_instance(name) as instance:
                    for function, work in offered[name].items():
                        instance.add_func(function, _served(slot, work))


def _add_clock(clock: "LinkerInstance") -> None:
    from wasmtime import WasmtimeError

    def refuse(*_: object) -> None:
        raise WasmtimeError("it tried to sleep or to wait for a time, which an extension cannot do")

    clock.add_func("now", lambda _: time.monotonic_ns())
    clock.add_func("resolution", lambda _: 1)
    clock.add_func("subscribe-duration", refuse)
    clock.add_func("subscribe-instant", refuse)


def _served(slot: _Slot, work: HostFunction) -> Callable[..., object]:
    """A host function as wasmtime calls it. It raises nothing but WasmtimeError, which alone stays in its thread."""
    from wasmtime import WasmtimeError

    def function(_: object, *arguments: object) -> object:
        try:
            if slot.call is None or slot.call.is_stopped:
                raise WasmtimeError("it was stopped")
            return slot.call.serve(work, arguments)
        except (FutureCancelledError, asyncio.CancelledError) as error:
            raise WasmtimeError("it was stopped") from error
        except WasmtimeError:
            raise
        except Exception as error:
            LOG.exception("a host function failed")
            raise WasmtimeError(f"a host function failed: {type(error).__name__}") from error

    return function


def _failure(call: Call, limits: Limits, store: "Store", problem: str, output: bytes) -> ComponentError:
    LOG.error("%s of a component failed: %s", call.name, problem)
    if store.get_fuel() == 0:
        return ComponentError(
            f"{call.name} used up its {limits.fuel:,} units of fuel: do less in a call, or raise limits.fuel in"
            " extension.toml"
        )
    printed = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    said = f" It printed: {' '.join(printed)[-300:]}" if printed else ""
    return ComponentError(f"{call.name} failed: {brief(problem)}.{said}")


def _signature(item: "ComponentItem") -> str:
    """The type of a function, such as `func(path: string) -> result<string, string>`; empty for anything else.

    Records and variants are written out, because names of types are not part of a binary.
    """
    from wasmtime.component import FuncType  # lazy: only components need wasmtime

    return _function(item) if isinstance(item, FuncType) else ""


def _function(item: "FuncType") -> str:
    parameters = ", ".join(f"{name}: {_type(kind)}" for name, kind in item.params)
    result = item.result
    return f"func({parameters})" + ("" if result is None else f" -> {_type(result)}")


def _type(kind: "ValType") -> str:
    from wasmtime import component  # lazy, as above

    match kind:
        case component.ListType():
            return f"list<{_type(kind.element)}>"
        case component.OptionType():
            return f"option<{_type(kind.payload)}>"
        case component.ResultType():
            ok, err = kind.ok, kind.err
            return f"result<{'_' if ok is None else _type(ok)}, {'_' if err is None else _type(err)}>"
        case component.RecordType():
            return f"record {{{', '.join(f'{name}: {_type(field)}' for name, field in kind.fields)}}}"
        case component.VariantType():
            cases = (name if payload is None else f"{name}({_type(payload)})" for name, payload in kind.cases)
            return f"variant {{{', '.join(cases)}}}"
        case _:
            return type(kind).__name__.removesuffix("Type").lower()
