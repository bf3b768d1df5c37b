"""Which models are known to see."""

from bot.models.vision import known_vision
from tests.fakes.table_test import table_test


@table_test(
    "model",
    [
        *("openai/gpt-4o-mini", "openai/gpt-5.1", "openai/gpt-4.1", "openai/o3", "openai/gpt-4-turbo"),
        *("anthropic/claude-sonnet-4-5", "gemini/gemini-3-pro", "xai/grok-4-fast", "mistral/pixtral-12b"),
        *(
            "groq/meta-llama/llama-4-scout-17b",
            "ollama/llama3.2-vision",
            "ollama/gemma3:4b",
            "ollama/gemma4:e4b",
        ),
        *("ollama/qwen2.5vl:7b", "ollama/qwen3-vl:8b", "zhipu/glm-4.5v", "openrouter/moonshotai/kimi-k2.5"),
    ],
)
def test_these_see(model: str) -> None:
    assert known_vision(model) is True


@table_test(
    "model",
    [
        *("openai/gpt-4", "openai/gpt-3.5-turbo", "openai/o3-mini", "openrouter/openai/gpt-oss-120b"),
        *("deepseek/deepseek-chat", "ollama/deepseek-r1:8b", "together/deepseek-ai/DeepSeek-V3"),
        *("groq/llama-3.3-70b-versatile", "ollama/gemma3:1b", "ollama/qwen3:8b", "zhipu/glm-4.6"),
        *("mistral/codestral-latest", "xai/grok-3", "openrouter/moonshotai/kimi-k2"),
    ],
)
def test_these_do_not(model: str) -> None:
    assert known_vision(model) is False


@table_test("model", ["mistral/mistral-large-latest", "ollama/qwen3.5:9b", "mine/finetune", "x"])
def test_of_others_nothing_is_taken_for_granted(model: str) -> None:
    assert known_vision(model) is None


def test_a_providers_name_says_nothing() -> None:
    assert known_vision("claude-proxy/finetune") is None
