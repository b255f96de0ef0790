/*
 * Protects the driver's descriptors from os.close() and os.closerange().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "ext.h"

/*
 * protect_fds(state, posix): replace the functions of the module @posix that close descriptors. The
 * new ones skip the channel, out and err of @state while the process is state.home.
 */
PyObject *protect_fds(PyObject *self, PyObject *args);
