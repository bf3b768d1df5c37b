"""`python -m bot` is the `commonplace` command."""

import sys

from bot.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
