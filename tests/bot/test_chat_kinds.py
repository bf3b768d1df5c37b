from bot.chat_kinds import ChatKind, kind_of_chat
from bot.config.settings import Settings
from tests.fakes.table_test import table_test


@table_test(
    ("chat", "kind"),
    [
        ("terminal:main", "person"),
        ("telegram:7", "person"),
        ("telegram:7/3", "person"),
        ("telegram:-1007", "room"),
        ("telegram:-1007/3", "room"),
        ("discord:@9", "person"),
        ("discord:123", "room"),
        ("imported:telegram:7", "imported"),
        ("imported:terminal:owner", "imported"),
        ("a channel that is gone:7", "room"),
        ("", "room"),
    ],
)
def test_a_chat_is_told_apart_by_its_name(chat: str, kind: ChatKind) -> None:
    assert kind_of_chat(chat, Settings().channels) == kind
