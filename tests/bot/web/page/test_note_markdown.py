import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.web.page.note_markdown import render_lines, render_message, render_note
from memory.backlinks import NoteLinks
from tests.fakes.table_test import table_test

NOTE = """---
tags: [oslo]
---
# Oslo

Flight at nine,
back on *Sunday
night*

- passport
  in the blue folder
- [hotel](hotel.md#L12)

```
code <b>
```

| what | cost |
|---|---|
| tram | 4 |

***
> quoted
"""


def shown(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html)


def test_every_line_has_one_anchor_and_those_that_say_something_show_their_number() -> None:
    html = render_note(NOTE, path="trips/oslo.md")
    assert re.findall(r'id="L(\d+)"', html) == [str(number) for number in range(1, 24)]
    assert re.search(r'data-line="11"></span>in the blue folder', html)
    assert re.search(r'data-line="15"></span>code &lt;b&gt;', html)
    assert re.search(r'data-line="20"></span>tram', html)


def test_lines_of_a_part_are_counted_as_in_the_whole() -> None:
    html = render_note("one\ntwo\n", path="a.md", first_line=1001)
    assert re.findall(r'id="L(\d+)"', html) == ["1001", "1002"]


def test_a_paragraph_of_many_lines_takes_no_longer_for_each_of_them() -> None:
    def seconds(lines: int) -> float:
        start = time.thread_time()
        render_note("a\n" * lines, path="a.md")
        return time.thread_time() - start

    seconds(100)
    assert seconds(64_000) < 16 * seconds(8_000)


def test_a_table_stands_in_a_frame_of_its_own_that_the_keys_reach() -> None:
    html = render_note("Codes:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", path="a.md", first_line=11)
    frame = '<div class="table" role="region" aria-label="Table in line 13" tabindex="0"><table>'
    assert html.count(frame) == html.count("</table></div>") == 1


def test_properties_at_the_beginning_are_a_table() -> None:
    text = '---\naliases: [A <b>, C]\nup: "[[oslo]]"\nplain: [[oslo|x]]\ntags: work/x, 1\n---\n# Oslo\n'
    html = render_note(text, path="a.md", links=NoteLinks({("oslo", True): "trips/oslo.md"}))
    assert '<th scope="row"><span id="L1"></span>' in html
    assert "aliases</th><td>A &lt;b&gt;<br>C</td>" in html
    assert 'up</th><td><a href="/notes/trips/oslo.md" rel="noopener noreferrer">oslo</a></td>' in html
    assert 'plain</th><td><a href="/notes/trips/oslo.md" rel="noopener noreferrer">x</a></td>' in html
    assert 'tags</th><td><a class="tag" href="/search?q=%23work%2Fx">#work/x</a> 1</td>' in html
    assert "---" not in shown(html)
    rule = "---\nno end of properties\n"
    assert "<hr>" in render_note(rule, path="a.md")


@table_test(
    ("link", "leads"),
    [
        ("hotel.md", "/notes/trips/hotel.md"),
        ("../people/anna.md#L1002", "/notes/people/anna.md?line=1002#L1002"),
        ("m%C3%A4rz%20.md", "/notes/trips/m%C3%A4rz%20.md"),
        ("#L7", "#L7"),
        ("#two%20words", "/notes/trips/oslo.md?heading=two%20words"),
        ("hotel.md#Rooms", "/notes/trips/hotel.md?heading=Rooms"),
        ("https://example.org/a?b=c&d", "https://example.org/a?b=c&amp;d"),
        ("mailto:anna@example.org", "mailto:anna@example.org"),
    ],
)
def test_links_lead_to_notes_and_pages(link: str, leads: str) -> None:
    assert f'<a href="{leads}"' in render_note(f"[x]({link})", path="trips/oslo.md")


@table_test(
    "link",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "tg://user?id=1",
        "//evil.example/x.md",
        "../../outside.md",
        "/etc/passwd.md",
        "picture.png",
        "vbscript:x",
        "//[",
    ],
)
def test_other_links_are_text(link: str) -> None:
    html = render_note(f"[before {link}]({link}) ![picture]({link}) <{link}>", path="trips/oslo.md")
    assert "href" not in html.replace("&", "")
    assert "src" not in html


def test_links_lead_to_headings_also_of_the_same_note() -> None:
    links = NoteLinks({("anna", True): "people/Anna.md"})
    html = render_note("[[#Two words]] [[#^b|x]] [[Anna#Cats#Old]] [[Anna#Cats|y]]", path="a.md", links=links)
    assert re.findall(r'href="([^"]+)"[^>]*>([^<]+)<', html) == [
        ("/notes/a.md?heading=Two%20words", "Two words"),
        ("/notes/a.md?heading=%5Eb", "x"),
        ("/notes/people/Anna.md?heading=Cats%23Old", "Anna &gt; Cats &gt; Old"),
        ("/notes/people/Anna.md?heading=Cats", "y"),
    ]


def test_nothing_in_a_note_is_loaded_or_run() -> None:
    hostile = (
        '<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n![a"onerror="x](https://evil.example/p.png)\n\n'
        '[a](<https://e.example/"onclick="x>)\n\n```"><script>\nx\n```\n'
    )
    html = render_note(hostile, path="a.md")
    assert not re.search(r"<(?!/?(p|span|a|pre|code|br)\b)", html)
    assert not re.search(r"<[^>]*\son\w+=", re.sub(r'"[^"]*"', '""', html))
    assert shown(html).count("alert(1)") == 2


@given(st.text(max_size=300), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_text_becomes_a_page_with_an_anchor_for_each_of_its_lines(text: str, plain: bool) -> None:
    text = text.replace("\r", "\n").replace("\x00", "")
    html = render_lines(text) if plain else render_note(text, path="a.md")
    anchors = [int(number) for number in re.findall(r'id="L(\d+)"', html)]
    assert anchors == list(range(1, text.removesuffix("\n").count("\n") + 2))
    assert "<script" not in html.lower()


@table_test(
    "first",
    ["`code\nover two`", "![a\npicture](b.md)", '[a](b.md "a\ntitle")', "[a](\nb.md)", "*two\nlines*"],
)
@table_test("end", ["", "  ", "\\"])
def test_lines_are_counted_right_after_something_that_goes_on_in_the_next(first: str, end: str) -> None:
    html = render_note(f"> - {first} of it{end}\n  third\nfourth\n", path="a.md")
    assert 'id="L3" data-line="3"></span>third' in html
    assert 'id="L4" data-line="4"></span>fourth' in html
    assert re.findall(r'id="L(\d+)"', html) == ["1", "2", "3", "4"]


LINKS = NoteLinks({("anna", True): "people/anna.md", ("nobody", True): None, ("gone", False): None})


@table_test(
    ("text", "html"),
    [
        ("[[Anna]]", '<a href="/notes/people/anna.md" rel="noopener noreferrer">Anna</a>'),
        ("a [[Anna|she]]", '<a href="/notes/people/anna.md" rel="noopener noreferrer">she</a>'),
        ("[[Anna#Cats]]", ">Anna &gt; Cats</a>"),
        ("![[Anna]]", '<a href="/notes/people/anna.md"'),
        ("| a |\n|---|\n| [[Anna\\|she]] |", ">she</a>"),
        ("[[Nobody|x]]", '<span class="broken" title="No note has this name">x</span>'),
        ("[x](gone.md)", '<span class="broken" title="No note has this name">x</span>'),
        ("[[unknown]]", "</span>unknown</p>"),
        ("`[[Anna]]`", "<code>[[Anna]]</code>"),
        ("\\[[Anna]]", "[[Anna]]"),
        ("[see [[Anna]]](b.md)", ">see [[Anna]]</a>"),
        (
            "to #work/x now",
            'to<a class="tag" href="/search?q=%23work%2Fx">#work/x</a>'.replace("to<", "to <"),
        ),
        ("#a\n#b", '<a class="tag" href="/search?q=%23b">#b</a>'),
        ("x#no #1 `#no` [#no](b.md)", "x#no #1 <code>#no</code>"),
    ],
)
def test_wikilinks_and_tags_lead_to_pages(text: str, html: str) -> None:
    assert html in render_note(text, path="a.md", links=LINKS)


@table_test(
    "text",
    [
        "[[<img src=x onerror=alert(1)>]]",
        "[[Anna|<script>alert(1)</script>]]",
        "[[Anna#<script>]]",
        '[[Anna|" onmouseover="x]]',
        "[[javascript:alert(1)|x]]",
        "#<script>alert(1)</script>",
        "---\n<script>: <script>\naliases: ['<script>alert(1)</script>']\ntags: ['<script>']\n---\n",
        "---\nup: '[[Anna|<script>]]'\n---\n",
    ],
)
def test_links_tags_and_properties_run_nothing(text: str) -> None:
    links = NoteLinks({("anna", True): 'x"><script>.md', ("<img src=x onerror=alert(1)>", True): None})
    html = render_note(text, path="a.md", links=links)
    assert not re.search(r"<(?:script|img)|\son\w+=[^&]*\"[^&]*x|href=\"javascript", html), html
    tags = re.findall(r"<(\w+)((?: [\w-]+=\"[^\"<>]*\")*)>", html)
    assert len(tags) == len(re.findall(r"<\w", html)), html
    assert not any(" on" in attributes.replace("onmouseover=&quot;", "") for _, attributes in tags)


TAGS = set(
    re.findall(
        "[a-z]+",
        "a p strong em code pre ul ol li blockquote br hr div table thead tbody tr th td span s input",
    )
)


def test_a_message_has_no_anchors_and_no_headings_of_its_own() -> None:
    html = render_message(f"# {NOTE}\n\n[a](b.md) [[c]] #tag <b> [d](#L1) [e](#oslo) [f](/people)", number=7)
    assert 'id="' not in html
    assert not re.search(r"<h\d", html)
    assert "<strong>Oslo</strong>" in html
    assert re.search(r'aria-label="Table in line \d+ of message 7"', html)
    assert "&lt;b&gt;" in html
    assert re.findall('href="([^"]+)"', html) == ["/notes/hotel.md#L12", "/notes/b.md", "/search?q=%23tag"]


@settings(max_examples=50)
@given(st.text(alphabet="<>\"'&#[]()!*_`|-\n\\ a:javscript", max_size=200))
def test_whatever_a_message_says_it_opens_no_tag_of_its_own(text: str) -> None:
    tags = set(re.findall(r"<([a-z0-9]+)", render_message(text, number=1)))
    assert tags <= TAGS


def test_tasks_are_boxes_that_nobody_ticks_here() -> None:
    html = render_note(
        "- [x] tickets\n- [ ] #key\n\n1. [X] one\n\n[ ] no item\n- [y] no\n- [x](a.md)\n", path="a.md"
    )
    assert html.count("<input") == html.count(" disabled") == html.count('<li class="task">') == 3
    assert html.count("checked") == 2
    assert "[ ] no item" in shown(html)
    assert "[y] no" in shown(html)


def test_pictures_are_shown_if_they_are_files_beside_the_notes() -> None:
    files = {"pic.png": "a/pic.png", "my pic.png": "my pic.png", "doc.pdf": "doc.pdf", "x.svg": "x.svg"}

    def find(target: str) -> str:
        return files.get(target, "")

    for text, expected in {
        "![[pic.png]]": '<img src="/files/a/pic.png" alt="pic.png" loading="lazy">',
        "![[pic.png|300]]": '<img src="/files/a/pic.png" alt="pic.png" width="300" loading="lazy">',
        "![x|200x100](pic.png)": '<img src="/files/a/pic.png" alt="x" width="200" loading="lazy">',
        '![a"><b>](my%20pic.png)': '<img src="/files/my%20pic.png" alt="a&quot;&gt;&lt;b&gt;" loading="lazy">',
        "[[pic.png]]": '<a href="/files/a/pic.png">pic.png</a>',
        "![[doc.pdf]]": '<a href="/files/doc.pdf">doc.pdf</a>',
        "![drawing](x.svg)": '<a href="/files/x.svg">drawing</a>',
        "[paper](doc.pdf)": '<a href="/files/doc.pdf" rel="noopener noreferrer">paper</a>',
    }.items():
        assert expected in render_note(text, path="a/b.md", find_file=find), text
    for text in (
        "![](https://e.example/pic.png)",
        "![](//e.example/pic.png)",
        "![](data:pic.png)",
        "![[gone.png]]",
    ):
        assert "<img" not in render_note(text, path="a/b.md", find_file=find), text
