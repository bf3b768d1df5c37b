"""Who answers: one agent with all tools, and one for those who may not use the memory."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from bot.agent import Agent
from bot.conversations.conversation import Conversation
from bot.prompt import system_prompt
from bot.tools.toolbox import Tool, Toolbox

if TYPE_CHECKING:
    from bot.config.reload import Current
    from bot.conversations.compaction import Compactor
    from bot.measures import Measures
    from bot.models.protocol import LanguageModel


def agents(
    current: "Current",
    model: "LanguageModel",
    compactor: "Compactor",
    *,
    for_memory: Sequence[Tool],
    for_all: Sequence[Tool],
    measures: "Measures",
    now: Callable[[], datetime],
) -> tuple[Agent, Agent]:
    """The one for those who may use the memory, and the guests' own, who hear nothing of the notes.

    `for_memory`: tools that reach into the notes; `for_all`: the others. `now` is on the owner's clock.
    """
    limits, timezone = current.settings.limits, current.settings.zone.key

    async def make_room(conversation: Conversation) -> None:
        may_flush = await compactor.may_flush(conversation.chat)
        await compactor.compact(conversation, cause="overflow", flush=may_flush)

    def agent(*, with_memory: bool) -> Agent:
        def prompt(recalled: str) -> str:
            return system_prompt(
                name=current.settings.agent.name,
                instructions=current.settings.agent.instructions,
                today=now().date(),
                timezone=timezone,
                memory=with_memory,
                recalled=recalled if with_memory else "",
            )

        return Agent(
            model,
            Toolbox((*for_memory, *for_all) if with_memory else for_all),
            prompt=prompt,
            steps_per_turn=limits.steps_per_turn,
            tokens_per_turn=limits.tokens_per_turn,
            make_room=make_room,
            measures=measures,
            closed=() if with_memory else [each.spec.name for each in for_memory],
        )

    return agent(with_memory=True), agent(with_memory=False)
