"""Permanent refusals by a platform, of any kind that a reply has to know; each platform has further ones."""


class ApiRefused(Exception):
    """Base class of permanent refusals; the text is the platform's."""


class ChatGone(ApiRefused):
    """The chat no longer accepts messages: blocked, kicked, deleted, closed, or forbidden to the bot."""


class MessageGone(ApiRefused):
    """The message to be edited or deleted is missing, too old, or not the bot's."""


class TooLong(ApiRefused):
    """The text exceeds the platform's limit."""


class ContentBlocked(ApiRefused):
    """The chat's rules forbid the content."""


class TargetChanged(ApiRefused):
    """Base class of refusals after which a reply can be shown elsewhere."""
