"""Can anybody bring the service to a standstill? It is attacked in many ways, and watched.

`python benchmarks/standstill.py [--seconds 15] [--only NAME]`

The service is a process of its own on Telegram, with the tests' Bot API server and the 1,024 file descriptors
that most systems give. During each attack another process polls /healthz ten times a second, and the owner
notes something every second. The table shows the longest wait of /healthz (target 0.5 s, limit 2 s), the
number of lost notes, the growth of the log, and the service's maximum memory.
"""

import argparse
from collections.abc import Iterator

import hostile_http
import hostile_people
import hostile_replies
import standstill_attachments
from figures import measure_to_the_end
from under_attack import Outcome, Scenario, run_scenario

WANTED_SECONDS = 0.5
MAX_SECONDS = 2.0
MAX_LOG_KILOBYTES = 200.0
MAX_MEGABYTES = 300.0


def scenarios() -> Iterator[Scenario]:
    """Yield every scenario, in the order of the table."""
    yield from hostile_http.scenarios()
    yield from hostile_people.scenarios()
    yield from hostile_replies.scenarios()
    yield Scenario(
        standstill_attachments.NAME, standstill_attachments.send_files, standstill_attachments.TABLES
    )


def find_failures(outcome: Outcome) -> list[str]:
    """Return the violations."""
    return [
        *([f"/healthz took {outcome.longest_wait:.2f} s"] if outcome.longest_wait > MAX_SECONDS else []),
        *([f"/healthz failed {outcome.failed_probes} times"] if outcome.failed_probes else []),
        *([f"{outcome.lost} notes were lost"] if outcome.lost else []),
        *([f"{outcome.log_kilobytes:.0f} kB of log"] if outcome.log_kilobytes > MAX_LOG_KILOBYTES else []),
        *([f"{outcome.megabytes:.0f} MB of memory"] if outcome.megabytes > MAX_MEGABYTES else []),
    ]


async def run_attacks(chosen: str, seconds: float) -> list[str]:
    """Print a line for each scenario; return the violations."""
    print(f"{'':30}{'/healthz s':>11}{'failed':>8}{'notes':>7}{'lost':>6}{'log kB':>9}{'MB':>7}", flush=True)
    failed = []
    for scenario in scenarios():
        if chosen not in scenario.name:
            continue
        outcome = await run_scenario(scenario, seconds)
        missed = find_failures(outcome)
        remark = "  NOT KEPT" if missed else "  slow" if outcome.longest_wait > WANTED_SECONDS else ""
        print(
            f"{scenario.name:30}{outcome.longest_wait:11.2f}{outcome.failed_probes:8}{outcome.notes:7}"
            f"{outcome.lost:6}{outcome.log_kilobytes:9.1f}{outcome.megabytes:7.0f}{remark}",
            flush=True,
        )
        failed += [f"{scenario.name}: {each}" for each in missed]
    return failed


def main() -> None:
    """Print the table; exit with 1 on any violation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=15.0, help="of each attack that has no end of its own"
    )
    parser.add_argument("--only", default="", metavar="NAME", help="a part of a scenario's name")
    arguments = parser.parse_args()
    measure_to_the_end(run_attacks(arguments.only, arguments.seconds))


if __name__ == "__main__":
    main()
