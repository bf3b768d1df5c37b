"""Share of ordinary replies that are taken for claims to have noted something: `python benchmarks/claims.py FILE`.

FILE holds one reply a line; `\\n` in it is a line break, and lines that begin with `#` are left out. Prints each false
alarm and their share; exits with 1 if that is above 1 %.
"""

import argparse
import sys
from pathlib import Path

from bot.claims import find_claims

MAX_SHARE = 0.01


def read_replies(file: Path) -> list[str]:
    """Return the replies of a file."""
    lines = file.read_text("utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines if line.strip() and not line.startswith("#")]


def main() -> int:
    """Print the false alarms."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="one ordinary reply a line")
    replies = read_replies(parser.parse_args().file)
    alarms = [(claims, reply) for reply in replies if (claims := find_claims(reply))]
    for claims, reply in alarms:
        print(f"{', '.join(sorted(claims))}: {reply!r}")
    share = len(alarms) / max(len(replies), 1)
    print(f"{len(alarms)} of {len(replies)} replies ({share:.1%}) are taken for claims")
    return int(share > MAX_SHARE)


if __name__ == "__main__":
    sys.exit(main())
