"""Finds tools by words: BM25 over names, descriptions and parameters.

Okapi BM25 with its usual constants: Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), 3.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log

from kaa.core.messages import Json
from kaa.core.provider import ToolSchema

_K1, _B = 1.2, 0.75
# A word of the name says more than one of the description.
_NAME_WEIGHT = 4
# Of one tool: a hostile schema may have millions of words.
_MOST_CHARACTERS = 8_000
_WORD = re.compile(r"[^\W_]+")
# Where a word begins within one: searchIssues, HTTPServer.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def find(query: str, tools: Sequence[ToolSchema], most: int) -> list[ToolSchema]:
    """The tools that fit a query, the best first. A query that is the end of a tool's name finds that tool first.

    Args:
        tools: where to look; of equals the first wins.
    """
    words = _words(query)
    documents = [_document(tool) for tool in tools]
    lengths = [document.total() for document in documents]
    average = sum(lengths) / max(len(lengths), 1) or 1
    frequencies = Counter(word for document in documents for word in document.keys() & set(words))
    scores: dict[int, float] = {}
    for position, document in enumerate(documents):
        norm = _K1 * (1 - _B + _B * lengths[position] / average)
        score = sum(
            log(1 + (len(tools) - frequencies[word] + 0.5) / (frequencies[word] + 0.5))
            * (document[word] * (_K1 + 1) / (document[word] + norm))
            for word in words
            if word in document
        )
        if _is_named(tools[position].name, query):
            score += len(words) * 100
        if score:
            scores[position] = score
    return [tools[position] for position in sorted(scores, key=lambda position: -scores[position])[:most]]


def _is_named(name: str, query: str) -> bool:
    asked = query.strip()
    return bool(asked) and (name == asked or name.endswith(f"__{asked}"))


def _document(tool: ToolSchema) -> Counter[str]:
    words = Counter({word: count * _NAME_WEIGHT for word, count in Counter(_words(tool.name)).items()})
    words.update(_words(tool.description[:_MOST_CHARACTERS]))
    words.update(_words(" ".join(_texts(tool.parameters))[:_MOST_CHARACTERS]))
    return words


def _texts(schema: dict[str, Json]) -> Iterator[str]:
    """Names and descriptions of the parameters."""
    properties = schema.get("properties")
    for name, value in properties.items() if isinstance(properties, dict) else ():
        yield name
        if isinstance(value, dict) and isinstance(description := value.get("description"), str):
            yield description


def _words(text: str) -> list[str]:
    """The words of a text, without the usual endings: `searchIssues` and `search_issue` have the same."""
    return [_stem(word.lower()) for word in _WORD.findall(_HUMP.sub(" ", text))]


def _stem(word: str) -> str:
    for ending, replacement in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending) + replacement
            break
    return word.removesuffix("e") if len(word) > 3 else word
