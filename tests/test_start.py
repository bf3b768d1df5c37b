"""What the service has loaded once it is up: what it needs, and nothing of a channel that nobody has set."""

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from tests.fakes.bot_api.server import BotApi
from tests.fakes.commonplace import ROOT, leads_elsewhere
from tests.fakes.discord_api.server import DiscordApi

# As `commonplace run`; in the end it tells what it has imported.
SERVICE = """
import sys
from bot.cli.main import main
sys.argv = ["commonplace", "run"]
code = main()
print(*sorted(sys.modules))
sys.exit(code)
"""
LIBRARY = {"telegram": "telegram", "discord": "discord"}
BUSY = {
    "PIL": "pictures that people send",
    "apscheduler": "a service that has settled",
    "h2": "requests by httpx",
    "httpcore": "requests by httpx",
    "jinja2": "the status page",
    "llama_cpp": "a model on this machine",
    "markdown_it": "notes on the status page",
    "numpy": "vectors",
    "prometheus_client": "/metrics",
    "prompt_toolkit": "a person at the terminal",
    "pyromark": "replies",
    "pypdf": "documents that people send",
    "rich": "a person at the terminal",
    "sqlite_vec": "one search from the command line",
    "telegram.ext": "nothing: only the library's Bot is used",
    "wcwidth": "tables in replies",
}
"""What an idle service does without, and what it is for."""


async def modules_of(folder: Path, settings: str, channels: Mapping[str, str]) -> set[str]:
    """What the service has imported by the time at which it is told to leave, a moment after all is well."""
    (folder / "config.toml").write_text(settings)
    environment = {name: value for name, value in os.environ.items() if not leads_elsewhere(name)}
    service = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SERVICE,
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT), "HOME": str(folder)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert service.stderr
    try:
        async with asyncio.timeout(40):
            address = ""
            while not address:
                line = (await service.stderr.readline()).decode()
                assert line, "the service has ended"
                address = line.partition("listening on ")[2].partition('"')[0].strip()
            async with httpx.AsyncClient(trust_env=False) as client:
                for pause in itertools.repeat(0.05):
                    answer = await client.get(f"{address}/healthz")
                    if answer.status_code == 200:
                        break
                    await asyncio.sleep(pause)
            assert answer.json()["channels"] == channels
            await asyncio.sleep(0.5)
            service.send_signal(signal.SIGTERM)
            told, _ = await service.communicate()
    finally:
        if service.returncode is None:
            service.kill()
            await service.wait()
    assert service.returncode == 0
    return set(told.decode().split())


@pytest.mark.thorough
@pytest.mark.parametrize("channel", LIBRARY)
async def test_with_one_channel_the_library_of_the_other_is_not_loaded(channel: str, tmp_path: Path) -> None:
    (other,) = LIBRARY.keys() - {channel}
    async with BotApi() as telegram, DiscordApi() as discord:
        base = {"telegram": (telegram.token, telegram.url), "discord": (discord.token, discord.api_base)}
        token, address = base[channel]
        settings = f"""
[server]
port = 0
[models]
chain = ["openai/gpt-4.1", "builtin/notebook"]
[providers.openai]
kind = "openai"
api_key = "not-a-key-123456"
[memory.embedding]
provider = "none"
[{channel}]
token = "{token}"
api_base = "{address}"
"""
        modules = await modules_of(tmp_path, settings, {channel: "up"})
    assert LIBRARY[channel] in modules
    assert LIBRARY[other] not in modules
    assert {f"adapters.{channel}.adapter"} == {f"adapters.{name}.adapter" for name in LIBRARY} & modules
    assert sorted(modules & BUSY.keys()) == []
