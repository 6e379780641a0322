"""Checks the models that `--fallback` names before the first request, without asking a server for them."""

from collections.abc import Callable, Sequence

from kaa.llm.local.addresses import AddressError
from kaa.llm.models.discovery import address_named
from kaa.llm.models.matching import split_thinking
from kaa.llm.models.registry import ModelRegistry, UnknownModelError


def check_names(
    names: Sequence[str], registry: ModelRegistry, notify: Callable[[str], None], *, somebody_looks: bool
) -> None:
    """Make sure that each name means a model.

    Args:
        names: models, as `--model` takes them.
        notify: told, in a sentence, of a name that means none.
        somebody_looks: a user reads this now, and can do without that model.

    Raises:
        UnknownModelError: a name means no model, or several, and nobody looks.
    """
    for name in names:
        try:
            _check(name, registry)
        except UnknownModelError as error:
            if not somebody_looks:
                raise
            notify(f"the fallback model {name!r} cannot be used: {error.reason}")


def _check(name: str, registry: ModelRegistry) -> None:
    query, _ = split_thinking(name)
    try:
        if address_named(registry, query) is not None:
            return  # the server tells, when its turn comes
    except AddressError as error:
        raise registry.no_model(str(error), kind=UnknownModelError) from None
    registry.refuse_unknown(name)
