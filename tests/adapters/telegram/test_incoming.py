from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyromark import events_with_range
from telegram import MessageEntity, Update

from adapters.telegram.incoming import (
    ButtonPress,
    GroupMigrated,
    ReachChanged,
    ReceivedMessage,
    TelegramEvent,
    TopicNamed,
    read_update,
)
from adapters.telegram.incoming_text import BotIdentity, MessageText, utf16_length
from bot.config.settings import Settings
from bot.messages import Attachment, ChatId, IncomingMessage, PersonId, Quoted
from bot.searchable_chats import is_private
from tests.fakes.bot_api import people
from tests.fakes.bot_api.chats import Chat
from tests.fakes.bot_api.entities import Entity
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.world import USERNAME, World

Json = dict[str, Any]
NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
SAID_AT = 1_790_000_000


@pytest.fixture(autouse=True)
def times_as_timedelta(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the connection has it."""
    monkeypatch.setenv("PTB_TIMEDELTA", "1")


@pytest.fixture
def world() -> World:
    return World(clock=lambda: float(SAID_AT))


@pytest.fixture
def anna(world: World) -> Person:
    return world.person(7, "Anna", last_name="Berg")


@pytest.fixture
def room(world: World, anna: Person) -> Chat:
    world.bot.privacy = False
    return world.supergroup("Allotment", anna)


@pytest.fixture
def forum(world: World, anna: Person) -> Chat:
    world.bot.privacy = False
    return world.forum("Allotment", anna)


def happened(world: World, raw: Json | None = None) -> TelegramEvent | None:
    """What is read from the latest update, or from this one."""
    raw = raw or world.bot.inbox.pending[-1]
    return read_update(Update.de_json(raw), BotIdentity(world.bot.id, USERNAME), now=NOW)


def heard(world: World, raw: Json | None = None) -> IncomingMessage:
    said = happened(world, raw)
    assert isinstance(said, ReceivedMessage)
    return said.message


def marked(text: str, kind: str, piece: str, **more: Any) -> Entity:
    return {
        "type": kind,
        "offset": utf16_length(text[: text.index(piece)]),
        "length": utf16_length(piece),
        **more,
    }


def update(world: World, **changes: Any) -> Json:
    """The latest message with other fields; None takes one away."""
    raw: Json = world.bot.inbox.pending[-1]
    message = {key: value for key, value in {**raw["message"], **changes}.items() if value is not None}
    return {"update_id": raw["update_id"], "message": message}


# -- who, where, when -------------------------------------------------------------------------------------------


async def test_a_private_message(world: World, anna: Person) -> None:
    sent = await anna.say("Good morning")
    assert happened(world) == ReceivedMessage(
        IncomingMessage(
            id=str(sent.id),
            chat=ChatId("telegram", "7"),
            sender=PersonId("telegram", "7"),
            text="Good morning",
            sent_at=datetime.fromtimestamp(SAID_AT, UTC),
            sender_name="Anna Berg",
        )
    )


async def test_a_topic_is_a_chat_of_its_own_and_a_thread_of_replies_is_not(
    world: World, anna: Person, forum: Chat, room: Chat
) -> None:
    topic = await world.open_topic(forum, "Beans", anna)
    assert happened(world) == TopicNamed(ChatId("telegram", f"{forum.id}/{topic.id}"), "Beans")
    await anna.say("hello", forum, topic=topic)
    said = happened(world)
    assert isinstance(said, ReceivedMessage)
    assert (said.message.chat.name, said.topic) == (f"{forum.id}/{topic.id}", "Beans")
    await anna.say("in general", forum)
    assert heard(world).chat.name == str(forum.id)

    first = await anna.say("in no forum", room)
    await anna.say("answer", room, reply_to=first)
    assert world.bot.inbox.pending[-1]["message"]["message_thread_id"] == first.id
    assert heard(world).chat.name == str(room.id)


async def test_topics_of_a_private_chat_are_chats_of_their_own(world: World, anna: Person) -> None:
    await anna.say("hello")
    message = heard(world, update(world, message_thread_id=45, is_topic_message=True))
    assert message.chat.name == "7/45"
    assert (message.in_room, message.addressed) == (False, True)


async def test_what_may_be_searched_knows_private_chats_and_topics_from_rooms(
    world: World, anna: Person, forum: Chat
) -> None:
    channels = Settings().channels
    topic = await world.open_topic(forum, "Beans", anna)
    for chat, of_topic in ((forum, topic), (forum, None)):
        await anna.say("hello", chat, topic=of_topic)
        message = heard(world)
        assert message.in_room
        assert not is_private(message.sender, message.chat, channels)
    await anna.say("hello")
    for message in (heard(world), heard(world, update(world, message_thread_id=45, is_topic_message=True))):
        assert not message.in_room
        assert is_private(message.sender, message.chat, channels)


async def test_an_edit_names_what_it_stands_for(world: World, anna: Person) -> None:
    sent = await anna.say("one")
    await anna.edit(sent, "two")
    message = heard(world)
    assert (message.edit_of, message.text) == (str(sent.id), "two")
    assert message.id.partition(".")[0] == str(sent.id)
    assert message.former_id == f"{sent.id}.{SAID_AT}"


async def test_each_edit_has_an_id_of_its_own_however_soon_it_follows_and_however_often_it_comes(
    world: World, anna: Person
) -> None:
    sent = await anna.say("one")
    for text in ("two", "one", "two"):
        await anna.edit(sent, text)
    edits = list(world.bot.inbox.pending)[1:]
    ids = [heard(world, raw).id for raw in edits]
    assert len(set(ids)) == 3
    assert [heard(world, raw).id for raw in edits] == ids


async def test_somebody_who_moves_about_says_nothing_new(world: World, anna: Person) -> None:
    await anna.location()
    raw = update(world, edit_date=SAID_AT, location={"latitude": 1.0, "longitude": 2.0, "live_period": 900})
    assert happened(world, {"update_id": 1, "edited_message": raw["message"]}) is None


@pytest.mark.parametrize(
    "sender",
    [
        {"from": {"id": 99, "is_bot": True, "first_name": "Other"}},
        {"from": None},
        {
            "from": {"id": 777000, "is_bot": False, "first_name": "Telegram"},
            "sender_chat": {"id": -1005, "type": "channel", "title": "News"},
            "is_automatic_forward": True,
        },
    ],
    ids=["a bot", "nobody", "a copy of a channel's post"],
)
async def test_what_no_person_wrote_is_not_heard(
    world: World, anna: Person, room: Chat, sender: Json
) -> None:
    await anna.say(f"@{USERNAME} hello", room)
    assert happened(world, update(world, **sender)) is None


async def test_an_anonymous_administrator_is_the_group_and_nobody_else(
    world: World, anna: Person, room: Chat
) -> None:
    await anna.say(f"@{USERNAME} /allow telegram:66", room)
    raw = update(
        world,
        **{
            "from": {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
        },
        sender_chat={"id": room.id, "type": "supergroup", "title": "Allotment"},
        author_signature="the boss",
    )
    message = heard(world, raw)
    assert message.sender == PersonId("telegram", str(room.id))
    assert message.sender_name == "the boss"


async def test_posts_of_a_channel_and_messages_of_telegram_itself_are_nothing(
    world: World, anna: Person, room: Chat
) -> None:
    await anna.say("hello")
    channel = {"id": -1009, "type": "channel", "title": "News"}
    assert happened(world, update(world, chat=channel)) is None
    assert happened(world, {"update_id": 5, "channel_post": update(world, chat=channel)["message"]}) is None
    await anna.add_bot(room)
    assert happened(world) is None
    pinned = update(world, new_chat_members=None, new_chat_member=None, new_chat_title="Garden")
    assert happened(world, pinned) is None


# -- called or not ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_addressed", "read"),
    [
        ("how are you all?", False, "how are you all?"),
        (f"@{USERNAME} how are you?", True, "how are you?"),
        (f"@{USERNAME.upper()}, how are you?", True, "how are you?"),
        (f"how are you, @{USERNAME}", True, "how are you"),
        (f"🌱🌱 ask @{USERNAME} about beans", True, f"🌱🌱 ask @{USERNAME} about beans"),
        (f"@{USERNAME} @{USERNAME}", True, f"@{USERNAME} @{USERNAME}"),
        (f"@{USERNAME}s are many", False, f"@{USERNAME}s are many"),
        (f"/status@{USERNAME}", True, "/status"),
        (f"/remember@{USERNAME} two beans", True, "/remember two beans"),
        (f"@{USERNAME} /status", True, "/status"),
        ("/status", True, "/status"),
        ("/status@other_bot", False, "/status@other_bot"),
        ("/etc/hosts is a file", False, "/etc/hosts is a file"),
    ],
)
async def test_when_the_bot_is_called_in_a_room(
    world: World, anna: Person, room: Chat, text: str, is_addressed: bool, read: str
) -> None:
    await anna.say(text, room)
    message = heard(world)
    assert (message.in_room, message.addressed, message.text) == (True, is_addressed, read)


async def test_a_mention_counts_by_its_place_in_utf_16(world: World, anna: Person, room: Chat) -> None:
    text = f"👩‍👩‍👧‍👦🇩🇪 @{USERNAME}"
    await anna.say(text, room)
    assert heard(world).text == "👩‍👩‍👧‍👦🇩🇪"


async def test_a_mention_by_another_name_calls_too(world: World, anna: Person, room: Chat) -> None:
    text = "Bot, are you there?"
    mention = marked(text, "text_mention", "Bot", user=world.bot.as_json())
    await anna.say(text, room, entities=[mention])
    message = heard(world)
    assert (message.addressed, message.text) == (True, "are you there?")


async def test_a_mention_in_a_caption_calls(world: World, anna: Person, room: Chat) -> None:
    await anna.photo(caption=f"@{USERNAME} what is this?", chat=room)
    message = heard(world)
    assert (message.addressed, message.text) == (True, "what is this?")


async def test_a_reply_to_the_bot_calls_it_and_one_to_others_does_not(
    world: World, anna: Person, room: Chat
) -> None:
    ours = world.post(room, world.bot, None)
    theirs = await anna.say("mine", room)
    await anna.say("thanks", room, reply_to=ours)
    assert heard(world).addressed
    await anna.say("thanks", room, reply_to=theirs)
    assert not heard(world).addressed


async def test_writing_in_a_topic_that_the_bot_has_opened_is_no_reply_to_it(
    world: World, anna: Person, forum: Chat
) -> None:
    content = {"forum_topic_created": {"name": "Ours", "icon_color": 1}}
    opening = world.service(forum, world.bot, content, opens_topic=True)
    await anna.say("hello", forum)
    raw = update(world, message_thread_id=opening.id, is_topic_message=True)
    first = {"message_id": opening.id, "date": 1, "chat": raw["message"]["chat"], "from": world.bot.as_json()}
    for named in ({}, content):
        raw["message"]["reply_to_message"] = {**first, **named}
        message = heard(world, raw)
        assert (message.addressed, message.quoted) == (False, None)


# -- quoted and forwarded ----------------------------------------------------------------------------------------


async def test_what_is_replied_to_is_quoted(world: World, anna: Person) -> None:
    first = await anna.say("Beans grow fast. Peas do not.")
    await anna.say("sure?", reply_to=first)
    assert heard(world).quoted == Quoted("Beans grow fast. Peas do not.", "Anna Berg")
    await anna.say("sure?", reply_to=first, quote="Peas do not.")
    assert heard(world).quoted == Quoted("Peas do not.", "Anna Berg")


async def test_the_bots_own_words_are_quoted_as_such_and_its_files_are_not_read_again(
    world: World, anna: Person
) -> None:
    await anna.document(caption="as asked")
    theirs = world.bot.inbox.pending[-1]["message"]
    await anna.say("thanks")
    raw = update(world, reply_to_message={**theirs, "from": world.bot.as_json()})
    message = heard(world, raw)
    assert message.quoted == Quoted("as asked", "Commonplace", mine=True)
    assert message.attachments == ()


async def test_what_came_along_with_the_quoted_message_comes_along(world: World, anna: Person) -> None:
    picture = await anna.photo(caption="my beans")
    await anna.say("what are these?", reply_to=picture)
    message = heard(world)
    assert [(one.kind, one.quoted) for one in message.attachments] == [("picture", True)]
    voice = await anna.voice()
    await anna.voice(reply_to=voice)
    assert [(one.kind, one.quoted) for one in heard(world).attachments] == [("voice", False), ("voice", True)]
    film = await anna.video()
    await anna.say("and these?", reply_to=film)
    assert heard(world).attachments == ()


async def test_a_reply_to_a_sticker_tells_of_it(world: World, anna: Person) -> None:
    sticker = await anna.sticker(emoji="🐈")
    await anna.say("why?", reply_to=sticker)
    assert heard(world).quoted == Quoted("[sticker 🐈]", "Anna Berg")


async def test_a_reply_to_a_message_of_another_chat_is_quoted(world: World, anna: Person) -> None:
    await anna.document(name="plan.pdf", media_type="application/pdf")
    document = world.bot.inbox.pending[-1]["message"]["document"]
    await anna.say("look")
    origin = people.from_hidden_user("Carl")["forward_origin"]
    external = {"origin": origin, "document": document}
    raw = update(world, external_reply=external, quote={"text": "page 3", "position": 0})
    message = heard(world, raw)
    assert message.quoted == Quoted("page 3", "Carl")
    assert [one.name for one in message.attachments] == ["plan.pdf"]


async def test_a_very_long_quote_is_bounded(world: World, anna: Person) -> None:
    await anna.say("hm")
    long = {**world.bot.inbox.pending[-1]["message"], "text": "a" * 50_000}
    quoted = heard(world, update(world, reply_to_message=long)).quoted
    assert quoted
    assert len(quoted.text) == 4096


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("user", "Ben Ford"),
        ("hidden", "Carl"),
        ("chat", "the boss"),
        ("channel", "News"),
        ("nameless", "somebody"),
    ],
)
async def test_forwarded_words_are_anothers(world: World, anna: Person, origin: str, name: str) -> None:
    ben = world.person(8, "Ben", last_name="Ford")
    origins = {
        "user": people.from_user(ben),
        "hidden": people.from_hidden_user("Carl"),
        "chat": people.from_chat(world.group("Club", ben), "the boss"),
        "channel": people.from_channel("News"),
        "nameless": people.from_hidden_user(""),
    }
    await anna.forward("/forget everything", origins[origin])
    message = heard(world)
    assert (message.forwarded_from, message.text) == (name, "/forget everything")


async def test_words_that_another_bot_put_in_are_not_the_persons_own(world: World, anna: Person) -> None:
    await anna.say("/allow telegram:66")
    other = {"id": 99, "is_bot": True, "first_name": "Gif", "username": "gif"}
    assert heard(world, update(world, via_bot=other)).forwarded_from == "@gif"


# -- what is written ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "marks", "read"),
    [
        ("run ls -l now", [("code", "ls -l", {})], "run `ls -l` now"),
        ("run a`b now", [("code", "a`b", {})], "run ``a`b`` now"),
        ("run `x now", [("code", "`x", {})], "run `` `x `` now"),
        (
            "this: x = 1\ny = 2 ok",
            [("pre", "x = 1\ny = 2", {"language": "python"})],
            "this: \n```python\nx = 1\ny = 2\n```\n ok",
        ),
        ("```\nx", [("pre", "```\nx", {})], "````\n```\nx\n````"),
        ("ls -lx = 1", [("code", "ls -l", {}), ("pre", "x = 1", {})], "`ls -l`\n```\nx = 1\n```"),
        ("x = 1ls -l", [("pre", "x = 1", {}), ("code", "ls -l", {})], "```\nx = 1\n```\n`ls -l`"),
        ("one two", [("pre", "one", {}), ("pre", " two", {})], "```\none\n```\n```\n two\n```"),
        ("one two", [("code", "one", {}), ("code", " two", {})], "`one` ` two`"),
        ("cd x\nls", [("code", "cd x\nls", {})], "```\ncd x\nls\n```"),
        ("x = 1", [("pre", "x = 1", {"language": "py`3\n"})], "```py3\nx = 1\n```"),
        (
            "see the plan 🌱",
            [("text_link", "the plan", {"url": "https://example.org/p"})],
            "see the plan (https://example.org/p) 🌱",
        ),
        ("example.org", [("text_link", "example.org", {"url": "example.org/"})], "example.org"),
        ("so bold", [("bold", "bold", {})], "so bold"),
        ("🌱 x 🌱 y", [("code", "x", {}), ("code", "y", {})], "🌱 `x` 🌱 `y`"),
        ("/pair ABCD", [("code", "/pair ABCD", {})], "/pair ABCD"),
        ("/remember x = 1", [("code", "x = 1", {})], "/remember `x = 1`"),
    ],
)
async def test_marks_that_carry_meaning_stay(
    world: World, anna: Person, text: str, marks: Sequence[tuple[str, str, Json]], read: str
) -> None:
    await anna.say(text, entities=[marked(text, kind, piece, **more) for kind, piece, more in marks])
    assert heard(world).text == read


@pytest.mark.parametrize("offset", [-1, 3, 100])
async def test_marks_beyond_the_text_do_no_harm(world: World, anna: Person, offset: int) -> None:
    await anna.say("abcd")
    raw = update(world, entities=[{"type": "code", "offset": offset, "length": 3}])
    assert heard(world, raw).text == "abcd"


async def test_half_a_character_does_not_get_through(world: World, anna: Person) -> None:
    await anna.say("x")
    message = heard(world, update(world, text="a\ud83c", caption=None))
    assert message.text == "a\ufffd"
    raw = update(world, **{"from": {"id": 7, "is_bot": False, "first_name": "An\udc00na"}})
    heard(world, raw).sender_name.encode()


KINDS = ("bold", "code", "pre", "text_link", "mention", "bot_command", "blockquote", "spoiler")


@settings(deadline=None)
@given(
    text=st.text("ab 👩‍👧`@/\n.,éשّ한", max_size=40),
    marks=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(-2, 60), st.integers(-2, 60)), max_size=5),
)
def test_marks_take_no_word_away(text: str, marks: list[tuple[str, int, int]]) -> None:
    entities = [MessageEntity(kind, at, length, url="https://e.x") for kind, at, length in marks]
    read = MessageText(text, entities, BotIdentity(1, USERNAME)).read()
    letters = iter(read)
    assert all(letter in letters for letter in text if letter.isalnum())


PIECES = st.one_of(
    st.tuples(st.just("text"), st.text("ab 👩‍👧\n.,éشّ한", max_size=8)),
    st.tuples(st.sampled_from(("bold", "spoiler")), st.text("ab é한", min_size=1, max_size=8)),
    st.tuples(st.just("code"), st.text("ab `é한", min_size=1, max_size=8)),
    st.tuples(st.just("pre"), st.text("ab `~\né한", min_size=1, max_size=12)),
)


@settings(deadline=None)
@given(pieces=st.lists(PIECES, max_size=6), language=st.sampled_from(("", "python", "a`b", "c d", "\n")))
def test_all_that_is_marked_as_code_is_read_as_code_and_nothing_else_is(
    pieces: list[tuple[str, str]], language: str
) -> None:
    entities, at = list[MessageEntity](), 0
    for kind, piece in pieces:
        if kind != "text":
            entities.append(MessageEntity(kind, at, utf16_length(piece), language=language))
        at += utf16_length(piece)
    read = MessageText("".join(piece for _, piece in pieces), entities, BotIdentity(1, USERNAME)).read()
    letters = iter(read)
    assert all(letter in letters for _, piece in pieces for letter in piece if letter.isalnum())
    expected = [squeezed(piece) for kind, piece in pieces if kind in ("code", "pre") and piece.strip()]
    assert code_in(read) == expected


def squeezed(text: str) -> str:
    """Without blanks: Markdown takes some of those at the edges of code for its own."""
    return "".join(text.split())


def code_in(text: str) -> list[str]:
    """What a reader of Markdown takes for code, in order."""
    found = list[str]()
    block: list[str] | None = None
    for event, _ in events_with_range(text):
        if isinstance(event, str):
            continue
        ((kind, value),) = event.items()
        if kind in ("start", "Start") and isinstance(value, dict) and "CodeBlock" in value:
            block = []
        elif kind in ("end", "End") and value == "CodeBlock" and block is not None:
            found.append(squeezed("".join(block)))
            block = None
        elif kind == "Text" and block is not None:
            block.append(str(value))
        elif kind == "Code":
            found.append(squeezed(str(value)))
    return found


# -- what comes along --------------------------------------------------------------------------------------------


async def test_a_photo_is_its_largest_size_that_can_be_fetched(world: World, anna: Person) -> None:
    await anna.photo(caption="beans", sizes=((90, 90), (1280, 960), (320, 240)))
    message = heard(world)
    sizes = world.bot.inbox.pending[-1]["message"]["photo"]
    largest = max(sizes, key=lambda size: size["width"])
    assert message.text == "beans"
    assert message.attachments == (
        Attachment("picture", largest["file_id"], media_type="image/jpeg", size=largest.get("file_size", 0)),
    )
    largest["file_size"] = 21 * 1024 * 1024
    (smaller,) = heard(world).attachments
    assert smaller.handle == next(size["file_id"] for size in sizes if size["width"] == 320)


@pytest.mark.parametrize(
    ("name", "media_type", "kind"),
    [
        ("notes.txt", "text/plain", "document"),
        ("beans.png", "image/png", "picture"),
        ("plan.svg", "image/svg+xml", "document"),
        ("../../etc/passwd", "application/octet-stream", "document"),
    ],
)
async def test_documents(world: World, anna: Person, name: str, media_type: str, kind: str) -> None:
    await anna.document(b"12345", "here", name=name, media_type=media_type)
    (document,) = heard(world).attachments
    assert (document.kind, document.name, document.media_type, document.size) == (kind, name, media_type, 5)


async def test_what_is_listened_to(world: World, anna: Person) -> None:
    await anna.voice(seconds=12)
    (voice,) = heard(world).attachments
    assert (voice.kind, voice.seconds, voice.media_type) == ("voice", 12.0, "audio/ogg")
    await anna.audio(name="song.mp3", seconds=200)
    (audio,) = heard(world).attachments
    assert (audio.kind, audio.seconds, audio.name) == ("voice", 200.0, "song.mp3")
    await anna.video_note(seconds=5)
    (round_one,) = heard(world).attachments
    assert (round_one.kind, round_one.media_type) == ("voice", "video/mp4")


async def test_what_is_watched_comes_along_though_nobody_can_look_at_it(world: World, anna: Person) -> None:
    await anna.video(name="film.mp4", caption="look")
    message = heard(world)
    assert [(one.kind, one.name) for one in message.attachments] == [("other", "film.mp4")]
    await anna.animation()
    assert [one.kind for one in heard(world).attachments] == ["other"]


async def test_what_is_no_text_is_told_in_words(world: World, anna: Person) -> None:
    await anna.sticker(emoji="😀")
    assert heard(world).text == "[sticker 😀]"
    assert heard(world, update(world, sticker={**STICKER, "emoji": None})).text == "[sticker]"
    await anna.location(52.52, 13.405)
    assert heard(world).text == "[location 52.52000, 13.40500]"
    await anna.venue("A café", "High Street 1")
    assert heard(world).text == "[place A café, High Street 1 (52.52000, 13.40500)]"
    await anna.contact("+491701234567", "Ben\nFord")
    assert heard(world).text == "[contact Ben Ford, +491701234567]"
    await anna.dice("🎲", 4)
    assert heard(world).text == "[🎲 4]"
    await anna.poll("Tea?", ("yes", "no"))
    assert heard(world).text == "[poll: Tea?]\n- yes\n- no"


STICKER: Json = {
    "file_id": "x",
    "file_unique_id": "y",
    "type": "regular",
    "width": 1,
    "height": 1,
    "is_animated": False,
    "is_video": False,
}
CHECKLIST: Json = {
    "title": "Garden",
    "tasks": [{"id": 1, "text": "sow", "completion_date": 5}, {"id": 2, "text": "water"}],
}


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ({"checklist": CHECKLIST}, "[checklist: Garden]\n- [x] sow\n- [ ] water"),
        ({"game": {"title": "Chess", "description": "", "photo": []}}, "[game Chess]"),
        ({"story": {"id": 1, "chat": {"id": 5, "type": "private"}}}, "[story]"),
        ({"paid_media": {"star_count": 5, "paid_media": []}}, "[paid media]"),
        ({"hologram": {"depth": 3}}, "[something I can't read here]"),
    ],
)
async def test_rare_things_are_not_passed_over(world: World, anna: Person, content: Json, read: str) -> None:
    await anna.say("x")
    assert heard(world, update(world, text=None, **content)).text == read


async def test_what_telegram_adds_to_messages_some_day_changes_nothing(world: World, anna: Person) -> None:
    await anna.say("hello")
    assert heard(world, update(world, aura="green")).text == "hello"
    assert happened(world, update(world, text=None, new_chat_title="Garden", aura="green")) is None


async def test_the_parts_of_an_album_wait_for_each_other(world: World, anna: Person) -> None:
    await anna.album(b"one", b"two", caption="beans")
    first, second = (happened(world, raw) for raw in world.bot.inbox.pending)
    assert isinstance(first, ReceivedMessage)
    assert isinstance(second, ReceivedMessage)
    assert first.album == second.album != ""
    assert (first.message.more_soon, second.message.more_soon) == (True, True)
    assert (first.message.text, second.message.text) == ("beans", "")


async def test_a_text_that_a_client_may_have_cut_waits_for_more(world: World, anna: Person) -> None:
    await anna.paste("bean " * 1000)
    parts = [heard(world, raw) for raw in world.bot.inbox.pending]
    assert len(parts) == 2
    assert parts[0].more_soon
    await anna.say("bean " * 100)
    assert not heard(world).more_soon


# -- all else ----------------------------------------------------------------------------------------------------


async def test_a_button_says_its_line_for_whoever_pressed_it(world: World, anna: Person, room: Chat) -> None:
    shown = world.post(room, world.bot, None)
    press = await anna.press(shown, "/pair ABCD", forged=True)
    pressed = happened(world)
    assert isinstance(pressed, ButtonPress)
    assert pressed == ButtonPress(
        press.id,
        IncomingMessage(
            id=f"press-{press.id}",
            chat=ChatId("telegram", str(room.id)),
            sender=PersonId("telegram", "7"),
            text="/pair ABCD",
            sent_at=NOW,
            sender_name="Anna Berg",
            chat_name="Allotment",
            in_room=True,
            handle=str(shown.id),
        ),
    )


async def test_the_language_of_the_app_comes_with_what_is_said_and_pressed(world: World, room: Chat) -> None:
    ben = world.person(8, "Ben", language="pt-br")
    await ben.say("Oi")
    assert heard(world).language == "pt-br"
    await ben.press(world.post(room, world.bot, None), "/help", forged=True)
    pressed = happened(world)
    assert isinstance(pressed, ButtonPress)
    assert pressed.message
    assert pressed.message.language == "pt-br"


async def test_a_button_of_an_old_message_works_and_one_that_says_no_command_does_not(
    world: World, anna: Person, room: Chat
) -> None:
    shown = world.post(room, world.bot, None)
    shown.deleted = True
    await anna.press(shown, "/models reset", forged=True)
    pressed = happened(world)
    assert isinstance(pressed, ButtonPress)
    assert pressed.message
    assert pressed.message.handle == str(shown.id)
    press = await anna.press(shown, "send me all notes", forged=True)
    assert happened(world) == ButtonPress(press.id, None)
    raw = {
        key: value for key, value in world.bot.inbox.pending[-1]["callback_query"].items() if key != "message"
    }
    assert happened(world, {"update_id": 9, "callback_query": {**raw, "data": "/x"}}) == ButtonPress(
        press.id, None
    )


async def test_both_sides_of_a_move_tell_the_same(world: World, anna: Person) -> None:
    group = world.group("Allotment", anna)
    new = await world.migrate(group, anna)
    moves = [happened(world, raw) for raw in world.bot.inbox.pending]
    move = GroupMigrated(ChatId("telegram", str(group.id)), ChatId("telegram", str(new.id)))
    assert moves == [move, move]


async def test_where_the_bot_can_write_no_longer_and_again(
    world: World, anna: Person, room: Chat, forum: Chat
) -> None:
    home, there = ChatId("telegram", "7"), ChatId("telegram", str(room.id))
    await anna.block()
    assert happened(world) == ReachChanged(home, "blocked")
    await anna.unblock()
    assert happened(world) == ReachChanged(home, "")
    await anna.kick_bot(room)
    kicked = next(raw for raw in reversed(world.bot.inbox.pending) if "my_chat_member" in raw)
    assert happened(world, kicked) == ReachChanged(there, "kicked")
    rights = {"status": "restricted", "user": world.bot.as_json(), "until_date": 0, "is_member": True}
    for may_write, closed in ((False, "restricted"), (True, "")):
        rights |= dict.fromkeys(MAY, may_write)
        member = {**kicked["my_chat_member"], "new_chat_member": rights}
        assert happened(world, {"update_id": 1, "my_chat_member": member}) == ReachChanged(there, closed)  # type: ignore[arg-type]

    topic = await world.open_topic(forum, "Beans", anna)
    await world.close_topic(forum, topic, anna)
    assert happened(world) == ReachChanged(ChatId("telegram", f"{forum.id}/{topic.id}"), "closed")
    await world.reopen_topic(forum, topic, anna)
    assert happened(world) == ReachChanged(ChatId("telegram", f"{forum.id}/{topic.id}"), "")


MAY = (
    "can_change_info", "can_invite_users", "can_pin_messages", "can_send_messages", "can_send_polls",
    "can_send_other_messages", "can_add_web_page_previews", "can_manage_topics", "can_send_audios",
    "can_send_documents", "can_send_photos", "can_send_videos", "can_send_video_notes", "can_send_voice_notes",
    "can_react_to_messages", "can_edit_tag",
)  # fmt: skip
