"""Pure: what advisory locks are called."""


def lock_key(kind: str, name: str) -> int:
    """The key of an advisory lock, 64 bits with a sign; other programs may have locks in the same database."""
    import hashlib

    digest = hashlib.sha256(f"commonplace\0{kind}\0{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
