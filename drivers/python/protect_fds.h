/*
 * Protect the driver's descriptors from os.close() and os.closerange().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "ext.h"

/*
 * protect_fds(state, posix): replace close() and closerange() in the module @posix. The new
 * functions skip the descriptors @state.channel, @state.out and @state.err, as long as the process
 * id is @state.home.
 */
PyObject *protect_fds(PyObject *self, PyObject *args);
