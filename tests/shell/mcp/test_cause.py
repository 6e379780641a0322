"""Why a program failed is found in what it printed, also where advice stands behind it."""

from kaa.shell.mcp.cause import Cause
from tests.support.tables import each

NPM_LOG = "npm error A complete log of this run can be found in: /c/_logs/2026-11-30T09_23_35_975Z-debug-0.log"
NOT_FOUND = f"""\
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/no-such
npm error 404
npm error 404  The requested resource 'no-such@*' could not be found or you do not have permission to access it.
{NPM_LOG}
npm notice New major version of npm available! 10.8.2 -> 11.6.2"""
SCRIPT = f"""\
TypeError: server is not a function
npm error Lifecycle script `start` failed with error:
npm error code 1
npm error path /p
npm error command sh -c node server.js
{NPM_LOG}"""
DOCKER = """\
docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?

Run 'docker run --help' for more information"""
PIPX = """\
creating shared libraries...
Error: Command '['/c/shared/bin/python3', '-m', 'ensurepip']' returned non-zero exit status 1.
'/usr/bin/python3 -m venv --clear
/c/pipx/shared' failed"""
UV = """\
error: No solution found when resolving tool dependencies
  cause: Because the current Python version (3.11.7) does not satisfy Python>=3.12 and memory depends on Python>=3.12.
         And because only the following versions of memory are available:
             memory<=0.15.0
         we can conclude that your requirements are unsatisfiable."""
OLDER_UV = """\
  ✗ No solution found when resolving tool dependencies:
  ╰─▶ Because memory was not found in the package registry, your requirements are unsatisfiable.
      hint: try another index"""
CHAIN = """\
error: Request failed after 3 retries
  Caused by: Failed to fetch: `https://pypi.org/simple/memory/`
  Caused by: dns error"""
CLAP = """\
error: unexpected argument '--fast' found

Usage: uvx [OPTIONS] [COMMAND]

For more information, try '--help'."""
NODE = """\
Error: Cannot find module 'x'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)

Node.js v22.3.0"""

FETCH = """\
TypeError: fetch failed
    at node:internal/deps/undici/undici:13510:13
    at async main (file:///s.js:3:1) {
  [cause]: Error: getaddrinfo EAI_AGAIN svelte.dev
      at GetAddrInfoReqWrap.onlookup [as oncomplete] (node:dns:107:26) {
    hostname: 'svelte.dev'
  }
}

Node.js v20.9.0"""


@each(
    ("printed", "cause"),
    [
        (FETCH, "TypeError: fetch failed (Error: getaddrinfo EAI_AGAIN svelte.dev)"),
        ("first\nlast", "last"),
        (
            f"npm error could not determine executable to run\n{NPM_LOG}",
            "npm error could not determine executable to run",
        ),
        (NOT_FOUND, "npm error 404 Not Found - GET https://registry.npmjs.org/no-such"),
        (SCRIPT, "TypeError: server is not a function"),
        (f"{NOT_FOUND}\nlater line of a server", "later line of a server"),
        (
            DOCKER,
            "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        ),
        (PIPX, "Error: Command '['/c/shared/bin/python3', '-m', 'ensurepip']' returned non-zero exit status 1."),
        (
            UV,
            "Because the current Python version (3.11.7) does not satisfy Python>=3.12 and memory depends on"
            " Python>=3.12.",
        ),
        (
            OLDER_UV,
            "Because memory was not found in the package registry, your requirements are unsatisfiable.",
        ),
        (CHAIN, "dns error"),
        (f"{CHAIN}\nstarted after all", "started after all"),
        (CLAP, "error: unexpected argument '--fast' found"),
        (NODE, "Error: Cannot find module 'x'"),
        ("Usage: serve PORT", "Usage: serve PORT"),
        ("", ""),
    ],
)
def test_the_cause_is_the_line_before_the_advice(printed: str, cause: str) -> None:
    found = Cause()
    for line in printed.split("\n"):
        found.add(line)

    assert found.text == cause
