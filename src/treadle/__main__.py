"""`python -m treadle`: the terminal program."""

import sys

from treadle._cli.main import main

sys.exit(main())
