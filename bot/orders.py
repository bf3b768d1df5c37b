"""Finds what a person orders to be written, changed or removed, in their own words of this turn; pure."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from bot.explicit_requests import find_requests
from bot.foreign_text import person_words
from bot.models.protocol import AssistantMessage, Message, UserMessage

MAX_CHARS = 2_000
"""Longer messages are mostly pasted text, in which orders may be somebody else's."""

_POLITE = (
    r"(?:please|pls|also|and|then|now|so|ok|okay|yes|hey|hi|can you|could you|would you|will you|i want you to"
    r"|bitte|und|dann|jetzt|ja|kannst du|könntest du|würdest du|ich möchte, dass du"
    r"|s'il te plaît|et|oui|peux-tu|pourrais-tu|tu peux|por favor|y|sí|puedes|podrías|per favore|e|sì|puoi|potresti"
    r"|sim|pode|poderia|podes)\b[\s,:]*"
)
_WRITE = (
    r"(?:remember|note|save|store|keep|write|record|add|put|enter|log"
    r"|merk|notier|speicher|schreib|trag|halt|ergänz|füg"
    r"|note|enregistre|retiens|ajoute|écris|sauvegarde|garde"
    r"|apunta|anota|guarda|recuerda|añade|agrega|escribe"
    r"|annota|salva|ricorda|aggiungi|scrivi|segna|anote|guarde|lembre|adicione|escreva|salve)"
)
_CHANGE = (
    r"(?:update|change|cancel|stop|move|correct|replace|fix|edit|rename|delete|remove|erase|forget|clear|drop"
    r"|aktualisier|verschieb|änder|korrigier|berichtig|ersetz|lösch|entfern|streich|vergiss"
    r"|corrige|change|modifie|remplace|mets à jour|supprime|efface|oublie|enlève|annule"
    r"|actualiza|cambia|corrige|reemplaza|sustituye|borra|elimina|olvida|quita|cancela|anula"
    r"|aggiorna|correggi|sostituisci|modifica|cancella|rimuovi|dimentica|annulla"
    r"|atualize|mude|corrija|substitua|altere|apague|remova|esqueça|cancele)"
)
_CHANGE_ANYWHERE = (
    rf"\b{_CHANGE}\w{{0,3}}\b"
    r"|\b(?:get|getting) rid of\b|\b(?:take|cut|leave) (?:[\w'’]+ ){0,6}?(?:out|off)\b"
    r"|\b(?:cross|strike|turn|switch|call) (?:[\w'’]+ ){0,6}?(?:out|off)\b"
    r"|\b(?:scratch|strike|wipe|postpone|reschedule|snooze|never ?mind)\b|\bcan go\b"
    r"|\b(?:don'?t|doesn'?t|no longer|isn'?t|aren'?t|not) (?:[\w'’]+ ){0,8}?(?:need(?:ed)?|any ?more|any longer)\b"
    r"|\b(?:raus|rausnehmen|weg|wegmachen|verleg\w*|absag\w*|stornier\w*|abbestell\w*)\b"
    r"|\b(?:lösch|streich|entfern|änder|korrigier|berichtig|ersetz|verschieb|aktualisier)\w*|\bnicht mehr\b"
    r"|n'\w+ (?:[\w'’]+ ){0,4}?plus besoin|\bya no\b|\bnon (?:mi )?serve più\b|\bnão preciso mais\b"
    r"|\b(?:удал|отмен|убер|измени|исправ|замени|сотр|вычерк|перенес)\w*"
    r"|削除|消して|取り消|取消|キャンセル|変更|訂正|删|刪|去掉|改成|修改|삭제|지워|취소|변경|바꿔"
    r"|احذف|امسح|ألغ|الغ|غيّر|غير|हटा|मिटा|रद्द|बदल|ลบ|ยกเลิก|เปลี่ยน|แก้"
)
_ASKS = re.compile(
    r"(?:what|why|when|who|whose|how|which|where|did|does|do you|is|are|was|were|has|have|had|should|must"
    r"|wer|wie|wann|warum|wieso|welche\w?|wo|hat|hast|ist|sind|wurde|soll|muss|quoi|que|qu'\w+|quand|comment|pourquoi"
    r"|qui|est-ce|as-tu|qué|cuándo|cómo|quién|dónde|por qué|che|cosa|quando|come|perché|chi|dove|o que|quem|como|onde"
    r"|что|когда|почему|кто|как|где)\b",
    re.IGNORECASE,
)
"""Beginnings of questions, which are no orders although they may contain such a word."""
_OF_REMINDERS = re.compile(
    r"resched|postpon|snooz|verschieb|verleg|remind|erinner|alarm|wecker|timer|rappel|recordatorio|promemoria|lembrete|напомин|リマインド|リマインダー"
    r"|提醒|알림|리마인더|تذكير|याद|रिमाइंडर|เตือน",
    re.IGNORECASE,
)
_AGREES = re.compile(
    r"(?:(?:yes|yep|yeah|yup|sure|ok|okay|please|do|it|that|so|go|ahead|of|course|right|correct|exactly|thanks|thank|you"
    r"|ja|jo|klar|bitte|gern|gerne|genau|mach|das|danke|oui|vas-y|d'accord|merci|sí|si|claro|dale|hazlo|por|favor|gracias"
    r"|sì|certo|va|bene|fallo|grazie|sim|pode|faça|isso|obrigado|obrigada|да|давай|конечно|пожалуйста|はい|お願いします"
    r"|是|是的|好|好的|可以|네|예|응|نعم|हाँ|हां|जी|ใช่|ครับ|ค่ะ)(?:[\s,.!]+|$)){1,6}",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?;\n]+\s*|,\s+(?=(?:and|und|et|y|e)\b)|\s+(?=(?:and|und|et|y|e)\s)")
_WHOLE_SENTENCE = re.compile(r"[.!?;\n。！？；]+\s*")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_OF_CORE = re.compile(r"\bmemory\.md\b", re.IGNORECASE)


def find_write_orders(messages: Iterable[UserMessage]) -> tuple[str, ...]:
    """Return what these messages order to be written down; an empty one means "this"."""
    return tuple(order for message in messages for order in _find(message, _WRITE, keeps=True))


def find_change_orders(messages: Iterable[UserMessage], *, anywhere: bool = True) -> tuple[str, ...]:
    """Return what these messages order to be changed or removed; "" among it stands for "that".

    `anywhere`: an order may also be in the middle of a sentence: "I don't need the list any more, so remove it".
    """
    orders = [order for message in messages for order in _find(message, _CHANGE, keeps=False)]
    if anywhere:
        orders += (order for message in messages for order in _find_anywhere(message))
    return tuple(dict.fromkeys(orders))


def find_agreement(history: Sequence[Message]) -> tuple[str, ...]:
    """Return what the assistant has asked, if the person does nothing but agree to it."""
    said = [each for each in history if isinstance(each, UserMessage)][-1:]
    asked = [each.text for each in history if isinstance(each, AssistantMessage) and each.text.strip()][-1:]
    if not (said and asked and _AGREES.fullmatch(person_words(said[0]).strip())):
        return ()
    return tuple(line for line in asked[0].split("\n") if "?" in line or "？" in line)


def find_reminder_orders(history: Sequence[Message], messages: Iterable[UserMessage]) -> tuple[str, ...]:
    """Return what these messages, the last ones of a conversation, order to be done with reminders."""
    orders = [*find_change_orders(messages, anywhere=False)]
    loose = [*find_change_orders(messages), *find_agreement(history)]
    return (*orders, *(each for each in loose if _OF_REMINDERS.search(each)))


def covers(order: str, text: str) -> bool:
    """Return whether an order may mean a text: it says "this", or they share a meaningful word."""
    from memory.tokenizer import parse_query, tokenize

    words = tokenize(text)
    there = {*((word,) for word in words), *pairwise(words)}
    return not order or any(term.tokens in there for term in parse_query(order))


def _find_anywhere(message: UserMessage) -> Iterable[str]:
    text = person_words(message)
    if len(text) > MAX_CHARS or text.lstrip().startswith(("/", ">")):
        return
    for sentence in _WHOLE_SENTENCE.split(text):
        is_question = _ASKS.match(sentence.strip())
        if not is_question and re.search(_CHANGE_ANYWHERE, sentence, re.IGNORECASE):
            yield sentence


def _means_this(request: str) -> bool:
    """Return whether what is to be noted is only "it", and where to: "It in MEMORY.md" of "Note it in MEMORY.md"."""
    from memory.stop_words import load_all_stop_words

    rest = _OF_CORE.sub(" ", request)
    words = re.findall(r"\w+", rest.lower())
    return rest != request and len(words) <= 2 and load_all_stop_words().issuperset(words)


def _find(message: UserMessage, verbs: str, *, keeps: bool) -> Iterable[str]:
    text = person_words(message)
    if not text.strip() or len(text) > MAX_CHARS or text.lstrip().startswith("/"):
        return
    from bot.models.notebook.message_parser import parse_message  # loads every language

    parsed = parse_message(text, with_document=True)
    if keeps:
        yield from ("" if _means_this(each) else each for each in find_requests(message))
        if parsed.keep or parsed.unfinished:
            yield ""
        unquoted = _QUOTED_LINE.sub("", text)
        if _OF_CORE.search(unquoted) and not parsed.look:
            yield unquoted
    else:
        if parsed.forget:
            yield parsed.forget
        if "change" in parsed.unsupported:
            yield " ".join(parsed.queries)
        if parsed.cancel or {"forget_that", "undo"}.intersection(parsed.unsupported):
            yield ""
    for sentence in _SENTENCE.split(text):
        if re.match(rf"(?:{_POLITE})*{verbs}\w{{0,3}}\b", sentence.strip(), re.IGNORECASE):
            yield sentence
