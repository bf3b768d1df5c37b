"""Words by language that mark a lasting state, such as "lives" and "is"; only the most common ones."""

from functools import cache
from typing import NamedTuple


class StateWords(NamedTuple):
    """Words of one language, in lower case."""

    copulas: frozenset[str]
    """"is": what stands before it names the fact."""
    verbs: frozenset[str]
    """"lives", "costs": with them, a name alone before it is enough."""
    lasting: frozenset[str] = frozenset()
    """"now", "always", "joined": what is said with them lasts, however it is said. In scripts without spaces,
    particles after a topic, before a number alone."""
    own: frozenset[str] = frozenset()
    """"my", "our": what is mine needs no other name. In scripts without spaces, "of" too."""
    has: frozenset[str] = frozenset()
    """"has", "rides": right before what somebody has, or with a number."""


_BY_LANGUAGE = {
    "en": (
        "is are am",
        "lives i_live we_live resides works_at works_for works_as works_in prefers i_prefer costs weighs studies banks"
        " moved_to",
        "now nowadays currently always usually lately joined switched changed became member",
        "my our i_live we_live i_prefer",
        "has have rides drives wears uses needs takes owns plays earns",
    ),
    "de": (
        "ist sind bin lautet liegt steht",
        "heißt heiße wohnt wohne wohnen lebt lebe leben arbeitet_bei arbeitet_als arbeitet_in arbeite_bei arbeite_als"
        " kostet wiegt studiert",
        "jetzt nun inzwischen derzeit aktuell immer künftig neuerdings mitglied",
        "mein meine unser unsere wohne wohnen lebe arbeite_bei arbeite_als",
        "hat habe haben fährt fahre trägt braucht nutzt benutzt spielt",
    ),
    "fr": (
        "est sont suis",
        "habite habitent vit travaille_chez travaille_comme travaille_à préfère coûte pèse appelle étudie",
        "maintenant désormais actuellement toujours membre",
        "mon ma mes notre nos",
        "utilise conduit possède joue",
    ),
    "es": (
        "es soy está están",
        "vive vivo vivimos trabaja trabajo prefiere cuesta pesa llama estudia",
        "ahora actualmente siempre miembro socio socia",
        "mi mis nuestro nuestra vivo vivimos trabajo",
        "tiene tengo conduce lleva calza necesita juega",
    ),
    "pt": (
        "é são sou está estão",
        "mora moro moramos vive trabalha trabalho prefere custa pesa chama estuda",
        "agora atualmente sempre membro sócio sócia",
        "meu minha nosso nossa moro moramos trabalho",
        "tem tenho calça precisa joga",
    ),
    "it": (
        "è sono",
        "vive vivo abita abito abitiamo lavora lavoro preferisce costa pesa chiama studia",
        "ora adesso attualmente sempre membro socio socia",
        "mio mia nostro nostra vivo abito abitiamo lavoro",
        "ha ho guida gioca",
    ),
    "nl": (
        "is",
        "heet woont woon wonen leeft werkt kost weegt studeert",
        "nu tegenwoordig momenteel altijd voortaan lid",
        "mijn onze woon wonen",
        "heeft heb rijdt draagt gebruikt",
    ),
    "sv": (
        "är",
        "heter bor arbetar jobbar kostar väger studerar föredrar",
        "nu numera alltid medlem",
        "min mitt vår vårt",
        "har kör använder",
    ),
    "pl": (
        "jest są jestem",
        "mieszka mieszkam mieszkamy pracuje pracuję kosztuje waży woli studiuje",
        "teraz obecnie zawsze",
        "mój moja moje nasz nasza nasze mieszkam mieszkamy pracuję",
        "używa nosi",
    ),
    "tr": (
        "",
        "yaşıyor yaşıyorum oturuyor oturuyorum çalışıyor çalışıyorum",
        "şimdi artık hep üyesi",
        "benim bizim yaşıyorum oturuyorum çalışıyorum",
        "kullanıyor sürüyor giyiyor",
    ),
    "ru": (
        "это",
        "живёт живет живу живём живем работает работаю зовут стоит весит предпочитает находится лежит учится стоят",
        "теперь сейчас всегда член",
        "мой моя моё мое мои наш наша наше живу живём живем работаю",
        "носит",
    ),
    "uk": (
        "це є",
        "живе живу живемо працює працюю коштує важить звати навчається",
        "тепер зараз завжди",
        "мій моя моє наш наша наше живу живемо працюю",
        "носить",
    ),
    "ar": (
        "هو هي",
        "يسكن تسكن أسكن يعيش تعيش أعيش يعمل تعمل أعمل اسمه اسمها يفضل تفضل يدرس تدرس",
        "",
        "أسكن أعيش أعمل",
    ),
    "hi": ("है हैं हूँ हूं", "रहता रहती रहते", "", "मेरा मेरी मेरे हमारा हमारी हमारे"),
    "zh": ("是 在 为 為", "住 住在 住于 叫 姓 工作", "", "的"),
    "ja": ("です だ である", "住んでいる 住んでいます 住む 働いている 働いています 通っている", "は", "の"),
    "ko": (
        "입니다 이다 이야 예요 이에요",
        "살아 산다 살고 살아요 삽니다 일해 일한다 다녀 다닌다",
        "은 는",
        "의 내 제",
    ),
    "th": ("คือ เป็น", "อยู่ อยู่ที่ อาศัยอยู่ ชื่อ ทำงาน", "", "ของ ฉัน ผม"),
}
"""By language: copulas, verbs, lasting words and own words; two words that belong together are joined by `_`."""

_GENITIVES = "of for von für de des del du di da do van voor av för для"
_ARTICLES = "a an the ein eine einen einem un une una uno um uma het een en ett"
_DAYS = """today tonight tomorrow yesterday heute morgen gestern aujourd'hui demain hier hoy mañana ayer hoje amanhã
    ontem oggi domani ieri vandaag gisteren idag imorgon сегодня завтра вчера сьогодні вчора dziś jutro wczoraj bugün
    yarın dün आज कल اليوم غدا أمس 今天 明天 昨天 今日 明日 昨日 오늘 내일 어제 วันนี้ พรุ่งนี้ เมื่อวาน"""

GENITIVES = frozenset(_GENITIVES.split())
"""Words of a label after which its owner is named: "Shoes for Alma"."""

ARTICLES = frozenset(_ARTICLES.split())

DAYS = frozenset(_DAYS.split())
"""What is said of such a day is true of no other."""

NO_SPACES = ("zh", "ja", "ko", "th")
"""Languages whose words are compared letter by letter: without spaces, or with particles attached."""

WITHOUT_COPULA = ("ru", "uk", "pl")
"""Languages that often have nothing, or an ambiguous word, where others have "is"."""


@cache
def load_state_words() -> dict[str, StateWords]:
    """Return the words of every language that has some, by its code."""
    return {
        code: StateWords(*(frozenset(words.split()) for words in kinds))
        for code, kinds in _BY_LANGUAGE.items()
    }
