import pytest

from collector import conventions
from collector.phases import Phase


@pytest.mark.parametrize(
    "name",
    [
        "gen_ai.prompt",
        "gen_ai.prompt.0.content",
        "gen_ai.completion",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "client.address",
        "user_agent.original",
        "enduser.id",
        "user.email",
        "http.request.header.authorization",
    ],
)
def test_text_and_identity_are_sensitive(name):
    assert conventions.is_sensitive(name)


def test_no_name_of_the_convention_is_sensitive():
    names = [value for key, value in vars(conventions).items() if key.isupper() and isinstance(value, str)]
    assert len(names) > 80
    assert [name for name in names if conventions.is_sensitive(name)] == []


def test_neighbouring_names_are_kept():
    kept = ["gen_ai.prompt_tokens", "gen_ai.usage.prompt_tokens", "client.id", "users.count"]
    assert [name for name in kept if conventions.is_sensitive(name)] == []


def test_a_phase_span_is_named_by_its_phase():
    assert conventions.phase_span_name(Phase.KV_TRANSFER) == "pd.kv_transfer"
