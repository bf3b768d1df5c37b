"""The fake Bot API behaves like Telegram's, for the real python-telegram-bot and over real sockets."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from telegram import (
    Bot,
    BotCommand,
    BotCommandScopeAllGroupChats,
    BotCommandScopeChat,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
)
from telegram.constants import ReactionEmoji
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.request import HTTPXRequest

from tests.fakes.bot_api.chats import Chat
from tests.fakes.bot_api.entities import entity_text, parse_entities, utf16_length
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.limits import Limits, Meter
from tests.fakes.bot_api.methods import REACTIONS
from tests.fakes.bot_api.people import Person, from_channel, from_chat, from_hidden_user, from_user
from tests.fakes.bot_api.receiving import DEFAULT_KINDS
from tests.fakes.bot_api.refusals import Refusal
from tests.fakes.bot_api.server import BotApi
from tests.fakes.threaded_server import run_in_thread

pytestmark = pytest.mark.thorough  # of the stand-in alone: what it stands in for is tested everywhere


@pytest.fixture(autouse=True)
def durations_are_of_the_coming_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "1")


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as server:
        yield server


@pytest.fixture
async def bot(api: BotApi) -> AsyncIterator[Bot]:
    async with connected(api) as bot:
        yield bot


@pytest.fixture
def anna(api: BotApi) -> Person:
    return api.person(7, "Anna", language="de", started=True)


def connected(api: BotApi, token: str = "") -> Bot:
    # Without certificates, which nobody asks for here and which take 50 ms each time.
    plain, polling = (
        HTTPXRequest(read_timeout=3, connect_timeout=3, httpx_kwargs={"verify": False}) for _ in range(2)
    )
    return Bot(
        token or api.token,
        base_url=f"{api.url}/bot",
        base_file_url=f"{api.url}/file/bot",
        request=plain,
        get_updates_request=polling,
    )


async def asked(api: BotApi, method: str, **given: Any) -> dict[str, Any]:
    """The Bot API without a library in between."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{api.url}/bot{api.token}/{method}", json=given) as response,
    ):
        read: dict[str, Any] = await response.json()
        return read


# -- bots and tokens -------------------------------------------------------------------------------------------


async def test_a_bot_learns_who_it_is(api: BotApi, bot: Bot) -> None:
    me = await bot.get_me()
    assert (me.id, me.username, me.can_read_all_group_messages) == (api.bot.id, "commonplace_bot", False)


async def test_a_wrong_token_is_refused(api: BotApi) -> None:
    with pytest.raises(InvalidToken):
        async with connected(api, "1:wrong"):
            pytest.fail("a bot with a wrong token has started")
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{api.url}/bot1:wrong/getMe") as response,
    ):
        assert response.status == 401
        assert await response.json() == {"ok": False, "error_code": 401, "description": "Unauthorized"}


async def test_an_unknown_method_is_not_found_and_names_have_no_case(api: BotApi) -> None:
    assert (await asked(api, "sendRichMessage"))["error_code"] == 404
    assert (await asked(api, "GETME"))["ok"] is True


NOT_FOUND = {"ok": False, "error_code": 404, "description": "Not Found"}
NO_METHOD = {"ok": False, "error_code": 404, "description": "Not Found: method not found"}


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/", NOT_FOUND),
        ("/getMe", NOT_FOUND),
        ("/v1/bot{token}/getMe", NOT_FOUND),
        ("/bots{token}", NOT_FOUND),
        ("/bot{token}", NOT_FOUND),
        ("/bot{token}/", NO_METHOD),
        ("/bot{token}/getMe/", NO_METHOD),
        ("/bot{token}/getMe/extra", NO_METHOD),
        ("/bot{token}/v1/getMe", NO_METHOD),
        ("/bot{token}/test/getMe", NO_METHOD),
        ("/bot{token}/getMessages", NO_METHOD),
        ("/botwithout-a-number/getMe", NOT_FOUND),
        ("/file/bot{token}/no/such.file", NOT_FOUND),
        ("/file/bot{token}", NOT_FOUND),
        ("/file/getMe", NOT_FOUND),
    ],
)
async def test_what_is_served_nowhere_is_not_found_and_is_noted(
    api: BotApi, path: str, told: dict[str, Any]
) -> None:
    async with aiohttp.ClientSession() as session:
        for verb in ("GET", "POST"):
            async with session.request(verb, api.url + path.format(token=api.token)) as response:
                assert (response.status, await response.json()) == (404, told)
    assert [call.status for call in api.refusals] == [404, 404]


@pytest.mark.parametrize("verb", ["PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_other_verbs_than_get_and_post_are_not_allowed(api: BotApi, verb: str) -> None:
    async with aiohttp.ClientSession() as session:
        for path in ("getMe", "sendMessage"):
            async with session.request(verb, f"{api.url}/bot{api.token}/{path}") as response:
                assert response.status == 405
    assert [call.status for call in api.refusals] == [405, 405]


@pytest.mark.parametrize("how", ["json", "form", "query", "multipart"])
async def test_parameters_come_in_every_shape(api: BotApi, anna: Person, how: str) -> None:
    entities = json.dumps([{"type": "bold", "offset": 0, "length": 2}])
    given = {"chat_id": "7", "text": "[1] ok", "entities": entities, "disable_notification": "true"}
    url = f"{api.url}/bot{api.token}/sendMessage"
    async with aiohttp.ClientSession() as session:
        if how == "json":
            typed = {**given, "chat_id": 7, "entities": json.loads(entities), "disable_notification": True}
            response = await session.post(url, json=typed)
        elif how == "form":
            response = await session.post(url, data=given)
        elif how == "query":
            response = await session.get(url, params=given)
        else:
            form = aiohttp.FormData(default_to_multipart=True)
            for name, value in given.items():
                form.add_field(name, value)
            response = await session.post(url, data=form)
        assert response.status == 200, await response.text()
    message = await anna.chat.answer()
    assert (message.text, message.silent, len(message.entities)) == ("[1] ok", True, 1)


# -- receiving -------------------------------------------------------------------------------------------------


async def test_updates_wait_until_they_are_confirmed(api: BotApi, bot: Bot, anna: Person) -> None:
    for text in ("one", "two", "three"):
        await anna.say(text)
    first = await bot.get_updates(limit=2)
    again = await bot.get_updates()
    assert [update.message and update.message.text for update in first] == ["one", "two"]
    assert [update.update_id for update in again] == [first[0].update_id + at for at in range(3)]
    assert [update.update_id for update in await bot.get_updates(offset=again[2].update_id)] == [
        again[2].update_id
    ]
    assert len(api.bot.inbox.pending) == 1
    await bot.get_updates(offset=again[2].update_id + 1)
    await api.wait_until_confirmed()


async def test_a_negative_offset_forgets_all_but_the_last(bot: Bot, anna: Person) -> None:
    for text in ("one", "two", "three"):
        await anna.say(text)
    left = await bot.get_updates(offset=-2)
    assert [update.message and update.message.text for update in left] == ["two", "three"]
    assert len(await bot.get_updates()) == 2


async def test_a_poll_waits_for_the_next_update(api: BotApi, bot: Bot, anna: Person) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=5))
    await api.wait_until_polling()
    await anna.say("hi")
    async with asyncio.timeout(4):
        assert len(await poll) == 1


async def test_a_poll_ends_empty_when_its_time_is_over(bot: Bot) -> None:
    assert await bot.get_updates(timeout=1) == ()


async def test_a_bot_that_asks_the_same_again_at_once_may_be_held_back(
    api: BotApi, bot: Bot, anna: Person
) -> None:
    api.bot.inbox.slow = True
    for text in ("one", "two", "three"):
        await anna.say(text)
    assert [len(await bot.get_updates()) for _ in range(2)] == [3, 1]


async def test_a_second_poll_ends_the_first(api: BotApi, bot: Bot, anna: Person) -> None:
    first = asyncio.create_task(bot.get_updates(timeout=10))
    await api.wait_until_polling()
    async with connected(api) as other:
        second = asyncio.create_task(other.get_updates(timeout=10))
        with pytest.raises(Conflict, match="make sure that only one bot instance is running"):
            await first
        await anna.say("hi")
        assert len(await second) == 1


async def test_what_a_bot_wants_to_hear_is_remembered(api: BotApi, bot: Bot, anna: Person) -> None:
    message = await anna.say("hi")
    await anna.react(message, "👍")
    assert len(await bot.get_updates()) == 1
    await bot.get_updates(offset=-1, allowed_updates=["message_reaction"])
    await anna.react(message, "🔥")
    await anna.say("not wanted")
    assert [update.message_reaction is not None for update in await bot.get_updates()] == [False, True]
    await bot.get_updates(allowed_updates=[])
    assert api.bot.inbox.kinds == DEFAULT_KINDS


async def test_updates_survive_a_bot_and_an_outage(api: BotApi, anna: Person) -> None:
    async with connected(api) as bot:
        async with api.outage():
            await anna.say("is anybody there?")
            with pytest.raises(NetworkError):
                await bot.get_me()
        assert len(await bot.get_updates()) == 1
    async with connected(api) as bot:
        assert len(await bot.get_updates()) == 1


async def test_a_malformed_update_is_passed_on_as_it_is(api: BotApi, anna: Person) -> None:
    await anna.say("before")
    number = await api.push_raw({"message": {"no": "id"}})
    await api.push_raw({"update_id": number + 5, "surprise": []})
    got = (await asked(api, "getUpdates"))["result"]
    assert got[1:] == [
        {"update_id": number, "message": {"no": "id"}},
        {"update_id": number + 5, "surprise": []},
    ]


# -- webhooks --------------------------------------------------------------------------------------------------


class Receiver:
    """A webhook of our own."""

    def __init__(self) -> None:
        self.got: list[tuple[int, str]] = []
        self.statuses: list[int] = []
        self.slow_for = 0
        """Whose messages it takes a moment to take."""

    async def handle(self, request: web.BaseRequest) -> web.Response:
        update = await request.json()
        if update["message"]["chat"]["id"] == self.slow_for:
            await asyncio.sleep(0.2)
        self.got.append((update["update_id"], request.headers.get("X-Telegram-Bot-Api-Secret-Token", "")))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)


@pytest.fixture
async def receiver() -> AsyncIterator[tuple[Receiver, str]]:
    hook = Receiver()
    runner = web.ServerRunner(web.Server(hook.handle), shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield hook, f"http://127.0.0.1:{runner.addresses[0][1]}/secret-path"
    await runner.cleanup()


async def test_a_webhook_gets_updates_with_its_secret(
    api: BotApi, bot: Bot, anna: Person, receiver: tuple[Receiver, str]
) -> None:
    hook, url = receiver
    await anna.say("before")
    await bot.set_webhook(url, secret_token="s3cret", max_connections=2)
    await anna.say("after")
    await api.wait_until(lambda: len(hook.got) == 2)
    await api.wait_until_confirmed()
    assert [secret for _, secret in hook.got] == ["s3cret", "s3cret"]
    info = await bot.get_webhook_info()
    assert (info.url, info.pending_update_count, info.max_connections) == (url, 0, 2)


async def test_a_webhook_that_fails_is_tried_again_in_order(
    api: BotApi, bot: Bot, anna: Person, receiver: tuple[Receiver, str]
) -> None:
    hook, url = receiver
    hook.statuses = [500, 503]
    await bot.set_webhook(url)
    await anna.say("one")
    await anna.say("two")
    await api.wait_until_confirmed()
    first = hook.got[0][0]
    assert [number for number, _ in hook.got] == [first, first, first, first + 1]
    assert "503" in ((await bot.get_webhook_info()).last_error_message or "")


async def test_a_webhook_gets_one_chat_while_it_is_slow_with_another(
    api: BotApi, bot: Bot, anna: Person, receiver: tuple[Receiver, str]
) -> None:
    hook, url = receiver
    hook.slow_for = anna.id
    await bot.set_webhook(url)
    await anna.say("one")
    await anna.say("two")
    await api.person(8, "Ben").say("three")
    await api.wait_until(lambda: len(hook.got) == 3)
    first = min(number for number, _ in hook.got)
    assert [number - first for number, _ in hook.got] == [2, 0, 1]


async def test_a_webhook_and_a_poll_exclude_each_other(
    api: BotApi, bot: Bot, anna: Person, receiver: tuple[Receiver, str]
) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=10))
    await api.wait_until_polling()
    await bot.set_webhook(receiver[1])
    with pytest.raises(Conflict, match="terminated by setWebhook request"):
        await poll
    api.bot.inbox.conflict_pause = 0.01
    with pytest.raises(Conflict, match="can't use getUpdates method while webhook is active"):
        await bot.get_updates()
    await bot.delete_webhook()
    await anna.say("hi")
    assert len(await bot.get_updates()) == 1
    await bot.delete_webhook(drop_pending_updates=True)
    assert await bot.get_updates() == ()


async def test_a_webhook_that_is_not_secure_is_refused(bot: Bot) -> None:
    with pytest.raises(BadRequest, match=r"(?i)HTTPS URL must be provided"):
        await bot.set_webhook("http://example.org/hook")
    with pytest.raises(BadRequest, match="unallowed characters"):
        await bot.set_webhook("https://example.org/hook", secret_token="not this!")


# -- text and entities -----------------------------------------------------------------------------------------


async def test_a_text_is_as_long_as_its_utf16_units(bot: Bot, anna: Person) -> None:
    await bot.send_message(7, "😀" * 2048)
    with pytest.raises(BadRequest, match=r"(?i)Message is too long"):
        await bot.send_message(7, "😀" * 2048 + "a")
    message = await bot.send_message(7, "short")
    with pytest.raises(BadRequest, match=r"(?i)Message_too_long"):
        await bot.edit_message_text("a" * 4097, 7, message.message_id)
    with pytest.raises(BadRequest, match=r"(?i)Message text is empty"):
        await bot.send_message(7, "")
    with pytest.raises(BadRequest, match=r"(?i)Text must be non-empty"):
        await bot.send_message(7, " \n ")
    await bot.send_message(7, f"  {'a' * 4096}\n\n")
    assert anna.chat.texts[-1] == "a" * 4096


@pytest.mark.parametrize(
    ("text", "entity", "refusal"),
    [
        ("a😀b", {"type": "bold", "offset": 2, "length": 2}, "begins in a middle of a UTF-16 symbol"),
        ("a😀b", {"type": "bold", "offset": 0, "length": 2}, "ends in a middle of a UTF-16 symbol"),
        ("abc", {"type": "bold", "offset": 2, "length": 2}, "ends after the end of the text"),
        ("abc", {"type": "bold", "offset": 4, "length": 1}, "begins after the end of the text"),
        ("abc", {"type": "loud", "offset": 0, "length": 1}, "Unsupported type specified"),
        ("abc", {"type": "bold", "offset": 0}, "length"),
        ("abc", {"type": "bold", "offset": -1, "length": 1}, "incorrect offset -1"),
        ("abc", {"type": "text_link", "offset": 0, "length": 1}, "url"),
        (
            "abc",
            {"type": "text_link", "offset": 0, "length": 1, "url": "http://localhost:80"},
            "Wrong HTTP URL",
        ),
        ("abc", {"type": "text_link", "offset": 0, "length": 1, "url": "ftp://a.org"}, "Unsupported URL"),
    ],
)
async def test_entities_that_cannot_be_are_refused(
    api: BotApi, anna: Person, text: str, entity: dict[str, Any], refusal: str
) -> None:
    answer = await asked(api, "sendMessage", chat_id=7, text=text, entities=[entity])
    assert answer["error_code"] == 400
    assert refusal in answer["description"]
    assert [call.description for call in api.refusals] == [answer["description"]]
    assert anna.chat.messages == []


def entity(kind: str, start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": start, "length": end - start, **more}


def shape(entities: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(one["type"], one["offset"], one["offset"] + one["length"]) for one in entities]


@pytest.mark.parametrize(
    ("given", "kept", "dropped"),
    [
        ([("bold", 0, 6), ("italic", 2, 4)], [("bold", 0, 6), ("italic", 2, 4)], []),
        ([("bold", 0, 4), ("italic", 2, 6)], [("bold", 0, 2), ("italic", 2, 6), ("bold", 2, 4)], []),
        ([("code", 0, 6), ("bold", 2, 4)], [("code", 0, 6)], [("bold", 2, 4)]),
        (
            [("bold", 0, 6), ("code", 2, 4)],
            [("bold", 0, 2), ("code", 2, 4), ("bold", 4, 6)],
            [("bold", 2, 4)],
        ),
        ([("code", 0, 4), ("pre", 2, 6)], [("code", 0, 4)], [("pre", 2, 6)]),
        ([("blockquote", 0, 6), ("pre", 2, 4)], [("blockquote", 0, 6), ("pre", 2, 4)], []),
        ([("blockquote", 0, 4), ("blockquote", 0, 2)], [("blockquote", 0, 4)], [("blockquote", 0, 2)]),
        ([("bold", 0, 4), ("bold", 2, 6)], [("bold", 0, 6)], []),
        ([("mention", 0, 4), ("bold", 3, 3)], [], [("mention", 0, 4), ("bold", 3, 3)]),
    ],
)
def test_entities_that_overlap_are_mended_or_dropped(
    given: list[tuple[str, int, int]], kept: list[tuple[str, int, int]], dropped: list[tuple[str, int, int]]
) -> None:
    marked = parse_entities("abcdefgh", [entity(*one) for one in given])
    assert (shape(marked.entities), shape(marked.dropped)) == (sorted(kept, key=lambda one: one[1]), dropped)


def test_entities_move_with_what_is_cleaned_away() -> None:
    marked = parse_entities("\n a\r\nb\u202ec \n", [entity("bold", 2, 8), entity("italic", 8, 10)])
    assert marked.text == "a\nbc"
    assert shape(marked.entities) == [("bold", 0, 4)]


def test_only_the_first_hundred_entities_are_shown() -> None:
    marked = parse_entities("x " * 120, [entity("bold", 2 * at, 2 * at + 1) for at in range(120)])
    assert (len(marked.entities), len(marked.dropped)) == (100, 20)


def test_a_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(Refusal, match="UTF-8"):
        parse_entities("\ud83d")


async def test_telegram_finds_links_in_file_names(bot: Bot, anna: Person) -> None:
    code = [MessageEntity("code", 0, 9)]
    sent = await bot.send_message(7, "README.md and see README.md, /help", entities=code)
    assert [kind.type for kind in sent.entities] == ["code", "url", "bot_command"]
    message = await anna.chat.answer()
    assert [entity_text(message.text, one) for one in message.found] == ["README.md", "/help"]


async def test_a_parse_mode_is_noticed(api: BotApi, bot: Bot, anna: Person) -> None:
    with pytest.raises(BadRequest, match="parse_mode"):
        await bot.send_message(7, "<b>hi</b>", parse_mode="HTML")
    assert len(api.refusals) == 1


# -- sending, editing, deleting --------------------------------------------------------------------------------


async def test_a_message_is_sent_edited_and_deleted(api: BotApi, bot: Bot, anna: Person) -> None:
    sent = await bot.send_message(7, "one", link_preview_options=LinkPreviewOptions(is_disabled=True))
    message = await anna.chat.answer()
    assert (message.text, message.preview) == ("one", {"is_disabled": True})
    await bot.edit_message_text("two", 7, sent.message_id)
    with pytest.raises(BadRequest, match=r"(?i)Message is not modified"):
        await bot.edit_message_text("two ", 7, sent.message_id)
    assert (message.text, message.first_text, [edit.text for edit in message.edits]) == (
        "two",
        "one",
        ["two"],
    )
    await bot.delete_message(7, sent.message_id)
    assert message.deleted
    assert anna.chat.visible == []
    with pytest.raises(BadRequest, match=r"(?i)Message to edit not found"):
        await bot.edit_message_text("three", 7, sent.message_id)
    with pytest.raises(BadRequest, match=r"(?i)Message to delete not found"):
        await bot.delete_message(7, sent.message_id)
    theirs = await anna.say("mine")
    with pytest.raises(BadRequest, match=r"(?i)Message can't be edited"):
        await bot.edit_message_text("yours", 7, theirs.id)


async def test_a_group_message_of_others_cannot_be_deleted(api: BotApi, bot: Bot, anna: Person) -> None:
    group = api.supergroup("Family", anna)
    message = await anna.say("mine", group)
    with pytest.raises(BadRequest, match=r"(?i)Message can't be deleted"):
        await bot.delete_message(group.id, message.id)
    await anna.promote_bot(group)
    assert await bot.delete_message(group.id, message.id)


async def test_replies_say_what_they_reply_to(bot: Bot, anna: Person) -> None:
    question = await anna.say("one two three")
    sent = await bot.send_message(7, "yes", reply_parameters=ReplyParameters(question.id, quote="two"))
    assert sent.reply_to_message
    assert sent.quote
    assert (sent.reply_to_message.text, sent.quote.text, sent.quote.position) == ("one two three", "two", 4)
    await anna.delete(question)
    with pytest.raises(BadRequest, match=r"(?i)Message to be replied not found"):
        await bot.send_message(7, "no", reply_parameters=ReplyParameters(question.id))
    loose = ReplyParameters(question.id, allow_sending_without_reply=True)
    assert (await bot.send_message(7, "all the same", reply_parameters=loose)).reply_to_message is None


async def test_buttons_are_pressed_and_answered(api: BotApi, bot: Bot, anna: Person) -> None:
    markup = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="/yes")]])
    await bot.send_message(7, "Sure?", reply_markup=markup)
    message = await anna.chat.answer()
    assert message.labels == ["Yes"]
    press = await anna.press(message, "Yes")
    forged = await anna.press(message, "/allow 7", forged=True)
    queries = [update.callback_query for update in await bot.get_updates()]
    assert [query and query.data for query in queries] == ["/yes", "/allow 7"]
    assert await bot.answer_callback_query(press.id, text="Done")
    assert (press.answered, press.text, forged.answered) == (True, "Done", False)
    with pytest.raises(
        BadRequest, match=r"(?i)Query is too old and response timeout expired or query id is invalid"
    ):
        await bot.answer_callback_query("12345")
    await bot.edit_message_reply_markup(7, message.id)
    assert message.buttons == ()
    wrong = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="é" * 33)]])
    with pytest.raises(BadRequest, match=r"(?i)button_data_invalid"):
        await bot.send_message(7, "Sure?", reply_markup=wrong)


async def test_editing_a_text_takes_its_buttons_away(bot: Bot, anna: Person) -> None:
    markup = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="/yes")]])
    sent = await bot.send_message(7, "Sure?", reply_markup=markup)
    await bot.edit_message_text("Done.", 7, sent.message_id)
    assert (await anna.chat.answer()).buttons == ()


async def test_drafts_are_for_private_chats_and_end_with_a_message(
    api: BotApi, bot: Bot, anna: Person
) -> None:
    await bot.send_message_draft(7, 5, "Hel")
    await bot.send_message_draft(7, 5, "Hello")
    shown = anna.chat.draft(api.clock())
    assert shown
    assert (shown.text, [draft.text for draft in anna.chat.drafts]) == ("Hello", ["Hel", "Hello"])
    assert anna.chat.draft(api.clock() + 31) is None
    await bot.send_message(7, "Hello.")
    assert anna.chat.draft(api.clock()) is None
    with pytest.raises(BadRequest, match=r"(?i)Textdraft_peer_invalid"):
        await bot.send_message_draft(api.group("Family", anna).id, 5, "Hel")
    api.knows_drafts = False
    assert (await asked(api, "sendMessageDraft", chat_id=7, draft_id=5, text="Hel"))["error_code"] == 404


async def test_actions_and_reactions_are_seen(bot: Bot, anna: Person) -> None:
    message = await anna.say("hi")
    await bot.send_chat_action(7, "typing")
    await bot.set_message_reaction(7, message.id, "👀")
    assert [action.kind for action in anna.chat.actions] == ["typing"]
    assert list(message.reactions.values()) == [["👀"]]
    with pytest.raises(BadRequest, match=r"(?i)Reaction_invalid"):
        await bot.set_message_reaction(7, message.id, "🥦")


def test_all_known_reactions_are_allowed() -> None:
    assert {emoji.value.replace("\ufe0f", "") for emoji in ReactionEmoji} == REACTIONS


async def test_commands_are_kept_by_scope_and_language(api: BotApi, bot: Bot, anna: Person) -> None:
    await bot.set_my_commands([BotCommand("help", "Help")])
    await bot.set_my_commands([BotCommand("help", "Hilfe")], language_code="de")
    await bot.set_my_commands([BotCommand("status", "For groups")], BotCommandScopeAllGroupChats())
    ben = api.person(8, "Ben", language="en-GB", started=True)
    await bot.set_my_commands([BotCommand("allow", "Let somebody in")], BotCommandScopeChat(8))
    assert anna.menu() == [("help", "Hilfe")]
    assert ben.menu() == [("allow", "Let somebody in")]
    assert anna.menu(api.group("Family", anna)) == [("status", "For groups")]
    assert [command.command for command in await bot.get_my_commands(BotCommandScopeChat(8))] == ["allow"]
    await bot.delete_my_commands(BotCommandScopeChat(8))
    assert ben.menu() == [("help", "Help")]
    with pytest.raises(BadRequest, match=r"(?i)bot_command_invalid"):
        await bot.set_my_commands([BotCommand("Help", "Help")])
    with pytest.raises(BadRequest, match=r"(?i)Chat not found"):
        await bot.set_my_commands([BotCommand("help", "Help")], BotCommandScopeChat(9))
    await bot.set_my_short_description("A commonplace book")
    assert (await bot.get_my_short_description()).short_description == "A commonplace book"


# -- files -----------------------------------------------------------------------------------------------------


async def test_a_document_is_downloaded(api: BotApi, bot: Bot, anna: Person) -> None:
    await anna.document(b"# Notes", "read this", name="../../etc/notes.md", media_type="text/markdown")
    [update] = await bot.get_updates()
    assert update.message
    document = update.message.document
    assert document
    assert (document.file_name, document.mime_type, update.message.caption) == (
        "../../etc/notes.md",
        "text/markdown",
        "read this",
    )
    file = await document.get_file()
    assert bytes(await file.download_as_bytearray()) == b"# Notes"
    api.fail("file", Fault.status(502))
    with pytest.raises(NetworkError):
        await file.download_as_bytearray()


async def test_a_file_of_more_than_twenty_megabytes_stays_there(bot: Bot, anna: Person) -> None:
    await anna.document(b"only a little", size=21 << 20)
    [update] = await bot.get_updates()
    assert update.message
    assert update.message.document
    with pytest.raises(BadRequest, match=r"(?i)File is too big"):
        await update.message.document.get_file()
    with pytest.raises(BadRequest, match="temporarily unavailable"):
        await bot.get_file("BQACAgIAAxkB-nothing-of-ours")


async def test_a_document_is_sent_with_a_caption(bot: Bot, anna: Person) -> None:
    sent = await bot.send_document(7, b"print(1)\n", filename="code.py", caption="the code")
    message = await anna.chat.answer()
    assert message.document
    assert (message.document.name, message.document.data, message.text) == (
        "code.py",
        b"print(1)\n",
        "the code",
    )
    with pytest.raises(BadRequest, match="no text in the message to edit"):
        await bot.edit_message_text("new", 7, sent.message_id)
    with pytest.raises(BadRequest, match="caption is too long"):
        await bot.send_document(7, b"x", caption="a" * 1025)
    with pytest.raises(BadRequest, match="must be non-empty"):
        await bot.send_document(7, b"", filename="empty.txt")


@pytest.mark.parametrize(
    "sends",
    [
        Person.photo,
        Person.voice,
        Person.audio,
        Person.video,
        Person.video_note,
        Person.animation,
        Person.sticker,
        Person.location,
        Person.venue,
        Person.contact,
        Person.dice,
        Person.poll,
    ],
    ids=lambda one: str(one.__name__),
)
async def test_everything_that_people_send_can_be_read(
    bot: Bot, anna: Person, sends: Callable[[Person], Any]
) -> None:
    await sends(anna)
    [update] = await bot.get_updates()
    assert update.message
    assert getattr(update.message, sends.__name__)


async def test_an_album_is_several_updates_with_one_id(bot: Bot, anna: Person) -> None:
    await anna.album(b"one", b"two", (b"%PDF", "plan.pdf"), caption="all of it")
    messages = [update.message for update in await bot.get_updates()]
    assert len({message.media_group_id for message in messages if message}) == 1
    assert [message and message.caption for message in messages] == ["all of it", None, None]


# -- what people do --------------------------------------------------------------------------------------------


async def test_a_mention_lies_where_telegram_says(bot: Bot, anna: Person) -> None:
    await anna.say(
        "😀 /start@commonplace_bot x @commonplace_bot",
        reply_to=await anna.say("first, second"),
        quote="second",
    )
    update = (await bot.get_updates())[1]
    assert update.message
    assert update.message.quote
    assert list(update.message.parse_entities().values()) == ["/start@commonplace_bot", "@commonplace_bot"]
    assert (update.message.quote.text, update.message.quote.position) == ("second", 7)
    assert update.message.from_user
    assert update.message.from_user.language_code == "de"


async def test_edits_and_forwards_are_told(api: BotApi, bot: Bot, anna: Person) -> None:
    message = await anna.say("helo")
    await anna.edit(message, "hello")
    origins = [
        from_user(api.person(9, "Cleo")),
        from_hidden_user("Dora"),
        from_chat(api.group("Others"), "boss"),
        from_channel("News", 4, "ed"),
    ]
    for origin in origins:
        await anna.forward("passed on", origin)
    _, edited, *forwarded = await bot.get_updates()
    assert edited.edited_message
    assert (edited.edited_message.text, edited.edited_message.message_id) == ("hello", message.id)
    assert edited.edited_message.edit_date
    kinds = [
        update.message and update.message.forward_origin and update.message.forward_origin.type
        for update in forwarded
    ]
    assert kinds == ["user", "hidden_user", "chat", "channel"]


async def test_a_long_paste_comes_in_pieces_with_nothing_lost(bot: Bot, anna: Person) -> None:
    text = " ".join(f"wörd{at}😀" for at in range(1500))
    pieces = await anna.paste(text)
    assert len(pieces) > 3
    assert max(utf16_length(piece.text) for piece in pieces) <= 4096
    assert " ".join(piece.text for piece in pieces) == text


async def test_a_bot_that_is_blocked_learns_of_it(bot: Bot, anna: Person) -> None:
    await anna.block()
    [update] = await bot.get_updates()
    assert update.my_chat_member
    assert update.my_chat_member.new_chat_member.status == "kicked"
    for call in (
        bot.send_message(7, "hi"),
        bot.send_chat_action(7, "typing"),
        bot.send_message_draft(7, 1, "h"),
    ):
        with pytest.raises(Forbidden, match="bot was blocked by the user"):
            await call
    await anna.unblock()
    await bot.send_message(7, "hi")


async def test_who_cannot_be_written_to_is_told_apart(api: BotApi, bot: Bot, anna: Person) -> None:
    api.person(8, "Ben")
    with pytest.raises(Forbidden, match="bot can't initiate conversation with a user"):
        await bot.send_message(8, "hi")
    with pytest.raises(BadRequest, match=r"(?i)Chat not found"):
        await bot.send_message(99, "hi")
    await anna.delete_account()
    with pytest.raises(Forbidden, match="user is deactivated"):
        await bot.send_message(7, "hi")


# -- groups ----------------------------------------------------------------------------------------------------


async def heard(bot: Bot) -> list[str]:
    """What has come in, and confirm it."""
    updates = await bot.get_updates()
    if updates:
        await bot.get_updates(offset=updates[-1].update_id + 1)
    return [update.message.text or "" for update in updates if update.message]


async def test_privacy_hides_what_is_not_for_the_bot(api: BotApi, bot: Bot, anna: Person) -> None:
    group = api.supergroup("Family", anna)
    await bot.send_message(group.id, "I am here")
    mine = group.messages[-1]
    await anna.say("among us", group)
    await anna.say("hey @Commonplace_bot", group)
    await anna.say("/status", group)
    await anna.say("/status@other_bot", group)
    await anna.say("indeed", reply_to=mine)
    assert await heard(bot) == ["hey @Commonplace_bot", "/status", "indeed"]
    api.bot.privacy = False
    await anna.say("among us", group)
    assert await heard(bot) == ["among us"]


async def test_a_topic_is_opened_closed_and_missing(api: BotApi, bot: Bot, anna: Person) -> None:
    api.bot.privacy = False
    forum = api.forum("Club", anna)
    work = await api.open_topic(forum, "Work", anna)
    await anna.say("in it", forum, topic=work)
    await anna.say("in general", forum)
    opened, inside, general = [update.message for update in await bot.get_updates()]
    assert opened
    assert inside
    assert general
    assert opened.forum_topic_created
    assert (inside.message_thread_id, inside.is_topic_message) == (work.id, True)
    # What replies to nothing replies to the message that opened the topic: it is no reply to anybody.
    assert inside.reply_to_message
    assert inside.reply_to_message.forum_topic_created
    assert (general.message_thread_id, general.is_topic_message) == (None, None)
    await bot.send_message(forum.id, "there", message_thread_id=work.id)
    assert (await forum.answer(thread=work.id)).text == "there"
    await api.close_topic(forum, work, anna)
    with pytest.raises(BadRequest, match=r"(?i)Topic_closed"):
        await bot.send_message(forum.id, "there", message_thread_id=work.id)
    await api.delete_topic(forum, work)
    with pytest.raises(BadRequest, match=r"(?i)Message thread not found"):
        await bot.send_message(forum.id, "there", message_thread_id=work.id)


async def test_replies_in_a_supergroup_carry_a_thread_that_is_no_topic(
    api: BotApi, bot: Bot, anna: Person
) -> None:
    group = api.supergroup("Family", anna)
    root = await anna.say("/one", group)
    await anna.say("/two", reply_to=root)
    message = (await bot.get_updates())[1].message
    assert message
    assert (message.message_thread_id, message.is_topic_message) == (root.id, None)
    await bot.send_message(group.id, "fine", message_thread_id=root.id)


async def test_a_group_that_moved_says_where_to(api: BotApi, bot: Bot, anna: Person) -> None:
    group = api.group("Family", anna)
    moved = await api.migrate(group, anna)
    messages = [update.message for update in await bot.get_updates()]
    assert [
        message and (message.migrate_to_chat_id or message.migrate_from_chat_id) for message in messages
    ] == [
        moved.id,
        group.id,
    ]
    with pytest.raises(ChatMigrated) as caught:
        await bot.send_message(group.id, "hi")
    assert caught.value.new_chat_id == moved.id
    await bot.send_message(moved.id, "hi")
    assert moved.texts == ["hi"]


@pytest.mark.parametrize(("kind", "name"), [(BotApi.group, "group"), (BotApi.supergroup, "supergroup")])
async def test_a_bot_is_kicked_and_comes_back(
    api: BotApi, bot: Bot, anna: Person, kind: Callable[..., Chat], name: str
) -> None:
    group = kind(api, "Family", anna)
    await anna.kick_bot(group)
    with pytest.raises(Forbidden, match=f"bot was kicked from the {name} chat"):
        await bot.send_message(group.id, "hi")
    await anna.add_bot(group)
    await bot.send_message(group.id, "hi")
    await bot.leave_chat(group.id)
    with pytest.raises(Forbidden, match=f"bot is not a member of the {name} chat"):
        await bot.send_message(group.id, "hi")
    statuses = [
        update.my_chat_member.new_chat_member.status
        for update in await bot.get_updates()
        if update.my_chat_member
    ]
    assert statuses == ["kicked", "member"]


async def test_a_bot_without_the_right_to_write_is_refused(api: BotApi, bot: Bot, anna: Person) -> None:
    group = api.supergroup("Family", anna)
    group.may_write = False
    with pytest.raises(BadRequest, match=r"(?i)Not enough rights to send text messages to the chat"):
        await bot.send_message(group.id, "hi")
    member = await bot.get_chat_member(group.id, 7)
    assert (member.status, (await bot.get_chat(group.id)).title) == ("creator", "Family")


# -- limits and faults -----------------------------------------------------------------------------------------


def test_limits_are_those_that_telegram_publishes() -> None:
    now = 0.0
    meter = Meter(Limits(), clock=lambda: now)
    assert [meter.take("m", 1, group=False) is None for _ in range(4)] == [True, True, True, False]
    now = 10.0
    assert sum(meter.take("m", chat, group=False) is None for chat in range(2, 40)) == 30
    for second in range(20):
        now = 100.0 + 2 * second
        assert meter.take("m", -1, group=True) is None
    now = 140.0
    flood = meter.take("m", -1, group=True)
    assert flood
    assert (flood.scope, flood.retry_after) == ("group", 20)
    now = 160.0
    assert meter.take("m", -1, group=True) is None


def test_one_a_second_is_never_too_much_for_a_private_chat() -> None:
    now = 0.0
    meter = Meter(Limits(chat_burst=1), clock=lambda: now)
    for _ in range(100):
        assert meter.take("m", 1, group=False) is None
        now += 1.0


def test_who_goes_on_is_kept_out_for_longer() -> None:
    now = 0.0
    meter = Meter(Limits(chat_burst=1), clock=lambda: now)
    meter.take("m", 1, group=False)
    waits = [flood.retry_after for _ in range(3) if (flood := meter.take("m", 1, group=False))]
    assert waits == [1, 2, 3]
    now = 3.1
    assert meter.take("m", 1, group=False) is None


async def test_too_many_messages_are_refused_where_limits_are_on() -> None:
    async with BotApi(limits=Limits(chat_burst=2)) as api, connected(api) as bot:
        anna = api.person(7, started=True)
        sent = await bot.send_message(7, "one")
        await bot.edit_message_text("two", 7, sent.message_id)
        with pytest.raises(RetryAfter):
            await bot.send_message_draft(7, 1, "three")
        assert [(flood.method, flood.scope) for flood in api.floods] == [("sendMessageDraft", "chat")]
        refused = api.calls_of("sendMessageDraft")[0]
        assert (refused.status, refused.description) == (429, "Too Many Requests: retry after 1")
        assert anna.chat.drafts == []


async def test_without_limits_floods_are_only_counted(api: BotApi, bot: Bot, anna: Person) -> None:
    for at in range(5):
        await bot.send_message(7, str(at))
    assert (len(anna.chat.texts), len(api.floods)) == (5, 2)


@pytest.mark.parametrize(
    ("fault", "error", "sent"),
    [
        (Fault.status(502), NetworkError, 0),
        (Fault.refuse(400, "Bad Request: chat not found"), BadRequest, 0),
        (Fault.retry_after(3), RetryAfter, 0),
        (Fault.reset_before(), NetworkError, 0),
        (Fault.reset_after(), NetworkError, 1),
        (Fault.hang(), TimedOut, 0),
        (Fault.hang(done=True), TimedOut, 1),
        (Fault.drip(), TelegramError, 0),
    ],
    ids=lambda one: one.kind if isinstance(one, Fault) else "",
)
async def test_faults_come_on_demand_and_end(
    api: BotApi, bot: Bot, anna: Person, fault: Fault, error: type[TelegramError], sent: int
) -> None:
    api.fail("sendMessage", fault)
    with pytest.raises((error, TimeoutError)):
        async with asyncio.timeout(0.25):
            await bot.send_message(7, "hi", read_timeout=0.1)
    assert len(anna.chat.texts) == sent
    await bot.send_message(7, "again")
    assert len(anna.chat.texts) == sent + 1
    assert api.refusals == []


async def test_a_fault_may_be_for_one_chat_and_later(api: BotApi, bot: Bot, anna: Person) -> None:
    api.person(8, started=True)
    api.fail("*", Fault.status(500), chat=7, after=1, times=None)
    await bot.send_message(7, "one")
    await bot.send_message(8, "two")
    for _ in range(2):
        with pytest.raises(NetworkError):
            await bot.send_message(7, "three")
    api.clear_faults()
    await bot.send_message(7, "four")
    assert anna.chat.texts == ["one", "four"]


async def test_a_late_answer_is_an_answer(api: BotApi, bot: Bot, anna: Person) -> None:
    api.fail("sendMessage", Fault.delay(0.1))
    began = time.monotonic()
    await bot.send_message(7, "hi")
    assert time.monotonic() - began > 0.1


# -- for those who test with it --------------------------------------------------------------------------------


async def test_a_wait_that_ends_in_vain_says_what_happened(api: BotApi, bot: Bot, anna: Person) -> None:
    await anna.say("is anybody there?")
    await bot.send_chat_action(7, "typing")
    with pytest.raises(
        AssertionError, match=r"(?s)an answer in chat 7.*is anybody there.*sendChatAction.*200"
    ):
        await anna.chat.answer(within=0.1)


async def test_a_wait_ends_at_once_when_it_is_over(api: BotApi, bot: Bot, anna: Person) -> None:
    question = await anna.say("hi")
    waiting = asyncio.create_task(anna.chat.answer(question))
    await bot.send_message(7, "hello")
    async with asyncio.timeout(8):
        assert (await api.wait_until_unchanged(await waiting, quiet=0.05)).text == "hello"


def test_it_runs_in_a_thread_beside_a_test() -> None:
    with run_in_thread(BotApi()) as api:
        anna = api.person(7, "Anna", started=True)

        async def bot_life() -> None:
            async with connected(api) as bot:
                [update] = await bot.get_updates(timeout=5)
                assert update.message
                await bot.send_message(update.message.chat_id, "hello")

        api.do(anna.say("hi"))
        asyncio.run(bot_life())
        assert api.do(anna.chat.answer()).text == "hello"


async def test_two_bots_have_their_own_chats(api: BotApi, bot: Bot, anna: Person) -> None:
    other = api.add_bot("987654321:AAother-token-of-the-fake-bot-api_xxxx", "other_bot")
    async with connected(api, other.token) as second:
        await anna.say("for you", anna.chat_with(other))
        assert await heard(bot) == []
        assert await heard(second) == ["for you"]
