"""Old results of tools are left out, in rare batches: what the model read long ago it seldom needs again."""

from kaa.ext.api import ConversationContext, ExtensionAPI, ResultsRequest, ShortenResults


def extend(api: ExtensionAPI) -> None:
    """Register the hook."""
    api.shorten_results(_mask)


async def _mask(request: ResultsRequest, context: ConversationContext) -> ShortenResults | None:
    features = context.features
    # Each reply with a call is at least two messages.
    if not features.result_masking or len(request.messages) <= 2 * features.masking_turns:
        return None
    from kaa.builtin.masking.masking import mask  # lazy: most conversations are short

    return await mask(request, context)
