/* os.close() and its like, which leave the driver what it needs. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "ext.h"

/* protect_fds(state, posix): in the module @posix, functions that close descriptors spare those
 * that
 * @state has as channel, out and err, while this is the process that it has as home. */
PyObject *protect_fds(PyObject *self, PyObject *args);
