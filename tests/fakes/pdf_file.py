"""Handwritten PDF files, both normal and malicious."""

import io
import zlib
from collections.abc import Mapping, Sequence


def build_pdf(objects: Mapping[int, bytes], *, root: int = 1) -> bytes:
    """Return a PDF of these objects by number, with a valid cross-reference table."""
    file = io.BytesIO()
    file.write(b"%PDF-1.7\n")
    places = {}
    for number, body in objects.items():
        places[number] = file.tell()
        file.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = file.tell()
    file.write(b"xref\n0 1\n0000000000 65535 f \n")
    for number, place in places.items():
        file.write(b"%d 1\n%010d 00000 n \n" % (number, place))
    file.write(b"trailer\n<< /Size %d /Root %d 0 R >>\n" % (max(objects) + 1, root))
    file.write(b"startxref\n%d\n%%%%EOF\n" % table)
    return file.getvalue()


def pdf_stream(content: bytes, *, packed: bool = False) -> bytes:
    data = zlib.compress(content, 9) if packed else content
    kind = b"/Filter /FlateDecode " if packed else b""
    return b"<< %s/Length %d >>\nstream\n%s\nendstream" % (kind, len(data), data)


def pdf_with_streams(pages: Sequence[bytes]) -> bytes:
    """Return a PDF with one page per stream."""
    numbers = range(10, 10 + 2 * len(pages), 2)
    kids = b" ".join(b"%d 0 R" % number for number in numbers)
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    }
    for number, content in zip(numbers, pages, strict=True):
        objects[number] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (number + 1)
        )
        objects[number + 1] = content
    return build_pdf(objects)


def text_stream(text: str) -> bytes:
    """Return the stream of a page with these lines."""
    lines = b" T* ".join(b"(%s) Tj" % line.encode("cp1252") for line in text.splitlines() or [""])
    return pdf_stream(b"BT /F1 12 Tf 14 TL 50 800 Td %s ET" % lines)


def text_pdf(*pages: str) -> bytes:
    """Return a PDF with one page per text."""
    return pdf_with_streams([text_stream(page) for page in pages])


def slow_pdf(pages: int = 1500) -> bytes:
    """Return a PDF of a few kB that takes minutes to read: all pages share one compressed drawing with little text."""
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [%s] /Count %d >>"
        % (b" ".join(b"%d 0 R" % (10 + page) for page in range(pages)), pages),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        4: pdf_stream(b"BT /F1 12 Tf (x) Tj ET\n" + b"1 0 0 1 0 0 cm\n" * 40_000, packed=True),
    }
    for page in range(pages):
        objects[10 + page] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>"
        )
    return build_pdf(objects)
