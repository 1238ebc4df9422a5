"""`python -m call4agents_core` is the command `call4agents`."""

import sys

from call4agents_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
