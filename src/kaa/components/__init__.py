"""The formats of files that agents share: skills, commands and the like. Parsers only: text becomes data.

Nothing here knows where files are, whether the user trusts them, or what a conversation does with them. What a parser
does not understand it names in `notes`, sentences for people, and goes on.
"""
