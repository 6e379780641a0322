"""The brain's side of the sandbox: which policy the hands get, which tier holds it, what it blocked.

The kernel's side is `kaa.hands.confinement`; the network's is `kaa.workspace.network`.
"""
