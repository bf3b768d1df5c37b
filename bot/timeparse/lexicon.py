"""The vocabulary of times.

Days, months, weekdays, units of a day and longer, and numbers come from the memory's lexicon, in all its
languages. Synonyms are separated by `/`; all are compared without case and accents.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeVar

from memory.dates.folding import fold_letters
from memory.dates.lexicon import load_lexicon

TimeUnit = Literal["second", "minute", "hour", "day", "week", "month", "year"]
DayPart = Literal["morning", "noon", "afternoon", "evening", "tonight", "night", "midnight", "early"]

_Meaning = TypeVar("_Meaning")

_UNITS: Mapping[TimeUnit, str] = {
    "second": "s/sec/secs/second/seconds/sek/sekunde/sekunden/seconde/secondes/segundo/segundos/secondo/secondi/"
    "секунду/секунды/секунд/秒/秒钟/초",
    "minute": "m/min/mins/minute/minutes/minuten/minuto/minutos/minuti/минуту/минуты/минут/мин/分/分钟/分鐘/분",
    "hour": "h/hr/hrs/hour/hours/std/stunde/stunden/heure/heures/hora/horas/ora/ore/час/часа/часов/小时/个小时/小時/"
    "個小時/钟头/个钟头/時間/시간",
    "day": "d/天/日/일",
    "week": "w/wk/wks/周/星期/个星期/礼拜/个礼拜/週/週間/주",
    "month": "个月/個月/月/か月/ヶ月/개월",
    "year": "y/年/년",
}
_NUMBERS: Mapping[int, str] = {
    1: "one/a/an/eine/einer/einem/einen/ein/eins/一/한",
    2: "二/两/兩/couple/couple of/a couple of/두",
    3: "三/a few/세",
    4: "四/네",
    5: "五/다섯",
    6: "六/여섯",
    7: "七/일곱",
    8: "八/여덟",
    9: "九/아홉",
    10: "十/열",
    11: "十一/열한",
    12: "十二/열두",
    15: "fifteen/funfzehn/quinze/quince/quindici/十五",
    20: "twenty/zwanzig/vingt/veinte/venti/二十",
    30: "thirty/dreissig/dreißig/trente/treinta/trenta/三十",
    40: "forty/vierzig/四十",
    45: "forty five/funfundvierzig/四十五",
    50: "fifty/fünfzig/funfzig/五十",
    60: "sixty/sechzig/六十",
    90: "ninety/neunzig/九十",
}
_DAYS: Mapping[int, str] = {
    -2: "day before yesterday/the day before yesterday/vorgestern/前天/おととい/一昨日/그저께",
    -1: "yesterday/gestern/昨天/昨日/어제",
    0: "today/今天/今日/오늘",
    1: "tomorrow/tmrw/tmr/明天/明日/明/내일",
    2: "day after tomorrow/the day after tomorrow/apres - demain/后天/後天/明後日/모레",
    3: "大后天/大後天",
}
_DAYS_WITH_PART: Mapping[tuple[int, DayPart], str] = {(1, "morning"): "明早", (1, "evening"): "明晚"}
_WEEKDAYS: Mapping[int, str] = {
    0: "周一/星期一/礼拜一/週一/月曜日/月曜/월요일/월요일에/segunda - feira/lundis",
    1: "周二/星期二/礼拜二/週二/火曜日/火曜/화요일/화요일에/terça - feira/terca - feira/mardis",
    2: "周三/星期三/礼拜三/週三/水曜日/水曜/수요일/수요일에/quarta - feira/mercredis/среда",
    3: "周四/星期四/礼拜四/週四/木曜日/木曜/목요일/목요일에/quinta - feira/jeudis",
    4: "周五/星期五/礼拜五/週五/金曜日/金曜/금요일/금요일에/sexta - feira/vendredis",
    5: "周六/星期六/礼拜六/週六/土曜日/土曜/토요일/토요일에/sabados/samedis",
    6: "周日/周天/星期日/星期天/礼拜天/週日/日曜日/日曜/일요일/일요일에/domingos/dimanches",
}
_PLURAL_WEEKDAYS: Mapping[int, str] = {
    0: "mondays/montags/los lunes/по понедельникам/월요일마다",
    1: "tuesdays/dienstags/los martes/по вторникам/화요일마다",
    2: "wednesdays/mittwochs/los miercoles/по средам/수요일마다",
    3: "thursdays/donnerstags/los jueves/по четвергам/목요일마다",
    4: "fridays/freitags/los viernes/по пятницам/금요일마다",
    5: "saturdays/samstags/los sabados/по субботам/토요일마다",
    6: "sundays/sonntags/los domingos/по воскресеньям/일요일마다",
}
_PARTS: Mapping[DayPart, str] = {
    "morning": "morning/in the morning/this morning/am morgen/vormittag/vormittags/am vormittag/morgens/fruh/"
    "en la manana/heute morgen/in der fruh/matin/le matin/du matin/ce matin/por la manana/"
    "de la manana/a la manana/esta manana/"
    "mattina/di mattina/la mattina/del mattino/questa mattina/stamattina/manha/de manha/da manha/pela manha/"
    "esta manha/утром/утра/сегодня утром/早上/早晨/上午/今早/朝/午前/今朝/아침/오전/아침에/오전에",
    "noon": "noon/midday/del mediodia/mittag/mittags/am mittag/midi/a midi/mediodia/al mediodia/"
    "mezzogiorno/a mezzogiorno/"
    "meio dia/ao meio dia/meio - dia/ao meio - dia/полдень/в полдень/中午/正午/정오/정오에",
    "afternoon": "afternoon/in the afternoon/this afternoon/nachmittag/nachmittags/am nachmittag/apres midi/"
    "apres - midi/l apres - midi/de l apres - midi/cet apres - midi/l apres midi/cet apres midi/tarde/por la tarde/"
    "de la tarde/en la tarde/esta tarde/pomeriggio/nel pomeriggio/del pomeriggio/questo pomeriggio/"
    "a tarde/da tarde/de tarde/"
    "днем/дня/сегодня днем/下午/午後/오후/오후에",
    "evening": "evening/in the evening/this evening/abend/abends/am abend/soir/le soir/du soir/noche/por la noche/"
    "de la noche/en la noche/"
    "sera/di sera/la sera/a noite/da noite/de noite/вечером/вечера/晚上/傍晚/晚/夜/晩/夕方/저녁/저녁에",
    "tonight": "tonight/heute abend/ce soir/esta noche/stasera/questa sera/esta noite/hoje a noite/сегодня вечером/"
    "今晚/今夜/今晩/오늘 밤/오늘 저녁",
    "night": "night/at night/in the night/nacht/nachts/in der nacht/heute nacht/cette nuit/la nuit/notte/di notte/"
    "stanotte/ночью/半夜/밤/밤에",
    "early": "madrugada/de la madrugada/da madrugada/de madrugada/ночи/凌晨/未明/明け方/새벽/새벽에",
    "midnight": "midnight/mitternacht/minuit/a minuit/medianoche/a medianoche/mezzanotte/a mezzanotte/meia noite/"
    "a meia noite/meia - noite/a meia - noite/полночь/в полночь/午夜/자정/자정에",
}
_EVERY_PART: Mapping[DayPart, str] = {
    "morning": "morgen/matins/manana/mananas/manhas/утро",
    "afternoon": "apres - midis/tardes",
    "evening": "soirs/noches/noites/вечер",
    "night": "nuits",
}
"""Parts of the day in a form that means something else, or nothing, unless "every" precedes it."""
_GERMAN_WEEKDAYS = ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
_GERMAN_PARTS: Mapping[DayPart, str] = {
    "morning": "morgen/vormittag/früh",
    "noon": "mittag",
    "afternoon": "nachmittag",
    "evening": "abend",
    "night": "nacht",
}
"""Written as one word with the weekday: "Freitagnachmittag"."""
_TODAY_PREFIXES: tuple[str, ...] = (
    "this ",
    "heute ",
    "ce ",
    "cet ",
    "cette ",
    "esta ",
    "questa ",
    "questo ",
    "sta",
    "сегодня ",
    "今",
    "오늘",
)
"""Prefixes that make a part of the day today's, such as "this"; `tonight` too."""
_WORKDAYS = (
    "weekday/weekdays/workday/workdays/working day/werktag/werktags/werktage/arbeitstag/будни/будних/будням/工作日/"
    "平日/평일/평일에/jour ouvrable/jours ouvrables/jour de semaine/jours de semaine/dia laborable/dias laborables/"
    "dia de semana/dias de semana/dia util/dias uteis/giorno feriale/giorni feriali/giorno lavorativo/"
    "giorni lavorativi"
)
_ON_WORKDAYS = (
    "weekdays/workdays/werktags/werktage/en semaine/entre semana/nei giorni feriali/nos dias uteis/по будням/"
    "по будним дням/по рабочим дням/工作日/平日/평일/평일에"
)
"""Every workday, without a word for "every"."""
_WEEKEND = (
    "weekend/weekends/week - end/week - ends/wochenende/wochenenden/am wochenende/fin de semana/fines de semana/"
    "fine settimana/fim de semana/fins de semana/выходные/выходных/выходным/周末/週末/주말"
)
_EVERY = (
    "every/each/jeden/jede/jedes/jeder/alle/chaque/tous les/toutes les/cada/todos los/todas las/"
    "ogni/tutti i/tutti gli/"
    "tutte le/todos os/todas as/todo/toda/a cada/каждый/каждую/каждое/каждые/每/每隔/每个/每個/毎/매"
)
_EVERY_UNIT: Mapping[TimeUnit, str] = {
    "hour": "hourly/stundlich",
    "day": "daily/taglich/every day/quotidiennement/diariamente/ежедневно/매일",
    "week": "weekly/wochentlich/semanalmente/еженедельно/매주",
    "month": "monthly/monatlich/mensuellement/mensualmente/mensalmente/ежемесячно/매월/매달",
    "year": "yearly/annually/jahrlich",
}
_EVERY_AFTER = "ごと/ごとに"
"""After a duration: "2週間ごとに"."""
EVERY_SUFFIX = "마다"
"""The same at the end of a unit: "2주마다"."""
_SECOND = "other/second/2nd/zweiten/zweite/zweites/ander"
_NTH: Mapping[int, str] = {
    1: "first/1st/ersten/erster/erste/第一个/第一",
    2: "second/2nd/zweiten/zweiter/zweite/第二个/第二",
    3: "third/3rd/dritten/dritter/dritte/第三个/第三",
    4: "fourth/4th/vierten/vierter/vierte/第四个/第四",
    5: "fifth/5th/funften/fünfter",
    -1: "last/letzten/letzter/letzte/最后一个/最后一/最後一/最終/마지막",
}
_NEXT = (
    "next/nachste/nachsten/nachster/nachstes/nachstem/naechste/naechsten/下/下个/下一个/下個/следующий/следующую/"
    "следующее"
)
_THIS = (
    "proximo/proxima/prossimo/prossima/this/coming/the coming/diese/diesen/dieser/dieses/"
    "kommende/kommenden/kommender/这/这个/本"
)
_IN = "in/within/after/nach/dans/en/tra/fra/dentro de/em/daqui a/через/再过/再過"
_LATER = (
    "from now/later/spater/plus tard/mas tarde/piu tardi/mais tarde/后/後/之后/以后/之後/以後/후/후에/뒤/뒤에"
)
_APPROXIMATELY = (
    "or so/oder so/sharp/on the dot/exactly/en punto/in punto/em ponto/pile/左右/ごろ/ごろに/頃/頃 に/ころ"
)
"""After a time: about then, or exactly then; ignored."""
_HALF = "half/half a/half an/a half/halben/halbe/eine halbe/einer halben/einem halben/media/mezza/meia/半/半个/半個/반"
_QUARTER = "quarter/a quarter/quarter of/a quarter of/viertel"
_MINUTES: Mapping[int, str] = {
    15: "viertelstunde/einer viertelstunde/quarter hour/a quarter of an hour/quarter of an hour/un quart d heure/"
    "quart d heure/un cuarto de hora/un quarto d ora/четверть часа/一刻钟",
    30: "demi - heure/une demi - heure/demi heure/une demi heure/mezz ora/mezzora/полчаса/半時間",
    60: "un ora",
}
"""Phrases with a number of minutes or seconds of their own."""
_BARE_UNITS = "час/минуту/день/неделю/месяц/год"
"""Mean one unit if no number precedes them."""
_AND_A_HALF = "and a half/einhalb/半/et demie/et demi/y media/e mezza/e mezzo/e meia/e meio/반/个半/個半"
_AND = "and/und/&/和/et/y/e/и/と"
_AT = (
    "at/@/by/at around/around/um/gegen/vers/hacia las/hacia la/verso le/около/к/a las/a la/a/alle/"
    "all/ore/alle ore/as/a s/в/во/在"
)
_CLOCK = "o'clock/oclock/o clock/ish/uhr/点/點/点钟/點鐘/时/時/h/heures/heure/horas/hs/час/часа/часов/시/시에"
_AM = "am/a.m./a.m"
_PM = "pm/p.m./p.m"
_PAST = "past/after/nach"
_TO = "to/before/till/vor"
_NEXT_PERIODS: Mapping[TimeUnit, str] = {
    "week": "semaine prochaine/la semaine prochaine/de la semaine prochaine/proxima semana/la proxima semana/"
    "de la proxima semana/semana que viene/la semana que viene/de la semana que viene/prossima settimana/"
    "la prossima settimana/della prossima settimana/settimana prossima/la settimana prossima/"
    "della settimana prossima/"
    "na proxima semana/da proxima semana/semana que vem/na semana que vem/da semana que vem/на следующей неделе/"
    "来週/다음 주/다음주",
    "month": "mois prochain/le mois prochain/proximo mes/el proximo mes/mes que viene/el mes que viene/mese prossimo/"
    "il mese prossimo/prossimo mese/il prossimo mese/no proximo mes/mes que vem/no mes que vem/в следующем месяце/"
    "来月/다음 달/다음달",
    "year": "annee prochaine/l annee prochaine/proximo ano/el proximo ano/ano que viene/el ano que viene/"
    "anno prossimo/l anno prossimo/no proximo ano/ano que vem/в следующем году/来年/내년",
}
"""Phrases for the next period in which the adjective may stand last."""
_PAST_THE_HOUR: Mapping[int, str] = {
    15: "et quart/y cuarto/e un quarto/e quarto/一刻",
    30: "et demie/et demi/y media/e mezza/e mezzo/e meia/半/반/반에",
    45: "三刻",
    -15: "moins le quart/moins quart/menos cuarto/meno un quarto/menos um quarto",
}
"""Minutes after the hour: "a las nueve y media"."""
_HALF_HOURS: Mapping[int, str] = {
    1: "половине первого/полпервого",
    2: "половине второго/полвторого",
    3: "половине третьего/полтретьего",
    4: "половине четвертого/полчетвертого",
    5: "половине пятого/полпятого",
    6: "половине шестого/полшестого",
    7: "половине седьмого/полседьмого",
    8: "половине восьмого/полвосьмого",
    9: "половине девятого/полдевятого",
    10: "половине десятого/полдесятого",
    11: "половине одиннадцатого/полодиннадцатого",
    12: "половине двенадцатого/полдвенадцатого",
}
"""Half an hour before that hour."""
_OF_EVERY_MONTH = (
    "of every month/of each month/every month/each month/jeden monats/eines jeden monats/de chaque mois/de cada mes/"
    "de todos los meses/di ogni mese/каждого месяца"
)
_VAGUE = (
    "половине/без четверти/без пяти/без десяти/без двадцати/час/差/"
    "half/about/roughly/approximately/approx/almost/just before/just after/shortly after/lunch/lunchtime/lunch time/"
    "breakfast/dinner/dinnertime/dinner time/supper/teatime/bedtime/dawn/dusk/sunrise/sunset/viertel/dreiviertel/"
    "kurz vor/kurz nach/etwa/circa/ca/пол"
)
"""After a word for "at", times of day that are not supported: "at half 7", "at lunch"."""
_ABOUT = (
    "for/about/fur/uber/pour/para/per/на/since/from/regarding/last/past/previous/letzten/letzter/letzte/vorigen/"
    "passee/dernier/pasado/scorso/passado/прошлый/прошлую"
)
"""Before a day that belongs to the text: "tickets for friday", "the report of last friday"."""
_FILLERS = (
    "on/at/@/the/by/this/am/um/gegen/den/der/dem/im/zum/of/in/,/starting/start/from/beginning/ab/beginnend/"
    "le/la/el/il/a/à/las/dia/el dia/no dia/na/no/em/в/во/在/的/于/の/に"
)
_NEXT_AFTER = "prochain/prochaine/proximo/proxima/que viene/prossimo/prossima/que vem"
"""After a weekday: the nearest one."""
_LEADING = "me/mich/mir/please/bitte/remind me/提醒我"
_BEFORE_TEXT = "to/に/에/提醒我"
_PUNCTUATION = ",/:/;/-/–/—/,/：/，/。/、/|"
_UNTIL = "until/till/til/bis/through/直到/hasta/jusqu a/jusqu au/fino a/ate/до/まで/까지"
_AGO = "ago/zuvor/plus tot/atras/fa/назад/前/之前/以前/전/전에"
"""After a duration: in the past, or relative to something else: "5 minutes ago", "2天前"."""
_BEFORE_OR_AFTER = (
    "before/after/prior to/vor/nach/bevor/nachdem/avant/apres/antes/antes de/antes del/despues/"
    "despues de/despues del/"
    "vorher/davor/danach/nachher/beforehand/prima/prima di/prima del/prima della/"
    "dopo/depois/depois de/depois do/depois da/до/после/перед/"
    "下下周/下下週/下下个星期/下下星期/再来週/さ 来週/다다음 주/다다음주"
)
"""After a duration, or before a day: relative to an event that no calendar knows: "2 days before the exam"."""
_EXCEPT = (
    "except/except for/excluding/apart from/but/but not/not/other than/ausser/außer/aber nicht/nur nicht/nicht/sauf/"
    "excepte/hormis/excepto/salvo/menos/menos los/tranne/eccetto/meno/exceto/кроме/除了/除/除外/以外"
)
"""After a repetition: excludes some of it."""
_EXCLUDED_AFTER = (
    "以外/以外 は/以外 の/を 除 いて/を 除 いた/を 除 く/を 除 き/は 除 く/除外/之外/外/不用/不要/は 休み/は お 休み/"
    "빼고/을 빼고/제외하고/제외/말고/만 빼고/제외한"
)
"""After a day: excludes it: 日曜以外, 周末不用."""
_SPOKEN_MINUTES: Mapping[int, str] = {
    15: "fifteen/funfzehn/quinze/quince/quindici/пятнадцать",
    20: "twenty/zwanzig/vingt/veinte/venti/vinte/двадцать",
    25: "twenty five/funfundzwanzig/vingt cinq/vingt - cinq/veinticinco/venticinque/vinte e cinco/двадцать пять",
    30: "thirty/dreissig/dreißig/trente/treinta/trenta/trinta/тридцать",
    35: "thirty five/funfunddreissig/funfunddreißig/trente cinq/trente - cinq/treinta y cinco/trentacinque/"
    "trinta e cinco/тридцать пять",
    40: "forty/vierzig/quarante/cuarenta/quaranta/quarenta/сорок",
    45: "forty five/funfundvierzig/quarante cinq/quarante - cinq/cuarenta y cinco/quarantacinque/"
    "quarenta e cinco/сорок пять",
    50: "fifty/funfzig/cinquante/cincuenta/cinquanta/cinquenta/пятьдесят",
    55: "fifty five/funfundfunfzig/cinquante cinq/cinquante - cinq/cincuenta y cinco/cinquantacinque/"
    "cinquenta e cinco/пятьдесят пять",
}
"""After an hour in words: "at five thirty", "à huit heures trente"."""
_FEW_MINUTES: Mapping[int, str] = {
    5: "funf/cinq/cinco/cinque/пять",
    10: "zehn/dix/diez/dieci/dez/десять",
}
"""The same if "Uhr" or "y" marks them as minutes: "huit heures dix", "las ocho y diez"."""
_OR = "or/oder/ou/oppure/или/或/或者"
_OR_HOUR = f"{_OR}/o/か/나/이나"
"""The same between two hours, where it is no article."""
_HOW_OFTEN = (
    "twice/thrice/two times/three times/four times/zweimal/dreimal/viermal/deux fois/trois fois/quatre fois/dos veces/"
    "tres veces/cuatro veces/due volte/tre volte/quattro volte/duas vezes/tres vezes/quatro vezes/два раза/три раза/"
    "дважды/трижды/早晚/两次/兩次/三次/四次/二回/三回/두 번/세 번"
)
"""After a repetition: number of times per period."""
_FOR = "for/for the next/fur/fur die nachsten/pendant/durante/per/por/на протяжении"
"""Before the duration of a repetition."""
_FROM = "from/between/von/zwischen/de/entre/dalle/dal/das/с/со/从"
"""Before the first number of a range."""
_RANGE = "to/-/–/—/or/bis/oder/a/ou/o/до/或/到/至/~"
"""Between the two numbers of a range."""


class TimeLexicon:
    """Tables from folded phrase to meaning."""

    def __init__(self) -> None:
        shared = load_lexicon()
        self.units: dict[str, TimeUnit] = {**_long_units(shared.units), **_table(_UNITS)}
        self.units |= {unit + EVERY_SUFFIX: meaning for unit, meaning in self.units.items() if unit >= "가"}
        self.numbers = {**shared.numbers, **_table(_NUMBERS), **_han_numbers()}
        self.days = {word: days for word, days in shared.days.items() if days > 0} | {"heute": 0}
        self.days.update(_table({0: "aujourd hui/hoy/oggi/hoje/сегодня"}))
        self.days.update(_table(_DAYS))
        self.days_with_part = _table(_DAYS_WITH_PART)
        self.weekdays_with_part = {
            weekday + part: (number, meaning)
            for number, weekday in enumerate(_GERMAN_WEEKDAYS)
            for part, meaning in _table(_GERMAN_PARTS).items()
        }
        self.weekdays = {**shared.weekdays, **_table(_WEEKDAYS)}
        self.plural_weekdays = _table(_PLURAL_WEEKDAYS)
        self.months = dict(shared.months)
        self.parts = _table(_PARTS)
        self.todays_parts = frozenset(
            each for each in self.parts if each.startswith(_TODAY_PREFIXES) or self.parts[each] == "tonight"
        )
        self.every_part, self.every_after = _table(_EVERY_PART), _phrases(_EVERY_AFTER)
        self.workdays, self.weekend = _phrases(_WORKDAYS), _phrases(_WEEKEND)
        self.on_workdays = _phrases(_ON_WORKDAYS)
        self.every, self.every_unit, self.second = _phrases(_EVERY), _table(_EVERY_UNIT), _phrases(_SECOND)
        self.nth = _table(_NTH)
        self.next, self.this = _phrases(_NEXT), _phrases(_THIS)
        self.within, self.approximately = _phrases(_IN), _phrases(_APPROXIMATELY)
        self.later = _phrases(_LATER) | self.approximately
        self.half, self.quarter, self.and_a_half = _phrases(_HALF), _phrases(_QUARTER), _phrases(_AND_A_HALF)
        self.minutes, self.and_ = _table(_MINUTES), _phrases(_AND)
        self.bare_units, self.half_hours = _phrases(_BARE_UNITS), _table(_HALF_HOURS)
        self.at, self.clock, self.am, self.pm = _phrases(_AT), _phrases(_CLOCK), _phrases(_AM), _phrases(_PM)
        self.past, self.to = _phrases(_PAST), _phrases(_TO)
        self.fillers, self.leading = _phrases(_FILLERS), _phrases(_LEADING)
        self.before_text, self.until = _phrases(_BEFORE_TEXT), _phrases(_UNTIL)
        self.next_after, self.ago = _phrases(_NEXT_AFTER), _phrases(_AGO)
        self.before_or_after, self.except_ = _phrases(_BEFORE_OR_AFTER), _phrases(_EXCEPT)
        self.next_periods, self.past_the_hour = _table(_NEXT_PERIODS), _table(_PAST_THE_HOUR)
        self.of_every_month, self.vague, self.about = (
            _phrases(_OF_EVERY_MONTH),
            _phrases(_VAGUE),
            _phrases(_ABOUT),
        )
        self.excluded_after = _phrases(_EXCLUDED_AFTER)
        self.spoken_minutes, self.few_minutes = _table(_SPOKEN_MINUTES), _table(_FEW_MINUTES)
        self.or_hour = _phrases(_OR_HOUR)
        self.for_ = _phrases(_FOR)
        self.how_often = _phrases(_HOW_OFTEN)
        self.or_, self.range_, self.from_ = _phrases(_OR), _phrases(_RANGE), _phrases(_FROM)
        self.punctuation = frozenset(_PUNCTUATION.split("/"))
        self.units.pop("an", None)  # "an hour", not a French year
        tables = [getattr(self, name) for name in vars(self)]
        self.han = frozenset(word for table in tables for word in table if "\u3400" <= word[0] <= "\u9fff")
        self.longest_han = max(map(len, self.han))


@cache
def words() -> TimeLexicon:
    return TimeLexicon()


def _han_numbers() -> dict[str, int]:
    """Return 十三 to 五十九."""
    digits = ("", *"一二三四五六七八九")
    tens = (("十", 10), ("二十", 20), ("三十", 30), ("四十", 40), ("五十", 50))
    return {ten + digits[one]: value + one for ten, value in tens for one in range(10)}


def _long_units(units: Mapping[str, str]) -> dict[str, TimeUnit]:
    return {word: unit for word, unit in units.items() if unit in ("day", "week", "month", "year")}  # type: ignore[misc]


def _table(rows: Mapping[_Meaning, str]) -> dict[str, _Meaning]:
    return {phrase: meaning for meaning, alike in rows.items() for phrase in _phrases(alike)}


def _phrases(alike: str) -> frozenset[str]:
    return frozenset(fold_letters(alike).split("/"))
