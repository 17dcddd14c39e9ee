"""Start here: python run.py [COMMAND]. Set-up and start in one go: scripts/run."""

from assistant.cli import main
from assistant.workers import leave

if __name__ == "__main__":
    leave(main())
