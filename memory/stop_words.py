"""Words that carry the form of a question rather than its content, by language; dropped from queries only."""

from collections.abc import Iterable, Mapping
from functools import cache

_BY_LANGUAGE = {
    "en": """a about after all also am an and any are as at be because been before being but by can could did do does
        doing during each else ever for from get got had has have having he her hers him his how i if in into is it
        its just may me might mine more most much must my no nor not of off on once one or other our ours out over own
        please shall she should so some such tell than that the their theirs them then there these they this those to
        too under until up us very was we were what when where which while who whom whose why will with would you your
        yours don doesn didn isn wasn aren weren""",
    "de": """aber alle als am an auch auf aus bei bin bis bist da dann das dass dein deine dem den der des dich die dies
        diese dieser dir doch du ein eine einem einen einer eines er es euch für gibt hab habe haben hat hatte hatten ich
        ihm ihn ihr ihre im in ist ja kann kannst man mein meine meinem meinen meiner mich mir mit nach nicht noch nun
        nur ob oder ohne schon sein seine sich sie sind so über um und uns unser unsere unter vom von vor wann war waren
        warum was welche welchem welchen welcher welches wem wen wenn wer werden wie wieso wieviel wird wo woher wohin
        zu zum zur""",
    "fr": """à ai as au aux avec c ce ces cette comment d dans de des du elle elles en es est et eu il ils j je l la le les
        leur leurs lui m ma mais me mes moi mon n ne nos notre nous on ou où par pas pour pourquoi qu quand que quel
        quelle quelles quels qui quoi s sa se ses son sont sur t ta te tes toi ton tu un une vos votre vous y était""",
    "es": """a al algo como cómo con cual cuál cuales cuándo cuando cuánto de del desde donde dónde e el él ella ellas
        ellos en era es esa ese eso esta está están este esto fue ha hay la las le les lo los me mi mis muy no nos o para
        pero por porque porqué que qué quien quién se ser si sin sobre son su sus te tiene tu tus un una uno y ya yo""",
    "pt": """a ao aos as com como da das de dele dela do dos e é ela elas ele eles em era essa esse esta está este eu foi
        há isso já mais mas me meu minha muito na não nas no nos o onde os ou para pela pelo por porque qual quais quando
        quanto que quem se sem seu seus são só sua suas também te tem um uma você""",
    "it": """a ad ai al alla alle anche c che chi ci come con cosa da dal dalla dei del della delle di dov dove e è ed era
        fra gli ha hai hanno ho i il in io l la le lei lo loro lui ma mi mia mio ne nel nella noi non o per perché però
        più qual quale quali quando quanto se sei si sono su sua sul sulla suo ti tra tu un una uno vi voi""",
    "nl": """aan al als bij ben bent dan dat de der deze die dit doen door dus een en er geen had heb hebben heeft het
        hij hoe hun ik in is ja je kan maar me meer men met mij mijn naar niet nog nu of om onder ons onze ook op over te
        toen tot u uit uw van voor waar waarom wanneer was wat we wel welk welke wie wij wil worden wordt zal ze zij zijn
        zo""",
    "sv": """alla att av blev bli de den denna deras dess det dig din dina dit du där efter ej eller en er ett från för ha
        hade han har hans hennes hon honom hur här i icke inte jag kan man med men mig min mina mot mycket ni nu när och
        om oss på samma sedan sig sin sina som så till under upp ut vad var varför vart vem vi vid vilken är""",
    "ru": """а бы был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть еще ещё же за и
        из или им их к как какая какие какой когда кто куда ли мне мой моя мы на над не него нет но о об он она они от
        откуда по под почему при с сколько со такой там то только ты у уже чей чем что чтобы чье чьё эта эти это этот я""",
    "tr": """acaba ama ben bir biz bu da daha de değil diye en gibi hangi hem için ile ise kaç kim ki mı mi mu mü nasıl ne
        neden nerede nereye niçin o onlar sen siz şu ve veya ya""",
    "pl": """a ale być było czy co dla do gdzie go i ich jak jaka jaki jakie jest jestem kiedy kto która które który ma mi
        mnie moja moje mój na nie o od on ona oni po przez się są ta tak te to ty w we z za że""",
    "hi": """का की के को में से पर है हैं था थी थे और या यह वह ये वे क्या कहाँ कहां कब कौन क्यों कैसे कितना कितने कितनी किस ने भी ही तो मेरा मेरी मेरे मैं
        हम आप""",
}
_languages: dict[str, frozenset[str]] = {}


def load_stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language, by its code; empty if it has no entry."""
    return _load_all().get(language, frozenset())


@cache
def load_all_stop_words() -> frozenset[str]:
    """Return the stop words of all languages together."""
    return frozenset().union(*_load_all().values())


def detect_stop_words(words: Iterable[str]) -> frozenset[str]:
    """Return the stop words of the language that `words` (lower case) seem to be in; English in doubt."""
    spoken, english = set(words), _load_all()["en"]

    def met(listed: frozenset[str]) -> int:
        # "C++ compiler" is not French, nor "war museum" German: a single short word is no evidence.
        own = (listed & spoken) - english
        sure = listed is english or len(own) > 1 or not "".join(own).isascii()
        return len(listed & spoken) if sure else 0

    return max(_load_all().values(), key=met)


def _load_all() -> Mapping[str, frozenset[str]]:
    if not _languages:
        _languages.update({language: frozenset(listed.split()) for language, listed in _BY_LANGUAGE.items()})
    return _languages
