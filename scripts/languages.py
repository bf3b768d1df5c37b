"""Bring the catalogues in bot/locales up to date: take the texts from the code, keep translations, compile.

`NAME.po` is what translators edit, `NAME.mo` what the program reads. With `--check`, write nothing, but name each
stale file and exit with 1.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from bot import english
from bot.commands.registry import COMMANDS
from bot.language.catalogs import DOMAIN, LOCALES
from bot.language.codes import ENGLISH, LANGUAGES
from bot.language.text import Plural
from bot.setup import english as setup_english
from bot.web.page.rendering import TEMPLATES, template_environment
from bot.web.page.translation import catalog_text
from scripts.marked_texts import list_marked_texts

HEADER = "# The texts of Commonplace in another language. After a change: make languages\n#"
WIDTH = 110

MessageId = str | tuple[str, str]
"""A text, or its forms for one and for more."""


@dataclass(frozen=True, slots=True)
class FoundText:
    """A text that is translated."""

    id: MessageId
    place: str
    """Its constant, the command that it explains, its template, or its file."""
    context: str = ""
    """What is meant, where the same English text has another meaning elsewhere."""


def list_texts() -> Iterator[FoundText]:
    """Yield each text that is translated."""
    for name, value in (*vars(english).items(), *vars(setup_english).items()):
        if name.isupper() and name not in english.UNTRANSLATED | {"UNTRANSLATED"}:
            yield from (FoundText(text, name) for text in _texts_in(value))
    for command in COMMANDS:
        yield FoundText(command.help, f"/{command.name}")
        yield FoundText(command.example, f"/{command.name}, example")
        yield from (FoundText(option.help, f"/{command.name} {option.usage}") for option in command.options)
    for file in sorted(TEMPLATES.glob("*.html")):
        yield from _texts_of_template(file)
    yield from (FoundText(text, file) for file, text in list_marked_texts())


def _texts_in(value: object) -> Iterator[MessageId]:
    match value:
        case str():
            yield value
        case Plural():
            yield value.one, value.other
        case dict():
            for each in value.values():
                yield from _texts_in(each)
        case tuple():
            for each in value:
                yield from _texts_in(each)
        case _:
            raise TypeError(f"bot/english.py has a {type(value).__name__}: no text can be found in it")


def _texts_of_template(file: Path) -> Iterator[FoundText]:
    found = template_environment().extract_translations(file.read_text("utf-8"))  # type: ignore[attr-defined]
    for line, function, message in found:
        match [message] if isinstance(message, str) else [each for each in message if each is not None]:
            case [str(text)]:
                yield FoundText(catalog_text(text), file.name)
            case [str(context), str(text)] if function == "pgettext":
                yield FoundText(catalog_text(text), file.name, context)
            case [str(one), str(other)] if function == "ngettext":
                yield FoundText((catalog_text(one), catalog_text(other)), file.name)
            case _:
                raise ValueError(f"{file.name}, line {line}: {function} must have its texts in the template")


def make_template() -> Catalog:
    """Return a catalogue of all texts without translations."""
    template = Catalog(domain=DOMAIN, fuzzy=False)
    for found in list_texts():
        if found.id:
            template.add(found.id, auto_comments=[found.place], context=found.context or None)
    return template


def catalog_files(language: str) -> tuple[Path, Path]:
    """Return a language's `.po` and `.mo`."""
    folder = LOCALES / language / "LC_MESSAGES"
    return folder / f"{DOMAIN}.po", folder / f"{DOMAIN}.mo"


def load_catalog(language: str) -> Catalog:
    """Return the translations of a language as they are on disk; none if it has no file yet."""
    file, _ = catalog_files(language)
    if not file.exists():
        return Catalog(language, domain=DOMAIN, fuzzy=False)
    with file.open("rb") as stream:
        return read_po(stream, language, domain=DOMAIN)


def update_catalog(catalog: Catalog, template: Catalog) -> Catalog:
    """Take over the texts of the template; a text that was changed keeps its translation, marked as fuzzy."""
    catalog.update(template, update_creation_date=False)
    catalog.header_comment = HEADER
    catalog.project, catalog.version = "Commonplace", "0"
    return catalog


def print_catalog(catalog: Catalog) -> tuple[bytes, bytes]:
    """Return the contents of a catalogue's `.po` and `.mo`; of what is fuzzy, the latter has none."""
    po, mo = BytesIO(), BytesIO()
    write_po(po, catalog, width=WIDTH, no_location=True, ignore_obsolete=True)
    # From what the file says, so that both are the same whichever of them is read.
    write_mo(mo, read_po(BytesIO(po.getvalue()), catalog.locale, domain=DOMAIN))
    return po.getvalue(), mo.getvalue()


def main() -> int:
    """Write the files, or with `--check` compare them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 where a file is stale"
    )
    check, stale = options.parse_args().check, 0
    template = make_template()
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        catalog = update_catalog(load_catalog(language), template)
        for file, content in zip(catalog_files(language), print_catalog(catalog), strict=True):
            if file.exists() and file.read_bytes() == content:
                continue
            stale += 1
            print(f"{'stale' if check else 'written'}: {file.relative_to(LOCALES.parent.parent)}")
            if not check:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
    if check and stale:
        print("run `make languages`", file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
