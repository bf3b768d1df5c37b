"""Routes of the pages about conversations. All of them need `server.token`."""

from aiohttp import web

from bot.web.forms import add_form
from bot.web.page.conversation import export_conversation, show_conversation
from bot.web.page.conversation_search import search_conversation
from bot.web.page.conversations import show_conversations
from bot.web.page.forget_said import ask_to_forget, forget
from bot.web.page.urls import CONVERSATIONS_URL

ONE = CONVERSATIONS_URL + "/{number:[0-9]{1,18}}"


def add_conversations(app: web.Application) -> None:
    """Add the conversations to the application."""
    app.router.add_get(CONVERSATIONS_URL, show_conversations)
    app.router.add_get(ONE, show_conversation)
    app.router.add_get(ONE + "/search", search_conversation)
    app.router.add_get(ONE + "/export.{kind:md|jsonl}", export_conversation, allow_head=False)
    app.router.add_get(ONE + "/forget", ask_to_forget)
    add_form(app, ONE + "/forget", forget)
