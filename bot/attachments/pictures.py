"""Prepares pictures for a model: upright, scaled down, and without metadata.

Run as a program, this is the child process that does it: picture decoders are large, written in C, and fed by
strangers.
"""

import io
import json
import sys
from typing import TYPE_CHECKING, BinaryIO

from bot import phrases
from bot.attachments.child_limits import limit_this_process
from bot.attachments.child_process import run_child
from bot.attachments.document_text import is_heic
from bot.models.protocol import Image

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MAX_SIDE = 1568
"""Pixels. Anthropic scales larger ones down to this itself, OpenAI and Gemini cut them into tiles that cost more;
according to Anthropic, more only makes answers slower, not better."""
MAX_PIXELS = 50_000_000
"""For a JPEG, which can be decoded at a reduced size unless it is progressive: the largest of usual cameras."""
MAX_PIXELS_UNPACKED = 25_000_000
"""For all other formats, with four bytes for each pixel."""
MAX_PIXELS_WEBP = 12_500_000
"""For WebP, whose decoder keeps four copies."""
JPEG_QUALITY = 85
PNG_BYTES = 400_000
"""A PNG, which keeps letters and lines exact, stays one up to this size."""
PNG_COLOURS = 1 << 16

MEMORY_BYTES = 384 << 20
"""Address space, including Python's own and Pillow's; a picture that needs more is refused."""
CPU_SECONDS = 20
MAX_RESULT_BYTES = 16 << 20
"""More than any picture of `MAX_SIDE` takes."""

_FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP")
_JPEGS = ("JPEG", "MPO")  # MPO: several pictures in one, from some telephones


class PictureUnreadable(Exception):
    """A picture cannot be shown to a model; the text is a sentence for people."""


async def prepare_in_child(file: BinaryIO, *, seconds: float) -> Image:
    """Prepare a picture in a child process. Raises PictureUnreadable; OSError if the process cannot be started."""
    written = bytearray()

    def take(piece: bytes) -> bool:
        written.extend(piece)
        return len(written) <= MAX_RESULT_BYTES

    ended_well = await run_child("bot.attachments.pictures", file=file, seconds=seconds, take=take)
    head, _, data = bytes(written).partition(b"\n")
    if not ended_well or not head:
        raise PictureUnreadable(phrases.PICTURE_TOO_MUCH)
    header = json.loads(head)
    if "problem" in header:
        raise PictureUnreadable(str(header["problem"]))
    return Image(str(header["media_type"]), data)


def prepare(file: BinaryIO) -> Image:
    """Prepare a picture; takes up to a second of CPU. Raises PictureUnreadable.

    Of an animation, the first frame is used. Location, camera, date and all other metadata are removed.
    """
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    beginning = file.read(16)
    file.seek(0)
    if is_heic(beginning):
        raise PictureUnreadable(phrases.PICTURE_IS_HEIC)
    try:
        with Pillow.open(file, formats=_FORMATS) as picture:
            is_jpeg = picture.format in _JPEGS
            most = _max_pixels(picture)
            if picture.width * picture.height > most:
                raise PictureUnreadable(phrases.PICTURE_TOO_LARGE.format(most=most // 1_000_000))
            if is_jpeg:
                # Decode at a half, a quarter or an eighth of the size if that is large enough.
                scale = min(1.0, MAX_SIDE / max(picture.size))
                picture.draft(None, (round(picture.width * scale), round(picture.height * scale)))
            # Without a gap of None, `thumbnail` would call `draft` again.
            gap = None if is_jpeg else 2.0
            picture.thumbnail((MAX_SIDE, MAX_SIDE), Pillow.Resampling.LANCZOS, reducing_gap=gap)
            return _encode(_rotate_upright(picture), was_jpeg=is_jpeg)
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise PictureUnreadable(phrases.PICTURE_TOO_LARGE.format(most=MAX_PIXELS // 1_000_000)) from error
    except UnidentifiedImageError as error:
        raise PictureUnreadable(phrases.PICTURE_UNKNOWN) from error
    except MemoryError as error:
        raise PictureUnreadable(phrases.PICTURE_TOO_MUCH) from error
    except (OSError, ValueError, SyntaxError, LookupError, TypeError, EOFError) as error:
        raise PictureUnreadable(phrases.PICTURE_DAMAGED) from error


def _max_pixels(picture: "Picture") -> int:
    if picture.format == "WEBP":
        return MAX_PIXELS_WEBP
    is_scaled = picture.format in _JPEGS and not picture.info.get("progressive")
    return MAX_PIXELS if is_scaled else MAX_PIXELS_UNPACKED


def _rotate_upright(picture: "Picture") -> "Picture":
    """Return the picture as the camera was held, without metadata, which would be saved as well."""
    from PIL import ImageOps

    try:
        turned = ImageOps.exif_transpose(picture)
    except Exception:  # noqa: BLE001 - metadata may be broken in any way
        turned = picture
    seen = turned.convert("RGBA" if turned.has_transparency_data else "RGB")
    seen.info = {}
    return seen


def _encode(picture: "Picture", *, was_jpeg: bool) -> Image:
    if not was_jpeg and (picture.mode == "RGBA" or picture.getcolors(PNG_COLOURS) is not None):
        png = io.BytesIO()
        picture.save(png, "PNG")
        if png.tell() <= PNG_BYTES:
            return Image("image/png", png.getvalue())
    jpeg = io.BytesIO()
    _flatten_on_white(picture).save(jpeg, "JPEG", quality=JPEG_QUALITY)
    return Image("image/jpeg", jpeg.getvalue())


def _flatten_on_white(picture: "Picture") -> "Picture":
    if picture.mode != "RGBA":
        return picture
    from PIL import Image as Pillow

    white = Pillow.new("RGB", picture.size, "white")
    white.paste(picture, mask=picture.getchannel("A"))
    return white


def main() -> None:
    """Read standard input; write a line of JSON and, if it succeeded, the picture."""
    from PIL import Image as Pillow
    from PIL import WebPImagePlugin  # noqa: F401 - not loaded by `preinit`

    Pillow.preinit()  # before the limits: an import that runs out of memory leaves half a module
    limit_this_process(memory_bytes=MEMORY_BYTES, cpu_seconds=CPU_SECONDS)
    try:
        image = prepare(sys.stdin.buffer)
    except PictureUnreadable as error:
        header, data = {"problem": str(error)}, b""
    else:
        header, data = {"media_type": image.media_type}, image.data
    sys.stdout.buffer.write(json.dumps(header).encode() + b"\n" + data)


if __name__ == "__main__":
    main()
