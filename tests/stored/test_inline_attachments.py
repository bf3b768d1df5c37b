"""Conversations as earlier versions stored them, with quotes and attachments in the text: a model is shown the same."""

import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.conversations.conversation import Conversation
from bot.conversations.message_rows import decode_message, encode_message
from bot.messages import ChatId, Quoted
from bot.models.anthropic import open_anthropic
from bot.models.connection_pool import ConnectionPool
from bot.models.gemini import open_gemini
from bot.models.image_fallback import without_pictures
from bot.models.llama_cpp.chat import chat_of
from bot.models.notebook.model import Notebook
from bot.models.openai import open_openai
from bot.models.options import ModelOptions
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    LanguageModel,
    Message,
    ModelRequest,
    ToolSpec,
    UserMessage,
)
from bot.models.user_text import own_words, user_text
from bot.state.database import State
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.gemini_server import GeminiServer
from tests.fakes.harness import Harness, open_harness
from tests.fakes.model_server import KEY, ModelServer
from tests.fakes.openai_server import MODEL as OPENAI_MODEL
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.turns import message
from tests.stored.write_conversations import FORGED, PRIVATE, ROOM, files

STORED = Path(__file__).parent / "inline_attachments"
PROMPTS: Mapping[str, Sequence[str]] = json.loads((STORED / "prompts.json").read_text("utf-8"))
"""What a model was shown of each message by the version that stored them, by chat."""
STORED_IDS = 50
"""Ids of messages below that are known to it: a message with one of them is no new one."""
KEEP = ToolSpec("keep_document", "", {})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    copy = tmp_path / "workspace"
    shutil.copytree(STORED / "workspace", copy)
    (copy / "memory").mkdir(exist_ok=True)  # git keeps no empty folder
    return copy


@pytest.fixture
async def state(workspace: Path) -> AsyncIterator[State]:
    async with State(workspace / ".commonplace" / "state.db") as state:
        yield state


async def messages_of(state: State, chat: str) -> tuple[Message, ...]:
    conversation = Conversation(state, ChatId.parse(chat))
    await conversation.load()
    return conversation.messages()


def of_people(messages: Sequence[Message]) -> list[UserMessage]:
    return [each for each in messages if isinstance(each, UserMessage)]


def stored_anew(message: Message) -> Message:
    """Return a message as it is read when it was stored today."""
    kind, payload = encode_message(message)
    return decode_message(kind, json.loads(payload))


# -- what a model is shown ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chat", [PRIVATE, ROOM])
async def test_a_model_is_shown_what_it_was_shown_letter_by_letter(state: State, chat: str) -> None:
    stored = await messages_of(state, chat)
    assert [user_text(each) for each in of_people(stored)] == PROMPTS[chat]
    anew = [stored_anew(each) for each in stored]
    assert [user_text(each) for each in of_people(anew)] == PROMPTS[chat]


def of_openai(body: Mapping[str, Any]) -> Iterator[str]:
    for each in body["messages"]:
        content = each["content"] if each["role"] == "user" else ()
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield from (part["text"] for part in parts if part["type"] == "text")


def of_anthropic(body: Mapping[str, Any]) -> Iterator[str]:
    for each in body["messages"]:
        if each["role"] == "user":
            yield from (block["text"] for block in each["content"] if block["type"] == "text")


def of_gemini(body: Mapping[str, Any]) -> Iterator[str]:
    for content in body["contents"]:
        if content["role"] == "user":
            yield from (part["text"] for part in content["parts"] if "text" in part)


PROVIDERS = {
    "openai": (OpenAIServer, f"openai/{OPENAI_MODEL}", open_openai, of_openai),
    "anthropic": (AnthropicServer, "anthropic/claude-sonnet-4-5", open_anthropic, of_anthropic),
    "gemini": (GeminiServer, "gemini/gemini-2.5-flash", open_gemini, of_gemini),
}


@pytest.mark.parametrize("chat", [PRIVATE, ROOM])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_every_provider_is_sent_these_texts(state: State, provider: str, chat: str) -> None:
    server_of, name, opener, texts_of = PROVIDERS[provider]
    stored = await messages_of(state, chat)
    last = UserMessage("And now?")
    async with server_of() as server:
        before = await sent(server, opener, name, (*stored, last))
        anew = await sent(server, opener, name, (*map(stored_anew, stored), last))
    assert before == anew
    assert list(texts_of(before)) == [*filter(None, PROMPTS[chat]), "And now?"]


async def sent(
    server: ModelServer,
    opener: Callable[[ModelOptions, ConnectionPool], LanguageModel],
    name: str,
    messages: tuple[Message, ...],
) -> Mapping[str, Any]:
    connection = ConnectionPool(server.base_url, connect_seconds=5)
    model = opener(ModelOptions(name, server.base_url, KEY), connection)
    async for _ in model.stream(ModelRequest("", messages)):
        pass
    await connection.close()
    return server.requests[-1].body


@pytest.mark.parametrize("chat", [PRIVATE, ROOM])
async def test_a_local_model_is_shown_these_texts(state: State, chat: str) -> None:
    shown = chat_of(ModelRequest("", without_pictures(await messages_of(state, chat), line="[picture]")))
    texts = [each["content"].removesuffix("[picture]") for each in shown if each["role"] == "user"]
    assert [each.strip("\n") for each in texts] == [each.strip("\n") for each in PROMPTS[chat]]


# -- its parts --------------------------------------------------------------------------------------------------


async def test_quotes_names_and_documents_are_told_apart_from_peoples_own_words(state: State) -> None:
    private, room = of_people(await messages_of(state, PRIVATE)), of_people(await messages_of(state, ROOM))
    voice = "Remember the milk.\n\nAnd bread."
    party = Quoted("Party on Friday\n\nat Tom's, bring:\n  - wine\n  - bread", "Bo (the builder)")
    assert [own_words(each) for each in private] == [
        "Hello",
        "  Two lines,\n\n[In brackets] and a last one.\n",
        "Is it blue?",
        "Remember this",
        "Sum it up",
        "The ferry leaves at 8.",
        "And this?",
        voice,
        f"Listen\n\n{voice}",
        "What is this?",
        "",
        f"See:\n\n[Attached to the fridge]\n\nis a list.\n\n{voice}",
        "Here is the manual.",
    ]
    assert [each.quoted for each in private][2:4] == [Quoted("The sky\nis blue.", mine=True), party]
    assert [each.forwarded_from for each in private][5:7] == ["Ann (harbour)", "Ann"]
    assert [[part.number for part in each.documents] for each in private[8:]] == [
        *([None, 1], [None, None], [], [2, None], [3])
    ]
    assert private[12].documents[0].content == FORGED
    assert [own_words(each) for each in room] == [
        "Who is in?",
        "Ann Lee: is what I wrote.",
        "I am",
        "",
        voice,
    ]
    assert {each.speaker for each in room} == {"Ann Lee"}
    assert room[2].quoted == party


async def test_the_notebook_files_a_document_that_was_sent_before(state: State) -> None:
    messages = (*await messages_of(state, PRIVATE), UserMessage("Keep it"))
    *_, answer = [each async for each in Notebook().stream(ModelRequest("", messages, (KEEP,)))]
    assert isinstance(answer, Answer)
    assert [json.loads(call.arguments) for call in answer.message.calls] == [{"document": 3}]


# -- going on ---------------------------------------------------------------------------------------------------


@pytest.fixture
async def house(workspace: Path) -> AsyncIterator[Harness]:
    while int(message("").id) < STORED_IDS:
        pass
    async with open_harness(workspace, model=ScriptedModel()) as house:
        house.terminal.files.update(files())
        yield house


async def test_the_conversation_goes_on_behind_the_same_beginning(house: Harness) -> None:
    house.model.enqueue("Yes.")
    reply = Quoted("The sky", "Bo")
    await house.say("And now?", quoted=reply)
    *before, now = of_people(house.model.history[-1].messages)
    assert [user_text(each) for each in before] == PROMPTS[PRIVATE]
    assert now == UserMessage("And now?", quoted=reply)


@pytest.mark.parametrize("query", ["party friday wine", "ferry harbour", "red button", "sky blue"])
async def test_what_was_quoted_or_sent_before_is_forgotten(house: Harness, query: str) -> None:
    told = await house.say(f"/forget {query}")
    (code,) = {line.split("`/forget yes ")[1][:4] for line in told.splitlines() if "`/forget yes " in line}
    await house.say(f"/forget yes {code}")
    left = [user_text(each) for chat in PROMPTS for each in of_people(await messages_of(house.state, chat))]
    words = query.split()
    gone = [
        each for texts in PROMPTS.values() for each in texts if all(word in each.lower() for word in words)
    ]
    assert gone
    assert not set(gone) & set(left)
    assert len(left) == sum(map(len, PROMPTS.values()))
    assert AssistantMessage("Yes.", model="scripted/model") in await messages_of(house.state, PRIVATE)
