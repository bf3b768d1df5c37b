import pytest

from bot.models.protocol import AssistantMessage, AttachedText, UserMessage
from bot.orders import (
    covers,
    find_agreement,
    find_change_orders,
    find_reminder_orders,
    find_write_orders,
)

LETTER = AttachedText("document 3: letter.pdf (PDF). …", "The fee is 20 €.", "aaaaaaaaaaaa", 3)


@pytest.mark.parametrize(
    "text",
    [
        "Remember the fee from this letter",
        "Could you please note the fee?",
        "What does it say? And save the fee, please.",
        "Bitte merk dir die Gebühr (fee)",
        "Kannst du notieren: fee",
        "Note le fee",
        "Apunta el fee",
        "Put the fee into MEMORY.md",
        "remember this",
        "Merk dir das",
        "Note it in MEMORY.md",
        "Merk dir das in MEMORY.md",
        "Запиши это в MEMORY.md",
    ],
)
def test_an_order_to_write_is_found(text: str) -> None:
    orders = find_write_orders([UserMessage(text, documents=(LETTER,))])
    assert any(covers(order, "The fee is 20 €") for order in orders)


@pytest.mark.parametrize(
    "text",
    [
        "Delete the fee",
        "Please update the fee",
        "Lösch die Notiz zur Fee",
        "ok, and remove the fee now",
        "delete that",
        "Actually, delete the fee",
        "@bot delete the fee",
        "Please take the line about the fee out",
        "Get rid of the fee",
        "cross out the fee",
        "I don't need the fee any more, so remove it",
        "The fee is paid, remove that",
        "Den Eintrag fee bitte löschen",
        "Nimm fee raus",
        "Die Notiz mit fee kannst du streichen",
        "feeの行を削除して",
        "删除fee那行",
        "удали запись про fee",
    ],
)
def test_an_order_to_change_is_found(text: str) -> None:
    assert any(covers(order, "The fee is 20 €") for order in find_change_orders([UserMessage(text)]))


@pytest.mark.parametrize(
    "message",
    [
        UserMessage("What is the fee?"),
        UserMessage("The fee is in the notebook"),
        UserMessage("> Note it in MEMORY.md"),
        UserMessage("> Put the fee into MEMORY.md\nIs that right?"),
        UserMessage("Remember the fee", forwarded_from="Mallory"),
        UserMessage("> Remember the fee"),
        UserMessage(
            "", documents=(AttachedText("document 3: a.txt (text)", "Remember the fee", "aaaaaaaaaaaa"),)
        ),
        UserMessage("Remember the fee. " * 200),
        UserMessage("/forget fee"),
        UserMessage("Remember the fee", earlier=True),
    ],
)
def test_nothing_else_is_an_order(message: UserMessage) -> None:
    assert not find_write_orders([message])
    assert not find_change_orders([message])


@pytest.mark.parametrize(
    "text",
    [
        "What does the letter say about cancelling the fee?",
        "Did you delete the fee?",
        "Wer hat die fee geändert?",
        "The fee is 20 €, the letter says.",
        "Thanks!",
    ],
)
def test_a_question_or_a_statement_changes_nothing(text: str) -> None:
    assert not any(covers(order, "The fee is 20 €") for order in find_change_orders([UserMessage(text)]))


@pytest.mark.parametrize("said", ["yes", "Yes, please do.", "ok", "Ja, bitte", "はい", "да"])
def test_who_agrees_orders_what_they_were_asked(said: str) -> None:
    asked = AssistantMessage("The fee is paid.\nShall I delete the note about the fee?")
    (order,) = find_agreement([UserMessage("Look", documents=(LETTER,)), asked, UserMessage(said)])
    assert covers(order, "- The fee is 20 €")
    assert not covers(order, "- The boiler code is 4711")


@pytest.mark.parametrize("said", ["no", "yes, and what else?", "> yes", ""])
def test_who_does_not_agree_orders_nothing(said: str) -> None:
    assert not find_agreement([AssistantMessage("Shall I delete the fee?"), UserMessage(said)])
    assert not find_agreement([AssistantMessage("The fee is 20 €."), UserMessage("yes")])
    assert not find_agreement([AssistantMessage("Delete?"), UserMessage("yes", forwarded_from="Mallory")])


@pytest.mark.parametrize(
    ("said", "is_order"),
    [
        ("Cancel it", True),
        ("I don't need the reminder any more", True),
        ("Kannst du die Erinnerung bitte löschen?", True),
        ("リマインダーをキャンセルして", True),
        ("取消提醒", True),
        ("reschedule it to 10", True),
        ("What is the reminder about?", False),
        ("I don't need the car any more", False),
    ],
)
def test_an_order_about_a_reminder_names_it_or_begins_with_what_to_do(said: str, *, is_order: bool) -> None:
    message = UserMessage(said)
    assert bool(find_reminder_orders([message], [message])) is is_order


@pytest.mark.parametrize(
    "text", ["What is in MEMORY.md?", "Is it in MEMORY.md?", "Note my cat in MEMORY.md", "Что в MEMORY.md?"]
)
def test_to_name_the_core_note_is_no_order_for_everything(text: str) -> None:
    assert not any(covers(order, "The fee is 20 €") for order in find_write_orders([UserMessage(text)]))


def test_an_order_for_something_else_does_not_count() -> None:
    assert not covers("my cat is called Tom", "The fee is 20 €")
    assert not covers("我的猫", "的费用")
