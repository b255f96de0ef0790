/* Limits of the process, between steps and in them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ext.h"

/* widen(): from now on the soft limits are at least what they were when this was called first.
 * narrow(): they are what the program had made of them. */
PyObject *widen(PyObject *self, PyObject *args);
PyObject *narrow(PyObject *self, PyObject *args);

/* limit_files() -> int: of numbers that descriptors may have. */
PyObject *limit_files(PyObject *self, PyObject *args);

/* barred() -> str: why a branch of the process would fail for its limits, or "". */
PyObject *barred(PyObject *self, PyObject *args);
