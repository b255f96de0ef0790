# SPDX-License-Identifier: Apache-2.0
"""What the interpreter is started with, and the channel. A file, so that the outermost frame, too, is one of ours."""

import sys

sys.path[:] = [__file__.rpartition("/")[0], *filter(None, sys.path)]
import driver  # noqa: E402

driver.main(int(sys.argv[1]))
