"""Keys of advisory locks; pure."""


def lock_key(kind: str, name: str) -> int:
    """Return an advisory lock's key, a signed 64-bit hash, since other programs may use locks in the same database."""
    import hashlib

    digest = hashlib.sha256(f"commonplace\0{kind}\0{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
