"""The same thirty times in every language that is understood, and refusals in those that are not."""

import pytest

from bot.timeparse import TimeParseError, read_when
from tests.bot.timeparse_tables import BERLIN, NOW
from tests.fakes.table_test import table_test

# What a phrase in the same row of every language means: due | rule
MEANINGS = """\
2026-11-18 10:35:20
2026-11-18 12:15:20
2026-11-18 10:45:20
2026-11-18 11:15:20
2026-11-21 10:15:20
2026-12-02 10:15:20
2026-11-19 09:00:00
2026-11-19 09:00:00
2026-11-19 09:30:00
2026-11-19 09:00:00
2026-11-19 19:00:00
2026-11-19 20:00:00
2026-11-18 18:00:00
2026-11-18 20:00:00
2026-11-20 10:00:00
2026-11-23 09:00:00
2026-11-23 08:00:00
2026-11-23 08:00:00
2026-11-20 15:00:00
2026-12-03 09:00:00
2026-12-03 14:00:00
2026-11-23 09:00:00
2026-12-01 09:00:00
2026-11-19 12:00:00
2026-11-19 08:00:00 | every 1 days from 2026-11-18 at 08:00
2026-11-23 09:00:00 | every 1 weeks from 2026-11-18 on mon at 09:00
2026-11-19 07:00:00 | every 1 days from 2026-11-18 at 07:00
2026-12-02 09:00:00 | every 2 weeks from 2026-11-18 on wed at 09:00
2026-11-19 07:00:00 | every 1 weeks from 2026-11-18 on mon,tue,wed,thu,fri at 07:00
2026-11-19 09:30:00
"""

# What comes after each phrase, and the phrases
LANGUAGES = {
    "English": (
        " call Tom",
        """\
in 20 minutes
in 2 hours
in half an hour
in an hour
in 3 days
in two weeks
tomorrow
tomorrow at 9
tomorrow at 9:30
tomorrow morning
tomorrow evening
tomorrow at 8 in the evening
today at 18:00
tonight
the day after tomorrow at 10
on monday
on monday at 8:00
next monday at 8
friday afternoon
on 3 december
on 3 december at 14:00
next week
next month
tomorrow at noon
every day at 8:00
every monday at 9:00
every morning at 7
every two weeks
every weekday at 7
tomorrow at half past nine
""",
    ),
    "German": (
        " Tom anrufen",
        """\
in 20 Minuten
in 2 Stunden
in einer halben Stunde
in einer Stunde
in 3 Tagen
in zwei Wochen
morgen
morgen um 9
morgen um 9:30
morgen früh
morgen Abend
morgen um 8 Uhr abends
heute um 18 Uhr
heute Abend
übermorgen um 10
am Montag
am Montag um 8 Uhr
nächsten Montag um 8
am Freitagnachmittag
am 3. Dezember
am 3. Dezember um 14 Uhr
nächste Woche
nächsten Monat
morgen Mittag
jeden Tag um 8 Uhr
jeden Montag um 9 Uhr
jeden Morgen um 7
alle zwei Wochen
werktags um 7
morgen um halb zehn
""",
    ),
    "French": (
        " appeler Tom",
        """\
dans 20 minutes
dans 2 heures
dans une demi-heure
dans une heure
dans 3 jours
dans deux semaines
demain
demain à 9h
demain à 9h30
demain matin
demain soir
demain à 8h du soir
aujourd'hui à 18h
ce soir
après-demain à 10h
lundi
lundi à 8h
lundi prochain à 8h
vendredi après-midi
le 3 décembre
le 3 décembre à 14h
la semaine prochaine
le mois prochain
demain à midi
tous les jours à 8h
tous les lundis à 9h
tous les matins à 7h
toutes les deux semaines
chaque jour ouvrable à 7h
demain à neuf heures et demie
""",
    ),
    "Spanish": (
        " llamar a Tom",
        """\
en 20 minutos
dentro de 2 horas
en media hora
en una hora
en 3 días
dentro de dos semanas
mañana
mañana a las 9
mañana a las 9:30
mañana por la mañana
mañana por la noche
mañana a las 8 de la noche
hoy a las 18:00
esta noche
pasado mañana a las 10
el lunes
el lunes a las 8:00
el próximo lunes a las 8
el viernes por la tarde
el 3 de diciembre
el 3 de diciembre a las 14:00
la próxima semana
el próximo mes
mañana al mediodía
todos los días a las 8:00
todos los lunes a las 9:00
todas las mañanas a las 7
cada dos semanas
cada día laborable a las 7
mañana a las nueve y media
""",
    ),
    "Italian": (
        " chiamare Tom",
        """\
tra 20 minuti
tra 2 ore
tra mezz'ora
tra un'ora
tra 3 giorni
tra due settimane
domani
domani alle 9
domani alle 9:30
domani mattina
domani sera
domani alle 8 di sera
oggi alle 18
stasera
dopodomani alle 10
lunedì
lunedì alle 8:00
lunedì prossimo alle 8
venerdì pomeriggio
il 3 dicembre
il 3 dicembre alle 14
la prossima settimana
il mese prossimo
domani a mezzogiorno
ogni giorno alle 8:00
ogni lunedì alle 9:00
ogni mattina alle 7
ogni due settimane
nei giorni feriali alle 7
domani alle nove e mezza
""",
    ),
    "Portuguese": (
        " ligar para Tom",
        """\
em 20 minutos
daqui a 2 horas
em meia hora
em uma hora
em 3 dias
daqui a duas semanas
amanhã
amanhã às 9
amanhã às 9:30
amanhã de manhã
amanhã à noite
amanhã às 8 da noite
hoje às 18h
hoje à noite
depois de amanhã às 10
na segunda-feira
na segunda-feira às 8:00
na próxima segunda às 8
na sexta à tarde
no dia 3 de dezembro
no dia 3 de dezembro às 14h
na próxima semana
no próximo mês
amanhã ao meio-dia
todos os dias às 8:00
toda segunda-feira às 9:00
todas as manhãs às 7
a cada duas semanas
todos os dias úteis às 7
amanhã às nove e meia
""",
    ),
    "Russian": (
        " позвонить",
        """\
через 20 минут
через 2 часа
через полчаса
через час
через 3 дня
через две недели
завтра
завтра в 9
завтра в 9:30
завтра утром
завтра вечером
завтра в 8 вечера
сегодня в 18:00
сегодня вечером
послезавтра в 10
в понедельник
в понедельник в 8:00
в следующий понедельник в 8
в пятницу днём
3 декабря
3 декабря в 14:00
на следующей неделе
в следующем месяце
завтра в полдень
каждый день в 8:00
каждый понедельник в 9:00
каждое утро в 7
каждые две недели
по будням в 7
завтра в половине десятого
""",
    ),
    "Chinese": (
        "打电话",
        """\
20分钟后
2小时后
半小时后
一个小时后
3天后
两周后
明天
明天9点
明天9点30分
明天早上
明天晚上
明天晚上8点
今天18点
今晚
后天10点
星期一
星期一8点
下周一8点
周五下午
12月3日
12月3日14点
下周
下个月
明天中午
每天8点
每周一9点
每天早上7点
每两周
工作日7点
明天9点半
""",
    ),
    "Traditional Chinese": (
        "打電話",
        """\
20分鐘後
2小時後
半小時後
一個小時後
3天後
兩週後
明天
明天9點
明天9點30分
明天早上
明天晚上
明天晚上8點
今天18點
今晚
後天10點
星期一
星期一8點
下週一8點
週五下午
12月3日
12月3日14點
下週
下個月
明天中午
每天8點
每週一9點
每天早上7點
每兩週
工作日7點
明天9點半
""",
    ),
    "Japanese": (
        "電話する",
        """\
20分後に
2時間後に
30分後に
1時間後に
3日後に
2週間後に
明日
明日9時に
明日9時30分に
明日の朝
明日の夜
明日の夜8時に
今日18時に
今夜
明後日10時に
月曜日に
月曜日8時に
来週の月曜日8時に
金曜日の午後に
12月3日に
12月3日14時に
来週
来月
明日の正午に
毎日8時に
毎週月曜日9時に
毎朝7時に
2週間ごとに
平日7時に
明日9時半に
""",
    ),
    "Korean": (
        " 전화하기",
        """\
20분 후에
2시간 후에
30분 후에
한 시간 후에
3일 후에
2주 후에
내일
내일 9시에
내일 9시 30분에
내일 아침
내일 저녁
내일 저녁 8시에
오늘 18시에
오늘 저녁
모레 10시에
월요일에
월요일 8시에
다음 주 월요일 8시에
금요일 오후에
12월 3일에
12월 3일 14시에
다음 주
다음 달
내일 정오에
매일 8시에
매주 월요일 9시에
매일 아침 7시에
2주마다
평일 7시에
내일 9시 반에
""",
    ),
}

# Dutch and others: words for days or hours, beside a time that could be read alone
NOT_UNDERSTOOD = """\
morgen om 9 uur bellen
om 9 uur koffie
9:00 maandag bellen
bel mama dinsdag 15:00
bel Tom maandag om 9 uur
bel Tom morgen om 14 uur
ring Tom på måndag kl 9
ring Tom på mandag 15:00
i morgen kl 9 ring mamma
huomenna klo 9:00 soita
soita äidille huomenna 9:00
zadzwoń jutro o 9:00
zadzwoń w poniedziałek 9:00
zavolat mámě zítra 9:00
подзвонити післязавтра 9:00
9:00 понеділок подзвонити
Tom'u yarın 9:00
Tom'u pazartesi saat 9:00
sună mâine 9:00
hívd Tomot holnap 9:00
τηλέφωνο αύριο 9:00
gọi Tom ngày mai 9:00
telepon Tom besok 9:00
اتصل غدا الساعة 9:00
להתקשר מחר 9:00
टॉम को फोन कल 9:00
โทรหาทอม พรุ่งนี้ 9:00
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_thirty_times_are_understood_in(language: str) -> None:
    text, phrases = LANGUAGES[language]
    wrong = []
    for phrase, meaning in zip(phrases.splitlines(), MEANINGS.splitlines(), strict=True):
        due, _, rule = meaning.partition(" | ")
        try:
            when, rest = read_when(phrase + text, NOW, BERLIN)
            read = (f"{when.due:%Y-%m-%d %H:%M:%S}", when.rule, rest)
        except TimeParseError as error:
            read = (str(error), "", "")
        if read != (due, rule, text.strip()):
            wrong.append((phrase, read))
    assert not wrong
    assert len(phrases.splitlines()) == 30


@table_test("phrase", NOT_UNDERSTOOD.splitlines())
def test_other_languages_are_refused_with_an_example_rather_than_half_understood(phrase: str) -> None:
    with pytest.raises(TimeParseError, match="for example `20m`"):
        read_when(phrase, NOW, BERLIN)


def test_after_a_mark_the_text_may_be_in_any_language() -> None:
    assert read_when("20m: maandag bellen", NOW, BERLIN)[1] == "maandag bellen"
