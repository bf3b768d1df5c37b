"""The tool with which a model files a document in the memory."""

from typing import Annotated, Any

from pydantic import Field

from bot.attachments.save_document import DocumentNotSaved, DocumentSaver
from bot.tools.toolbox import BadCall, Tool, ToolUse, tool


def document_tools(document_saver: DocumentSaver) -> tuple[Tool, ...]:
    """Return the tool that files documents of the chat in which it is called; each call runs once."""

    @tool
    async def keep_document(
        document: Annotated[
            int, Field(description="Its number: 12 for [Attached document 12: report.pdf …].", ge=1)
        ],
        title: Annotated[
            str,
            Field(
                description="Title of the note: a few words in the person's language. Leave it out to use the "
                "document's own title or name.",
                max_length=200,
            ),
        ] = "",
        *,
        use: ToolUse,
    ) -> dict[str, Any]:
        """File a whole document that the person sent in the memory, so that memory_search can find it.

        Use it only when they ask you to remember, keep or save a document. Tell them the path in the result.
        """
        try:
            filed = await document_saver.save_document(
                document, chat=use.chat, key=use.key, origin=use.origin, title=title
            )
        except DocumentNotSaved as error:
            raise BadCall(str(error)) from error
        told = {"path": filed.path, "line_start": filed.line_start, "line_end": filed.line_end}
        remark = "It was already filed there; nothing was written." if filed.before else filed.remark
        return {**told, "note": remark} if remark else told

    return (keep_document,)
