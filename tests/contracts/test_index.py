"""What holds for every index."""

import contextlib
import hashlib
import math
import random
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from memory.chunker import Segment, segment_text, split_chunks, split_passages, split_segments
from memory.embeddings.protocol import ModelId, Vector
from memory.errors import IndexUnavailable
from memory.index.mean_centering import SAMPLE, mean_vector
from memory.index.mean_centering import cosine as vector_cosine
from memory.index.postgres.index import PostgresIndex
from memory.index.protocol import Index, IndexChanged, IndexedNote, KnownNote, Stamp, VectorQuery
from memory.index.sqlite import SqliteIndex
from memory.note_references import read_references
from memory.postgres.server import Server
from memory.ranking.candidates import SearchCandidates
from memory.search import rank
from memory.search_query import read_query
from memory.tokenizer import Term, parse_query
from tests.fakes.index_checks import assert_sound
from tests.fakes.postgres_index_checks import assert_sound_on_server

Open = Callable[[], Index]
MODEL = ModelId("fake", "letters", 26)
OTHER = ModelId("fake", "letters", 13)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same index as often as it is called; on a server, each time as another process would."""
    with contextlib.ExitStack() as stack:
        if request.param == "sqlite":

            def opened() -> Index:
                return stack.enter_context(closing(SqliteIndex(tmp_path / "index.db", fingerprint="test")))

            stack.callback(assert_sound, tmp_path / "index.db")
        else:
            url = request.getfixturevalue("database")
            stack.callback(assert_sound_on_server, url)

            def opened() -> Index:
                server = stack.enter_context(closing(Server(url)))
                return stack.enter_context(closing(PostgresIndex(server, fingerprint="test")))

        yield opened


@pytest.fixture
def index(open_index: Open) -> Index:
    return open_index()


def note(path: str, text: str, *, target: int = 30) -> IndexedNote:
    passages = split_passages(text, max_tokens=target)
    chunks = split_chunks(passages, target_tokens=target, overlap_tokens=5)
    references = read_references(text, passages)
    return IndexedNote(
        path,
        Stamp(len(text), 1, 2),
        f"digest of {text}",
        passages,
        references.words,
        chunks,
        split_segments(passages),
        names=references.names,
        links=references.links,
    )


LINKED = (
    ("vault/Oslo.md", "---\naliases: [Tigerstaden]\ntags: [city/north]\n---\n\nA fjord.\n"),
    ("vault/trip.md", "# Trip\n\nTo [[oslo]] in May.\n\nBack from [[tigerstaden|the north]], [[gone]].\n"),
    ("vault/list.md", "- [x](trip.md)\n"),
    ("other/Oslo.md", "A shop, see [[trip]].\n"),
)


def fill_linked(index: Index) -> None:
    index.write_batch([note(path, text) for path, text in LINKED])


def link_rows(
    index: Index, *paths: str, within: Sequence[str] | None = None
) -> set[tuple[str, int, str | None]]:
    return {(link.path, link.line, link.target) for link in index.links(paths, within=within)}


def mentioned(index: Index, *phrases: str, within: Sequence[str] | None = None) -> dict[str, str]:
    terms = [Term((word,)) for phrase in phrases for word in phrase.split()]
    runs = index.candidates(terms, limit=50, phrases=phrases, within=within).runs
    return {run.path: run.mentioned for run in runs if run.mentioned}


def vector(text: str, model: ModelId = MODEL) -> Vector:
    """How often each letter stands in the text, at unit length."""
    counts = [text.lower().count(chr(ord("a") + n)) + 1e-3 for n in range(model.dimensions)]
    return array("f", [count / math.hypot(*counts) for count in counts]).tobytes()


def cosine(one: str, other: str) -> float:
    return vector_cosine(vector(one), vector(other))


def apart(query: str, texts: Sequence[str]) -> list[float]:
    """How like the query each text is, less what all of them have in common."""
    common = mean_vector([vector(text) for text in texts])
    assert common
    of_query = vector_cosine(vector(query), common.direction)
    return [
        common.apart(
            cosine(query, text),
            of_first=vector_cosine(vector(text), common.direction),
            of_second=of_query,
        )
        for text in texts
    ]


def embed(index: Index, model: ModelId = MODEL) -> list[str]:
    """Give every text its vector; gives back which texts that were, in order."""
    texts: list[str] = []
    while missing := index.list_unembedded(model, limit=3):
        assert all(hashlib.sha256(item.text.encode()).digest() == item.digest for item in missing)
        index.store_vectors(model, {item.digest: vector(item.text, model) for item in missing})
        texts += [item.text for item in missing]
    return texts


def alike(query: str, *, limit: int = 3, minimum: float = 0.0, model: ModelId = MODEL) -> VectorQuery:
    return VectorQuery(model, vector(query, model), limit, minimum)


def similarities(candidates: SearchCandidates) -> dict[tuple[str, int], float | None]:
    return {
        (run.path, passage.line_start): (
            passage.similarity.cosine if passage.similarity and passage.similarity.is_enough else None
        )
        for run in candidates.runs
        for passage in run.passages
    }


def ask(index: Index, query: str, limit: int = 50) -> SearchCandidates:
    return index.candidates(parse_query(query), limit=limit)


def found(index: Index, query: str) -> list[tuple[str, int, str]]:
    terms = parse_query(query)
    ranked = rank(terms, ask(index, query), limit=20, snippet_max_chars=700, source="fts")
    return [(hit.path, hit.line_start, hit.snippet) for hit in ranked]


def test_a_new_index_is_empty(index: Index) -> None:
    assert index.known() == {}
    assert found(index, "anything") == []
    numbers = index.numbers()
    assert (numbers.notes, numbers.chunks, numbers.last_indexed_at) == (0, 0, "")


def test_a_fact_that_was_told_anew_names_the_later_line(index: Index) -> None:
    old, new = "# 2024-03-05\n\n- Bread\n- Phone of Anna: 555 1", "# 2025-12-26\n\n- Phone of Anna: 555 2"
    index.write_batch(
        [note("2024-03-05.md", old), note("logs/2025-12-26.md", new), note("2025-12-26.md", new)]
    )
    ranked = rank(parse_query("phone"), ask(index, "phone"), limit=20, snippet_max_chars=700, source="fts")
    assert {hit.path: hit.superseded_by for hit in ranked if "Phone" in hit.snippet} == {
        "2024-03-05.md": "2025-12-26.md:3",
        "2025-12-26.md": None,
        "logs/2025-12-26.md": None,
    }


def test_what_was_applied_is_found_with_its_place(index: Index) -> None:
    text = "# Oslo\n\n- Grand hotel\n- Museum of ships"
    index.write_batch([note("trips/oslo.md", text)])
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
        ("- 🎂 on 4 May", "🎂"),
        ("- 👩\u200d💻 since 2020", "💻"),
        ("- the party🎉", "party 🎉"),
    ],
)
def test_every_script_is_found(index: Index, text: str, query: str) -> None:
    index.write_batch([note("a.md", text), note("b.md", "- something else entirely")])
    assert found(index, query)[0] == ("a.md", 1, text)


@pytest.mark.parametrize(
    "query",
    ['"', "a AND", "NOT", "*", "^x", "col:x", "(", "a NEAR(b)", "-x", "x' OR 1=1 --", "{a b}:c", "\0"],
)
def test_query_syntax_is_text(index: Index, query: str) -> None:
    index.write_batch([note("a.md", f"- {query.strip(chr(0))} something")])
    ask(index, query)


def test_a_note_s_name_and_headings_find_its_chunks(index: Index) -> None:
    index.write_batch([note("trips/oslo.md", "# Summer\n\n- three nights"), note("x.md", "- four nights")])
    assert [run.path for run in ask(index, "oslo").runs] == ["trips/oslo.md"]
    assert [run.path for run in ask(index, "summer").runs] == ["trips/oslo.md"]


def test_any_of_the_words_is_enough(index: Index) -> None:
    index.write_batch([note("a.md", "- blue"), note("b.md", "- passport")])
    assert {run.path for run in ask(index, "blue passport unknownword").runs} == {"a.md", "b.md"}


def test_frequencies_count_chunks(index: Index) -> None:
    index.write_batch([note(f"{n}.md", "- blue blue blue" if n < 3 else "- 护照") for n in range(5)])
    candidates = ask(index, "blue 护照 absent")
    assert [candidates.frequencies[term] for term in parse_query("blue 护照 absent")] == [3, 2, 0]
    assert candidates.chunks == 5


def test_runs_hold_the_neighbours_once_and_in_order(index: Index) -> None:
    index.write_batch(
        [note("a.md", "\n".join(f"- line {n} {'passport' if n in (10, 14) else 'x'}" for n in range(30)))]
    )
    runs = ask(index, "passport").runs
    lines = [passage.line_start for run in runs for passage in run.passages]
    assert lines == sorted(set(lines))
    assert {9, 10, 11, 12, 13, 15, 16, 17} <= set(lines)


def test_a_changed_note_replaces_the_old_one(index: Index) -> None:
    index.write_batch([note("a.md", "- old words\n" * 20)])
    index.write_batch([note("a.md", "- new text")])
    assert found(index, "old words") == []
    assert found(index, "new") == [("a.md", 1, "- new text")]
    assert index.numbers().chunks == 1


def test_a_note_that_is_gone_is_not_found(index: Index) -> None:
    index.write_batch([note("a.md", "- passport"), note("b.md", "- passport")])
    index.write_batch([], deleted=["a.md", "never-there.md"])
    assert [path for path, _, _ in found(index, "passport")] == ["b.md"]


def test_a_new_stamp_leaves_the_rest(index: Index) -> None:
    index.write_batch([note("a.md", "- passport")])
    index.write_batch([], restamped={"a.md": Stamp(7, 8, 9)})
    assert index.known()["a.md"] == KnownNote(Stamp(7, 8, 9), "digest of - passport")
    assert found(index, "passport")


def test_an_empty_note_is_known(index: Index) -> None:
    index.write_batch([note("empty.md", "")])
    assert list(index.known()) == ["empty.md"]
    assert index.numbers().chunks == 0


def test_two_openings_write_and_see_each_other(open_index: Open) -> None:
    one, other = open_index(), open_index()
    one.write_batch([note("a.md", "- passport")])
    other.write_batch([note("b.md", "- passport")])
    assert {path for path, _, _ in found(one, "passport")} == {"a.md", "b.md"}


def test_changes_are_refused_where_the_index_was_begun_anew_since(open_index: Open) -> None:
    one, other = open_index(), open_index()
    one.write_batch([note("b.md", "- passport")], version=one.version())
    before = one.version()
    other.reset()
    with pytest.raises(IndexChanged):
        one.write_batch([], deleted=["b.md"], version=before)


def test_what_somebody_has_indexed_since_is_not_dropped(open_index: Open) -> None:
    one, other = open_index(), open_index()
    one.write_batch([note("gone.md", "- umbrella")])
    before = one.version()
    assert one.stamps()[0].keys() == {"gone.md"}
    other.write_batch([note("a.md", "- suitcase")])
    with contextlib.suppress(IndexChanged):  # one that tells by its version does nothing of it
        one.write_batch([], deleted=["a.md", "gone.md"], version=before)
    assert [path for path, _, _ in found(one, "suitcase")] == ["a.md"]
    one.stamps()
    one.write_batch([], deleted=["a.md", "gone.md"], version=one.version())
    assert one.known() == {}


def test_of_equally_good_chunks_those_come_that_are_first_by_path(index: Index) -> None:
    index.write_batch([note(f"{n:02}.md", "- passport") for n in reversed(range(40))])
    assert [run.path for run in sorted(ask(index, "passport", limit=5).runs, key=lambda run: run.path)] == [
        f"{n:02}.md" for n in range(5)
    ]


def test_any_number_may_be_asked_for(index: Index) -> None:
    index.write_batch([note("a.md", "- passport")])
    assert len(ask(index, "passport", limit=10**30).runs) == 1


def test_a_note_s_fault_is_kept(index: Index) -> None:
    index.write_batch([replace(note("a.md", "- x"), fault="half of it is no text")])
    index.write_batch([], restamped={"a.md": Stamp(7, 8, 9)})
    assert index.known()["a.md"].fault == "half of it is no text"


def test_reset_empties_and_goes_on(open_index: Open) -> None:
    one, other = open_index(), open_index()
    one.write_batch([note("a.md", "- passport")])
    assert found(other, "passport")
    before = one.identity(), other.identity()
    assert before[0] == before[1]
    one.reset()
    assert one.known() == {}
    assert one.identity() == other.identity() != before[0]
    one.write_batch([note("b.md", "- passport")])
    assert [path for path, _, _ in found(other, "passport")] == ["b.md"]


def test_any_order_of_changes_ends_in_what_a_rebuild_gives(index: Index, open_index: Open) -> None:
    rng = random.Random(7)
    vocabulary = ["passport", "folder", "blue", "护照", "棚の上", "ชั้น"]
    notes: dict[str, IndexedNote] = {}
    for _ in range(60):
        path = f"{rng.randrange(12)}.md"
        if path in notes and rng.random() < 0.3:
            index.write_batch([], deleted=[path])
            del notes[path]
        else:
            text = "\n".join("- " + " ".join(rng.choices(vocabulary, k=6)) for _ in range(rng.randrange(12)))
            notes[path] = note(path, text)
            index.write_batch([notes[path]])
    before = [found(index, query) for query in vocabulary]
    assert index.known().keys() == notes.keys()
    shadow = index.shadow()
    shadow.write_batch([notes[path] for path in sorted(notes)])
    shadow.promote()
    assert [found(index, query) for query in vocabulary] == before


def test_each_text_is_asked_for_once_and_newest_notes_come_first(index: Index) -> None:
    old, new, just_written = (
        replace(note(path, text, target=5), stamp=Stamp(1, mtime, 1))
        for path, text, mtime in [
            ("old.md", "- zebra stripes\n- the same line", 100),
            ("new.md", "- the same line\n- quiet morning", 200),
            ("just.md", "- written just now", 0),
        ]
    )
    index.write_batch([old, new, just_written])
    assert embed(index) == ["- written just now", "- the same line", "- quiet morning", "- zebra stripes"]
    numbers = index.count_vectors(MODEL)
    assert (numbers.segments, numbers.missing, numbers.kept) == (4, 0, 4)
    assert numbers.chunks_with_embedding == index.numbers().chunks


def test_an_edit_a_move_a_rename_and_a_return_cost_no_vector(index: Index) -> None:
    lines = [f"- {word} " + word[0] * 9 for word in ("alpha", "bravo", "charlie", "delta")]
    index.write_batch([note("a.md", "\n".join(lines), target=5)])
    assert len(embed(index)) == 4
    index.write_batch([note("a.md", "\n".join(["- zulu was here", *reversed(lines)]), target=5)])
    assert embed(index) == ["- zulu was here"]
    index.write_batch([note("b.md", "\n".join(lines), target=5)], deleted=["a.md"])
    assert embed(index) == []
    index.write_batch([], deleted=["b.md"])
    assert index.count_vectors(MODEL).segments == 0
    index.write_batch([note("c.md", "\n".join(lines), target=5)])
    assert embed(index) == []
    assert index.count_vectors(MODEL).kept == 5


def test_hits_and_misses_count_texts_that_come_and_not_those_that_stay(index: Index) -> None:
    lines = [f"- {word} " + word[0] * 9 for word in ("alpha", "bravo", "charlie")]
    index.write_batch([note("before.md", "- nobody wants vectors yet")])
    index.track_model(MODEL)
    index.write_batch([note("a.md", "\n".join(lines), target=5)])
    embed(index)
    index.write_batch([note("a.md", "\n".join([*lines, "- delta ddddd"]), target=5)])
    index.write_batch([note("copy.md", "\n".join(lines), target=5)])
    numbers = index.count_vectors(MODEL)
    assert (numbers.hits, numbers.misses) == (3, 4)


def test_vectors_are_kept_as_they_came_first_and_only_for_known_texts(index: Index) -> None:
    index.write_batch([note("a.md", "- alpha")])
    [missing] = index.list_unembedded(MODEL, limit=10)
    with pytest.raises(ValueError, match="13"):
        index.store_vectors(MODEL, {missing.digest: vector("x", OTHER)})
    assert index.list_unembedded(MODEL, limit=10) == [missing]
    index.store_vectors(MODEL, {b"unknown": vector("x"), missing.digest: vector("alpha")})
    index.store_vectors(MODEL, {missing.digest: vector("zzz")}, {missing.digest: "too late"})
    assert index.count_vectors(MODEL).kept == 1
    found = index.candidates([], limit=1, vector_query=alike("alpha"))
    assert similarities(found)["a.md", 1] == pytest.approx(1)


def test_a_refused_text_is_told_and_not_asked_for_until_it_is_retried(index: Index) -> None:
    index.write_batch([note("a.md", "- alpha"), note("b.md", "- bravo"), note("c.md", "- alpha")])
    texts = {item.text: item.digest for item in index.list_unembedded(MODEL, limit=10)}
    index.store_vectors(MODEL, {}, {texts["- alpha"]: "unsafe", b"unknown": "x"})
    assert [item.text for item in index.list_unembedded(MODEL, limit=10)] == ["- bravo"]
    index.store_vectors(MODEL, {texts["- bravo"]: vector("bravo")})
    numbers = index.count_vectors(MODEL)
    assert (numbers.segments, numbers.missing, numbers.chunks_with_embedding) == (2, 0, 1)
    assert numbers.refused == (("a.md", "unsafe"), ("c.md", "unsafe"))
    index.retry_refused(OTHER)
    assert index.list_unembedded(MODEL, limit=10) == []
    index.retry_refused(MODEL)
    assert [item.text for item in index.list_unembedded(MODEL, limit=10)] == ["- alpha"]
    assert embed(index) == ["- alpha"]
    assert index.count_vectors(MODEL).refused == ()


def test_models_have_vectors_of_their_own(index: Index) -> None:
    index.write_batch([note("a.md", "- alpha")])
    unknown = replace(MODEL, dimensions=0)
    assert index.resolve_dimensions(unknown) == unknown
    embed(index)
    assert index.count_vectors(OTHER).missing == 1
    assert similarities(index.candidates([], limit=1, vector_query=alike("alpha", model=OTHER))) == {}
    embed(index, OTHER)
    assert index.resolve_dimensions(unknown) == OTHER
    index.write_batch([note("b.md", "- bravo")])
    embed(index)
    assert index.resolve_dimensions(unknown) == MODEL
    assert index.resolve_dimensions(OTHER) == OTHER
    assert index.resolve_dimensions(ModelId("fake", "other", 0)).dimensions == 0


def test_while_nobody_knows_which_model_it_is_the_last_one_counts(index: Index) -> None:
    index.write_batch([note("a.md", "- alpha")])
    unknown = ModelId("fake", "", 0, version=None)
    assert index.resolve_dimensions(unknown) == unknown
    embed(index, replace(MODEL, version="0123456789abcdef"))
    assert index.resolve_dimensions(unknown) == replace(MODEL, version="0123456789abcdef")
    index.write_batch([note("b.md", "- bravo")])
    embed(index, replace(MODEL, model="others"))
    assert index.resolve_dimensions(unknown) == replace(MODEL, model="others")
    named = replace(unknown, model="letters")
    assert index.resolve_dimensions(named) == replace(MODEL, version="0123456789abcdef")
    assert index.resolve_dimensions(replace(unknown, provider="nobody")).model == ""


def test_vectors_of_another_version_can_be_looked_at_and_taken_over(index: Index, open_index: Open) -> None:
    old, new = MODEL, replace(MODEL, version="0123456789abcdef")
    index.write_batch([note("a.md", "\n".join(f"- line number {n}" for n in range(8)))])
    assert index.other_versions(new) == []
    embedded = set(embed(index, old))
    embed(index, ModelId("fake", "letters of others", 26))
    assert index.other_versions(new) == index.other_versions(replace(new, dimensions=0)) == [old]
    assert index.other_versions(old) == []
    assert index.count_vectors(new).missing == len(embedded)

    few = index.sample_vectors(old, limit=3)
    assert len(few) == len({item.digest for item, _ in few}) == 3
    assert all(item.text in embedded and made == vector(item.text) for item, made in few)
    assert {item.text for item, _ in index.sample_vectors(old, limit=100)} == embedded
    assert index.sample_vectors(new, limit=3) == []

    other = open_index()
    index.adopt_vectors(old, new)
    assert (other.count_vectors(new).missing, other.count_vectors(old).missing) == (0, len(embedded))
    assert index.other_versions(new) == []
    assert index.other_versions(old) == [new]
    assert other.resolve_dimensions(replace(new, dimensions=0)) == new
    assert index.candidates([], limit=1, vector_query=alike("line", model=new)).runs

    embed(index, old)
    index.adopt_vectors(old, new)
    assert index.count_vectors(old).missing == 0, "each has its own by now"
    index.evict_unused(limit=len(embedded), wanted_models=[new])
    assert (index.count_vectors(new).missing, index.count_vectors(old).missing) == (0, len(embedded))


def test_chunks_are_whole_once_every_segment_in_them_has_its_vector(index: Index) -> None:
    index.write_batch(
        [note("a.md", "# Title\n" + "\n".join(f"- line number {n} of many" for n in range(40)))]
    )
    whole = [0]
    while missing := index.list_unembedded(MODEL, limit=1):
        index.store_vectors(MODEL, {missing[0].digest: vector(missing[0].text)})
        whole.append(index.count_vectors(MODEL).chunks_with_embedding)
    assert whole == sorted(whole)
    assert len(set(whole)) > 3
    assert whole[-1] == index.numbers().chunks


def test_unused_vectors_go_when_there_are_too_many_the_longest_unused_first(index: Index) -> None:
    for word in ("alpha", "bravo", "charlie"):
        index.write_batch([note(f"{word}.md", f"- {word}")])
    embed(index)
    embed(index, OTHER)
    assert index.evict_unused(limit=6, wanted_models=[MODEL, OTHER]) == 0
    assert index.evict_unused(limit=0, wanted_models=[MODEL, OTHER]) == 0
    assert index.evict_unused(limit=4, wanted_models=[OTHER]) == 2
    embed(index)
    index.write_batch([], deleted=["bravo.md"])
    index.write_batch([], deleted=["alpha.md"])
    assert index.evict_unused(limit=5, wanted_models=[MODEL, OTHER]) == 1
    index.write_batch([note("alpha.md", "- alpha")])
    assert embed(index) == embed(index, OTHER) == []
    index.write_batch([note("bravo.md", "- bravo")])
    assert len(embed(index)) + len(embed(index, OTHER)) == 1
    index.write_batch([], deleted=["bravo.md", "alpha.md", "charlie.md"])
    assert index.evict_unused(limit=0, wanted_models=[MODEL, OTHER]) == 6
    assert index.count_vectors(MODEL).kept == 0


def test_what_is_alike_is_proposed_with_its_neighbours_and_similarities(index: Index) -> None:
    words = ["zzzz", "alpha", "bravo", "quartz", "jazz", "fizz"]
    lines = [f"- {word} {word} {word}"[:20] for word in words]
    index.write_batch([note("a.md", "\n".join(lines), target=5), note("b.md", "- some other text", target=5)])
    embed(index)
    found = index.candidates([], limit=5, vector_query=alike("alpha", limit=1))
    assert found.frequencies == {}
    other = "- some other text"
    *expected, of_other = apart("alpha", [*lines, other])
    assert similarities(found) == {
        ("a.md", n): pytest.approx(alike, abs=1e-6) for n, alike in enumerate(expected[:4], 1)
    }
    assert max(expected) == expected[1] < 1
    by_word = index.candidates(parse_query("other"), limit=5, vector_query=alike("alpha", limit=1))
    assert [run.path for run in by_word.runs] == ["a.md", "b.md"]
    assert similarities(by_word)["b.md", 1] == pytest.approx(of_other, abs=1e-6)
    assert index.candidates([], limit=5, vector_query=alike("jumpy", minimum=0.9)).runs == ()
    assert len(index.candidates([], limit=5, vector_query=alike("alpha", limit=10**30)).runs) == 2


def test_passages_share_the_similarity_of_their_segment_and_headings_have_none(index: Index) -> None:
    text = "# Title\n\n## Part\n" + "\n".join(f"- line {n} alpha" for n in range(12)) + "\n## Empty\n"
    of_one = note("a.md", text, target=20)
    # An index takes segments of several passages as well: each pair of lines gets one vector here.
    *lines, empty = of_one.segments
    pairs = []
    for first, second in zip(lines[::2], lines[1::2], strict=True):
        body = segment_text("Part", [of_one.passages[n].text for n in (first.first, second.last)])
        pairs.append(Segment(first.first, second.last, "Part", hashlib.sha256(body.encode()).digest()))
    index.write_batch([replace(of_one, segments=[*pairs, empty])])
    embed(index)
    found = similarities(index.candidates(parse_query("title empty"), limit=5, vector_query=alike("alpha")))
    assert found["a.md", 1] is None
    assert found["a.md", 3] is None
    assert found["a.md", 16] is not None  # nothing stands below it
    given = [found["a.md", line] for line in range(4, 16)]
    assert None not in given
    assert given[::2] == given[1::2]


def test_what_is_less_alike_than_asked_for_has_no_similarity(index: Index) -> None:
    lines = ["- alpha alpha", "- zzzz zzzz", "- alpine lamp"]
    index.write_batch([note("a.md", "\n".join(lines), target=5)])
    embed(index)
    least = (cosine("alpha", lines[1]) + cosine("alpha", lines[2])) / 2
    found = similarities(index.candidates([], limit=5, vector_query=alike("alpha", minimum=least)))
    expected = apart("alpha", lines)
    assert found == {
        ("a.md", 1): pytest.approx(expected[0], abs=1e-6),
        ("a.md", 2): None,
        ("a.md", 3): pytest.approx(expected[2], abs=1e-6),
    }


def test_the_order_in_which_texts_came_does_not_change_how_alike_they_are(tmp_path: Path) -> None:
    choose = random.Random(3)
    texts = ["- " + "".join(choose.choices("abcdefgh ", k=30)) for _ in range(SAMPLE + 60)]
    notes = [note(f"{n:03}.md", text) for n, text in enumerate(texts)]
    found = []
    for name, batches in {"one": [notes], "other": [[one] for one in reversed(notes)]}.items():
        with closing(SqliteIndex(tmp_path / f"{name}.db", fingerprint="test")) as index:
            index.write_batch([note("gone.md", "- zzzz yyyy")] if name == "other" else [])
            embed(index)
            for batch in batches:
                index.write_batch(batch)
            embed(index)
            index.write_batch([], deleted=["gone.md"])
            index.evict_unused(limit=0, wanted_models=[MODEL])
            found.append(
                similarities(index.candidates([], limit=5, vector_query=alike("bad cafe", limit=20)))
            )
    assert len(found[0]) >= 20
    assert found[0] == found[1]


def test_of_equally_alike_segments_those_come_that_are_first_by_path(index: Index) -> None:
    index.write_batch([note(f"{n:02}.md", f"- alpha {n:02}") for n in reversed(range(20))])
    embed(index)
    found = index.candidates([], limit=5, vector_query=alike("alpha", limit=4))
    assert [run.path for run in found.runs] == ["00.md", "01.md", "02.md", "03.md"]


def test_vectors_are_seen_by_every_opening_at_once(open_index: Open) -> None:
    one, other = open_index(), open_index()
    one.write_batch([note("a.md", "- alpha")])
    assert similarities(other.candidates([], limit=5, vector_query=alike("alpha"))) == {}
    assert other.count_vectors(MODEL).missing == 1
    version = other.version()
    embed(one)
    assert other.version() == version
    assert other.count_vectors(MODEL).missing == 0
    assert other.list_unembedded(MODEL, limit=5) == []
    assert similarities(other.candidates([], limit=5, vector_query=alike("alpha"))).keys() == {("a.md", 1)}


def test_a_shadow_takes_over_at_once_with_the_vectors_that_are_there(open_index: Open) -> None:
    one, other = open_index(), open_index()
    one.write_batch([note("a.md", "- passport"), note("b.md", "- folder")])
    embed(one)
    version, identity = one.version(), one.identity()
    with closing(one.shadow()) as shadow:
        assert shadow.known() == {}
        shadow.write_batch([note("b.md", "- folder")])
        shadow.write_batch([note("c.md", "- shelf"), note("gone.md", "- shelf")])
        shadow.write_batch([], deleted=["gone.md"])
        assert found(shadow, "shelf") == [("c.md", 1, "- shelf")]
        for index in (one, other):
            assert sorted(index.known()) == ["a.md", "b.md"]
            assert found(index, "passport")
            assert not found(index, "shelf")
        assert one.version() == version
        shadow.promote()
    assert one.version() != version
    assert one.identity() == identity
    for index in (one, other):
        assert sorted(index.known()) == ["b.md", "c.md"]
        assert found(index, "passport") == []
        assert found(index, "shelf") == [("c.md", 1, "- shelf")]
    assert embed(one) == ["- shelf"]


def test_changes_go_on_beside_a_shadow_and_are_refused_after_it_took_over(open_index: Open) -> None:
    one, other = open_index(), open_index()
    one.write_batch([note("a.md", "- passport")])
    with closing(one.shadow()) as shadow:
        other.write_batch([note("b.md", "- passport")])
        shadow.write_batch([note("c.md", "- passport")])
        assert {path for path, _, _ in found(one, "passport")} == {"a.md", "b.md"}
        before = other.version()
        shadow.promote()
    with pytest.raises(IndexChanged):
        other.write_batch([note("b.md", "- passport")], version=before)
    other.write_batch([note("b.md", "- passport")])
    assert {path for path, _, _ in found(one, "passport")} == {"b.md", "c.md"}


def test_a_shadow_that_is_closed_leaves_the_old_state(index: Index) -> None:
    index.write_batch([note("a.md", "- passport")])
    with closing(index.shadow()) as shadow:
        shadow.write_batch([note("b.md", "- folder")])
    assert list(index.known()) == ["a.md"]
    assert index.count_vectors(MODEL).segments == 1
    assert not found(index, "folder")


def test_there_is_one_shadow_at_a_time(open_index: Open) -> None:
    one, other = open_index(), open_index()
    with closing(one.shadow()) as shadow:
        with pytest.raises(IndexUnavailable, match="another process is rebuilding"):
            other.shadow()
        shadow.write_batch([note("a.md", "- passport")])
    other.shadow().close()


def test_a_shadow_does_not_take_over_an_index_that_was_begun_anew(index: Index) -> None:
    index.write_batch([note("a.md", "- passport")])
    with closing(index.shadow()) as shadow:
        index.reset()
        index.write_batch([note("b.md", "- folder")])
        with pytest.raises(IndexUnavailable, match="started over"):
            shadow.write_batch([note("a.md", "- passport")])
        with pytest.raises(IndexUnavailable, match="started over"):
            shadow.promote()
    assert list(index.known()) == ["b.md"]


def test_a_reset_keeps_the_vectors(index: Index) -> None:
    index.write_batch([note("a.md", "- alpha")])
    embed(index)
    index.reset()
    assert index.count_vectors(MODEL).kept == 1
    index.write_batch([note("b.md", "- alpha\n"), note("c.md", "- bravo")])
    assert embed(index) == ["- bravo"]


def test_a_rebuilt_index_finds_the_same_by_vectors(index: Index) -> None:
    rng = random.Random(11)
    notes: dict[str, IndexedNote] = {}
    for _ in range(40):
        path = f"{rng.randrange(9)}.md"
        text = "\n".join("- " + "".join(rng.choices("abcdef ", k=30)) for _ in range(rng.randrange(9)))
        notes[path] = note(path, text)
        index.write_batch([notes[path]], deleted=[f"{rng.randrange(9)}.md"])
    index.write_batch(list(notes.values()))
    embed(index)
    asked = [alike(letter * 3 + "b", limit=4) for letter in "abcdef"]
    before = [index.candidates(parse_query("ab"), limit=3, vector_query=likeness) for likeness in asked]
    with closing(index.shadow()) as shadow:
        shadow.write_batch([notes[path] for path in sorted(notes)])
        shadow.promote()
    assert embed(index) == []
    assert [
        index.candidates(parse_query("ab"), limit=3, vector_query=likeness) for likeness in asked
    ] == before


def test_nothing_is_forgotten_that_a_shadow_has_use_for(index: Index) -> None:
    index.write_batch([note("a.md", "- alpha")])
    with closing(index.shadow()) as shadow:
        shadow.write_batch([note("b.md", "- bravo")])
        assert index.evict_unused(limit=0, wanted_models=[]) == 0
        shadow.promote()
    assert embed(index) == ["- bravo"]
    assert index.evict_unused(limit=0, wanted_models=[MODEL]) == 0


def test_a_purge_leaves_nothing_of_what_no_note_holds(index: Index, tmp_path: Path) -> None:
    index.write_batch([note("a.md", "- xylophagous"), note("b.md", "- bravo")])
    embed(index)
    index.write_batch([note("a.md", "- alpha")])
    index.purge()
    assert index.count_vectors(MODEL).kept == 1
    assert len(ask(index, "bravo").runs) == 1
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert not any(b"xylophag" in path.read_bytes() for path in files)
    with closing(index.shadow()), pytest.raises(IndexUnavailable):
        index.purge()


def test_links_are_resolved_in_both_directions(index: Index) -> None:
    fill_linked(index)
    to_oslo = {("vault/trip.md", 3, "vault/Oslo.md"), ("vault/trip.md", 5, "vault/Oslo.md")}
    assert link_rows(index, "vault/Oslo.md") == to_oslo
    assert link_rows(index, "vault/trip.md") == to_oslo | {
        ("vault/trip.md", 5, None),
        ("vault/list.md", 1, "vault/trip.md"),
        ("other/Oslo.md", 1, "vault/trip.md"),
    }
    assert link_rows(index, "nowhere.md") == link_rows(index) == set()
    places = [("vault/trip.md", 3), ("vault/list.md", 1), ("vault/trip.md", 9), ("no.md", 1)]
    assert index.lines(places) == ["To [[oslo]] in May.", "- [x](trip.md)", "", ""]


def test_links_within_some_folders_are_those_of_an_index_of_these_alone(index: Index) -> None:
    fill_linked(index)
    assert link_rows(index, "vault/trip.md", within=["other"]) == set()
    assert link_rows(index, "other/Oslo.md", within=["other"]) == {("other/Oslo.md", 1, None)}
    assert ("other/Oslo.md", 1, "vault/trip.md") not in link_rows(index, "vault/trip.md", within=["vault"])
    assert mentioned(index, "oslo", within=["other"]) == {"other/Oslo.md": "oslo"}
    assert mentioned(index, "the north", within=["other"]) == {}


def test_a_note_is_mentioned_by_its_names_and_by_the_text_of_links(index: Index) -> None:
    fill_linked(index)
    assert mentioned(index, "oslo") == {"vault/Oslo.md": "oslo", "other/Oslo.md": "oslo"}
    assert mentioned(index, "tigerstaden") == {"vault/Oslo.md": "tigerstaden"}
    assert mentioned(index, "the north") == {"vault/Oslo.md": "the north"}
    assert mentioned(index, "north", "gone", "x") == {"vault/trip.md": "x"}
    oslo = next(run for run in ask(index, "fjord").runs if run.path == "vault/Oslo.md")
    assert {"tigerstaden", "＃city／north", "＃city"} <= set(oslo.names.split())
    found = ask(index, "may tigerstaden")
    assert ("vault/trip.md", "vault/Oslo.md") in found.links


def test_a_tag_is_found_with_the_tags_below_it(index: Index) -> None:
    index.write_batch(
        [note("a.md", "- one #work/x"), note("b.md", "- the work one"), note("c.md", "- one #Work")]
    )
    for query, paths in (("#work", {"a.md", "c.md"}), ("#work/x", {"a.md"})):
        terms, _ = read_query(query, date(2026, 3, 1))
        ranked = rank(terms, index.candidates(terms, limit=50), limit=9, snippet_max_chars=99, source="fts")
        assert {hit.path for hit in ranked[: len(paths)]} == paths, query
    assert ranked[-1].path == "b.md"


def test_links_and_names_go_with_their_note_and_follow_the_others(index: Index, tmp_path: Path) -> None:
    fill_linked(index)
    index.write_batch([note("vault/trip.md", "Nothing.\n")], deleted=["other/Oslo.md"])
    assert link_rows(index, "vault/Oslo.md") == set()
    assert mentioned(index, "the north") == {}
    index.write_batch([note("new.md", "See [[gone]] and [[Xylophagous|xylophones]].\n")])
    assert link_rows(index, "new.md") == {("new.md", 1, None)}
    index.write_batch([note("gone.md", "---\naliases: [xylophagous]\ntags: [xylotag]\n---\nHere.\n")])
    assert link_rows(index, "new.md") == {("new.md", 1, "gone.md")}
    index.write_batch([], deleted=["gone.md", "new.md"])
    index.purge()
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert not any(b"xylo" in path.read_bytes().lower() for path in files)


def test_a_rebuilt_index_has_the_same_links(index: Index) -> None:
    fill_linked(index)
    before = index.links(["vault/Oslo.md", "vault/trip.md"])
    with closing(index.shadow()) as shadow:
        shadow.write_batch([note(path, text) for path, text in reversed(LINKED)])
        shadow.promote()
    assert index.links(["vault/Oslo.md", "vault/trip.md"]) == before


def test_notes_with_a_date_in_their_name_are_known_by_it(index: Index) -> None:
    index.write_batch(
        [note("2026-11-21.md", "- one"), note("trips/2026-11-20 Oslo.md", "- two"), note("a.md", "- x")]
    )
    days = {path: date.fromordinal(day) for path, day in index.dated_notes()}
    assert days == {"2026-11-21.md": date(2026, 11, 21), "trips/2026-11-20 Oslo.md": date(2026, 11, 20)}
    index.write_batch([], deleted=["2026-11-21.md"], version=index.version())
    assert [path for path, _ in index.dated_notes()] == ["trips/2026-11-20 Oslo.md"]
