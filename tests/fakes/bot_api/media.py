"""Files, and the JSON of media in messages."""

import hashlib
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

MAX_DOWNLOAD_BYTES = 20 << 20
"""Maximum bytes that getFile serves."""
MAX_UPLOAD_BYTES = 50 << 20
PHOTO_SIZES = ((90, 67), (320, 240), (800, 600), (1280, 960))


@dataclass(frozen=True, slots=True)
class File:
    """A file stored by Telegram."""

    id: str
    unique_id: str
    data: bytes
    size: int
    """Size as reported by Telegram; may exceed `data`, so that tests need no 21 MB."""
    path: str
    """As returned by getFile."""
    name: str = ""
    media_type: str = ""

    def as_json(self) -> Json:
        return {"file_id": self.id, "file_unique_id": self.unique_id, "file_size": self.size}


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in a multipart request."""

    name: str
    media_type: str
    data: bytes


class Files:
    """All files ever sent."""

    def __init__(self) -> None:
        self.by_id: dict[str, File] = {}
        self.by_path: dict[str, File] = {}

    def add(
        self,
        folder: str,
        data: bytes,
        *,
        name: str = "",
        media_type: str = "",
        ending: str = "",
        size: int | None = None,
    ) -> File:
        number = len(self.by_id)
        digest = hashlib.sha256(b"%d:" % number + data).hexdigest()
        ending = ending or (f".{name.rpartition('.')[2]}" if "." in name else "")
        ending = "".join(one for one in ending if one.isalnum() or one == ".")
        file = File(
            id=f"BQACAgIAAxkB{digest[:36]}",
            unique_id=f"AgAD{digest[:12]}",
            data=data,
            size=len(data) if size is None else size,
            path=f"{folder}/file_{number}{ending}",
            name=name,
            media_type=media_type,
        )
        self.by_id[file.id] = self.by_path[file.path] = file
        return file


def photo(files: Files, data: bytes, sizes: tuple[tuple[int, int], ...], size: int | None) -> Json:
    """All sizes hold the same bytes; the largest comes last, as in Telegram."""
    versions = []
    for at, (width, height) in enumerate(sizes):
        share = None if size is None else max(1, size * (at + 1) // len(sizes))
        file = files.add("photos", data, ending=".jpg", media_type="image/jpeg", size=share)
        versions.append(file.as_json() | {"width": width, "height": height})
    return {"photo": versions}


def document(files: Files, data: bytes, *, name: str, media_type: str, size: int | None) -> Json:
    file = files.add("documents", data, name=name, media_type=media_type, size=size)
    return {"document": document_json(file)}


def document_json(file: File) -> Json:
    named = {"file_name": file.name} if file.name else {}
    typed = {"mime_type": file.media_type} if file.media_type else {}
    return {**named, **typed, **file.as_json()}


def voice(files: Files, data: bytes, *, seconds: int, size: int | None) -> Json:
    file = files.add("voice", data, ending=".oga", media_type="audio/ogg", size=size)
    return {"voice": {"duration": seconds, "mime_type": "audio/ogg", **file.as_json()}}


def audio(
    files: Files, data: bytes, *, seconds: int, name: str, title: str, performer: str, size: int | None
) -> Json:
    file = files.add("music", data, name=name, ending=".mp3", media_type="audio/mpeg", size=size)
    told = {"file_name": name, "mime_type": "audio/mpeg", "title": title, "performer": performer}
    return {
        "audio": {
            "duration": seconds,
            **{key: value for key, value in told.items() if value},
            **file.as_json(),
        }
    }


def video(files: Files, data: bytes, *, seconds: int, name: str, size: int | None) -> Json:
    file = files.add("videos", data, name=name, ending=".mp4", media_type="video/mp4", size=size)
    shape = {"duration": seconds, "width": 640, "height": 360, "file_name": name, "mime_type": "video/mp4"}
    return {"video": {**shape, **file.as_json()}}


def video_note(files: Files, data: bytes, *, seconds: int) -> Json:
    file = files.add("video_notes", data, ending=".mp4")
    return {"video_note": {"duration": seconds, "length": 240, **file.as_json()}}


def animation(files: Files, data: bytes, *, name: str) -> Json:
    """A GIF, sent as a document as well, as in Telegram."""
    file = files.add("animations", data, name=name, ending=".mp4", media_type="video/mp4")
    named = {"file_name": name, "mime_type": "video/mp4"}
    shape = {"duration": 2, "width": 320, "height": 240}
    return {
        "animation": {**shape, **named, **file.as_json()},
        "document": {**named, **file.as_json()},
    }


def sticker(files: Files, data: bytes, *, emoji: str) -> Json:
    file = files.add("stickers", data, ending=".webp")
    shape = {"width": 512, "height": 512, "emoji": emoji, "set_name": "Animals"}
    return {
        "sticker": {
            **shape,
            "is_animated": False,
            "is_video": False,
            "type": "regular",
            **file.as_json(),
        }
    }


def location(latitude: float, longitude: float) -> Json:
    return {"location": {"latitude": latitude, "longitude": longitude}}


def venue(latitude: float, longitude: float, title: str, address: str) -> Json:
    where = location(latitude, longitude)
    return {"venue": {**where, "title": title, "address": address}, **where}


def contact(phone: str, first_name: str, user_id: int | None) -> Json:
    known = {"user_id": user_id} if user_id else {}
    return {"contact": {"phone_number": phone, "first_name": first_name, **known}}


def dice(emoji: str, value: int) -> Json:
    return {"dice": {"emoji": emoji, "value": value}}


def poll(question: str, options: tuple[str, ...]) -> Json:
    return {
        "poll": {
            "id": "5220000000000000001",
            "question": question,
            "options": [
                {"persistent_id": str(at), "text": text, "voter_count": 0} for at, text in enumerate(options)
            ],
            "total_voter_count": 0,
            "is_closed": False,
            "is_anonymous": True,
            "type": "regular",
            "allows_multiple_answers": False,
            "allows_revoting": True,
            "members_only": False,
        }
    }
