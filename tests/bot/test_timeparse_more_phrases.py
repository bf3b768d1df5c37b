"""More of what people write to be reminded, in the words of fifteen languages, none of them taken from the code."""

from tests.bot.timeparse_tables import check_refused, check_understood
from tests.fakes.table_test import table_test

# phrase | due | rule | text
UNDERSTOOD = """\
am Freitagnachmittag Paket holen | 2026-11-20 15:00 |  | Paket holen
Montagabend um 8 Sport | 2026-11-23 20:00 |  | Sport
tous les matins à 6h15 étirements | 2026-11-19 06:15 | every 1 days from 2026-11-18 at 06:15 | étirements
завтра утром в половине восьмого бег | 2026-11-19 07:30 |  | бег
по будням в 7 подъём | 2026-11-19 07:00 | every 1 weeks from 2026-11-18 on mon,tue,wed,thu,fri at 07:00 | подъём
в следующий понедельник в 9 позвонить | 2026-11-23 09:00 |  | позвонить
todas las noches a las 10 leer | 2026-11-18 22:00 | every 1 days from 2026-11-18 at 22:00 | leer
20분마다 일어나기 | 2026-11-18 10:35:20 | every 20 minutes from 2026-11-18T09:35:20+00:00 | 일어나기
jeden Montagabend um 8 Sport | 2026-11-23 20:00 | every 1 weeks from 2026-11-18 on mon at 20:00 | Sport
каждый вечер в 9 читать | 2026-11-18 21:00 | every 1 days from 2026-11-18 at 21:00 | читать
on thursday at quarter to eight take out the glass | 2026-11-19 07:45 | | take out the glass
in 25 minutes flip the pancakes | 2026-11-18 10:40:20 | | flip the pancakes
this friday afternoon pick up parcel | 2026-11-20 15:00 | | pick up parcel
on 7 January at 8am renew passport | 2027-01-07 08:00 | | renew passport
every tuesday and thursday at 18:30 choir | 2026-11-19 18:30 | every 1 weeks from 2026-11-18 on tue,thu at 18:30 | choir
every evening at 9 lock the door | 2026-11-18 21:00 | every 1 days from 2026-11-18 at 21:00 | lock the door
every 3 days water the orchid | 2026-11-21 09:00 | every 3 days from 2026-11-18 at 09:00 | water the orchid
on the last friday of every month pay | 2026-11-27 09:00 | every 1 months from 2026-11-18 on -1fri at 09:00 | pay
two hours from now take the bread out | 2026-11-18 12:15:20 | | take the bread out
at noon feed the fish | 2026-11-18 12:00 | | feed the fish
tomorrow at 12 lunch | 2026-11-19 12:00 | | lunch
monday 7.30 am bins | 2026-11-23 07:30 | | bins
every year on 14 February flowers | 2027-02-14 09:00 | every 1 years from 2026-02-14 at 09:00 | flowers
weekdays at 7 wake up | 2026-11-19 07:00 | every 1 weeks from 2026-11-18 on mon,tue,wed,thu,fri at 07:00 | wake up
tomorrow or so call Eva | 2026-11-19 09:00 | | call Eva
next year call Eva | 2027-01-01 09:00 | | call Eva
at 8 sharp call Eva | 2026-11-19 08:00 | | call Eva
at 17h30 call Eva | 2026-11-18 17:30 | | call Eva
at five thirty call Eva | 2026-11-19 05:30 | | call Eva
tomorrow at five thirty pm call Eva | 2026-11-19 17:30 | | call Eva
at seven fifteen call Eva | 2026-11-19 07:15 | | call Eva
at 0900 hours call Eva | 2026-11-19 09:00 | | call Eva
every half hour stretch | 2026-11-18 10:45:20 | every 30 minutes from 2026-11-18T09:45:20+00:00 | stretch
every hour and a half stretch | 2026-11-18 11:45:20 | every 90 minutes from 2026-11-18T10:45:20+00:00 | stretch
every third monday of the month club | 2026-12-21 09:00 | every 1 months from 2026-11-18 on 3mon at 09:00 | club
first of the month rent | 2026-12-01 09:00 | | rent
monthly on the 1st rent | 2026-12-01 09:00 | every 1 months from 2026-11-18 on 1 at 09:00 | rent
yearly on 3 March call Eva | 2027-03-03 09:00 | every 1 years from 2026-03-03 at 09:00 | call Eva
every day at 8, 14 and 20 pills | 2026-11-18 14:00 | every 1 days from 2026-11-18 at 08:00,14:00,20:00 | pills
at 9 o clock call | 2026-11-19 09:00 | | call
at 9 at night call | 2026-11-18 21:00 | | call
tomorrow at 12am call | 2026-11-19 00:00 | | call
am Donnerstag um Viertel vor acht Glas rausbringen | 2026-11-19 07:45 | | Glas rausbringen
in 25 Minuten wenden | 2026-11-18 10:40:20 | | wenden
am Freitag Nachmittag Paket holen | 2026-11-20 15:00 | | Paket holen
jeden Dienstag und Donnerstag 18:30 Chor | 2026-11-19 18:30 | every 1 weeks from 2026-11-18 on tue,thu at 18:30 | Chor
jeden Abend um 9 Tür zu | 2026-11-18 21:00 | every 1 days from 2026-11-18 at 21:00 | Tür zu
alle drei Tage gießen | 2026-11-21 09:00 | every 3 days from 2026-11-18 at 09:00 | gießen
gegen 9 anrufen | 2026-11-19 09:00 | | anrufen
jedes Wochenende um 10 Pfannkuchen | 2026-11-21 10:00 | every 1 weeks from 2026-11-18 on sat,sun at 10:00 | Pfannkuchen
täglich um 8 und 20 Uhr Tabletten | 2026-11-18 20:00 | every 1 days from 2026-11-18 at 08:00,20:00 | Tabletten
abends Tabletten | 2026-11-18 19:00 | | Tabletten
um zwanzig nach drei anrufen | 2026-11-18 15:20 | | anrufen
heute Nacht um 2 Sterne | 2026-11-19 02:00 | | Sterne
jeudi à huit heures moins le quart verre | 2026-11-19 07:45 | | verre
à 18 h 45 chat | 2026-11-18 18:45 | | chat
le 7 janvier à 8h passeport | 2027-01-07 08:00 | | passeport
toutes les 20 minutes debout | 2026-11-18 10:35:20 | every 20 minutes from 2026-11-18T09:35:20+00:00 | debout
vers midi appeler | 2026-11-18 12:00 | | appeler
après-demain à 14 heures appeler | 2026-11-20 14:00 | | appeler
jueves a las ocho menos cuarto vidrio | 2026-11-19 07:45 | | vidrio
dentro de 25 minutos tortitas | 2026-11-18 10:40:20 | | tortitas
el viernes por la tarde paquete | 2026-11-20 15:00 | | paquete
todos los martes y jueves a las 18:30 coro | 2026-11-19 18:30 | every 1 weeks from 2026-11-18 on tue,thu at 18:30 | coro
cada tres días orquídea | 2026-11-21 09:00 | every 3 days from 2026-11-18 at 09:00 | orquídea
el lunes que viene a las 9 llamar | 2026-11-23 09:00 | | llamar
esta tarde a las 5 llamar | 2026-11-18 17:00 | | llamar
domani mattina alle sette e mezza correre | 2026-11-19 07:30 | | correre
fra 25 minuti crêpe | 2026-11-18 10:40:20 | | crêpe
alle 18:45 gatto | 2026-11-18 18:45 | | gatto
il 7 gennaio alle 8 passaporto | 2027-01-07 08:00 | | passaporto
ogni 20 minuti alzarsi | 2026-11-18 10:35:20 | every 20 minutes from 2026-11-18T09:35:20+00:00 | alzarsi
verso le 9 chiamare | 2026-11-19 09:00 | | chiamare
dopodomani a mezzogiorno chiamare | 2026-11-20 12:00 | | chiamare
quinta às oito menos um quarto vidro | 2026-11-19 07:45 | | vidro
às 18h45 gato | 2026-11-18 18:45 | | gato
7 de janeiro às 8 passaporte | 2027-01-07 08:00 | | passaporte
a cada 20 minutos levantar | 2026-11-18 10:35:20 | every 20 minutes from 2026-11-18T09:35:20+00:00 | levantar
depois de amanhã ao meio-dia ligar | 2026-11-20 12:00 | | ligar
через 25 минут блины | 2026-11-18 10:40:20 | | блины
в пятницу днём посылка | 2026-11-20 15:00 | | посылка
каждый вторник и четверг в 18:30 хор | 2026-11-19 18:30 | every 1 weeks from 2026-11-18 on tue,thu at 18:30 | хор
каждые три дня орхидея | 2026-11-21 09:00 | every 3 days from 2026-11-18 at 09:00 | орхидея
послезавтра в полдень позвонить | 2026-11-20 12:00 | | позвонить
завтра в час дня позвонить | 2026-11-19 13:00 | | позвонить
в час ночи позвонить | 2026-11-19 01:00 | | позвонить
周四七点三刻倒垃圾 | 2026-11-19 07:45 | | 倒垃圾
25分钟后翻饼 | 2026-11-18 10:40:20 | | 翻饼
周五下午取包裹 | 2026-11-20 15:00 | | 取包裹
每周二和周四18:30合唱 | 2026-11-19 18:30 | every 1 weeks from 2026-11-18 on tue,thu at 18:30 | 合唱
每20分钟站起来 | 2026-11-18 10:35:20 | every 20 minutes from 2026-11-18T09:35:20+00:00 | 站起来
每个月最后一个周五付钱 | 2026-11-27 09:00 | every 1 months from 2026-11-18 on -1fri at 09:00 | 付钱
9点左右打电话 | 2026-11-19 09:00 | | 打电话
凌晨2点看流星 | 2026-11-19 02:00 | | 看流星
明日の朝7時半に走る | 2026-11-19 07:30 | | 走る
25分後にひっくり返す | 2026-11-18 10:40:20 | | ひっくり返す
金曜の午後に荷物 | 2026-11-20 15:00 | | 荷物
毎週火曜と木曜の18:30に合唱 | 2026-11-19 18:30 | every 1 weeks from 2026-11-18 on tue,thu at 18:30 | 合唱
毎月最終金曜日に支払い | 2026-11-27 09:00 | every 1 months from 2026-11-18 on -1fri at 09:00 | 支払い
9時ごろ電話 | 2026-11-19 09:00 | | 電話
9時頃に電話 | 2026-11-19 09:00 | | 電話
一時間半後に出る | 2026-11-18 11:45:20 | | 出る
내일 아침 7시 반에 달리기 | 2026-11-19 07:30 | | 달리기
25분 후에 뒤집기 | 2026-11-18 10:40:20 | | 뒤집기
금요일 오후에 택배 | 2026-11-20 15:00 | | 택배
매일 아침 6시 15분에 체조 | 2026-11-19 06:15 | every 1 days from 2026-11-18 at 06:15 | 체조
매월 마지막 금요일에 지불 | 2026-11-27 09:00 | every 1 months from 2026-11-18 on -1fri at 09:00 | 지불
18:45 nakarmić kota | 2026-11-18 18:45 | | nakarmić kota
18:45 أطعم القط | 2026-11-18 18:45 | | أطعم القط
morgen ab 14 Uhr anrufen | 2026-11-19 14:00 | | anrufen
amanhã à meia-noite ligar | 2026-11-19 00:00 | | ligar
завтра в час ночи позвонить | 2026-11-19 01:00 | | позвонить
каждые выходные в 10 блины | 2026-11-21 10:00 | every 1 weeks from 2026-11-18 on sat,sun at 10:00 | блины
毎月第一月曜日に会議 | 2026-12-07 09:00 | every 1 months from 2026-11-18 on 1mon at 09:00 | 会議
每月最后一个周五付钱 | 2026-11-27 09:00 | every 1 months from 2026-11-18 on -1fri at 09:00 | 付钱
每月第一个周一开会 | 2026-12-07 09:00 | every 1 months from 2026-11-18 on 1mon at 09:00 | 开会
1个月后喝茶 | 2026-12-18 10:15:20 | | 喝茶
1月7日8点 | 2027-01-07 08:00 |  |
tomorrow half a cake | 2026-11-19 09:00 | | half a cake
tomorrow half the rent | 2026-11-19 09:00 | | half the rent
tomorrow about one egg | 2026-11-19 09:00 | | about one egg
cada fin de semana a las 10 x | 2026-11-21 10:00 | every 1 weeks from 2026-11-18 on sat,sun at 10:00 | x
chaque week-end à 10h x | 2026-11-21 10:00 | every 1 weeks from 2026-11-18 on sat,sun at 10:00 | x
in 20 minutes sharp tea | 2026-11-18 10:35:20 | | tea
毎年1月1日に挨拶 | 2027-01-01 09:00 | every 1 years from 2026-01-01 at 09:00 | 挨拶
at 4 in the morning feed | 2026-11-19 04:00 | | feed
tomorrow from 19:00 dinner | 2026-11-19 19:00 | | dinner
from tomorrow 9:00 pills | 2026-11-19 09:00 | | pills
from tomorrow every day at 9 pills | 2026-11-19 09:00 | every 1 days from 2026-11-19 at 09:00 | pills
starting monday every day at 9 pills | 2026-11-23 09:00 | every 1 days from 2026-11-23 at 09:00 | pills
starting on 1 December every day at 8 pills | 2026-12-01 08:00 | every 1 days from 2026-12-01 at 08:00 | pills
every day at 9 starting tomorrow pills | 2026-11-19 09:00 | every 1 days from 2026-11-19 at 09:00 | pills
every couple of hours pills | 2026-11-18 12:15:20 | every 120 minutes from 2026-11-18T11:15:20+00:00 | pills
in a week or so call | 2026-11-25 10:15:20 | | call
tomorrow at quarter to one lunch | 2026-11-19 12:45 | | lunch
morgen um eins essen | 2026-11-19 13:00 | | essen
morgen um halb eins essen | 2026-11-19 12:30 | | essen
morgen um viertel vor 1 essen | 2026-11-19 12:45 | | essen
demain à une heure moins le quart manger | 2026-11-19 12:45 | | manger
domani all'una pranzo | 2026-11-19 13:00 | | pranzo
domani all'una e mezza pranzo | 2026-11-19 13:30 | | pranzo
amanhã à uma almoço | 2026-11-19 13:00 | | almoço
amanhã à uma hora almoço | 2026-11-19 13:00 | | almoço
amanhã a uma amiga | 2026-11-19 09:00 | | a uma amiga
tomorrow at a friend's party | 2026-11-19 09:00 | | at a friend's party
morgen um eine Verlängerung bitten | 2026-11-19 09:00 | | um eine Verlängerung bitten
morgen um ein Uhr anrufen | 2026-11-19 13:00 | | anrufen
demain à une réunion | 2026-11-19 09:00 | | à une réunion
demain à une heure partir | 2026-11-19 13:00 | | partir
mañana a la una comer | 2026-11-19 13:00 | | comer
mañana a una amiga llamar | 2026-11-19 09:00 | | a una amiga llamar
à une heure du matin partir | 2026-11-19 01:00 | | partir
amanhã à uma da tarde almoço | 2026-11-19 13:00 | | almoço
tomorrow at one lunch | 2026-11-19 13:00 | | lunch
tomorrow 555-1234 call | 2026-11-19 09:00 | | 555-1234 call
every day at 9 for mum pills | 2026-11-19 09:00 | every 1 days from 2026-11-18 at 09:00 | for mum pills
下午一点开会 | 2026-11-18 13:00 | | 开会
明天一点开会 | 2026-11-19 13:00 | | 开会
at 9 time for tea | 2026-11-19 09:00 | | time for tea
in 1 Minute Tee | 2026-11-18 10:16:20 | | Tee
morgen 8 Uhr dreißig los | 2026-11-19 08:30 | | los
morgen um acht Uhr dreißig los | 2026-11-19 08:30 | | los
um acht dreißig los | 2026-11-19 08:30 | | los
um neun Uhr fünfzehn los | 2026-11-19 09:15 | | los
demain à huit heures trente partir | 2026-11-19 08:30 | | partir
demain à huit heures dix partir | 2026-11-19 08:10 | | partir
a las ocho treinta salir | 2026-11-19 08:30 | | salir
mañana a las ocho y diez salir | 2026-11-19 08:10 | | salir
alle otto e trenta uscire | 2026-11-19 08:30 | | uscire
alle otto e dieci uscire | 2026-11-19 08:10 | | uscire
às oito e trinta sair | 2026-11-19 08:30 | | sair
às oito e dez sair | 2026-11-19 08:10 | | sair
в восемь тридцать выходим | 2026-11-19 08:30 | | выходим
завтра в восемь тридцать выходим | 2026-11-19 08:30 | | выходим
завтра в восемь утра выходим | 2026-11-19 08:00 | | выходим
八点十分出发 | 2026-11-19 08:10 | | 出发
八点零五分出发 | 2026-11-19 08:05 | | 出发
明天八点零五出发 | 2026-11-19 08:05 | | 出发
明天两点出发 | 2026-11-19 14:00 | | 出发
明天十二点出发 | 2026-11-19 12:00 | | 出发
여덟 시에 출발 | 2026-11-19 08:00 | | 출발
내일 여덟 시에 출발 | 2026-11-19 08:00 | | 출발
내일 오후 두 시에 출발 | 2026-11-19 14:00 | | 출발
five minutes to nine call | 2026-11-19 08:55 | | call
ten minutes past eight call | 2026-11-19 08:10 | | call
every day at 8 and 8:30 pills | 2026-11-19 08:00 | every 1 days from 2026-11-18 at 08:00,08:30 | pills
every 2 weeks starting 1 December bins | 2026-12-01 09:00 | every 2 weeks from 2026-12-01 on tue at 09:00 | bins
every 2 weeks from friday bins | 2026-11-20 09:00 | every 2 weeks from 2026-11-20 on fri at 09:00 | bins
every month on the last day rent | 2026-11-30 09:00 | every 1 months from 2026-11-18 on -1 at 09:00 | rent
every month on the 31st rent | 2026-11-30 09:00 | every 1 months from 2026-11-18 on 31 at 09:00 | rent
every 3 months on the 15th tax | 2026-12-15 09:00 | every 3 months from 2026-12-15 on 15 at 09:00 | tax
every 6 weeks on monday hair | 2026-11-23 09:00 | every 6 weeks from 2026-11-23 on mon at 09:00 | hair
on monday the 23rd at 9 call | 2026-11-23 09:00 | | call
monday 23 november at 9 call | 2026-11-23 09:00 | | call
tuesday 24.11. 9:00 call | 2026-11-24 09:00 | | call
11/24/2026 call | 2026-11-24 09:00 | | call
nov 24th, 9am call | 2026-11-24 09:00 | | call
the 24th of november at nine call | 2026-11-24 09:00 | | call
the 24th at nine call | 2026-11-24 09:00 | | call
at nine on the 24th call | 2026-11-24 09:00 | | call
24th call | 2026-11-24 09:00 | | call
Sunday next week call | 2026-11-29 09:00 | | call
tomorrow night call | 2026-11-19 21:00 | | call
tonight at 12 call | 2026-11-19 00:00 | | call
tonight at 12:30 call | 2026-11-19 00:30 | | call
tonight at 1am call | 2026-11-19 01:00 | | call
0:00 call | 2026-11-19 00:00 | | call
at 00:30 call | 2026-11-19 00:30 | | call
at midnight tomorrow call | 2026-11-19 00:00 | | call
midnight tonight call | 2026-11-19 00:00 | | call
noon today call | 2026-11-18 12:00 | | call
today at noon call | 2026-11-18 12:00 | | call
8時5分に出発 | 2026-11-19 08:05 | | 出発
明天八点二十五分出发 | 2026-11-19 08:25 | | 出发
明天八点二十五出发 | 2026-11-19 08:25 | | 出发
一小时二十五分钟后出发 | 2026-11-18 11:40:20 | | 出发
二十五分钟后出发 | 2026-11-18 10:40:20 | | 出发
한 시간 후에 출발 | 2026-11-18 11:15:20 | | 출발
두 시간 후에 출발 | 2026-11-18 12:15:20 | | 출발
"""

REFUSED = """\
tomorrow at 8 week review
at ten to two lunch
tomorrow at ten to one lunch
domani alle 20 ora di cena
mañana a las 8 hora de comer
in three quarters of an hour check the dough
nightly at 11 backup
at 9 and again at 10 drink
every hour from 9 to 5 stand up
sometime next week call Eva
in several hours call Eva
late tonight call Eva
in the next hour call Eva
mid December call Eva
next spring call Eva
three days after christmas call Eva
every other day except weekends run
tomorrow at 9 or 10 call Eva
tomorrow 8 sharp call Eva
2 days after 24 December return gifts
from 24 to 26 December holidays
on the 5th and the 20th pay
every 5th and 20th pay
in minus 5 minutes tea
in 0 hours tea
tomorow at 9 call
wednsday at 9 call
half past call Eva
in einer Dreiviertelstunde Teig prüfen
morgen in einer Woche anrufen
nächsten Monat am 15. zahlen
Anfang Januar anrufen
kurz vor 9 anrufen
morgen ab 9 anrufen
morgen 9 bis 10 Uhr anrufen
an Wochentagen um 7 aufstehen
zweimal täglich Tabletten
um drei viertel neun anrufen
dans une quinzaine appeler
avant midi appeler
fin janvier appeler
du lundi au vendredi à 7h réveil
entre 9h et 10h appeler
demain à 9h ou 10h appeler
deux fois par jour pilules
en tres cuartos de hora masa
sobre las 9 llamar
a finales de enero llamar
todos los días salvo domingos correr
de 9 a 10 llamar
mañana a las 9 o 10 llamar
quince días después llamar
l'ultimo venerdì del mese pagare
a fine gennaio chiamare
tra le 9 e le 10 chiamare
domani alle 9 o alle 10 chiamare
na última sexta do mês pagar
antes do meio-dia ligar
entre as 9 e as 10 ligar
duas vezes por dia remédio
в четверг без четверти восемь стекло
до полудня позвонить
между 9 и 10 позвонить
завтра в 9 или 10 позвонить
через полтора часа выйти
каждый день, кроме выходных, бег
大约9点打电话
一月底打电话
9点到10点打电话
一天两次吃药
下个月第一个周一开会
除周末外每天7点起床
每隔两天浇花
明天差五分九点打电话
半个月后打电话
3日おきに水やり
1月末に電話
月曜から金曜まで7時に起きる
明日9時か10時に電話
1日2回薬
あさっての正午に電話
再来週の月曜に会議
9시쯤 전화
1월 말에 전화
9시부터 10시까지 회의
하루에 두 번 약
다음 달 1일에 월세
morgen om half acht hardlopen
over 25 minuten pannenkoek
elke maandag om 8 uur vuilnis
tussen 9 en 10 bellen
elke dag behalve zondag rennen
maandag of dinsdag bellen
za 25 minut naleśnik
w poniedziałek o 8:00 śmieci
codziennie o 8 leki
do piątku oddać książkę
25 dakika sonra çevir
her pazartesi 8:00 çöp
9 ile 10 arasında ara
غدا الساعة 9 اتصل
الساعة 18:45 القط
يوم الجمعة الساعة 10 طبيب
٩:٠٠ اتصل
25 मिनट में पलटो
हर सोमवार 8 बजे कचरा
शुक्रवार तक फोन
every day and a half x
morgen ab 14 anrufen
завтра в час позвонить
每天两次吃药
毎日2回薬
매월 첫째 월요일에 회의
매일 두 번 약
매일 2번 약
every day twice pills
every day 2 times pills
every day two times pills
jeden Tag zweimal Tabletten
tous les jours deux fois pilules
2026年喝茶
demain ou après-demain x
morgen om 9 bellen
every day, except sunday, run
毎月第1月曜日に会議
weekly twice report
tomorrow at half eight dinner
tomorrow 7-8 dinner
tomorrow 7pm to 8pm dinner
every day at 9 for a week pills
every day for 5 days at 9 pills
for 10 days every day at 9 pills
every 2 days at 9 until sunday pills
3 times every day pills
every 4-6 hours pills
every 4 to 6 hours pills
every few hours pills
every so often pills
every now and then pills
every day at sunrise pills
every morning and evening pills
every morning and every evening pills
every day in the morning and in the evening pills
mornings at 8 pills
in the mornings pills
tomorrow morning or evening pills
tomorrow morning and evening pills
jeden Morgen und Abend Tabletten
jeden Tag morgens und abends Tabletten
matin et soir pilules
chaque matin et soir pilules
cada mañana y noche pastillas
утром и вечером таблетки
каждое утро и вечер таблетки
每天早上和晚上吃药
每天早晚吃药
毎朝と毎晩薬
매일 아침 저녁 약
every monday or tuesday bins
every monday, or tuesday if it rains, bins
in a month or two call
in an hour or two call
in one or two hours call
in ein bis zwei Stunden anrufen
in ein, zwei Stunden anrufen
in ein paar Stunden anrufen
in 2, 3 Tagen anrufen
dans 2 ou 3 jours appeler
dans deux, trois jours appeler
en dos o tres días llamar
tra due o tre giorni chiamare
em dois ou três dias ligar
через два-три дня позвонить
через час-полтора позвонить
两三天后打电话
2、3日後に電話
2~3일 후에 전화
2-3天后打电话
十来分钟后打电话
十几分钟后打电话
next monday or tuesday call
monday after next call
the monday after next call
the friday after tomorrow call
friday in two weeks call
two weeks on friday call
a fortnight on monday call
tomorrow week call
tuesday fortnight call
first thing monday call
last thing tonight call
close of business friday call
eod friday call
EOD call
COB tomorrow call
asap call
soon call
now call
right now call
immediately call
later call
never call
noonish tomorrow call
every day at 9 for 5 days pills
jeden Tag um 9 für 5 Tage Tabletten
every day at 8 in the morning and 8 in the evening pills
every day at 8am and in the evening pills
8時10分前に出発
8時5分前に出発
8시 10분 전에 출발
ten to nine call
at ten past call
at eight ten call
at eight oh five call
on the hour drink
every hour on the hour drink
every hour at quarter past drink
every hour at :15 drink
every hour at 15 past drink
every leap year x
every christmas call
every year in march check
every march check
in march check
in 2027 check
monday 24 november at 9 call
on 24.11 call
24.11 call
on 24-11-2026 call
2026.11.24 call
week after next monday call
at 24:30 call
at 25 call
every monday in march check
friday in march call
at nine and at ten call
"""


@table_test("row", UNDERSTOOD.splitlines())
def test_what_people_write_is_understood_as_meant(row: str) -> None:
    check_understood(row)


@table_test("phrase", REFUSED.splitlines())
def test_what_is_only_half_understood_is_refused_with_an_example(phrase: str) -> None:
    check_refused(phrase)
