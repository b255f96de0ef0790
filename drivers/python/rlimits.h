/* Resource limits of the process, during and between steps. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ext.h"

/*
 * widen(): raise the soft limits to at least what they were when widen() was first called.
 * narrow(): set them back to what the program had made of them.
 */
PyObject *widen(PyObject *self, PyObject *args);
PyObject *narrow(PyObject *self, PyObject *args);

/* limit_files() -> int: one more than the highest number that a descriptor may have. */
PyObject *limit_files(PyObject *self, PyObject *args);

/* barred() -> str: why a branch of this process would fail because of its limits, or "". */
PyObject *barred(PyObject *self, PyObject *args);
