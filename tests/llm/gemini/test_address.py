import pytest

from kaa.core.provider import Model
from kaa.llm.gemini.request import stream_url
from kaa.llm.wire import Endpoint
from tests.support.tables import each

_AT_VERTEX = "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4"


@each(
    ("base_url", "model_id", "url"),
    [
        (
            "https://generativelanguage.googleapis.com",
            "gemini-2.5-pro",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        ),
        ("http://h/v1beta/", "m", "http://h/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("http://h/v1alpha", "models/m", "http://h/v1alpha/models/m:streamGenerateContent?alt=sse"),
        ("http://h/gemini/v1", "m", "http://h/gemini/v1/models/m:streamGenerateContent?alt=sse"),
        ("http://h/v1beta?tenant=a", "m", "http://h/v1beta/models/m:streamGenerateContent?tenant=a&alt=sse"),
        ("http://h", "tunedModels/mine", "http://h/v1beta/tunedModels/mine:streamGenerateContent?alt=sse"),
        ("http://v1.example", "m", "http://v1.example/v1beta/models/m:streamGenerateContent?alt=sse"),
    ],
)
def test_addresses_at_google_ai(base_url: str, model_id: str, url: str) -> None:
    assert stream_url(Endpoint(base_url), Model(model_id, "google", "google-generative-ai")) == url


@pytest.mark.parametrize(
    ("base_url", "model_id", "path"),
    [
        (_AT_VERTEX, "gemini-3-pro", "/publishers/google/models/gemini-3-pro"),
        (f"{_AT_VERTEX}/publishers/google", "gemini-3-pro", "/models/gemini-3-pro"),
        (_AT_VERTEX, "publishers/acme/models/m", "/publishers/acme/models/m"),
        ("https://aiplatform.googleapis.com", "m", "/v1/publishers/google/models/m"),
    ],
)
def test_addresses_at_vertex(base_url: str, model_id: str, path: str) -> None:
    url = stream_url(Endpoint(base_url), Model(model_id, "google-vertex", "google-vertex"))

    assert url == f"{base_url}{path}:streamGenerateContent?alt=sse"


def test_a_strange_model_id_cannot_change_where_the_request_goes() -> None:
    url = stream_url(Endpoint("http://h"), Model("m?key=x#y", "google", "google-generative-ai"))

    assert url == "http://h/v1beta/models/m%3Fkey%3Dx%23y:streamGenerateContent?alt=sse"


def test_an_address_that_is_none_is_left_for_the_transport_to_complain_of() -> None:
    assert stream_url(Endpoint("http://["), Model("m", "google", "google-generative-ai")).startswith("http://[")
