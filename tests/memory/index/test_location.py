"""The index server's address is not in what a chat shows."""

from memory.index.location import IndexServerLocation, redact_server_address
from memory.postgres.errors import quote_server
from memory.postgres.server import Server
from memory.translatable import Translatable


def test_the_server_is_not_named_nor_quoted_and_the_text_can_still_be_translated() -> None:
    location = IndexServerLocation(Server("postgresql://me:secret@db.example/notes"), fingerprint="")
    away = Translatable("{server} does not answer", server=location.shown)
    quoted = quote_server(away, "connection to 10.0.0.1 refused")
    assert quoted == "postgresql://me@db.example/notes does not answer (connection to 10.0.0.1 refused)"
    for text in (quoted, away):
        told = redact_server_address(text, location)
        assert told == "the index server does not answer"
        assert isinstance(told, Translatable)
        assert told.template == "{server} does not answer"
    outer = Translatable("a.md was not written: {reason}", reason=quoted)
    told = redact_server_address(outer, location)
    assert told == "a.md was not written: the index server does not answer"
    other = Translatable("a.md was not written: {reason}", reason="(of mine)")
    assert redact_server_address(other, location) is other
