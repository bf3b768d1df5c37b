"""The templates show no text of their own but what gettext looks up, and translations keep their HTML."""

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import nodes

from bot.language.codes import ENGLISH, LANGUAGES
from bot.web.page.rendering import TEMPLATES, template_environment
from scripts.languages import list_texts, load_catalog
from tests.fakes.table_test import table_test

SPOKEN = {"title", "placeholder", "aria-label", "aria-description", "aria-valuetext", "alt"}
"""Attributes that people read or hear."""
UNREAD = {"script", "style", "code"}
"""Elements whose content is not in a language."""
NAMES = {"Commonplace", "DOCTYPE"}
LOOKED_UP = {"_", "gettext", "ngettext", "pgettext"}
TAG = re.compile(r"<[^>]*>")


def shown_by(node: nodes.Node) -> Iterator[str]:
    """Yield the texts of a template in their order, those of all its branches; nothing for what is looked up."""
    match node:
        case nodes.TemplateData(data=data):
            yield data
        case nodes.Const(value=str(text)):
            yield text
        case nodes.Call(node=nodes.Name(name=name)) if name in LOOKED_UP:
            pass
        case nodes.Compare() | nodes.Getitem() | nodes.Include() | nodes.Import() | nodes.Extends():
            pass
        case nodes.Filter(name="format" | "map"):
            pass
        case nodes.Filter(node=inner, name=name, args=args):
            shown = [inner, *(args if name == "default" else [])]
            yield from (text for each in shown if each is not None for text in shown_by(each))
        case nodes.Call(node=nodes.Getattr(node=nodes.Name(name="words"), attr="state"), args=[_, word]):
            yield from shown_by(word)
        case nodes.CondExpr(expr1=one, expr2=other):
            yield from (text for each in (one, other) if each is not None for text in shown_by(each))
        case nodes.Call(node=nodes.Getattr(node=nodes.Name(name="words")), args=args):
            yield from (text for each in args for text in shown_by(each))
        case nodes.Call():
            pass
        case nodes.If(body=body, elif_=others, else_=other):
            yield from (text for each in (*body, *others, *other) for text in shown_by(each))
        case nodes.Assign(node=value):
            yield from texts_in_values(value)
        case nodes.For(iter=value, body=body, else_=other):
            yield from texts_in_values(value)
            yield from (text for each in (*body, *other) for text in shown_by(each))
        case nodes.Test():
            pass
        case _:
            yield from (text for each in node.iter_child_nodes() for text in shown_by(each))


def texts_in_values(node: nodes.Node) -> Iterator[str]:
    """Yield the strings of a list or a mapping that people would read: those with a capital letter or a space."""
    match node:
        case nodes.Call(node=nodes.Name(name=name)) if name in LOOKED_UP:
            pass
        case nodes.Const(value=str(text)) if text != text.lower() or " " in text:
            yield f"<p>{text}</p>"
        case _:
            yield from (text for each in node.iter_child_nodes() for text in texts_in_values(each))


class ShownWords(HTMLParser):
    """Collects the words of a page in whatever language: its text, and attributes that are read out."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._unread = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unread += tag in UNREAD
        given = dict(attrs)
        read = SPOKEN | ({"value"} if tag == "input" and given.get("type") in ("submit", "button") else set())
        for name in read & given.keys():
            self._take(given[name] or "")
        for name, value in given.items():
            if name.startswith("data-") and " " in (value or ""):
                self._take(value or "")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in UNREAD

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self._take(data)

    def _take(self, text: str) -> None:
        words = [word for word in re.findall(r"[^\W\d_]+", text) if word not in NAMES]
        if words:
            self.found.append(" ".join(text.split()))


def unmarked_in(source: str) -> list[str]:
    return ShownWords("".join(shown_by(template_environment().parse(source)))).found


@pytest.mark.parametrize("file", sorted(TEMPLATES.glob("*.html")), ids=lambda file: file.name)
def test_every_text_is_looked_up(file: Path) -> None:
    assert unmarked_in(file.read_text("utf-8")) == []


@table_test(
    ("source", "unmarked"),
    [
        ("<p>Hello {{ name }}</p>", ["Hello"]),
        ("<p>{% trans %}Hello <b>you</b>{% endtrans %}</p>", []),
        ("<p>{{ _('Hello') }}</p>", []),
        ("<p>{{ 'Hello' if name else 'Bye' }}</p>", ["HelloBye"]),
        ("<p>{{ name or 'nobody' }}</p>", ["nobody"]),
        ("<p>{{ name|default('nobody') }}</p>", ["nobody"]),
        ("<p>{% if name == 'x' %}{{ words.state('good', 'on') }}{% endif %}</p>", ["on"]),
        ("{% set names = {'a': 'One thing'} %}", ["One thing"]),
        ("{% for word in ('notes', 'Notes') %}{{ word }}{% endfor %}", ["Notes"]),
        ("<button aria-label='Close {{ name }}'>×</button>", ["Close"]),
        ("<p data-told='Try again.'></p>", ["Try again."]),
        ("<input type='submit' value='Save'>", ["Save"]),
        ("<button name='do' value='save' class=\"{{ 'busy' if name }}\">→</button>", []),
        ("<code>server.token</code><script>let x;</script>", []),
    ],
)
def test_the_search_for_texts_finds_them(source: str, unmarked: list[str]) -> None:
    assert unmarked_in(source) == unmarked


def translated_html() -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the language, the English forms and the translated forms of each text in a template."""
    ids = {(each.id, each.context or None) for each in list_texts() if each.place.endswith(".html")}
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        for message in load_catalog(language):
            key = message.id if isinstance(message.id, str) else tuple(message.id)
            if (key, message.context) in ids:
                forms = [message.string] if isinstance(message.string, str) else list(message.string or ())
                yield language, [key] if isinstance(key, str) else list(key), forms


def test_translations_have_the_tags_of_the_english_text() -> None:
    wrong = [
        (language, form)
        for language, english_forms, forms in translated_html()
        for form in forms
        if Counter(TAG.findall(form)) != Counter(TAG.findall(english_forms[-1]))
    ]
    assert wrong == []


def test_no_text_breaks_the_attribute_or_the_markup_around_it() -> None:
    wrong = [
        (language, form)
        for language, english_forms, forms in translated_html()
        for form in (*english_forms, *forms)
        if re.search(r'["<>&]', TAG.sub("", form))
    ]
    assert wrong == []
