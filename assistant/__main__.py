from assistant.cli import main
from assistant.workers import leave

leave(main())
