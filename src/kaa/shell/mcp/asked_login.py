"""The screen of a login within a conversation."""

from kaa.ext.asking import Asker
from kaa.ext.questions import Confirmed, Entered, OpenUrl, TextInput
from kaa.llm.auth.errors import LoginRefusedError


class AskedLoginScreen:
    """A `McpLoginScreen` within a conversation: its questions are asked as any other."""

    def __init__(self, asker: Asker, server: str) -> None:
        self._asker = asker
        self._server = server
        self._address: str | None = None
        self._problem = ""
        self._token_host = ""

    def show_token_host(self, host: str) -> None:
        self._token_host = host

    def show_address(self, address: str) -> None:
        self._address = address

    def show_code(self, address: str, code: str) -> None:
        raise NotImplementedError("MCP servers have no logins with codes")

    def complain(self, problem: str) -> None:
        self._problem = problem

    async def pasted(self) -> str:
        """See `LoginScreen`. The address is opened only after a yes."""
        address, self._address = self._address, None
        if address is not None:
            how = f"The login happens in the browser; {self._token_host} then issues the tokens."
            question = OpenUrl(f"Log in to MCP server {self._server}?", address, how)
            if await self._asker.ask(question) != Confirmed(yes=True):
                raise self._cancelled()
        why = f"{self._problem}. " if self._problem else ""
        title = f"{why}Waiting for the browser. If it runs on another machine, paste the address that it ends at:"
        match await self._asker.ask(TextInput(title)):
            case Entered(text=text):
                return text
            case _:
                raise self._cancelled()

    def _cancelled(self) -> LoginRefusedError:
        return LoginRefusedError(f"the login to MCP server {self._server} was cancelled", "access_denied")
