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
        "lives i_live we_live resides works_at works_for works_as prefers i_prefer costs weighs studies banks"
        " moved_to",
        "now nowadays currently switched changed",
        "my our i_live we_live i_prefer",
        "has have rides drives wears uses needs takes owns plays earns",
    ),
    "de": (
        "ist sind bin lautet liegt steht beträgt heißt heiße",
        "wohnt wohne wohnen lebt lebe leben arbeitet_bei arbeitet_als arbeite_bei arbeite_als"
        " kostet wiegt studiert",
        "jetzt nun inzwischen derzeit aktuell künftig neuerdings",
        "mein meine unser unsere wohne wohnen lebe arbeite_bei arbeite_als",
        "hat habe haben fährt fahre trägt braucht nutzt benutzt spielt",
    ),
    "fr": (
        "est sont suis appelle",
        "habite habitent vit travaille_chez travaille_comme travaille_à préfère coûte pèse étudie",
        "maintenant désormais actuellement",
        "mon ma mes notre nos",
        "utilise conduit possède joue",
    ),
    "es": (
        "es soy está están llama",
        "vive vivo vivimos trabaja trabajo prefiere cuesta pesa estudia",
        "ahora actualmente",
        "mi mis nuestro nuestra vivo vivimos trabajo",
        "tiene tengo conduce lleva calza necesita juega",
    ),
    "pt": (
        "é são sou está estão chama",
        "mora moro moramos vive trabalha trabalho prefere custa pesa estuda",
        "agora atualmente",
        "meu minha nosso nossa moro moramos trabalho",
        "tem tenho calça precisa joga",
    ),
    "it": (
        "è sono chiama",
        "vive vivo abita abito abitiamo lavora lavoro preferisce costa pesa studia",
        "ora adesso attualmente",
        "mio mia nostro nostra vivo abito abitiamo lavoro",
        "ha ho guida gioca",
    ),
    "nl": (
        "is heet",
        "woont woon wonen leeft werkt kost weegt studeert",
        "nu tegenwoordig momenteel voortaan",
        "mijn onze woon wonen",
        "heeft heb rijdt draagt gebruikt",
    ),
    "sv": (
        "är heter",
        "bor arbetar jobbar kostar väger studerar föredrar",
        "nu numera",
        "min mitt vår vårt",
        "har kör använder",
    ),
    "pl": (
        "jest są jestem",
        "mieszka mieszkam mieszkamy pracuje pracuję kosztuje waży woli studiuje",
        "teraz obecnie",
        "mój moja moje nasz nasza nasze mieszkam mieszkamy pracuję",
        "używa nosi",
    ),
    "tr": (
        "",
        "yaşıyor yaşıyorum oturuyor oturuyorum çalışıyor çalışıyorum",
        "şimdi artık",
        "benim bizim yaşıyorum oturuyorum çalışıyorum",
        "kullanıyor sürüyor giyiyor",
    ),
    "ru": (
        "это зовут",
        "живёт живет живу живём живем работает работаю стоит весит предпочитает находится лежит учится стоят",
        "теперь сейчас",
        "мой моя моё мое мои наш наша наше живу живём живем работаю",
        "носит",
    ),
    "uk": (
        "це є звати",
        "живе живу живемо працює працюю коштує важить навчається",
        "тепер зараз",
        "мій моя моє наш наша наше живу живемо працюю",
        "носить",
    ),
    "ar": (
        "هو هي اسمه اسمها",
        "يسكن تسكن أسكن يعيش تعيش أعيش يعمل تعمل أعمل يفضل تفضل يدرس تدرس",
        "",
        "أسكن أعيش أعمل",
    ),
    "hi": ("है हैं हूँ हूं", "रहता रहती रहते", "", "मेरा मेरी मेरे हमारा हमारी हमारे"),
    "zh": ("是 在 为 為 叫 姓", "住 住在 住于 工作", "", "的"),
    "ja": ("です だ である", "住んでいる 住んでいます 住む 働いている 働いています 通っている", "は", "の"),
    "ko": (
        "입니다 이다 이야 예요 이에요",
        "살아 산다 살고 살아요 삽니다 일해 일한다 다녀 다닌다",
        "은 는",
        "의 내 제",
    ),
    "th": ("คือ เป็น ชื่อ", "อยู่ อยู่ที่ อาศัยอยู่ ทำงาน", "", "ของ ฉัน ผม"),
}
"""By language: copulas, verbs, lasting words and own words; two words that belong together are joined by `_`."""

_SLOTS = """phone phone's mobile telephone number email e-mail address password passcode pin code wifi wi-fi
    wlan bank landlord landlady doctor gp dentist paediatrician pediatrician therapist hairdresser
    teacher boss manager employer job rent salary size favourite favorite cafe club years old children kids key
    username insurance telefon telefonnummer handynummer nummer adresse anschrift mail passwort kennwort
    kontonummer iban vermieter vermieterin arzt ärztin hausarzt hausärztin zahnarzt zahnärztin kinderarzt lehrer
    lehrerin klassenlehrerin chef chefin arbeitgeber beruf miete gehalt größe schuhgröße lieblingscafé lieblings
    jahre alt kinder schlüssel verein versicherung steuerberater steuerberaterin téléphone numéro passe banque
    médecin dentiste propriétaire professeur patron métier loyer salaire taille pointure favori préféré
    préférée ans enfants clé teléfono móvil número correo dirección contraseña clave banco médico médica
    dentista casero maestra maestro jefe jefa trabajo alquiler sueldo talla favorito favorita años hijos llave
    telefone celular endereço senha senhorio professor professora chefe emprego aluguel renda salário
    tamanho anos filhos chave telefono cellulare numero indirizzo banca medico padrone capo lavoro affitto
    stipendio taglia preferito preferita anni figli chiave telefoonnummer adres wachtwoord huisbaas
    huisarts tandarts leraar juf baas baan huur salaris maat lievelings jaar kinderen sleutel adress lösenord
    hyresvärd läkare tandläkare lärare jobb hyra lön storlek favorit år barn nyckel numer telefonu hasło lekarz
    dentysta właściciel nauczyciel nauczycielka szef praca czynsz pensja rozmiar ulubiona ulubiony lat dzieci
    klucz numaram numarası adresim adresi şifre şifresi parola banka doktorum doktoru dişçim öğretmeni patronum
    iş kira maaş beden yaşında çocuğu anahtar телефон телефона номер адрес почта пароль банк врач
    стоматолог хозяин учитель учительница начальник работа аренда зарплата размер любимый любимая любимое лет
    детей ключ телефону адреса пошта лікар вчитель вчителька робота оренда розмір улюблений улюблена років дітей
    هاتفي هاتف رقم عنوان عنواني بريد كلمة بنك طبيب طبيبي وظيفة إيجار الإيجار مقاس راتب مفتاح المفضل المفضلة फ़ोन
    फोन मोबाइल नंबर पता पासवर्ड ईमेल बैंक डॉक्टर डेंटिस्ट टीचर शिक्षक मकान-मालिक नौकरी किराया वेतन साइज़ चाबी
    पसंदीदा साल बच्चे"""
_SLOTS_BY_LETTER = """电话 電話 手机 号码 號碼 番号 地址 住址 密码 密碼 邮箱 信箱 银行 銀行 账号 房东 房東 医生
    醫生 牙医 老师 老師 老板 工作 职业 房租 工资 尺码 鞋码 最喜欢 最喜歡 钥匙 岁 住所 暗証 パスワード メール
    医者 歯医者 先生 大家 仕事 家賃 給料 サイズ 一番好き 鍵 歳 전화 번호 주소 비밀번호 이메일 은행 의사 치과
    선생님 집주인 직업 월세 월급 사이즈 가장 열쇠 เบอร์ โทร ที่อยู่ รหัส อีเมล ธนาคาร หมอ ครู เจ้าของบ้าน
    ค่าเช่า เงินเดือน ขนาด กุญแจ"""
_PASSING = """appointment appointments order booking reservation tracking invoice parking flight ticket gift
    party lunch dinner meeting temperature pressure next target visit termin arzttermin bestellung buchung
    rechnung sendung sendungsnummer bestellnummer rechnungsnummer flug geschenk nächster nächste rendez-vous
    commande réservation facture colis vol prochain prochaine cita pedido reserva factura vuelo próxima próximo
    consulta encomenda fatura voo appuntamento ordine prenotazione fattura volo prossimo prossima afspraak
    bestelling boeking factuur vlucht besök bokning beställning faktura flyg wizyta zamówienie rezerwacja lot
    randevu sipariş rezervasyon uçuş приём прием заказ заказа бронь бронирования счёт-фактура рейс запис
    замовлення бронювання موعد طلب حجز فاتورة رحلة अपॉइंटमेंट ऑर्डर बुकिंग बिल उड़ान"""
_PASSING_BY_LETTER = """预约 預約 订单 訂單 预订 航班 发票 快递 停车 体温 血压 予約 注文 便 請求 血圧 예약 주문
    항공 송장 체온 혈압 นัด คำสั่งซื้อ การจอง เที่ยวบิน พัสดุ"""
_GENITIVES = "of for von für de des del du di da do van voor av för для"
_ARTICLES = "a an the ein eine einen einem un une una uno um uma het een en ett"
_DAYS = """today tonight tomorrow yesterday heute morgen gestern aujourd'hui demain hier hoy mañana ayer hoje amanhã
    ontem oggi domani ieri vandaag gisteren idag imorgon сегодня завтра вчера сьогодні вчора dziś jutro wczoraj bugün
    yarın dün आज कल اليوم غدا أمس 今天 明天 昨天 今日 明日 昨日 오늘 내일 어제 วันนี้ พรุ่งนี้ เมื่อวาน"""

SLOTS = frozenset(_SLOTS.split())
"""Words for what a person or thing has one of, for long: "phone", "doctor"; not "sister", of whom there may be two."""

SLOTS_BY_LETTER = tuple(_SLOTS_BY_LETTER.split())

PASSING = frozenset(_PASSING.split())
"""Words for what is soon over: the next order has another number, and the one before is still true."""

PASSING_BY_LETTER = tuple(_PASSING_BY_LETTER.split())

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
