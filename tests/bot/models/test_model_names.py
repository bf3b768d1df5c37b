from bot.models.known_providers import KNOWN_PROVIDERS
from bot.models.model_names import ways_to_write, with_provider
from tests.fakes.table_test import table_test


@table_test(
    ("name", "provider"),
    [
        ("gpt-4.1", "openai"),
        ("gpt-5-mini", "openai"),
        ("GPT-5", "openai"),
        ("chatgpt-4o-latest", "openai"),
        ("o3", "openai"),
        ("o4-mini", "openai"),
        ("o1-2024-12-17", "openai"),
        ("claude-sonnet-4-5", "anthropic"),
        ("gemini-2.5-pro", "gemini"),
        ("deepseek-chat", "deepseek"),
        ("mistral-large-latest", "mistral"),
        ("codestral-latest", "mistral"),
        ("magistral-medium-2509", "mistral"),
        ("ministral-8b-latest", "mistral"),
        ("devstral-small", "mistral"),
        ("open-mixtral-8x22b", "mistral"),
        ("pixtral-12b", "mistral"),
        ("grok-4-fast", "xai"),
        ("glm-4.6", "zhipu"),
    ],
)
def test_a_well_known_model_is_its_makers(name: str, provider: str) -> None:
    assert with_provider(name) == f"{provider}/{name}"
    assert provider in KNOWN_PROVIDERS


@table_test(
    "name",
    [
        "openai/gpt-4.1",
        "mine/gpt-4.1",
        "openrouter/anthropic/claude-sonnet-4-5",
        "gpt-oss-120b",
        "llama3",
        "qwen3:8b",
        "deepseek-r1:8b",
        "mistral",
        "o",
        "ollama",
        "my-gpt-4",
        "",
    ],
)
def test_any_other_name_stays_as_it_is(name: str) -> None:
    assert with_provider(name) == name


def test_what_may_be_written_names_the_providers_of_the_settings_first() -> None:
    assert (
        ways_to_write("llama3", ["mine"])
        == '"mine/llama3", "ollama/llama3", "groq/llama3" or "openrouter/llama3"'
    )
    assert ways_to_write("llama3", []) == '"ollama/llama3", "groq/llama3" or "openrouter/llama3"'
