"""What holds for every index."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory.chunker import split_chunks, split_passages
from memory.index.protocol import Index, IndexChanged, IndexedNote, KnownNote, Stamp
from memory.index.sqlite import SqliteIndex
from memory.search import Candidates, rank
from memory.words import cut, query_terms

Open = Callable[[], Index]


@pytest.fixture(params=["sqlite"])
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same index as often as it is called."""
    opened: list[Index] = []

    def open_again() -> Index:
        opened.append(SqliteIndex(tmp_path / "index.db", fingerprint="test"))
        return opened[-1]

    yield open_again
    for index in opened:
        index.close()


@pytest.fixture
def index(open_index: Open) -> Index:
    return open_index()


def note(path: str, text: str, *, target: int = 30) -> IndexedNote:
    passages = split_passages(text, most_tokens=target)
    chunks = split_chunks(passages, target_tokens=target, overlap_tokens=5)
    words = [" ".join(cut(p.text)) for p in passages]
    return IndexedNote(path, Stamp(len(text), 1, 2), f"digest of {text}", passages, words, chunks)


def ask(index: Index, query: str, most: int = 50) -> Candidates:
    return index.candidates(query_terms(query), most=most)


def found(index: Index, query: str) -> list[tuple[str, int, str]]:
    terms = query_terms(query)
    ranked = rank(terms, ask(index, query), limit=20, snippet_max_chars=700, source="fts")
    return [(hit.path, hit.line_start, hit.snippet) for hit in ranked]


def test_a_new_index_is_empty(index: Index) -> None:
    assert index.known() == {}
    assert found(index, "anything") == []
    numbers = index.numbers()
    assert (numbers.notes, numbers.chunks, numbers.last_indexed_at) == (0, 0, "")


def test_what_was_applied_is_found_with_its_place(index: Index) -> None:
    text = "# Oslo\n\n- Grand hotel\n- Museum of ships"
    index.apply([note("trips/oslo.md", text)])
    assert found(index, "ships")[0] == ("trips/oslo.md", 4, "- Museum of ships")
    assert index.known() == {"trips/oslo.md": KnownNote(Stamp(len(text), 1, 2), f"digest of {text}")}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("- Anna's passport", "Where is the passport of Anna?"),
        ("- Der Schlüssel liegt im Flur", "schlussel"),
        ("- 安娜的护照在蓝色文件夹里", "护照"),
        ("- 猫", "猫"),
        ("- アンナのパスポートは棚の上", "パスポート"),
        ("- 안나의 여권은 선반에", "여권"),
        ("- หนังสือเดินทางอยู่บนชั้น", "เดินทาง"),
        ("- मेरा पासपोर्ट अलमारी में है", "पासपोर्ट"),
        ("- паспорт лежит в папке", "Паспорт"),
        ("- جواز السفر في الدرج", "السفر"),
        ("- Το διαβατήριο", "διαβατηριο"),
        ("- iPhone的密码", "密码"),
    ],
)
def test_every_script_is_found(index: Index, text: str, query: str) -> None:
    index.apply([note("a.md", text), note("b.md", "- something else entirely")])
    assert found(index, query)[0] == ("a.md", 1, text)


@pytest.mark.parametrize(
    "query",
    ['"', "a AND", "NOT", "*", "^x", "col:x", "(", "a NEAR(b)", "-x", "x' OR 1=1 --", "{a b}:c", "\0"],
)
def test_query_syntax_is_text(index: Index, query: str) -> None:
    index.apply([note("a.md", f"- {query.strip(chr(0))} something")])
    ask(index, query)


def test_a_note_s_name_and_headings_find_its_chunks(index: Index) -> None:
    index.apply([note("trips/oslo.md", "# Summer\n\n- three nights"), note("x.md", "- four nights")])
    assert [run.path for run in ask(index, "oslo").runs] == ["trips/oslo.md"]
    assert [run.path for run in ask(index, "summer").runs] == ["trips/oslo.md"]


def test_any_of_the_words_is_enough(index: Index) -> None:
    index.apply([note("a.md", "- blue"), note("b.md", "- passport")])
    assert {run.path for run in ask(index, "blue passport unknownword").runs} == {"a.md", "b.md"}


def test_frequencies_count_chunks(index: Index) -> None:
    index.apply([note(f"{n}.md", "- blue blue blue" if n < 3 else "- 护照") for n in range(5)])
    candidates = ask(index, "blue 护照 absent")
    assert [candidates.frequencies[term] for term in query_terms("blue 护照 absent")] == [3, 2, 0]
    assert candidates.chunks == 5


def test_runs_hold_the_neighbours_once_and_in_order(index: Index) -> None:
    index.apply(
        [note("a.md", "\n".join(f"- line {n} {'passport' if n in (10, 14) else 'x'}" for n in range(30)))]
    )
    runs = ask(index, "passport").runs
    lines = [passage.line_start for run in runs for passage in run.passages]
    assert lines == sorted(set(lines))
    assert {9, 10, 11, 12, 13, 15, 16, 17} <= set(lines)


def test_a_changed_note_replaces_the_old_one(index: Index) -> None:
    index.apply([note("a.md", "- old words\n" * 20)])
    index.apply([note("a.md", "- new text")])
    assert found(index, "old words") == []
    assert found(index, "new") == [("a.md", 1, "- new text")]
    assert index.numbers().chunks == 1


def test_a_note_that_is_gone_is_not_found(index: Index) -> None:
    index.apply([note("a.md", "- passport"), note("b.md", "- passport")])
    index.apply([], gone=["a.md", "never-there.md"])
    assert [path for path, _, _ in found(index, "passport")] == ["b.md"]


def test_a_new_stamp_leaves_the_rest(index: Index) -> None:
    index.apply([note("a.md", "- passport")])
    index.apply([], restamped={"a.md": Stamp(7, 8, 9)})
    assert index.known()["a.md"] == KnownNote(Stamp(7, 8, 9), "digest of - passport")
    assert found(index, "passport")


def test_an_empty_note_is_known(index: Index) -> None:
    index.apply([note("empty.md", "")])
    assert list(index.known()) == ["empty.md"]
    assert index.numbers().chunks == 0


def test_replace_all_holds_exactly_the_new_notes(index: Index) -> None:
    index.apply([note("a.md", "- passport"), note("b.md", "- folder")])
    index.replace_all(iter([note("b.md", "- folder"), note("c.md", "- shelf")]))
    assert sorted(index.known()) == ["b.md", "c.md"]
    assert found(index, "passport") == []
    assert found(index, "shelf") == [("c.md", 1, "- shelf")]


def test_a_failed_rebuild_leaves_the_old_state(index: Index) -> None:
    index.apply([note("a.md", "- passport")])

    def failing() -> Iterator[IndexedNote]:
        yield note("b.md", "- folder")
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError):
        index.replace_all(failing())
    assert list(index.known()) == ["a.md"]
    assert found(index, "passport")
    assert not found(index, "folder")


def test_searches_see_the_old_state_until_a_rebuild_is_done(open_index: Open) -> None:
    writer, reader = open_index(), open_index()
    writer.apply([note("a.md", "- passport")])
    seen: list[list[str]] = []

    def watched() -> Iterator[IndexedNote]:
        for n in range(3):
            seen.append([path for path, _, _ in found(reader, "passport")])
            yield note(f"new{n}.md", "- passport")

    writer.replace_all(watched())
    assert seen == [["a.md"]] * 3
    assert sorted(path for path, _, _ in found(reader, "passport")) == ["new0.md", "new1.md", "new2.md"]


def test_two_openings_write_and_see_each_other(open_index: Open) -> None:
    one, other = open_index(), open_index()
    one.apply([note("a.md", "- passport")])
    other.apply([note("b.md", "- passport")])
    assert {path for path, _, _ in found(one, "passport")} == {"a.md", "b.md"}


def test_changes_are_refused_where_somebody_else_has_changed_it_since(open_index: Open) -> None:
    one, other = open_index(), open_index()
    before = one.version()
    one.apply([note("a.md", "- passport")], version=before)
    assert one.version() == before
    other.apply([note("a.md", "- suitcase")])
    with pytest.raises(IndexChanged):
        one.apply([note("a.md", "- passport")], gone=["a.md"], version=before)
    assert [path for path, _, _ in found(one, "suitcase")] == ["a.md"]
    one.apply([note("b.md", "- passport")], version=one.version())
    before = one.version()
    other.reset()
    with pytest.raises(IndexChanged):
        one.apply([], gone=["b.md"], version=before)


def test_of_equally_good_chunks_those_come_that_are_first_by_path(index: Index) -> None:
    index.apply([note(f"{n:02}.md", "- passport") for n in reversed(range(40))])
    assert [run.path for run in sorted(ask(index, "passport", most=5).runs, key=lambda run: run.path)] == [
        f"{n:02}.md" for n in range(5)
    ]


def test_any_number_may_be_asked_for(index: Index) -> None:
    index.apply([note("a.md", "- passport")])
    assert len(ask(index, "passport", most=10**30).runs) == 1


def test_a_note_s_fault_is_kept(index: Index) -> None:
    index.apply([replace(note("a.md", "- x"), fault="half of it is no text")])
    index.apply([], restamped={"a.md": Stamp(7, 8, 9)})
    assert index.known()["a.md"].fault == "half of it is no text"


def test_reset_empties_and_goes_on(open_index: Open) -> None:
    one, other = open_index(), open_index()
    one.apply([note("a.md", "- passport")])
    assert found(other, "passport")
    before = one.identity(), other.identity()
    assert before[0] == before[1]
    one.reset()
    assert one.known() == {}
    assert one.identity() == other.identity() != before[0]
    one.apply([note("b.md", "- passport")])
    assert [path for path, _, _ in found(other, "passport")] == ["b.md"]


def test_any_order_of_changes_ends_in_what_a_rebuild_gives(index: Index, open_index: Open) -> None:
    rng = random.Random(7)
    vocabulary = ["passport", "folder", "blue", "护照", "棚の上", "ชั้น"]
    notes: dict[str, IndexedNote] = {}
    for _ in range(60):
        path = f"{rng.randrange(12)}.md"
        if path in notes and rng.random() < 0.3:
            index.apply([], gone=[path])
            del notes[path]
        else:
            text = "\n".join("- " + " ".join(rng.choices(vocabulary, k=6)) for _ in range(rng.randrange(12)))
            notes[path] = note(path, text)
            index.apply([notes[path]])
    before = [found(index, query) for query in vocabulary]
    assert index.known().keys() == notes.keys()
    index.replace_all(notes[path] for path in sorted(notes))
    assert [found(index, query) for query in vocabulary] == before
