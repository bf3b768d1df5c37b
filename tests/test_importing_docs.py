"""The commands of docs/importing.md do what the page says."""

import shlex
from pathlib import Path

from scripts.print_transcript import find_blocks
from tests.fakes.assistant_exports import (
    chatgpt_conversation,
    claude_conversation,
    talk,
    write_chatgpt_zip,
    write_claude_zip,
)
from tests.fakes.commonplace import CommonplaceHere

PAGE = Path(__file__).parent.parent / "docs" / "importing.md"


def test_the_commands_of_the_page_work_in_their_order(tmp_path: Path) -> None:
    for folder in ("Downloads", "Documents/vault", ".openclaw/workspace/memory"):
        (tmp_path / folder).mkdir(parents=True)
    write_chatgpt_zip(tmp_path / "Downloads/chatgpt-export.zip", [chatgpt_conversation("c1", talk("key"))])
    write_claude_zip(
        tmp_path / "Downloads/claude-export.zip", [claude_conversation("u1", [("human", "Hello")])]
    )
    (tmp_path / "Documents/vault/oslo.md").write_text("Tram 12.\n", "utf-8")
    (tmp_path / ".openclaw/workspace/MEMORY.md").write_text("- Anna lives in Oslo.\n", "utf-8")
    (tmp_path / ".openclaw/workspace/memory/2026-03-03.md").write_text("- Anna called.\n", "utf-8")
    commonplace = CommonplaceHere(tmp_path)
    commands = [command for block in find_blocks(PAGE.read_text("utf-8")) for command in block.commands]
    told = [
        commonplace.output_of(*shlex.split(command.replace("~", str(tmp_path)))[1:]).splitlines()
        for command in commands
    ]
    assert [lines[0].partition(":")[0].strip() for lines in told[:5]] == [
        "ChatGPT",
        "ChatGPT",
        "Claude",
        "OpenClaw",
        "Markdown",
    ]
    assert told[0][-1].startswith("Nothing was changed.")
    assert len(told[5]) == 4
    assert told[6] == ["Undid import 1 (2 messages)."]
