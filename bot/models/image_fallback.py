"""Send images to models that accept them, and a line of text in their place to those that do not."""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from bot.models.errors import BadRequest, ModelError, ModelNotFound
from bot.models.protocol import (
    Answer,
    LanguageModel,
    Message,
    ModelEvent,
    ModelRequest,
    UserMessage,
)
from bot.models.user_text import user_text

log = logging.getLogger(__name__)

UNSEEN_MARK = "[a picture, which you cannot see]"
EARLIER_MARK = "[a picture, which is not shown again]"

_MAY_BE_BLIND = (BadRequest, ModelNotFound)
"""Errors of models that reject images: OpenRouter sends 404."""


class ImageSupport:
    """Whether a model accepts images, if known; shared by all its keys, for the life of the process."""

    def __init__(self, sees: bool | None = None) -> None:
        """`sees`: from the settings, else by the name; None if neither says."""
        self.sees = sees
        self._is_told = sees is not None

    def learn_blind(self) -> None:
        """Record that it answered without images after rejecting them; settings and names take precedence."""
        if not self._is_told:
            self.sees = False


class ImageFallback:
    """A `LanguageModel` that sends images if the model accepts them, and retries without them if not.

    Images stay in a conversation, so a model that rejects them would reject everything said afterwards.
    """

    def __init__(self, model: LanguageModel, image_support: ImageSupport) -> None:
        self._model = model
        self._image_support = image_support

    @property
    def name(self) -> str:
        """`provider/model`, as in the chain."""
        return self._model.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask with as many images as the model accepts: all, those of this turn only, or none."""
        forms = _forms(request, sees=self._image_support.sees is not False)
        whole = len(forms) == 1
        while True:
            form = forms.pop(0)
            shown = False
            try:
                async with aclosing(self._model.stream(form)) as events:
                    async for event in events:
                        if isinstance(event, Answer) and not (whole or forms):
                            self._image_support.learn_blind()
                        shown = True
                        yield event
                return
            except _MAY_BE_BLIND as error:
                if shown or not forms:
                    raise
                if isinstance(error, ModelNotFound):
                    del forms[:-1]  # the error cannot be about their number
                log.info("trying %s again with fewer pictures: %s", self.name, _describe_error(error))


def has_pictures(messages: Sequence[Message]) -> bool:
    """Return whether the latest message, before any step of the answer, holds an image."""
    return any(
        isinstance(message, UserMessage) and message.images
        for message in messages[_find_turn_start(messages) :]
    )


def without_pictures(messages: Sequence[Message], *, line: str = UNSEEN_MARK) -> tuple[Message, ...]:
    """Return the messages with a line of text in place of each image."""
    return tuple(
        UserMessage(
            "\n".join([*filter(None, [user_text(message)]), *[line] * len(message.images)]),
            recalled=message.recalled,
        )
        if isinstance(message, UserMessage) and message.images
        else message
        for message in messages
    )


def _forms(request: ModelRequest, *, sees: bool) -> list[ModelRequest]:
    """Return the forms of the request to try in order; the last of several has no images."""
    messages = request.messages
    blind = replace(request, messages=without_pictures(messages))
    if blind.messages == messages:
        return [request]
    if not sees:
        return [blind]
    forms = [request]
    start = _find_turn_start(messages)
    earlier = without_pictures(messages[:start], line=EARLIER_MARK)
    if (
        has_pictures(messages) and earlier != messages[:start]
    ):  # some models limit the number of images per request
        forms.append(replace(request, messages=(*earlier, *messages[start:])))
    return [*forms, blind]


def _find_turn_start(messages: Sequence[Message]) -> int:
    """Return the index at which the latest turn begins: the first message of people after the last answer."""
    end = len(messages)
    while end and not isinstance(messages[end - 1], UserMessage):
        end -= 1
    while end and isinstance(messages[end - 1], UserMessage):
        end -= 1
    return end


def _describe_error(error: ModelError) -> str:
    return f"{error.kind}: {error.detail}"
