"""Start here: python run.py [COMMAND]. Set-up and start in one go: scripts/run."""

import sys

from assistant.cli import main

if __name__ == "__main__":
    sys.exit(main())
