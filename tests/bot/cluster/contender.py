"""A process that wants leases, and writes down when it held which."""

import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path

from bot.cluster.instance import load_instance
from bot.cluster.lease import Lease
from bot.cluster.leases import Leases
from bot.cluster.times import LeaseTimes
from memory.postgres.server import Server
from tests.fakes.lease_recorder import start_recording


async def main(url: str, folder: Path, names: list[str], times: LeaseTimes, wild: bool) -> None:
    chance = random.Random(os.getpid())
    us = load_instance(folder, name=folder.name)
    server = Server(url)
    held: dict[str, Lease] = {}
    async with Leases(server, instance=us, private=folder, times=times) as leases:
        for name in names:
            held[name] = leases.want(name)
        start_recording(held, us.id, folder / "held")
        print("ready", flush=True)
        while True:
            await asyncio.sleep(0.3)
            if wild and chance.random() < 0.02:
                name = chance.choice(names)
                await held[name].give_up()
                held[name] = leases.want(name)
            if wild and chance.random() < 0.004:
                time.sleep(times.fence * 1.5)  # noqa: ASYNC251 - a loop that hangs


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    asyncio.run(
        main(
            given["url"],
            Path(given["folder"]),
            given["names"],
            LeaseTimes(**given["times"]),
            given["wild"],
        )
    )
