"""What people write to be reminded, in eleven languages: understood as meant, or refused; never half of it."""

import pytest

from bot.timeparse import TimeParseError, read_when
from bot.timeparse.ambiguity.check import AmbiguityCheck, MomentInLine
from bot.timeparse.ambiguity.table import END_CHECKS, START_CHECKS
from bot.timeparse.grammar import Grammar
from bot.timeparse.lexer import TokenLine
from bot.timeparse.parsed import ParsedTime
from tests.bot.timeparse_tables import BERLIN, NOW, check_refused, check_understood
from tests.fakes.table_test import table_test

# phrase | due | rule | text
UNDERSTOOD = """\
todas as manhãs às 7 x | 2026-11-19 07:00 | every 1 days from 2026-11-18 at 07:00 | x
завтра в полдесятого x | 2026-11-19 09:30 |  | x
2時間ごとに水 | 2026-11-18 12:15:20 | every 120 minutes from 2026-11-18T11:15:20+00:00 | 水
tomorrow at 3 call Tom | 2026-11-19 15:00 | | call Tom
tomorrow at 3:00 call Tom | 2026-11-19 03:00 | | call Tom
tomorrow at 03 call Tom | 2026-11-19 03:00 | | call Tom
tomorrow at 3 in the morning call Tom | 2026-11-19 03:00 | | call Tom
tomorrow at 3 am call Tom | 2026-11-19 03:00 | | call Tom
tomorrow at 5 call Tom | 2026-11-19 05:00 | | call Tom
every day at 3 and 15 pills | 2026-11-18 15:00 | every 1 days from 2026-11-18 at 03:00,15:00 | pills
at quarter past four tea | 2026-11-18 16:15 | | tea
morgen um 3 anrufen | 2026-11-19 15:00 | | anrufen
morgen früh um 4 los | 2026-11-19 04:00 | | los
morgen um 3:00 los | 2026-11-19 03:00 | | los
demain à 3h partir | 2026-11-19 03:00 | | partir
mañana a las 3 llamar | 2026-11-19 15:00 | | llamar
mañana a las 3 de la madrugada salir | 2026-11-19 03:00 | | salir
amanhã às 2 da madrugada sair | 2026-11-19 02:00 | | sair
завтра в 3 позвонить | 2026-11-19 15:00 | | позвонить
завтра в 3 часа ночи выезд | 2026-11-19 03:00 | | выезд
明天3点打电话 | 2026-11-19 15:00 | | 打电话
明天凌晨3点看球 | 2026-11-19 03:00 | | 看球
明天凌晨12点半看球 | 2026-11-19 00:30 | | 看球
毎月末に家賃 | 2026-11-30 09:00 | every 1 months from 2026-11-18 on -1 at 09:00 | 家賃
明早7点起床 | 2026-11-19 07:00 | | 起床
明早起床 | 2026-11-19 09:00 | | 起床
工作日早上7点锻炼 | 2026-11-19 07:00 | every 1 weeks from 2026-11-18 on mon,tue,wed,thu,fri at 07:00 | 锻炼
一个半小时后喝茶 | 2026-11-18 11:45:20 | | 喝茶
来週の月曜日9時に会議 | 2026-11-23 09:00 | | 会議
平日7時に起きる | 2026-11-19 07:00 | every 1 weeks from 2026-11-18 on mon,tue,wed,thu,fri at 07:00 | 起きる
다음 주 수요일 10시에 회의 | 2026-11-25 10:00 | | 회의
월요일마다 8시에 운동 | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00 | 운동
모레 정오에 점심 | 2026-11-20 12:00 | | 점심
los lunes y miércoles a las 19 gym | 2026-11-18 19:00 | every 1 weeks from 2026-11-18 on mon,wed at 19:00 | gym
по понедельникам в 8 мусор | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00 | мусор
le 1er de chaque mois payer | 2026-12-01 09:00 | every 1 months from 2026-11-18 on 1 at 09:00 | payer
le 1er décembre payer | 2026-12-01 09:00 | | payer
take the 9:30 train tomorrow at 8 | 2026-11-19 08:00 | | take the 9:30 train
给汤姆打电话明天15点 | 2026-11-19 15:00 | | 给汤姆打电话
吃药每天早上8点 | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00 | 吃药
tomorrow at 10 pm or so to call Sam | 2026-11-19 22:00 | | call Sam
in 2,5 hours tea | 2026-11-18 12:45:20 | | tea
in 1.5 hours tea | 2026-11-18 11:45:20 | | tea
mañana a las 15 llamar | 2026-11-19 15:00 | | llamar
mañana a las 15:00 llamar | 2026-11-19 15:00 | | llamar
mañana a las 3 de la tarde llamar | 2026-11-19 15:00 | | llamar
mañana por la mañana llamar | 2026-11-19 09:00 | | llamar
domani alle 15 chiamare | 2026-11-19 15:00 | | chiamare
domani alle 15:30 chiamare | 2026-11-19 15:30 | | chiamare
domani alle 3 del pomeriggio chiamare | 2026-11-19 15:00 | | chiamare
domani mattina alle 9 chiamare | 2026-11-19 09:00 | | chiamare
demain à 15h appeler | 2026-11-19 15:00 | | appeler
demain à 15 h appeler | 2026-11-19 15:00 | | appeler
demain à 15h30 appeler | 2026-11-19 15:30 | | appeler
demain matin à 9 h appeler | 2026-11-19 09:00 | | appeler
demain soir appeler | 2026-11-19 19:00 | | appeler
ce soir à 20h appeler | 2026-11-18 20:00 | | appeler
lundi prochain à 9h appeler | 2026-11-23 09:00 | | appeler
amanhã às 15 ligar | 2026-11-19 15:00 | | ligar
amanhã às 15h ligar | 2026-11-19 15:00 | | ligar
amanhã às 15:30 ligar | 2026-11-19 15:30 | | ligar
завтра в 15 позвонить | 2026-11-19 15:00 | | позвонить
завтра в 15:00 позвонить | 2026-11-19 15:00 | | позвонить
завтра утром позвонить | 2026-11-19 09:00 | | позвонить
в понедельник в 9 позвонить | 2026-11-23 09:00 | | позвонить
через 20 минут чай | 2026-11-18 10:35:20 | | чай
через 2 часа чай | 2026-11-18 12:15:20 | | чай
через час чай | 2026-11-18 11:15:20 | | чай
каждый день в 8 таблетки | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00 | таблетки
каждый понедельник в 8:00 таблетки | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00 | таблетки
明日15時に電話 | 2026-11-19 15:00 | | 電話
明日の午後3時に電話 | 2026-11-19 15:00 | | 電話
20分後にお茶 | 2026-11-18 10:35:20 | | お茶
毎日8時に薬 | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00 | 薬
毎週月曜日8時に薬 | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00 | 薬
내일 15시에 전화 | 2026-11-19 15:00 | | 전화
내일 오후 3시에 전화 | 2026-11-19 15:00 | | 전화
20분 후에 차 | 2026-11-18 10:35:20 | | 차
매일 8시에 약 | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00 | 약
明天15点打电话 | 2026-11-19 15:00 | | 打电话
明天下午三点打电话 | 2026-11-19 15:00 | | 打电话
每周三晚上8点 | 2026-11-18 20:00 | every 1 weeks from 2026-11-18 on wed at 20:00 |
dans 20 minutes thé | 2026-11-18 10:35:20 | | thé
dans une heure thé | 2026-11-18 11:15:20 | | thé
dans 2 jours thé | 2026-11-20 10:15:20 | | thé
en 20 minutos té | 2026-11-18 10:35:20 | | té
en una hora té | 2026-11-18 11:15:20 | | té
dentro de 2 horas té | 2026-11-18 12:15:20 | | té
el lunes a las 9 té | 2026-11-23 09:00 | | té
todos los lunes a las 9 té | 2026-11-23 09:00 | every 1 weeks from 2026-11-18 on mon at 09:00 | té
cada lunes a las 9 té | 2026-11-23 09:00 | every 1 weeks from 2026-11-18 on mon at 09:00 | té
cada dos horas té | 2026-11-18 12:15:20 | every 120 minutes from 2026-11-18T11:15:20+00:00 | té
cada 2 horas té | 2026-11-18 12:15:20 | every 120 minutes from 2026-11-18T11:15:20+00:00 | té
tra 20 minuti tè | 2026-11-18 10:35:20 | | tè
fra un'ora tè | 2026-11-18 11:15:20 | | tè
tra due giorni tè | 2026-11-20 10:15:20 | | tè
lunedì alle 9 tè | 2026-11-23 09:00 | | tè
ogni lunedì alle 9 tè | 2026-11-23 09:00 | every 1 weeks from 2026-11-18 on mon at 09:00 | tè
ogni 2 ore tè | 2026-11-18 12:15:20 | every 120 minutes from 2026-11-18T11:15:20+00:00 | tè
ogni giorno alle 8 tè | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00 | tè
em 20 minutos chá | 2026-11-18 10:35:20 | | chá
daqui a 2 horas chá | 2026-11-18 12:15:20 | | chá
na segunda-feira às 9 chá | 2026-11-23 09:00 | | chá
todos os dias às 8 chá | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00 | chá
toda segunda às 8 chá | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00 | chá
tous les lundis à 9h thé | 2026-11-23 09:00 | every 1 weeks from 2026-11-18 on mon at 09:00 | thé
chaque lundi à 9h thé | 2026-11-23 09:00 | every 1 weeks from 2026-11-18 on mon at 09:00 | thé
toutes les 2 heures thé | 2026-11-18 12:15:20 | every 120 minutes from 2026-11-18T11:15:20+00:00 | thé
chaque jour à 8h thé | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00 | thé
tous les jours à 8h thé | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00 | thé
le 3 décembre à 14h thé | 2026-12-03 14:00 | | thé
el 3 de diciembre a las 14 té | 2026-12-03 14:00 | | té
il 3 dicembre alle 14 tè | 2026-12-03 14:00 | | tè
em 3 de dezembro às 14 chá | 2026-12-03 14:00 | | chá
3 декабря в 14 чай | 2026-12-03 14:00 | | чай
12月3日午後2時に会議 | 2026-12-03 14:00 | | 会議
tomorrow buy 3 eggs | 2026-11-19 09:00 | | buy 3 eggs
tomorrow pick up the kids at school | 2026-11-19 09:00 | | pick up the kids at school
call the bank at 9 on monday | 2026-11-23 09:00 | | call the bank
at 9:00 plan for friday | 2026-11-19 09:00 | | plan for friday
in 20 mins or so tea | 2026-11-18 10:35:20 | | tea
beginning of next month pay rent | 2026-12-01 09:00 | | pay rent
by friday call | 2026-11-20 09:00 | | call
every sunday at 10 and 18 pray | 2026-11-22 10:00 | every 1 weeks from 2026-11-18 on sun at 10:00,18:00 | pray
every monday and wednesday at 7pm gym | 2026-11-18 19:00 | every 1 weeks from 2026-11-18 on mon,wed at 19:00 | gym
every 4 hours drink water | 2026-11-18 14:15:20 | every 240 minutes from 2026-11-18T13:15:20+00:00 | drink water
every four hours drink water | 2026-11-18 14:15:20 | every 240 minutes from 2026-11-18T13:15:20+00:00 | drink water
every six months dentist | 2027-05-18 09:00 | every 6 months from 2026-11-18 on 18 at 09:00 | dentist
every 1.5 hours stretch | 2026-11-18 11:45:20 | every 90 minutes from 2026-11-18T10:45:20+00:00 | stretch
every hour stand up | 2026-11-18 11:15:20 | every 60 minutes from 2026-11-18T10:15:20+00:00 | stand up
every day at 8 and 20 pills | 2026-11-18 20:00 | every 1 days from 2026-11-18 at 08:00,20:00 | pills
every day at 8am and 8pm pills | 2026-11-18 20:00 | every 1 days from 2026-11-18 at 08:00,20:00 | pills
every day at noon lunch | 2026-11-18 12:00 | every 1 days from 2026-11-18 at 12:00 | lunch
every other day at 7 run | 2026-11-20 07:00 | every 2 days from 2026-11-18 at 07:00 | run
every other week x | 2026-12-02 09:00 | every 2 weeks from 2026-11-18 on wed at 09:00 | x
on mondays 8:00 x | 2026-11-23 08:00 | every 1 weeks from 2026-11-18 on mon at 08:00 | x
in 1 hour and 30 minutes x | 2026-11-18 11:45:20 | | x
in 1h30 x | 2026-11-18 11:45:20 | | x
in 90 seconds x | 2026-11-18 10:16:50 | | x
in 0.5 hours x | 2026-11-18 10:45:20 | | x
in half a day x | 2026-11-18 22:15:20 | | x
31/12 party | 2026-12-31 09:00 | | party
29 feb x | 2028-02-29 09:00 | | x
monday 31 x | 2026-11-23 09:00 | | 31 x
at 7 tonight x | 2026-11-18 19:00 | | x
at 7 this evening x | 2026-11-18 19:00 | | x
seven o'clock x | 2026-11-19 07:00 | | x
noon on friday x | 2026-11-20 12:00 | | x
midday on friday x | 2026-11-20 12:00 | | x
midnight on friday x | 2026-11-20 00:00 | | x
remind me tomorrow at 9 x | 2026-11-19 09:00 | | x
tea in 5 minutes | 2026-11-18 10:20:20 | | tea
look at the 9 o'clock news tomorrow | 2026-11-19 09:00 | | look at the 9 o'clock news
10 min to go x | 2026-11-18 10:25:20 | | go x
next tuesday at half past four x | 2026-11-24 16:30 | | x
quarter past nine tomorrow x | 2026-11-19 09:15 | | x
20 past 9 x | 2026-11-19 09:20 | | x
at 20 to 10 x | 2026-11-19 09:40 | | x
at 1500 x | 2026-11-18 15:00 | | x
at 9.30 x | 2026-11-19 09:30 | | x
in 1 month x | 2026-12-18 10:15:20 | | x
a month from now x | 2026-12-18 10:15:20 | | x
morgen um 15 Uhr Mama anrufen | 2026-11-19 15:00 | | Mama anrufen
morgen 15 Uhr anrufen | 2026-11-19 15:00 | | anrufen
morgen Nachmittag um 3 anrufen | 2026-11-19 15:00 | | anrufen
morgen früh anrufen | 2026-11-19 09:00 | | anrufen
übermorgen Mittag anrufen | 2026-11-20 12:00 | | anrufen
heute um 18:30 anrufen | 2026-11-18 18:30 | | anrufen
in zwei Stunden anrufen | 2026-11-18 12:15:20 | | anrufen
in einer Viertelstunde anrufen | 2026-11-18 10:30:20 | | anrufen
nächste Woche Montag um 9 x | 2026-11-23 09:00 | | x
jeden Tag um 8 und 20 Uhr x | 2026-11-18 20:00 | every 1 days from 2026-11-18 at 08:00,20:00 | x
alle zwei Wochen montags x | 2026-11-23 09:00 | every 2 weeks from 2026-11-23 on mon at 09:00 | x
alle 14 Tage x | 2026-12-02 09:00 | every 14 days from 2026-11-18 at 09:00 | x
jeden letzten Freitag im Monat um 16 Uhr x | 2026-11-27 16:00 | every 1 months from 2026-11-18 on -1fri at 16:00 | x
am 24.12. um 18 Uhr x | 2026-12-24 18:00 | | x
am 24.12.2026 x | 2026-12-24 09:00 | | x
24. Dezember 18:00 x | 2026-12-24 18:00 | | x
um halb acht x | 2026-11-19 07:30 | | x
um viertel vor acht x | 2026-11-19 07:45 | | x
um Viertel nach 8 x | 2026-11-19 08:15 | | x
um 8 Uhr abends x | 2026-11-18 20:00 | | x
um 8 Uhr früh x | 2026-11-19 08:00 | | x
x spätestens Freitag 9:00 | 2026-11-20 09:00 | | x spätestens
demain à 9 h appeler maman | 2026-11-19 09:00 | | appeler maman
après-demain à 10h x | 2026-11-20 10:00 | | x
demain après-midi à 3h x | 2026-11-19 15:00 | | x
dans une demi-heure x | 2026-11-18 10:45:20 | | x
dans un quart d'heure x | 2026-11-18 10:30:20 | | x
tous les deux jours x | 2026-11-20 09:00 | every 2 days from 2026-11-18 at 09:00 | x
toutes les deux semaines x | 2026-12-02 09:00 | every 2 weeks from 2026-11-18 on wed at 09:00 | x
chaque matin à 7h x | 2026-11-19 07:00 | every 1 days from 2026-11-18 at 07:00 | x
vendredi soir x | 2026-11-20 19:00 | | x
vendredi à midi x | 2026-11-20 12:00 | | x
à minuit x | 2026-11-19 00:00 | | x
ce soir x | 2026-11-18 20:00 | | x
le 24 décembre à 18h30 x | 2026-12-24 18:30 | | x
pasado mañana a las 10 x | 2026-11-20 10:00 | | x
el viernes por la noche x | 2026-11-20 19:00 | | x
el viernes a las 8 de la noche x | 2026-11-20 20:00 | | x
dentro de media hora x | 2026-11-18 10:45:20 | | x
todos los días a las 8 x | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00 | x
cada mañana a las 7 x | 2026-11-19 07:00 | every 1 days from 2026-11-18 at 07:00 | x
a medianoche x | 2026-11-19 00:00 | | x
al mediodía x | 2026-11-18 12:00 | | x
esta noche x | 2026-11-18 20:00 | | x
el 24 de diciembre a las 18:30 x | 2026-12-24 18:30 | | x
a la una x | 2026-11-18 13:00 | | x
mañana a la 1 x | 2026-11-19 13:00 | | x
dopodomani alle 10 x | 2026-11-20 10:00 | | x
venerdì sera x | 2026-11-20 19:00 | | x
venerdì alle 8 di sera x | 2026-11-20 20:00 | | x
tra mezz'ora x | 2026-11-18 10:45:20 | | x
tutti i giorni alle 8 x | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00 | x
ogni mattina alle 7 x | 2026-11-19 07:00 | every 1 days from 2026-11-18 at 07:00 | x
a mezzanotte x | 2026-11-19 00:00 | | x
a mezzogiorno x | 2026-11-18 12:00 | | x
stasera x | 2026-11-18 20:00 | | x
stasera alle 8 x | 2026-11-18 20:00 | | x
il 24 dicembre alle 18:30 x | 2026-12-24 18:30 | | x
depois de amanhã às 10 x | 2026-11-20 10:00 | | x
sexta-feira à noite x | 2026-11-20 19:00 | | x
amanhã de manhã x | 2026-11-19 09:00 | | x
daqui a meia hora x | 2026-11-18 10:45:20 | | x
hoje à noite x | 2026-11-18 20:00 | | x
послезавтра в 10 x | 2026-11-20 10:00 | | x
завтра в 3 часа дня x | 2026-11-19 15:00 | | x
завтра вечером в 8 x | 2026-11-19 20:00 | | x
через полчаса x | 2026-11-18 10:45:20 | | x
каждые 2 часа x | 2026-11-18 12:15:20 | every 120 minutes from 2026-11-18T11:15:20+00:00 | x
сегодня вечером x | 2026-11-18 20:00 | | x
в пятницу вечером x | 2026-11-20 19:00 | | x
24 декабря в 18:30 x | 2026-12-24 18:30 | | x
через неделю x | 2026-11-25 10:15:20 | | x
明天下午3点打电话给妈妈 | 2026-11-19 15:00 | | 打电话给妈妈
后天上午十点半开会 | 2026-11-20 10:30 | | 开会
每天早上7点吃药 | 2026-11-19 07:00 | every 1 days from 2026-11-18 at 07:00 | 吃药
每周一和周三晚上8点健身 | 2026-11-18 20:00 | every 1 weeks from 2026-11-18 on mon,wed at 20:00 | 健身
每两天浇花 | 2026-11-20 09:00 | every 2 days from 2026-11-18 at 09:00 | 浇花
每隔一天浇花 | 2026-11-20 09:00 | every 2 days from 2026-11-18 at 09:00 | 浇花
每个月15号交房租 | 2026-12-15 09:00 | every 1 months from 2026-11-18 on 15 at 09:00 | 交房租
每月最后一天交房租 | 2026-11-30 09:00 | every 1 months from 2026-11-18 on -1 at 09:00 | 交房租
今天晚上8点 | 2026-11-18 20:00 | |
半小时后 | 2026-11-18 10:45:20 | |
12月24日晚上6点半 | 2026-12-24 18:30 | |
明日の朝7時に起きる | 2026-11-19 07:00 | | 起きる
3時間後に電話 | 2026-11-18 13:15:20 | | 電話
30分後に電話 | 2026-11-18 10:45:20 | | 電話
毎朝7時に薬 | 2026-11-19 07:00 | every 1 days from 2026-11-18 at 07:00 | 薬
毎週金曜日の夜8時にジム | 2026-11-20 20:00 | every 1 weeks from 2026-11-18 on fri at 20:00 | ジム
今夜8時に映画 | 2026-11-18 20:00 | | 映画
金曜日の午後に会議 | 2026-11-20 15:00 | | 会議
모레 오전 10시에 회의 | 2026-11-20 10:00 | | 회의
3시간 후에 전화 | 2026-11-18 13:15:20 | | 전화
30분 뒤에 전화 | 2026-11-18 10:45:20 | | 전화
매일 아침 7시에 약 | 2026-11-19 07:00 | every 1 days from 2026-11-18 at 07:00 | 약
매주 금요일 저녁 8시에 운동 | 2026-11-20 20:00 | every 1 weeks from 2026-11-18 on fri at 20:00 | 운동
오늘 밤 8시에 영화 | 2026-11-18 20:00 | | 영화
friday monday's report | 2026-11-20 09:00 | | monday's report
friday, monday's report | 2026-11-20 09:00 | | monday's report
tomorrow: friday's menu | 2026-11-19 09:00 | | friday's menu
every day: all but sunday | 2026-11-19 09:00 | every 1 days from 2026-11-18 at 09:00 | all but sunday
friday: 3 things | 2026-11-20 09:00 | | 3 things
2日後に電話 | 2026-11-20 10:15:20 | | 電話
on friday may I call | 2026-11-20 09:00 | | may I call
friday from Oslo x | 2026-11-20 09:00 | | from Oslo x
friday in the park x | 2026-11-20 09:00 | | in the park x
friday in Oslo x | 2026-11-20 09:00 | | in Oslo x
tomorrow in a hurry x | 2026-11-19 09:00 | | in a hurry x
at 8 tomorrow evening call | 2026-11-19 20:00 | | call
call mum at 8 on friday evening | 2026-11-20 20:00 | | call mum
call mum at 9 tomorrow morning | 2026-11-19 09:00 | | call mum
tomorrow 9:00 morning run | 2026-11-19 09:00 | | morning run
tonight at midnight x | 2026-11-19 00:00 | | x
friday 12 noon x | 2026-11-20 12:00 | | x
friday around 10 x | 2026-11-20 10:00 | | x
friday 10ish x | 2026-11-20 10:00 | | x
tomorrow by 8 x | 2026-11-19 08:00 | | x
Dec. 24 at 18:00 x | 2026-12-24 18:00 | | x
on the 1st of every month pay rent | 2026-12-01 09:00 | every 1 months from 2026-11-18 on 1 at 09:00 | pay rent
pay rent on the 5th of each month | 2026-12-05 09:00 | every 1 months from 2026-11-18 on 5 at 09:00 | pay rent
on the first monday of every month x | 2026-12-07 09:00 | every 1 months from 2026-11-18 on 1mon at 09:00 | x
am Ersten jeden Monats x | 2026-12-01 09:00 | every 1 months from 2026-11-18 on 1 at 09:00 | x
el 1 de cada mes x | 2026-12-01 09:00 | every 1 months from 2026-11-18 on 1 at 09:00 | x
tous les mois le 5 loyer | 2026-12-05 09:00 | every 1 months from 2026-11-18 on 5 at 09:00 | loyer
cada mes el día 5 x | 2026-12-05 09:00 | every 1 months from 2026-11-18 on 5 at 09:00 | x
ogni mese il 5 x | 2026-12-05 09:00 | every 1 months from 2026-11-18 on 5 at 09:00 | x
매달 25일에 월세 | 2026-11-25 09:00 | every 1 months from 2026-11-18 on 25 at 09:00 | 월세
mañana a las nueve y media x | 2026-11-19 09:30 | | x
mañana a las 9 y cuarto x | 2026-11-19 09:15 | | x
mañana a las 9 menos cuarto x | 2026-11-19 08:45 | | x
mañana a las 8 en la noche x | 2026-11-19 20:00 | | x
en una hora y media x | 2026-11-18 11:45:20 | | x
el próximo lunes a las 9 x | 2026-11-23 09:00 | | x
viernes de la próxima semana x | 2026-11-27 09:00 | | x
el día 15 a las 10 x | 2026-12-15 10:00 | | x
domani alle nove e mezza x | 2026-11-19 09:30 | | x
tra un'ora e mezza x | 2026-11-18 11:45:20 | | x
la prossima settimana x | 2026-11-23 09:00 | | x
ogni lunedì e giovedì palestra | 2026-11-19 09:00 | every 1 weeks from 2026-11-18 on mon,thu at 09:00 | palestra
amanhã às nove e meia x | 2026-11-19 09:30 | | x
em uma hora e meia x | 2026-11-18 11:45:20 | | x
próxima segunda às 9 x | 2026-11-23 09:00 | | x
dia 15 às 10 x | 2026-12-15 10:00 | | x
demain à huit heures et quart x | 2026-11-19 08:15 | | x
à huit heures moins le quart x | 2026-11-19 07:45 | | x
dans une heure et demie x | 2026-11-18 11:45:20 | | x
vendredi 15h dentiste | 2026-11-20 15:00 | | dentiste
aujourd'hui 15h x | 2026-11-18 15:00 | | x
la semaine prochaine x | 2026-11-23 09:00 | | x
vendredi de la semaine prochaine x | 2026-11-27 09:00 | | x
на следующей неделе x | 2026-11-23 09:00 | | x
каждый понедельник и четверг в 9 x | 2026-11-19 09:00 | every 1 weeks from 2026-11-18 on mon,thu at 09:00 | x
2026年12月25日下午3点开会 | 2026-12-25 15:00 | | 开会
下午5点一刻x | 2026-11-18 17:15 | | x
毎週月曜と木曜8時に薬 | 2026-11-19 08:00 | every 1 weeks from 2026-11-18 on mon,thu at 08:00 | 薬
내일 오후 3시 반에 회의 | 2026-11-19 15:30 | | 회의
내일 오후 3시 30분에 회의 | 2026-11-19 15:30 | | 회의
1시간 반 후에 전화 | 2026-11-18 11:45:20 | | 전화
2026년 12월 25일 오후 3시에 x | 2026-12-25 15:00 | | x
tomorrow at the dentist at Main St 15 | 2026-11-19 09:00 | | at the dentist at Main St 15
tomorrow send Tom 20 euros | 2026-11-19 09:00 | | send Tom 20 euros
tomorrow read chapter 9 | 2026-11-19 09:00 | | read chapter 9
tomorrow lunch with Ann | 2026-11-19 09:00 | | lunch with Ann
tomorrow about the eggs | 2026-11-19 09:00 | | about the eggs
tomorrow half the rent is due | 2026-11-19 09:00 | | half the rent is due
tomorrow - 3 things | 2026-11-19 09:00 | | 3 things
call Ann and Bob friday | 2026-11-20 09:00 | | call Ann and Bob
iron, friday | 2026-11-20 09:00 | | iron
"""

# Ranges, what is past, what is counted from an event, days left out, two days, a time in the text, and the like.
REFUSED = """\
at 9am Tokyo time call Ken
tomorrow at 9 EST join the call
9:00 New York time to call Bo
morgen um 9 Uhr Londoner Zeit anrufen
18:00 UTC call Bo
tomorrow between 9 and 10 to call Bo
tomorrow at 10 and at 15 to drink
tomorrow at 10 and 15 drink
每天八点遛狗，星期天除外
明天九点到十点开会
every day at 8 walk the dog, not on Sundays
every 2,000 minutes stretch
in 1,500 minutes tea
in 1.500 Minuten Tee
every 1.000 minutes x
in 3 to 4 hours tea
in 3-4 hours tea
in 3 or 4 hours tea
in 3 bis 4 Stunden Tee
zwischen 3 und 4 Uhr Tee
between 3 and 4 pm tea
5 minutes ago tea
vor 5 Minuten Tee
il y a 5 minutes thé
hace 5 minutos té
5分钟前喝茶
2 days before the exam study
2 Tage vor der Prüfung lernen
10 minutes before lunch wash hands
an hour before 9:00 leave
2 hours after dinner pills
the day before the exam study
the day after the party clean
every day except sunday pills
every weekday but friday pills
every day but sunday pills
every day not sunday pills
jeden Tag außer Sonntag Tabletten
jeden Tag ausser sonntags Tabletten
every day apart from weekends pills
tous les jours sauf dimanche pilules
todos los días excepto domingo pastillas
ogni giorno tranne domenica pillole
每天除了周日吃药
tomorrow call mum at 15:00
tomorrow meeting at 3pm with Bo
friday dinner with Ann at 8
at 9 call mum on friday
9:00 call mum tomorrow
this time tomorrow call
in about 20 minutes tea
in a bit tea
later today tea
end of the month pay rent
at the end of the month pay rent
first thing tomorrow call
after lunch call
tomorrow after lunch call
before noon call
until friday call
next weekend clean
this weekend clean
on weekends clean
every quarter taxes
twice a day pills
once a week plants
three times a day pills
every day at 25 x
every day from monday to friday x
every monday from 9 to 17 x
every monday starting next week at 9 x
biweekly x
fortnightly x
monday through friday 8:00 x
mon-fri 8:00 x
Mon, Wed, Fri 8:00 x
in .5 hours x
in a day or two x
in 2-3 days x
in two to three days x
in 10,000 minutes x
in 1.000.000 seconds x
in 2 000 minutes x
every 10,000 minutes x
2 weeks before christmas x
3 hours prior to departure x
christmas buy gifts
new year's eve party
easter x
my birthday x
12/11 x
2026/13/01 x
2026-11-31 x
Feb 30 x
monday 25:00 x
7 tonight x
half seven x
not tomorrow x
tomorrow or friday x
tomorrow or the day after x
today or tomorrow at 9 x
call mum not tomorrow
call mum before tomorrow
finish it until friday
pay rent in 3 to 4 days
tea 5 minutes ago
5 minutes before 9:00 x
yesterday at 9 x
last monday x
2 days ago x
at 9,30 x
a week from today x
a week tomorrow x
friday week x
in 3 working days x
morgen Mama um 15 Uhr anrufen
heute in 2 Stunden anrufen
in 2 bis 3 Stunden anrufen
in 2-3 Stunden anrufen
in anderthalb Stunden anrufen
in eineinhalb Stunden anrufen
in einer Dreiviertelstunde anrufen
vor dem Essen anrufen
nach dem Essen anrufen
2 Tage vorher anrufen
2 Tage nach Weihnachten x
vor 2 Tagen x
am Freitag nach dem Mittagessen x
Freitag oder Samstag x
Freitag um 9 oder 10 x
Montag in einer Woche x
jeden Werktag um 7 außer Freitag x
jeden Tag außer am Wochenende x
zweimal am Tag x
alle 1.000 Minuten x
an jedem 1. um 9 x
um dreiviertel acht x
Ende des Monats x
bis Freitag x
x bis Freitag
gestern x
vorgestern um 9 x
demain appeler maman à 15h
dans 3 à 4 heures x
il y a 2 jours x
2 jours avant l'examen x
tous les jours sauf le lundi x
le premier lundi du mois x
mañana llamar a mamá a las 15:00
en 3 o 4 horas x
hace dos días x
dos días antes del examen x
todos los días menos el domingo x
domani chiamare mamma alle 15:00
tra 3 o 4 ore x
due giorni fa x
due giorni prima dell'esame x
tutti i giorni tranne la domenica x
há dois dias x
dois dias antes do exame x
todos os dias exceto domingo x
через 3-4 часа x
2 дня назад x
за 2 дня до экзамена x
каждый день кроме воскресенья x
明天给妈妈打电话下午3点
3到4小时后喝茶
两天前开会
考试前两天复习
下个月1号交房租
周五或周六见面
あさって10時に会議
2日前に電話
2일 전에 전화
morgen om half acht bellen
morgen om 9 bellen
um drei viertel neun anrufen
alle 20 ora di cena
2 minutes of silence at 11
at 9 PT session
at eight ten call
every hour at quarter past drink
every year in march check
every day twice pills
毎月第1月曜日に会議
every day, except sunday, run
every day at 9 for a week pills
every morning and evening pills
tomorrow 7-8 dinner
через час-полтора позвонить
i morgen kl 15 ring mamma
zítra v 15:00 zavolat
yarın saat 15:00 ara
jutro o 15 zadzwonić
next month on the 15th x
mon ami
下个月15号交房租
tomorrow the 24th call
every monday and friday at 9 or 10 x
friday from 9 to 17 x
friday in 2 weeks x
friday week-end trip x
tomorrow at half 7 dinner
tomorrow at about 10 x
tomorrow at lunch x
tomorrow 1530 x
tomorrow 15.30 x
tomorrow - 5pm - x
tomorrow morning call Tom at 10
tonight watch the game at 9
in 2:30 x
tea in 2:30
16h x
20h30 x
at 3 to 4 x
meeting with Bo 3 to 4 tomorrow
call mum at 9 or 10 on friday
meet Bo from 9 to 17 on friday
call mum between 9 and 10 on friday
second friday of january x
first monday in january x
last day of february x
friday and saturday x
every monday at 9 and friday at 10 x
call mum friday or saturday
shop open monday to friday
pills mon, wed, fri
pills monday, wednesday and friday
buy tickets for friday
plan for next week
the report of last friday
Tickets kaufen für Freitag
billets pour vendredi
entradas para el viernes
biglietti per venerdì
билеты на пятницу
à midi et demi x
lundi en huit x
mar 8h x
todo dia 1º x
segunda e quinta x
завтра в 9-30 x
每周一三五跑步
每周一、三、五跑步
周五之前交报告
明天九点之前交作业
30分ごとにお茶
2日おきに水
金曜日までにレポート
매주 월요일과 목요일 운동
금요일 전에 보고서
every day 9:00 until friday call
call Tom tomorrow at 3 and Eva at 4
appeler Tom demain à 9h et Eva à 10h
tomorrow at dawn run
明天凌晨看球
下下周三开会
3時から4時まで会議
会議を再来週の水曜日10時
除了星期天每天8点吃药
除了周日，每天8点吃药
除星期天外每天8点吃药
除周末以外每天8点吃药
每天8点吃药，周末不用
日曜以外毎日8時に薬
日曜日を除いて毎日8時に薬
毎日8時に薬、日曜は除く
일요일 빼고 매일 8시에 약
매일 8시에 약 (일요일 제외)
except sundays, every day at 8 run
打电话明天25点
every day from 9:00-17:00 stretch
"""

# phrase | the zone that it names
IN_ANOTHER_ZONE = """\
at 9 Paris time call Bo | Paris time
at 9, Tokyo time, call Ken | Tokyo time
at 9 (Tokyo time) call Ken | Tokyo time
call Ken at 9 Tokyo time | Tokyo time
tomorrow Tokyo time 9am call Ken | Tokyo time
at 9 Beijing time call Li | Beijing time
at 9 pacific standard time call Bo | pacific standard time
every day at 9 UK time call Bo | UK time
9am EST call Bo | EST
9am est call Bo | est
call Bo at 9am EST | EST
9 a.m. ET call Bo | ET
9:00 UTC+2 call Bo | UTC+2
9:00Z call Bo | Z
09:00+02:00 call Bo | +02:00
9:00 Europe/Paris call Bo | Europe/Paris
um 9 Uhr Londoner Zeit anrufen | Londoner Zeit
um 9 Uhr New Yorker Zeit anrufen | New Yorker Zeit
um 9 Uhr MEZ anrufen | MEZ
morgen um 9 Uhr (mitteleuropäischer Zeit) anrufen | mitteleuropäischer Zeit
um 9 Uhr Ortszeit anrufen | Ortszeit
à 9 h heure de Paris appeler | heure de Paris
demain à 9h, heure de New York, appeler | heure de New York
à 9h heure française appeler | heure française
a las 9 hora de Madrid llamar | hora de Madrid
mañana a las 9:00 hora de México llamar | hora de México
a las 9 hora peninsular llamar | hora peninsular
alle 9 ora di Londra chiamare | ora di Londra
domani alle 9 ora italiana chiamare | ora italiana
às 9 horário de Brasília ligar | horário de Brasília
às 9h hora de Lisboa ligar | hora de Lisboa
北京时间9点开会 | 北京时间
明天北京时间9点开会 | 北京时间
明天9点北京时间开会 | 北京时间
每天纽约时间9点开会 | 纽约时间
в 9 по московскому времени позвонить | по московскому времени
завтра в 9:00 по Москве позвонить | по Москве
в 9:00 МСК позвонить | МСК
日本時間9時に会議 | 日本時間
明日のニューヨーク時間9時に会議 | ニューヨーク時間
한국 시간 9시에 전화 | 한국 시간
내일 오후 3시 도쿄 시간 전화 | 도쿄 시간
15:00 Amsterdamse tijd bellen | Amsterdamse tijd
15:00 czasu warszawskiego zadzwonić | czasu warszawskiego
15:00 Londra saatiyle ara | Londra saatiyle
"""


@table_test("row", UNDERSTOOD.splitlines())
def test_what_people_write_is_understood_as_meant(row: str) -> None:
    check_understood(row)


@table_test("phrase", REFUSED.splitlines())
def test_what_is_only_half_understood_is_refused_with_an_example(phrase: str) -> None:
    check_refused(phrase)


@pytest.mark.thorough
@table_test("check", [*START_CHECKS, *END_CHECKS])
def test_each_check_finds_a_phrase(check: AmbiguityCheck) -> None:
    phrases = [row.split(" | ")[0] for row in REFUSED.splitlines()]
    assert any(finds(check, phrase) for phrase in phrases)


def finds(check: AmbiguityCheck, phrase: str) -> bool:
    grammar = Grammar(TokenLine(phrase))
    begins = range(1, len(grammar.line.tokens)) if check in END_CHECKS else [0]
    try:
        moments = [MomentInLine(grammar, *_read_at(grammar, begin)) for begin in begins]
    except TimeParseError:
        return False
    return any(moment.end > moment.begin and check.find(moment) for moment in moments)


def _read_at(grammar: Grammar, begin: int) -> tuple[ParsedTime, int, int]:
    said, end = grammar.read(begin)
    return said, begin, end


@table_test(
    "phrase", ["除了星期天每天8点吃药", "日曜日を除いて毎日8時に薬", "except sundays, every day at 8 run"]
)
def test_days_that_are_left_out_first_are_the_reason(phrase: str) -> None:
    with pytest.raises(TimeParseError) as refused:
        read_when(phrase, NOW, BERLIN)
    assert refused.value.refusal == "except"


@table_test("row", IN_ANOTHER_ZONE.splitlines())
def test_a_time_in_another_zone_is_refused_by_its_name(row: str) -> None:
    phrase, zone = row.split(" | ")
    with pytest.raises(TimeParseError) as refused:
        read_when(phrase, NOW, BERLIN)
    assert (refused.value.refusal, refused.value.fields) == ("zone", {"zone": zone})
    assert "`tomorrow 9:00`" in str(refused.value)


@table_test(
    "line",
    [
        "20:00 Bed time",
        "um 9 Uhr Berliner Zeitung holen",
        "9:00 London call",
        "в 9 по новому адресу",
        "demain à 9h est prévu le train",
        "tomorrow at 5 Tea time",
        "at 9 Pacific ocean film",
        "at 9 call the Tokyo time desk",
        "tomorrow 9:00: Paris time is an hour ahead",
        "tomorrow change the clock to London time",
        "um 9 Uhr Freizeit planen",
        "9点睡觉时间",
        "завтра в 9 прогулка по Москве",
        "in 20 minutes Tokyo time zone quiz",
        "2026-12-03T14:00:00Z call Bo",
    ],
)
def test_a_text_about_time_is_no_time_zone(line: str) -> None:
    _, text = read_when(line, NOW, BERLIN)
    assert line.endswith(text)
    assert len(text.split()) > 1 or text == "睡觉时间"
