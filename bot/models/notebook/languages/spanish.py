"""Spanish."""

from bot.models.notebook.language import Language, RefusalTexts, Replies, phrases

SPANISH = Language(
    code="es",
    say=Replies(
        noted="Anotado en {places}.",
        already_noted="Eso ya está en {places}.",
        place="`{path}`, línea {line}",
        lines="`{path}`, líneas {lines}",
        found="En tus notas:",
        close="No estoy seguro de que sea lo que buscas, pero se parece:",
        said="En nuestra conversación del {date}:",
        since="Desde el {date}: {text}",
        before_that="Antes, desde el {date}: {text}",
        nothing="No encuentro nada de eso en tus notas. Quizá con otras palabras; si querías que lo anote, "
        "empieza con «recuerda».",
        hello="Guardo tus notas y las vuelvo a encontrar. Cuéntame algo, por ejemplo «Recuerda que la llave de "
        "repuesto está en casa de Tomás», o pregunta: «¿Dónde está la llave de repuesto?» O di: «Recuérdame "
        "llamar a Tomás mañana a las 9».",
        what="¿Qué debo recordar?",
        cannot_note="Aquí no puedo anotar nada: en este chat no tengo acceso a la memoria.",
        cannot_find="Aquí no puedo buscarlo: en este chat no tengo acceso a la memoria.",
        closed="En los grupos la memoria está cerrada hasta que un propietario envíe `/memory on`.",
        not_noted="No pude anotarlo: {error}",
        not_found="No pude buscar en tus notas: {error}",
        thanks="De nada.",
        fine="De acuerdo.",
        cannot_do="Solo guardo notas y las encuentro, así que eso no puedo hacerlo. Si quieres que "
        "lo anote, empieza con «recuerda».",
        cannot_read="No puedo mirar imágenes, archivos ni mensajes de voz: solo guardo notas y las encuentro.",
        keep_how="Para que guarde el documento en tus notas, di «recuerda esto».",
        notice="Soy el cuaderno integrado: guardo notas, las encuentro y te aviso. Para algo más hace falta "
        "un modelo de lenguaje: ejecuta `commonplace init model` en el ordenador donde funciono; te "
        "pregunta cuál quieres y lo prueba. Con Ollama funciona en tu propio ordenador y no necesita "
        "clave; docs/models.md muestra todos los demás.",
        reminded="Recordatorio {number} para el {due}: {text}",
        reminded_again="Recordatorio {number}, {when}: {text}. El primero, el {due}.",
        while_open="Solo puedo avisarte mientras Commonplace esté en marcha; si no, lo verás la próxima vez.",
        not_reminded="No he podido crear ese recordatorio: {error}",
        remind_when="¿Cuándo te lo recuerdo? No he encontrado una hora que entienda. Responde con una, por "
        "ejemplo «mañana 9:00», o envía `/remind mañana 9:00 llamar a Tomás`.",
        remind_what="¿Qué te recuerdo? Respóndeme con eso, o envía `/remind mañana 9:00 llamar a Tomás`.",
        refused=RefusalTexts(
            past="Eso ya ha pasado.",
            no_time="{time} no es una hora válida (de 00:00 a 23:59).",
            no_date="No encuentro esa fecha en el calendario.",
            unclear_date="Esa fecha puede entenderse de dos maneras. Año-mes-día siempre funciona: "
            "`2026-12-03`.",
            one_time="Un recordatorio necesita un solo momento. Para varios, pide varios recordatorios.",
            no_event="No sé calcular un momento antes o después de otra cosa. Dime la hora exacta.",
            no_exceptions="No puedo dejar días fuera. Dime qué días quieres.",
            no_end="No puedo ponerle un final. Quítalo; más adelante puedes parar el recordatorio con "
            "`/reminders cancel N`.",
            no_rule="No puedo repetirlo así. Por ejemplo: `cada lunes 8:00`.",
            what_hour="¿A qué hora de hoy?",
            unclear="No me queda claro qué momento quieres decir.",
        ),
        forget="Para borrarlo de todas partes, envía `{command}`. Antes te enseñaré qué se borraría.",
        forget_nothing="No encuentro nada de eso en tus notas. Para borrar algo, envía `/forget "
        "PALABRAS` con palabras que estén en la nota.",
        correct="Para corregir una nota, envía `{command}` con el texto correcto.",
        corrected="Corregido: {place} dice ahora «{new}» en vez de «{old}». Para volver atrás, di «deshacer».",
        removed="Borrado de {place}: «{old}». Para recuperarlo, di «deshacer».",
        nothing_to_undo="No hay nada que deshacer: en nuestros últimos mensajes no he anotado ni cambiado nada.",
        undo_older="Mi último cambio es demasiado antiguo, o el texto ya es otro. "
        "`/undo` deshace tu último cambio en las notas y `/changes` los muestra.",
        back="De vuelta en {place}: «{text}».",
        which_words="¿Qué palabras debo cambiar? La línea dice «{text}». Envíame la frase nueva completa.",
        reminder_moved="Cambiado: te lo recordaré el {due}: {text} (recordatorio {number}). Para volver atrás, di "
        "«deshacer».",
        reminder_cancelled="Recordatorio {number} cancelado: {text}. Para recuperarlo, di «deshacer».",
        no_such_reminder="No he cancelado nada: {error}",
        good_night="¡Buenas noches!",
        goodbye="¡Hasta luego!",
        clock="Son las {time} ({zone}).",
        day="Hoy es {weekday}, {date}.",
        list_notes="`/memory list` muestra tus notas y `/memory get MEMORY.md` enseña una de ellas.",
        reminders="`/reminders` muestra tus recordatorios.",
        cancel_reminder="Para cancelar un recordatorio, envía `{command}`. `/reminders` muestra los números.",
        reminders_are="Tus recordatorios:",
        reminders_none="No tienes recordatorios.",
        on_day="Para {day}:",
        on_day_nothing="No tengo recordatorios ni notas para {day}.",
        about_you="De `MEMORY.md`, que tengo siempre a mano:",
        about_you_nothing="Todavía no tengo nada sobre ti siempre a mano. `/remember core: TEXTO` lo pone ahí; "
        "`/recall PALABRAS` busca en todo lo demás.",
        today="De las notas de hoy:",
        today_nothing="Hoy todavía no hay notas.",
        rest="`/memory get {path}` lo muestra entero.",
        leave="Para salir de la terminal, escribe exit o pulsa Ctrl-D. Tus notas se quedan.",
    ),
    abbreviations=phrases("dr|dra|sr|sra|srta|ud|uds|av|avda|tel|pág|núm|prof|st"),
    hints=phrases(
        "a|el|la|los|las|un|una|unos|del|de|al|y|en|con|por|para|mi|mis|su|sus|tu|está|están|es|soy|muy|pero"
        "|porque|hay|se|lo|más|ya|desde|sobre|nuestro|nuestra|esta|este|hoy|mañana|ayer|yo|cuando"
    ),
    letters="ñ¿¡",
    accents="áéíóúüñ",
    please=phrases("por favor|porfa|porfavor"),
    before=phrases("oye|hola|ok|bueno|y|pues|commonplace|quiero que|necesito que"),
    could_you=phrases("puedes|podrías|podrias|puede|podría|me puedes|me podrías"),
    remember=phrases(
        "recuerda|recuerde|recordar|recuerdes|acuérdate|acuerdate|anota|anótame|anote|anotar|apúntate"
        "|apunta que|apunta:|apúntame|toma nota|tome nota|ten en cuenta|ten presente|no olvides"
        "|no te olvides|no olvide|que no se te olvide|guarda que|guarda esto|memoriza|para que sepas"
        "|para tu información|por cierto|nota:"
    ),
    recall=phrases("recuerda|recuerde|acuérdate|acuerdate|por cierto|para que sepas|para tu información"),
    this=phrases("esto|lo siguiente|eso"),
    that=phrases("que|de que|de"),
    for_ever=phrases("siempre|para siempre|permanentemente|de forma permanente"),
    never_forget=phrases("nunca olvides|no olvides nunca|nunca te olvides de"),
    remember_end=phrases(
        "recuérdalo|recuerdalo|recuerda eso|recuerda esto|anótalo|anotalo|apúntalo|apuntalo|no lo olvides"
        "|no olvides|tenlo en cuenta|toma nota|para que sepas|guárdalo"
    ),
    mentions=phrases("para que sepas|para tu información|por cierto"),
    keep=phrases(
        "guarda|guarde|guardar|guárdalo|guardalo|archiva|archivar|archívalo|conserva|conservar|salva"
    ),
    document=phrases("documento|documentos|archivo|archivos|fichero|pdf|adjunto"),
    search=phrases(
        "busca|buscar|búscame|buscame|busca en mis notas|encuentra|muéstrame|muestrame|enséñame|dime"
        "|dime algo sobre|háblame de|hablame de|cuéntame de|cuéntame sobre|qué sabes de|qué sabes sobre"
        "|qué recuerdas de|¿qué sabes de|¿qué sabes sobre|¿qué recuerdas de|sabes|recuerdas|¿sabes"
        "|¿recuerdas|te acuerdas de"
    ),
    remind=phrases(
        "recuérdame|recuerdame|recuérdenos|recordarme|avísame|avisame|pon una alarma|pon un recordatorio"
        "|despiértame"
    ),
    reminder_links=phrases("que|de que|de"),
    forget=phrases("borra|bórralo|elimina|olvida|olvídate de"),
    forget_fillers=phrases(
        "el|la|los|las|lo|un|una|unos|unas|mi|mis|tu|tus|su|sus|este|esta|ese|esa|nota|notas|sobre"
        "|de|del|con|que|dije|dicho|todo|todas|todos|a|al|acerca"
    ),
    change=phrases("corrige|cambia|modifica"),
    denials=phrases("no"),
    wrong=phrases(
        "eso está mal|está mal|eso es incorrecto|es incorrecto|eso no es correcto|no es correcto"
        "|eso no es así|no es así|eso no es verdad|no es verdad|eso es falso|te equivocas|mal"
        "|no quise decir eso|no es lo que quise decir|incorrecto|eso no es cierto|no es cierto"
    ),
    corrects=phrases(
        "quise decir|quería decir|quiero decir|me refería a|corrección|más bien|mejor dicho"
        "|cámbialo a|cambia eso a|debería ser"
    ),
    amends=phrases("en realidad|perdón|perdona|lo siento|espera|de hecho|disculpa"),
    pronouns=phrases("es|son|era|fue|está|están|él|ella|se llama"),
    copulas=phrases("es|son|soy|era|fue|está|están|estoy|llama|llamo"),
    instead=(
        r"no (?:(?:es|son|era|está|están) )?"
        r"(?P<old>[^,;.]+?)(?:,| sino) *(?:sino )?(?:(?:es|son|era|está|están) )?(?P<new>[^,;.]+)",
        r"(?:(?:es|son|era) )?(?P<new>[^,;.]+?)(?:, (?:y )?no| y no| en vez de| en lugar de) "
        r"(?P<old>[^,;.]+)",
    ),
    forget_that=phrases(
        "olvida eso|olvida esto|olvídalo|olvida lo que dije|olvida lo que he dicho|borra eso"
        "|borra esto|bórralo|borra la última nota|elimina eso|elimina esto|elimínalo"
        "|elimina la última nota|cancela eso|cancela esto|cancélalo|cancela ese recordatorio"
    ),
    undo=phrases("deshacer|deshaz|deshazlo|deshaz eso|deshaz el cambio|vuelve atrás|recupéralo"),
    clock=phrases(
        "qué hora es|que hora es|qué horas son|qué hora tenemos|qué hora es ahora|me dices la hora"
        "|dime la hora|dime qué hora es|sabes qué hora es|tienes hora"
    ),
    day=phrases(
        "qué día es|qué día es hoy|que dia es hoy|que día es hoy|a qué día estamos|en qué día estamos"
        "|a cuánto estamos|cuál es la fecha|cuál es la fecha de hoy|qué fecha es|qué fecha es hoy"
        "|dime la fecha|a qué fecha estamos"
    ),
    good_night=phrases("buenas noches|que descanses|que duermas bien|dulces sueños"),
    goodbye=phrases(
        "adiós|adios|chao|chau|hasta luego|hasta mañana|hasta pronto|nos vemos|que tengas un buen día"
        "|buen día|hasta la vista"
    ),
    weekday_names=phrases("lunes|martes|miércoles|jueves|viernes|sábado|domingo"),
    list_notes=phrases(
        "muestra todas las notas|muéstrame todas las notas|muestra todas mis notas"
        "|muéstrame todas mis notas|muestra mis notas|muéstrame mis notas|enséñame mis notas"
        "|enséñame todas mis notas|lista mis notas|lista todas las notas|qué notas tengo"
        "|qué notas hay|todas las notas|todas mis notas|mis notas"
    ),
    list_reminders=phrases(
        "cuáles son mis recordatorios|qué recordatorios tengo|qué recordatorios hay"
        "|muestra mis recordatorios|muéstrame mis recordatorios|enséñame mis recordatorios"
        "|lista mis recordatorios|mis recordatorios|recordatorios|tengo recordatorios"
    ),
    cancel_reminder=(
        r"(?:(?:cancela|cancelar|borra|elimina|quita|anula) (?:(?:el|los|mi|mis|todos|ese"
        r"|este) )*recordatorios?(?= *(?:$|[#\d]|(?:número|nº|de|para|a|sobre)\b))"
        r"|deja de recordarme|no me (?:lo )?recuerdes)"
    ),
    today_words=phrases("hoy|esta noche"),
    tomorrow_words=phrases("mañana"),
    on_day=phrases(
        "qué hay …|que hay …|qué hay para …|qué tengo …|que tengo …|qué tengo para …"
        "|qué tengo que hacer …|qué tengo planeado para …|qué tengo previsto para …"
        "|qué está previsto para …|qué planes tengo para …|qué planes hay para …|tengo algo …"
        "|tengo algo para …|qué toca …|qué citas tengo …|qué debo hacer …"
    ),
    paraphrases=(
        phrases("me llamo|mi nombre|llámame|me llaman|me dicen"),
        phrases("vivo|vivimos|mi dirección|mi casa|me mudé|nos mudamos"),
        phrases("mi cumpleaños|nací|mi fecha de nacimiento|años tengo|cumplo años|cumplo"),
        phrases("trabajo|mi profesión|mi empleo|me dedico"),
    ),
    about_me=phrases(
        "qué sabes de mí|qué sabes sobre mí|qué recuerdas de mí|qué has anotado sobre mí|quién soy"
        "|dime qué sabes de mí"
    ),
    today=phrases(
        "qué ha pasado hoy|qué pasó hoy|qué he hecho hoy|qué hice hoy|qué te he dicho hoy"
        "|qué te dije hoy|qué has anotado hoy|muéstrame las notas de hoy|las notas de hoy"
        "|notas de hoy"
    ),
    add_model=phrases(
        "cómo añado un modelo|cómo agrego un modelo|cómo añadir un modelo|cómo agregar un modelo"
        "|cómo puedo añadir un modelo|cómo puedo agregar un modelo|cómo añado un modelo de lenguaje"
        "|cómo agrego un modelo de lenguaje|cómo configuro un modelo|cómo uso un modelo"
        "|añadir un modelo|agregar un modelo|qué modelos puedo usar|cómo uso ollama"
        "|cómo uso chatgpt"
    ),
    date="%d/%m/%Y a las %H:%M",
    orders=phrases(
        "traduce|tradúceme|ayúdame|ayudame|calcula|escríbeme|escribe un poema|escribe un haiku"
        "|escribe un cuento|dibújame|cuéntame un chiste|necesito ayuda|pon música"
    ),
    ask_first=phrases(
        "dónde|donde|cuándo|cuando|quién|quien|quiénes|qué|que|cómo|como|cuál|cual|cuáles|cuánto|cuánta"
        "|cuántos|cuántas|cuanto|cuantos|por qué|adónde|a qué hora|de quién|a quién|en qué|con quién|tienes"
        "|me pregunto|quiero saber|necesito saber|no recuerdo|no encuentro|no sé dónde|resume|explica"
    ),
    conjunctions=phrases("cuando|cuándo|como|donde|que|quien|cual|no encuentro"),
    ask_last=phrases("dónde|donde|cuándo"),
    idioms=phrases("qué bonito|qué bien|que bien|qué bueno"),
    subjects=phrases(
        "yo|soy|tengo|estoy|vivo|nosotros|me llamo|somos|tenemos|vivimos|él|ella|me gusta|me gustan|odio"
        "|mi nombre es"
    ),
    verbs=phrases(
        "es|está|están|son|soy|era|fue|ha|he|tiene|tengo|tienen|vive|vivo|viven|trabaja|trabajo|gusta"
        "|gustan|quiere|quiero|llama|llamo|llaman|odia|ama|cuesta|empieza|termina|abre|cierra|llega|viene"
        "|va|sale|compré|compramos|nació|murió|mudamos|mudé|habla|come|bebe|juega|prefiere|necesita"
        "|necesito|debe|puede|hay|dijo|cumple"
    ),
    chat=phrases(
        "hola|buenas|buenos días|buenos dias|buenas tardes|qué tal|que tal|cómo estás|como estas|ayuda"
        "|quién eres|quien eres|qué puedes hacer|que puedes hacer|prueba|y tú|y usted|cómo te llamas"
        "|te odio|te quiero"
    ),
    thanks=phrases("gracias|muchas gracias|mil gracias"),
    fine=phrases(
        "sí|si|no|vale|ok|okay|claro|bien|muy bien|perfecto|genial|perdón|lo siento|entendido|de acuerdo"
        "|de nada|jaja|jajaja"
    ),
    leave=phrases("salir"),
)
