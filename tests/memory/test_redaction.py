import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from memory.embeddings.errors import EmbeddingError, ModelUnusable
from memory.embeddings.model_files import download_model
from memory.http_responses import MESSAGE_CHARS, one_line
from memory.redaction import Redaction, find_url_password, remove_secrets, set_redaction
from tests.fakes.table_test import table_test

SECRET = 'Zx9+/key =Tail"ü-_.~'
FORMS = {
    "as it is": SECRET,
    "in an address": quote(SECRET, safe=""),
    "in a form": quote_plus(SECRET),
    "in JSON": json.dumps(SECRET)[1:-1],
    "in JSON with its letters": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "in JSON that escapes all but letters": "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in SECRET),
    "in an address that escapes all but letters": "".join(
        c if c.isascii() and c.isalnum() else "".join(f"%{byte:02x}" for byte in c.encode()) for c in SECRET
    ),
}


@table_test("form", FORMS.values())
def test_a_secret_is_blanked_out_in_every_form(form: str) -> None:
    assert remove_secrets(f"<{form}>", [SECRET]) == "<***>"
    assert one_line(f"<{form}>", secrets=(SECRET,)) == "<***>"


@table_test("within", ["\x1b[1m", "\x1b]0;title\x07", "\x1b(B", "\0", "\x9b5m", "\u200b", "\u2066"])
def test_invisible_characters_within_a_secret_do_not_hide_it(within: str) -> None:
    text = f"no {SECRET[:5]}{within}{SECRET[5:]}"
    assert one_line(text, secrets=(SECRET,)) == "no ***"


def test_a_secret_is_blanked_out_before_a_text_is_cut() -> None:
    text = "x" * (MESSAGE_CHARS - 5)
    assert one_line(f"{text} {SECRET}", secrets=(SECRET,)) == f"{text} ***"


def test_the_password_of_a_proxy_is_blanked_out_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://me:of%2Fthe-proxy@127.0.0.1:1")
    assert one_line("407 of/the-proxy is wrong") == "407 *** is wrong"


def test_a_password_in_a_url_is_blanked_out_encoded_and_decoded() -> None:
    assert find_url_password("http://me:p%40ssword@host/v1") == "p%40ssword"
    assert one_line("no p@ssword, no p%40ssword", secrets=("p%40ssword",)) == "no ***, no ***"
    assert find_url_password("https://t0ken@host") == "t0ken"
    assert find_url_password("https://host/a@b") == find_url_password("http://[half") == ""


def test_the_longest_secret_is_blanked_out_first() -> None:
    assert remove_secrets("hunter2-longer", ["hunter2", "", " hunter2-longer\n"]) == "***"


def test_a_text_too_short_for_a_secret_is_not_blanked_out() -> None:
    assert remove_secrets("the key is wrong", ["y", "key"]) == "the key is wrong"


def test_basic_credentials_are_never_shown() -> None:
    assert one_line("bad Authorization: Basic dXNlcjpwQHNz") == "bad Authorization: ***"


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://me:pa55word@127.0.0.1:1",
        "http://me:pa55word@127.0.0.1:none",
        "http://me:pa55word/more@127.0.0.1:1",
        "ftp://me:pa55word@127.0.0.1",
        "me:pa55word@127.0.0.1",
    ],
)
def test_the_password_of_a_hub_is_never_shown(tmp_path: Path, endpoint: str) -> None:
    environment = {"HF_ENDPOINT": endpoint, "HF_TOKEN": "hf_t0ken"}
    with pytest.raises(EmbeddingError) as caught:
        download_model("hf:o/r/f.gguf", tmp_path, environment=environment, pause=0)
    assert "127.0.0.1" in str(caught.value)
    assert "pa55word" not in str(caught.value)
    assert "me:" not in str(caught.value)


@pytest.mark.parametrize("token", ["hf_t0ken\nmore", "hf_t0ken\x01", "hf_t0kenü"])
def test_a_token_that_cannot_be_sent_is_not_shown(tmp_path: Path, token: str) -> None:
    environment = {"HF_ENDPOINT": "http://127.0.0.1:1", "HF_TOKEN": token}
    with pytest.raises(ModelUnusable, match="HF_TOKEN") as caught:
        download_model("hf:o/r/f.gguf", tmp_path, environment=environment, pause=0)
    assert "t0ken" not in str(caught.value)


@table_test("before", ["", " " * 7990, "x" * 190, "x" * 7990, "\n" * 7999])
def test_no_secret_is_shown_where_a_long_text_is_cut(before: str) -> None:
    secret = "Kx7pQvT4mZw9Lr2Jh3kP0dWq8sYc5Rb"
    redaction = set_redaction(Redaction([secret]))
    try:
        shown = one_line(f"{before} {secret} " * 5)
    finally:
        set_redaction(redaction)
    assert not any(secret[at : at + 6] in shown for at in range(len(secret) - 5))
