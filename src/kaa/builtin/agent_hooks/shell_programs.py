"""Judges calls of programs that execute nothing in scripts for a shell: by the files that they use."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from kaa.builtin.agent_hooks.shell_words import Word

IsOwn: TypeAlias = Callable[[str], bool]

# They read stdin, or files that they name, and execute nothing. Options with a value in the next word; other options.
_READING = {
    "base64": (r"-w", r"-[di]|--decode"),
    "cat": (r"(?!)", r"-[AbEnsTuv]+|-"),
    "cut": (r"-[bcdf]", r"-[bcdf].+|-s|--complement|--(?:delimiter|fields)=.*"),
    "egrep": (r"-[eABCm]", r"-[chinoqvswxEFiP]+|-[ABCm]\d+|--(?:color=\w+|quiet|ignore-case)"),
    "fgrep": (r"-[eABCm]", r"-[chinoqvswxEFiP]+|-[ABCm]\d+|--(?:color=\w+|quiet|ignore-case)"),
    "fold": (r"-w", r"-s|-\w+"),
    "grep": (r"-[chinoqvswxEFP]*[eABCm]", r"-[chinoqvswxEFP]+|-[ABCm]\d+|--(?:color=\w+|quiet|ignore-case)|--"),
    "head": (r"-[cn]", r"-[cn]?-?\d+|-q"),
    "md5sum": (r"(?!)", r"(?!)"),
    "nl": (r"(?!)", r"-\w+"),
    "rev": (r"(?!)", r"(?!)"),
    "sha1sum": (r"(?!)", r"(?!)"),
    "sha256sum": (r"(?!)", r"(?!)"),
    "shasum": (r"-a", r"(?!)"),
    "sort": (r"-[kt]", r"-[bdfghiMnrRuV]+|-k\S+|-t."),
    "tail": (r"-[cn]", r"-[cn]?[-+]?\d+|-q"),
    "tee": (r"(?!)", r"-a"),
    "mkdir": (r"-m", r"-p|-v"),
    "touch": (r"(?!)", r"(?!)"),
    "uniq": (r"-[fsw]", r"-[cdiu]+"),
    "wc": (r"(?!)", r"-[clLmw]+"),
}
# The first operand of these is no file.
_WITH_PATTERN = frozenset({"egrep", "fgrep", "grep"})
_OF_JQ = re.compile(
    r"-[acCejMnrRsS]+|--(?:compact-output|raw-output|raw-input|slurp|null-input|exit-status|tab|sort-keys)"
)
_LOADS_IN_JQ = re.compile(r"\b(?:import|include)\b")
_WITH_TWO = frozenset({"--arg", "--argjson"})
_LONG_OF_CURL = "connect-timeout|data|data-binary|data-raw|header|json|max-time|output|request|url|user-agent|write-out"
_VALUED_OF_CURL = re.compile(f"-[sSfkLgGI]*[XdHmow]|--(?:{_LONG_OF_CURL})")
_OF_CURL = re.compile("-[sSfkLgGI]+|-[sSfkLgGI]*X[A-Z]+|--(?:fail|show-error|silent)")
_SED = re.compile(
    r"(?:^|;)\s*(?:[\d,$]*|/[^/]*/)!?\s*(?:s([/|#,:@!~])(?:(?!\1).)*\1(?:(?!\1).)*\1[gpiI0-9]*|[dpq])?\s*(?=;|$)"
)
_AWK_BEYOND = re.compile(r"system|getline|[|>@]|\bload\b|close")


def judge_of(program: str) -> "Callable[[Sequence[Word], IsOwn], bool] | None":
    """Return what judges the words of a program of this name; None if kaa does not know it.

    It is given what says whether a path is one that commands of the model cannot write.
    """
    if program in _READING:
        return partial(_reads, program)
    return _JUDGES.get(program)


def _reads(program: str, words: Sequence[Word], is_own: IsOwn) -> bool:
    valued, options = (re.compile(pattern) for pattern in _READING[program])
    has_pattern, is_value = program not in _WITH_PATTERN, False
    for word in words:
        if word.splits:
            return False
        if is_value:
            is_value = False
        elif word.value is not None and valued.fullmatch(word.value):
            is_value = True
            has_pattern |= word.value.endswith("e")
        elif word.value is not None and options.fullmatch(word.value):
            continue
        elif not has_pattern and not (word.value or word.head).startswith("-"):
            has_pattern = True
        elif word.value is None or not is_own(word.value):
            return False
    return True


def _jq(words: Sequence[Word], is_own: IsOwn) -> bool:
    skipped, has_filter = 0, False
    for word in words:
        if word.splits:
            return False
        if skipped:
            skipped -= 1
        elif word.value in _WITH_TWO:
            skipped = 2
        elif word.value is not None and _OF_JQ.fullmatch(word.value):
            continue
        elif not has_filter and not (word.value or word.head).startswith("-"):
            # One that is computed could be the model's: it names files to load, and reads the hook's environment.
            if word.value is None or _LOADS_IN_JQ.search(word.value):
                return False
            has_filter = True
        elif word.value is None or not is_own(word.value):
            return False
    return True


def _curl(words: Sequence[Word], is_own: IsOwn) -> bool:
    option = ""
    for word in words:
        text = word.value if word.value is not None else word.head
        if word.splits or not text:
            return False
        if option:
            if option[-1:] == "o" or option == "--output":
                if word.value is None or not is_own(word.value):
                    return False
            elif text.startswith("@") and word.value != "@-":
                return False
            option = ""
        elif _VALUED_OF_CURL.fullmatch(text):
            option = text
        elif text.startswith("-"):
            if word.value is None or not _OF_CURL.fullmatch(text):
                return False
        elif not text.startswith(("https://", "http://")):
            return False
    return True


def _sed(words: Sequence[Word], _is_own: IsOwn) -> bool:
    texts = [word.value for word in words if word.value not in ("-n", "-E", "-r", "-e")]
    return len(texts) == 1 and texts[0] is not None and not _SED.sub("", texts[0]).strip("; ")


def _awk(words: Sequence[Word], _is_own: IsOwn) -> bool:
    programs, is_value = 0, False
    for word in words:
        if word.splits:
            return False
        if is_value:
            is_value = False
        elif word.value in ("-F", "-v"):
            is_value = True
        elif word.value is not None and word.value.startswith("-F"):
            continue
        elif programs or word.value is None or word.value.startswith("-") or _AWK_BEYOND.search(word.value):
            return False
        else:
            programs = 1
    return programs == 1


def _printf(words: Sequence[Word], _is_own: IsOwn) -> bool:
    return not words or not (words[0].splits or (words[0].value or words[0].head or "-").startswith("-"))


def _set(words: Sequence[Word], _is_own: IsOwn) -> bool:
    known = [word.value for word in words]
    return None not in known or known[:1] == ["--"]


_JUDGES: dict[str, Callable[[Sequence[Word], IsOwn], bool]] = {
    "awk": _awk,
    "curl": _curl,
    "gawk": _awk,
    "jq": _jq,
    "mawk": _awk,
    "printf": _printf,
    "sed": _sed,
    "set": _set,
}
