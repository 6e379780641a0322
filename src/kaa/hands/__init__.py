"""The process that touches the project. Standard library only; imports nothing else of kaa.

    fork-server  one per workspace; forks slots ahead of need and hands their sockets to the brain
     ├ file slot      answers requests for files, one after another
     └ command slot   runs one command, watches its process tree, reports how it ended

The brain holds one socket per process; when it closes or dies, the socket ends and so does the process, together
with everything it started.
"""
