"""Portuguese."""

from bot.models.notebook.language import Language, RefusalTexts, Replies, phrases

PORTUGUESE = Language(
    code="pt",
    say=Replies(
        noted="Anotado em {places}.",
        already_noted="Isso já está em {places}.",
        place="`{path}`, linha {line}",
        lines="`{path}`, linhas {lines}",
        found="Nas suas notas:",
        close="Não tenho certeza de que seja isto, mas é parecido:",
        said="Na nossa conversa de {date}:",
        since="Desde {date}: {text}",
        before_that="Antes disso, desde {date}: {text}",
        nothing="Não encontrei nada sobre isso nas suas notas. Talvez com outras palavras; se era para anotar, "
        "comece com “anote que”.",
        hello="Guardo as suas notas e volto a encontrá-las. Conte-me algo, por exemplo “Lembre-se de que a "
        "chave reserva está com o Tomás”, ou pergunte: “Onde está a chave reserva?”",
        what="O que devo lembrar?",
        cannot_note="Aqui não posso anotar nada: neste chat não tenho acesso à memória.",
        cannot_find="Aqui não posso procurar: neste chat não tenho acesso à memória.",
        closed="Nos grupos a memória fica fechada até um proprietário enviar `/memory on`.",
        not_noted="Não consegui anotar: {error}",
        not_found="Não consegui procurar nas suas notas: {error}",
        thanks="De nada.",
        fine="Está bem.",
        cannot_do="Só guardo notas e volto a encontrá-las, por isso não posso fazer isso. Se é "
        "para anotar, comece com “anote que”.",
        cannot_read="Não consigo ver imagens, arquivos nem mensagens de voz: só guardo notas e volto a "
        "encontrá-las.",
        keep_how="Para eu guardar o documento nas suas notas, diga “anote isto”.",
        notice="Sou o caderno integrado: guardo notas, volto a encontrá-las e lembro você. Para o resto é "
        "preciso um modelo de linguagem: execute `commonplace init model` no computador onde eu rodo; "
        "ele pergunta qual você quer e faz um teste. Com o Ollama, o modelo roda no seu próprio "
        "computador e não precisa de chave; docs/models.md mostra todos os outros.",
        reminded="Lembrete {number} para {due}: {text}",
        reminded_again="Lembrete {number}, {when}: {text}. O primeiro em {due}.",
        while_open="Só posso lembrar enquanto o Commonplace estiver em execução; se não, você verá da próxima vez.",
        not_reminded="Não consegui criar esse lembrete: {error}",
        remind_when="Quando devo lembrar? Não encontrei um horário que eu entenda. Responda com um, por "
        "exemplo “amanhã 9:00”, ou envie `/remind amanhã 9:00 ligar para o Tomás`.",
        remind_what="Do que devo lembrar? Responda com isso, ou envie `/remind amanhã 9:00 ligar para o Tomás`.",
        refused=RefusalTexts(
            past="Isso já passou.",
            no_time="{time} não é um horário válido (00:00 a 23:59).",
            no_date="Não encontro essa data no calendário.",
            unclear_date="Essa data pode ser lida de duas maneiras. Ano-mês-dia sempre funciona: `2026-12-03`.",
            one_time="Um lembrete precisa de um único momento. Para vários, peça vários lembretes.",
            no_event="Não sei calcular um momento antes ou depois de outra coisa. Diga o horário exato.",
            no_exceptions="Não consigo deixar dias de fora. Diga quais dias você quer.",
            no_end="Não consigo definir um fim. Deixe-o de fora; depois você pode parar o lembrete com "
            "`/reminders cancel N`.",
            no_rule="Não consigo repetir assim. Por exemplo: `toda segunda 8:00`.",
            what_hour="A que horas de hoje?",
            unclear="Esse momento pode ser entendido de mais de uma maneira.",
        ),
        forget="Para apagar isso em todo lugar, envie `{command}`. Antes mostro o que seria apagado.",
        forget_nothing="Não encontrei nada sobre isso nas suas notas. Para apagar algo, envie "
        "`/forget PALAVRAS` com palavras que estejam na nota.",
        correct="Para corrigir uma nota, envie `{command}` com o texto certo.",
        corrected="Corrigido: {place} diz agora “{new}” em vez de “{old}”. Para voltar atrás, diga “desfazer”.",
        removed="Removido de {place}: “{old}”. Para recuperar, diga “desfazer”.",
        nothing_to_undo="Não há nada para desfazer: nas nossas últimas mensagens não anotei nem mudei nada.",
        undo_older="A minha última mudança já foi há muito tempo, ou o texto agora é outro. "
        "`/undo` desfaz a sua última mudança nas notas, e `/changes` mostra a lista.",
        back="De volta em {place}: “{text}”.",
        which_words="Que palavras devo mudar? A linha diz “{text}”. Envie-me a nova frase inteira.",
        reminder_moved="Mudado: lembro você em {due}: {text} (lembrete {number}). Para voltar atrás, diga "
        "“desfazer”.",
        reminder_cancelled="Lembrete {number} cancelado: {text}. Para recuperar, diga “desfazer”.",
        no_such_reminder="Não cancelei nada: {error}",
        good_night="Boa noite!",
        goodbye="Até logo!",
        clock="São {time} ({zone}).",
        day="Hoje é {weekday}, {date}.",
        list_notes="`/memory list` mostra as suas notas, e `/memory get MEMORY.md` mostra uma delas.",
        reminders="`/reminders` mostra os seus lembretes.",
        cancel_reminder="Para cancelar um lembrete, envie `{command}`. `/reminders` mostra os números.",
        reminders_are="Os seus lembretes:",
        reminders_none="Você não tem lembretes.",
        on_day="Para {day}:",
        on_day_nothing="Não tenho lembretes nem notas para {day}.",
        about_you="De `MEMORY.md`, que tenho sempre à mão:",
        about_you_nothing="Ainda não tenho nada sobre você sempre à mão. `/remember core: TEXTO` coloca algo "
        "lá; `/recall PALAVRAS` procura em todo o resto.",
        today="Das notas de hoje:",
        today_nothing="Hoje ainda não há notas.",
        rest="`/memory get {path}` mostra tudo.",
        leave="Para sair do terminal, digite exit ou pressione Ctrl-D. As suas notas ficam.",
    ),
    abbreviations=phrases("dr|dra|sr|sra|av|tel|prof|profa|pág|núm|st"),
    hints=phrases(
        "a|o|os|as|um|uma|do|da|de|dos|das|no|na|nos|nas|e|em|com|por|para|meu|minha|meus|minhas|seu|sua|é"
        "|está|são|sou|não|muito|mas|mais|já|eu|ele|ela|nós|você|isso|esta|este|hoje|amanhã|ontem|tem|ao"
        "|pela|pelo"
    ),
    letters="ãõ",
    accents="ãõáâàçéêíóôúü",
    please=phrases("por favor|pf|se faz favor"),
    before=phrases("oi|olá|ok|e|então|commonplace|quero que você|preciso que você"),
    could_you=phrases("você pode|pode|podes|poderia|você poderia|podias|consegue|dá para"),
    remember=phrases(
        "lembra|lembre|lembre-se|lembra-te|se lembrar|lembrar|anota|anote|anotar|anota aí|toma nota"
        "|tome nota|tenha em mente|tem em mente|não esqueça|não esquece|não se esqueça|não te esqueças"
        "|não esqueças|memoriza|memorize|guarda que|guarde que|registra|registre|regista|grave que"
        "|para sua informação|para tua informação|a propósito|só para saber|nota:"
    ),
    recall=phrases("lembra|lembre|a propósito|para sua informação|para tua informação"),
    this=phrases("isto|isso|disto|disso|o seguinte"),
    that=phrases("que|de que|de"),
    for_ever=phrases("sempre|para sempre|permanentemente"),
    never_forget=phrases("nunca esqueça|nunca se esqueça|nunca te esqueças"),
    remember_end=phrases(
        "lembra disso|lembre-se disso|lembra-te disso|anota isso|anote isso|anota aí|não esqueça"
        "|não esquece|não te esqueças|não se esqueça|toma nota|guarde isso"
    ),
    mentions=phrases("para sua informação|para tua informação|a propósito|só para saber"),
    keep=phrases("guarda|guarde|guardar|guarda-o|guarde-o|salva|salve|salvar|arquiva|arquive|arquivar"),
    document=phrases("documento|documentos|arquivo|arquivos|ficheiro|pdf|anexo"),
    search=phrases(
        "procura|procure|procurar|busca|busque|pesquise|pesquisa|encontra|encontre|mostra-me|me mostra"
        "|me mostre|mostre|diga-me|me diga|me diz|diz-me|fale sobre|me fale sobre|fala-me de|me conta sobre"
        "|o que você sabe sobre|o que sabes sobre|o que você lembra sobre|você sabe|sabes|você lembra"
        "|lembras-te de"
    ),
    remind=phrases(
        "lembre-me|lembra-me|me lembre|me lembra|me lembrar|lembrar-me|avise-me|me avise|me avisa"
        "|coloque um alarme|me acorde"
    ),
    reminder_links=phrases("de que|de|que|do|da"),
    forget=phrases("apaga|apague|esquece|esqueça|exclua"),
    forget_fillers=phrases(
        "o|a|os|as|um|uma|meu|minha|meus|minhas|seu|sua|este|esta|esse|essa|nota|notas|sobre|de|do"
        "|da|dos|das|que|eu|disse|tudo|todas|todos|com"
    ),
    change=phrases("corrija|corrige|altere|altera|mude"),
    denials=phrases("não"),
    wrong=phrases(
        "isso está errado|está errado|isto está errado|isso não está certo|não está certo"
        "|isso não é verdade|não é verdade|isso é falso|está incorreto|isso está incorreto|errado"
        "|você está errado|não é assim|isso é um erro"
    ),
    corrects=phrases(
        "eu quis dizer|quis dizer|queria dizer|eu queria dizer|quero dizer|correção|ou melhor"
        "|aliás|mude isso para|muda isso para|deveria ser"
    ),
    amends=phrases("na verdade|desculpa|desculpe|espera|espere|perdão|opa|afinal"),
    pronouns=phrases("é|são|era|foi|está|estão|ele|ela|se chama"),
    copulas=phrases("é|são|sou|era|foi|está|estão|estou|chama|chamo"),
    instead=(
        r"não (?:(?:é|são|era|está|estão) )?"
        r"(?P<old>[^,;.]+?)(?:,| mas| e sim) *(?:mas |e sim )?(?:(?:é|são|era|está|estão) )?(?P<new>[^,;.]+)",
        r"(?:(?:é|são|era) )?(?P<new>[^,;.]+?)(?:, (?:e )?não| e não| em vez de| ao invés de) "
        r"(?P<old>[^,;.]+)",
    ),
    forget_that=phrases(
        "esquece isso|esqueça isso|esquece isto|esquece o que eu disse|esqueça o que eu disse"
        "|apaga isso|apague isso|apaga isto|apaga a última nota|apague a última nota|exclua isso"
        "|remova isso|cancela isso|cancele isso|cancela isto|cancele esse lembrete"
    ),
    undo=phrases("desfazer|desfaz|desfaça|desfaz isso|desfaça isso|volta atrás|recupera isso|recupere isso"),
    clock=phrases(
        "que horas são|que horas são agora|que hora é|quantas horas são|me diga as horas"
        "|diga-me as horas|qual é a hora|você sabe que horas são|tem horas"
    ),
    day=phrases(
        "que dia é hoje|que dia é|hoje é que dia|em que dia estamos|qual é a data"
        "|qual é a data de hoje|que data é hoje|a quantos estamos|qual o dia de hoje"
    ),
    good_night=phrases("boa noite|durma bem|dorme bem|bons sonhos"),
    goodbye=phrases("tchau|adeus|até logo|até amanhã|até mais|até breve|tenha um bom dia"),
    weekday_names=phrases("segunda-feira|terça-feira|quarta-feira|quinta-feira|sexta-feira|sábado|domingo"),
    list_notes=phrases(
        "mostra todas as notas|mostre todas as notas|mostre todas as minhas notas"
        "|mostra todas as minhas notas|mostra as minhas notas|mostre as minhas notas"
        "|mostre minhas notas|mostra minhas notas|me mostra minhas notas|me mostre minhas notas"
        "|liste minhas notas|liste todas as notas|que notas tenho|quais notas eu tenho"
        "|todas as notas|todas as minhas notas|as minhas notas|minhas notas"
    ),
    list_reminders=phrases(
        "quais são os meus lembretes|quais são meus lembretes|que lembretes tenho"
        "|quais lembretes eu tenho|mostra os meus lembretes|mostre os meus lembretes"
        "|mostre meus lembretes|liste meus lembretes|os meus lembretes|meus lembretes|lembretes"
        "|tenho lembretes"
    ),
    cancel_reminder=(
        r"(?:(?:cancela|cancele|cancelar|apaga|apague|exclua|remova|remove) (?:(?:o|os|meu"
        r"|meus|todos|esse|este) )*lembretes?(?= *(?:$|[#\d]|(?:número|nº|de|do|para"
        r"|sobre)\b))|(?:para|pare) de me lembrar|não me lembr[ea])"
    ),
    today_words=phrases("hoje|hoje à noite"),
    tomorrow_words=phrases("amanhã"),
    on_day=phrases(
        "o que tenho …|o que eu tenho …|o que tenho para …|o que há …|o que há para …"
        "|o que tem …|o que tem para …|o que está marcado para …|o que está planejado para …"
        "|o que tenho que fazer …|o que tenho para fazer …|o que preciso fazer …"
        "|quais são os planos para …|quais são meus planos para …|que compromissos tenho …"
        "|tenho alguma coisa …"
    ),
    paraphrases=(
        phrases("me chamo|chamo-me|meu nome|me chame|chama-me|me chamam"),
        phrases("moro|moramos|vivo|meu endereço|minha morada|me mudei|mudei-me|nos mudamos"),
        phrases("meu aniversário|nasci|minha data de nascimento|minha idade|faço anos|anos eu tenho"),
        phrases("trabalho|minha profissão|meu emprego"),
    ),
    about_me=phrases(
        "o que você sabe sobre mim|o que sabe sobre mim|o que sabes sobre mim"
        "|o que você sabe de mim|o que você lembra de mim|quem sou eu"
        "|diga o que você sabe sobre mim"
    ),
    today=phrases(
        "o que aconteceu hoje|o que eu fiz hoje|o que fiz hoje|o que eu disse hoje"
        "|o que eu te disse hoje|o que você anotou hoje|mostre as notas de hoje|as notas de hoje"
        "|notas de hoje"
    ),
    add_model=phrases(
        "como adiciono um modelo|como eu adiciono um modelo|como adicionar um modelo"
        "|como posso adicionar um modelo|como adiciono um modelo de linguagem"
        "|como configuro um modelo|como uso um modelo|adicionar um modelo|quais modelos posso usar"
        "|que modelos posso usar|como uso o ollama|como uso o chatgpt"
    ),
    date="%d/%m/%Y às %H:%M",
    orders=phrases(
        "traduz|traduza|ajude-me|me ajuda|me ajude|calcula|calcule|escreva um|escreva uma|escreve um poema"
        "|me escreva|desenhe|me conta uma piada|conte uma piada|preciso de ajuda"
    ),
    ask_first=phrases(
        "onde|quando|quem|o que|que|o quê|qual|quais|como|quanto|quanta|quantos|quantas|por que|por quê"
        "|porquê|cadê|a que horas|de quem|com quem|em que|tens|você tem|há quanto|eu queria saber"
        "|quero saber|não lembro|não me lembro|não encontro|não acho|resume|resuma|explica|explique"
    ),
    conjunctions=phrases("quando|como|onde|que|quem|qual"),
    ask_last=phrases("onde|quando|quem"),
    idioms=phrases("que bom|que lindo|que pena"),
    subjects=phrases(
        "eu|sou|tenho|estou|moro|vivo|nós|ele|ela|a gente|me chamo|chamo-me|temos|moramos|gosto|odeio"
        "|meu nome é"
    ),
    verbs=phrases(
        "é|está|estão|são|sou|era|foi|tem|tenho|têm|mora|moro|moram|vive|vivo|trabalha|trabalho|gosta|gosto"
        "|quer|quero|chama|chamo|odeia|ama|custa|começa|termina|abre|fecha|chega|vem|vai|sai|comprei"
        "|compramos|nasceu|morreu|mudamos|mudei|fala|come|bebe|joga|prefere|precisa|preciso|deve|pode|há"
        "|disse|fica"
    ),
    chat=phrases(
        "oi|olá|ola|bom dia|boa tarde|tudo bem|tudo bom|como vai|como estás|ajuda|quem é você|quem és tu"
        "|o que você pode fazer|o que podes fazer|teste|e você|e tu|como você se chama|te odeio|te amo"
    ),
    thanks=phrases("obrigado|obrigada|muito obrigado|muito obrigada|valeu"),
    fine=phrases(
        "sim|não|ok|okay|claro|bem|muito bem|perfeito|ótimo|legal|desculpa|desculpe|entendi|beleza|de nada"
    ),
    leave=phrases("sair"),
)
