"""Detect a day or an hour in a language whose times are not understood: half of it would be."""

import re

from bot.timeparse.ambiguity.check import Finding, MomentInLine
from memory.dates.folding import fold_letters

_SEARCHED_WORDS = 3
"""Words beside a time that may belong to it: "Tom på måndag 15:00"."""
_PHRASES = (
    # Dutch, the Scandinavian languages, Finnish
    "uur/om/vandaag/overmorgen/maandag/dinsdag/woensdag/donderdag/vrijdag/zaterdag/zondag/"
    "kl/i dag/idag/i morgon/imorgon/i morgen/imorgen/måndag/tisdag/onsdag/torsdag/fredag/lördag/söndag/mandag/"
    "tirsdag/lørdag/søndag/"
    "klo/tänään/huomenna/ylihuomenna/maanantaina/tiistaina/keskiviikkona/torstaina/perjantaina/lauantaina/"
    "sunnuntaina/"
    # Polish, Czech, Slovak, Ukrainian
    "jutro/pojutrze/poniedziałek/wtorek/środę/czwartek/piątek/sobotę/niedzielę/"
    "zítra/pozítří/pondělí/úterý/středu/čtvrtek/pátek/sobotu/neděli/zajtra/pozajtra/pondelok/utorok/stredu/"
    "štvrtok/piatok/nedeľu/"
    "сьогодні/післязавтра/понеділок/вівторок/середу/четвер/суботу/неділю/"
    # Turkish, Romanian, Hungarian, Greek
    "bugün/yarın/saat/pazartesi/çarşamba/perşembe/cumartesi/mâine/poimâine/miercuri/vineri/sâmbătă/duminică/"
    "holnap/holnapután/hétfőn/kedden/szerdán/csütörtökön/pénteken/szombaton/vasárnap/"
    "αύριο/μεθαύριο/δευτέρα/τρίτη/τετάρτη/πέμπτη/παρασκευή/σάββατο/κυριακή/"
    # Vietnamese, Indonesian
    "hôm nay/ngày mai/ngày kia/thứ hai/thứ ba/thứ tư/thứ năm/thứ sáu/thứ bảy/chủ nhật/"
    "besok/senin/selasa/rabu/kamis/jumat/sabtu/minggu/"
    # Arabic, Hebrew, Hindi
    "اليوم/غدا/الاثنين/الإثنين/الثلاثاء/الأربعاء/الخميس/الجمعة/السبت/الأحد/الساعة/היום/מחר/מחרתיים/"
    "आज/कल/परसों/सोमवार/मंगलवार/बुधवार/गुरुवार/शुक्रवार/शनिवार/रविवार/बजे"
)
_THAI = "วันนี้|พรุ่งนี้|มะรืน|วันจันทร์|วันอังคาร|วันพุธ|วันพฤหัส|วันศุกร์|วันเสาร์|วันอาทิตย์"
_DAY_OR_HOUR = re.compile(
    rf"(?<!\S)(?:{'|'.join(map(re.escape, fold_letters(_PHRASES).split('/')))})(?!\S)|{fold_letters(_THAI)}"
)


def follows(moment: MomentInLine) -> Finding:
    """Detect such a word after a time: "9:00 maandag bellen"."""
    text = moment.line.text[moment.line.tokens[moment.end - 1].end :]
    return _names_time(text.split(maxsplit=_SEARCHED_WORDS)[:_SEARCHED_WORDS])


def precedes(moment: MomentInLine) -> Finding:
    """Detect such a word before a time: "bel Tom maandag 9:00"."""
    text = moment.line.text[: moment.line.tokens[moment.begin].start]
    return _names_time(text.rsplit(maxsplit=_SEARCHED_WORDS)[-_SEARCHED_WORDS:])


def _names_time(words: list[str]) -> bool:
    beside = " ".join(word.strip(".,;:!?") for word in words)
    return _DAY_OR_HOUR.search(fold_letters(beside)) is not None
