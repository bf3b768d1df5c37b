import time
import unicodedata

from memory.link_targets import LinkName, LinkTargets, link_key, may_be_note
from tests.fakes.table_test import table_test

NOTES = (
    "a.md",
    "vault/a.md",
    "vault/deep/a.md",
    "vault/deep/er/b.md",
    "vault/b b.md",
    "other/b.md",
    "other/x/deep/c.md",
    "vault/Ärzte.md",
    "vault/Same.md",
    "vault/same.md",
    "vault/Wait... what.md",
)
ALIASES = {"vault/deep/er/b.md": "Second", "other/b.md": "second", "a.md": "TCP/IP"}


def resolve(target: str, path: str, *, is_wiki: bool = True) -> str | None:
    names = [LinkName(one) for one in NOTES] + [LinkName(one, alias) for one, alias in ALIASES.items()]
    key = link_key(target)
    called = [name for name in names if link_key(name.alias or name.path) == key]
    found = {
        LinkTargets(some).resolve(target, path=path, is_wiki=is_wiki)
        for some in (called, called[::-1], sorted(called, key=str))
    }
    assert len(found) == 1
    return found.pop()


@table_test(
    ("target", "path", "found"),
    [
        ("a", "vault/z.md", "vault/a.md"),
        ("A.md", "vault/z.md", "vault/a.md"),
        ("a", "z.md", "a.md"),
        ("a", "other/z.md", "a.md"),
        ("a", "vault/deep/z.md", "vault/a.md"),
        ("b", "vault/z.md", "vault/deep/er/b.md"),
        ("b", "z.md", "other/b.md"),
        ("deep/a", "vault/z.md", "vault/deep/a.md"),
        ("deep/a", "other/z.md", "vault/deep/a.md"),
        ("vault/a", "other/z.md", "vault/a.md"),
        ("deep/c", "vault/z.md", "other/x/deep/c.md"),
        ("../a", "vault/deep/z.md", "vault/a.md"),
        ("./a", "vault/deep/z.md", "vault/deep/a.md"),
        ("../../a", "z.md", None),
        ("second", "vault/z.md", "vault/deep/er/b.md"),
        ("SECOND", "other/z.md", "other/b.md"),
        ("tcp/ip", "vault/z.md", "a.md"),
        (unicodedata.normalize("NFD", "ärzte"), "vault/z.md", "vault/Ärzte.md"),
        ("same", "vault/z.md", "vault/Same.md"),
        ("nobody", "vault/z.md", None),
        ("er", "vault/z.md", None),
    ],
)
def test_a_wikilink_leads_to_a_note(target: str, path: str, found: str | None) -> None:
    assert resolve(target, path) == found


@table_test(
    ("target", "path", "found"),
    [
        ("a.md", "vault/deep/z.md", "vault/deep/a.md"),
        ("deep/a.md", "vault/deep/z.md", "vault/deep/a.md"),
        ("b.md", "vault/z.md", None),
        ("../other/b.md", "vault/z.md", "other/b.md"),
        ("second", "vault/z.md", None),
        ("Wait... what.md", "vault/deep/z.md", "vault/Wait... what.md"),
    ],
)
def test_a_markdown_link_names_a_place(target: str, path: str, found: str | None) -> None:
    assert resolve(target, path, is_wiki=False) == found


def test_many_links_to_notes_with_one_name_are_resolved_fast() -> None:
    paths = [f"d{number % 50}/x{number}/readme.md" for number in range(4_000)]
    called = LinkTargets(LinkName(path) for path in paths)
    began = time.process_time()
    found = [
        called.resolve("readme", path=f"d{number}/z{number}.md", is_wiki=True) for number in range(2_000)
    ]
    assert time.process_time() - began < 1
    assert found[49] == "d49/x49/readme.md"
    assert found[1_999] == "d0/x0/readme.md"


def test_pictures_and_other_files_are_no_notes() -> None:
    assert not any(map(may_be_note, ("a.PNG", "b/c.pdf", "x.canvas")))
    assert all(map(may_be_note, ("a", "a.md", "v1.2")))
