"""How a reply says that something was noted, changed or set, by language: regular expressions for one sentence."""

from dataclasses import dataclass

# Sentences are matched in lower case, with straight apostrophes, without quotations and code.


@dataclass(frozen=True, slots=True)
class ClaimPatterns:
    """What a language claims with. All but `acknowledges` are searched in a sentence."""

    noted: tuple[str, ...]
    changed: tuple[str, ...]
    """Changed or removed in the notes."""
    reminder: tuple[str, ...]
    """Set, moved or cancelled."""
    noted_about_you: tuple[str, ...] = ()
    """Like `noted`, but only at the beginning of a reply: "I've noted that your …" may also mean "noticed"."""
    acknowledges: str = r"(?!)"
    """A whole sentence that says that something was understood, perhaps noted."""
    unless_before: str = r"(?!)"
    """Before a claim: makes it a condition or an opinion."""
    unless_anywhere: str = r"(?!)"
    """Says that it was done earlier, or by somebody else."""


_FILE = r"`?(?:memory|\d{4}-\d\d-\d\d)\.md`?"

_EN_HAVE = (
    r"\bi(?:'ve| have)(?: now| just| also| successfully| gone ahead and| safely| duly| quickly| carefully)* "
)
_EN_DID = r"\b(?:i|we)(?: just| also| now| went ahead and| successfully)* "
_EN_WRITTEN = "(?:noted|saved|stored|recorded|added(?! up)|written|put|logged|entered|jotted|filed|committed)"
_EN_NOTES = (
    r"(?:(?:your|my)(?: (?:personal|core|daily|long-term|permanent|own))* (?:notes?|memory|memories"
    r"|notebook|daily log)"
    r"|the (?:notes|notebook|daily log)|today's (?:log|notes?)|long-term memory|core memory|" + _FILE + ")"
    r"(?!\w| (?:section|field|column|page|app|tab|usage|leak|allocation|management|below|into|together))"
)
_EN_THAT = (
    r"(?:(?:all of )?(?:that|this|it|these|those|them)|everything|that information"
    r"|this information|these details)"
)
_EN_END = (
    r"(?: down)?(?: for you| for later| for future reference| for next time| for the future| as well"
    r"| too| now| safely)*"
    r"\s*(?:$|[,;:–—(]|- | and | so | in case)"
)
_EN_REMINDER = (
    r"(?:a|an|the|your|that|this|another|two|three|\d+)(?: (?!with|for|of|and)[\w-]+){0,2} reminders?\b"
    r"(?! (?:comment|e-?mail|text|message|template|letter|note|card|function|class|component|system|app))"
)

_EN_DAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"

_DE_HAVE = r"\b(?:ich hab(?:e)?|hab(?:e)? ich)\b"
_DE_WRITTEN = (
    "(?:gespeichert|notiert|eingetragen|vermerkt|hinzugefügt|aufgenommen|festgehalten|geschrieben|abgelegt|ergänzt"
    "|aufgeschrieben|gemerkt|abgespeichert)"
)
_DE_NOTES = (
    rf"(?:(?:deine|deinen|deiner|ihre|ihren|ihrer|meine|meinen|meiner|die|den) notizen"
    rf"|(?:dein|deinem|mein|meinem|ihr|ihrem) (?:gedächtnis|notizbuch)|tageslog|{_FILE})"
)
_DE_THAT = r"(?:das|dies|es|alles|diese information(?:en)?)"
_DE_FOR = r"(?: für dich| für sie| jetzt| nun| soeben| gerade| natürlich| gern(?:e)?| so| auch| mal)*"

_FR_NOTES = rf"(?:(?:tes|vos|mes|les) notes|(?:ta|votre|ma) mémoire|(?:ton|votre|mon) carnet|{_FILE})"
_FR_WRITTEN = "(?:noté|enregistré|ajouté|sauvegardé|mémorisé|inscrit|consigné|écrit|mis)(?:e|s|es)?"
_FR_YES = r"(?: bien| aussi| également| donc| maintenant)*"

_ES_NOTES = rf"(?:(?:tus|sus|mis|las) notas|(?:tu|su|mi) memoria|{_FILE})"
_ES_WRITTEN = "(?:anotado|guardado|apuntado|registrado|añadido|agregado|memorizado|escrito)"
_ES_DID = "(?:anoté|guardé|apunté|registré|añadí|agregué|memoricé|escribí)"

_IT_NOTES = (
    r"(?:(?:nelle|alle|nei|ai|nella|alla|in) (?:tue |mie |sue |tuoi |miei |suoi |tua |mia |sua )?"
    rf"(?:note|appunti|memoria|{_FILE}))"
)
_IT_WRITTEN = "(?:annotat|salvat|aggiunt|registrat|segnat|memorizzat|scritt|appuntat)[oaie]"

_PT_NOTES = (
    r"(?:(?:nas|às|em) (?:suas |tuas |minhas )?(?:notas|anotações)|(?:na|à|em) (?:sua|tua|minha) memória"
    rf"|(?:no|em) {_FILE})"
)
_PT_DID = "(?:anotei|salvei|guardei|registrei|registei|adicionei|gravei|memorizei|escrevi|acrescentei)"

_RU_WRITTEN = "(?:записал|сохранил|запомнил|добавил|зан[её]с|вн[её]с|зафиксировал)(?:а|ла)?"
_RU_NOTES = rf"(?:заметк(?:и|ах|у|е)|памят(?:ь|и)|{_FILE})"

_ZH_NOTES = rf"(?:笔记|筆記|记忆|記憶|备忘录|備忘錄|日志|日誌|{_FILE})"
_ZH_DONE = "(?:已经|已經|已|刚刚|剛剛|刚|剛)"
_ZH_FOR = "(?:帮你|幫你|为你|為你|为您|為您|帮您|幫您|替你|替您)"

_JA_NOTES = rf"(?:メモ(?!リ)|ノート|記憶|日誌|メモリー|{_FILE})"

_KO_NOTES = rf"(?:메모장?|노트|기억|일지|{_FILE})"
_KO_DID = (
    "(?:했습니다|했어요|했어|두었습니다|뒀습니다|두었어요|뒀어요|뒀어|놓았습니다|놨습니다"
    "|놓았어요|놨어요|었습니다|었어요|겼습니다|겼어요)"
)

_HI_NOTES = rf"(?:नोट्स|नोट|नोटबुक|याददाश्त|मेमोरी|{_FILE})"

_AR_NOTES = rf"(?:ملاحظاتك|ملاحظاتي|الملاحظات|ذاكرتي|ذاكرتك|الذاكرة|{_FILE})"

_TH_NOTES = rf"(?:บันทึก|โน้ต|โน๊ต|ความจำ|สมุดบันทึก|{_FILE})"
_TH_I = "(?:ฉัน|ผม|ดิฉัน|เรา|หนู)"

PATTERNS: dict[str, ClaimPatterns] = {
    "en": ClaimPatterns(
        noted=(
            rf"{_EN_HAVE}{_EN_WRITTEN}\b.{{0,90}}?\b(?:in|to|into) {_EN_NOTES}",
            rf"{_EN_DID}(?:noted|saved|stored|recorded|added|wrote|put|logged)\b.{{0,90}}?"
            r"\b(?:in|to|into) your(?: (?:personal|core|daily|long-term))* (?:notes|memory|notebook|daily log)\b",
            rf"{_EN_HAVE}(?:noted|saved|stored|recorded|memori[sz]ed|logged) {_EN_THAT}{_EN_END}",
            rf"{_EN_HAVE}(?:written|jotted|noted|put) {_EN_THAT} down\b",
            rf"{_EN_HAVE}(?:written|jotted|noted) down (?:that|this|it|your)\b",
            rf"{_EN_HAVE}(?:made|taken|added) (?:a|myself a) note (?:of (?:that|this|it|your)\b"
            rf"|about your\b|that you)",
            rf"{_EN_HAVE}committed .{{0,40}}\bto memory\b",
            rf"{_EN_HAVE}(?:saved|added|recorded) .{{0,60}} to memory\b",
            r"\b(?:has|have)(?: now| also| just| successfully)* been "
            rf"{_EN_WRITTEN}\b.{{0,30}}?\b(?:in|to|into) {_EN_NOTES}",
            rf"\b(?:it|that|this|everything)(?:'s| is)(?: now| safely)* (?:saved|noted|stored"
            rf"|recorded|written down)"
            rf" (?:in|to|into) {_EN_NOTES}",
            rf"^(?:(?:done|ok|okay|got it|sure|all set|great|perfect|alright)[ ,:–—!-]*)?{_EN_WRITTEN}\b"
            rf".{{0,30}}?\b(?:in|to|into) {_EN_NOTES}",
        ),
        noted_about_you=(
            rf"{_EN_HAVE}(?:noted|recorded|saved|remembered|memori[sz]ed)(?: down)? that (?:your|you"
            rf"|you're|you've|you'll)\b",
            rf"{_EN_HAVE}(?:noted|recorded|saved)(?: down)? your .{{0,40}}?\b(?:name|birthday"
            rf"|preferences?|address|number"
            r"|allerg(?:y|ies)|appointment|password|code|favou?rite)\b",
        ),
        changed=(
            rf"(?:{_EN_HAVE}|{_EN_DID})(?:updated|changed|corrected|edited|deleted|removed|erased"
            rf"|replaced|amended|cleared)\b"
            rf".{{0,70}}?(?:\b(?:in|from|on|of) )?\b{_EN_NOTES}",
            rf"(?:{_EN_HAVE}|{_EN_DID})(?:deleted|removed|erased) (?:the|that|this|your|those) notes?\b"
            r"(?! (?:section|field|column|in the (?:code|text|document|draft)))",
            rf"\b(?:has|have)(?: now| also)* been (?:deleted|removed|erased|updated"
            rf"|corrected) (?:from|in) {_EN_NOTES}",
            rf"^(?:deleted|removed|erased|updated|corrected)\b.{{0,40}}?\b(?:from|in) {_EN_NOTES}",
        ),
        reminder=(
            rf"(?:{_EN_HAVE}|{_EN_DID})(?:set(?: up)?|created|scheduled|cancell?ed|moved) (?:you )?{_EN_REMINDER}",
            rf"{_EN_HAVE}added (?:a|your|the) reminder (?:for (?:\d|you\b|tomorrow|today|tonight|next"
            rf"|{_EN_DAY})|at \d"
            rf"|tomorrow|tonight|on {_EN_DAY})",
            r"^(?:(?:done|ok|okay|got it|sure|all set|great|perfect|alright)[ ,:–—!-]*)?(?:your |the |a )?reminder "
            r"(?:\S+ ){0,5}?(?:(?:is|has been)(?: now)? )?(?:set|scheduled|created"
            r"|cancell?ed)\b(?! (?:to be|the tone))",
        ),
        acknowledges=r"(?:(?:got it|ok|okay|sure|alright|thanks|all right|great"
        r"|perfect)[ ,:–—!-]*)?(?:duly )?noted",
        unless_before=r"\b(?:if|unless|once|whether|when|until|after|before|think|believe|assume"
        r"|suppose|imagine|pretend|says|said|told you|as if|would|could|should|might|let me|want me to|story)\b",
        unless_anywhere=r"\b(?:already|earlier|yesterday|previously|last (?:time|week|month|year"
        r"|night)|ago|back in)\b",
    ),
    "de": ClaimPatterns(
        noted=(
            rf"{_DE_HAVE}.{{0,80}}?\b(?:in|im|zu|unter) {_DE_NOTES}.{{0,20}}?\b{_DE_WRITTEN}\b",
            rf"{_DE_HAVE}.{{0,60}}?\b(?:deinen|meinen|ihren) notizen hinzugefügt\b",
            rf"\bich hab(?:e)?(?: mir)?{_DE_FOR} {_DE_THAT}(?: mir)?{_DE_FOR} "
            r"(?:notiert|gemerkt|vermerkt|aufgeschrieben|gespeichert|festgehalten|abgespeichert)\b",
            rf"\b{_DE_THAT} hab(?:e)? ich(?: mir)?{_DE_FOR} "
            r"(?:notiert|gemerkt|vermerkt|aufgeschrieben|gespeichert|festgehalten|abgespeichert)\b",
            rf"\b(?:wurde|ist|sind|wurden)\b.{{0,20}}?\b{_DE_NOTES}.{{0,12}}?\b{_DE_WRITTEN}\b",
            rf"^{_DE_WRITTEN} (?:in|im|unter) {_DE_NOTES}",
        ),
        noted_about_you=(
            rf"\bich hab(?:e)?(?: mir)?{_DE_FOR} (?:notiert|gemerkt|vermerkt|gespeichert|aufgeschrieben), dass "
            r"(?:du|dein|deine|deinem|deiner|sie|ihr|ihre)\b",
        ),
        changed=(
            rf"{_DE_HAVE}.{{0,60}}?\b(?:{_DE_NOTES}|(?:die|deine|diese|ihre) notiz)\b.{{0,30}}?"
            r"\b(?:gelöscht|entfernt|geändert|korrigiert|aktualisiert|angepasst|berichtigt)\b",
        ),
        reminder=(
            rf"{_DE_HAVE}.{{0,50}}?\b(?:eine|die|deine|diese|ihre|keine"
            rf"|zwei) (?:\w+ )?erinnerung(?:en)?\b.{{0,60}}?"
            r"\b(?:gesetzt|eingestellt|erstellt|angelegt|eingerichtet|gelöscht|verschoben|abgesagt|gestellt)\b",
            r"^(?:die |deine |eine |ihre )?erinnerung\b.{0,50}?\b(?:ist|wurde)\b.{0,40}?"
            r"\b(?:gesetzt|eingestellt|erstellt|angelegt|eingerichtet|gelöscht|gestellt)\b",
        ),
        acknowledges=r"(?:(?:ok|okay|alles klar|gut|verstanden|danke)[ ,:–—!-]*)?(?:ist )?(?:notiert"
        r"|vermerkt|gemerkt)",
        unless_before=r"\b(?:wenn|falls|sobald|ob|nachdem|bevor|würde|könnte|als|soll|glaube|denke"
        r"|sagt|sagte|bis)\b",
        unless_anywhere=r"\b(?:bereits|schon|gestern|vorhin|früher|letzte[nrsm]?|damals|nicht|keine)\b",
    ),
    "fr": ClaimPatterns(
        noted=(
            rf"\bj'ai{_FR_YES} {_FR_WRITTEN}\b.{{0,80}}?\b(?:dans|à) {_FR_NOTES}",
            rf"\bje (?:l'|les |te l'|vous l'|me l')ai{_FR_YES} (?:noté|enregistré|mémorisé|sauvegardé"
            rf"|consigné)(?:e|s|es)?\b"
            rf"(?: (?:pour toi|pour vous|dans {_FR_NOTES}|à {_FR_NOTES}))?\s*(?:$|[,;:–—])",
            rf"\bj'ai{_FR_YES} (?:noté|enregistré|mémorisé|sauvegardé) (?:ça|cela|cette information"
            rf"|l'information|ces informations)\b",
            rf"\bj'ai{_FR_YES} pris(?: bonne)? note (?:de ça|de cela|de cette information)\b",
            rf"\b(?:c'est|a été|ont été|est)(?: bien)? {_FR_WRITTEN} (?:dans|à|sur) {_FR_NOTES}",
        ),
        noted_about_you=(
            rf"\bj'ai{_FR_YES} (?:noté|enregistré|mémorisé|retenu) que (?:ta|ton|tes|tu|t'|vous|votre|vos)\b",
        ),
        changed=(
            r"\bj'ai(?: bien| aussi| donc)* (?:supprimé|effacé|retiré|modifié|corrigé|mis à jour|changé)\b.{0,60}?"
            rf"\b(?:{_FR_NOTES}|(?:la|ta|cette|votre) note)\b",
            rf"\ba(?: bien)? été (?:supprimée?|effacée?|retirée?|modifiée?|corrigée?) (?:de|dans) {_FR_NOTES}",
        ),
        reminder=(
            rf"\bj'ai{_FR_YES} (?:créé|programmé|mis|défini|configuré|planifié|annulé|réglé|supprimé)(?: en place)?"
            r" (?:un|le|ton|votre|ce|des|les)(?: [\w-]+)? rappels?\b",
            r"^(?:le|ton|votre|un) rappel\b.{0,40}?\b(?:est|a été)(?: bien)? (?:créé|programmé|défini"
            r"|configuré|annulé|réglé|enregistré)",
        ),
        acknowledges=r"(?:(?:ok|d'accord|très bien|merci|parfait)[ ,:–—!-]*)?(?:c'est (?:bien )?noté"
        r"|bien noté|noté|j'ai pris note)",
        unless_before=r"\b(?:si|quand|lorsque|une fois|avant|après|crois|pense|dit|pourrais|peux)\b",
        unless_anywhere=r"\b(?:déjà|hier|précédemment|plus tôt|dernière fois|auparavant|pas)\b",
    ),
    "es": ClaimPatterns(
        noted=(
            rf"\bhe {_ES_WRITTEN}\b.{{0,80}}?\b(?:en|a) {_ES_NOTES}",
            rf"\b(?:lo|la|los|las) (?:he (?:anotado|guardado|apuntado|registrado|memorizado)|anoté"
            rf"|guardé|apunté|registré|memoricé)(?: ya| todo| bien| para ti| en {_ES_NOTES})*\s*(?:$|[,;:–—])",
            rf"\b(?:{_ES_DID})\b.{{0,80}}?\b(?:en|a) (?:tus notas|mis notas|tu memoria|mi memoria)\b",
            r"\b(?:he (?:anotado|guardado|apuntado|registrado|memorizado)|anoté|guardé|apunté"
            r"|registré) (?:eso|esto|esa información|esta información|el dato|todo eso)\b",
            r"\b(?:he tomado|tomé) (?:buena )?nota de (?:eso|esto|ello|tu|tus)\b",
            rf"\b(?:ha|han) (?:sido|quedado) {_ES_WRITTEN[:-1]}|registrad)[oa]s? en {_ES_NOTES}",
        ),
        noted_about_you=(
            r"\b(?:he (?:anotado|apuntado|guardado|registrado)|anoté|apunté) que (?:tu|tus|te|eres"
            r"|tienes|vives|su)\b",
        ),
        changed=(
            r"\bhe (?:borrado|eliminado|actualizado|corregido|modificado|cambiado|quitado)\b.{0,60}?"
            rf"\b(?:{_ES_NOTES}|(?:la|tu|esa|esta|su) nota)\b",
            r"\b(?:borré|eliminé|actualicé|corregí|modifiqué|quité)\b.{0,60}?\b(?:tus notas|mis notas"
            r"|tu memoria|mi memoria)\b",
        ),
        reminder=(
            r"\b(?:he (?:creado|programado|puesto|configurado|establecido|cancelado|fijado)|(?:creé"
            r"|programé|configuré|establecí|cancelé))"
            r" (?:un|el|tu|ese|tus|los)(?: [\w-]+)? recordatorios?\b",
            r"^(?:el|tu|un) recordatorio\b.{0,40}?\b(?:está|ha sido|quedó|ha quedado) (?:programado"
            r"|creado|configurado|guardado|establecido|cancelado)",
        ),
        acknowledges=r"(?:(?:ok|vale|de acuerdo|perfecto|entendido|gracias)[ ,:–—!-]*)?(?:anotado"
        r"|apuntado|tomo nota|queda anotado)",
        unless_before=r"\b(?:si|cuando|una vez|después|antes|creo|pienso|dice|dijo|podría|puedo)\b",
        unless_anywhere=r"\b(?:ayer|anteriormente|previamente|última vez|hace|no)\b",
    ),
    "it": ClaimPatterns(
        noted=(
            rf"\bho(?: appena| anche| ora)* {_IT_WRITTEN}\b.{{0,80}}?\b{_IT_NOTES}",
            r"\b(?:l'ho|li ho|le ho|me (?:lo|la|li|le) sono|te l'ho)(?: appena| anche| ora)* "
            rf"(?:annotat|salvat|registrat|segnat|memorizzat|appuntat)[oaie](?: per te"
            rf"| {_IT_NOTES})?\s*(?:$|[,;:–—])",
            r"\bho(?: appena| ora)* (?:annotato|salvato|registrato|segnato|memorizzato) (?:questo|ciò"
            r"|tutto|questa informazione|l'informazione|queste informazioni)\b",
            r"\bho preso nota (?:di questo|di ciò|di tutto|di questa informazione)\b",
            rf"\b(?:è stato|è stata|sono stati|sono state) {_IT_WRITTEN} {_IT_NOTES}",
        ),
        noted_about_you=(
            r"\b(?:ho (?:annotato|segnato|registrato|memorizzato)|mi sono (?:segnat"
            r"|annotat)[oa]) che (?:tu|tua|tuo|la tua|il tuo|sei|hai|vivi|ti)\b",
        ),
        changed=(
            r"\bho(?: appena)? (?:cancellato|eliminato|rimosso|modificato|corretto|aggiornato|cambiato)\b.{0,60}?"
            rf"\b(?:{_IT_NOTES}|(?:la|le|quella|questa|dalle|dalla) (?:tua |tue |mie |mia )?(?:nota"
            rf"|note|memoria))\b",
        ),
        reminder=(
            r"\bho(?: appena)? (?:creato|impostato|programmato|fissato|annullato|cancellato) (?:un|il"
            r"|quel|i|dei)(?: [\w-]+)? promemoria\b",
            r"^(?:il|un)(?: tuo)? promemoria\b.{0,40}?\bè (?:stato )?(?:impostato|creato|programmato"
            r"|fissato|annullato)",
        ),
        acknowledges=r"(?:(?:ok|va bene|d'accordo|perfetto|grazie)[ ,:–—!-]*)?(?:annotato|segnato|preso nota)",
        unless_before=r"\b(?:se|quando|una volta|dopo|prima|credo|penso|dice|disse|potrei|posso)\b",
        unless_anywhere=r"\b(?:già|ieri|in precedenza|ultima volta|fa|non)\b",
    ),
    "pt": ClaimPatterns(
        noted=(
            rf"\b{_PT_DID}\b.{{0,80}}?\b{_PT_NOTES}",
            r"\b(?:anotei|salvei|guardei|registrei|registei|gravei|memorizei) (?:isso|isto|tudo isso"
            r"|essa informação|esta informação|essas informações)\b",
            r"\btomei nota (?:disso|disto|de tudo)\b",
            r"\b(?:foi|foram|está|ficou) (?:anotad|salv|guardad|registrad|registad|adicionad)[oa]s? "
            rf"{_PT_NOTES}",
        ),
        noted_about_you=(
            r"\b(?:anotei|registrei|registei|memorizei|guardei) que (?:a sua|o seu|sua|seu|você|a tua"
            r"|o teu|tua|teu|tu)\b",
        ),
        changed=(
            r"\b(?:apaguei|removi|excluí|atualizei|corrigi|alterei|eliminei|modifiquei)\b.{0,60}?"
            rf"\b(?:{_PT_NOTES}|(?:das|de|da|as) (?:suas|tuas|minhas) (?:notas|anotações)|(?:da"
            rf"|a) (?:sua|tua|minha) memória|(?:a|sua|tua|essa|esta) nota)\b",
        ),
        reminder=(
            r"\b(?:criei|defini|programei|agendei|configurei|coloquei|cancelei) (?:um|o|seu|teu|esse"
            r"|os|uns)(?: [\w-]+)? lembretes?\b",
            r"^(?:o|seu|teu|um)(?: seu)? lembrete\b.{0,40}?\b(?:foi|está|ficou) (?:criado|definido"
            r"|programado|agendado|configurado|cancelado)",
        ),
        acknowledges=r"(?:(?:ok|certo|está bem|tudo bem|perfeito|obrigado"
        r"|obrigada)[ ,:–—!-]*)?(?:anotado|registrado|registado|tomei nota)",
        unless_before=r"\b(?:se|quando|assim que|depois|antes|acho|creio|penso|diz|disse|poderia|posso)\b",
        unless_anywhere=r"\b(?:ontem|anteriormente|última vez|não|atrás)\b",
    ),
    "ru": ClaimPatterns(
        noted=(
            rf"(?:\bя |^)(?:(?:это|всё|все|только что|также|теперь) )*{_RU_WRITTEN}\b.{{0,70}}?\b(?:в"
            rf"|во) (?:\w+ )?{_RU_NOTES}\b",
            r"\bя (?:(?:всё|все) )?это (?:записал|запомнил|сохранил|зафиксировал)а?\b",
            r"(?:\bя |^)(?:записал|запомнил|сохранил|зафиксировал)а? (?:это|всё это|все это"
            r"|эту информацию|эти данные)\b",
            rf"\b(?:записано|сохранено|добавлено|внесено) в (?:\w+ )?{_RU_NOTES}\b",
        ),
        noted_about_you=(
            r"(?:\bя |^)(?:записал|запомнил|сохранил)а?, что (?:тво\w+|ваш\w*|вас|тебя|ты|вы|у тебя|у вас)\b",
        ),
        changed=(
            r"(?:\bя |^)(?:это )?(?:удалил|изменил|исправил|обновил|ст[её]р|убрал)а?\b.{0,60}?"
            rf"\b(?:в|из|о|об|эту|твою|вашу|твои|ваши)? ?(?:\w+ )?{_RU_NOTES}\b",
        ),
        reminder=(
            r"(?:\bя |^)(?:установил|создал|поставил|запланировал|настроил"
            r"|отменил)а? (?:\w+ ){0,2}напоминани[ея]\b",
            r"\bнапоминани[ея]\b.{0,40}?\b(?:установлен|создан|запланирован|настроен|отменен|отменён)[оаы]?\b",
        ),
        acknowledges=r"(?:(?:хорошо|ок|окей|понял|поняла|спасибо)[ ,:–—!-]*)?(?:записал|записала"
        r"|записано|запомнил|запомнила|отмечено)",
        unless_before=r"\b(?:если|когда|после|прежде|думаю|кажется|говорит|сказал|бы)\b",
        unless_anywhere=r"\b(?:уже|вчера|ранее|раньше|прошлый раз|назад|не)\b",
    ),
    "zh": ClaimPatterns(
        noted=(
            rf"(?:我{_ZH_DONE}?|{_ZH_DONE}){_ZH_FOR}?(?:[把将將][^，。,]{{1,24}}?)?(?:记|記|记录|記錄"
            rf"|保存|储存|儲存|写|寫|添加|加|存)"
            rf"(?:下来|下來|下|了)?(?:到|在|进|進|入|至)+[^，。,]{{0,8}}?{_ZH_NOTES}",
            rf"我{_ZH_DONE}?{_ZH_FOR}?(?:[把将將][^，。,]{{1,24}}?)?"
            "(?:记下来|記下來|记下|記下|记住|記住|记录下来|記錄下來|记录好|記錄好|记好|記好|保存好|保存下来)了",
            rf"我{_ZH_DONE}{_ZH_FOR}?(?:[把将將][^，。,]{{1,24}}?)?(?:记下来|記下來|记下|記下|记住"
            rf"|記住|记录下来|記錄下來|记录了|記錄了|保存了)",
        ),
        changed=(
            rf"我{_ZH_DONE}?{_ZH_FOR}?(?:[把将將从從])?[^，。,]{{0,20}}?{_ZH_NOTES}[^，。,]{{0,10}}?(?:删除|刪除|删掉|刪掉|移除|更新|修改|更正)了?",
            rf"我{_ZH_DONE}{_ZH_FOR}?(?:删除|刪除|删掉|刪掉|移除|更新|修改|更正)了?[^，。,]{{0,16}}?{_ZH_NOTES}",
        ),
        reminder=(
            rf"{_ZH_DONE}{_ZH_FOR}?(?:设置|設置|设定|設定|设|設|创建|創建|安排|添加|取消)(?:好"
            rf"|了)*[^，。,]{{0,16}}?提醒",
            rf"我{_ZH_FOR}?(?:设置|設置|设定|設定|创建|創建|安排|取消)了[^，。,]{{0,16}}?提醒",
            rf"提醒{_ZH_DONE}[^，。,]{{0,6}}?(?:设置|設置|设定|設定|设好|設好|创建|創建|安排|取消)",
        ),
        acknowledges="(?:好的?|明白了?|收到)?[，,！!。 ]*(?:记下了|記下了|记住了|記住了|已记录|已記錄"
        "|已记下|已記下)",
        unless_before="(?:如果|要是|假如|等|当|當|之后|以后|可以|能够|会|會|想|觉得|覺得|说|說)[^，。,]*\\Z",
        unless_anywhere="(?:昨天|之前|上次|以前|早些时候|没有|沒有|尚未|还没|還沒|未能|无法|無法|吗|嗎)",
    ),
    "ja": ClaimPatterns(
        noted=(
            rf"{_JA_NOTES}(?:に|へ)[^。]{{0,20}}?(?:記録|保存|追加|登録|書き込|書い|書き留め|残"
            rf"|書き加え)[^。]{{0,8}}?ました",
            "(?:メモし(?:ておき)?|記憶し(?:ておき)?|記録しておき|覚えておき|書き留めておき)ました",
            "^(?:(?:はい|了解です|承知しました|わかりました)[、,] ?)?(?:記録し|覚え|書き留め)ました",
            "(?:それ|これ|その情報|この情報|そのこと|このこと)[はをも][^。]{0,8}?(?:保存|登録)し(?:ておき)?ました",
        ),
        changed=(
            rf"{_JA_NOTES}(?:を|から|の)[^。]{{0,20}}?(?:削除|更新|修正|変更|訂正|消去|消し)[^。]{{0,4}}?ました",
        ),
        reminder=(
            "リマインダー(?:を|は|が)[^。]{0,24}?(?:設定|作成|登録|セット|キャンセル|取り消)[^。]{0,6}?ました",
        ),
        acknowledges="(?:はい)?[、,！!。 ]*(?:記録しました|メモしました|覚えました|承知しました"
        "|了解しました|了解です)",
        unless_before="(?:もし|場合|あなた[がは]|お客様[がは]|彼[がは]|彼女[がは]|さん[がは]|と思)",
        unless_anywhere="(?:昨日|以前|前回|先日|すでに|既に|さきほど|先ほど|ましたか|ましたら"
        "|ましたが|ませんでした|ていません)",
    ),
    "ko": ClaimPatterns(
        noted=(
            rf"{_KO_NOTES}에[^.]{{0,20}}?(?:저장|기록|추가|적어|적|남겨|남|메모|써)[^.]{{0,3}}?{_KO_DID}",
            rf"(?:기억해|메모해|기록해|적어|저장해) ?{_KO_DID}",
            "(?:메모했|^(?:네,? ?)?기록했|기억했)(?:습니다|어요|어)",
        ),
        changed=(
            rf"{_KO_NOTES}(?:를|을|에서|의)[^.]{{0,20}}?(?:(?:삭제|수정|변경|업데이트"
            rf"|제거)(?:했습니다|했어요|했어)|지웠(?:습니다|어요|어))",
        ),
        reminder=(
            "(?:알림|리마인더)(?:을|를|이|가)[^.]{0,24}?(?:설정|예약|등록|추가|취소)(?:했습니다"
            "|했어요|했어|해 두었습니다|해 뒀어요|해두었습니다|해뒀어요|되었습니다|됐습니다|됐어요)",
            "(?:알림|리마인더)(?:을|를)[^.]{0,16}?만들(?:었습니다|었어요)",
        ),
        acknowledges="(?:네|알겠습니다)?[ ,.!]*(?:기록했습니다|메모했습니다|메모했어요|기억했습니다|기억할게요)",
        unless_before="(?:만약|만일|아래에|표에|위에|당신이|사용자가|고객님이|그가|그녀가)",
        unless_anywhere="(?:이미|어제|지난번|예전에|전에|나요|습니까|않았|못했)",
    ),
    "hi": ClaimPatterns(
        noted=(
            rf"मैंने [^।]{{0,70}}?{_HI_NOTES} में [^।]{{0,24}}?(?:सहेज|लिख|जोड़|दर्ज|सेव|रख"
            rf"|नोट)[^।]{{0,8}}?(?:दिया|लिया|दी|ली|दिए|किया)",
            "मैंने (?:यह|ये|इसे|यह सब|यह बात|इस बात को|यह जानकारी|इस जानकारी को)[^।]{0,15}?"
            "(?:नोट कर|याद कर|सहेज|दर्ज कर|याद रख|सेव कर)[^।]{0,3}?(?:लिया|दिया|ली|दी)",
        ),
        noted_about_you=("मैंने (?:नोट कर|लिख|याद कर|याद रख) (?:लिया|ली) (?:है )?कि (?:आप|तुम्हार|तुम)",),
        changed=(
            rf"मैंने [^।]{{0,50}}?{_HI_NOTES}[^।]{{0,20}}?(?:हटा|मिटा|बदल|अपडेट कर"
            rf"|सुधार)[^।]{{0,3}}?(?:दिया|दिए|दी|लिया)",
        ),
        reminder=(
            "मैंने [^।]{0,60}?(?:रिमाइंडर|अनुस्मारक)[^।]{0,30}?(?:सेट कर|सेट|लगा|बना"
            "|रद्द कर)[^।]{0,3}?(?:दिया|किया|लिया)",
            "(?:रिमाइंडर|अनुस्मारक)[^।]{0,20}?(?:सेट|रद्द) (?:कर दिया|हो) गया",
        ),
        acknowledges="(?:ठीक है)?[ ,!]*नोट (?:कर लिया|किया)(?: है| गया)?",
        unless_before="(?:अगर|यदि|जब|आपने|उसने|उन्होंने|सकता|सकती)",
        unless_anywhere="(?:पहले ही|पिछली बार|पहले से|नहीं)",
    ),
    "ar": ClaimPatterns(
        noted=(
            rf"(?:سجلت|سجّلت|حفظت|دونت|دوّنت|أضفت|كتبت)[^.،؛]{{0,50}}?(?:في|إلى) {_AR_NOTES}",
            "لقد (?:سجلت|سجّلت|حفظت|دونت|دوّنت)(?:ها|ه| ذلك| هذا| هذه المعلومة| هذه المعلومات| كل ذلك)",
            rf"تم(?:ت)? (?:حفظ|تسجيل|تدوين|إضافة)[^.،؛]{{0,40}}?(?:في|إلى) {_AR_NOTES}",
        ),
        noted_about_you=("لقد (?:سجلت|سجّلت|دونت|دوّنت|حفظت) (?:أن|أنّ) ?\\S*ك\\b",),
        changed=(
            "(?:لقد (?:حذفت|عدلت|عدّلت|حدثت|حدّثت|صححت|صحّحت|أزلت)|تم(?:ت)? (?:حذف|تعديل|تحديث|تصحيح|إزالة))"
            rf"[^.،؛]{{0,50}}?(?:{_AR_NOTES}|الملاحظة|ملاحظتك)",
        ),
        reminder=(
            "(?:لقد )?(?:ضبطت|أنشأت|عينت|عيّنت|ألغيت|وضعت|أعددت)[^.،؛]{0,20}?(?:تذكير|التذكير)",
            "تم(?:ت)? (?:ضبط|إنشاء|تعيين|إلغاء|إعداد|جدولة)[^.،؛]{0,16}?(?:تذكير|التذكير)",
        ),
        acknowledges="(?:حسنا|حسنًا|تمام)?[ ,،!]*(?:تم التسجيل|سجلت ذلك|تم الحفظ|تم تدوين ذلك)",
        unless_before=r"\b(?:إذا|لو|عندما|بعد أن|قبل أن|ربما|يمكن|هل)\b",
        unless_anywhere=r"\b(?:أمس|سابقا|سابقًا|من قبل|بالفعل|لم|لن|المرة الماضية)\b",
    ),
    "th": ClaimPatterns(
        noted=(
            rf"(?:{_TH_I}(?:ได้)?|^ได้|^)(?:จด|บันทึก|เก็บ|เพิ่ม|เขียน).{{0,50}}?(?:ไว้ใน|ลงใน|ลง"
            rf"|ใน){_TH_NOTES}.{{0,24}}?แล้ว",
            f"{_TH_I}(?:ได้)?(?:จด|จำ|บันทึก|จดจำ)(?:เรื่องนี้|สิ่งนี้|ข้อมูลนี้|ไว้|ให้|คุณ|เอาไว้|เรียบร้อย)+แล้ว",
        ),
        changed=(rf"{_TH_I}(?:ได้)?(?:ลบ|แก้ไข|อัปเดต|อัพเดต|เปลี่ยน).{{0,30}}?(?:{_TH_NOTES}).{{0,24}}?แล้ว",),
        reminder=("(?:ตั้ง|สร้าง|ยกเลิก)(?:การ|ตัว)?(?:แจ้งเตือน|เตือนความจำ|เตือน).{0,40}?แล้ว",),
        acknowledges="(?:โอเค|ได้)?[ ,!]*(?:จดไว้แล้ว|บันทึกแล้ว|รับทราบ)(?:ค่ะ|ครับ)?",
        unless_before="(?:ถ้า|หาก|เมื่อ|คุณได้|เขาได้|หลังจาก)",
        unless_anywhere="(?:เมื่อวาน|ก่อนหน้านี้|ครั้งก่อน|ครั้งที่แล้ว|ไม่ได้|ยังไม่|หรือยัง|ไหม)",
    ),
}
