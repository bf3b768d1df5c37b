"""Build the agents: one with all tools, and one for people who may not use the memory."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from bot.agent import Agent
from bot.automatic_recall import AutomaticRecall
from bot.conversations.conversation import Conversation
from bot.dispatch import Agents
from bot.prompt import system_prompt
from bot.requested_notes import RequestedNotes
from bot.searchable_chats import searchable_chats
from bot.tools.conversations import conversation_tools
from bot.tools.documents import document_tools
from bot.tools.memory import memory_tools
from bot.tools.reminder_list import reminder_list_tools
from bot.tools.reminders import reminder_tools
from bot.tools.toolbox import Tool, Toolbox, ToolUse

if TYPE_CHECKING:
    from bot.services import Services


def build_agents(services: "Services", tools: Sequence[Tool] = ()) -> Agents:
    """Return the agent for people with access to the memory, and the guests' agent, which never sees notes.

    `tools`: further tools for the former.
    """
    settings, memory, reminders = services.settings, services.memory, services.reminders
    limits, timezone, compactor = settings.limits, settings.zone.key, services.compactor
    conversations = services.conversations

    async def chats_of(use: ToolUse) -> Collection[str]:
        return await searchable_chats(services, use.person, use.chat, groups=use.groups)

    for_memory = (
        *memory_tools(
            memory,
            services.note_writer,
            conversations,
            chats_of=chats_of,
            today=lambda: services.now().date(),
        ),
        *(conversation_tools(conversations, chats_of=chats_of) if conversations else ()),
        *document_tools(services.document_saver),
        *tools,
    )
    for_all = (*reminder_tools(reminders), *reminder_list_tools(reminders, services.access))

    automatic = AutomaticRecall(
        memory,
        settings=lambda: services.settings.memory.recall,
        is_local=services.embedding.is_local,
        metrics=services.metrics,
    )

    async def recall(conversation: Conversation, prefer: str) -> None:
        if services.model.plan.has_language_model(prefer):  # the notebook searches by itself
            await automatic.recall(conversation)

    async def make_room(conversation: Conversation) -> None:
        may_flush = await compactor.may_flush(conversation.chat)
        await compactor.compact(conversation, cause="overflow", flush=may_flush)

    def agent(*, with_memory: bool) -> Agent:
        def prompt(recalled: str) -> str:
            return system_prompt(
                name=services.settings.agent.name,
                instructions=services.settings.agent.instructions,
                today=services.now().date(),
                timezone=timezone,
                memory=with_memory,
                recalled=recalled if with_memory else "",
            )

        return Agent(
            services.model,
            Toolbox((*for_memory, *for_all) if with_memory else for_all),
            prompt=prompt,
            steps_per_turn=limits.steps_per_turn,
            tokens_per_turn=limits.tokens_per_turn,
            make_room=make_room,
            recall=recall if with_memory else None,
            metrics=services.metrics,
            closed=() if with_memory else [each.spec.name for each in for_memory],
            requested_notes=RequestedNotes(memory, services.note_writer, services.state)
            if with_memory
            else None,
        )

    return Agents(agent(with_memory=True), agent(with_memory=False))
