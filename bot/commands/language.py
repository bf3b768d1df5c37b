"""The slash command `/language`."""

from bot import phrases
from bot.commands.command import CommandCall
from bot.language.codes import LANGUAGES, find_language
from bot.language.current import current_language, speaking
from bot.services import Services

AUTOMATIC = "auto"


async def choose_language(call: CommandCall, services: Services) -> str:
    """Say which language is spoken with this person, or choose one for them; `auto` ends the choice."""
    person, code = call.message.sender, call.options.get("code", "")
    if not code:
        is_chosen = await services.languages.is_chosen(person)
        return "\n\n".join(
            [
                (phrases.LANGUAGE_CHOSEN if is_chosen else phrases.LANGUAGE).format(
                    language=LANGUAGES[current_language()]
                ),
                phrases.LANGUAGE_LIST.format(languages=_list_languages()),
            ]
        )
    is_automatic = code.lower() == AUTOMATIC
    language = "" if is_automatic else find_language(code)
    if language is None:
        return phrases.LANGUAGE_UNKNOWN.format(code=code.replace("`", ""), languages=_list_languages())
    with speaking(await services.languages.choose(person, language)):
        phrase = phrases.LANGUAGE_AUTO if is_automatic else phrases.LANGUAGE_SET
        return phrase.format(language=LANGUAGES[current_language()])


def _list_languages() -> str:
    rows = [phrases.LANGUAGE_ROW.format(name=name, code=code) for code, name in LANGUAGES.items()]
    return phrases.COMMA.join(rows)
