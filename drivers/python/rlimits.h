/* Resource limits of the driver, during and between steps. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ext.h"

/*
 * widen(): raise the soft limits to at least those of the first widen(). narrow(): restore the
 * limits that the program has set.
 */
PyObject *widen(PyObject *self, PyObject *args);
PyObject *narrow(PyObject *self, PyObject *args);

/* limit_files() -> int: the soft limit of open files, one more than the highest descriptor number.
 */
PyObject *limit_files(PyObject *self, PyObject *args);

/* barred() -> str: the reason why the process's limits prevent a branch, or "". */
PyObject *barred(PyObject *self, PyObject *args);
