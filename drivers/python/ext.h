/*
 * Declarations shared by the files of the extension. Stable ABI of CPython 3.9; links to libc only.
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
 * Convert a sequence to at most @max ints. Returns: their number, or -1 with a Python exception
 * set.
 */
int ext_numbers(PyObject *list, int *out, int max);

/*
 * guard(id, channel, guard, out, err, pairs, bytes, patient, barred): clone the process. The clone
 * is the guard, which waits and serves as the checkpoint.
 * @id: JSON, for the GUARD frame; @channel: the driver's channel; @guard: the guard's end of its
 * socket; @out, @err: the driver's duplicates of stdout and stderr, which a guard keeps;
 * @pairs: both ends of each event loop's socketpair, in turn; @bytes: limit of the process's
 * private memory, 0 for no limit; @patient: wait up to two milliseconds for other threads to end;
 * @barred: JSON for the GUARD frame, the reason why a branch is impossible.
 * Returns: in the process that continues, "" once GUARD has been sent, or a str with the reason why
 * no guard was made. In a resumed guard, a tuple of counts that were not restored: (locks, files
 * without their names, bytes of private mappings); @channel is then the socket on which the guard
 * waited.
 */
PyObject *guard(PyObject *self, PyObject *args);

/* The state of a library's random generator, which each branch fills with new random numbers. */
struct ext_words {
	unsigned char *at;
	unsigned bytes;
};

/*
 * Convert a sequence of (address, size) pairs. Returns: their number, or -1 with a Python exception
 * set.
 */
int ext_words_list(PyObject *list, struct ext_words *out, int max);

/* Fill the state with random numbers from the kernel. Returns: 0, or -1 with errno. */
int ext_draw(const struct ext_words *words);

/*
 * Tell drivers/still that this process is now in another box, so that --seed keeps working there.
 */
void ext_new_box(void);

/*
 * Flags of a branch. BRANCH_KEEPS: continue the stem's random numbers. BRANCH_WARMS: do the work of
 * one step at once, to prepare for the first.
 */
enum { BRANCH_KEEPS = 1, BRANCH_WARMS = 2 };

/*
 * branch(id, flags, channel, fds, keep, words, ready): branch the process, with the descriptors
 * of a BRANCH frame.
 * @id: JSON, for a BRANCHED frame; @keep: descriptors that the branch and the stem share, the
 * duplicates of stdout and stderr first; @words: (address, bytes) of the random generators that
 * each branch reseeds, unless BRANCH_KEEPS is set; @ready: the READY frame, up to the process id.
 * Returns: in each branch its flags, after it has sent READY. In the process that was branched
 * the call does not return once the first branch exists: it becomes a stem, which makes a branch
 * for each BRANCH frame until the channel is closed. If the first branch fails, the call raises
 * OSError and the process continues.
 * Owns: @fds, unless it raises.
 */
PyObject *branch(PyObject *self, PyObject *args);
PyObject *be_forked(PyObject *self, PyObject *args);
/*
 * find_shared(own): list the mappings, pipes and sockets that branches must replace; see
 * shared.h, sockets.h. @own: descriptors that lead to the engine or the warden.
 */
PyObject *find_shared(PyObject *self, PyObject *args);

/*
 * alone(patient): is this the only thread of the process? If @patient is true, wait up to two
 * milliseconds for others to end.
 */
PyObject *alone(PyObject *self, PyObject *args);

/*
 * end_thread_pools(): have C libraries end the idle threads that they keep for their next call.
 * Must not run while such a library computes.
 */
PyObject *end_thread_pools(PyObject *self, PyObject *args);

/* count_others(): return the number of other threads, or -1 if the kernel does not tell. */
PyObject *count_others(PyObject *self, PyObject *args);
