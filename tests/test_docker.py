"""The container: its files are sound, no secret gets into a build, and docs/docker.md says what is so.

That all of it can be built and run is tried by scripts/try_dockerfile.sh, which takes minutes and wants root.
"""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from bot import healthcheck
from bot.cli.main import build_parser
from bot.config.settings import load_settings
from tests.fakes.commonplace import Commonplace

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/docker.md").read_text("utf-8")
WRAPPER = ROOT / "docker/commonplace"
SETUP = ROOT / "docker/setup"
SCRIPTS = (WRAPPER, SETUP, ROOT / "scripts/try_dockerfile.sh")
PRIVATE = (
    ".env",
    "config.toml",
    "config/config.toml",
    "secrets/telegram",
    "workspace/memory/MEMORY.md",
    "workspace/.commonplace/state.db",
    ".git/config",
    ".venv/pyvenv.cfg",
    "backups/commonplace-20261122T033000Z.tar.gz",
    "docker/token",
    "bot/.env",
    "bot/web/.env.local",
    "requirements/.env",
    "memory/__pycache__/memory.cpython-313.pyc",
    "tests/conftest.py",
    "compose.override.yaml",
)


def instructions() -> list[tuple[str, str]]:
    """What the Dockerfile says: keyword and the rest, in order."""
    lines = [line for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines() if line[:1] != "#"]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def said(keyword: str) -> list[str]:
    return [rest for word, rest in instructions() if word == keyword]


def image_environment() -> dict[str, str]:
    """ENV of the image itself: the last one."""
    return dict(each.split("=", 1) for each in shlex.split(said("ENV")[-1]))


def copied() -> set[str]:
    """What COPY takes out of the folder of the project."""
    words = [each.split() for each in said("COPY") if not each.startswith("--from")]
    return {source for each in words for source in each[:-1]}


def gets_in(path: str) -> bool:
    """Whether .dockerignore lets a file into the build: the last line that fits it, or a folder around it, decides."""
    inside = True
    parents = [path, *map(str, Path(path).parents)]
    for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern = re.escape(line.lstrip("!")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
            if any(re.fullmatch(pattern, each) for each in parents if each != "."):
                inside = line.startswith("!")
    return inside


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    return loaded


@pytest.fixture
def service(compose: dict[str, Any]) -> dict[str, Any]:
    (found,) = compose["services"].values()
    assert isinstance(found, dict)
    return found


# -- Dockerfile and .dockerignore ---------------------------------------------------------------------------


def test_the_linter_has_nothing_to_say_of_the_dockerfile() -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if not hadolint:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([hadolint, "--no-color", "Dockerfile"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_compose_yaml_fits_the_schema_of_compose() -> None:
    """The schema comes with the linter."""
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        "compose.yaml",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok -- validation done\n"), done


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_can_be_read_and_run(script: Path) -> None:
    shell = script.read_text("utf-8").split("\n", 1)[0].removeprefix("#!").split()[-1].rpartition("/")[2]
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    assert subprocess.run([shell, "-n", str(script)], capture_output=True).stderr == b""
    assert script.stat().st_mode & stat.S_IXOTH


@pytest.mark.parametrize("path", PRIVATE)
def test_nothing_private_gets_into_a_build(path: str) -> None:
    assert not gets_in(path)


def test_all_that_is_copied_gets_into_a_build() -> None:
    assert copied()
    kept_out = []
    for source in map(ROOT.joinpath, copied()):
        assert source.exists(), source
        files = source.rglob("*") if source.is_dir() else [source]
        paths = [str(file.relative_to(ROOT)) for file in files if file.is_file()]
        kept_out += [path for path in paths if "__pycache__" not in path and not gets_in(path)]
    assert kept_out == []


def test_every_package_is_locked_by_its_hash() -> None:
    installs = [each for rest in said("RUN") for each in rest.split("&&") if " pip " in each]
    assert len(installs) == 7
    for each in installs:
        assert "--no-deps" in each
        assert "--no-cache-dir" in each
        # The last one is the project itself, which has no hash before it is made.
        assert ("--require-hashes" in each and "-r requirements/" in each) != each.rstrip().endswith(" .")
    named = set(re.findall(r"requirements/[\w-]+\.txt", " ".join(said("RUN"))))
    assert {file for file in named if not (ROOT / file).is_file()} == set()


def test_the_image_runs_as_nobody_in_particular_and_says_how_it_is() -> None:
    assert said("USER") == ["1000:1000"]
    assert said("EXPOSE") == [image_environment()["COMMONPLACE_SERVER__PORT"]]
    assert json.loads(said("ENTRYPOINT")[0]) + json.loads(said("CMD")[0]) == ["commonplace", "run"]
    assert len(said("HEALTHCHECK")) == 1


def test_what_the_image_sets_are_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("COMMONPLACE_")]:
        monkeypatch.delenv(name)
    for name, value in image_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text('workspace = "elsewhere"\n[server]\nport = 1\n', "utf-8")
    settings = load_settings(None, None)
    assert settings.workspace == Path("/workspace")
    assert settings.server.port == 8321
    assert {str(settings.memory_folder), str(settings.private_folder)} < set(json.loads(said("VOLUME")[0]))


def test_sqlite_has_room_for_as_much_as_a_database_holds() -> None:
    """What it writes while it removes text for good, or makes an index, is as large as the file; /tmp has 64 MB."""
    assert image_environment()["SQLITE_TMPDIR"] in json.loads(said("VOLUME")[0])


# -- compose.yaml -------------------------------------------------------------------------------------------


def test_compose_holds_the_container_in(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["init"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["pids_limit"] == 200
    assert service["mem_limit"].endswith(":-512m}")
    assert {"max-size", "max-file"} <= service["logging"]["options"].keys()
    (temporary,) = service["tmpfs"]
    assert {"noexec", "nosuid", "nodev", "size=64m"} <= set(temporary.split(":")[1].split(","))


def test_it_has_the_time_to_end_by_itself(service: dict[str, Any]) -> None:
    assert int(service["stop_grace_period"].removesuffix("s")) > 10


def test_only_this_machine_reaches_what_is_published(service: dict[str, Any]) -> None:
    (port,) = service["ports"]
    assert port == "${PUBLISH:-127.0.0.1:8321}:" + image_environment()["COMMONPLACE_SERVER__PORT"]


def test_notes_are_a_folder_and_databases_a_volume(compose: dict[str, Any], service: dict[str, Any]) -> None:
    mounts = {each["target"]: each for each in service["volumes"]}
    kinds = {target: each["type"] for target, each in mounts.items()}
    assert kinds == {
        "/workspace/memory": "bind",
        "/config": "bind",
        "/workspace/.commonplace": "volume",
        "/models": "volume",
    }
    assert set(json.loads(said("VOLUME")[0])) == kinds.keys() - {
        "/config"
    }  # else a nameless one is made as well
    assert said("WORKDIR")[-1] == "/config"
    assert mounts["/config"]["read_only"] is True
    # Docker would make a missing folder root's own, and the notes could not be written.
    binds = [each for each in mounts.values() if each["type"] == "bind"]
    assert [each["bind"] for each in binds] == [{"create_host_path": False}] * 2
    assert {each["source"] for each in mounts.values() if each["type"] == "volume"} == compose[
        "volumes"
    ].keys()


def test_nothing_secret_stands_in_compose(service: dict[str, Any]) -> None:
    assert service["env_file"] == ".env"
    assert "environment" not in service


def test_a_compose_older_than_the_long_form_of_env_file_takes_it(service: dict[str, Any]) -> None:
    """Compose knows the long form, and `required`, since 2.24; `name` at the top since 2.3."""
    assert isinstance(service["env_file"], str)
    assert "with Compose 2.3 or" in PAGE


def test_a_model_on_this_machine_has_the_name_that_the_page_says(service: dict[str, Any]) -> None:
    assert service["extra_hosts"] == ["host.docker.internal:host-gateway"]


# -- docker/setup -------------------------------------------------------------------------------------------


class Clone:
    """A folder with the script in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "docker").mkdir()
        shutil.copy(SETUP, folder / "docker/setup")

    def __call__(self, *arguments: str, code: int = 0, **environment: str) -> list[str]:
        done = subprocess.run(
            [self.folder / "docker/setup", *arguments],
            env={"PATH": os.environ["PATH"], **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done
        return (self.folder / ".env").read_text("utf-8").splitlines()


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_the_first_step_makes_folders_and_says_who_and_where_you_are(clone: Clone) -> None:
    lines = clone(TZ="Europe/Berlin")
    assert lines == [f"HOST_UID={os.getuid()}", f"HOST_GID={os.getgid()}", "TZ=Europe/Berlin"]
    assert (clone.folder / "config").is_dir()
    assert (clone.folder / "workspace/memory").is_dir()
    assert (clone.folder / ".env").stat().st_mode & 0o777 == 0o600


def test_repeating_the_steps_changes_nothing(clone: Clone) -> None:
    chain = """COMMONPLACE_MODELS__CHAIN=["ollama/qwen3", "builtin/notebook"]"""
    clone(chain, "A_TOKEN=1", TZ="Europe/Berlin")
    file = clone.folder / ".env"
    file.write_text(f"{file.read_text('utf-8')}MINE=as it is\n# a comment\n", "utf-8")
    before = clone(TZ="Asia/Tokyo")
    assert before[-2:] == ["MINE=as it is", "# a comment"]
    assert sorted(clone(chain, "A_TOKEN=1", TZ="Asia/Tokyo")) == sorted(before)
    changed = clone("A_TOKEN=2", "TZ=Asia/Tokyo")
    assert len(changed) == len(before)
    assert {"A_TOKEN=2", "TZ=Asia/Tokyo", "MINE=as it is"} <= set(changed)


def test_a_list_arrives_as_it_is(clone: Clone) -> None:
    lines = clone("""CHAIN=["a/b", "c"]""", TZ="UTC")
    assert lines[-1] == """CHAIN='["a/b", "c"]'"""


@pytest.mark.parametrize("wrong", ["TZ", "=x", "A B=1", "1A=2", "A;B=1"])
def test_what_is_no_setting_is_refused_and_nothing_set(clone: Clone, wrong: str) -> None:
    assert not any(line.startswith("GOOD") for line in clone("GOOD=1", wrong, code=2))


def test_compose_and_page_name_the_base_that_the_dockerfile_has(service: dict[str, Any]) -> None:
    base = said("ARG")[0].removeprefix("PYTHON_IMAGE=")
    assert said("FROM") == ["${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"]
    arguments = service["build"]["args"]
    assert arguments["PYTHON_IMAGE"] == "${PYTHON_IMAGE:-" + base + "}"
    assert arguments.keys() == {each.split("=")[0] for each in said("ARG")}
    assert set(re.findall(r"python:[\w.-]+", PAGE)) == {base}


# -- the command in the container ---------------------------------------------------------------------------


class InContainer:
    """The wrapper with its two folders elsewhere; what it would start prints its environment instead."""

    def __init__(self, folder: Path) -> None:
        self.secrets = folder / "secrets"
        self.secrets.mkdir()
        program = folder / "program"
        program.write_text('#!/bin/sh\necho "arguments=$*"\nenv\n', "utf-8")
        program.chmod(0o755)
        text = WRAPPER.read_text("utf-8")
        for old, new in (
            ("/run/secrets", self.secrets),
            ("/opt/commonplace/bin/commonplace", program),
        ):
            assert old in text
            text = text.replace(old, str(new))
        self._wrapper = folder / "commonplace"
        self._wrapper.write_text(text, "utf-8")

    def __call__(self, *arguments: str, **environment: str) -> dict[str, str]:
        done = subprocess.run(
            ["sh", str(self._wrapper), *arguments],
            env={"PATH": os.environ["PATH"], **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


@pytest.fixture
def in_container(tmp_path: Path) -> InContainer:
    return InContainer(tmp_path)


def test_the_wrapper_hands_its_arguments_on(in_container: InContainer) -> None:
    assert in_container("chat", "-m", "two words")["arguments"] == "chat -m two words"


def test_secrets_are_read_where_docker_mounts_them(in_container: InContainer) -> None:
    folder = "COMMONPLACE_SECRETS_DIR"
    assert in_container("run")[folder] == str(in_container.secrets)
    assert in_container("run", **{folder: "/elsewhere"})[folder] == "/elsewhere"


def test_only_with_a_token_the_server_listens_beyond_the_container(in_container: InContainer) -> None:
    host, token = "COMMONPLACE_SERVER__HOST", "COMMONPLACE_SERVER__TOKEN"
    assert host not in in_container("run")
    assert host not in in_container("run", **{token: ""})
    assert in_container("run", **{token: "secret"})[host] == "0.0.0.0"
    assert in_container("run", **{token: "secret", host: "127.0.0.1"})[host] == "127.0.0.1"
    (in_container.secrets / token).write_text("\n", "utf-8")
    assert host not in in_container("run")
    (in_container.secrets / token).write_text("secret\n", "utf-8")
    assert in_container("run")[host] == "0.0.0.0"


# -- HEALTHCHECK --------------------------------------------------------------------------------------------


@contextmanager
def answering(*pieces: bytes) -> Iterator[int]:
    """A server that says this to whoever comes, piece by piece, and closes; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(1000)
                        for piece in pieces:
                            connection.sendall(piece)
                            time.sleep(0.01)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join()


def looked_at(
    port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    monkeypatch.setenv("COMMONPLACE_SERVER__PORT", str(port))
    return healthcheck.main(), capsys.readouterr().out


@pytest.mark.parametrize(("status", "code"), [(b"200 OK", 0), (b"503 Service Unavailable", 1)])
def test_the_check_says_what_the_service_says(
    status: bytes, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(b"HTTP/1.1 " + status + b"\r\nContent-Length: 9\r\n", b'\r\n{"ok', b'": 1}\r\n') as port:
        assert looked_at(port, monkeypatch, capsys) == (code, '{"ok": 1}\n')


@pytest.mark.parametrize(
    "answer",
    [b"", b"\r\n\r\n", b"HTTP/1.1", b"SSH-2.0-OpenSSH 200\r\n\r\n", b"HTTP/1.1 many\r\n\r\n", b"\xff" * 100],
)
def test_what_is_no_answer_is_not_well(
    answer: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(answer) as port:
        code, told = looked_at(port, monkeypatch, capsys)
    assert code == 1
    assert told.startswith(f"nobody answers on port {port}: ")


@pytest.mark.parametrize("port", ["", "70000", "many"])
def test_where_nobody_listens_it_is_not_well(
    port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        free = closed.getsockname()[1]
    code, told = looked_at(port or free, monkeypatch, capsys)  # type: ignore[arg-type]
    assert code == 1
    assert told.startswith("nobody answers on port")


def test_a_service_that_hangs_is_not_well() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        healthcheck.fetch_health(silent.getsockname()[1], timeout_seconds=0.05)


def test_the_check_imports_next_to_nothing() -> None:
    code = "import sys, bot.healthcheck; print({'asyncio', 'http', 'pydantic', 'ssl', 'typing'} & sys.modules.keys())"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[0:0] = [{str(ROOT)!r}]\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "set()\n", "")


@pytest.mark.thorough
def test_the_check_of_the_image_finds_the_service_well(tmp_path: Path) -> None:
    command = json.loads(said("HEALTHCHECK")[0].split(" CMD ")[1])
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = str(closed.getsockname()[1])
    commonplace = Commonplace(tmp_path)
    commonplace.environment["COMMONPLACE_SERVER__PORT"] = port
    check = [sys.executable, *command[1:]]
    environment = {"COMMONPLACE_SERVER__PORT": port}
    assert subprocess.run(check, env=environment, cwd=tmp_path, capture_output=True).returncode == 1
    with commonplace.start("run") as running:
        deadline = time.monotonic() + 20
        while (done := subprocess.run(check, env=environment, cwd=tmp_path, capture_output=True)).returncode:
            assert time.monotonic() < deadline, done
            time.sleep(0.1)
        assert json.loads(done.stdout)["status"] == "ok"
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=15)
    assert running.returncode == 0


# -- the page -----------------------------------------------------------------------------------------------


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """Every command line of the page that calls docker, word by word, without what comes after a pipe."""
    inline = re.findall(r"`(docker [^`]+)`", PAGE)
    lines = [*re.sub(r"\\\n\s*", "", "\n".join(blocks("sh"))).splitlines(), *inline]
    found = [shlex.split(re.sub(r"^alias \w+='(.*)'$", r"\1", line)) for line in lines]
    return [words for words in found if words[:1] == ["docker"]]


OWN = {"build", "compose", "run", "inspect", "image", "buildx"}
TAKES_VALUE = {"-v", "--user", "--cap-add", "--entrypoint", "--signal"}
PLAIN = {
    "version",
    "up",
    "logs",
    "ps",
    "stop",
    "start",
    "restart",
    "build",
    "down",
    "cp",
    "kill",
    "exec",
    "run",
}


def test_every_command_of_the_page_calls_what_there_is(compose: dict[str, Any]) -> None:
    parser = build_parser()
    seen = set()
    for words in commands():
        assert words[1] in OWN, words
        if words[1] != "compose":
            continue
        action, rest = words[2], words[3:]
        assert action in PLAIN, words
        seen.add(action)
        if action not in {"exec", "run"}:
            continue
        entrypoint = "--entrypoint" in rest
        while rest[0].startswith("-"):
            rest = rest[2 if rest[0] in TAKES_VALUE else 1 :]
        service, *arguments = rest
        assert service in compose["services"], words
        if action == "exec":
            assert arguments[0] == "commonplace", words
            arguments = arguments[1:]
        if arguments and not entrypoint:  # the alias has none
            parser.parse_args(arguments)
    assert seen >= {"up", "exec", "run", "logs", "stop", "cp"}


def test_every_variable_of_compose_is_explained_and_every_one_explained_is_used() -> None:
    text = (ROOT / "compose.yaml").read_text("utf-8")
    used = set(re.findall(r"\$\{(\w+)", text))
    assert {name for name in used if not re.search(rf"\b{name}\b", PAGE)} == set()
    written = set(re.findall(r"(?:`|^|'|\\n)([A-Z][A-Z_]+)=", PAGE, flags=re.MULTILINE))
    of_ours = {name for name in written if not name.startswith(("COMMONPLACE_", "OLLAMA_"))}
    assert of_ours - used <= {"TELEGRAM_BOT_TOKEN", "DISCORD_BOT_TOKEN", "ANTHROPIC_API_KEY", "TZ"}


def test_the_environment_that_the_page_shows_is_accepted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("COMMONPLACE_")]:
        monkeypatch.delenv(name)
    (block,) = blocks("ini")
    set_up = [shlex.split(line) for sh in blocks("sh") for line in sh.splitlines() if "docker/setup" in line]
    set_up_here = [pair for _, *pairs in set_up for pair in pairs if pair.startswith("COMMONPLACE_")]
    inline = [*re.findall(r"`(COMMONPLACE_\w+=[^`]+)`", PAGE), *set_up_here]
    for line in [*block.splitlines(), *inline]:
        name, value = line.split("=", 1)
        if name.startswith("COMMONPLACE_") or name == "TZ":
            monkeypatch.setenv(name, value.strip("'"))
    monkeypatch.chdir(tmp_path)
    settings = load_settings(None, None)
    assert settings.zone.key == "Europe/Berlin"
    assert settings.models.chain[-1] == "builtin/notebook"
    assert settings.memory.embedding.provider == "local"
    assert settings.providers["ollama"].base_url == "http://host.docker.internal:11434/v1"


@pytest.mark.parametrize("block", blocks("yaml"), ids=["secrets"])
def test_an_override_of_the_page_fits_compose(block: str, compose: dict[str, Any]) -> None:
    override = yaml.safe_load(block)
    assert override["services"].keys() == compose["services"].keys()
    for each in override["services"]["commonplace"].get("secrets", ()):
        assert each["source"] in override["secrets"]
        assert re.fullmatch(r"COMMONPLACE_\w+|[A-Z_]+_(TOKEN|API_KEY)", each["target"])


def test_each_line_that_the_page_says_holds_it_in_is_there(service: dict[str, Any]) -> None:
    table = PAGE.split("| line | so that |", 1)[1].split("\n\n", 1)[0]
    named = set(re.findall(r"`(\w+)`", re.sub(r"\|[^|\n]*\|$", "|", table, flags=re.MULTILINE)))
    assert named
    assert named <= service.keys()


def test_without_compose_it_is_held_in_the_same_way(service: dict[str, Any]) -> None:
    (run,) = (words for words in commands() if words[1:3] == ["run", "-d"])
    given = " ".join(run)
    assert f"--tmpfs {service['tmpfs'][0]}" in given
    for option in ("--init", "--read-only", "--cap-drop ALL", "--security-opt no-new-privileges", "--user"):
        assert option in given
    assert f"--pids-limit {service['pids_limit']}" in given
    assert f"--memory {service['mem_limit'].split(':-')[1].rstrip('}')}" in given
    assert f"--stop-timeout {service['stop_grace_period'].removesuffix('s')}" in given
    for mount in service["volumes"]:
        assert f":{mount['target']}" in given
