"""Pictures as a model is given them."""

import io
import random
import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path

import pytest
from PIL import Image as Pillow
from PIL import ImageDraw, PngImagePlugin

from bot.attachments.pictures import MAX_SIDE, PNG_BYTES, PictureUnreadable, prepare, prepare_in_child
from bot.models.protocol import Image
from tests.fakes.table_test import table_test

GPS = 0x8825


def noise(width: int, height: int) -> Pillow.Image:
    """As hard to pack as a photo."""
    return Pillow.frombytes("RGB", (width, height), random.Random(1).randbytes(width * height * 3))


def written(picture: Pillow.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def ready(content: bytes) -> Image:
    return prepare(io.BytesIO(content))


def seen(image: Image) -> Pillow.Image:
    picture = Pillow.open(io.BytesIO(image.data))
    picture.load()
    assert Pillow.MIME[picture.format or ""] == image.media_type
    return picture


def test_a_large_photo_is_scaled_and_keeps_its_shape() -> None:
    photo = written(noise(400, 300).resize((4000, 3000)), "JPEG")
    image = ready(photo)
    assert image.media_type == "image/jpeg"
    assert seen(image).size == (MAX_SIDE, MAX_SIDE * 3 // 4)


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((8000, 6000), marks=pytest.mark.thorough),
        (3200, 1569),
        (1569, 20),
        (20, 4000),
        (1567, 1568),
    ],
)
def test_what_is_seen_stays_where_it_was(size: tuple[int, int]) -> None:
    width, height = size
    photo = Pillow.new("RGB", size, "red")
    photo.paste("blue", (width // 2, height // 2, width, height))
    shown = seen(ready(written(photo, "JPEG")))
    assert max(shown.size) == min(MAX_SIDE, max(size))
    assert shown.width / shown.height == pytest.approx(width / height, rel=0.1)
    corners = [
        shown.getpixel((shown.width * x // 8, shown.height * y // 8)) for x, y in ((2, 2), (6, 6), (6, 2))
    ]
    assert [corner[2] > 128 for corner in corners if isinstance(corner, tuple)] == [False, True, False]


def test_a_small_one_is_not_made_larger() -> None:
    assert seen(ready(written(noise(40, 30), "JPEG"))).size == (40, 30)


def test_it_stands_upright_and_tells_neither_place_nor_camera() -> None:
    picture = Pillow.new("RGB", (200, 100), "red")
    picture.paste("blue", (0, 0, 100, 100))
    exif = Pillow.Exif()
    exif[0x0112] = 6  # to be turned right
    exif[0x0110] = "Camera 3000"
    exif.get_ifd(GPS)[1] = "N"
    exif.get_ifd(GPS)[2] = (52.0, 31.0, 12.0)
    data = written(picture, "JPEG", exif=exif, comment=b"secret comment", xmp=b"<x>secret xmp</x>")
    assert b"Camera 3000" in data
    assert b"secret comment" in data
    image = ready(data)
    shown = seen(image)
    assert shown.size == (100, 200)
    top, bottom = shown.getpixel((50, 10)), shown.getpixel((50, 190))
    assert isinstance(top, tuple)
    assert isinstance(bottom, tuple)
    assert top[2] > 200 > 50 > top[0]
    assert bottom[0] > 200 > 50 > bottom[2]
    assert not shown.getexif()
    assert not {"exif", "comment", "xmp", "icc_profile"} & shown.info.keys()
    assert all(word not in image.data for word in (b"Camera", b"secret"))


def test_what_a_png_says_beside_its_pixels_is_dropped_too() -> None:
    told = PngImagePlugin.PngInfo()
    told.add_text("Location", "secret place")
    image = ready(written(Pillow.new("RGB", (20, 20)), "PNG", pnginfo=told))
    assert image.media_type == "image/png"
    assert b"secret place" not in image.data


@pytest.mark.thorough
def test_a_drawing_stays_exact_and_a_photo_does_not() -> None:
    drawing = Pillow.new("RGB", (2000, 1000), "white")
    ImageDraw.Draw(drawing).line((0, 0, 2000, 1000), "black", 3)
    assert ready(written(drawing, "PNG")).media_type == "image/png"
    photo = ready(written(noise(900, 700), "PNG"))
    assert photo.media_type == "image/jpeg"


def test_what_is_seen_through_stays_so_or_stands_on_white() -> None:
    clear = Pillow.new("RGBA", (50, 50), (0, 0, 0, 0))
    assert seen(ready(written(clear, "PNG"))).mode == "RGBA"
    rough = noise(800, 600).convert("RGBA")
    rough.putalpha(0)
    data = written(rough, "PNG")
    assert len(data) > PNG_BYTES
    white = seen(ready(data))
    assert white.format == "JPEG"
    assert white.getpixel((400, 300)) == (255, 255, 255)


@table_test("kind", ["GIF", "WEBP", "PNG"])
def test_of_what_moves_the_first_picture_is_taken(kind: str) -> None:
    frames = [Pillow.new("RGB", (60, 40), colour) for colour in ("red", "blue", "green")]
    data = written(frames[0], kind, save_all=True, append_images=frames[1:], duration=50)
    shown = seen(ready(data)).convert("RGB")
    pixel = shown.getpixel((30, 20))
    assert isinstance(pixel, tuple)
    assert pixel[0] > 200 > 60 > pixel[2]


@table_test("mode", ["1", "L", "LA", "P", "PA", "RGBA", "I;16", "CMYK"])
def test_every_way_to_write_colours_is_understood(mode: str) -> None:
    kind = {"CMYK": "JPEG", "PA": "WEBP"}.get(mode, "PNG")
    white = Pillow.new("RGBA", (30, 20), "white")
    picture = Pillow.new(mode, (30, 20)) if mode == "I;16" else white.convert(mode)
    data = written(picture.convert("RGBA") if mode == "PA" else picture, kind)
    assert seen(ready(data)).size == (30, 20)


def test_a_thin_one_keeps_a_pixel() -> None:
    assert seen(ready(written(Pillow.new("RGB", (20_000, 2)), "PNG"))).size == (MAX_SIDE, 1)


def png_that_claims(width: int, height: int) -> bytes:
    """A bomb: a hundred bytes that want to be unpacked to gigabytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    )


@table_test("size", [(6000, 6000), (10_000, 10_000), (60_000, 60_000)])
def test_a_bomb_is_refused_before_it_is_unpacked(size: tuple[int, int]) -> None:
    start = time.thread_time()
    with pytest.raises(PictureUnreadable, match="megapixels"):
        ready(png_that_claims(*size))
    assert time.thread_time() - start < 0.2


@table_test(
    ("data", "why"),
    [
        (b"", "not a picture of a supported kind"),
        (b"no picture at all", "not a picture of a supported kind"),
        (b"\0\0\0\x18ftypheic" + bytes(80), "HEIC"),
        (b"\xff\xd8\xff\xe0" + b"x" * 40, "damaged|not a picture"),
        (png_that_claims(20, 20), "damaged"),
    ],
)
def test_what_cannot_be_shown_is_told_in_a_sentence(data: bytes, why: str) -> None:
    with pytest.raises(PictureUnreadable, match=why):
        ready(data)


def test_a_cut_photo_is_damaged() -> None:
    photo = written(noise(300, 300), "JPEG")
    with pytest.raises(PictureUnreadable, match="damaged"):
        ready(photo[: len(photo) // 2])


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_broken_words_beside_the_pixels_spoil_no_picture() -> None:
    photo = written(Pillow.new("RGB", (20, 20)), "JPEG")
    broken = b"\xff\xe1" + struct.pack(">H", 2 + 6 + 12) + b"Exif\0\0II*\0\xff\xff\xff\xff\xff\xff\xff\xff"
    assert seen(ready(photo[:2] + broken + photo[2:])).size == (20, 20)


@pytest.mark.thorough
def test_a_photo_of_a_phone_costs_little_cpu() -> None:
    photo = written(noise(400, 300).resize((4000, 3000), Pillow.Resampling.BICUBIC), "JPEG", quality=85)
    start = time.thread_time()
    ready(photo)
    assert time.thread_time() - start < 1.0


# -- in a process of its own ------------------------------------------------------------------------------------


async def in_child(content: bytes, *, seconds: float = 60.0) -> Image:
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(content)
        return await prepare_in_child(file, seconds=seconds)


async def test_a_process_gives_the_same_picture() -> None:
    photo = written(noise(400, 300), "JPEG")
    assert await in_child(photo) == ready(photo)


@table_test(("content", "why"), [(b"no picture", "not a picture"), (b"", "not a picture")])
async def test_a_process_tells_why_there_is_none(content: bytes, why: str) -> None:
    with pytest.raises(PictureUnreadable, match=why):
        await in_child(content)


async def test_a_process_that_takes_too_long_is_ended() -> None:
    with pytest.raises(PictureUnreadable, match="too long"):
        await in_child(written(noise(400, 300), "JPEG"), seconds=0.001)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
async def test_it_is_unpacked_in_a_process_with_limits() -> None:
    """A few kB that claim 100 MB, or 200 as WebP, take none of ours."""
    bomb = Pillow.new("RGBA", (5000, 5000), (1, 2, 3, 100))
    png = written(bomb, "PNG")
    webp = written(bomb.crop((0, 0, 3600, 3600)), "WEBP", method=0, quality=0)
    del bomb
    Path("/proc/self/clear_refs").write_text("5")  # its peak is what it has now
    before = peak()
    assert max(seen(await in_child(png)).size) == MAX_SIDE
    with pytest.raises(PictureUnreadable, match="12 megapixels"):
        await in_child(webp)
    assert peak() - before < 30


def peak() -> float:
    """Megabytes that we had at most."""
    (line,) = (
        each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM")
    )
    return int(line.split()[1]) / 1024
