import asyncio
import subprocess
import sys
from pathlib import Path

from bot.chat_lock import lock_chat, occupy_chat
from bot.messages import ChatId

CHAT = ChatId("terminal", "main")
HOLDER = """
import asyncio, sys
from pathlib import Path
from bot.chat_lock import lock_chat
from bot.messages import ChatId

async def main():
    async with lock_chat(Path(sys.argv[1]), ChatId("terminal", "main")):
        print("held", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_one_after_the_other_in_a_chat(tmp_path: Path) -> None:
    inside: list[int] = []

    async def turn(n: int) -> None:
        async with lock_chat(tmp_path, CHAT):
            inside.append(n)
            assert len(inside) == 1
            await asyncio.sleep(0.01)
            inside.clear()

    await asyncio.gather(*(turn(n) for n in range(5)))


async def test_other_chats_are_not_held_up(tmp_path: Path) -> None:
    async with lock_chat(tmp_path, CHAT), lock_chat(tmp_path, ChatId("terminal", "other")):
        pass


async def test_whoever_waits_can_be_stopped(tmp_path: Path) -> None:
    async with lock_chat(tmp_path, CHAT):
        waiting = asyncio.create_task(lock_chat(tmp_path, CHAT).__aenter__())
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
    async with asyncio.timeout(20), lock_chat(tmp_path, CHAT):
        pass


async def test_a_process_that_dies_lets_go(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == b"held\n"
        waiting = asyncio.create_task(lock_chat(tmp_path, CHAT).__aenter__())
        await asyncio.sleep(0.1)
        assert not waiting.done()
        holder.kill()
        holder.wait()
        await asyncio.wait_for(waiting, 20)


async def test_who_comes_to_a_chat_is_told_whether_another_process_is_there(tmp_path: Path) -> None:
    sitter = HOLDER.replace("async with lock_chat", "with occupy_chat").replace("lock_chat", "occupy_chat")
    with subprocess.Popen(
        [sys.executable, "-c", sitter, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        with occupy_chat(tmp_path, CHAT) as others:
            assert others
        with occupy_chat(tmp_path, ChatId("terminal", "other")) as others:
            assert not others
        process.kill()
        process.wait()
        with occupy_chat(tmp_path, CHAT) as others:
            assert not others, "who has died, or left, is not there"
        with occupy_chat(tmp_path, CHAT) as others, occupy_chat(tmp_path, CHAT) as more:
            assert (others, more) == (False, True)
