"""Italian."""

from bot.models.notebook.language import Language, Sayings, phrases

ITALIAN = Language(
    code="it",
    say=Sayings(
        noted="Annotato in {places}.",
        place="`{path}`, riga {line}",
        lines="`{path}`, righe {lines}",
        found="Dalle tue note:",
        close="Non sono sicuro che sia questo, ma ci si avvicina:",
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
        cannot_remind="Da solo non capisco gli orari; per un promemoria scrivi `/remind tomorrow 9:00 …`.",
        cannot_do="Conservo soltanto note e le ritrovo, quindi questo non posso farlo. Se vuoi che "
        "lo annoti, comincia con “ricorda”.",
        cannot_read="Non posso guardare immagini, file e messaggi vocali: conservo soltanto note e le "
        "ritrovo.",
        keep_how="Se devo tenere il documento nelle tue note, di’ “ricorda questo”.",
        cannot_change="Non posso modificare le note da solo: modifica il file oppure dimmi che cosa è "
        "giusto, cominciando con “ricorda”.",
        leave="Per uscire, premi Ctrl-D nel terminale. Le tue note restano.",
        notice="Nessun modello linguistico risponde, quindi posso solo conservare note e "
        "ritrovarle. I modelli si aggiungono in config.toml (`chain` sotto `[models]`, una "
        "sezione `[providers.…]`); il README dice quali conosce questa versione.",
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
    change=phrases("cancella|elimina|dimentica|correggi|modifica|cambia"),
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
        "ciao|salve|buongiorno|buon giorno|buonasera|buona sera|buonanotte|come va|come stai|come sta|aiuto"
        "|chi sei|cosa sai fare|cosa puoi fare|che cosa sai fare|prova|e tu|e lei|come ti chiami|ti odio"
        "|ti amo"
    ),
    thanks=phrases("grazie|grazie mille|molte grazie"),
    fine=phrases(
        "sì|no|ok|okay|va bene|certo|bene|benissimo|perfetto|ottimo|arrivederci|a dopo|a domani|a presto"
        "|scusa|scusami|capito|d'accordo|prego"
    ),
    leave=phrases("uscire|esci"),
)
