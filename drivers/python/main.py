# SPDX-License-Identifier: Apache-2.0
"""The script with which the interpreter starts. It is a file, so that the outermost frame also belongs to
the driver."""

import sys

sys.path[:] = [__file__.rpartition("/")[0], *filter(None, sys.path)]
import driver  # noqa: E402

driver.main(int(sys.argv[1]))
