"""What never ends and never fits: it is read up to a limit, refused, or left alone and named."""

from __future__ import annotations

import pytest
from reliability.flood import MOST_BYTES as FLOOD_BYTES
from reliability.flood import flood
from test_providers import PROVIDERS

from slowwave.consolidation.model.answer_limit import MOST_BYTES
from slowwave.consolidation.model.calls import Endpoint, open_model
from slowwave.consolidation.model.interface import Call, CallFailed
from slowwave.consolidation.model.usage_limits import UsageLimits, UsageMeter
from slowwave.consolidation.planning.estimates import Estimate

# What lies in the buffers of two sockets when the reader stops reading.
IN_BUFFERS = 16 * 1024 * 1024


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "OLLAMA"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-0123456789")


def why_failed(model: str, base: str) -> str:
    """Ask a question and return why there was no answer."""
    opened = open_model(Endpoint(model, base, first_wait_s=0.001))
    meter = UsageMeter(UsageLimits(), opened.price)
    messages = [{"role": "user", "content": "What is old?"}]
    with pytest.raises(CallFailed) as failed:
        opened.ask(Call("groups", messages, meter.begin(Estimate(10, 10), 10)))
    return str(failed.value)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize(("model", "path"), PROVIDERS.values(), ids=PROVIDERS.keys())
def test_an_answer_without_an_end_is_read_up_to_a_limit_and_asked_for_once(
    model: str, path: str, status: int
) -> None:
    with flood(status) as server:
        why = why_failed(model, server.address + path)
    assert why == f"the server's answer is longer than {MOST_BYTES} bytes"
    assert server.requests == 1
    assert server.sent < MOST_BYTES + IN_BUFFERS < FLOOD_BYTES


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(("model", "path"), PROVIDERS.values(), ids=PROVIDERS.keys())
def test_an_answer_that_is_compressed_unasked_is_not_unpacked(model: str, path: str) -> None:
    with flood(is_compressed=True) as server:
        why = why_failed(model, server.address + path)
    assert why == "the server compresses its answer, which it was asked not to do"
    assert server.requests == 1
