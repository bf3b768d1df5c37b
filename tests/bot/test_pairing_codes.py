from bot.pairing_codes import CODE_LETTERS, generate_code, normalize_code


def test_codes_have_no_look_alikes_and_no_order() -> None:
    codes = {generate_code() for _ in range(1000)}
    assert len(codes) == 1000
    assert set("".join(codes)) == set(CODE_LETTERS)
    for alike in ("0OQD", "1IL", "2Z", "5S", "6GC", "8B", "UV"):
        assert len(set(alike) & set(CODE_LETTERS)) <= 1
    assert all(normalize_code(code.lower()) == code for code in codes)
