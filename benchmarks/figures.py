"""What benchmarks of the service print: figures, which of them are not as promised, and what they are held against."""

import asyncio
import subprocess
import sys
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, NoReturn

from workspaces import ENVIRONMENT, ROOT


@dataclass(slots=True)
class Report:
    """Prints figures and remembers those that are not as promised."""

    failed: list[str] = field(default_factory=list)

    def figure(self, text: str, value: float, *, most: float | None = None) -> None:
        """A line that ends in a value, and the most that it may be."""
        kept = most is None or value <= most
        wanted = f"  (wanted: <= {most:g})" if most is not None else ""
        print(f"  {text:62}{value:9.2f}{wanted}{'' if kept else '  NOT KEPT'}", flush=True)
        if not kept:
            self.failed.append(f"{text}: {value:.2f}")


def measure_to_the_end(measure: Coroutine[Any, Any, list[str]]) -> NoReturn:
    """Run what measures and gives what is not as promised; print that, and exit 1 where there is any."""
    # Else each start of the service would compile its modules anew, where Python is told to keep nothing.
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "adapters", "bot", "memory"], cwd=ROOT, check=True
    )
    failed = asyncio.run(measure)
    print(f"not as promised: {'; '.join(failed) or 'nothing'}")
    sys.exit(bool(failed))


def import_seconds(imports: str) -> float:
    """Processor time until a new interpreter has done these imports, such as `import discord`."""
    code = f"import time; {imports}; print(time.process_time())"
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=ENVIRONMENT, capture_output=True, check=True
    )
    return float(told.stdout)
