"""Words for dates: a row for each meaning, with the words in every language.

English, German, French, Spanish, Italian, Portuguese, Russian; Chinese, Japanese and Korean are in
`east_asian.py`. Synonyms are separated by `/`. Accents are ignored, except ç: "março" is a month, Marco is a
man. Hyphens and apostrophes are spaces. A phrase has at most four words.
"""

from memory.dates.periods import DateUnit, Opening

MONTHS = {
    1: "january/jan/januar/janner/janvier/janv/enero/gennaio/janeiro/январь/января/январе",
    2: "february/feb/februar/feber/fevrier/fevr/febrero/febbraio/fevereiro/февраль/февраля/феврале",
    3: "march/mar/marz/maerz/mars/marzo/março/март/марта/марте",
    4: "april/apr/avril/avr/abril/aprile/апрель/апреля/апреле",
    5: "may/mai/mayo/maggio/maio/май/мая/мае",
    6: "june/jun/juni/juin/junio/giugno/junho/июнь/июня/июне",
    7: "july/jul/juli/juillet/juil/julio/luglio/julho/июль/июля/июле",
    8: "august/aug/aout/agosto/август/августа/августе",
    9: "september/sep/sept/septembre/septiembre/setiembre/settembre/setembro/сентябрь/сентября/сентябре",
    10: "october/oct/oktober/okt/octobre/octubre/ottobre/outubro/октябрь/октября/октябре",
    11: "november/nov/novembre/noviembre/novembro/ноябрь/ноября/ноябре",
    12: "december/dec/dezember/dez/decembre/diciembre/dicembre/dezembro/декабрь/декабря/декабре",
}
WEEKDAYS = {
    0: "monday/mon/montag/lundi/lunes/lunedi/segunda feira/segunda/понедельник/понедельника",
    1: "tuesday/tue/tues/dienstag/mardi/martes/martedi/terça feira/terca feira/terça/terca/вторник/вторника",
    2: "wednesday/wed/mittwoch/mercredi/miercoles/mercoledi/quarta feira/quarta/среду/среды",
    3: "thursday/thu/thur/thurs/donnerstag/jeudi/jueves/giovedi/quinta feira/quinta/четверг/четверга",
    4: "friday/fri/freitag/vendredi/viernes/venerdi/sexta feira/sexta/пятница/пятницу/пятницы",
    5: "saturday/sat/samstag/sonnabend/samedi/sabado/sabato/суббота/субботу/субботы",
    6: "sunday/sun/sonntag/dimanche/domingo/domenica/воскресенье/воскресенья",
}
"""Monday is 0."""
DAYS = {
    -2: "day before yesterday/vorgestern/avant hier/anteayer/antes de ayer/antier/l altro ieri/"
    "altro ieri/altroieri/ieri l altro/avantieri/anteontem/antes de ontem/позавчера",
    -1: "yesterday/last night/last evening/gestern/letzte nacht/hier/ayer/anoche/ieri/ontem/вчера",
    0: "today/tonight/this morning/this afternoon/this evening/heute/aujourd hui/ce matin/ce soir/"
    "cet apres midi/hoy/esta manana/esta tarde/esta noche/oggi/stamattina/stasera/stanotte/hoje/"
    "сегодня",
    1: "tomorrow/tmrw/morgen/demain/manana/domani/amanha/завтра",
    2: "day after tomorrow/ubermorgen/uebermorgen/apres demain/pasado manana/dopodomani/"
    "depois de amanha/послезавтра",
}
"""Offset in days from today."""
UNITS: dict[DateUnit, str] = {
    "day": "day/days/tag/tage/tagen/jour/jours/dia/dias/giorno/giorni/день/дня/дней/дни",
    "week": "week/weeks/woche/wochen/semaine/semaines/semana/semanas/settimana/settimane/неделю/неделя/"
    "недели/неделе/недель",
    "month": "month/months/monat/monate/monaten/monats/mois/mes/meses/mese/mesi/месяц/месяца/месяце/месяцев",
    "year": "year/years/jahr/jahre/jahren/jahres/an/ans/annee/annees/ano/anos/anno/anni/год/года/году/лет",
    "weekend": "weekend/weekends/wochenende/wochenenden/week end/week ends/fin de semana/fine settimana/"
    "fim de semana/выходные/выходных",
}
ONE_UNIT = "day/week/month/year/giorno/settimana/mese/anno/dia/semana/mes/ano/день/неделю/месяц/год"
"""Words that mean one unit without a number, as in "неделю назад"."""
NUMBERS = {
    1: "one/a/an/ein/eine/einen/einem/einer/un/une/una/uno/um/uma/один/одну",
    2: "two/couple of/zwei/deux/dos/due/dois/duas/два/две",
    3: "three/drei/trois/tres/tre/три",
    4: "four/vier/quatre/cuatro/quattro/quatro/четыре",
    5: "five/funf/fuenf/cinq/cinco/cinque/пять",
    6: "six/sechs/seis/sei/шесть",
    7: "seven/sieben/sept/siete/sette/sete/семь",
    8: "eight/acht/huit/ocho/otto/oito/восемь",
    9: "nine/neun/neuf/nueve/nove/девять",
    10: "ten/zehn/dix/diez/dieci/dez/десять",
    11: "eleven/elf/onze/once/undici/одиннадцать",
    12: "twelve/zwolf/zwoelf/douze/doce/dodici/doze/двенадцать",
}
NEAR = {
    -1: "last/previous/past/letzte/letzten/letzter/letztes/letztem/vergangene/vergangenen/vergangener/"
    "vergangenes/vergangenem/vorige/vorigen/voriger/voriges/vorigem/dernier/derniere/derniers/"
    "dernieres/pasado/pasada/ultimo/ultima/ultimos/ultimas/scorso/scorsa/scorsi/scorse/ultimi/ultime/"
    "passado/passada/прошлый/прошлая/прошлой/прошлую/прошлом/прошлым/прошлое/прошлого/прошлые/"
    "прошлых/последний/последние/последнюю/последних",
    0: "this/current/diese/diesen/dieser/dieses/diesem/ce/cet/cette/ces/este/esta/estos/estas/questo/"
    "questa/questi/queste/quest/neste/nesta/deste/desta/nessa/nesse/essa/esse/этот/эта/этой/эту/этом/"
    "этим/это/этого/эти/этих",
    1: "next/coming/upcoming/nachste/nachsten/nachster/nachstes/nachstem/naechste/naechsten/kommende/"
    "kommenden/kommender/kommendes/prochain/prochaine/prochains/prochaines/proximo/proxima/prossimo/"
    "prossima/следующий/следующая/следующей/следующую/следующем/следующим/будущем/будущей",
}
"""Last, this, next; before a unit, a weekday or a month."""
NEAR_AFTER = {
    -1: "dernier/derniere/passe/passee/pasado/pasada/scorso/scorsa/passato/passata/passado/passada",
    1: "prochain/prochaine/proximo/proxima/que viene/prossimo/prossima/que vem",
}
"""The same, after it."""
OPENINGS: dict[Opening, str] = {
    "since": "since/seit/depuis/desde/a partir de/dal/с/со",
    "before": "before/prior to/vor/avant/antes de/antes del/prima di/prima del/prima della/antes do/antes da/до",
    "after": "after/nach/apres/despues de/despues del/dopo/dopo il/depois de/depois do/depois da/после",
}
AGO_BEFORE = "vor/il y a/y a/hace/ha/faz"
AGO_AFTER = "ago/atras/fa/назад"
ON = "on/at/over/until/till/am/vom/zum/bis/ubers/le/au/du/ce/el/del/al/il/nel/no/em/на/в/во"
"""Words before a single day or a weekend."""
OF = "of/the/of the/den/dem/de/du/de l/d/l/del/di/dell/do/da"
"""Words between a day, its month and its year."""
ARTICLES = "the/our/my/der/die/das/den/dem/unser/unsere/le/la/les/l/el/los/las/il/lo/o/a"
BEFORE_YEAR = "from/year/and/von/und/jahr/jahre/jahres/annee/ano/del/anno/dell anno/nel/di/do"
"""Words before a year alone, including those before months."""
NOT_A_WEEKDAY = (
    "black/good/easter/cyber/ash/palm/every/each/any/jeden/jeder/jede/chaque/cada/todos los/ogni/"
    "toda/todo/todas as/каждый/каждую/каждое"
)
"""Words before a weekday that mean every such day, or a holiday."""
AMBIGUOUS = {
    # Also names or other words: they are months only beside a number, or after one of these or an opening …
    "may/april/june/august/march/jan/feb/mar/apr/jun/jul/aug/sep/sept/oct/nov/dec": "in/of/during/until/till/around/"
    "throughout/early/late/mid/over/between/by the end of",
    "april/mai/juni/juli/august/jan/feb/apr/aug/sep/sept/okt/nov/dez": "im/in/ab/bis/anfang/mitte/ende/zwischen/"
    "wahrend/des/vom",
    "mars/avril/mai": "en/de/d/debut/fin/mi/jusqu en/jusqu a/entre/mois de/durant/pendant",
    "abril/mayo/julio": "en/em/de/no/hasta/ate/entre/mediados de/mes de/durante",
    "мая": "в/к/начале/середине/конце/между/за",
    # … and weekdays only beside another date, after last or next, or after one of these.
    "mon/tue/tues/wed/thu/thur/thurs/fri/sat/sun": "on/at/over/until/till",
    "segunda/terça/terca/quarta/quinta/sexta": "no/em",
}
VERBS = "may/march"
"""Also months, unless in lower case and followed by a word: "room 3 may be free"."""
MORNING = {
    "morgen": "am/heute/gestern/vorgestern/guten/jeden/der/den/dieser/diesen",
    "manana": "la/esta/cada/por/de/ayer",
}
"""Words for tomorrow that mean the morning after one of these."""
GERMAN = "der/die/das/den/dem/ein/eine/ist/sind/war/was/wo/wer/wie/gibt/gab/und/ich/wir/ihr/sie/es"
"""Near one of these, "hier" is German for "here"; otherwise it is French for "yesterday"."""
COUNTED_NOUNS = (
    "words/people/persons/times/steps/dollars/euro/euros/pounds/metres/meters/metri/miles/km/kg/g/kcal/calories/"
    "worten/metern/schritten/mots/pas/palabras/pasos/parole/personen/personnes/personas/persone"
)
"""After "in 2000" they show that it is no year."""
VERSION = "version/release/v/ip"
"""Words before digits that are no date."""
