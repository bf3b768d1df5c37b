"""Pictures for models that see them, and a line of text in their place for those that do not."""

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

log = logging.getLogger(__name__)

UNSEEN_MARK = "[a picture, which you cannot see]"
EARLIER_MARK = "[a picture, which is not shown again]"

_MAY_BE_BLIND = (BadRequest, ModelNotFound)
"""What those raise that take no pictures: OpenRouter has 404 for it."""


class ImageSupport:
    """Whether a model sees, as far as is known; all its keys share it. What is learnt counts for this process."""

    def __init__(self, sees: bool | None = None) -> None:
        """`sees`: by the settings, else by its name; None where neither tells."""
        self.sees = sees
        self._is_told = sees is not None

    def learn_blind(self) -> None:
        """It answers without pictures what it refused with them. What was told before is not doubted for that."""
        if not self._is_told:
            self.sees = False


class ImageFallback:
    """A `LanguageModel` that is given pictures where it sees, and asked once more without them where it refuses.

    A picture stays in a conversation: who cannot bear one would refuse everything that is said after it.
    """

    def __init__(self, model: LanguageModel, sight: ImageSupport) -> None:
        self._model = model
        self._sight = sight

    @property
    def name(self) -> str:
        """`provider/model`, as in the chain."""
        return self._model.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask with as many pictures as it takes: all, those of the turn alone, none."""
        forms = _forms(request, sees=self._sight.sees is not False)
        whole = len(forms) == 1
        while True:
            form = forms.pop(0)
            shown = False
            try:
                async with aclosing(self._model.stream(form)) as events:
                    async for event in events:
                        if isinstance(event, Answer) and not (whole or forms):
                            self._sight.learn_blind()
                        shown = True
                        yield event
                return
            except _MAY_BE_BLIND as error:
                if shown or not forms:
                    raise
                if isinstance(error, ModelNotFound):
                    del forms[:-1]  # how many there are is nothing that it could mean
                log.info("%s is asked again with fewer pictures: %s", self.name, _describe_error(error))


def has_pictures(messages: Sequence[Message]) -> bool:
    """Whether what is to be answered holds a picture: in the latest that was said, before any step was made."""
    return any(
        isinstance(message, UserMessage) and message.images
        for message in messages[_find_turn_start(messages) :]
    )


def without_pictures(messages: Sequence[Message], *, line: str = UNSEEN_MARK) -> tuple[Message, ...]:
    """The messages with a line of text for each picture."""
    return tuple(
        replace(
            message,
            text="\n".join([*filter(None, [message.text]), *[line] * len(message.images)]),
            images=(),
        )
        if isinstance(message, UserMessage) and message.images
        else message
        for message in messages
    )


def _forms(request: ModelRequest, *, sees: bool) -> list[ModelRequest]:
    """The request in the forms in which it is tried; the last of several has no picture at all."""
    messages = request.messages
    blind = replace(request, messages=without_pictures(messages))
    if blind.messages == messages:
        return [request]
    if not sees:
        return [blind]
    forms = [request]
    start = _find_turn_start(messages)
    earlier = without_pictures(messages[:start], line=EARLIER_MARK)
    if has_pictures(messages) and earlier != messages[:start]:  # some take only so many in a request
        forms.append(replace(request, messages=(*earlier, *messages[start:])))
    return [*forms, blind]


def _find_turn_start(messages: Sequence[Message]) -> int:
    """Where the latest turn begins: with the first message of people after the answer before."""
    end = len(messages)
    while end and not isinstance(messages[end - 1], UserMessage):
        end -= 1
    while end and isinstance(messages[end - 1], UserMessage):
        end -= 1
    return end


def _describe_error(error: ModelError) -> str:
    return f"{error.kind}: {error.detail}"
