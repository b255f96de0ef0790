/*
 * Declarations that the files of the extension share. The extension uses the stable ABI of CPython
 * 3.9 and links to libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

/*
 * Convert a sequence to ints, and store the first @max of them in @out. Returns: the number of ints
 * that were stored, or -1 with a Python exception set.
 */
int ext_numbers(PyObject *list, int *out, int max);

/*
 * guard(id, channel, guard, out, err, pairs, bytes, patient, barred): clone the process. The clone
 * is the guard, which waits and serves as the checkpoint.
 *
 *   id        JSON string, the id in the GUARD frame
 *   channel   descriptor of the driver's channel
 *   guard     descriptor of the guard's end of its socket
 *   out, err  the driver's duplicates of stdout and stderr, which a guard keeps
 *   pairs     descriptors of each event loop's socketpair, both ends of a pair in succession
 *   bytes     limit of the process's private memory, 0 for no limit
 *   patient   whether to wait up to two milliseconds for other threads to end
 *   barred    JSON for the GUARD frame: the reason why a branch is impossible
 *
 * Returns, in the process that continues: "" once GUARD has been sent, or the reason why no guard
 * was made. Returns, in a resumed guard: a tuple of three numbers. They count the locks that could
 * not be taken again, the open files that have lost their names, and the bytes of private mappings
 * that were lost. @channel is then the socket on which the guard waited.
 */
PyObject *guard(PyObject *self, PyObject *args);

/*
 * Memory that holds the state of a library's random generator. Each branch fills it with new random
 * numbers.
 */
struct ext_words {
	unsigned char *at;
	unsigned bytes;
};

/*
 * Convert a sequence of (address, size) pairs. Returns: their number, or -1 with a Python exception
 * set.
 */
int ext_words_list(PyObject *list, struct ext_words *out, int max);

/*
 * Fill the state of a generator with random numbers from the kernel. Returns: 0, or -1 with errno.
 */
int ext_draw(const struct ext_words *words);

/* Tell drivers/still that this process is now in another box, which has a clock of its own. */
void ext_new_box(void);

/*
 * Flags of a branch. BRANCH_KEEPS: continue with the stem's random numbers. BRANCH_WARMS: rehearse
 * a step right after the branch, so that the first real step is faster. BRANCH_LENDS: the process
 * makes one branch and goes on as before, instead of becoming a stem.
 */
enum { BRANCH_KEEPS = 1, BRANCH_WARMS = 2, BRANCH_LENDS = 4 };

/*
 * branch(id, flags, channel, fds, keep, words, ready): branch the process.
 *
 *   id       JSON string, the id in a BRANCHED frame
 *   flags    BRANCH_KEEPS, BRANCH_WARMS, BRANCH_LENDS
 *   channel  descriptor of the driver's channel
 *   fds      the descriptors of the BRANCH frame
 *   keep     descriptors that the branch and the stem share, the duplicates of stdout and stderr
 *            first
 *   words    (address, bytes) of each random generator that a branch reseeds unless BRANCH_KEEPS
 *            is set
 *   ready    start of the READY frame, up to the process id
 *
 * In each branch, the call returns the branch's flags after READY was sent. In the process that was
 * branched, it does not return once the first branch exists: the process becomes a stem, which
 * makes a branch for each BRANCH frame until the channel is closed. If the first branch fails, the
 * call raises OSError and the process continues. With BRANCH_LENDS, it returns None in the process
 * that was branched.
 * Owns: @fds, unless it raises.
 */
PyObject *branch(PyObject *self, PyObject *args);
PyObject *be_forked(PyObject *self, PyObject *args);
/*
 * find_shared(own, known): list the mappings, pipes and sockets that a branch must replace
 * (shared.h, sockets.h). @own are the descriptors that lead to the engine or the warden. @known: as
 * for sockets_find(); None stands for NULL.
 */
PyObject *find_shared(PyObject *self, PyObject *args);

/*
 * alone(patient): return whether the process has only one thread. If @patient is true, wait up to
 * two milliseconds for other threads to end.
 */
PyObject *alone(PyObject *self, PyObject *args);

/*
 * end_thread_pools(): make C libraries end the idle threads that they keep for their next call.
 * Must not be called while such a library computes.
 */
PyObject *end_thread_pools(PyObject *self, PyObject *args);

/* count_others(): return the number of other threads, or -1 if the kernel does not tell it. */
PyObject *count_others(PyObject *self, PyObject *args);
