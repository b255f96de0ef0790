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
 * guard(id, channel, guard, out, err, pairs, bytes, patient, barred): clone the process; the clone
 * waits as the checkpoint.
 * @id: JSON, for the GUARD frame; @channel: the driver's; @out, @err: copies of its stdout and
 * stderr, which a guard keeps;
 * @pairs: descriptors of event loops' own socketpairs, two by two; @bytes: the most private memory
 * of a process that is cloned, 0 for any; @patient: wait two milliseconds for threads to end;
 * @barred: JSON, what GUARD says of branches.
 * Returns: "" in the process that goes on, when it has sent GUARD; a str that says why there is no
 * guard; None in a guard that was resumed: the socket it waited on is @channel from then on.
 */
PyObject *guard(PyObject *self, PyObject *args);

/* Memory of a library's generator of random numbers, which is filled with others. */
struct ext_words {
	unsigned char *at;
	unsigned bytes;
};

/* The pairs of address and size in a sequence. Returns: how many, or -1 with an exception set. */
int ext_words_list(PyObject *list, struct ext_words *out, int max);

/* Returns: 0, or -1 with errno. */
int ext_draw(const struct ext_words *words);

/* This process is in another box now: so that what --seed keeps still is still there, too. */
void ext_new_box(void);

/* Of a branch. Its numbers go on where the stem's stood; it does what a step does, at once. */
enum { BRANCH_KEEPS = 1, BRANCH_WARMS = 2 };

/*
 * branch(id, flags, channel, fds, keep, words, ready): branch the process, with the
 * descriptors of a BRANCH frame.
 * @id: JSON, for the answer; @keep: descriptors the branch shares with the stem, copies of its
 * standard output and error first; @words: (address, bytes) of the generators that each branch has
 * its own numbers in, unless it keeps the stem's; @ready: what READY says, up to the process id.
 * Returns: the flags, in each branch, which has said READY then; not in the process that was
 * branched, which answers further BRANCH frames, and ends at the end of its channel. When the
 * first branch fails it raises OSError, and the process goes on. Owns: @fds, unless it raises.
 */
PyObject *branch(PyObject *self, PyObject *args);
PyObject *be_forked(PyObject *self, PyObject *args);
/* find_shared(own): what branches have to make their own; see shared.h, sockets.h. @own:
 * descriptors that lead to the engine or the warden. */
PyObject *find_shared(PyObject *self, PyObject *args);

/* alone(patient): is this thread the process's only one? When @patient, wait two milliseconds for
 * others to end. */
PyObject *alone(PyObject *self, PyObject *args);

/* end_thread_pools(): have libraries in C end the threads they keep for later. Not while such a
 * library works. */
PyObject *end_thread_pools(PyObject *self, PyObject *args);

/* count_others(): how many threads there are beside this one; -1 when the kernel does not say. */
PyObject *count_others(PyObject *self, PyObject *args);
