"""The languages that there are catalogues for, and which of them a code stands for."""

from collections.abc import Mapping

ENGLISH = "en"

LANGUAGES: Mapping[str, str] = {ENGLISH: "English", "de": "Deutsch", "zh_Hans": "简体中文"}
"""By code, as a folder of `bot/locales` is called: what its speakers call it. English is the source of the others."""

_TRADITIONAL = frozenset({"hant", "tw", "hk", "mo"})


def find_language(code: str) -> str | None:
    """Return the language closest to a code such as `de-AT`, `de_DE.UTF-8` or `zh-Hans-CN`; None if there is none.

    Traditional Chinese is none: most of its readers would rather have English than simplified characters.
    """
    main, *rest = code.partition(".")[0].partition("@")[0].lower().replace("_", "-").split("-")
    if main == "zh":
        return None if rest[:1] != ["hans"] and _TRADITIONAL.intersection(rest) else "zh_Hans"
    return next((known for known in LANGUAGES if known.lower() == main), None)


def closest_language(*codes: str) -> str:
    """Return the language closest to the first code that is not blank; English if there is none."""
    code = next(filter(None, codes), ENGLISH)
    return find_language(code) or ENGLISH
