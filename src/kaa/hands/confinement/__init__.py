"""Confines the fork-server's slots in the kernel, by the tier that the policy names, or not at all.

with Canaries.prepare(policy) as canaries:
    confinement = establish(policy, home)
    tested = self_test(confinement, policy, canaries)
if confinement.fork() == 0:
    confinement.enclose()

`canaries`, `establishing` and `selftest` are for the hands. The brain loads single modules, such as `contract`.
"""
