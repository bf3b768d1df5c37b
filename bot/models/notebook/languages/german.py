"""German."""

from bot.models.notebook.language import Language, Sayings, phrases

GERMAN = Language(
    code="de",
    say=Sayings(
        noted="Notiert in {places}.",
        place="`{path}`, Zeile {line}",
        lines="`{path}`, Zeilen {lines}",
        found="Aus deinen Notizen:",
        close="Ich bin nicht sicher, ob du das meinst, aber es kommt dem nahe:",
        nothing="Dazu finde ich nichts in deinen Notizen. Vielleicht helfen andere Worte; wenn ich es mir merken "
        "soll, beginne mit „Merk dir“.",
        hello="Ich bewahre deine Notizen auf und finde sie wieder. Sag mir etwas, zum Beispiel „Merk dir, dass "
        "der Ersatzschlüssel bei Tom liegt“, oder frag: „Wo ist der Ersatzschlüssel?“",
        what="Was soll ich mir merken?",
        cannot_note="Hier kann ich nichts notieren: In diesem Chat habe ich keinen Zugang zum Gedächtnis.",
        cannot_find="Hier kann ich nicht nachsehen: In diesem Chat habe ich keinen Zugang zum Gedächtnis.",
        closed="In Gruppen ist das Gedächtnis aus, bis ein Eigentümer `/memory on` schickt.",
        not_noted="Das konnte ich nicht notieren: {error}",
        not_found="Ich konnte deine Notizen nicht durchsuchen: {error}",
        thanks="Gern geschehen.",
        fine="In Ordnung.",
        cannot_remind="Zeiten verstehe ich selbst nicht; zum Erinnern schreib `/remind morgen um 9 …`.",
        cannot_do="Ich bewahre nur Notizen auf und finde sie wieder, das kann ich also nicht. Soll "
        "ich es notieren, beginne mit „Merk dir“.",
        cannot_read="In Bilder, Dateien und Sprachnachrichten kann ich nicht hineinsehen; ich bewahre nur "
        "Notizen auf und finde sie wieder.",
        keep_how="Soll das Dokument in deine Notizen, sag „Merk dir das“.",
        cannot_change="Ändern kann ich Notizen nicht selbst: Bearbeite die Datei, oder sag mir mit "
        "„Merk dir“, was stimmt.",
        leave="Zum Verlassen im Terminal Strg-D drücken. Deine Notizen bleiben.",
        notice="Es antwortet kein Sprachmodell, deshalb kann ich nur Notizen aufbewahren "
        "und finden. Modelle kommen in config.toml dazu (`chain` unter `[models]`, ein "
        "Abschnitt `[providers.…]`); welche diese Version kennt, steht im README.",
    ),
    verb_second=phrases("ich|wir|er|sie|es"),
    ordinal_dots=True,
    abbreviations=phrases(
        "dr|prof|hr|fr|nr|str|ca|bzw|bspw|ggf|evtl|inkl|zzgl|tel|st|max|min|geb|vgl|sog|jan|feb|aug|sept"
        "|okt|nov|dez"
    ),
    hints=phrases(
        "in|der|die|das|den|dem|des|ein|eine|einen|einem|einer|und|ist|sind|nicht|mein|meine|meinen|meinem"
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
    change=phrases(
        "lösche|lösch|vergiss|entferne|korrigiere|korrigier|berichtige|ändere|änder|aktualisiere|streiche"
    ),
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
        "hallo|moin|servus|grüezi|grüß dich|grüß gott|guten tag|guten morgen|guten abend|gute nacht|morgen"
        "|na|wie geht's|wie geht es dir|wie gehts|bitte|bitte sehr|hilfe|wer bist du|was kannst du"
        "|was bist du|ich hasse dich|ich liebe dich|ich mag dich|und du|und dir|und selbst|wie heißt du"
        "|wer bist denn du"
    ),
    thanks=phrases("danke|vielen dank|danke schön|dankeschön|danke dir|besten dank"),
    fine=phrases(
        "ja|nein|nee|jo|jawohl|genau|klar|alles klar|gut|super|toll|prima|schön|sehr gut|okay|tschüss"
        "|tschüs|tschau|auf wiedersehen|bis bald|bis später|bis morgen|egal|schon gut|entschuldigung|aha"
        "|ach so|stopp|macht nichts|gern|gerne|ich glaube schon|ich denke schon|ich glaube nicht|vergiss es"
        "|das war's|das wär's"
    ),
    leave=phrases("beenden|verlassen|abmelden"),
)
