"""A person who logs in: notes what is shown, and does what a test says."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Person:
    """A `McpLoginScreen`.

    Attributes:
        does: what happens when an address is shown; gets the address.
        pastes: what is pasted, one after another.
        addresses: what was to be opened.
        codes: what was to be entered.
        token_hosts: which hosts were said to issue the tokens.
        complaints: what was said about what was pasted.
    """

    does: Callable[[str], object] = lambda _: None
    pastes: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    token_hosts: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def show_token_host(self, host: str) -> None:
        self.token_hosts.append(host)

    def show_address(self, address: str) -> None:
        self.addresses.append(address)
        self.does(address)

    def show_code(self, address: str, code: str) -> None:
        self.addresses.append(address)
        self.codes.append(code)

    def complain(self, problem: str) -> None:
        self.complaints.append(problem)

    async def pasted(self) -> str:
        if not self.pastes:
            await asyncio.Event().wait()
        return self.pastes.pop(0)
