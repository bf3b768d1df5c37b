"""Format counts and sizes for people."""


def counted(count: int, noun: str) -> str:
    """Return "1 note", "2 notes"."""
    return f"{count} {noun}{'s'[: count != 1]}"


def format_size(count: float) -> str:
    """Return a size in bytes such as `312 bytes`, `1.2 MB` or `35 MB`."""
    size, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB"):
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    return f"{size:.1f} {unit}" if unit != "bytes" and size < 9.95 else f"{size:,.0f} {unit}"
