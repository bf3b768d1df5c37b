"""Texts for people that are English here, and can be said in another language by whoever knows the reader."""

from collections.abc import Callable


class Translatable(str):
    """An English text that keeps how it was made: `template`, and the values of its fields.

    It is the text wherever a str is wanted: in logs, in JSON, on the command line. A text that is made from it, such
    as `f"{text}!"`, can no longer be translated: put it into a field of another one.
    """

    __slots__ = ("fields", "template")

    template: str
    fields: dict[str, object]

    def __new__(cls, template: str, /, **fields: object) -> "Translatable":
        """Fill in the fields as `str.format` does; without any, `template` is the text as it stands.

        The template is a literal: `scripts/languages.py` takes it into the catalogues from the source.
        """
        kept = {name: _keep(value) for name, value in fields.items()}
        made = super().__new__(cls, template.format(**kept) if kept else template)
        made.template, made.fields = template, kept
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        """Return what makes an equal one, for `copy` and `pickle`."""
        return (self.template,), self.fields


class TranslatableError(Exception):
    """An error whose text can be translated; `str` of it is English."""

    def __init__(self, text: str = "", /, **fields: object) -> None:
        """`text` is a Translatable, or the template of one."""
        self.text = text if isinstance(text, Translatable) else Translatable(text, **fields)
        super().__init__(self.text)


def _keep(value: object) -> object:
    """Return what a text keeps of a field's value: an error would keep its frames."""
    match value:
        case TranslatableError():
            return value.text
        case str() | int() | float():
            return value
    return str(value)


def map_fields(text: str, change: Callable[[str], str]) -> str:
    """Return a text with a change made to each text that was filled in; to all of it if it cannot be translated."""
    if not isinstance(text, Translatable):
        return change(text)
    fields = {
        name: map_fields(value, change) if isinstance(value, str) else value
        for name, value in text.fields.items()
    }
    return Translatable(text.template, **fields)


def end_sentence(text: str) -> str:
    """Return a text with a full stop at its end."""
    return text if text.endswith(".") else Translatable("{sentence}.", sentence=text)


def join_texts(*texts: str) -> str:
    """Return the texts that are not blank with a semicolon between them, each still translatable."""
    joined = ""
    for each in filter(None, texts):
        joined = Translatable("{first}; {second}", first=joined, second=each) if joined else each
    return joined
