"""Make a release: build it from the last commit, check it, and put it into dist/ with its SBOM and checksums.

`make release` runs this with the tools of requirements/release.txt; docs/releasing.md says what comes before and
after. Nothing is uploaded. dist/ is only written when everything has passed.
"""

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION_FILE = "bot/version.py"
CHANGELOG = "CHANGELOG.md"
AUDITED = ("runtime", "local", "mcp", "postgres")
"""The locks of what people install."""
SKIPPABLE = ("audit", "platforms")
"""The checks that ask a service: a release may be made where that cannot be reached."""


class ReleaseFailed(Exception):
    """No release can be made; the text says why, and what to do."""


# -- before anything is built -------------------------------------------------------------------------------


def check_tree(root: Path) -> None:
    """Raise `ReleaseFailed` if something in the clone is not committed."""
    changed = run(["git", "status", "--porcelain"], root).splitlines()
    if changed:
        shown = ", ".join(line[3:] for line in changed[:5]) + (", …" if len(changed) > 5 else "")
        raise ReleaseFailed(f"not everything is committed ({shown}): commit it, or remove it")


def find_version(root: Path) -> str:
    """Return the version in bot/version.py."""
    text = (root / VERSION_FILE).read_text("utf-8")
    found = re.search(r'^VERSION = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise ReleaseFailed(f"{VERSION_FILE} has no line VERSION = …")
    return found[1]


def check_changelog(root: Path, version: str) -> None:
    """Raise `ReleaseFailed` if the changelog has no section for a version, with its date and what is new."""
    text = (root / CHANGELOG).read_text("utf-8")
    section = re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    if section is None:
        raise ReleaseFailed(
            f"{CHANGELOG} has no section for this version: begin one with ## [{version}] - DATE"
        )
    if not section[1].strip():
        raise ReleaseFailed(f"{CHANGELOG} says nothing about version {version}")


def check_tag(root: Path, version: str) -> None:
    """Raise `ReleaseFailed` if the version has been released from another commit."""
    tagged = run(
        ["git", "tag", "--list", f"v{version}", "--format=%(*objectname)%(objectname)"], root
    ).strip()
    if tagged and run(["git", "rev-parse", "HEAD"], root).strip() not in tagged:
        raise ReleaseFailed(
            f"v{version} is the tag of another commit: set the next version in {VERSION_FILE}"
        )


# -- building -----------------------------------------------------------------------------------------------


def build(root: Path, target: Path) -> list[Path]:
    """Build the sdist and the wheel of the last commit into `target`; return them.

    Only what is committed gets in, with the time of the commit. The wheel is built twice, from the sdist and from the
    tree, and must be the same byte for byte.
    """
    with tempfile.TemporaryDirectory() as folder:
        tree, again = Path(folder, "tree"), Path(folder, "again")
        command = ["git", "archive", "HEAD"]
        archive = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout  # noqa: S603
        unpack(archive, tree)
        commit_time = run(["git", "log", "-1", "--format=%ct"], root).strip()
        environment = os.environ | {"SOURCE_DATE_EPOCH": commit_time}
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir"]
        run([*command, str(target), str(tree)], root, environment)
        run([*command, str(again), "--sdist", "--wheel", str(tree)], root, environment)
        made, same = sorted(target.iterdir()), sorted(again.iterdir())
        if [file.name for file in made] != [file.name for file in same]:
            names = [", ".join(file.name for file in files) for files in (made, same)]
            raise ReleaseFailed(f"the sdist makes {names[0]}, but the tree makes {names[1]}")
        for first, second in zip(made, same, strict=True):
            if first.read_bytes() != second.read_bytes():
                raise ReleaseFailed(f"{first.name} differs when it is built again")
    return made


def unpack(archive: bytes, target: Path) -> None:
    """Unpack a tar archive that Git or the build has made."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        file.extractall(target, filter="data")


# -- checking -----------------------------------------------------------------------------------------------


def check_files(root: Path, files: Sequence[Path]) -> None:
    """Raise `ReleaseFailed` if a registry could not show the description, or the wheel has too much or too little."""
    run([tool("twine"), "check", "--strict", *map(str, files)], root)
    wheels = [str(file) for file in files if file.suffix == ".whl"]
    run([tool("check-wheel-contents"), "--config", str(root / "pyproject.toml"), *wheels], root)


def audit(root: Path) -> None:
    """Raise `ReleaseFailed` if a library has a known vulnerability, or the service knows nothing about it."""
    locks = [f"--requirement=requirements/{name}.txt" for name in AUDITED]
    command = [
        tool("pip-audit"),
        "--strict",
        "--require-hashes",
        "--disable-pip",
        "--progress-spinner=off",
        *locks,
    ]
    try:
        run(command, root)
    except ReleaseFailed as failed:
        raise ReleaseFailed(
            f"{failed}\npip-audit found something, or its service could not answer. If it cannot be reached from "
            "here, run the same on a machine that reaches it, or leave it out with SKIP=audit"
        ) from None


def check_platforms(root: Path) -> None:
    """Raise `ReleaseFailed` if a library has no wheel for a platform."""
    try:
        run([sys.executable, "scripts/wheel_platforms.py"], root)
    except ReleaseFailed as failed:
        raise ReleaseFailed(
            f"{failed}\nIf no registry can be reached from here, leave this out with SKIP=platforms"
        ) from None


def write_sbom(root: Path, wheel: Path, version: str, target: Path) -> None:
    """Write the bill of materials of the default install, in CycloneDX's JSON: the wheel with the locked libraries."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=False)
        python = str(Path(folder, "bin", "python"))
        pip = [tool("uv"), "pip", "install", "--no-config", "--quiet", "--no-deps", "--python", python]
        run([*pip, "--require-hashes", "--requirement", "requirements/runtime.txt"], root)
        run([*pip, str(wheel)], root)
        command = [
            tool("cyclonedx-py"),
            "environment",
            "--output-reproducible",
            "--pyproject",
            "pyproject.toml",
        ]
        run([*command, "--output-file", str(target), python], root)
    document = json.loads(target.read_text("utf-8"))
    document["metadata"]["component"]["version"] = version  # pyproject.toml leaves it to another file
    target.write_text(json.dumps(document, indent=2) + "\n", "utf-8")


def write_checksums(files: Sequence[Path], target: Path) -> None:
    """Write what `sha256sum --check` reads."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    target.write_text("".join(lines), "utf-8")


# -- running ------------------------------------------------------------------------------------------------


def tool(name: str) -> str:
    """Return the path of a tool that is installed beside this Python."""
    return str(Path(sys.executable).with_name(name))


def run(command: Sequence[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    """Run a command to its end; return its output. Raises `ReleaseFailed` with what it said."""
    done = subprocess.run(  # noqa: S603
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = f"{done.stdout}\n{done.stderr}".strip()[-4000:]
        raise ReleaseFailed(f"{Path(command[0]).name} failed with {done.returncode}:\n{said}")
    return done.stdout


def make_release(root: Path, skipped: Sequence[str]) -> None:
    """Make a release of the clone in `root`, without the checks in `skipped`."""
    check_tree(root)
    version = find_version(root)
    check_changelog(root, version)
    check_tag(root, version)
    print(f"release: {version}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "dist")
        target.mkdir()
        files = build(root, target)
        print("release: built; the sdist makes the same wheel, byte for byte", flush=True)
        check_files(root, files)
        print("release: twine and check-wheel-contents passed", flush=True)
        checks: dict[str, Callable[[Path], None]] = {"audit": audit, "platforms": check_platforms}
        for name, check in checks.items():
            if name in skipped:
                print(f"release: {name} was LEFT OUT, as SKIP says", flush=True)
                continue
            check(root)
            print(f"release: {name} passed", flush=True)
        (wheel,) = (file for file in files if file.suffix == ".whl")
        sbom = target / f"commonplace-{version}.cdx.json"
        write_sbom(root, wheel, version, sbom)
        files.append(sbom)
        write_checksums(files, target / "SHA256SUMS")
        shutil.rmtree(root / "dist", ignore_errors=True)
        shutil.copytree(target, root / "dist")
    print("release: done; dist/ has " + ", ".join(sorted(file.name for file in (root / "dist").iterdir())))


def main() -> None:
    """Make a release of this clone; exit with 1 and a reason if that is not possible."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--skip", nargs="*", default=[], choices=SKIPPABLE, help="a check to leave out")
    try:
        make_release(ROOT, parser.parse_args().skip)
    except ReleaseFailed as failed:
        sys.exit(f"release: {failed}")


if __name__ == "__main__":
    main()
