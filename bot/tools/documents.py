"""The tool by which a model files a document in the memory."""

from typing import Annotated, Any

from pydantic import Field

from bot.attachments.save_document import DocumentNotSaved, DocumentSaver
from bot.tools.toolbox import BadCall, Tool, ToolUse, tool


def document_tools(filing: DocumentSaver) -> tuple[Tool, ...]:
    """Give the tool that files documents of the chat in which it is called; a call is carried out once."""

    @tool
    async def keep_document(
        document: Annotated[
            int, Field(description="Its number: 12 of [Attached document 12: report.pdf …].", ge=1)
        ],
        title: Annotated[
            str,
            Field(
                description="What the note is called, in a few words of the person's language; left out: the "
                "document's own title or name.",
                max_length=200,
            ),
        ] = "",
        *,
        use: ToolUse,
    ) -> dict[str, Any]:
        """File a whole document that the person sent in the memory, where memory_search finds it from then on.

        Use it when they ask to remember, keep or save a document; not unasked. Tell them the path that comes back.
        """
        try:
            filed = await filing.save_document(document, chat=use.chat, key=use.key, title=title)
        except DocumentNotSaved as error:
            raise BadCall(str(error)) from error
        told = {"path": filed.path, "line_start": filed.line_start, "line_end": filed.line_end}
        remark = "It was filed there before; nothing was written now." if filed.before else filed.remark
        return {**told, "note": remark} if remark else told

    return (keep_document,)
