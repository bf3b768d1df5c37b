"""A hundred notes of a made-up person, a question about each, and messages that no note answers."""

from typing import NamedTuple


class Fact(NamedTuple):
    """A line of a note, and a message that asks for it."""

    note: str
    """Path of the note that has the line."""
    line: str
    question: str
    answer: str
    """What an answer has to contain, whatever its case; alternatives are separated by `|`."""


FACTS = tuple(
    Fact(*each)
    for each in (
        # people and family
        ("people/ada.md", "My sister Ada lives in Lisbon.", "Where does Ada live these days?", "Lisbon"),
        (
            "people/ada.md",
            "Ada's birthday is on 9 May.",
            "When is my sister's birthday again?",
            "9 May|May 9",
        ),
        ("people/ada.md", "Ada is allergic to walnuts.", "Is there anything Ada can't eat?", "walnut"),
        ("people/ada.md", "Ada's cat is called Miso.", "What's the name of Ada's cat?", "Miso"),
        (
            "people/ben.md",
            "Ben works as a paramedic in Leeds.",
            "What does Ben do for a living?",
            "paramedic",
        ),
        (
            "people/ben.md",
            "Ben's shoe size is 44.",
            "I want to get Ben sneakers, what's his shoe size?",
            "44",
        ),
        ("people/ben.md", "Ben plays the cello on Thursdays.", "Which instrument does Ben play?", "cello"),
        (
            "people/grandma.md",
            "Grandma's phone number is 0171 5550193.",
            "What's grandma's number?",
            "5550193",
        ),
        (
            "people/grandma.md",
            "Grandma takes her tea with honey, no milk.",
            "How does grandma drink her tea?",
            "honey",
        ),
        (
            "people/grandma.md",
            "Grandma's neighbour with the spare key is Mrs Petrov.",
            "Who has the spare key for grandma's flat?",
            "Petrov",
        ),
        (
            "people/carlos.md",
            "Carlos moved to Rotterdam in 2022.",
            "Which city did Carlos move to?",
            "Rotterdam",
        ),
        (
            "people/carlos.md",
            "Carlos owes me 120 euros for the concert tickets.",
            "How much does Carlos still owe me?",
            "120",
        ),
        ("people/mei.md", "Mei is vegetarian.", "Can I serve Mei a steak on Friday?", "vegetarian"),
        (
            "people/mei.md",
            "Mei's daughter is called Lina and is in second grade.",
            "What's the name of Mei's daughter?",
            "Lina",
        ),
        ("people/tom.md", "Tom recommended the book Piranesi.", "Which book did Tom recommend?", "Piranesi"),
        (
            "people/tom.md",
            "Tom's wedding is on 12 September in Bath.",
            "When is Tom's wedding?",
            "12 September|September 12",
        ),
        # home
        ("home/boiler.md", "The boiler's service code is 4471.", "What's the boiler's service code?", "4471"),
        (
            "home/boiler.md",
            "The boiler was last serviced on 3 November by Hargreaves.",
            "Who serviced the boiler last time?",
            "Hargreaves",
        ),
        (
            "home/wifi.md",
            "The guest wifi password is bluebell-42.",
            "A friend is here, what's the guest wifi password?",
            "bluebell-42",
        ),
        ("home/wifi.md", "The router stands behind the bookshelf.", "Where is the router?", "bookshelf"),
        (
            "home/paint.md",
            "The living room wall is painted in Sea Salt 2137.",
            "Which paint did we use in the living room?",
            "Sea Salt|2137",
        ),
        (
            "home/paint.md",
            "The front door needs exterior gloss, colour RAL 5011.",
            "What colour is the front door paint?",
            "5011",
        ),
        (
            "home/garden.md",
            "The tomatoes were planted on 20 April.",
            "When did I plant the tomatoes?",
            "20 April|April 20",
        ),
        (
            "home/garden.md",
            "The lawn mower takes two-stroke oil at 1:50.",
            "What mix of oil does the lawn mower need?",
            "1:50",
        ),
        (
            "home/insurance.md",
            "The home insurance is with Aviva, policy HX-88213.",
            "What's our home insurance policy number?",
            "88213",
        ),
        (
            "home/insurance.md",
            "The insurance covers bicycles up to 2,500 euros.",
            "Up to what value does the insurance cover bicycles?",
            "2,500|2500",
        ),
        (
            "home/landlord.md",
            "The landlord is Mr Osei; he prefers text messages.",
            "What's the name of our landlord?",
            "Osei",
        ),
        (
            "home/landlord.md",
            "The rent is 1,140 euros and due on the third.",
            "How much rent do we pay?",
            "1,140|1140",
        ),
        (
            "home/appliances.md",
            "The washing machine's filter is behind the lower left flap.",
            "Where do I find the filter of the washing machine?",
            "flap",
        ),
        (
            "home/appliances.md",
            "The dishwasher shows E15 when water is in the base tray.",
            "What does E15 on the dishwasher mean?",
            "tray|water",
        ),
        # health
        (
            "health.md",
            "Dr Okafor is my dentist, the practice is on Mill Lane.",
            "Who is my dentist?",
            "Okafor",
        ),
        (
            "health.md",
            "My next eye test is in February at Brightwell.",
            "Where is my next eye test?",
            "Brightwell",
        ),
        ("health.md", "My blood type is B negative.", "What's my blood type?", "B neg"),
        (
            "health.md",
            "I take 50 micrograms of levothyroxine every morning.",
            "How much levothyroxine do I take?",
            "50",
        ),
        (
            "health.md",
            "The physiotherapist told me to do calf raises twice a day.",
            "What exercise did the physiotherapist give me?",
            "calf",
        ),
        ("health.md", "My last tetanus shot was in 2019.", "When did I last get a tetanus shot?", "2019"),
        # work
        (
            "work/project-heron.md",
            "Project Heron launches on 4 June.",
            "When do we launch Heron?",
            "4 June|June 4",
        ),
        (
            "work/project-heron.md",
            "Heron's budget is 85,000 pounds.",
            "What's the budget for Heron?",
            "85,000|85000",
        ),
        (
            "work/project-heron.md",
            "Priya leads the design of Heron.",
            "Who leads the design of Heron?",
            "Priya",
        ),
        (
            "work/project-heron.md",
            "We decided to drop the Windows version of Heron because nobody tested it.",
            "Why did we drop the Windows version?",
            "test",
        ),
        (
            "work/team.md",
            "Jonas is on parental leave until August.",
            "Until when is Jonas on parental leave?",
            "August",
        ),
        (
            "work/team.md",
            "The stand-up is at 9:45 in room Juniper.",
            "In which room is the stand-up?",
            "Juniper",
        ),
        (
            "work/team.md",
            "The contractor's daily rate is 640 euros.",
            "What daily rate does the contractor charge?",
            "640",
        ),
        (
            "work/tools.md",
            "The staging server is called merlin.",
            "What's the staging server called?",
            "merlin",
        ),
        (
            "work/tools.md",
            "The label printer is in the basement, next to the lockers.",
            "Where's the label printer?",
            "basement",
        ),
        (
            "work/travel.md",
            "The hotel in Ghent was the Monasterium, quiet and close to the office.",
            "Which hotel did I stay at in Ghent?",
            "Monasterium",
        ),
        (
            "work/travel.md",
            "My frequent flyer number is KX 9920 417.",
            "What's my frequent flyer number?",
            "9920",
        ),
        (
            "work/review.md",
            "My manager wants me to present at one conference this year.",
            "What does my manager want me to present at this year?",
            "conference",
        ),
        # car, bike, money
        (
            "car.md",
            "The car's winter tyres are stored at Kowalski's garage.",
            "Where are my winter tyres stored?",
            "Kowalski",
        ),
        ("car.md", "The car takes 5W-30 oil.", "Which oil does the car take?", "5W-30"),
        ("car.md", "The MOT is due in October.", "When is the MOT due?", "October"),
        ("car.md", "I park in space 27, level -2.", "What's the number of my parking space?", "27"),
        (
            "bike.md",
            "The bike lock's combination is 8305.",
            "I forgot the combination of the bike lock!",
            "8305",
        ),
        ("bike.md", "The bike's frame number is WTU 204 B.", "What's the frame number of my bike?", "204"),
        (
            "money.md",
            "My savings account is with Triodos at 2.6 percent.",
            "What interest does my savings account pay?",
            "2.6",
        ),
        (
            "money.md",
            "The tax adviser is Ms Lindqvist; the deadline is 31 July.",
            "Who is my tax adviser?",
            "Lindqvist",
        ),
        (
            "money.md",
            "The gym membership ends on 30 June and must be cancelled a month before.",
            "When does the gym membership end?",
            "30 June|June 30",
        ),
        # plans, tastes, travel
        (
            "plans/iceland.md",
            "We fly to Iceland on 18 August from Manchester.",
            "When do we fly to Iceland?",
            "18 August|August 18",
        ),
        (
            "plans/iceland.md",
            "The rental car in Iceland is booked with Lotus, reference 71BQ.",
            "With whom is the rental car in Iceland booked?",
            "Lotus",
        ),
        (
            "plans/iceland.md",
            "We want to see the puffins at Dyrholaey.",
            "What did we want to see at Dyrholaey?",
            "puffin",
        ),
        (
            "plans/kitchen.md",
            "The new kitchen will cost 9,800 euros.",
            "How expensive will the new kitchen be?",
            "9,800|9800",
        ),
        (
            "plans/kitchen.md",
            "The carpenter can start in the first week of March.",
            "When can the carpenter start?",
            "March",
        ),
        (
            "recipes.md",
            "Grandpa's pancakes need buttermilk and a pinch of nutmeg.",
            "Which spice goes into grandpa's pancakes?",
            "nutmeg",
        ),
        (
            "recipes.md",
            "The sourdough rests for 14 hours.",
            "How long does the sourdough have to rest?",
            "14",
        ),
        (
            "tastes.md",
            "My favourite restaurant is Lokanta on Canal Street.",
            "What's my favourite restaurant?",
            "Lokanta",
        ),
        ("tastes.md", "I don't like coriander.", "Which herb don't I like?", "coriander"),
        (
            "tastes.md",
            "The wine that everybody liked at New Year was a Grüner Veltliner.",
            "Which wine did everybody like at New Year?",
            "Veltliner",
        ),
        (
            "2026-02-11.md",
            "Saw the film Perfect Days with Mei; loved it.",
            "What film did I see with Mei?",
            "Perfect Days",
        ),
        (
            "2026-02-14.md",
            "The vet said Rufus must lose two kilos.",
            "How much weight does Rufus have to lose?",
            "two|2",
        ),
        ("2026-03-02.md", "Returned the drill to Mr Nowak.", "Who did I give the drill back to?", "Nowak"),
        # German
        ("familie.md", "Omas Hausarzt heißt Dr. Brandl.", "Wie heißt Omas Hausarzt?", "Brandl"),
        (
            "familie.md",
            "Lukas hat am 23. Oktober Geburtstag.",
            "Wann hat Lukas Geburtstag?",
            "23. Oktober|23.10",
        ),
        ("familie.md", "Tante Erika wohnt in Graz.", "Wo wohnt eigentlich Tante Erika?", "Graz"),
        (
            "haushalt.md",
            "Der Stromzähler hat die Nummer 60441872.",
            "Welche Nummer hat unser Stromzähler?",
            "60441872",
        ),
        (
            "haushalt.md",
            "Die Biotonne wird dienstags geleert.",
            "An welchem Tag wird die Biotonne geleert?",
            "dienstag",
        ),
        (
            "haushalt.md",
            "Der Ersatzschlüssel liegt bei Familie Yilmaz.",
            "Bei wem liegt der Ersatzschlüssel?",
            "Yilmaz",
        ),
        (
            "haushalt.md",
            "Die Heizung wurde von der Firma Seidl eingebaut.",
            "Welche Firma hat die Heizung eingebaut?",
            "Seidl",
        ),
        (
            "verein.md",
            "Der Kassenwart im Verein ist Herr Albrecht.",
            "Wer ist der Kassenwart im Verein?",
            "Albrecht",
        ),
        ("verein.md", "Die Hallenmiete beträgt 35 Euro pro Stunde.", "Wie hoch ist die Hallenmiete?", "35"),
        (
            "urlaub.md",
            "Die Ferienwohnung auf Rügen kostet 94 Euro die Nacht.",
            "Was kostet die Ferienwohnung auf Rügen?",
            "94",
        ),
        (
            "urlaub.md",
            "Die Fähre nach Bornholm geht um 11:50 Uhr.",
            "Um wie viel Uhr geht die Fähre nach Bornholm?",
            "11:50|11.50",
        ),
        # French, Spanish
        (
            "famille.md",
            "Le médecin de Camille s'appelle docteur Vasseur.",
            "Comment s'appelle le médecin de Camille ?",
            "Vasseur",
        ),
        ("famille.md", "Papa est né le 17 janvier 1951.", "Quand papa est-il né ?", "17 janvier"),
        (
            "famille.md",
            "Le chien de Margaux s'appelle Praline.",
            "Comment s'appelle le chien de Margaux ?",
            "Praline",
        ),
        ("maison.md", "Le code du portail est 2906B.", "C'est quoi déjà le code du portail ?", "2906"),
        ("maison.md", "Le plombier s'appelle monsieur Giraud.", "Qui est notre plombier ?", "Giraud"),
        (
            "voyages.md",
            "Le train pour Nantes part de la voie 7.",
            "De quelle voie part le train pour Nantes ?",
            "7",
        ),
        ("familia.md", "La abuela Rosa vive en Salamanca.", "¿Dónde vive la abuela Rosa?", "Salamanca"),
        (
            "familia.md",
            "El profesor de guitarra de Hugo se llama Iván.",
            "¿Cómo se llama el profesor de guitarra de Hugo?",
            "Iván|Ivan",
        ),
        ("familia.md", "Marta es alérgica a la penicilina.", "¿A qué es alérgica Marta?", "penicilina"),
        (
            "casa.md",
            "El seguro del piso vence el 15 de noviembre.",
            "¿Cuándo vence el seguro del piso?",
            "15 de noviembre",
        ),
        ("casa.md", "La clave del trastero es 7718.", "¿Cuál es la clave del trastero?", "7718"),
        # Russian, Chinese, Japanese
        ("семья.md", "Дедушка родился в Самаре.", "Где родился дедушка?", "Самар"),
        ("семья.md", "Учительницу Маши зовут Ольга Сергеевна.", "Как зовут учительницу Маши?", "Ольга"),
        ("дом.md", "Код домофона 3816.", "Какой код домофона?", "3816"),
        ("家庭.md", "妈妈的生日是十月三日。", "妈妈的生日是哪天?", "十月三日|10月3日"),
        ("家庭.md", "小雨的老师姓陈。", "小雨的老师姓什么?", "陈"),
        ("家庭.md", "车位号码是B206。", "我们的车位号码是多少?", "B206"),
        ("メモ.md", "歯医者の予約は金曜日の三時です。", "歯医者の予約はいつですか?", "金曜"),
        ("メモ.md", "自転車の鍵は玄関の引き出しにあります。", "自転車の鍵はどこですか?", "引き出し"),
    )
)
"""One line each, in topic notes and daily logs as people keep them; the first `ENGLISH` ones in English."""

ENGLISH = 70

UNANSWERED = (
    "What's the capital of Mongolia?",
    "How do I boil an egg so that it's soft inside?",
    "Can you write me a short poem about autumn leaves?",
    "What's 17 percent of 2,350?",
    "How far is it from the earth to the moon?",
    "Explain photosynthesis to a ten-year-old.",
    "Translate 'see you tomorrow' into Italian, please.",
    "Who wrote the Brothers Karamazov?",
    "Which stretches help against a stiff neck?",
    "What's the difference between a virus and a bacterium?",
    "Give me five names for a podcast about chess.",
    "How do I undo the last commit in git?",
    "What time is it in Tokyo when it's noon here?",
    "What's a good present for a colleague who retires?",
    "How do I get red wine out of a carpet?",
    "Is it better to buy or to lease a laptop?",
    "What's my passport number?",
    "Where did I leave my umbrella?",
    "What's the name of Ben's wife?",
    "When is Carlos' birthday?",
    "Which school does Lukas go to?",
    "How much did the sofa cost?",
    "Who won the world cup in 1998?",
    "Suggest a playlist for a long run.",
    "Warum ist der Himmel blau?",
    "Wie schreibt man eine Kündigung?",
    "Was koche ich heute mit Zucchini und Reis?",
    "Wie hoch ist der Mount Everest?",
    "Pourquoi le ciel est-il bleu ?",
    "Quelle est la capitale de l'Australie ?",
    "¿Cuántos habitantes tiene Perú?",
    "¿Cómo se hace una tortilla de patatas?",
    "Сколько планет в Солнечной системе?",
    "Как сварить борщ?",
    "太阳系有几颗行星?",
    "怎么做红烧肉?",
    "富士山の高さは何メートルですか?",
    "Write a polite email that declines an invitation.",
    "What does 'serendipity' mean?",
    "How many grams are in an ounce?",
)
"""Questions and requests that none of the notes answers; some name people of the notes."""

SMALL_TALK = (
    "ok thanks",
    "Thanks a lot!",
    "Good morning",
    "good night, see you tomorrow",
    "haha, very funny",
    "yes please",
    "no, not now",
    "Go on",
    "That's great, well done.",
    "Hi, how are you?",
    "never mind",
    "What do you think?",
    "Can you say that in a shorter way?",
    "I'm so tired today.",
    "👍",
    "Danke dir!",
    "Guten Morgen",
    "Alles klar, passt.",
    "Merci beaucoup",
    "Bonjour, ça va ?",
    "Gracias",
    "Vale, perfecto",
    "Спасибо",
    "谢谢",
    "ありがとうございます",
)
"""Messages that hold nothing to search for."""
