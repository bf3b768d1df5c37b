"""`commonplace init`: write a commented settings file and create the folders."""

import json
import os
from pathlib import Path

from bot.cli.outcome import DONE, CommandFailed
from memory.disk import make_private_folder


def init(folder: Path, *, config: Path | None, workspace: Path | None) -> int:
    """Write FOLDER/config.toml (or `config`) and create the workspace. Raises CommandFailed if the file exists."""
    from bot.config.example import example_config
    from bot.config.settings import data_folder, load_settings

    file = folder / "config.toml" if config is None else config
    text = example_config()
    if workspace is None and file == Path("config.toml") and not Path("workspace").exists():
        # Notes that are older than the settings file stay where they are.
        workspace = notes if (notes := data_folder()).is_dir() else None
    if workspace is not None:
        text = text.replace(
            'workspace = "workspace"', f"workspace = {json.dumps(str(workspace.absolute()))}", 1
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Readable by its owner only, since it will hold keys. O_EXCL: never replace an existing file.
        with os.fdopen(
            os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as stream:
            stream.write(text)
    except FileExistsError as error:
        raise CommandFailed(f"{file} already exists and was left unchanged") from error
    settings = load_settings(file, workspace)
    make_private_folder(settings.private_folder)
    settings.memory_folder.mkdir(parents=True, exist_ok=True)
    print(f"Wrote {file}. Your notes will be in {settings.memory_folder}.")
    print(f"Next: commonplace chat --config {file}")
    return DONE
