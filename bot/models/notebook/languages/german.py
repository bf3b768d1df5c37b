"""German."""

from bot.models.notebook.language import Language, RefusalTexts, Replies, phrases

GERMAN = Language(
    code="de",
    say=Replies(
        noted="Notiert in {places}.",
        already_noted="Das steht schon in {places}.",
        place="`{path}`, Zeile {line}",
        lines="`{path}`, Zeilen {lines}",
        found="Aus deinen Notizen:",
        close="Ich bin nicht sicher, ob du das meinst, aber es kommt dem nahe:",
        said="Aus unserem Gespräch vom {date}:",
        since="Seit {date}: {text}",
        before_that="Davor, ab {date}: {text}",
        nothing="Dazu finde ich nichts in deinen Notizen. Vielleicht helfen andere Worte; wenn ich es mir merken "
        "soll, beginne mit „Merk dir“.",
        hello="Ich bewahre deine Notizen auf und finde sie wieder. Sag mir etwas, zum Beispiel „Merk dir, dass "
        "der Ersatzschlüssel bei Tom liegt“, oder frag: „Wo ist der Ersatzschlüssel?“ Oder sag: „Erinnere mich "
        "morgen um 9 an den Zahnarzt.“",
        what="Was soll ich mir merken?",
        cannot_note="Hier kann ich nichts notieren: In diesem Chat habe ich keinen Zugang zum Gedächtnis.",
        cannot_find="Hier kann ich nicht nachsehen: In diesem Chat habe ich keinen Zugang zum Gedächtnis.",
        closed="In Gruppen ist das Gedächtnis aus, bis ein Eigentümer `/memory on` schickt.",
        not_noted="Das konnte ich nicht notieren: {error}",
        not_found="Ich konnte deine Notizen nicht durchsuchen: {error}",
        thanks="Gern geschehen.",
        fine="In Ordnung.",
        cannot_do="Ich bewahre nur Notizen auf und finde sie wieder, das kann ich also nicht. Soll "
        "ich es notieren, beginne mit „Merk dir“.",
        cannot_read="In Bilder, Dateien und Sprachnachrichten kann ich nicht hineinsehen; ich bewahre nur "
        "Notizen auf und finde sie wieder.",
        keep_how="Soll das Dokument in deine Notizen, sag „Merk dir das“.",
        notice="Ich bin das eingebaute Notizbuch: Ich merke mir etwas, finde es wieder und erinnere dich. "
        "Für mehr braucht es ein Sprachmodell: Auf dem Rechner, auf dem ich laufe, fragt "
        "`commonplace init model`, welches es sein soll, und probiert es aus. Mit Ollama läuft es auf "
        "deinem eigenen Rechner und braucht keinen Schlüssel; alle anderen zeigt docs/models.md.",
        reminded="Erinnerung {number} für {due}: {text}",
        reminded_again="Erinnerung {number}, {when}: {text}. Das erste Mal am {due}.",
        while_open="Erinnern kann ich dich nur, solange Commonplace läuft; sonst siehst du es beim nächsten Mal.",
        not_reminded="Diese Erinnerung konnte ich nicht anlegen: {error}",
        remind_when="Wann soll ich dich erinnern? Ich habe keinen Zeitpunkt gefunden, den ich verstehe. "
        "Antworte mit einem, etwa „morgen um 9“ oder „in 20 Minuten“, oder schick `/remind morgen um 9 Tom "
        "anrufen`.",
        remind_what="Woran soll ich dich erinnern? Antworte damit, oder schick `/remind morgen um 9 Tom anrufen`.",
        refused=RefusalTexts(
            past="Das liegt in der Vergangenheit.",
            no_time="{time} ist keine gültige Uhrzeit (00:00 bis 23:59).",
            no_date="Dieses Datum finde ich im Kalender nicht.",
            unclear_date="Dieses Datum ist nicht eindeutig. Jahr-Monat-Tag geht immer: `2026-12-03`.",
            one_time="Eine Erinnerung braucht einen einzigen Zeitpunkt. Für mehrere leg bitte mehrere "
            "Erinnerungen an.",
            no_event="Einen Zeitpunkt vor oder nach etwas anderem kann ich nicht berechnen. Nenn mir "
            "bitte die Zeit selbst.",
            no_exceptions="Ich kann keine Tage auslassen. Zähl bitte die Tage auf, die du möchtest.",
            no_end="Ein Ende kann ich nicht festlegen. Lass es bitte weg; später kannst du die "
            "Erinnerung mit `/reminders cancel N` beenden.",
            no_rule="So kann ich es nicht wiederholen. Zum Beispiel geht: `jeden Montag um 8:00`.",
            what_hour="Um wie viel Uhr heute?",
            unclear="Ich bin nicht sicher, welchen Zeitpunkt du meinst.",
        ),
        forget="Um das überall zu löschen, schick `{command}`. Ich zeige dir vorher, was wegfällt.",
        forget_nothing="Dazu finde ich nichts in deinen Notizen. Um etwas zu löschen, schick "
        "`/forget WORTE` mit Worten, die in der Notiz stehen.",
        correct="Um eine Notiz zu berichtigen, schick `{command}` mit dem richtigen Text.",
        corrected="Berichtigt: In {place} steht jetzt „{new}“ statt „{old}“. Zum Zurücknehmen sag „rückgängig“.",
        removed="Aus {place} entfernt: „{old}“. Zum Zurückholen sag „rückgängig“.",
        nothing_to_undo="Es gibt nichts rückgängig zu machen: In unseren letzten Nachrichten habe ich nichts notiert "
        "oder geändert.",
        undo_older="Meine letzte Änderung ist zu lange her, oder es steht jetzt etwas anderes da. "
        "`/undo` nimmt deine letzte Änderung an den Notizen zurück, `/changes` listet sie auf.",
        back="Wieder in {place}: „{text}“.",
        which_words="Welche Wörter soll ich ändern? In der Zeile steht „{text}“. Schick mir bitte den ganzen "
        "neuen Satz.",
        reminder_moved="Verschoben: Ich erinnere dich am {due}: {text} (Erinnerung {number}). Zum Zurücknehmen sag "
        "„rückgängig“.",
        reminder_cancelled="Erinnerung {number} gestrichen: {text}. Zum Zurückholen sag „rückgängig“.",
        no_such_reminder="Ich habe nichts gestrichen: {error}",
        good_night="Gute Nacht!",
        goodbye="Bis bald!",
        clock="Es ist {time} Uhr ({zone}).",
        day="Heute ist {weekday}, der {date}.",
        list_notes="`/memory list` zeigt, welche Notizen es gibt, und `/memory get MEMORY.md` zeigt eine davon.",
        reminders="`/reminders` zeigt deine Erinnerungen.",
        cancel_reminder="Um eine Erinnerung zu streichen, schick `{command}`. Die Nummern zeigt `/reminders`.",
        reminders_are="Deine Erinnerungen:",
        reminders_none="Du hast keine Erinnerungen.",
        on_day="Für {day}:",
        on_day_nothing="Für {day} habe ich keine Erinnerungen und keine Notizen.",
        about_you="Aus `MEMORY.md`, das ich immer zur Hand habe:",
        about_you_nothing="Über dich habe ich noch nichts immer zur Hand. `/remember core: TEXT` legt etwas "
        "dort ab; alles andere durchsucht `/recall WORTE`.",
        today="Aus den Notizen von heute:",
        today_nothing="Für heute gibt es noch keine Notizen.",
        rest="`/memory get {path}` zeigt alles.",
        leave="Zum Verlassen im Terminal exit eingeben oder Strg-D drücken. Deine Notizen bleiben.",
    ),
    verb_last_after=phrases("dass|daß"),
    verb_second=phrases("ich|wir|er|sie|es"),
    ordinal_dots=True,
    abbreviations=phrases(
        "dr|prof|hr|fr|nr|str|ca|bzw|bspw|ggf|evtl|inkl|zzgl|tel|st|max|min|geb|vgl|sog|jan|feb|aug|sept"
        "|okt|nov|dez"
    ),
    hints=phrases(
        "unser|unsere|unserem|unseren|in|der|die|das|den|dem|des|ein|eine|einen|einem|einer|und|ist"
        "|sind|nicht|mein|meine|meinen|meinem"
        "|meiner|dein|deine|im|auf|mit|für|von|zu|zum|zur|bei|beim|dass|daß|auch|noch|aber|oder|aus|nach"
        "|über|um|seit|sich|mir|mich|dir|dich|uns|am|heute|morgen|gestern"
    ),
    letters="äöüß",
    accents="äöüß",
    please=phrases("bitte|mal|bitte mal|doch"),
    before=phrases("hey|hallo|hi|ok|okay|also|und|so|commonplace|du sollst|du musst|ich möchte, dass du|ach"),
    could_you=phrases("kannst du|könntest du|würdest du|können sie|könnten sie|magst du"),
    remember=phrases(
        "merk dir|merke dir|merk's dir|merkt euch|merken sie sich|dir merken|dir bitte merken|sich merken"
        "|merken:|notier|notiere|notier dir|notiere dir|notieren sie|notieren|notiz an mich|notiz:"
        "|schreib auf|schreibe auf|schreib dir auf|schreibe dir auf|schreib es auf|aufschreiben"
        "|vergiss nicht|vergiß nicht|vergiss bitte nicht|vergessen sie nicht|nicht vergessen|denk dran"
        "|denk daran|denke daran|denke dran|behalte im kopf|behalt im kopf|halte fest|halt fest"
        "|speicher das|speichere das|speichere:|zur info|nur zur info|zu deiner information|zur kenntnis"
        "|übrigens"
    ),
    recall=phrases("zur info|nur zur info|übrigens"),
    this=phrases("folgendes|das|das folgende|dies|es"),
    that=phrases("dass|daß|an|zu"),
    for_ever=phrases("für immer|dauerhaft|auf dauer|immer|ins langzeitgedächtnis"),
    never_forget=phrases("vergiss nie|vergiss niemals|vergiß nie|vergessen sie nie"),
    remember_end=phrases(
        "merk dir das|merke dir das|merk dir das bitte|bitte merken|bitte merk dir das|nicht vergessen"
        "|bitte nicht vergessen|vergiss das nicht|notier das|notiere das|bitte notieren|notier dir das"
        "|schreib das auf|schreib dir das auf|zur info|nur zur info|nur damit du es weißt"
    ),
    mentions=phrases(
        "zur info|nur zur info|zu deiner information|zur kenntnis|übrigens|nur damit du es weißt"
    ),
    keep=phrases(
        "speicher|speichere|speichern|sichere|sichern|behalte|behalt|behalten|archiviere|archivieren|leg"
        "|lege|ablegen|heb|hebe|aufheben|bewahre|aufbewahren"
    ),
    document=phrases("dokument|dokumente|datei|dateien|pdf|anhang|unterlage|unterlagen"),
    search=phrases(
        "suche|such|such nach|suche nach|such mir|suche mir|durchsuche meine notizen nach"
        "|such in meinen notizen nach|finde|find|finde heraus|zeig mir|zeige mir|sag mir|sage mir"
        "|erzähl mir von|erzähl mir über|erzähle mir von|erzähle mir über|erzähl mir etwas über|schlag nach"
        "|schau nach|sieh nach|weißt du|weisst du|was weißt du über|was weisst du über|was habe ich über"
        "|erinnerst du dich an|erinnerst du dich|was weißt du noch über|gib mir"
    ),
    remind=phrases(
        "erinnere mich|erinner mich|erinnere uns|erinner uns"
        "|stell einen wecker|stelle einen wecker|stell mir einen wecker|weck mich|wecke mich"
        "|setze eine erinnerung|erstelle eine erinnerung|erinnerung:"
    ),
    remind_end=phrases("erinnern"),
    reminder_links=phrases("mich|uns|daran, dass|daran dass|daran|dass|an den|an die|an das|an|zu|ans"),
    forget=phrases("lösche|lösch|vergiss|entferne|streiche|streich"),
    forget_fillers=phrases(
        "der|die|das|den|dem|des|ein|eine|einen|einem|einer|mein|meine|meinen|meinem|meiner|dein"
        "|deine|deinen|diese|diesen|dieses|notiz|notizen|eintrag|einträge|zu|zum|zur|über|von|vom"
        "|mit|was|ich|du|dir|habe|gesagt|alles|alle|bitte"
    ),
    change=phrases("korrigiere|korrigier|berichtige|ändere|änder|aktualisiere"),
    denials=phrases("nein|nee|falsch"),
    wrong=phrases(
        "das ist falsch|das stimmt nicht|stimmt nicht|falsch|das ist nicht richtig|nicht richtig"
        "|das ist nicht wahr|das ist verkehrt|das ist ein fehler|das war falsch|das meinte ich nicht"
        "|so meinte ich das nicht|das habe ich nicht gemeint|das habe ich nicht gesagt|du irrst dich"
        "|du liegst falsch"
    ),
    corrects=phrases(
        "ich meinte|ich meine|ich wollte sagen|gemeint war|gemeint ist|korrektur|richtig ist"
        "|richtig wäre|es muss heißen|es sollte heißen|es soll heißen|ändere das zu"
        "|ändere das in|sondern"
    ),
    amends=phrases(
        "eigentlich|entschuldigung|entschuldige|sorry|moment|warte|vielmehr|quatsch|tut mir leid|verzeihung"
    ),
    pronouns=phrases(
        "es|es ist|er|er ist|sie|sie ist|das ist|es sind|sie sind|ist es|ist er|ist sie"
        "|sind es|es war|er war|sie war|der ist|die ist"
    ),
    copulas=phrases("ist|sind|bin|war|waren|heißt|heiße|lautet"),
    instead=(
        r"(?:(?:es|das|er|sie|ich) (?:ist|sind|war|bin) )?"
        r"(?:nicht|kein|keine|keinen) (?P<old>[^,;.]+?)(?:,| sondern) *(?:sondern )?(?:"
        r"(?:es|das|er|sie) (?:ist|sind|war) )?(?P<new>[^,;.]+)",
        r"(?:(?:es|das) (?:ist|sind|war) )?(?P<new>[^,;.]+?)(?:, "
        r"(?:und )?nicht| und nicht| statt| anstatt| nicht) (?P<old>[^,;.]+)",
    ),
    forget_that=phrases(
        "vergiss das|vergiss das wieder|vergiss die letzte notiz|vergiss, was ich gesagt habe"
        "|lösche das|lösch das|lösche das wieder|lösch das wieder|lösche die letzte notiz"
        "|lösch die letzte notiz|entferne das|streich das|streiche das|storniere das|stornier das"
        "|brich das ab|sag das ab|streich das wieder|streiche das wieder"
        "|streich die erinnerung wieder"
    ),
    undo=phrases(
        "rückgängig|mach das rückgängig|mache das rückgängig|rückgängig machen"
        "|nimm das zurück|stell das wieder her|stelle das wieder her"
    ),
    clock=phrases(
        "wie spät ist es|wie spät ist es jetzt|wie spät|wie viel uhr ist es|wieviel uhr ist es"
        "|wie viel uhr haben wir|sag mir die uhrzeit|wie ist die uhrzeit"
        "|weißt du, wie spät es ist|sag mir, wie spät es ist"
    ),
    day=phrases(
        "welcher tag ist heute|welchen tag haben wir heute|welchen tag haben wir"
        "|welches datum ist heute|welches datum haben wir|welches datum haben wir heute"
        "|was ist heute für ein tag|was für ein tag ist heute|der wievielte ist heute"
        "|den wievielten haben wir heute|wie ist das datum|welcher wochentag ist heute"
        "|was ist das heutige datum|was ist heute für ein datum"
    ),
    good_night=phrases("gute nacht|nacht|schlaf gut|schlafen sie gut|träum schön|schlaf schön"),
    goodbye=phrases(
        "tschüss|tschüs|tschau|auf wiedersehen|bis bald|bis später|bis morgen|bis dann"
        "|mach's gut|schönen tag|schönen tag noch|einen schönen tag|schönen abend|schönen abend noch"
    ),
    weekday_names=phrases("Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag"),
    list_notes=phrases(
        "zeig alle notizen|zeige alle notizen|zeig mir alle notizen|zeige mir alle notizen"
        "|zeig mir alle meine notizen|zeig alle meine notizen|zeig mir meine notizen"
        "|zeige mir meine notizen|zeig meine notizen|zeige meine notizen|liste alle notizen auf"
        "|liste meine notizen auf|liste alle notizen|alle notizen anzeigen|notizen anzeigen"
        "|welche notizen habe ich|welche notizen gibt es|alle notizen|alle meine notizen"
        "|meine notizen|was hast du notiert"
    ),
    list_reminders=phrases(
        "was sind meine erinnerungen|welche erinnerungen habe ich|welche erinnerungen gibt es"
        "|zeig meine erinnerungen|zeige meine erinnerungen|zeig mir meine erinnerungen"
        "|zeige mir meine erinnerungen|zeig alle erinnerungen|zeige alle erinnerungen"
        "|meine erinnerungen|erinnerungen|habe ich erinnerungen|woran erinnerst du mich"
    ),
    cancel_reminder=(
        r"(?:(?:lösch|lösche|streich|streiche|entferne|storniere|stornier|vergiss|beende|stopp"
        r"|stoppe) (?:(?:die|meine|alle|diese|letzte) )*erinnerung(?:en)?(?= *(?:$|[#\d]|(?:nr"
        r"|nummer|an|für|um|am|mit|bitte|daran|dass)\b))|(?:erinnere?|erinner"
        r") mich (?:bitte )?nicht(?: mehr| länger)?\b|hör auf, ?mich )"
    ),
    today_words=phrases("heute|heute abend"),
    tomorrow_words=phrases("morgen"),
    on_day=phrases(
        "was ist … los|was steht … an|was steht am … an|was steht … auf dem programm"
        "|was steht … auf dem plan|was habe ich … vor|was hab ich … vor|was habe ich am … vor"
        "|was habe ich …|was hab ich …|was gibt es …|was gibt's …|was liegt … an"
        "|was ist … geplant|was ist für … geplant|was muss ich … tun|was muss ich … machen"
        "|was muss ich … erledigen|habe ich … etwas vor|habe ich … was vor|habe ich … termine"
        "|welche termine habe ich …|steht … etwas an|was kommt …|was ist …|was ist … dran"
        "|welche erinnerungen habe ich …|welche erinnerungen habe ich für …"
    ),
    paraphrases=(
        phrases(
            "mein name|meinen namen|ich heiße|heiße ich|ich heisse|heisse ich|nenn mich|nenne mich"
            "|man nennt mich"
        ),
        phrases(
            "wohne ich|ich wohne|wohnen wir|wir wohnen|lebe ich|ich lebe|meine adresse|meine anschrift"
            "|mein wohnort|ich bin nach|wir sind nach"
        ),
        phrases(
            "mein geburtstag|meinen geburtstag|ich geburtstag|ich habe geburtstag|bin ich geboren"
            "|ich bin geboren|ich wurde geboren|mein geburtsdatum|alt bin ich"
        ),
        phrases("arbeite ich|ich arbeite|mein beruf|mein job|meine arbeit|mein arbeitgeber"),
    ),
    about_me=phrases(
        "was weißt du über mich|was weisst du über mich|was weißt du von mir"
        "|was hast du über mich notiert|wer bin ich|sag mir, was du über mich weißt"
        "|erzähl mir von mir|was steht in deinem gedächtnis"
    ),
    today=phrases(
        "was ist heute passiert|was war heute|was war heute los|was ist heute geschehen"
        "|was habe ich heute gemacht|was habe ich heute gesagt|was habe ich dir heute gesagt"
        "|was habe ich heute erzählt|was hast du heute notiert|zeig die notizen von heute"
        "|zeig mir die notizen von heute|die notizen von heute|notizen von heute|heutige notizen"
    ),
    add_model=phrases(
        "wie füge ich ein modell hinzu|wie füge ich ein sprachmodell hinzu"
        "|wie kann ich ein modell hinzufügen|wie kann ich ein sprachmodell hinzufügen"
        "|wie richte ich ein modell ein|wie richte ich ein sprachmodell ein"
        "|wie verbinde ich ein modell|wie verwende ich ein modell|modell hinzufügen"
        "|sprachmodell hinzufügen|wie bekomme ich ein sprachmodell"
        "|welche modelle kann ich verwenden|wie nutze ich ollama|wie nutze ich chatgpt"
        "|wie verwende ich ollama|wie verwende ich chatgpt"
    ),
    date="%d.%m.%Y um %H:%M",
    orders=phrases(
        "schreib mir|schreibe mir|schreib ein|schreib eine|schreib einen|schreibe ein|schreibe eine"
        "|schreibe einen|dichte|übersetze|übersetz|berechne|rechne|zeichne mir|zeichne ein|zeichne eine"
        "|zeichne einen|mal mir|male mir|öffne|öffne mir|schalte|schalt|mach das licht|spiel mir"
        "|spiel musik|spiele musik|schick eine|schicke eine|erzähl mir einen witz|erzähl einen witz"
        "|hilf mir|ich brauche hilfe|ich brauche deine hilfe|ich kann mich nicht anmelden"
        "|ich kann mich nicht einloggen"
    ),
    ask_first=phrases(
        "wo|wer|wen|wem|wessen|was|wann|wie|wieso|weshalb|warum|welche|welcher|welches|welchen|welchem"
        "|wohin|woher|womit|wofür|worüber|woran|wovon|wieviel|wieviele|hast du|habe ich|hab ich|haben wir"
        "|kennst du|gibt es|kannst du|könntest du|ist|sind|war|waren|bin ich|darf|soll ich|sollen wir"
        "|muss ich|müssen wir|kann ich|können wir|ich frage mich|ich möchte wissen|ich will wissen"
        "|ich weiß nicht|ich weiß nicht mehr|ich suche|ich habe vergessen, wo|ich habe vergessen, wann"
        "|ich habe vergessen, wer|erkläre|erklär|fasse|zeig|zeige|liste"
    ),
    conjunctions=phrases("wer|was|wo|wie|welche|welcher|ist|sind|war|waren|darf"),
    ask_last=phrases("wo|wann|wer"),
    idioms=phrases("finde ich|wie schön|was für ein|wie gut"),
    subjects=phrases("ich|wir|er|sie|es|ich bin|ich hab's|mein name ist"),
    verbs=phrases(
        "ist|sind|war|waren|bin|hat|habe|haben|hatte|heißt|heisst|heiße|heisse|wohnt|wohne|wohnen|lebt|lebe"
        "|leben|liegt|steht|mag|liebt|hasst|will|muss|soll|kann|wird|werden|arbeitet|arbeite|spielt|spricht"
        "|isst|trinkt|geht|ging|kommt|kam|kostet|beginnt|endet|öffnet|schließt|fährt|fliegt|kaufte|gekauft"
        "|gehört|braucht|brauche|zieht|zog|umgezogen|geboren|gestorben|getroffen|gegeben|sagt|sagte|gesagt"
        "|wurde|wurden|hängt|hängen|stehen|liegen|lag|kommen|gehen|fahren|fliegen|läuft|hält|findet|bleibt|gibt"
        "|gab|nimmt|trägt|kennt|weiß|bekommt|bringt|holt|wollen|sollen|müssen|können|dürfen|darf|mögen|möchte"
        "|hatten|heißen|lautet|steckt|parkt|passt|fehlt|lernt|studiert|schläft|feiert|heiratet|heiraten|kauft"
        "|trinken|trinke|essen|esse|spielen|wartet|öffnen|schließen|beginnen|wohnte|arbeiten|lieben|brauchen"
    ),
    chat=phrases(
        "hallo|moin|servus|grüezi|grüß dich|grüß gott|guten tag|guten morgen|guten abend|morgen|na"
        "|wie geht's|wie geht es dir|wie gehts|bitte|bitte sehr|hilfe|wer bist du|was kannst du|was bist du"
        "|ich hasse dich|ich liebe dich|ich mag dich|und du|und dir|und selbst|wie heißt du"
        "|wer bist denn du"
    ),
    thanks=phrases("danke|vielen dank|danke schön|dankeschön|danke dir|besten dank"),
    fine=phrases(
        "ja|nein|nee|jo|jawohl|genau|klar|alles klar|gut|super|toll|prima|schön|sehr gut|okay|egal"
        "|schon gut|entschuldigung|aha|ach so|stopp|macht nichts|gern|gerne|ich glaube schon"
        "|ich denke schon|ich glaube nicht|vergiss es|das war's|das wär's"
    ),
    leave=phrases("beenden|verlassen|abmelden"),
)
