"""Update the locks in requirements/ and uv's constraints in pyproject.toml.

Locked versions stay unless `--upgrade` is given. One lock serves every platform and Python version that the
project supports. No lock names a registry: where packages come from is up to whoever installs them.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

UV = "uv==0.13.6"
LLAMA = "llama-cpp-python"
ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
PYPROJECT = ROOT / "pyproject.toml"
LOCAL_BUILD = ("cmake>=3.21", "ninja>=1.11", "pip>=23.1", "scikit-build-core>=0.9.2")
"""Build tools of llama-cpp-python: its build requirements, and a pip that reuses its cached builds even if
hashes are required, which the pip of older Pythons does not.
"""
HEADER = "# Printed by `make lock`; not to be edited by hand.\n"


def uv_command(folder: Path) -> str:
    """Return the path of uv, installed into `folder` if the machine has none."""
    if found := shutil.which("uv"):
        return found
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), UV]
    subprocess.run(pip, check=True)  # noqa: S603
    return str(folder / "bin" / "uv")


def resolve_lock(uv: str, source: Path | None, lock: Path, *options: str) -> None:
    """Resolve `source` into `lock`, keeping the versions already in `lock`; None if options say what to resolve."""
    command = [uv, "pip", "compile", *([str(source)] if source else [])]
    command += ["--output-file", str(lock), "--no-config", "--quiet"]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    subprocess.run([*command, *options], check=True, cwd=ROOT)  # noqa: S603
    lock.write_text(HEADER + lock.read_text("utf-8").removeprefix(HEADER), "utf-8")


def resolve_extra(
    uv: str, chosen: tuple[str, str], lock: Path, there: Path, dev: Path, *options: str
) -> None:
    """Resolve what an extra or group adds to the lock `there`: it is installed into an environment with the rest.

    `chosen`: `("--extra", "mcp")`, for example.
    """
    known = [f"--no-emit-package={name}" for name in sorted(set(map(package_name, read_lock(there))))]
    resolve_lock(uv, PYPROJECT, lock, *chosen, "--constraint", str(dev), *known, *options)


def read_lock(lock: Path) -> list[str]:
    """Return the requirements of a lock without hashes: `name==version`, with its marker if any."""
    return [
        line.removesuffix("\\").strip()
        for line in lock.read_text("utf-8").splitlines()
        if re.match(r"\w", line)
    ]


def package_name(requirement: str) -> str:
    """Return the name in `name==version`."""
    return requirement.partition("==")[0]


def sort_key(requirement: str) -> tuple[str, str]:
    """Return the sort key of a requirement in a lock."""
    return package_name(requirement), requirement


def format_constraints(table: str, requirements: list[str]) -> str:
    """Return one array of `[tool.uv]` as written in pyproject.toml."""
    return "\n".join([f"{table} = [", *(f'    "{requirement}",' for requirement in requirements), "]\n"])


def write_constraints(packages: list[str], build: list[str], local: list[str]) -> None:
    """Write the locked versions into `[tool.uv]` at the end of pyproject.toml.

    uv also resolves extras that nobody requested. Listing what llama-cpp-python requires keeps the first `uv
    run` from downloading its source, 77 MB, to find out.
    """
    before, table, _ = PYPROJECT.read_text("utf-8").partition("[tool.uv]\n")
    comment = "# The locked versions, for those who use uv; printed by `make lock`.\n"
    requires = ", ".join(f'"{name}"' for name in map(package_name, local) if name != LLAMA)
    text = format_constraints("constraint-dependencies", sorted({*packages, *local}, key=sort_key))
    text += format_constraints("build-constraint-dependencies", sorted(set(build), key=sort_key))
    text += f'dependency-metadata = [{{ name = "{LLAMA}", requires-dist = [{requires}] }}]\n'
    PYPROJECT.write_text(before + table + comment + text, "utf-8")


def main() -> None:
    """Update all locks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that fit")
    upgrade = ["--upgrade"] if parser.parse_args().upgrade else []
    runtime, dev, build = LOCKS / "runtime.txt", LOCKS / "dev.txt", LOCKS / "build.txt"
    local, local_build = LOCKS / "local.txt", LOCKS / "local-build.txt"
    postgres, postgres_server = LOCKS / "postgres.txt", LOCKS / "postgres-server.txt"
    release = LOCKS / "release.txt"
    build_system = tomllib.loads(PYPROJECT.read_text("utf-8"))["build-system"]
    with tempfile.TemporaryDirectory() as folder:
        uv = uv_command(Path(folder))
        resolve_lock(uv, PYPROJECT, runtime, *upgrade)
        resolve_lock(uv, PYPROJECT, dev, "--group", "dev", "--constraint", str(runtime), *upgrade)
        resolve_extra(uv, ("--extra", "local"), local, runtime, dev, *upgrade)
        resolve_extra(uv, ("--extra", "mcp"), LOCKS / "mcp.txt", runtime, dev, *upgrade)
        resolve_extra(uv, ("--extra", "postgres"), postgres, runtime, dev, *upgrade)
        resolve_extra(uv, ("--group", "postgres-server"), postgres_server, dev, dev, *upgrade)
        wanted = Path(folder, "build.in")
        wanted.write_text("\n".join([*build_system["requires"], "editables"]), "utf-8")
        resolve_lock(uv, wanted, build, *upgrade)
        others = [f"--constraint={lock}" for lock in (dev, postgres_server, build)]
        resolve_lock(uv, None, release, "--group", "release", *others, *upgrade)
        wanted.write_text("\n".join(LOCAL_BUILD), "utf-8")
        resolve_lock(uv, wanted, local_build, "--constraint", str(build), *upgrade)
    packages = [*read_lock(dev), *read_lock(postgres_server), *read_lock(release)]
    write_constraints(packages, [*read_lock(build), *read_lock(local_build)], read_lock(local))


if __name__ == "__main__":
    main()
