from memory.surrogates import replace_surrogates


def test_pairs_of_surrogates_are_joined_and_lone_ones_replaced() -> None:
    assert replace_surrogates("caf\xe9 \U0001f600") == "caf\xe9 \U0001f600"
    assert replace_surrogates("\ud83d\ude00 a\udcffb \ude00\ud83d") == "\U0001f600 a\ufffdb \ufffd\ufffd"
    assert replace_surrogates("\ufeffx\ud800") == "\ufeffx\ufffd"
