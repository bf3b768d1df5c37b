import copy
import dataclasses
import pickle
import typing
from dataclasses import FrozenInstanceError, field, replace
from typing import ClassVar

import pytest

from memory.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Quick:
    """As ours are."""

    NAMES: ClassVar[int] = 3

    name: str
    size: int = 2
    parts: list[str] = field(default_factory=list)
    secret: str = field(default="hidden", repr=False)
    beside: int = field(default=0, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """The same by the standard library."""

    NAMES: ClassVar[int] = 3

    name: str
    size: int = 2
    parts: list[str] = field(default_factory=list)
    secret: str = field(default="hidden", repr=False)
    beside: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Pair:
    a: int
    b: tuple[str, ...] = ()


def test_it_is_made_and_shown_as_by_the_standard_library() -> None:
    for arguments, named in (
        (("a",), {}),
        (("a", 3, ["x"]), {}),
        (("a",), {"parts": ["y"], "beside": 4, "secret": "s"}),
    ):
        quick, standard = Quick(*arguments, **named), Standard(*arguments, **named)  # type: ignore[arg-type]
        assert repr(quick) == repr(standard).replace("Standard", "Quick")
        assert dataclasses.asdict(quick) == dataclasses.asdict(standard)
    assert [(each.name, each.type) for each in dataclasses.fields(Quick)] == [
        (each.name, each.type) for each in dataclasses.fields(Standard)
    ]
    assert Quick.__match_args__ == Standard.__match_args__
    assert Quick.__slots__ == Standard.__slots__
    assert typing.get_type_hints(Quick.__init__) == typing.get_type_hints(Standard.__init__)
    assert Quick("a").parts is not Quick("a").parts


@pytest.mark.parametrize("wrong", [(), ("a", 1, [], "", 0, 6)])
def test_what_does_not_fit_is_refused(wrong: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="argument"):
        Quick(*wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="other"):
        Quick("a", other=1)  # type: ignore[call-arg]


def test_equal_are_those_of_one_class_with_equal_fields() -> None:
    assert Quick("a") == Quick("a", beside=1) != Quick("b")
    assert Quick("a") != Standard("a")  # type: ignore[comparison-overlap]
    assert Pair(1, ("x",)) == Pair(1, ("x",))
    assert len({Pair(1, ("x",)), Pair(1, ("x",)), Pair(2)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Quick("a"))


def test_nothing_about_it_changes() -> None:
    pair = Pair(1)
    for change in ("a", "c"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{change}'"):
            setattr(pair, change, 2)
        with pytest.raises(FrozenInstanceError, match="cannot delete"):
            delattr(pair, change)
    assert replace(pair, a=5) == Pair(5)
    assert pair == Pair(1)


def test_it_can_be_copied_and_sent_to_another_process() -> None:
    pair = Pair(1, ("x",))
    assert copy.copy(pair) == copy.deepcopy(pair) == pickle.loads(pickle.dumps(pair)) == pair


def test_it_can_be_matched() -> None:
    match Pair(1, ("x",)):
        case Pair(number, (text,)):
            assert (number, text) == (1, "x")
        case _:
            pytest.fail("not matched")


def test_what_a_class_says_itself_counts() -> None:
    @dataclass(frozen=True, slots=True)
    class Own:
        a: int
        doubled: int = field(init=False)
        tripled: list[int] = field(init=False, default_factory=list)

        def __post_init__(self) -> None:
            object.__setattr__(self, "doubled", 2 * self.a)

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 7

    assert (Own(3).doubled, Own(3).tripled, repr(Own(1)), hash(Own(1))) == (6, [], "own", 7)
    assert Own(1) == Own(2)


def test_a_class_may_add_to_another() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class More(Pair):
        c: str

    assert More(1, c="z") == More(1, (), c="z") != More(2, c="z")
    assert repr(More(1, c="z")).endswith("More(a=1, b=(), c='z')")
    assert More(1, c="z") != Pair(1)


def test_what_is_not_frozen_is_left_to_the_standard_library() -> None:
    @dataclass(slots=True)
    class Loose:
        a: int = 1

    @dataclass(frozen=True, eq=False)
    class Single:
        a: int = 1

    loose = Loose()
    loose.a = 2
    assert loose == Loose(2)
    assert Single() != Single()
