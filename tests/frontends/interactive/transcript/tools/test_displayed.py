"""Results with display values, as a session file may have them."""

import pytest

from kaa.core.messages import Json, ToolCall
from kaa.ext.api import Fields, Text, display_result
from kaa.frontends.interactive.transcript.tool_card import ToolCard
from tests.frontends.interactive.transcript.conversations import result, text_of
