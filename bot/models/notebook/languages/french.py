"""French."""

from bot.models.notebook.language import Language, RefusalTexts, Replies, phrases

FRENCH = Language(
    code="fr",
    say=Replies(
        noted="Noté dans {places}.",
        already_noted="C’est déjà noté dans {places}.",
        place="`{path}`, ligne {line}",
        lines="`{path}`, lignes {lines}",
        found="Dans vos notes :",
        close="Je ne suis pas sûr que ce soit cela, mais cela s’en approche :",
        said="Dans notre conversation du {date} :",
        since="Depuis le {date} : {text}",
        before_that="Avant, à partir du {date} : {text}",
        nothing="Je n’ai rien trouvé à ce sujet dans vos notes. D’autres mots le trouveront peut-être ; pour que "
        "je le note, commencez par « note que ».",
        hello="Je garde vos notes et je les retrouve. Dites-moi quelque chose, par exemple « Note que le "
        "double des clés est chez Tom », ou demandez : « Où est le double des clés ? » Ou dites : « "
        "Rappelle-moi demain à 9h d’appeler Tom. »",
        what="Que dois-je retenir ?",
        cannot_note="Je ne peux rien noter ici : dans cette conversation, je n’ai pas accès à la mémoire.",
        cannot_find="Je ne peux pas chercher ici : dans cette conversation, je n’ai pas accès à la mémoire.",
        closed="Dans les groupes, la mémoire est fermée tant qu’un propriétaire n’envoie pas `/memory on`.",
        not_noted="Je n’ai pas pu le noter : {error}",
        not_found="Je n’ai pas pu chercher dans vos notes : {error}",
        thanks="Je vous en prie.",
        fine="D’accord.",
        cannot_do="Je ne fais que garder des notes et les retrouver, je ne peux donc pas faire "
        "cela. Pour que je le note, commencez par « note que ».",
        cannot_read="Je ne peux pas regarder les images, fichiers et messages vocaux : je ne fais que garder "
        "des notes et les retrouver.",
        keep_how="Pour que je garde le document dans vos notes, dites « retiens ceci ».",
        notice="Je suis le carnet intégré : je garde des notes, je les retrouve et je vous les rappelle. "
        "Pour le reste, il faut un modèle de langage : sur la machine où je tourne, "
        "`commonplace init model` vous demande lequel vous voulez et l’essaie. Avec Ollama, il tourne "
        "sur votre propre machine, sans clé ; docs/models.md montre tous les autres.",
        reminded="Rappel {number} pour le {due} : {text}",
        reminded_again="Rappel {number}, {when} : {text}. Le premier, le {due}.",
        while_open="Je ne peux vous le rappeler que tant que Commonplace tourne ; sinon, vous le verrez la "
        "prochaine fois.",
        not_reminded="Je n’ai pas pu créer ce rappel : {error}",
        remind_when="Quand dois-je vous le rappeler ? Je n’ai pas trouvé d’heure que je comprenne. Répondez "
        "par exemple « demain 9:00 », ou envoyez `/remind demain 9:00 appeler Tom`.",
        remind_what="Que dois-je vous rappeler ? Répondez-moi, ou envoyez `/remind demain 9:00 appeler Tom`.",
        refused=RefusalTexts(
            past="C’est déjà passé.",
            no_time="{time} n’est pas une heure valable (de 00:00 à 23:59).",
            no_date="Je ne trouve pas cette date dans le calendrier.",
            unclear_date="Cette date peut se lire de deux façons. Année-mois-jour fonctionne toujours : "
            "`2026-12-03`.",
            one_time="Un rappel a besoin d’un seul moment. Pour plusieurs, demandez plusieurs rappels.",
            no_event="Je ne sais pas calculer un moment avant ou après autre chose. Indiquez l’heure exacte.",
            no_exceptions="Je ne peux pas exclure de jours. Indiquez les jours que vous voulez.",
            no_end="Je ne peux pas fixer de fin. Laissez-la de côté ; `/reminders cancel N` arrêtera le "
            "rappel plus tard.",
            no_rule="Je ne peux pas le répéter ainsi. Par exemple : `chaque lundi 8:00`.",
            what_hour="À quelle heure aujourd’hui ?",
            unclear="Ce moment peut se comprendre de plusieurs façons.",
        ),
        forget="Pour l’effacer partout, envoyez `{command}`. Je vous montrerai d’abord ce qui disparaîtrait.",
        forget_nothing="Je n’ai rien trouvé à ce sujet dans vos notes. Pour effacer une note, "
        "envoyez `/forget MOTS` avec des mots qui y figurent.",
        correct="Pour corriger une note, envoyez `{command}` avec le bon texte.",
        corrected="Corrigé : {place} dit maintenant « {new} » au lieu de « {old} ». "
        "Pour revenir en arrière, dites « annule ».",
        removed="Effacé de {place} : « {old} ». Pour le remettre, dites « annule ».",
        nothing_to_undo="Il n'y a rien à annuler : je n'ai rien noté ni modifié dans nos derniers messages.",
        undo_older="Ma dernière modification est trop ancienne, ou le texte a changé depuis. "
        "`/undo` annule votre dernière modification des notes, `/changes` en donne la liste.",
        back="De retour dans {place} : « {text} ».",
        which_words="Quels mots dois-je changer ? La ligne dit « {text} ». Envoyez-moi la nouvelle phrase "
        "entière.",
        reminder_moved="Déplacé : je vous le rappelle le {due} : {text} (rappel {number}). Pour revenir en arrière, "
        "dites « annule ».",
        reminder_cancelled="Rappel {number} annulé : {text}. Pour le remettre, dites « annule ».",
        no_such_reminder="Je n'ai rien annulé : {error}",
        good_night="Bonne nuit !",
        goodbye="À bientôt !",
        clock="Il est {time} ({zone}).",
        day="Aujourd'hui, c'est {weekday} {date}.",
        list_notes="`/memory list` montre vos notes, et `/memory get MEMORY.md` en affiche une.",
        reminders="`/reminders` montre vos rappels.",
        cancel_reminder="Pour annuler un rappel, envoyez `{command}`. `/reminders` montre les numéros.",
        reminders_are="Vos rappels :",
        reminders_none="Vous n’avez aucun rappel.",
        on_day="Pour {day} :",
        on_day_nothing="Je n’ai ni rappel ni note pour {day}.",
        about_you="Dans `MEMORY.md`, que j’ai toujours sous la main :",
        about_you_nothing="Je n’ai encore rien sur vous que j’aie toujours sous la main. `/remember core: "
        "TEXTE` l’y met ; `/recall MOTS` cherche dans tout le reste.",
        today="Dans les notes d’aujourd’hui :",
        today_nothing="Il n’y a pas encore de notes aujourd’hui.",
        rest="`/memory get {path}` montre tout.",
        leave="Pour quitter le terminal, tapez exit ou appuyez sur Ctrl-D. Vos notes restent.",
    ),
    abbreviations=phrases("dr|m|mm|mme|mlle|prof|av|bd|tél|st|ste|env|cf"),
    hints=phrases(
        "le|la|les|des|du|un|une|et|est|sont|dans|avec|pour|par|sur|mon|ma|mes|ton|ta|tes|son|sa|ses|notre"
        "|nos|au|aux|ce|cette|je|j'ai|il|elle|nous|vous|on|ne|pas|plus|très|mais|chez|depuis|aujourd'hui"
        "|demain|hier|c'est|de"
    ),
    letters="œû",
    accents="àâæçéèêëîïôœùûüÿ",
    please=phrases("s'il te plaît|s'il vous plaît|s'il te plait|s'il vous plait|stp|svp|bien"),
    before=phrases(
        "hé|salut|bonjour|ok|bon|et|alors|commonplace|je veux que tu|il faut que tu|j'aimerais que tu"
    ),
    could_you=phrases(
        "peux-tu|peux tu|tu peux|pourrais-tu|tu pourrais|pouvez-vous|pourriez-vous|vous pouvez"
        "|est-ce que tu peux"
    ),
    remember=phrases(
        "souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|te souvenir|te rappeler|retiens|retenez"
        "|retenir|note|notez|noter|prends note|prenez note|n'oublie pas|n'oubliez pas|oublie pas"
        "|garde en mémoire|gardez en mémoire|garde en tête|garde à l'esprit|mémorise|mémorisez"
        "|enregistre que|enregistre:|enregistre ceci|écris que|pour info|pour information|au fait|à noter"
        "|sache que|sachez que|pense à"
    ),
    recall=phrases(
        "souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|au fait|pour info|pour information"
    ),
    this=phrases("ceci|cela|ça|ce qui suit"),
    that=phrases("que|qu'|de|d'"),
    for_ever=phrases("toujours|pour toujours|définitivement|à jamais|durablement"),
    never_forget=phrases("n'oublie jamais|n'oubliez jamais"),
    remember_end=phrases(
        "note-le|notez-le|note ça|souviens-t'en|retiens-le|retiens ça|n'oublie pas|n'oubliez pas"
        "|ne l'oublie pas|pour info|pour information|garde-le en tête|à retenir|à noter"
    ),
    mentions=phrases("au fait|pour info|pour information|sache que|sachez que"),
    keep=phrases(
        "garde|gardez|garder|garde-le|enregistre|enregistrez|enregistrer|enregistre-le|conserve|conservez"
        "|conserver|sauvegarde|sauvegarder|archive|archiver"
    ),
    document=phrases("document|documents|fichier|fichiers|pdf|pièce"),
    search=phrases(
        "cherche|cherchez|recherche|trouve|trouve-moi|trouvez|montre-moi|montrez-moi|dis-moi|dites-moi"
        "|parle-moi de|parlez-moi de|parle-moi d'|que sais-tu de|que sais-tu sur|qu'est-ce que tu sais sur"
        "|sais-tu|te souviens-tu de|tu te souviens de|donne-moi|cherche dans mes notes"
    ),
    remind=phrases(
        "rappelle-moi de|rappelle-moi d'|rappelez-moi de|rappelez-moi d'|rappelle-moi|rappelez-moi"
        "|me rappeler|nous rappeler|me rappeler de|me rappeler d'|mets un rappel|mets une alarme|réveille-moi"
    ),
    reminder_links=phrases("de|d'|que|qu'|du|des"),
    forget=phrases("supprime|supprimez|efface|effacez|oublie|oubliez"),
    forget_fillers=phrases(
        "le|la|les|l|un|une|des|du|de|d|mon|ma|mes|ton|ta|tes|votre|vos|ce|cet|cette|ces|note|notes"
        "|sur|avec|que|qu|ai|dit|tout|toutes|tous|propos|à|au|aux"
    ),
    change=phrases("corrige|corrigez|modifie|modifiez"),
    denials=phrases("non|mais non"),
    wrong=phrases(
        "c'est faux|c'est inexact|ce n'est pas vrai|c'est pas vrai|ce n'est pas correct"
        "|ce n'est pas juste|ce n'est pas ça|c'est pas ça|c'est une erreur|c'est incorrect|faux"
        "|ce n'est pas ce que je voulais dire|tu te trompes|vous vous trompez"
    ),
    corrects=phrases(
        "je voulais dire|je veux dire|correction|c'est plutôt|plutôt|ou plutôt|change ça en"
        "|changez ça en|corrige en"
    ),
    amends=phrases("en fait|pardon|désolé|désolée|attends|attendez|oups|excuse-moi|excusez-moi|finalement"),
    pronouns=phrases("c'est|ce sont|c'était|il|il est|elle|elle est|ils sont|elles sont"),
    copulas=phrases("est|sont|suis|était|c'est|s'appelle|m'appelle"),
    instead=(
        r"(?:ce n'est pas|c'est pas|ce ne sont pas|ce sont pas|non pas|pas) (?P<old>[^,;.]+?)"
        r"(?:,| mais) *(?:mais )?(?:c'est |ce sont )?(?P<new>[^,;.]+)",
        r"(?:c'est |ce sont )?(?P<new>[^,;.]+?)(?:, (?:et )?(?:non )?pas| et "
        r"(?:non )?pas| au lieu de| plutôt que| pas) (?P<old>[^,;.]+)",
    ),
    forget_that=phrases(
        "oublie ça|oublie cela|oubliez ça|oubliez cela|oublie-le|oublie ce que j'ai dit"
        "|oublie ce que je viens de dire|efface ça|efface cela|effacez ça|effacez cela|efface-le"
        "|supprime ça|supprime cela|supprimez ça|supprimez cela|supprime-le|efface la dernière note"
        "|supprime la dernière note|annule ce rappel|annulez ce rappel|annule le rappel"
        "|annulez le rappel"
    ),
    undo=phrases(
        "annule|annulez|annuler|annule ça|annulez ça|annule cela|reviens en arrière|rétablis"
        "|remets-le|remets ça"
    ),
    clock=phrases(
        "quelle heure est-il|quelle heure il est|il est quelle heure|quelle heure est-il maintenant"
        "|quelle est l'heure|c'est quelle heure|dis-moi l'heure|dites-moi l'heure|tu as l'heure"
        "|vous avez l'heure"
    ),
    day=phrases(
        "quel jour sommes-nous|quel jour sommes-nous aujourd'hui|quel jour on est|on est quel jour"
        "|quel jour est-on|quel jour est-ce|quelle est la date|quelle est la date aujourd'hui"
        "|quelle est la date d'aujourd'hui|quelle date sommes-nous|c'est quel jour"
        "|c'est quel jour aujourd'hui|quel jour est-il|le combien sommes-nous|on est le combien"
    ),
    good_night=phrases("bonne nuit|dors bien|dormez bien|fais de beaux rêves|bonne nuit à toi"),
    goodbye=phrases(
        "au revoir|à bientôt|à demain|à plus|à plus tard|à tout à l'heure|bonne journée|bonne soirée"
    ),
    weekday_names=phrases("lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"),
    list_notes=phrases(
        "montre toutes les notes|montre-moi toutes les notes|montre toutes mes notes"
        "|montre-moi toutes mes notes|montrez-moi toutes mes notes|montre-moi mes notes"
        "|montrez-moi mes notes|affiche mes notes|affiche toutes les notes|affiche toutes mes notes"
        "|liste mes notes|liste toutes mes notes|quelles notes ai-je|quelles sont mes notes"
        "|toutes les notes|toutes mes notes|mes notes"
    ),
    list_reminders=phrases(
        "quels sont mes rappels|quels rappels ai-je|montre mes rappels|montre-moi mes rappels"
        "|montrez-moi mes rappels|affiche mes rappels|liste mes rappels|mes rappels|rappels"
        "|ai-je des rappels"
    ),
    cancel_reminder=(
        r"(?:(?:annule|annulez|supprime|supprimez|efface|effacez|arrête|arrêtez) (?:(?:le|les"
        r"|mon|mes|tous|ce) )*rappels?(?= *(?:$|[#\d]|(?:n|no|numéro|de|du|pour|à|sur)\b)|'"
        r"| d')|(?:arrête|arrêtez|cesse|cessez) de me rappeler|ne me (?:le )?rappel(?:le|ez"
        r") (?:plus|pas))"
    ),
    today_words=phrases("aujourd'hui|ce soir"),
    tomorrow_words=phrases("demain"),
    on_day=phrases(
        "qu'est-ce que j'ai …|qu'est-ce que j'ai de prévu …|qu'est-ce que j'ai de prévu pour …"
        "|qu'ai-je …|qu'ai-je de prévu …|qu'est-ce qui est prévu …|qu'est-ce qui est prévu pour …"
        "|qu'est-ce qu'il y a …|qu'est-ce qu'il y a de prévu …|qu'y a-t-il …"
        "|qu'y a-t-il de prévu …|j'ai quoi …|j'ai quoi de prévu …|quoi de prévu …"
        "|quoi de prévu pour …|quel est le programme …|quel est le programme pour …"
        "|quel est mon programme …|que dois-je faire …|qu'est-ce que je dois faire …"
        "|quels sont mes rendez-vous …"
    ),
    paraphrases=(
        phrases("je m'appelle|mon nom|mon prénom|appelle-moi|appelez-moi|on m'appelle|je me nomme"),
        phrases("j'habite|habité-je|nous habitons|mon adresse|je vis|j'ai déménagé|nous avons déménagé"),
        phrases(
            "mon anniversaire|je suis né|je suis née|suis-je né|suis-je née|ma date de naissance"
            "|âge ai-je|mon âge"
        ),
        phrases("je travaille|mon travail|mon métier|mon emploi|mon employeur|ma profession"),
    ),
    about_me=phrases(
        "que sais-tu de moi|que sais-tu sur moi|qu'est-ce que tu sais de moi"
        "|qu'est-ce que tu sais sur moi|que savez-vous de moi|que savez-vous sur moi"
        "|qu'est-ce que vous savez de moi|tu sais quoi de moi|tu sais quoi sur moi|qui suis-je"
        "|dis-moi ce que tu sais de moi"
    ),
    today=phrases(
        "que s'est-il passé aujourd'hui|qu'est-ce qui s'est passé aujourd'hui"
        "|qu'est-ce que j'ai fait aujourd'hui|qu'ai-je fait aujourd'hui"
        "|qu'est-ce que je t'ai dit aujourd'hui|qu'as-tu noté aujourd'hui"
        "|montre-moi les notes d'aujourd'hui|les notes d'aujourd'hui|notes d'aujourd'hui"
        "|notes du jour"
    ),
    add_model=phrases(
        "comment ajouter un modèle|comment ajouter un modèle de langage|comment j'ajoute un modèle"
        "|comment puis-je ajouter un modèle|comment configurer un modèle|comment utiliser un modèle"
        "|ajouter un modèle|ajouter un modèle de langage|quels modèles puis-je utiliser"
        "|comment utiliser ollama|comment utiliser chatgpt"
    ),
    date="%d/%m/%Y à %H:%M",
    orders=phrases(
        "écris-moi|écris un|écris une|écrivez un|écrivez une|rédige|traduis|traduisez|aide-moi|aidez-moi"
        "|calcule|dessine|ouvre la|ouvre le|ouvre les|allume|éteins|raconte-moi une blague"
        "|j'ai besoin d'aide"
    ),
    ask_first=phrases(
        "où|ou est|ou sont|quand|qui|que|qu'est-ce|qu'|quoi|comment|pourquoi|combien|quel|quelle|quels"
        "|quelles|lequel|laquelle|est-ce que|est-ce qu'|as-tu|avez-vous|sais-tu|y a-t-il|à quelle heure"
        "|à qui|chez qui|avec qui|de qui|dans quel|dans quelle|d'où|je me demande|je voudrais savoir"
        "|je veux savoir|je ne sais plus|je ne trouve pas|je cherche|résume|explique"
    ),
    conjunctions=phrases("quand|comment|qui|que|où|quel|quelle"),
    ask_last=phrases("où|quand|qui|combien"),
    idioms=phrases("quel plaisir|quelle chance|quelle belle|quel beau"),
    subjects=phrases(
        "je|j'|j'ai|nous|il|elle|ils|elles|on|c'est|je suis|je m'appelle|j'habite|j'aime|moi, je|mon nom est"
    ),
    verbs=phrases(
        "est|sont|suis|était|a|ai|ont|avons|habite|habitons|habitent|vit|vivons|travaille|aime|adore"
        "|déteste|veut|veux|s'appelle|appelle|coûte|commence|finit|ouvre|ferme|arrive|part|va|vient|joue"
        "|parle|mange|boit|préfère|doit|peut|acheté|déménagé|né|née|mort|morte|dit|reste|fait|sera"
        "|se trouve"
    ),
    chat=phrases(
        "bonjour|bonsoir|salut|coucou|allô|ça va|comment ça va|comment vas-tu|comment allez-vous|aide"
        "|qui es-tu|qui êtes-vous|que peux-tu faire|que sais-tu faire|test|s'il te plaît|s'il vous plaît"
        "|et toi|et vous|comment t'appelles-tu|je te déteste|je t'aime"
    ),
    thanks=phrases("merci|merci beaucoup|merci bien|beaucoup"),
    fine=phrases(
        "oui|non|ouais|d'accord|ok|okay|bien|très bien|super|parfait|génial|pardon|désolé|désolée|tant pis"
        "|bien sûr|de rien"
    ),
    leave=phrases("quitter|sortir"),
)
