from bot import phrases
from bot.model_error_text import explain_fallback, explain_no_answer
from bot.models.errors import BadKey, CutOff, NoModelAnswered, Overloaded, RateLimited, Unreachable

KEY = BadKey("401: key sk-very-secret refused", model="openai/gpt-4.1")
BUSY = Overloaded("529", model="anthropic/claude")
LIMIT = RateLimited("429", model="openai/gpt-4.1")


def test_one_models_failure_is_one_sentence() -> None:
    told = "I got no answer from the language model: API key missing or rejected. I've kept your message; "
    assert explain_no_answer(KEY) == f"{told}/retry asks again."
    assert explain_no_answer(NoModelAnswered([LIMIT, KEY])) == f"{told}/retry asks again."


def test_several_models_are_told_each_with_its_last_reason_and_no_secret() -> None:
    assert explain_no_answer(NoModelAnswered([LIMIT, KEY, BUSY])) == (
        "None of the language models answered: openai/gpt-4.1: API key missing or rejected; "
        "anthropic/claude: it is overloaded. I've kept your message; /retry asks again."
    )


def test_without_any_try_there_is_still_a_sentence() -> None:
    assert "it failed" in explain_no_answer(NoModelAnswered([]))


def test_a_fallback_that_nobody_needs_to_know_of_is_not_told() -> None:
    assert explain_fallback("anthropic/claude", [KEY], prefer="", to_be_told=False) == ""
    assert explain_fallback("a/chosen", [], prefer="a/chosen", to_be_told=False) == ""
    assert explain_fallback("builtin/notebook", [], prefer="", to_be_told=False) == ""
    assert explain_fallback("a/one", [], prefer="", to_be_told=True) == "", "the same model, asked again"


def test_a_connection_that_broke_off_was_there_before() -> None:
    assert "it stopped in the middle of its answer" in explain_no_answer(CutOff("cut", model="a/one"))


def test_a_fallback_to_the_notebook_is_one_sentence_and_what_to_do() -> None:
    away = Unreachable("refused", model="ollama/qwen3")
    assert explain_fallback("builtin/notebook", [away], prefer="", to_be_told=True) == (
        "*(ollama/qwen3 could not be reached, so the built-in notebook answered. `commonplace doctor` shows what to "
        "fix.)*"
    )
    busy = explain_fallback("builtin/notebook", [BUSY], prefer="", to_be_told=True)
    assert (
        busy == "*(anthropic/claude is overloaded, so the built-in notebook answered. `/retry` asks again.)*"
    )


def test_every_kind_of_failure_has_its_clause() -> None:
    assert phrases.MODEL_FAILED.keys() == phrases.MODEL_ERRORS.keys()
