"""Format counts, sizes and durations for people."""


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


def format_rough_duration(seconds: float) -> str:
    """Return a rounded duration: `45 s`, `12 min`, `3 h`, `5 days`."""
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 59.5:
        return f"{round(seconds)} s"
    if minutes < 60:
        return f"{minutes} min"
    return f"{hours} h" if hours < 48 else f"{round(seconds / 86_400)} days"
