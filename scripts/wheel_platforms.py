"""Check that all that Commonplace needs has a wheel for each platform, so that nobody needs a compiler.

Asks the registry for the versions in requirements/runtime.txt, by their hashes, with uv; downloads next to nothing.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "runtime.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = (
    "x86_64-manylinux_2_28",
    "aarch64-manylinux_2_28",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)
"""As uv names them. glibc 2.28 is that of Debian 10, Ubuntu 18.10 and Red Hat 8.

Alpine's musl is not here, since sqlite-vec has no wheel for it, nor 32-bit ARM, since five libraries have none.
"""


def missing_wheel(uv: str, lock: Path, python: str, platform: str) -> str:
    """Return what has no wheel for a Python and a platform, in uv's words; "" if everything has one."""
    command = [uv, "pip", "install", "--no-config", "--dry-run", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--only-binary", ":all:", "--python", sys.executable]
    command += ["--python-version", python, "--python-platform", platform]
    with tempfile.TemporaryDirectory() as folder:
        command += ["--target", folder, "--requirement", str(lock)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in done.stderr.splitlines() if not line.startswith("warning:")]
    return " ".join(lines) or f"uv exited with {done.returncode}"


def check_platforms(
    uv: str, lock: Path = LOCK, *, pythons: Sequence[str] = PYTHONS, platforms: Sequence[str] = PLATFORMS
) -> bool:
    """Print a line for each platform and Python; return whether everything has a wheel on all of them."""
    is_complete = True
    for platform in platforms:
        for python in pythons:
            missing = missing_wheel(uv, lock, python, platform)
            is_complete = is_complete and not missing
            print(f"{'fail' if missing else 'ok  '}  Python {python}  {platform}", missing, flush=True)
    return is_complete


def main() -> None:
    """Check all platforms; exit with 1 if a wheel is missing."""
    sys.exit(not check_platforms(str(Path(sys.executable).with_name("uv"))))


if __name__ == "__main__":
    main()
