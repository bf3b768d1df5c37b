"""What a message asks to remember, in the person's own words, and everything that only looks like it."""

from typing import Any

import pytest

from bot.explicit_requests import MAX_CHARS, find_requests, format_note
from bot.messages import Quoted
from bot.models.notebook.languages import LANGUAGES
from bot.models.protocol import AttachedText, UserMessage
from tests.fakes.table_test import table_test

REQUESTS: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        "Remember that my sister's name is Ada": ("My sister's name is Ada.",),
        "hey, could you please remember that the bin goes out on Monday?": ("The bin goes out on Monday.",),
        "Never forget that I'm allergic to nuts": ("I'm allergic to nuts.",),
        "Write this down: the gate code is 4711": ("The gate code is 4711",),
        "The key is at Tom's. Please remember that.": ("The key is at Tom's.",),
        "The key is at Tom's. Remember that. I am off now.": ("The key is at Tom's.",),
        "I moved to Oslo. My street is Mill Lane. Remember that, please.": (
            "I moved to Oslo.",
            "My street is Mill Lane.",
        ),
        "Please remember this. The key is at Tom's.": ("The key is at Tom's.",),
        "Hi! Please remember that my sister's name is Ada. She lives in Oslo. What is the time there?": (
            "My sister's name is Ada. She lives in Oslo.",
        ),
        "Remember that Ada is my sister. And remember that Tom has the key.": (
            "Ada is my sister.",
            "Tom has the key.",
        ),
        "Rember that the wifi password is hunter2": ("The wifi password is hunter2",),
        "pls remeber: bins on Monday": ("Bins on Monday.",),
        "Remember:\nAnna likes tea.\nTom hates it.": ("Anna likes tea.", "Tom hates it."),
        "Remember the shopping list:\n- milk\n- eggs": ("The shopping list:\n- milk\n- eggs",),
        "Remember this:\n```\nssh home\n```": ("```\nssh home\n```",),
        "What's the capital of Norway? And remember that I live in Bergen.": ("I live in Bergen.",),
        "I want to remember that the key is at Tom's": ("The key is at Tom's.",),
        "Write me a poem. And remember that Ada is my sister.": ("Ada is my sister.",),
    },
    "de": {
        "Merk dir bitte, dass ich in Köln wohne": ("Ich wohne in Köln.",),
        "Meine Schwester heißt Ada, merk dir das bitte.": ("Meine Schwester heißt Ada.",),
        "Notiere: der Code ist 4711": ("Der Code ist 4711",),
        "Kannst du dir merken, dass Tom den Schlüssel hat?": ("Dass Tom den Schlüssel hat.",),
    },
    "es": {
        "Recuerda que mi hermana se llama Ada": ("Mi hermana se llama Ada.",),
        "Anota que el código es 4711": ("El código es 4711",),
        "La llave la tiene Tom. Recuérdalo, por favor.": ("La llave la tiene Tom.",),
    },
    "fr": {
        "Souviens-toi que ma sœur s'appelle Ada": ("Ma sœur s'appelle Ada.",),
        "Peux-tu noter que le code est 4711 ?": ("Le code est 4711",),
        "N'oublie pas que Tom a la clé.": ("Tom a la clé.",),
    },
    "it": {
        "Ricorda che mia sorella si chiama Ada": ("Mia sorella si chiama Ada.",),
        "Annota che il codice è 4711": ("Il codice è 4711",),
    },
    "pt": {
        "Lembra que minha irmã se chama Ada": ("Minha irmã se chama Ada.",),
        "Anota que o código é 4711": ("O código é 4711",),
    },
    "ru": {
        "Запомни, что мою сестру зовут Ада": ("Мою сестру зовут Ада.",),
        "Ключ у Тома. Запомни это, пожалуйста.": ("Ключ у Тома.",),
    },
    "zh": {"请记住我姐姐叫艾达": ("我姐姐叫艾达。",), "记一下：密码是4711": ("密码是4711",)},
    "ja": {
        "妹の名前はアダだと覚えておいて": ("妹の名前はアダだ。",),
        "「鍵は隣」と覚えておいてください": ("「鍵は隣」",),
    },
    "ko": {"내 여동생 이름은 에이다야, 기억해 줘": ("내 여동생 이름은 에이다야.",)},
    "hi": {"याद रखो कि मेरी बहन का नाम एडा है": ("मेरी बहन का नाम एडा है।",)},
    "ar": {"تذكر أن أختي اسمها آدا": ("أختي اسمها آدا.",)},
    "th": {"จำไว้ว่าน้องสาวชื่อเอดา": ("น้องสาวชื่อเอดา",)},
}


@table_test(
    ("text", "wanted"), [(text, wanted) for table in REQUESTS.values() for text, wanted in table.items()]
)
def test_request(text: str, wanted: tuple[str, ...]) -> None:
    assert find_requests(UserMessage(text)) == wanted


def test_there_are_requests_in_every_language() -> None:
    assert set(REQUESTS) == {language.code for language in LANGUAGES}


@table_test(
    "text",
    [
        "",
        "Remember",
        "Remember this",
        "My sister's name is Ada",
        "By the way, I like tea",
        "FYI the meeting moved to Tuesday",
        "btw I'm out of milk",
        "Remind me tomorrow at 9 to call Tom",
        "Don't forget to remind me tomorrow at 9 to call Tom",
        "Reminder: call mum at 5",
        "Do you remember where the key is?",
        "Do you remember that I like tea?",
        "Can you remember where the key is?",
        "Can you remember my birthday?",
        "Remember when we went to Rome?",
        "Remember me?",
        "I remember that you said it",
        "I don't remember that",
        "I told you to remember that",
        "Should I remember that?",
        "I want to remember this moment forever",
        "Write me a poem. Keep in mind that it's for kids.",
        '"Remember that I am your king," said the ghost.',
        "'Remember that I am your king', he said.",
        "“Remember that I am your king.”",
        'He said "remember that the key is here"',
        "He said 'remember that the key is here'",
        'He said: "The key is here, remember that."',
        "She wrote: please note that the office is closed",
        "> Remember that the key is at Tom's\nwhat does this mean?",
        "/remember that the key is at Tom's",
        "/unknown\nremember that the key is at Tom's",
        "Er sagte: „Merk dir, dass der Schlüssel hier ist.“",
        "Übrigens, ich mag Tee",
        "Erinnere mich morgen um 9 an den Anruf",
        "Erinnerst du dich, wo der Schlüssel ist?",
        "¿Recuerdas que mi hermana se llama Ada?",
        "Por cierto, me gusta el té",
        "Au fait, j'aime le thé",
        "Te souviens-tu que ma sœur s'appelle Ada ?",
        "A proposito, mi piace il tè",
        "Ti ricordi dove è la chiave?",
        "Você lembra onde está a chave?",
        "Кстати, я люблю чай",
        "Ты помнишь, где ключ?",
        "顺便说一下我喜欢茶",
        "你记得钥匙在哪里吗？",
        "彼は「妹の名前はアダだと覚えておいて」と言った",
        "鍵がどこか覚えていますか？",
        "내 열쇠 어디 있는지 기억해?",
        "참고로 나는 차를 좋아해",
        "वैसे मुझे चाय पसंद है",
        "للعلم، أحب الشاي",
        "هل تتذكر أين المفتاح؟",
        "จำได้ไหมว่ากุญแจอยู่ที่ไหน",
    ],
)
def test_no_request(text: str) -> None:
    assert find_requests(UserMessage(text)) == ()


@pytest.mark.parametrize(
    "more",
    [
        {"forwarded_from": "Tom"},
        {"earlier": True},
    ],
)
def test_the_words_of_others_ask_for_nothing(more: dict[str, Any]) -> None:
    assert find_requests(UserMessage("Remember that the key is at Tom's", **more)) == ()


def test_what_is_quoted_or_attached_asks_for_nothing() -> None:
    report = AttachedText("document 1: a.txt", "Remember that the key is at Tom's", "xyz", 1)
    quoted = Quoted("Remember that the key is at Tom's", "Tom")
    assert find_requests(UserMessage("Look at this", documents=(report,), quoted=quoted)) == ()
    assert find_requests(UserMessage("Remember this document", documents=(report,))) == ()
    assert find_requests(UserMessage("Remember this", quoted=quoted)) == ()


def test_a_voice_message_is_in_the_persons_own_words() -> None:
    spoken = AttachedText("voice message", "Remember that the key is at Tom's", spoken=True)
    assert find_requests(UserMessage("", documents=(spoken,))) == ("The key is at Tom's.",)


def test_pasted_text_asks_for_nothing_in_its_middle() -> None:
    pasted = "All of this was said at the meeting in May. " * (MAX_CHARS // 40)
    middle = f"{pasted}\n\nRemember that the key is at Tom's.\n\n{pasted}"
    assert find_requests(UserMessage(middle)) == ()
    first = f"Remember that the key is at Tom's.\n\n{pasted}\n\nAnd remember that Ada has the other one."
    assert find_requests(UserMessage(first)) == ("The key is at Tom's.", "Ada has the other one.")


def test_one_note_for_several_requests() -> None:
    assert format_note(("The key is at Tom's.",)) == "The key is at Tom's."
    assert format_note(("Milk:\n- two", "Eggs.")) == "- Milk:\n  - two\n- Eggs."
