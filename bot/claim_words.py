"""The words with which a reply says that something was noted, changed or set, by language."""

from dataclasses import dataclass

# Word lists are joined by "|" and matched in lower case, with straight apostrophes, without quotations, code and Arabic
# vowel signs; every note's file name has become FILE. In them "…" stands for a few words.

FILE = "memory.md"


@dataclass(frozen=True, slots=True)
class ClaimWords:
    """The word lists of a language, and how it builds a statement about what was done.

    `active`, `passive` and `state` hold `{done}` once, which becomes any of the verbs.
    """

    active: tuple[str, ...]
    """The assistant did it: "I have {done}"."""
    noted: str
    """Verbs that claim by themselves: "I wrote it down"."""
    saved: str
    """Verbs that claim with "it" or "that" as their object, or with the notes: "I saved that"."""
    added: str
    """Verbs that claim with the notes as their place: "I added it to your notes"."""
    changed: str
    """Verbs that claim with the notes as their object or place: "I deleted the note"."""
    set: str
    """Verbs that claim with reminders, like those of `added` and `changed`."""
    notes: str
    into: str
    """Where something is put; holds `{notes}`."""
    reminders: str
    that: str
    """Pronouns that stand for what was said."""
    passive: tuple[str, ...] = ()
    """It was done: "has been {done}"."""
    state: tuple[str, ...] = ()
    """It is so, which is news only with one of `now`; may also hold `{place}`: "is {done}", "is in your notes"."""
    now: str = ""
    well: str = ""
    """What may come before a verb without a subject: "Okay, saved"."""
    not_done: str = ""
    """Between the beginning of the clause and the verb: negations, modal verbs, and subjects other than "I"."""
    hypothetical: str = ""
    """Anywhere before the verb: conditions, opinions, and what somebody said."""
    earlier: str = ""
    """In the clause: it was done some other time, or nothing was."""
    content: str = ""
    """After the verb: here begins what was noted."""
    other_texts: str = ""
    """Anywhere: it is about a text in the chat, or about mistakes, which one "notes" in the sense of "notices"."""
    acknowledges: str = ""
    """A whole sentence, after any of `well`, that says that something was understood, perhaps noted."""
    is_spaced: bool = True
    """Whether spaces part its words."""


WORDS: dict[str, ClaimWords] = {
    "en": ClaimWords(
        active=(
            "i(?:'ve| have)?(?: (?:now|just|also|then|successfully|gone ahead and|went ahead and|safely|duly"
            "|quickly|carefully)){0,3} {done}",
            r"i(?:'ve| have)?(?: [^\s,;:]+){1,12}? and(?: (?:have|then|also|just))? {done}",
            "(?:i've got|i have|got|consider) (?:it|that|this|them|both|all of it|everything) {done}",
        ),
        noted="noted|recorded|registered|captured|memori[sz]ed|jotted|(?:written|wrote|(?<=.)put|typed) …down"
        r"|(?:made|taken|took|kept)(?: \w+){0,3} notes?|added that (?:you|he|she|they|your)|(?:made|added|created"
        "|started|opened|written|wrote|put|left) (?:a|an|another|myself a)(?: [a-z]+)? (?:note|entry|file) (?:of"
        "|about|called|named|that you|saying|with|in|for)|pencilled …in|committed …to memory",
        saved="saved|stored|filed|logged|remembered|archived",
        added="added(?! up)|written|wrote|(?<=.)put|entered|placed|included|inserted|copied",
        changed="updated|changed|corrected|edited|amended|fixed|replaced|renamed|moved|tidied|cleaned|merged"
        "|deleted|removed|erased|cleared|wiped|marked|adjusted|gone|forgotten|modified|revised|rewritten|rewrote"
        "|discarded|dropped|purged|swapped|struck|crossed|scratched|combined|extended|shifted|switched|(?:taken"
        "|took) …(?:out|off)|(?:as|to) done|brought …up to date|up to date",
        set="(?<=.)set(?: up)?|scheduled|created|cancell?ed|postponed|rescheduled|reset|arranged|in place|get"
        "|receive|be reminded",
        notes=r"(?:your|my|the|that|this|those|these|any|no|his|her|their|our|an?|\w+'s|both|all|old|duplicate"
        r"|today's)(?: [\w'-]+){0,3}? (?<!release )(?:notes?|notebook|memory|memories|entry|entries|records?"
        "|lines? (?:about|on|for|with)|file (?:on|about|for|called)|daily log|(?!(?:the|this|that|an?"
        r"|ingredients?) )[\w-]+ list)(?! (?:section|field|column|page|app|point|form|tab|usage|leak|allocation"
        "|in the (?:code|text)))|today's log|long-term memory|core memory|(?:both|two) lines|^(?:notes?|entry"
        "|entries|memory)|everything (?:about|on|i)|all (?:mentions?|traces?|i knew)|your list|(?:your"
        r"|the) (?:calendar|diary)|(?<!with )(?<!to )(?<!on )(?:your|his|her|their|\w+'s|(?:the|your) (?:old"
        r"|new)) (?:\w+ ){0,2}(?:birthday|phone|entry|date|address|number|password|appointment|preferences?"
        "|allerg(?:y|ies)|size|weight|surname|schedule|anniversary)|FILE",
        into="(?:in|into|to|on|onto|under) (?:{notes})|to memory|on record|on file|(?:on|to|onto) the list|under x"
        "|for (?:next time|later|future reference)|so (?:that )?(?:i|you|we|it|nothing)(?:'ll| will| won't| don't"
        "| gets?| is) …(?:forget|forgotten|lost|miss|remember|ask|next time)",
        reminders=r"(?:a|an|another|one|two|three|\d+|the|your|that|this|daily|weekly)(?: (?!with|for|of"
        r"|and)[\w-]+){0,2} (?:reminders?|alarm|timer|alert)(?! (?:comment|e-?mail|text|message|template|letter"
        "|note|card|function|class|component|system|app))|^(?:reminder|alarm|timer|alert)|be reminded",
        that=r"(?:your|his|her|their|\w+'s) (?!file|progress|changes|work|time)\w+|(?:it|that|this|everything"
        "|all of it)(?:'s|'ve| has| have) |(?:(?:all of |both of )?(?:that|this|it|these|those|them|everything)"
        "|(?:that|this|the) information|(?:these|the) details)(?: down| for you| for later| for future reference"
        "| for next time| as well| too| now| safely| under x){0,3} ?(?:$|[,;:–—(]|- |and |so |in case )"
        r"|the (?:\w+ ){0,2}(?:address|number|dates?|names?|password|appointment|details|measurements?|sizes?"
        "|times?|price|recipe|link|plan|schedule|pin)",
        passive=(
            r"(?:has|have|\w+'s|\w+'ve)(?: (?:now|also|just|all))? been(?: \w+ly)? {done}",
            "(?:^|(?<=[,;:] ))(?:your |the |a |that )?(?:reminder|alarm|timer"
            r"|alert)(?:'s)?(?: \S+){0,6}? {done}(?! (?:to be|the tone))",
            "^(?:the |your |that |old |new )*(?:note|notes|entry|entries|list|memory)(?: (?!is|are|was|were|be"
            r"|say)\S+){0,2}? {done}",
            r"(?:is|are|\w+'s)(?: (?:now|both|all))? (?=gone|out|set|in place){done}",
            "you(?:'ll| will) {done}",
            "(?:^|(?<=[,;:] ))(?:it|that|everything|all of it|both)(?:'s| is| are)(?: (?:all|now|safely"
            "|both))? {done}",
        ),
        state=(
            r"(?:is|are|\w+'s|\w+'re)(?: (?:now|safely|all|right))? (?:{done}|{place})",
            "(?:i have|i've)(?: now)?(?: got)? …{place}",
            "(?:notes?|entry|list|memory|record|FILE) (?:now|also) (?:has|have|says?|reads?|includes?|contains?"
            "|lists?|shows?)",
        ),
        now="now|safely|also|done|okay|ok|got it|all set|as you (?:asked|wished|wanted)|again|for you|all (?:saved"
        "|noted|written|set|recorded|stored)",
        well="done|ok|okay|got it|sure|all set|great|perfect|alright|all right|thanks|thank you|yes|duly|and|all"
        "|noted",
        not_done="not|never|no longer|to be|if|unless|once|whether|when|until|after|before|would|could|should|might",
        hypothetical="think|believe|assume|suppose|imagine|pretend|told you|(?:he|she|they|it|who|x) (?:says|said)"
        "|as if|let me|want me to|if you|would have",
        earlier=r"already|earlier(?! \w)|yesterday(?!'s)|previously|last (?:time|week|month|year|night)(?!'s)|ago"
        "|back in|nothing|none|(?:i|we) (?:said|told)",
        content=r" that (?!down|in\b|to\b|for\b|as\b|on\b|under\b|with\b|yesterday|last|earlier|already|previously)"
        "|: |, (?:so|because|since|which)| because | so that ",
        other_texts="(?:the|your|this|my) code|source code|functions?|variables?|scripts?|loop|texts?|paragraphs?"
        "|sentences?|letter|drafts?|e-?mails?|poems?|story|essay|the document|spreadsheet|tables?|formula"
        "|below(?! the)|above|following|differences|section|templates?|slides?|changelog|summary|a quiz"
        "|spelling in|comments?|value|variable|process|pointer|database|rows?|columns?|query|errors?|mistakes?"
        r"|typos?|problems?|issues?|contradictions?|gaps?|inconsistenc\w*|cv|r[eé]sum[eé]|cover letter|letterhead"
        "|articles?|chapters?|website|lyrics|song|bars?|the steps|agenda|essays?|here(?=$|:)|main|class|method",
        acknowledges="(?:that's |it's |all |duly )?noted(?: down)?",
    ),
    "de": ClaimWords(
        active=("(?:ich hab'?e?|hab'?e? ich|ich|hab'?e?) .{0,140}?{done}",),
        noted="(?:auf)?notiert|vermerkt|festgehalten|aufgeschrieben|gemerkt|eingeprägt|dokumentiert|mitgeschrieben",
        saved="gespeichert|abgespeichert|abgelegt|hinterlegt|gesichert",
        added="eingetragen|hinzugefügt|aufgenommen|geschrieben|ergänzt|gesetzt|gepackt|angelegt|eingefügt|erfasst"
        "|nachgetragen",
        changed="gelöscht|entfernt|geändert|korrigiert|aktualisiert|angepasst|berichtigt|gestrichen|ersetzt"
        "|verschoben|umbenannt|verbessert|herausgenommen|rausgenommen|überschrieben|ausgetragen|zusammengeführt"
        "|aufgeräumt|weg",
        set="gestellt|eingestellt|erstellt|eingerichtet|abgesagt|gespeichert|aktiviert|storniert|abgestellt",
        notes="(?:deine|ihre|meine|die|der|den|dem|diese|eine|das|alte"
        r"|beiden)[nrms]?(?: \w+){0,2}? (?:notiz(?:en)?|notizbuch|gedächtnis|tageslog|eintr[aä]g(?:e|en|s)?|zeilen"
        r"|\w*liste|kartei)|(?:beide|zwei) zeilen|FILE",
        into="(?:in|im|zu|unter|auf|bei|an) (?:{notes})|(?:in|im) (?:notizen|gedächtnis|notizbuch)|(?:deinen"
        "|meinen|ihren|den) notizen|(?:deiner|meiner|der|ihrer) liste",
        reminders="erinnerung(?:en)?",
        that="das|dies|es|alles|beides|diese information(?:en)?|die information(?:en)?",
        passive=("(?:ist|sind|wurden?) (?:.{0,100}? )?{done}",),
        state=("(?:steht|stehen|liegt) .{0,60}?{place}",),
        now="jetzt|nun|ab sofort",
        well="ok|okay|alles klar|gut|verstanden|danke|erledigt|gern|fertig|ist|ja",
        not_done="nicht|nie|noch nicht|keine[nrsm]?|kein|würde|könnte|hätte|soll|sollte|du|wird|werden|kann|habt"
        "|hast|nachgesehen",
        hypothetical="wenn|falls|sobald|ob|nachdem|bevor|glaube|denke|vermute|sagt|sagte|bis|als",
        earlier="bereits|schon|gestern|vorhin|früher|letzte[nrsm]?|damals|nichts|nur im traum",
        content=", (?:dass|damit|weil|denn|falls|was|wo|wie|wann)|: ",
        other_texts="text|absatz|brief|im code|deine[mn] code|quellcode|funktion|satz|gedicht|entwurf|mail|e-mail"
        r"|tabelle|zusammenfassung|übersetzung|rezept|unten|oben|folgende[nrs]?|schritte|version|fehler\w*"
        "|probleme?|widersprüche?|aus deinen notizen …liste|studie|punkte|lebenslauf|artikel|kapitel|folien?",
        acknowledges="(?:ist )?(?:notiert|vermerkt|gemerkt)",
    ),
    "fr": ClaimWords(
        active=(
            "(?:j'ai|j'y ai|je (?:te |vous |m')?(?:l'|les |l'y |y |en )?(?:ai|suis)|je me suis)(?: (?:bien|aussi"
            "|également|donc|maintenant|juste|simplement|aussitôt|tout de suite|tout|toutes?|tous)){0,3} {done}",
        ),
        noted="notée?s?|inscrite?s?|consignée?s?|mémorisée?s?|retenue?s?|pris (?:bonne )?note|répertoriée?s?"
        "|marquée?s?",
        saved="enregistrée?s?|sauvegardée?s?|gardée?s?|conservée?s?|stockée?s?",
        added="ajoutée?s?|mise?s?(?! (?:à jour|en place))|écrite?s?|rangée?s?|placée?s?|intégrée?s?|reportée?s?"
        "|classée?s?",
        changed="supprimée?s?|effacée?s?|retirée?s?|enlevée?s?|modifiée?s?|corrigée?s?|mise?s? à jour|changée?s?"
        "|remplacée?s?|déplacée?s?|renommée?s?|actualisée?s?|rayée?s?|fusionnée?s?|rectifiée?s?|disparue?s?",
        set="programmée?s?|définie?s?|configurée?s?|planifiée?s?|annulée?s?|réglée?s?|fixée?s?|mise? en place"
        "|créée?s?|activée?s?|posée?s?",
        notes="(?:la |une |ta |cette |votre |ma |les |tes |vos |mes |l'|sa |son |ses |ton |mon |des |ces "
        r"|l'ancienne )(?:[\w-]+ )?(?:notes?|mémoire|carnet|fiches?|entrées?|liste (?:de|des) \w+|deux lignes)"
        "|ta liste|votre liste|note (?:sur|de|à propos)|deux lignes|FILE",
        into="(?:dans|à|sur|sous|au|aux|en) (?:{notes})|au carnet|aux notes|en mémoire",
        reminders="rappels?",
        that="ça|cela|tout|le tout|(?:cette|l'|ces|les) ?informations?|je (?:te |vous )?(?:l'|les )…|c'est …",
        passive=(
            r"(?:a|ont)(?: (?:bien|donc|aussi))? été(?: \w+ment)? {done}",
            "(?:c'est|est bien|sont bien|voilà)(?: (?:bien|fait,?|maintenant))? {done}",
            r"rappels?(?: \S+){0,5}? {done}",
        ),
        state=(
            "(?:est|sont|figure|figurent|se trouve)(?: (?:désormais|maintenant))? (?:.{0,30}? )?(?:{done}|{place})",
        ),
        now="désormais|maintenant|à présent|comme demandé|comme tu (?:l'as demandé|voulais)",
        well="ok|d'accord|très bien|merci|parfait|voilà|entendu|bien|compris|fait|oui",
        not_done="pas|jamais|n'|ne|rien|tu|vous|peux|pourrais",
        hypothetical="si|quand|lorsque|une fois|avant|après|crois|pense|dit|pourrais",
        earlier="déjà|hier|précédemment|plus tôt|dernière fois|auparavant|rien",
        content=" qu(?:e |')| : |: |, (?:pour|car|comme ça)| pour (?:que|ne|ton|ta|tes|toi) | afin ",
        other_texts="texte|lettre|code source|(?:ton|votre|dans le) code|fonction|poème|phrase|paragraphe|fautes?"
        "|erreurs?|problèmes?|brouillon|mail|résumé|ci-dessous|ci-dessus|tableau|recette|traduction|document"
        "|suivante?s?|incohérences?|contradictions?|étapes|cv|article|chapitre",
        acknowledges="c'est (?:bien )?noté|bien noté|noté|j'ai pris note",
    ),
    "es": ClaimWords(
        active=(
            "he(?: (?:también|ya|ahora|acabado de))? {done}",
            r"(?=\w+[éí]\b){done}",
            "(?:acabo de|terminé de) {done}",
        ),
        noted="anotad[oa]s?|anot(?:é|ar|arlo)|apuntad[oa]s?|apunt(?:é|ar|arlo)|memorizad[oa]s?|memoricé"
        "|registrad[oa]s?|registré|(?:tomado|tomé) (?:buena )?nota|dejado constancia|dejé constancia",
        saved="guardad[oa]s?|guard(?:é|ar|arlo)|almacenad[oa]s?|archivad[oa]s?|archivé|grabad[oa]s?",
        added="añadid[oa]s?|añadí|agregad[oa]s?|agregué|escrito|escribí|puest[oa]s?|incluid[oa]s?|incluí|metido"
        "|metí|creado|creé|sumé|pasado|pasé",
        changed="borrad[oa]s?|borr(?:é|ar)|eliminad[oa]s?|eliminé|quitad[oa]s?|quité|modificad[oa]s?|modifiqué"
        "|corregid[oa]s?|corregí|actualizad[oa]s?|actualicé|cambiad[oa]s?|cambié|sustituid[oa]s?|sustituí"
        "|reemplazad[oa]s?|reemplacé|retirad[oa]s?|retiré|tachad[oa]s?|taché|movid[oa]s?|moví|suprimid[oa]s?"
        "|suprimí|renombré|renombrado",
        set="programad[oa]s?|programé|puse|configurad[oa]s?|configuré|establecid[oa]s?|establecí|cancelad[oa]s?"
        "|cancelé|anulad[oa]s?|anulé|fijad[oa]s?|fijé|activad[oa]s?|activé",
        notes=r"(?:la|una|tu|esa|esta|su|mi|las|tus|sus|mis|los|el|del|al)(?: \w+)? (?:notas?|memoria|fichas?"
        r"|entradas?|libreta|cuaderno|registros|apuntes|lista de (?:la )?\w+|dos líneas|dos filas)|tu lista"
        "|nota (?:sobre|de)|FILE",
        into="(?:en|a|al) (?:{notes})|(?:al|en) (?:registro|cuaderno)|en memoria",
        reminders="recordatorios?",
        that=r"eso|esto|todo|ello|(?:esa|esta|la) información|el dato|(?:lo|la|los|las) (?:he )?\w+(?=[\s,.;]"
        "|$)(?: (?:ya|todo|bien|para ti))?(?: para ti)? ?(?:$|[,;:–—])",
        passive=(
            "(?:ha|han) (?:sido|quedado) {done}",
            "(?:fue|fueron|quedó|quedaron|queda|quedan|ya está|ya están) {done}",
            r"recordatorios?(?: \S+){0,5}? {done}",
        ),
        state=(
            "(?:está|están|figura|figuran|consta|constan|queda|quedan)(?: (?:ya|ahora))? (?:{done}|{place})",
        ),
        now="ya|ahora|a partir de ahora",
        well="ok|vale|listo|de acuerdo|perfecto|gracias|hecho|entendido|claro|sí",
        not_done="no|nunca|nada|tú|usted|podría|puedo|habría",
        hypothetical="si|cuando|una vez|después|antes|creo|pienso|dice|dijo|podría",
        earlier="ayer|anteriormente|última vez|antes|nada|hace (?:días|tiempo|un|una|dos)|para el final",
        content=" que |: |, (?:para|porque|así)| para que ",
        other_texts="texto|carta|(?:tu|en el) código|código fuente|función|poema|frase|párrafo|error(?:es)?"
        "|faltas?|problemas?|borrador|correo|resumen|a continuación|abajo|tabla|receta|traducción|documento"
        "|siguientes?|comentarios|dos veces|incoherencias?|currículum|cv|artículo|capítulo",
        acknowledges="anotado|apuntado|tomo nota|tomada nota",
    ),
    "it": ClaimWords(
        active=(
            "(?:ho|l'ho|li ho|le ho)(?: (?:appena|anche|ora|già|subito))? {done}",
            "(?:mi sono|me lo sono|me la sono|me le sono|me li sono)(?: (?:appena|anche|subito))? {done}",
        ),
        noted="annotat[oaie]|segnat[oaie]|appuntat[oaie]|memorizzat[oaie]|registrat[oaie]|preso (?:buona )?nota"
        "|trascritt[oaie]",
        saved="salvat[oaie]|archiviat[oaie]|conservat[oaie]",
        added="aggiunt[oaie]|scritt[oaie]|mess[oaie]|inserit[oaie]|riportat[oaie]",
        changed="cancellat[oaie]|eliminat[oaie]|rimoss[oaie]|modificat[oaie]|corrett[oaie]|aggiornat[oaie]"
        "|cambiat[oaie]|tolt[oaie]|sostituit[oaie]|spostat[oaie]|rinominat[oaie]|depennat[oaie]|sistemat[oaie]"
        "|unit[oaie]",
        set="creat[oaie]|impostat[oaie]|programmat[oaie]|fissat[oaie]|annullat[oaie]|attivat[oaie]|disdett[oaie]",
        notes="(?:(?:nel|al|dal|sul)l[ae] |negli |agli |dagli |dai |nei |ai |la |le |una |quella |questa |tua "
        r"|tue |mia |mie |sua |l'|gli |i |dei |due |agli |tuoi |miei )(?:\w+ )?(?:not[ae]|appunti|memoria|sched[ae]"
        r"|voc[ei]|annotazion[ei]|taccuino|righe)|lista (?:della|delle|dei|di) \w+|nota (?:su|di)|FILE",
        into="(?:nell[ae'e]|nei|ne[lgi]+|all[ae']|agli|ai|al|sull[ae]|in|su|tra) ?(?:le |gli |i )?(?:(?:tu[aeo]"
        "|mi[aeo]|su[aeo]|tuoi|miei|suoi) )?(?:note|nota|appunti|memoria|sched[ae]|lista|taccuino|voce)|(?:in|su"
        "|nel|sotto|a) FILE",
        reminders="promemoria",
        that="quest[oa]|ciò|tutto|l'ho …|me lo …|(?:questa|l'|queste|le) ?informazion[ei]",
        passive=(
            r"(?:è|sono) stat[oaie](?: \w+mente)? {done}",
            r"promemoria(?: \S+){0,5}? {done}",
        ),
        state=("(?:è|sono|si trova|si trovano)(?: (?:ora|adesso|già))? (?:{done}|{place})",),
        now="ora|adesso|come (?:hai )?(?:chiesto|richiesto)",
        well="ok|va bene|d'accordo|perfetto|grazie|fatto|certo|ecco|sì",
        not_done="non|mai|nulla|niente|tu|potrei|posso|avrei",
        hypothetical="se|quando|una volta|dopo|prima|credo|penso|dice|disse|potrei",
        earlier="già|ieri|in precedenza|ultima volta|fa|nulla|niente",
        content=" che |: |, (?:così|perché)| perché ",
        other_texts="testo|lettera|nel codice|tuo codice|codice sorgente|funzione|poesia|frase|paragrafo|error[ei]"
        "|problem[ai]|bozza|mail|riassunto|sotto|seguent[ei]|tabella|ricetta|traduzione|documento|refus[oi]"
        "|incongruenze|cv|curriculum|articolo|capitolo",
        acknowledges="annotato|segnato|preso nota",
    ),
    "pt": ClaimWords(
        active=(
            r"(?=\w+i\b){done}",
            "(?:tenho|acabei de|acabo de) {done}",
            "(?:tomei|fiz) {done}",
        ),
        noted="anot(?:ei|ad[oa]s?|ar)|registr?(?:ei|ad[oa]s?)|regist(?:ei|ad[oa]s?)|memoriz(?:ei|ad[oa]s?)"
        "|apont(?:ei|ad[oa]s?)|(?:tomei )?(?:boa )?nota (?:disso|disto|d[aeo])|tomei nota",
        saved="salv(?:ei|ad[oa]s?|o)|guard(?:ei|ad[oa]s?)|grav(?:ei|ad[oa]s?)|armazen(?:ei|ad[oa]s?)|arquivei",
        added="adicion(?:ei|ad[oa]s?)|acrescent(?:ei|ad[oa]s?)|escrevi|inclu(?:í|i|íd[oa]s?)|inseri|inserid[oa]s?"
        "|coloquei|pus|lancei|criei|passei",
        changed="apag(?:uei|ad[oa]s?)|remov(?:i|id[oa]s?)|exclu(?:í|i|íd[oa]s?)|atualiz(?:ei|ad[oa]s?)|corrig(?:i"
        "|id[oa]s?)|alter(?:ei|ad[oa]s?)|elimin(?:ei|ad[oa]s?)|modifi(?:quei|cad[oa]s?)|tir(?:ei|ad[oa]s?)"
        "|retir(?:ei|ad[oa]s?)|troquei|substitu(?:í|i|íd[oa]s?)|mud(?:ei|ad[oa]s?)|risquei|movi|renomeei|acertei"
        "|ajustei",
        set="criad[oa]s?|defin(?:i|id[oa]s?)|program(?:ei|ad[oa]s?)|agend(?:ei|ad[oa]s?)|configur(?:ei|ad[oa]s?)"
        "|cancel(?:ei|ad[oa]s?)|marquei|ativei",
        notes="(?:a|as|o|os|da|das|do|dos|na|nas|no|nos|à|às|uma|essa|esta|sua|suas|tua|tuas|minha"
        r"|minhas)(?: (?:su|tu|minh)as?)?(?: \w+)? (?:notas?|anotaç(?:ão|ões)|memória|fichas?|registros|registos"
        r"|caderno|entradas?|duas linhas|linhas|lista de \w+|lista d[aeo]s? \w+)|FILE",
        into=r"(?=(?:n|à|a|em|p|sob|para)\w{0,3} )(?:{notes})|(?:n[ao]s?|em|a|à|para) (?:{notes})",
        reminders="lembretes?",
        that=r"isso|isto|tudo|(?:essa|esta|a) informação|essas informações|(?:já )?[oa]s? \w+ei$|\w+ei-[oa]s?",
        passive=(
            "(?:foi|foram|ficou|ficaram|está|estão|já está|já estão) {done}",
            r"lembretes?(?: \S+){0,5}? {done}",
        ),
        state=("(?:está|estão|consta|constam|fica)(?: (?:agora|já))? {place}",),
        now="agora|já",
        well="ok|certo|está bem|tudo bem|perfeito|obrigad[oa]|feito|pronto|combinado|claro|sim",
        not_done="não|nunca|nada|você|tu|poderia|posso|teria",
        hypothetical="se|quando|assim que|depois|antes|acho|creio|penso|diz|disse|poderia",
        earlier="ontem|anteriormente|última vez|atrás|nada",
        content=" que |: |, (?:para|porque|assim)| para (?:que|não|eu|você) ",
        other_texts="texto|carta|(?:no|seu|teu) código|código-fonte|função|poema|frase|parágrafo|erros?|problemas?"
        "|rascunho|e-?mail|resumo|abaixo|seguintes?|tabela|receita|tradução|documento|vírgulas|currículo|cv|artigo"
        "|capítulo",
        acknowledges="anotado|registrado|registado|tomei nota",
    ),
    "ru": ClaimWords(
        active=(
            "(?:^|[,;:] (?:и |а )?|(?:и|я|уже|только что|готово) )(?:(?:(?:уже|все|всё|это|себе|также|только что"
            "|теперь|тоже|их|его|её|ещё|у себя|для (?:вас|тебя)) ){0,3}){done}",
            "я (?:[^,;:]{0,40} )?{done}",
            "^(?:в|во|на|из|это|их|всё|все|о|об|про) (?:[^,;: ]+ ){0,3}{done}",
        ),
        noted="записал[аи]?|записан[аоы]?|запомнил[а]?|отметил[а]?|отмечен[аоы]?|зафиксировал[а]?"
        "|зафиксирован[аоы]?|зан[её]с(?:ла)?|занесен[аоы]?|занесён|вн[её]с(?:ла)?|внесен[аоы]?|внесён|пометил[а]?"
        "|выписал[а]?",
        saved="сохранил[а]?|сохран[её]н[аоы]?",
        added="добавил[а]?|добавлен[аоы]?|вписал[а]?|вписан[аоы]?|дописал[а]?|положил[а]?|написал[а]?|поставил[а]?"
        "|создал[а]?",
        changed="удалил[а]?|удал[её]н[аоы]?|изменил[а]?|измен[её]н[аоы]?|исправил[а]?|исправлен[аоы]?|обновил[а]?"
        "|обновл[её]н[аоы]?|ст[её]р(?:ла)?|ст[её]рт[аоы]?|убрал[а]?|убран[аоы]?|поправил[а]?|заменил[а]?"
        "|замен[её]н[аоы]?|вычеркнул[а]?|перен[её]с(?:ла)?|переименовал[а]?|поменял[а]?|уточнил[а]?",
        set="установил[а]?|установлен[аоы]?|поставлен[аоы]?|создан[аоы]?|запланировал[а]?|запланирован[аоы]?"
        "|настроил[а]?|настроен[аоы]?|отменил[а]?|отмен[её]н[аоы]?|завел[а]?|завёл|включил[а]?",
        notes=r"замет(?:к\w*|ок)|памят[ьи]|запис(?:ь|и|ях|ей)|карточк\w*|(?:обе|две) строк\w*|спис(?:ок|ке|ка) \w+"
        r"|блокнот\w*|FILE",
        into=r"(?:в|во|на|к|под) (?:\w+ ){0,2}?(?:{notes})",
        reminders="напоминани[еяй]",
        that=r"это|всё|все|(?:эту|вашу) информацию|эти данные|^сохран\w+$",
        passive=(
            r"(?=\w+(?:н|на|но|ны|т|та|то|ты)\b){done}",
            r"напоминани[ея](?: \S+){0,5}? {done}",
        ),
        well="хорошо|ок|окей|понял|поняла|спасибо|готово|да|сделано|ладно",
        not_done="не|никогда|ты|вы|он|она|они|бы|кто|мама|папа",
        hypothetical="если|когда|после|прежде|думаю|кажется|говорит|сказал[а]?|бы|судя",
        earlier="вчера|ранее|раньше|прошлый раз|назад|ничего|уже",
        content=", (?:что|чтобы|где|когда|как|кто)|: | — ",
        other_texts=r"текст\w*|письм\w*|в коде|(?:твой|ваш) код|функци\w*|стихотворени\w*|предложени\w*|абзац\w*"
        r"|ошибк\w*|ошибок|проблем\w*|черновик\w*|ниже|таблиц\w*|рецепт\w*|перевод\w*|документ\w*|следующ\w*"
        r"|изложени\w*|показания, копию|крыш\w*|резюме|стать\w*|глав[аеуы]",
        acknowledges="записал|записала|записано|запомнил|запомнила|отмечено|отметил|отметила",
    ),
    "zh": ClaimWords(
        active=(
            "(?:已经|已經|已|刚刚|剛剛|刚|剛)[^，。,;；]{0,30}?{done}",
            "(?:我|都|也)[^，。,;；]{0,30}?{done}[^，。,;；]{0,20}?了",
        ),
        noted="记下来?|記下來?|记住|記住|记好|記好|记录(?!是|显示|里|中|上)|記錄(?!是|顯示|裡"
        "|中|上)|记到|記到|记在|記在|记入|記入|记进|記進|写下来?|寫下來?|备注|備註|登记|登記|记了|記了",
        saved="保存|储存|儲存|存好|存到|存入|存进|存進|存下来?|收录|收錄",
        added="添加|加入|加到|加进|加進|加上|加好|写到|寫到|写进|寫進|写入|寫入|写在|寫在|放到|放进"
        "|放進|放入|列入|补充|補充|新建|建立",
        changed="删除|刪除|删掉|刪掉|删去|刪去|删了|刪了|移除|移到|更新|修改|更正|改成|改为|改為"
        "|改好|改过来|改過來|清除|去掉|划掉|劃掉|替换|替換|合并|合併",
        set="设置|設置|设定|設定|设好|設好|设了|設了|创建|創建|安排|取消|建好|定好|订好",
        notes="笔记|筆記|记忆|記憶|备忘录|備忘錄|日志|日誌|记录里|記錄裡|条目|條目|那条记录|记事本|清单"
        "|清單|档案|檔案|[两兩]行|FILE",
        into="(?:到|在|进|進|入|至|于)[^，。,]{0,12}?(?:{notes})|(?:{notes})(?:里|裡|裏|中|内|了|上)",
        reminders="提醒",
        that="^[^，。,]{0,12}$|下来|下來|这些|這些|这个|這個|此信息|都",
        passive=("{done}(?:到|进|進|入|在|于|於)?[^，。,;；]{0,20}?(?:了|里|裡|裏|中|FILE)",),
        well="好的?|明白了?|收到|行|没问题|沒問題|完成|搞定|，",
        not_done="不|没有?|沒有?|尚未|还没|還沒|未能|无法|無法|可以|能够|会|會|想|要|建议|建議"
        "|最好|应该|應該|请|請|每|别|才|(?<![为為帮幫替给給])[你您](?![的])|他|她|们|們",
        hypothetical="如果|要是|假如|当[^，]*时|之后|以后|觉得|覺得|说|說",
        earlier="昨天|之前|上次|以前|早些时候|去年|上周|吗|嗎|当时",
        content="：|:",
        other_texts="代码|函数|文章|段落|诗|信件|邮件|错误|錯誤|问题|問題|以下|下面|如下|表格"
        "|句子|草稿|食谱|翻译|总结|简历|简歷|章节|文稿|稿子|段",
        acknowledges="记下了|記下了|记住了|記住了|已记录|已記錄|已记下|已記下|记好了|記好了",
        is_spaced=False,
    ),
    "ja": ClaimWords(
        active=(
            "{done}(?:て|で)?(?:おき|あり|お)?(?:ました|ます(?=$))",
            "{done}(?:た|だ|ておいた|といた)よ?$",
            "{done}(?:済み|完了)",
        ),
        noted="メモし|メモを取り|メモを残し|メモ(?=済み)|記録し|記録(?=済み|完了|され)"
        "|覚え(?=て?お)|^覚え|、覚え|書き留め|書きとめ|控え|記憶し|記入し|書き込み|書き込ん",
        saved="保存し|保存(?=済み|完了|され)|登録し|登録(?=済み|完了|され)",
        added="追加し|追加(?=済み|完了|され)|書き加え|書き足し|書い|書き|入れ|加え|残し|載せ|まとめ"
        "|追記し|追記(?=済み)|作成し|作り",
        changed="削除し|削除(?=済み|完了|され)|更新し|更新(?=済み|完了|され)|修正し|修正(?=済み"
        "|され)|変更し|変更(?=され)|訂正し|消去し|消し|直し|取り除き|外し|移し|書き換え|差し替え|改め"
        "|整理し",
        set="設定し|設定(?=済み|完了|され)|セットし|キャンセルし|取り消し|解除し|入れ",
        notes="メモ(?!リ)|ノート|記憶|日誌|メモリー|覚え書き|リスト|[二2]行|FILE",
        into="(?:{notes})(?:の[^。、]{1,12})?(?:に|へ)(?!ついて|関)",
        reminders="リマインダー|リマインド|通知",
        that="それ|これ|その情報|この情報|そのこと|このこと|すべて|全部",
        passive=("{done}(?:されました|してございます)",),
        well="はい|了解です|承知しました|わかりました|かしこまりました|完了",
        not_done="あなた[がは]|お客様[がは]|彼[がは]|彼女[がは]|(?:さん|くん|先生)が(?![^。]*こと)|られ",
        hypothetical="もし|場合|と思",
        earlier="昨日|以前|前回|先日|すでに|既に|さきほど|先ほど|ましたか|ましたら|ましたが|ませんでした"
        "|ていません|世界記録|実験",
        content="：|:",
        other_texts="文章|文に|ら抜き|コード|関数|詩を|手紙|段落|誤り|ミス|間違い|以下|下記|次の"
        "|レシピ|翻訳|要約|実験|世界記録|漢字を覚え|下書き|履歴書|記事|原稿|資料",
        acknowledges="記録しました|メモしました|覚えました|承知しました|了解しました|了解です",
        is_spaced=False,
    ),
    "ko": ClaimWords(
        active=(
            "{done}(?:해|어|아|려|쳐)? ?(?:두었|뒀|놓았|놨|드렸)(?:습니다|어요|어|음|네요)",
            "^(?:네,? )?(?:[^ ,]+ ){0,2}?{done}(?:했|었|았|겼)(?:습니다|어요|어)",
        ),
        noted="메모|기록|적어|적|기억|받아 ?적|남겨",
        saved="저장|보관|등록",
        added="추가|써|넣어|넣|올려|올|작성|입력|포함|만들",
        changed="삭제|수정|변경|업데이트|제거|지|지워|고|고쳐|바|바꿔|정정|옮겨|옮|없애|뺐|교체|정리",
        set="설정|예약|취소|맞춰|맞",
        notes="메모장?(?!했|해)|노트|기억(?!했|해)|일지|항목|목록|수첩|[두2] 줄|기록(?=에|에서|을|은)|FILE",
        into="(?:{notes})에(?!서)|(?:{notes})(?:으로|로)",
        reminders="알림|리마인더|알람",
        that="이것|그것|이 정보|전부|모두|다 |^[^ ]+$|^네[,.]? [^ ]+$",
        passive=(
            "{done}(?:했|었|았|겼|렸|웠|꿨|꾸었|쳤)(?:습니다|어요|어|음|네요)",
            "{done}(?:되었|됐|돼 ?있)(?:습니다|어요|어)",
            "{done} ?(?:완료|됨)",
        ),
        well="네|알겠습니다|좋아요|완료",
        not_done="않|못|안 |당신이|사용자가|고객님이|그가|그녀가|님[이께]|^(?!제가"
        "|내가)[^ ]{1,5}[이가] (?!.*(?:되었|됐|돼))",
        hypothetical="만약|만일|라면|으면|아래에|표에|위에",
        earlier="이미|어제|지난번|예전에|전에|나요|습니까|않았|못했|들은",
        content=":",
        other_texts="글을|글에서|문장|코드|함수|시를|편지|단락|오타|오류|실수|문제|아래|다음과"
        "|표에|레시피|번역|요약|초안|이력서|기사|원고|자료",
        acknowledges="기록했습니다|메모했습니다|메모했어요|기억했습니다|기억할게요",
        is_spaced=False,
    ),
    "hi": ClaimWords(
        active=(
            "मैंने [^।]{0,80}?{done}(?: ?(?:कर|के))?(?: (?:लिया|ली|लिए|दिया|दी|दिए|किया|की|रखा"
            "|रखी|चुका|चुकी))(?: (?:है|हैं|हूँ))?(?=[ ,।]|$)(?! जा)",
            "मैंने [^।]{0,80}?{done}(?:ा|ी|े|या|ई)?(?: (?:है|हैं))?$",
        ),
        noted="नोट|लिख|दर्ज|याद (?:कर|रख)|अंकित",
        saved="सहेज|सेव|सुरक्षित|संभाल",
        added="जोड़|डाल|रख|शामिल|बना|चढ़ा",
        changed="हटा|मिटा|बदल|अपडेट|सुधार|ठीक|निकाल|संशोधित|डिलीट|काट",
        set="सेट|लगा|रद्द|तय",
        notes="नोट्स|नोट(?! (?:कर|किया|लिया))|नोटबुक|याददाश्त|मेमोरी|प्रविष्टि|सूची|(?:दोनों|दो) पंक्तियाँ|FILE",
        into="(?:{notes}) (?:में|से|पर)",
        reminders="रिमाइंडर|अनुस्मारक|याद दिलाने",
        that="यह|ये|इसे|उसे|इस बात|सब",
        passive=(
            "{done}(?: ?(?:कर|के))?(?: (?:लिया|ली|लिए|दिया|दी|दिए|चुका|चुकी))(?: (?:है|हैं|हूँ))(?=[ ,।]|$)",
            "{done}(?: (?:कर|हो))?(?: (?:दिया|दी|दिए|लिया|ली|लिए))? (?:गया|गई|गयी|गए)(?: (?:है"
            "|हैं))?(?=[ ,।]|$)",
        ),
        well="ठीक है|जी|हाँ|हो गया|अच्छा",
        not_done="नहीं|आपने|उसने|उन्होंने|तुमने|सकता|सकती|किसने|जो |जिस|ताकि|अक्सर|हमेशा",
        hypothetical="अगर|यदि|जब|(?<!मैं)ने (?!.*मैंने)",
        earlier="(?:था|थी|थे)(?=[ ,।]|$)|नहीं|पहले ही|पिछली बार|पहले से|कल मैंने|पिछले",
        content=" कि |:",
        other_texts="लेख|पत्र|चिट्ठी|कविता|कोड|फ़ंक्शन|वाक्य|गलती|ग़लती|समस्या|नीचे|तालिका"
        "|अनुवाद|सारांश|मसौदा|ईमेल|बायोडाटा|अध्याय",
        acknowledges="नोट (?:कर लिया|किया)(?: है| गया)?|दर्ज कर लिया(?: है)?",
        is_spaced=False,
    ),
    "ar": ClaimWords(
        active=("(?:و|ف|لقد |قد )?{done}",),
        noted="سجلت(?:ها|ه)?|دونت(?:ها|ه)?|قيدت(?:ها|ه)?|(?:تم|تمت) (?:ال)?(?:تسجيل|تدوين)(?:ها"
        "|ه)?|أخذت علما",
        saved="حفظت(?:ها|ه)?|خزنت(?:ها|ه)?|(?:تم|تمت) (?:ال)?(?:حفظ|تخزين)(?:ها|ه)?|احتفظت",
        added="أضفت(?:ها|ه)?|كتبت(?:ها|ه)?|وضعت(?:ها|ه)?|أدرجت(?:ها|ه)?|أدخلت(?:ها|ه)?|(?:تم"
        "|تمت) (?:إضافة|كتابة|إدراج)(?:ها|ه)?|أنشأت",
        changed="حذفت(?:ها|ه)?|عدلت(?:ها|ه)?|حدثت(?:ها|ه)?|صححت(?:ها|ه)?|أزلت(?:ها|ه)?|محوت(?:ها"
        "|ه)?|مسحت(?:ها|ه)?|غيرت(?:ها|ه)?|نقلت(?:ها|ه)?|استبدلت|شطبت|(?:تم|تمت) (?:ال)?(?:حذف"
        "|تعديل|تحديث|تصحيح|إزالة|مسح|تغيير|نقل)(?:ها|ه)?",
        set="ضبطت|عينت|ألغيت|أعددت|جدولت|(?:تم|تمت) (?:ضبط|إنشاء|تعيين|إلغاء|إعداد|جدولة|برمجة)|برمجت|حددت",
        notes="(?:ال)?ملاحظ(?:ات|ة|ت)(?:ك|ي|كم|ه|ها)?|ذاكرت[يك]|الذاكرة|(?:ال)?مدون(?:ات|ة)(?:ك"
        "|ي)?|(?:ال)?سجل(?:ات)?(?:ك|ي)|قائمة|بطاقة|السطرين|السطران|المدخل|القيد|FILE",
        into="(?:في|إلى|من|ضمن|على) (?:{notes})",
        reminders="(?:ال)?تذكير(?:ا|ات)?|(?:ال)?منبه",
        that=r"ذلك|هذا|هذه|كل شيء|^(?:لقد )?\w+(?:ها|ه)$|^(?:حسنا |تمام )?تم ال\w+$",
        well="حسنا|تمام|نعم|شكرا|طبعا",
        not_done="لم|لن|لا|هل|أنت|هو|هي|ما|يمكن|كما",
        hypothetical="إذا|لو|عندما|بعد أن|قبل أن|ربما|يمكن|بحسب|حسب",
        earlier="أمس|سابقا|من قبل|بالفعل|المرة الماضية|الماضي|الماضية",
        content=" أن |: | كي | حتى ",
        other_texts="النص|نص|رسالة|قصيدة|الكود|دالة|جملتك|الجملة|فقرة|خطأ|أخطاء|مشكلة|أدناه"
        "|التالي|التالية|جدول|ترجمة|مسودة|مفكرتي|السيرة الذاتية|المقال|مقال|الفصل",
        acknowledges="تم التسجيل|سجلت ذلك|تم الحفظ|تم تدوين ذلك|دونت ذلك",
    ),
    "th": ClaimWords(
        active=(
            "(?:ฉัน|ผม|ดิฉัน|เรา|หนู|ได้|เรียบร้อย)(?:ได้)?.{0,40}?{done}.{0,70}?(?:แล้ว|เรียบร้อย)",
            "^(?:{done}).{0,70}?(?:แล้ว|เรียบร้อย)",
        ),
        noted="จด(?!หมาย)|บันทึก(?!ของ|ถูก|ส่วน)|จำไว้|จำเรื่อง|จดจำ",
        saved="เก็บ|เซฟ",
        added="เพิ่ม|เขียน|ใส่|ลง",
        changed="ลบ|แก้ไข|แก้|อัปเดต|อัพเดต|เปลี่ยน|เอา|ย้าย",
        set="ตั้ง|สร้าง|ยกเลิก",
        notes="บันทึก|โน้ต|โน๊ต|ความจำ|สมุด|รายการ|FILE",
        into="(?:ไว้ใน|ลงใน|ลง|ใน|จาก|ออกจาก)(?:{notes})",
        reminders="แจ้งเตือน|เตือน",
        that="เรื่องนี้|สิ่งนี้|ข้อมูลนี้|ไว้|ให้|เรียบร้อย",
        passive=("(?:ถูก|ได้รับการ){done}.{0,40}?แล้ว",),
        well="โอเค|ได้|รับทราบ",
        not_done="ถ้า|หาก|เมื่อ|คุณได้|เขาได้|หลังจาก|ค้น|ไม่|ยัง|จะ|เขา|เธอ",
        hypothetical="ถ้า|หาก|เมื่อ|หลังจาก",
        earlier="เมื่อวาน|ก่อนหน้านี้|ครั้งก่อน|ครั้งที่แล้ว|ไม่ได้|ยังไม่|หรือยัง|ไหม",
        content=":|ว่า",
        other_texts="ข้อความ|โค้ด|ฟังก์ชัน|กลอน|จดหมาย|ประโยค|ย่อหน้า|ข้อผิดพลาด|ปัญหา|ด้านล่าง|ต่อไปนี้|ตาราง|สูตร|คำแปล",
        acknowledges="(?:จดไว้แล้ว|บันทึกแล้ว|รับทราบ)(?:ค่ะ|ครับ)?",
        is_spaced=False,
    ),
    "nl": ClaimWords(
        active=("(?:ik heb|heb ik|ik) (?:.{0,140}? )?{done}",),
        noted="genoteerd|opgeschreven|vastgelegd|onthouden|geregistreerd|aangetekend|bijgeschreven",
        saved="opgeslagen|bewaard",
        added="toegevoegd|gezet|geschreven|ingevuld|ingevoerd|aangevuld|aangemaakt|gemaakt",
        changed="verwijderd|gewist|gewijzigd|aangepast|verbeterd|gecorrigeerd|bijgewerkt|geschrapt|vervangen"
        "|verplaatst|veranderd|weggehaald|doorgestreept|hernoemd|weg|eruit",
        set="ingesteld|gemaakt|ingepland|geannuleerd|afgezegd|verzet|geplaatst",
        notes=r"(?:de|je|jouw|uw|mijn|die|deze|het|een|dit|dat)(?: \w+)? (?:notities?|aantekening(?:en)?|geheugen"
        r"|notitieboek|bestand|\w*lijstje|\w*lijst|regels?|vermelding(?:en)?|fiche|kaartje)|beide regels"
        "|twee regels|FILE",
        into="(?:in|aan|op|bij|onder) (?:{notes})",
        reminders="herinnering(?:en)?|wekker",
        that="het|dat|dit|alles|beide|die informatie",
        passive=(
            "(?:is|zijn|werd|werden|staat) (?:.{0,100}? )?{done}",
            r"herinnering(?: \S+){0,6}? {done}",
            "^(?:notitie|adres|nummer) {done}",
        ),
        state=("(?:staat|staan|is|zijn) …{place}",),
        now="nu|voortaan",
        well="oké|ok|goed|begrepen|bedankt|klaar|gedaan|prima|ja",
        not_done="niet|nooit|geen|je hebt|heb je|zou|kan|wordt|worden|heeft|hebben",
        hypothetical="als|wanneer|zodra|of|nadat|voordat|denk|geloof|zei|zegt",
        earlier="al|gisteren|eerder|vorige|destijds|niets",
        content=" dat (?=.*[ ,])|: |, (?:zodat|omdat|want)",
        other_texts=r"tekst|brief|code|functie|zin|gedicht|alinea|fout\w*|probleem|problemen|concept|mail"
        r"|samenvatting|hieronder|hierboven|volgende|tabel|recept|vertaling|document|voorbeeld\w*|cv|artikel"
        "|hoofdstuk",
        acknowledges="genoteerd|onthouden",
    ),
    "pl": ClaimWords(
        active=(
            r"(?=\w+(?:łem|łam)\b){done}",
            "(?:mam|już) {done}",
        ),
        noted=r"(?:za|od)?notowa(?:łe?m|łam|ne|no|ny|na)|zanotowa\w+|zapisa(?:łem|łam|ne|no|ny|na)|odnotowa\w+"
        "|zapamięta(?:łem|łam)|spisa(?:łem|łam)",
        saved=r"zachowa(?:łem|łam|ne|no|ny|na)|zarchiwizowa\w+",
        added="doda(?:łem|łam|ne|no|ny|na)|dopisa(?:łem|łam|ne|no|ny|na)|wpisa(?:łem|łam|ne|no|ny|na)"
        "|umieści(?:łem|łam)|wstawi(?:łem|łam)",
        changed=r"usun(?:ąłem|ęłam|ięte|ięto|ięty|ięta)|skasowa\w+|zmieni(?:łem|łam|one|ono|ony|ona)|poprawi(?:łem"
        r"|łam|one|ono|ony|ona)|zaktualizowa\w+|wykreśli(?:łem|łam)|zastąpi(?:łem|łam)|przeni(?:osłem|osłam)"
        "|wymaza(?:łem|łam)|starłem|starłam",
        set=r"ustawi(?:łem|łam|one|ony)|zaplanowa\w+|odwoła(?:łem|łam|ne)|anulowa\w+|utworzy(?:łem|łam)|utworzone"
        "|przesun(?:ąłem|ęłam)",
        notes=r"notat\w+|notes\w*|pamię(?:ć|ci)|wpis\w*|list\w+ (?:zakup\w+|rzeczy|zadań)|obie linijki|oba wiersze"
        r"|obie linie|plik\w*|FILE",
        into=r"(?:w|we|do|na|pod) (?:\w+ ){0,2}?(?:{notes})",
        reminders=r"przypomnieni\w+",
        that="to|wszystko|tę informację|te informacje",
        passive=(
            "(?:jest|są|został[aoy]?|zostały)(?: już)? {done}",
            r"przypomnienie(?: \S+){0,6}? {done}",
        ),
        state=(
            "(?:jest|są)(?: (?:już|teraz))? (?:{done}|{place})",
            "(?:jest|są) już …{place}",
        ),
        now="już|teraz|od teraz",
        well="dobrze|ok|okej|gotowe|jasne|dzięki|rozumiem|zrobione|tak",
        not_done="nie|nigdy|bym|byłoby|mogę|ty",
        hypothetical="jeśli|jeżeli|gdy|kiedy|zanim|gdyby|czy|myślę|chyba",
        earlier="wczoraj|wcześniej|poprzednio|niczego|temu|dawniej",
        content=", (?:że|żeby|bo|aby|gdzie|kiedy)|: ",
        other_texts=r"tekst\w*|list do|kod\w*|funkcj\w*|wiersz\b|zdani\w*|akapit\w*|błęd\w*|problem\w*|szkic\w*"
        r"|mail\w*|streszczeni\w*|poniżej|następując\w*|tabel\w*|przepis\w*|tłumaczeni\w*|dokument\w*|cv|artykuł\w*"
        r"|rozdzia\w*",
        acknowledges="zanotowane|zapisane|zanotowano|odnotowane",
    ),
    "uk": ClaimWords(
        active=(
            "(?:^|[,;:] (?:і |а )?|(?:і|я|вже|щойно|також) )(?:(?:вже|все|це|собі|також|щойно|тепер|їх|його|її"
            "|у себе) ){0,3}{done}",
            "я (?:[^,;:]{0,40} )?{done}",
            "^(?:в|у|на|із|з|це|їх|все|про) (?:[^,;: ]+ ){0,3}{done}",
        ),
        noted="записа(?:в|ла|но|ний|на|ні)|занотува(?:в|ла)|занотовано|запам'ята(?:в|ла)|відміти(?:в|ла)"
        "|позначи(?:в|ла)|внесено|вніс|внесла|занесено|заніс|занесла|зафіксува(?:в|ла)|зафіксовано",
        saved="збер(?:іг|егла|ежено|ежений|ежена)",
        added="дода(?:в|ла|но)|вписа(?:в|ла|но)|дописа(?:в|ла|но)|постави(?:в|ла)|створи(?:в|ла)",
        changed="видали(?:в|ла)|видалено|змінив|змінила|змінено|випра(?:вив|вила|влено)|онови(?:в|ла)|оновлено"
        "|стер(?:ла|то)?|прибра(?:в|ла|но)|заміни(?:в|ла)|замінено|викресли(?:в|ла)|перен(?:іс|есла|есено)"
        "|поправи(?:в|ла)|вилуч(?:ив|ила|ено)",
        set="встанови(?:в|ла)|встановлено|створено|поставлено|заплан(?:ував|увала|овано)|скасува(?:в|ла)|скасовано"
        "|налаштовано",
        notes=r"нотат\w*|пам'ят[ьі]|запис(?:и|ах|ів|у|ник\w*)?|картк\w*|обидва рядки|два рядки|спис\w* \w+|FILE",
        into=r"(?:в|у|до|на|під) (?:\w+ ){0,2}?(?:{notes})",
        reminders="нагадування",
        that=r"це|все|усе|цю інформацію|^збер\w+$|показник\w*",
        passive=(
            r"(?=\w+(?:но|то|ний|на|ні|та|ті|тий)\b){done}",
            r"нагадування(?: \S+){0,6}? {done}",
        ),
        well="добре|ок|зрозуміло|дякую|готово|так|зроблено",
        not_done="не|ніколи|ти|ви|він|вона|вони|би|б|хто",
        hypothetical="якщо|коли|після|перш|думаю|здається|каже|сказа(?:в|ла)",
        earlier="вчора|раніше|минулого|тому|нічого|вже",
        content=", (?:що|щоб|де|коли|як|хто)|: | — ",
        other_texts=r"текст\w*|лист\b|листі|код\w*|функці\w*|вірш\w*|речен\w*|абзац\w*|помилк\w*|проблем\w*"
        r"|чернетк\w*|нижче|таблиц\w*|рецепт\w*|переклад\w*|документ\w*|наступн\w*|резюме|статт\w*|розділ\w*",
        acknowledges="записав|записала|записано|занотовано|запам'ятав|запам'ятала",
    ),
    "tr": ClaimWords(
        active=(r"(?=[\w ]+(?:dım|dim|dum|düm|tım|tim|tum|tüm|dık|dik|tik|tık)\b){done}",),
        noted="not (?:ettim|aldım|düştüm|edildi|alındı)|kaydettim|kaydedildi|yazıp …koydum|aklıma yazdım",
        saved="sakladım|saklandı|kayda (?:aldım|geçirdim|geçti)",
        added="ekledim|eklendi|yazdım|yazıldı|koydum|girdim|işledim|işlendi|oluşturdum",
        changed="sildim|silindi|değiştirdim|değiştirildi|düzelttim|düzeltildi|güncelledim|güncellendi|kaldırdım"
        "|kaldırıldı|çıkardım|çıkarıldı|taşıdım",
        set="kurdum|kuruldu|ayarladım|ayarlandı|oluşturuldu|iptal (?:ettim|edildi)|erteledim|ertelendi",
        notes=r"not(?:u|un|lar\w*|a|umu|unu|larım\w*)?|hafıza\w*|bellek|belleğ\w*|kayıt\w*|kayd\w*|liste\w*"
        r"|\w+ listesi\w*|iki satır\w*|FILE",
        into="not(?:a|larıma|larına|larımıza|lara|una|larda|larında|larımda)|(?:alışveriş "
        r"|yapılacaklar )?listesi?(?:ne|nize|ye)|listene|hafızama|belleğe|kayıtlara|FILE(?:'\w+)?",
        reminders=r"hatırlatıcı\w*|hatırlatma\w*|alarm\w*",
        that="bunu|bunları|hepsini|onu|bu bilgiyi",
        passive=(
            r"(?=[\w ]+(?:dı|di|du|dü|tı|ti|tu|tü)\b){done}",
            r"hatırlatıcı(?: \S+){0,6}? {done}",
        ),
        state=("(?:artık|şimdi) …{place}",),
        now="artık|şimdi",
        well="tamam|peki|oldu|teşekkürler|anladım|evet|hallettim",
        not_done="değil|hiç|sen|siz|eğer",
        hypothetical="eğer|sanırım|galiba|önce|sonra|göre",
        earlier="dün|daha önce|geçen|hiçbir|zaten",
        content=": ",
        other_texts=r"metn\w*|metin\w*|cümle\w*|mektu\w*|kod\w*|fonksiyon\w*|şiir\w*|paragraf\w*|hata\w*|sorun\w*"
        r"|taslak\w*|aşağıda\w*|tablo\w*|tarif\w*|çeviri\w*|belge\w*|özgeçmiş\w*|makale\w*|bölüm\w*",
        acknowledges="not (?:ettim|aldım|edildi|alındı)|kaydettim",
    ),
    "sv": ClaimWords(
        active=("(?:jag har|har jag|jag)(?: .{0,100}?)? {done}",),
        noted="antecknat|antecknade|antecknad|noterat|noterade|noterad|skrivit (?:upp|ner|in)|skrev (?:upp|ner|in)"
        "|bokfört|uppskriv(?:et|en)|registrerat|lagt på minnet",
        saved="sparat|sparade|sparad|sparats|lagrat|arkiverat",
        added="lagt (?:till|in)|lade (?:till|in)|lade|lagt|satt upp|fört in|förde in|skapat|skapade|infört|skrivit"
        "|tillagd|tillagt",
        changed="tagit bort|tog bort|raderat|raderade|raderad|raderats|ändrat|ändrade|ändrad|ändrats|rättat"
        "|rättade|rättad|uppdaterat|uppdaterade|uppdaterad|uppdaterats|strukit|strök|struken|bytt|flyttat|flyttade"
        "|ersatt|borttagen|borttaget|borttagna|bort|korrigerat",
        set="ställt in|ställde in|satt|satte|lagt in|skapad|inställd|avbokat|inlagd|avbeställt|schemalagt|ordnat",
        notes=r"anteckning\w*|notis\w*|minnet|mitt minne|loggen|\w*listan|din lista|posten|båda raderna"
        "|de två raderna|filen|kortet|FILE",
        into="(?:i|till|på|under|in i) (?:(?:dina|mina|din|min|den|de) )?(?:{notes})",
        reminders=r"påminnelse\w*|larm\w*|alarm\w*",
        that="det|detta|allt|båda|den informationen|dem",
        passive=(
            "(?:är|har)(?: (?:nu|blivit))? {done}",
            r"påminnelse\w*(?: \S+){0,6}? {done}",
            r"\w+en {done}",
        ),
        state=("(?:står|finns|ligger|är) …{place}",),
        now="nu|numera",
        well="okej|ok|klart|tack|uppfattat|fixat|visst|ja|bra",
        not_done="inte|aldrig|inga|inget|du|skulle|kan|kunde|ska",
        hypothetical="om|när|innan|efter att|tror|sa|säger|ifall",
        earlier="redan|igår|tidigare|förra|sist|ingenting|inget",
        content=" att |: |, (?:så|för|eftersom)",
        other_texts=r"text\w*|brev\w*|kod\w*|funktion\w*|dikt\w*|mening\w*|stycke\w*|fel\b|stavfel|problem\w*"
        r"|utkast\w*|mejl\w*|sammanfattning\w*|nedan|ovan|följande|tabell\w*|recept\w*|översättning\w*|dokument\w*"
        r"|cv|artikel\w*|kapitel\w*",
        acknowledges="antecknat|noterat",
    ),
    "cs": ClaimWords(
        active=(
            "(?:jsem(?: si)?(?: (?:to|také|ještě|hned))?|mám) (?:.{0,60}? )?{done}",
            "{done} jsem",
        ),
        noted="poznamenal[aio]?|poznamenán[aoy]?|zapsal[aio]?|zapsán[aoy]?|zapsané|zaznamenal[aio]?"
        "|zaznamenán[aoy]?|zapamatoval[aio]?|zaznačil[aio]?|napsal[aio]? si",
        saved="uložil[aio]?|uložen[aoy]?|archivoval[aio]?",
        added="přidal[aio]?|přidán[aoy]?|doplnil[aio]?|doplněn[aoy]?|připsal[aio]?|vložil[aio]?|dopsal[aio]?"
        "|vytvořil[aio]?|dal[aio]?",
        changed="smazal[aio]?|smazán[aoy]?|odstranil[aio]?|odstraněn[aoy]?|změnil[aio]?|změněn[aoy]?|opravil[aio]?"
        "|opraven[aoy]?|aktualizoval[aio]?|aktualizován[aoy]?|vymazal[aio]?|vymazán[aoy]?|škrtl[aio]?"
        "|vyškrtl[aio]?|nahradil[aio]?|přesunul[aio]?|přepsal[aio]?|upravil[aio]?",
        set="nastavil[aio]?|nastaven[aoy]?|naplánoval[aio]?|zrušil[aio]?|zrušen[aoy]?|vytvořen[aoy]?|posunul[aio]?",
        notes=r"poznám\w+|pamě(?:ť|ti)|zápis\w*|záznam\w*|oba řádky|řádky|seznam\w* \w+|kart\w+|FILE",
        into=r"(?:v|ve|do|na|k|mezi|pod) (?:\w+ ){0,2}?(?:{notes})",
        reminders=r"připomínk\w+|upozornění",
        that="to|vše|všechno|obojí|tu informaci|tyto informace",
        passive=(
            "(?:je|jsou|byl[aoiy]?)(?: (?:už|nyní|teď))? {done}",
            r"připomínka(?: \S+){0,6}? {done}",
        ),
        state=("(?:je|jsou)(?: (?:teď|nyní|už))? (?:{done}|{place})",),
        now="teď|nyní|už",
        well="dobře|ok|hotovo|jasně|díky|rozumím|jistě|ano|výborně",
        not_done="ne|nikdy|bych|by|ty|jsi|jste|můžu|mohu",
        hypothetical="jestli|pokud|když|až|než|kdyby|myslím|prý",
        earlier="včera|dříve|minule|předtím|nic|naposledy",
        content=", (?:že|ať|aby|protože|kde|kdy)|: ",
        other_texts=r"text\w*|dopis\w*|kód\w*|funkc\w*|báse\w*|vět\w*|odstav\w*|chyb\w*|problém\w*|koncept\w*"
        r"|e-mail\w*|shrnutí|níže|následující\w*|tabul\w*|recept\w*|překlad\w*|dokument\w*|životopis\w*|člán\w*"
        r"|kapitol\w*",
        acknowledges="poznamenáno|zapsáno|zaznamenáno",
    ),
}
