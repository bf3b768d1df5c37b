"""`commonplace init`: a settings file with explanations, and the folders."""

import json
import os
from pathlib import Path

from bot.cli.outcome import DONE, CommandFailed
from memory.disk import make_private_folder


def init(folder: Path, *, config: Path | None, workspace: Path | None) -> int:
    """Write FOLDER/config.toml (or `config`) and make the workspace; raise CommandFailed where it is there already."""
    from bot.config.example import example_config
    from bot.config.settings import data_folder, load_settings

    file = folder / "config.toml" if config is None else config
    text = example_config()
    if workspace is None and file == Path("config.toml") and not Path("workspace").exists():
        # Notes from before there was a settings file go on where they are.
        workspace = notes if (notes := data_folder()).is_dir() else None
    if workspace is not None:
        text = text.replace(
            'workspace = "workspace"', f"workspace = {json.dumps(str(workspace.absolute()))}", 1
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Only its owner may read it: this is where tokens and keys go. O_EXCL: never over one that is there.
        with os.fdopen(
            os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as stream:
            stream.write(text)
    except FileExistsError as error:
        raise CommandFailed(f"{file} is there already and was left as it is") from error
    settings = load_settings(file, workspace)
    make_private_folder(settings.private_folder)
    settings.memory_folder.mkdir(parents=True, exist_ok=True)
    print(f"Wrote {file}; the notes will be in {settings.memory_folder}.")
    print(f"Now: commonplace chat --config {file}")
    return DONE
