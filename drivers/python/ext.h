/* What the files of the extension share. Stable ABI of CPython 3.9, no library but libc.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

/*
 * The numbers in a sequence, the first @max of them.
 * Returns: how many, or -1 with an exception set.
 */
int ext_numbers(PyObject *list, int *out, int max);

/*
 * guard(id, channel, out, err, pairs, bytes, patient): clone the process; the clone waits as the
 * checkpoint.
 * @id: JSON, for the GUARD frame; @channel: the driver's; @out, @err: copies of its stdout and
 * stderr, which a guard keeps;
 * @pairs: descriptors of event loops' own socketpairs, two by two; @bytes: the most private memory
 * of a process that is cloned, 0 for any; @patient: wait two milliseconds for threads to end.
 * Returns: "" in the process that goes on, when it has sent GUARD; a str that says why there is no
 * guard; None in a guard that was resumed: the socket it waited on is @channel from then on.
 */
PyObject *guard(PyObject *self, PyObject *args);

/*
 * branch(id, channel, fds, keep): branch the process, with the descriptors of a BRANCH frame.
 * @id: JSON, for the answer; @keep: descriptors the branch shares with the stem.
 * Returns: the number of descriptors lost, in each branch; not in the process that was branched,
 * which answers further BRANCH frames, and ends at the end of its channel. When the first branch
 * fails it raises OSError, and the process goes on. Owns: @fds, unless it raises.
 */
PyObject *branch(PyObject *self, PyObject *args);
PyObject *be_forked(PyObject *self, PyObject *args);
PyObject *find_shared(PyObject *self, PyObject *args);

/* alone(): is this thread the process's only one? */
PyObject *alone(PyObject *self, PyObject *args);
