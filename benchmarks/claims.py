"""Share of ordinary replies that are taken for claims to have noted something: `python benchmarks/claims.py FILE`.

FILE holds one reply a line; `\\n` in it is a line break, and lines that begin with `#` are left out. Prints each false
alarm and their share; exits with 1 if that is above 1 %. With `--claims FILE`, prints also how many replies that do
claim something are found. Both are counted by halves too, the odd and the even lines, so that the words can be chosen
with the one half and measured with the other.
"""

import argparse
import sys
from pathlib import Path

from bot.claims import find_claims, is_acknowledgement

MAX_SHARE = 0.01


def read_replies(file: Path) -> list[str]:
    """Return the replies of a file."""
    lines = file.read_text("utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines if line.strip() and not line.startswith("#")]


def main() -> int:
    """Print the false alarms, and the hits among true claims."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="one ordinary reply a line")
    parser.add_argument("--claims", type=Path, metavar="FILE", help="one reply a line that claims something")
    given = parser.parse_args()
    replies = read_replies(given.file)
    found = [find_claims(reply) for reply in replies]
    for claims, reply in zip(found, replies, strict=True):
        if claims:
            print(f"{', '.join(sorted(claims))}: {reply!r}")
    print_shares("ordinary replies are taken for claims", list(map(bool, found)))
    if given.claims:
        said = read_replies(given.claims)
        print_shares("claims are found", [bool(find_claims(reply)) for reply in said])
        print_shares(
            "are so, or a bare “Noted!”", [bool(find_claims(r)) or is_acknowledgement(r) for r in said]
        )
    return int(sum(map(bool, found)) / max(len(replies), 1) > MAX_SHARE)


def print_shares(what: str, hits: list[bool]) -> None:
    """Print how many are hits, in all and by halves."""
    parts = {"all": hits, "odd lines": hits[::2], "even lines": hits[1::2]}
    shares = (
        f"{name} {sum(half)}/{len(half)} ({sum(half) / max(len(half), 1):.1%})"
        for name, half in parts.items()
    )
    print(f"{what}: {', '.join(shares)}")


if __name__ == "__main__":
    sys.exit(main())
