"""Checks the embedding provider: which one is used and why, whether it answers, and whose vectors are stored."""

import asyncio
from collections.abc import Iterator
from importlib.util import find_spec

from bot.config.settings import Settings
from bot.doctor.check import NETWORK_SECONDS, Check, Topic, run_with_timeout
from bot.doctor.models import gguf_problem
from memory.embedding_backfill import PROBE_TEXT
from memory.embeddings.errors import EmbeddingError
from memory.embeddings.factory import Embedding
from memory.embeddings.model_files import find_local_path, is_downloaded
from memory.embeddings.protocol import ModelId, split_stored_name
from memory.embeddings.provider_choice import ProviderChoice, open_provider
from memory.embeddings.unit_vectors import BYTES_PER_NUMBER
from memory.index.sqlite_inspection import IndexInspection
from memory.installation import how_to_add

TOPIC = Topic("vectors")
BY_WORDS = "until then, notes are found by words only"


async def check_embeddings(
    settings: Settings,
    embedding: Embedding,
    index: IndexInspection | None,
    *,
    alive: bool,
    seconds: float = NETWORK_SECONDS,
) -> list[Check]:
    """Ask each chosen provider for the vector of one word, within `seconds` each.

    `alive`: whether a process of ours runs; if so, a local model is not loaded a second time.
    """
    choice, fallback = embedding.choice, embedding.fallback
    checks = [TOPIC.ok("from", choice.reason)]
    if choice.provider == "none":
        if embedding.error:
            checks.append(TOPIC.warn("problem", embedding.error, BY_WORDS))
        return checks
    is_set = settings.memory.embedding.provider != "auto"
    asked = [_check_provider("answer", settings, choice, index, is_needed=is_set, alive=alive)]
    if fallback.provider != "none":
        asked.append(_check_provider("fallback", settings, fallback, None, is_needed=False, alive=alive))
    names = ("answer", "fallback")
    found, *rest = await asyncio.gather(
        *(
            run_with_timeout(TOPIC, each, name=name, seconds=seconds)
            for each, name in zip(asked, names, strict=False)
        )
    )
    checks += found
    for more in rest:
        checks += [TOPIC.ok("fallback", fallback.reason), *more]
    return checks


async def _check_provider(
    name: str,
    settings: Settings,
    choice: ProviderChoice,
    index: IndexInspection | None,
    *,
    is_needed: bool,
    alive: bool,
) -> list[Check]:
    def not_usable(detail: str, fix: str) -> list[Check]:
        return [TOPIC.fail(name, detail, fix) if is_needed else TOPIC.warn(name, detail, fix)]

    if choice.provider == "local":
        if find_spec("llama_cpp") is None:
            return not_usable("llama-cpp-python is not installed", f"run {how_to_add('local')}; {BY_WORDS}")
        local = choice.options or settings.memory.embedding.local
        if not is_downloaded(local.model_path, local.cache_dir):
            if local.model_path and not local.model_path.startswith("hf:"):
                return not_usable(
                    f"{local.model_path} does not exist",
                    "put the file there, or correct memory.embedding.local.model_path",
                )
            return [TOPIC.ok(name, "the model will be downloaded at first use")]
        if fault := gguf_problem(find_local_path(local.model_path, local.cache_dir)):
            return not_usable(fault, "correct memory.embedding.local.model_path")
        if alive:
            return [TOPIC.ok(name, "the model is there; not loaded again, since Commonplace is running")]
    try:
        model = await _probe_model(choice)
    except EmbeddingError as error:
        if choice.unsure:
            fix = f"set memory.embedding.provider, or leave it as it is: {BY_WORDS}"
            return [TOPIC.warn(name, f"the chat provider gives no vectors at the moment: {error}", fix)]
        return not_usable(str(error), f"fix that, or choose another memory.embedding.provider; {BY_WORDS}")
    except (ImportError, ValueError, OSError) as error:
        return not_usable(f"{choice.provider} cannot be used: {error}", "check the proxy and its settings")
    checks = [TOPIC.ok(name, f"answers with vectors of {model.dimensions} dimensions")]
    if index is not None:
        checks += _check_stored(model, index)
    return checks


async def _probe_model(choice: ProviderChoice) -> ModelId:
    """Return which model answers. Raises EmbeddingError, and what opening the provider raises."""
    provider = open_provider(choice)
    if provider is None:
        return ModelId(choice.provider, "", 0)
    try:
        [vector] = await provider.embed([PROBE_TEXT], purpose="query")
        return ModelId(provider.provider, provider.model, len(vector) // BYTES_PER_NUMBER, provider.version)
    finally:
        async with asyncio.timeout(2):
            await provider.close()


def _check_stored(model: ModelId, index: IndexInspection) -> Iterator[Check]:
    """Check whether the stored vectors were made by this model; others are useless."""
    named = [
        each
        for each in index.vectors
        if each.count
        and (each.provider, each.dimensions) == (model.provider, model.dimensions)
        and model.is_version_of(each.model)
    ]
    fitting = [each for each in named if each.model == model.stored_name]
    if fitting:
        yield TOPIC.ok("stored", f"{fitting[0].count} of {model.model}")
    elif named:
        detail = (
            f"{named[0].count} of an earlier {model.model}, kept if a few texts still give the same vectors"
        )
        yield TOPIC.ok("stored", detail)
    elif index.vectors and any(each.count for each in index.vectors):
        last = next(each for each in index.vectors if each.count)
        name, _ = split_stored_name(last.model)
        detail = (
            f"{last.count} of {name} ({last.dimensions} dimensions), none of the current model "
            f"({model.dimensions} dimensions): all will be made again, which may cost money"
        )
        yield TOPIC.warn("stored", detail, "run: commonplace memory index; or go back to the former model")
    elif index.stamps:
        yield TOPIC.ok("stored", "none yet; the service makes them, or: commonplace memory index")
