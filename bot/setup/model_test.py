"""Tests a model by one small call through our own client."""

from collections.abc import Mapping

from bot.config.settings import Settings
from bot.models.errors import ModelError
from bot.models.factory import open_model
from bot.models.protocol import ModelRequest, UserMessage

REQUEST = ModelRequest("Answer with one word.", (UserMessage("Say hello."),), language_model_only=True)


async def try_model(settings: Settings, model: str, environment: Mapping[str, str]) -> ModelError | None:
    """Return why `provider/model` does not answer; None if it does. Each of its keys is tried once."""
    models = settings.models.model_copy(
        update={"chain": (model,), "max_retries": 0, "fallback": False, "params": {}}
    )
    async with open_model(settings.model_copy(update={"models": models}), None, environment) as opened:
        try:
            async for _ in opened.stream(REQUEST):
                pass
        except ModelError as error:
            return error
    return None
