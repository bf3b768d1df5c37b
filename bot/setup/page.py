"""The step about the token of the status page."""

from secrets import token_urlsafe

from bot.setup import phrases
from bot.setup.setup import Setup

TOKEN_BYTES = 32


def set_up_page(setup: Setup) -> str:
    """Make a token for the HTTP server if that is wanted; return where it is."""
    server = setup.files.settings().server
    has_token = bool(server.token.get_secret_value())
    text = phrases.ASK_NEW_PAGE if has_token else phrases.ASK_PAGE
    asked = text.format(host=server.host, port=server.port)
    if not setup.questions.confirm("page-token", asked, default=not has_token):
        if not has_token:
            setup.questions.say(phrases.PAGE_WITHOUT)
        return ""
    setup.files.set_secret(("server", "token"), token_urlsafe(TOKEN_BYTES))
    return phrases.PAGE_SET.format(host=server.host, port=server.port, file=setup.files.secrets_file)
