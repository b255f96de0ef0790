/*
 * The resource limits of the driver, during steps and between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "ext.h"

/*
 * widen(): raise each soft limit to the value that it had at the first call of widen(). A limit
 * that is already higher stays.
 * narrow(): restore the limits that the program has set.
 */
PyObject *widen(PyObject *self, PyObject *args);
PyObject *narrow(PyObject *self, PyObject *args);

/* limit_files() -> int: the soft limit of open files. The highest descriptor number is one less. */
PyObject *limit_files(PyObject *self, PyObject *args);

/* barred() -> str: why the limits of the process prevent a branch; "" if they do not. */
PyObject *barred(PyObject *self, PyObject *args);
