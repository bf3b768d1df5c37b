"""Portuguese."""

from bot.models.notebook.language import Language, Sayings, phrases

PORTUGUESE = Language(
    code="pt",
    say=Sayings(
        noted="Anotado em {places}.",
        place="`{path}`, linha {line}",
        lines="`{path}`, linhas {lines}",
        found="Nas suas notas:",
        close="Não tenho certeza de que seja isto, mas é parecido:",
        nothing="Não encontrei nada sobre isso nas suas notas. Talvez com outras palavras; se era para anotar, "
        "comece com “anote que”.",
        hello="Guardo as suas notas e volto a encontrá-las. Conte-me algo, por exemplo “Lembre-se de que a "
        "chave reserva está com o Tomás”, ou pergunte: “Onde está a chave reserva?”",
        what="O que devo lembrar?",
        cannot_note="Aqui não posso anotar nada: neste chat não tenho acesso à memória.",
        cannot_find="Aqui não posso procurar: neste chat não tenho acesso à memória.",
        not_noted="Não consegui anotar: {error}",
        not_found="Não consegui procurar nas suas notas: {error}",
        notice="Nenhum modelo de linguagem está configurado, por isso só posso guardar notas e encontrá-las. "
        "Para adicionar um: em config.toml, indique-o em `chain` sob `[models]` e descreva o provedor "
        "numa seção `[providers.…]`; o README mostra como.",
    ),
    abbreviations=phrases("dr|dra|sr|sra|av|tel|prof|profa|pág|núm|st"),
    hints=phrases(
        "a|o|os|as|um|uma|do|da|dos|das|no|na|nos|nas|e|em|com|por|para|meu|minha|meus|minhas|seu|sua|é"
        "|está|são|sou|não|muito|mas|mais|já|eu|ele|ela|nós|você|isso|esta|este|hoje|amanhã|ontem|tem|ao"
        "|pela|pelo"
    ),
    letters="ãõ",
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
    this=phrases("isto|isso|o seguinte"),
    that=phrases("que|de que|de"),
    for_ever=phrases("sempre|para sempre|permanentemente"),
    never_forget=phrases("nunca esqueça|nunca se esqueça|nunca te esqueças"),
    remember_end=phrases(
        "lembra disso|lembre-se disso|lembra-te disso|anota isso|anote isso|anota aí|não esqueça"
        "|não esquece|não te esqueças|não se esqueça|toma nota|guarde isso"
    ),
    search=phrases(
        "procura|procure|procurar|busca|busque|pesquise|pesquisa|encontra|encontre|mostra-me|me mostra"
        "|me mostre|mostre|diga-me|me diga|me diz|diz-me|fale sobre|me fale sobre|fala-me de|me conta sobre"
        "|o que você sabe sobre|o que sabes sobre|o que você lembra sobre|você sabe|sabes|você lembra"
        "|lembras-te de"
    ),
    ask_first=phrases(
        "onde|quando|quem|o que|que|o quê|qual|quais|como|quanto|quanta|quantos|quantas|por que|por quê"
        "|porquê|cadê|a que horas|de quem|com quem|em que|tens|você tem|há quanto|eu queria saber"
        "|quero saber|não lembro|não me lembro|não encontro|não acho|traduz|traduza|resume|resuma|explica"
        "|explique|ajude-me|me ajuda|apaga|apague|esquece|esqueça|calcula"
    ),
    conjunctions=phrases("quando|como|onde|que|quem|qual"),
    ask_last=phrases("onde|quando|quem"),
    idioms=phrases("que bom|que lindo|que pena"),
    subjects=phrases(
        "eu|sou|tenho|estou|moro|vivo|nós|ele|ela|a gente|me chamo|chamo-me|temos|moramos|gosto|odeio"
    ),
    verbs=phrases(
        "é|está|estão|são|sou|era|foi|tem|tenho|têm|mora|moro|moram|vive|vivo|trabalha|trabalho|gosta|gosto"
        "|quer|quero|chama|chamo|odeia|ama|custa|começa|termina|abre|fecha|chega|vem|vai|sai|comprei"
        "|compramos|nasceu|morreu|mudamos|mudei|fala|come|bebe|joga|prefere|precisa|preciso|deve|pode|há"
        "|disse|fica"
    ),
    chat=phrases(
        "oi|olá|ola|bom dia|boa tarde|boa noite|tudo bem|tudo bom|como vai|como estás|obrigado|obrigada"
        "|muito obrigado|muito obrigada|valeu|de nada|sim|não|ok|okay|claro|bem|muito bem|perfeito|ótimo"
        "|legal|tchau|adeus|até logo|até amanhã|até mais|desculpa|desculpe|ajuda|quem é você|quem és tu"
        "|o que você pode fazer|o que podes fazer|teste|entendi|beleza"
    ),
)
