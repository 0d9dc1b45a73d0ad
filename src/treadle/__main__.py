"""`python -m treadle`: the terminal program."""

import sys

from treadle.cli.main import main

sys.exit(main())
