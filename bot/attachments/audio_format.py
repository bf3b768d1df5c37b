"""Detects audio formats, and the size limit of transcription services."""

MAX_BYTES = 25 << 20
"""Limit of OpenAI and of Groq's free plan; Mistral accepts more."""


def detect_format(audio: bytes) -> str:
    """Return the file name suffix for an audio file's content; "" if no service accepts it."""
    head = audio[:64]
    if head.startswith(b"OggS"):  # Telegram's voice messages: Opus, for which OpenAI accepts no other suffix
        return "ogg"
    if head.startswith(b"ID3") or (len(head) > 1 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2):
        return "mp3"
    if head.startswith(b"fLaC"):
        return "flac"
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "wav"
    if head.startswith(b"\x1aE\xdf\xa3"):
        return "webm"
    if head[4:8] == b"ftyp":
        return "m4a" if head[8:11] == b"M4A" else "mp4"
    return ""
