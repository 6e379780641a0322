"""Checkpoints: a slot that knows what every file of the project is, says what changed, and puts files back.

It keeps no contents: they go to the brain with the answers, once each time they are read. What the brain keeps is out
of the slot's reach, so nothing that happens here can damage an earlier checkpoint.

Requests, each with an `id` that its answers repeat. Answers may come in between those to another request:

    {"op": "begin", "max_files", "max_bytes", "announce_bytes", "first_files", "first_bytes",
     "leftovers": {token: directories}}, body: manifest
                                look at everything; say what differs from the manifest. Of the files that it does not
                                know, read only the first ones, unless first_files is 0. Before that, remove the
                                temporary files that restores with these tokens left there when they were killed
    {"op": "proceed"}           after an answer to begin that announced how much would be copied: go on with it
    {"op": "note", "path"}      take in what is at an absolute path before it is changed; waits for nothing
    {"op": "read", "files", "bytes", "max_bytes"}
                                read so many of the files that are left, while nothing else is asked, unless all that
                                is known has max_bytes or more
    {"op": "collect", "files", "bytes"}
                                say what changed since the last answer. Of new files, read no more than so many at once,
                                unless files is 0; the others are `unread` and with a stamp, and are read later
    {"op": "look", "paths"}     what is at some paths now
    {"op": "keeps", "patterns", "name", "kind"}
                                whether all at these paths, or what has the name and type there, would be restored
    {"op": "hold"}              with a descriptor: keep it open, until another one comes, as long as the slot lives
    {"op": "restore", "token", "moves": [[path, expected, target, length], ...]}, body: contents one after another
                                replace what is as expected, in this order

    {"id", "contents": lengths}, body: contents one after another      any number of these, first
    {"id", "changes": number}, body: {"changes": [[path, before, after], ...], "uncovered": {rule: count},
                                     "learned": [[path, state], ...],    what was there all along, and was read only now
                                     "completed": [[path, state], ...]}  the same of what changes told before as unread
    {"id", "announce": {"files", "bytes"}}          to begin, where that is at least announce_bytes, unless it is 0
    {"id", "noted": what the path is called here, or ""}
    {"id", "states": [...], "outside": [path, ...]}  the paths in no directory that may be written, or in one that
                                                    cannot be opened: they may be there
    {"id", "kept", "generated": [directory, ...],    to keeps: would be, but for directories that programs make again;
     "unread": count}                                how many files were not read yet, if they would not be
    {"id"}                                          to hold
    {"id", "results": [null, "" or a text, ...], "remarks": [text, ...]}
                                done; something else is there; why the system refused. For each, too, what was done
                                without, such as a bit of the mode; "" if nothing
    {"id", "error", "errno"}

A manifest is lines of JSON, each a list of [path, state]; later ones replace earlier ones. Paths are relative to the
root, or absolute below another writable directory.
"""
