"""OpenAI's Responses, as OpenAI, Azure and the servers that follow Open Responses speak them."""
