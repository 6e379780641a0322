"""The machine that kaa itself runs on: programs it executes, code it loads, its own process.

Everything here concerns the brain and the frontends, which hold keys and which no sandbox confines. What sandboxed
commands can write must not be executed there.
"""
