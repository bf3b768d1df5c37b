"""Output of the service benchmarks: figures, their limits, and baselines."""

import asyncio
import math
import statistics
import subprocess
import sys
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from workspaces import ENVIRONMENT, ROOT


@dataclass(slots=True)
class Report:
    """Prints figures and remembers those beyond their limits."""

    failed: list[str] = field(default_factory=list)

    def figure(self, text: str, value: float, *, limit: float | None = None) -> None:
        """Print a line that ends in a value, and its limit."""
        kept = limit is None or value <= limit
        wanted = f"  (wanted: <= {limit:g})" if limit is not None else ""
        print(f"  {text:62}{value:9.2f}{wanted}{'' if kept else '  NOT KEPT'}", flush=True)
        if not kept:
            self.failed.append(f"{text}: {value:.2f}")


def measure_to_the_end(measure: Coroutine[Any, Any, list[str]]) -> NoReturn:
    """Run a measurement that returns violations; print them, and exit with 1 if there are any."""
    # Otherwise, if Python is told not to write bytecode, each start of the service compiles its modules.
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "adapters", "bot", "memory"], cwd=ROOT, check=True
    )
    failed = asyncio.run(measure)
    print(f"not as promised: {'; '.join(failed) or 'nothing'}")
    sys.exit(bool(failed))


def import_seconds(imports: str) -> float:
    """Return the CPU time of a new interpreter for these imports, such as `import discord`."""
    code = f"import time; {imports}; print(time.process_time())"
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=ENVIRONMENT, capture_output=True, check=True
    )
    return float(told.stdout)


def paired_difference(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean of `after - before` over `(after, before)`, and half its 95 % confidence interval."""
    differences = [after - before for after, before in pairs]
    spread = statistics.stdev(differences) if len(differences) > 1 else 0.0
    return statistics.mean(differences), 1.96 * spread / math.sqrt(len(differences))
