"""Trust: what a project may configure and instruct, and who said so.

Before trust nothing that a project supplies is used as configuration or executed. Trust holds for the content that was
shown when it was given (a digest of it) and for that one directory, not for the folders in it: they have content of
their own. What was surveyed is also what is used, so there is no moment in which it could be exchanged.
"""
