"""Italian."""

from bot.models.notebook.language import Language, RefusalTexts, Replies, phrases

ITALIAN = Language(
    code="it",
    say=Replies(
        noted="Annotato in {places}.",
        already_noted="È già annotato in {places}.",
        place="`{path}`, riga {line}",
        lines="`{path}`, righe {lines}",
        found="Dalle tue note:",
        close="Non sono sicuro che sia questo, ma ci si avvicina:",
        said="Nella nostra conversazione del {date}:",
        since="Dal {date}: {text}",
        before_that="Prima, dal {date}: {text}",
        nothing="Non trovo nulla su questo nelle tue note. Forse con altre parole; se volevi che lo annotassi, "
        "comincia con “ricorda”.",
        hello="Conservo le tue note e le ritrovo. Dimmi qualcosa, per esempio “Ricorda che la chiave di "
        "riserva è da Tommaso”, oppure chiedi: “Dov’è la chiave di riserva?”",
        what="Che cosa devo ricordare?",
        cannot_note="Qui non posso annotare nulla: in questa chat non ho accesso alla memoria.",
        cannot_find="Qui non posso cercarlo: in questa chat non ho accesso alla memoria.",
        closed="Nei gruppi la memoria è chiusa finché un proprietario non invia `/memory on`.",
        not_noted="Non sono riuscito ad annotarlo: {error}",
        not_found="Non sono riuscito a cercare nelle tue note: {error}",
        thanks="Prego.",
        fine="Va bene.",
        cannot_do="Conservo soltanto note e le ritrovo, quindi questo non posso farlo. Se vuoi che "
        "lo annoti, comincia con “ricorda”.",
        cannot_read="Non posso guardare immagini, file e messaggi vocali: conservo soltanto note e le "
        "ritrovo.",
        keep_how="Se devo tenere il documento nelle tue note, di’ “ricorda questo”.",
        notice="Sono il taccuino integrato: conservo note, le ritrovo e ti avviso. Per il resto serve un "
        "modello linguistico: esegui `commonplace init model` sul computer dove giro; ti chiede quale "
        "vuoi e lo prova. Con Ollama gira sul tuo computer e non ha bisogno di chiavi; docs/models.md "
        "mostra tutti gli altri.",
        reminded="Promemoria {number} per il {due}: {text}",
        reminded_again="Promemoria {number}, {when}: {text}. Il primo, il {due}.",
        while_open="Posso avvisarti solo mentre Commonplace è in funzione; altrimenti lo vedrai la prossima volta.",
        not_reminded="Non ho potuto creare questo promemoria: {error}",
        remind_when="Quando te lo ricordo? Non ho trovato un orario che capisco. Rispondi con uno, per esempio "
        "“domani 9:00”, oppure invia `/remind domani 9:00 chiamare Tommaso`.",
        remind_what="Che cosa ti ricordo? Rispondi con quello, oppure invia `/remind domani 9:00 chiamare "
        "Tommaso`.",
        refused=RefusalTexts(
            past="È già passato.",
            no_time="{time} non è un orario valido (dalle 00:00 alle 23:59).",
            no_date="Non trovo questa data nel calendario.",
            unclear_date="Questa data si può leggere in due modi. Anno-mese-giorno funziona sempre: "
            "`2026-12-03`.",
            one_time="Un promemoria ha bisogno di un solo momento. Per più momenti, chiedi più promemoria.",
            no_event="Non so calcolare un momento prima o dopo qualcos’altro. Dimmi l’orario esatto.",
            no_exceptions="Non posso escludere dei giorni. Dimmi quali giorni vuoi.",
            no_end="Non posso fissare una fine. Toglila: più avanti potrai fermare il promemoria con "
            "`/reminders cancel N`.",
            no_rule="Non posso ripeterlo così. Per esempio: `ogni lunedì 8:00`.",
            what_hour="A che ora di oggi?",
            unclear="Questo momento si può capire in più modi.",
        ),
        forget="Per cancellarlo dappertutto, invia `{command}`. Prima ti mostro che cosa sparirebbe.",
        forget_nothing="Non trovo nulla su questo nelle tue note. Per cancellare qualcosa, invia "
        "`/forget PAROLE` con parole che stanno nella nota.",
        correct="Per correggere una nota, invia `{command}` con il testo giusto.",
        corrected="Corretto: {place} ora dice “{new}” invece di “{old}”. Per tornare indietro, di’ “annulla”.",
        removed="Rimosso da {place}: “{old}”. Per rimetterlo, di’ “annulla”.",
        nothing_to_undo="Non c'è niente da annullare: negli ultimi messaggi non ho annotato né cambiato nulla.",
        undo_older="La mia ultima modifica risale a troppo tempo fa, o il testo ora è diverso. "
        "`/undo` annulla la tua ultima modifica alle note, `/changes` le elenca.",
        back="Di nuovo in {place}: “{text}”.",
        which_words="Quali parole devo cambiare? La riga dice “{text}”. Mandami la nuova frase intera.",
        reminder_moved="Spostato: te lo ricordo il {due}: {text} (promemoria {number}). Per tornare indietro, di’ "
        "“annulla”.",
        reminder_cancelled="Promemoria {number} cancellato: {text}. Per rimetterlo, di’ “annulla”.",
        no_such_reminder="Non ho cancellato niente: {error}",
        good_night="Buonanotte!",
        goodbye="A presto!",
        clock="Sono le {time} ({zone}).",
        day="Oggi è {weekday}, {date}.",
        list_notes="`/memory list` elenca le tue note e `/memory get MEMORY.md` ne mostra una.",
        reminders="`/reminders` elenca i tuoi promemoria.",
        cancel_reminder="Per annullare un promemoria, invia `{command}`. `/reminders` mostra i numeri.",
        reminders_are="I tuoi promemoria:",
        reminders_none="Non hai promemoria.",
        on_day="Per {day}:",
        on_day_nothing="Non ho promemoria né note per {day}.",
        about_you="Da `MEMORY.md`, che ho sempre a portata di mano:",
        about_you_nothing="Su di te non ho ancora nulla sempre a portata di mano. `/remember core: TESTO` lo "
        "mette lì; `/recall PAROLE` cerca in tutto il resto.",
        today="Dalle note di oggi:",
        today_nothing="Oggi non ci sono ancora note.",
        rest="`/memory get {path}` mostra tutto.",
        leave="Per uscire dal terminale, scrivi exit o premi Ctrl-D. Le tue note restano.",
    ),
    abbreviations=phrases("dr|dott|sig|sigg|avv|ing|prof|tel|pag|ca|st"),
    hints=phrases(
        "a|il|lo|la|gli|le|un|una|uno|del|della|dei|delle|nel|nella|sul|sulla|al|alla|e|è|in|con|per|di|mio"
        "|mia|miei|mie|tuo|tua|suo|sua|sono|non|molto|ma|più|già|io|lui|lei|noi|che|questo|questa|oggi"
        "|domani|ieri|c'è|da|ho|ha"
    ),
    letters="òì",
    accents="àèéìíîòóùú",
    please=phrases("per favore|per piacere|ti prego"),
    before=phrases("ehi|ciao|ok|e|allora|commonplace|voglio che tu|vorrei che tu"),
    could_you=phrases("puoi|potresti|può|potrebbe|mi puoi"),
    remember=phrases(
        "ricorda|ricordati|ricordatevi|ricordarti|ricordare|ricordi che|annota|annotati|annotare"
        "|prendi nota|tieni a mente|tieni presente|non dimenticare|non dimenticarti|non scordare"
        "|non scordarti|segna che|segnati|segna:|scriviti|memorizza|appunta|appuntati|per tua informazione"
        "|a proposito|sappi che|nota:|promemoria:"
    ),
    recall=phrases("ricorda|ricordati|a proposito|per tua informazione"),
    this=phrases("questo|quanto segue|ciò"),
    that=phrases("che|di"),
    for_ever=phrases("sempre|per sempre|permanentemente|in modo permanente"),
    never_forget=phrases("non dimenticare mai"),
    remember_end=phrases(
        "ricordalo|ricordatelo|ricordati|annotalo|annotatelo|segnatelo|non dimenticarlo|non dimenticare"
        "|tienilo a mente|prendi nota|per tua informazione"
    ),
    mentions=phrases("per tua informazione|a proposito|sappi che|promemoria:"),
    keep=phrases("salva|salvalo|salvare|conserva|conservalo|conservare|archivia|archivialo|archiviare|tieni"),
    document=phrases("documento|documenti|file|pdf|allegato"),
    search=phrases(
        "cerca|cercami|cerca nelle mie note|trova|trovami|mostrami|dimmi|parlami di|raccontami di"
        "|che cosa sai di|cosa sai di|cosa ricordi di|cosa sai su|sai|ti ricordi di|ti ricordi|ricordi"
        "|dammi"
    ),
    remind=phrases(
        "ricordami|ricordaci|ricordarmi|avvisami|imposta una sveglia|imposta un promemoria|svegliami"
    ),
    reminder_links=phrases("di|che|del|della|dell'"),
    forget=phrases("cancella|elimina|dimentica"),
    forget_fillers=phrases(
        "il|lo|la|i|gli|le|l|un|uno|una|mio|mia|miei|mie|tuo|tua|questo|questa|nota|note|su|sul"
        "|sulla|sui|sulle|di|del|della|dei|delle|che|ho|detto|tutto|tutte|tutti|con|quello"
    ),
    change=phrases("correggi|modifica|cambia"),
    denials=phrases("no"),
    wrong=phrases(
        "è sbagliato|questo è sbagliato|è errato|non è vero|non è giusto|non è corretto|non è così"
        "|ti sbagli|sbagliato|è falso|è un errore"
    ),
    corrects=phrases(
        "volevo dire|intendevo|intendo|voglio dire|correzione|anzi|piuttosto|cambialo in|dovrebbe essere"
    ),
    amends=phrases("in realtà|scusa|scusami|scusi|aspetta|ops|veramente|mi dispiace"),
    pronouns=phrases("è|sono|era|erano|lui|lei|si chiama"),
    copulas=phrases("è|sono|era|erano|sta|chiama|chiamo"),
    instead=(
        r"non (?:(?:è|sono|era|sta) )?"
        r"(?P<old>[^,;.]+?)(?:,| ma| bensì) *(?:ma |bensì )?(?:(?:è|sono|era|sta) )?(?P<new>[^,;.]+)",
        r"(?:(?:è|sono|era) )?(?P<new>[^,;.]+?)(?:, (?:e )?non| e non| invece di| al posto di) "
        r"(?P<old>[^,;.]+)",
    ),
    forget_that=phrases(
        "dimentica questo|dimenticalo|dimentica quello che ho detto|cancella questo|cancellalo"
        "|cancella l'ultima nota|elimina questo|eliminalo|elimina l'ultima nota"
        "|annulla quel promemoria|cancella quel promemoria|lascia perdere il promemoria"
    ),
    undo=phrases("annulla|annullare|annullalo|annulla questo|torna indietro|ripristina|ripristinalo"),
    clock=phrases(
        "che ore sono|che ora è|che ora è adesso|che ore sono adesso|dimmi l'ora|dimmi che ore sono"
        "|sai che ore sono|hai l'ora"
    ),
    day=phrases(
        "che giorno è|che giorno è oggi|oggi che giorno è|che data è oggi|qual è la data"
        "|qual è la data di oggi|quanti ne abbiamo oggi|dimmi la data"
    ),
    good_night=phrases("buonanotte|buona notte|notte|dormi bene|sogni d'oro"),
    goodbye=phrases(
        "arrivederci|a dopo|a domani|a presto|ci vediamo|ci sentiamo|buona giornata|buona serata|addio"
    ),
    weekday_names=phrases("lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica"),
    list_notes=phrases(
        "mostra tutte le note|mostrami tutte le note|mostra tutte le mie note"
        "|mostrami tutte le mie note|mostra le mie note|mostrami le mie note|elenca le mie note"
        "|elenca tutte le note|quali note ho|che note ho|tutte le note|tutte le mie note"
        "|le mie note"
    ),
    list_reminders=phrases(
        "quali sono i miei promemoria|quali promemoria ho|che promemoria ho"
        "|mostra i miei promemoria|mostrami i miei promemoria|elenca i miei promemoria"
        "|i miei promemoria|promemoria|ho dei promemoria"
    ),
    cancel_reminder=(
        r"(?:(?:cancella|annulla|elimina|rimuovi|togli) (?:(?:il|i|mio|miei|tutti|questo"
        r") )*promemoria(?= *(?:$|[#\d]|(?:numero|n|di|del|per|su|sul)\b))"
        r"|smetti(?:la)? di ricordarmi|non ricordarmi)"
    ),
    today_words=phrases("oggi|stasera"),
    tomorrow_words=phrases("domani"),
    on_day=phrases(
        "cosa c'è …|che cosa c'è …|che c'è …|cosa ho …|che cosa ho …|cosa ho in programma …"
        "|cosa ho in programma per …|cosa devo fare …|che cosa devo fare …|cosa è previsto …"
        "|cosa è previsto per …|che programmi ho per …|che impegni ho …|quali impegni ho …"
        "|ho qualcosa …"
    ),
    paraphrases=(
        phrases("mi chiamo|mio nome|chiamami|mi chiamano"),
        phrases(
            "abito|abitiamo|vivo|viviamo|mio indirizzo|mi sono trasferito|mi sono trasferita"
            "|ci siamo trasferiti"
        ),
        phrases("mio compleanno|sono nato|sono nata|mia data di nascita|compio gli anni|anni ho"),
        phrases("lavoro|mia professione|mio mestiere"),
    ),
    about_me=phrases(
        "che cosa sai di me|cosa sai di me|che cosa sai su di me|cosa sai su di me|che sai di me"
        "|cosa ricordi di me|chi sono|chi sono io|dimmi cosa sai di me"
    ),
    today=phrases(
        "che cosa è successo oggi|cosa è successo oggi|che è successo oggi|cos'è successo oggi"
        "|cosa ho fatto oggi|che cosa ho fatto oggi|cosa ti ho detto oggi|cosa hai annotato oggi"
        "|mostrami le note di oggi|le note di oggi|note di oggi"
    ),
    add_model=phrases(
        "come aggiungo un modello|come si aggiunge un modello|come posso aggiungere un modello"
        "|come aggiungere un modello|come aggiungo un modello linguistico|come configuro un modello"
        "|come uso un modello|aggiungere un modello|aggiungi un modello|quali modelli posso usare"
        "|come uso ollama|come uso chatgpt"
    ),
    date="%d/%m/%Y alle %H:%M",
    orders=phrases(
        "traduci|aiutami|calcola|scrivimi|scrivi un|scrivi una|disegnami|apri la|apri il|accendi|spegni"
        "|raccontami una barzelletta|ho bisogno di aiuto"
    ),
    ask_first=phrases(
        "dove|dov'è|dov'e|quando|quand'è|chi|che cosa|cosa|cos'è|che|come|com'è|perché|quale|quali|qual"
        "|quanto|quanta|quanti|quante|a che ora|di chi|con chi|da chi|hai|c'è qualche|mi chiedo"
        "|vorrei sapere|voglio sapere|non ricordo|non trovo|non so dove|riassumi|spiega|spiegami"
    ),
    conjunctions=phrases("quando|come|dove|che|chi|perché|cosa"),
    ask_last=phrases("dove|quando|chi"),
    idioms=phrases("che bello|che bella|come va"),
    subjects=phrases(
        "io|sono|ho|abito|vivo|noi|lui|lei|mi chiamo|abbiamo|siamo|abitiamo|mi piace|odio|il mio nome è"
    ),
    verbs=phrases(
        "è|sono|era|ha|ho|hanno|abita|abito|abitano|vive|vivo|lavora|lavoro|piace|piacciono|vuole|voglio"
        "|chiama|chiamo|odia|ama|costa|inizia|comincia|finisce|apre|chiude|arriva|viene|va|parte|comprato"
        "|nato|nata|morto|morta|trasferiti|trasferito|parla|mangia|beve|gioca|preferisce|deve|può|sta"
        "|si trova|c'è|detto"
    ),
    chat=phrases(
        "ciao|salve|buongiorno|buon giorno|buonasera|buona sera|come va|come stai|come sta|aiuto|chi sei"
        "|cosa sai fare|cosa puoi fare|che cosa sai fare|prova|e tu|e lei|come ti chiami|ti odio|ti amo"
    ),
    thanks=phrases("grazie|grazie mille|molte grazie"),
    fine=phrases(
        "sì|no|ok|okay|va bene|certo|bene|benissimo|perfetto|ottimo|scusa|scusami|capito|d'accordo|prego"
    ),
    leave=phrases("uscire|esci"),
)
