"""`python -m nextok.cli`."""

import sys

from nextok.cli.entry import main

sys.exit(main())
