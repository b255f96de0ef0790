/*
 * The native extension of the Python driver: frames on a stream socket, signals, and system calls
 * that Python does not offer. It uses Python's stable ABI and links to libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "pymalloc.h"
#include "protect_fds.h"
#include "ext.h"
#include "frame.h"
#include "hugepages.h"
#include "rlimits.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { HIGH_FD = 500, SCAN_FDS = 256, DRAW_BYTES_MAX = 4096, DRAWN_FIRST = 16, DRAWN_NEXT = 4 };

int ext_numbers(PyObject *list, int *out, int max)
{
	Py_ssize_t n = PySequence_Size(list);

	for (Py_ssize_t i = 0; i < n && i < max; i++) {
		PyObject *item = PySequence_GetItem(list, i);

		out[i] = item ? (int)PyLong_AsLong(item) : -1;
		Py_XDECREF(item);
	}
	return n < 0 || PyErr_Occurred() ? -1 : n < max ? (int)n : max;
}

static PyObject *send_frame(PyObject *self, PyObject *args)
{
	const char *payload;
	Py_ssize_t bytes;
	int fd, type, r;

	(void)self;
	if (!PyArg_ParseTuple(args, "iiy#:send_frame", &fd, &type, &payload, &bytes))
		return NULL;
	if (bytes >= FRAME_BYTES_MAX) {
		PyErr_SetString(PyExc_ValueError, "frame too long");
		return NULL;
	}
	/*
	 * @fd is -1 in a rehearsal of a step. Send nothing then, and raise no exception: that would
	 * write to pages that a real step does not write to.
	 */
	if (fd < 0)
		Py_RETURN_NONE;
	Py_BEGIN_ALLOW_THREADS r = frame_write(fd, type, payload, (size_t)bytes);
	Py_END_ALLOW_THREADS if (r < 0)
	{
		errno = -r;
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	Py_RETURN_NONE;
}

/*
 * Read exactly @bytes. Python's signal handlers run only before the first byte, so that an
 * exception in a handler never loses part of a frame. If @passed is NULL, they do not run at all.
 * Returns: 1; 0 at the end of the stream; -1 with a Python exception set.
 */
static int read_whole(int fd, char *out, size_t bytes, struct frame_fds *passed)
{
	size_t have = 0;

	while (have < bytes) {
		ssize_t n;
		int err;

		Py_BEGIN_ALLOW_THREADS n = frame_read_some(fd, out + have, bytes - have, passed);
		err = errno;
		Py_END_ALLOW_THREADS if (n == 0) return 0;
		if (n > 0) {
			have += (size_t)n;
			continue;
		}
		if (err != EINTR) {
			errno = err;
			PyErr_SetFromErrno(PyExc_OSError);
			return -1;
		}
		if (passed && have == 0 && PyErr_CheckSignals() < 0)
			return -1;
	}
	return 1;
}

/*
 * Build the tuple (type, payload, descriptors). If descriptors arrived with a type of frame that
 * carries none, they are closed.
 */
static PyObject *build_frame(int type, PyObject *payload, struct frame_fds *passed)
{
	PyObject *fds;

	if (type != FRAME_BRANCH && type != FRAME_STEP && type != FRAME_CHECKPOINT)
		frame_fds_close(passed);
	fds = PyTuple_New(passed->n);
	for (int i = 0; fds && i < passed->n; i++)
		PyTuple_SetItem(fds, i, PyLong_FromLong(passed->fds[i]));
	if (fds && !PyErr_Occurred())
		return Py_BuildValue("iNN", type, payload, fds);
	frame_fds_close(passed);
	Py_XDECREF(fds);
	Py_DECREF(payload);
	return NULL;
}

static PyObject *recv_frame(PyObject *self, PyObject *args)
{
	unsigned char head[FRAME_HEAD_BYTES];
	struct frame_fds passed = {.n = 0};
	unsigned int max;
	uint32_t bytes;
	PyObject *payload = NULL;
	int fd, r;

	(void)self;
	if (!PyArg_ParseTuple(args, "iI:recv_frame", &fd, &max))
		return NULL;
	r = read_whole(fd, (char *)head, sizeof(head), &passed);
	if (r > 0) {
		bytes = frame_length(head);
		if (bytes < 1 || bytes > max) {
			PyErr_Format(PyExc_ValueError, "frame of %u bytes", (unsigned int)bytes);
			r = -1;
		} else {
			payload = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes - 1);
			r = payload ? read_whole(fd, PyBytes_AsString(payload), bytes - 1, NULL)
				    : -1;
		}
	}
	if (r > 0)
		return build_frame(head[4], payload, &passed);
	frame_fds_close(&passed);
	Py_XDECREF(payload);
	if (r < 0)
		return NULL;
	Py_RETURN_NONE;
}

/* Return whether a read of the descriptor would not block, because of input or end-of-file. */
static PyObject *is_readable(PyObject *self, PyObject *args)
{
	struct pollfd poll_fd = {.events = POLLIN};

	(void)self;
	if (!PyArg_ParseTuple(args, "i:is_readable", &poll_fd.fd))
		return NULL;
	return PyBool_FromLong(poll(&poll_fd, 1, 0) != 0);
}

/* Return whether both descriptors are open on the same file. False if one of them is closed. */
static PyObject *is_same_file(PyObject *self, PyObject *args)
{
	struct stat a, b;
	int fd, other;

	(void)self;
	if (!PyArg_ParseTuple(args, "ii:is_same_file", &fd, &other))
		return NULL;
	return PyBool_FromLong(fstat(fd, &a) == 0 && fstat(other, &b) == 0 &&
		a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

static PyObject *flush_c(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	Py_BEGIN_ALLOW_THREADS fflush(NULL);
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

/* Duplicate a descriptor, close-on-exec, to a high number, which user code is unlikely to use. */
static PyObject *dup_high(PyObject *self, PyObject *args)
{
	struct rlimit limit;
	int fd, floor = HIGH_FD, copy;

	(void)self;
	if (!PyArg_ParseTuple(args, "i:dup_high", &fd))
		return NULL;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < HIGH_FD + 16)
		floor = limit.rlim_cur > 32 ? (int)limit.rlim_cur - 16 : 3;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, floor);
	if (copy < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	return PyLong_FromLong(copy);
}

/*
 * Return whether a regular file is open for writing. If so, a Python file object may have buffered
 * data for it.
 */
static PyObject *has_files(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	for (int fd = 3; fd < SCAN_FDS; fd++) {
		struct stat st;
		int mode = fcntl(fd, F_GETFL);

		if (mode >= 0 && (mode & O_ACCMODE) != O_RDONLY && fstat(fd, &st) == 0 &&
			S_ISREG(st.st_mode))
			Py_RETURN_TRUE;
	}
	Py_RETURN_FALSE;
}

/*
 * Fill @set with the signals to block. Left out are the signals that end the process, and the
 * signals that an instruction raises, such as SIGSEGV.
 */
static void held_signals(sigset_t *set)
{
	static const int through[] = {SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL,
		SIGABRT, SIGSYS, SIGTRAP};

	sigfillset(set);
	for (size_t i = 0; i < sizeof(through) / sizeof(through[0]); i++)
		sigdelset(set, through[i]);
}

static PyObject *block_signals(PyObject *self, PyObject *args)
{
	sigset_t set;

	(void)self;
	(void)args;
	held_signals(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	Py_RETURN_NONE;
}

/*
 * Consume the SIGINT and SIGALRM that have arrived since block_signals(). Returns True if one of
 * them was a SIGINT from init.
 */
static PyObject *take_interrupts(PyObject *self, PyObject *args)
{
	static const struct timespec now = {0};
	bool was_init = false;
	sigset_t stale;
	siginfo_t info;
	int number;

	(void)self;
	(void)args;
	sigemptyset(&stale);
	sigaddset(&stale, SIGINT);
	sigaddset(&stale, SIGALRM);
	(void)sigprocmask(SIG_BLOCK, &stale, NULL);
	while ((number = sigtimedwait(&stale, &info, &now)) > 0)
		was_init |= number == SIGINT && info.si_code == SI_USER && info.si_pid == getppid();
	return PyBool_FromLong(was_init);
}

static PyObject *unblock_signals(PyObject *self, PyObject *args)
{
	sigset_t set;

	(void)self;
	(void)args;
	held_signals(&set);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	Py_RETURN_NONE;
}

/*
 * The functions of drivers/still that this driver calls. That library is either preloaded or never
 * loaded, so it is enough to look the functions up once.
 */
enum { STILL_STEP, STILL_BRANCH, STILL_END_ };

static void (*still[STILL_END_])(void);

static void find_still(void)
{
	static const char *const names[STILL_END_] = {
		[STILL_STEP] = "retort_still_step", [STILL_BRANCH] = "retort_still_branch"};

	for (int i = 0; i < STILL_END_; i++)
		still[i] = (void (*)(void))dlsym(RTLD_DEFAULT, names[i]);
}

static PyObject *new_step(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	if (still[STILL_STEP])
		still[STILL_STEP]();
	Py_RETURN_NONE;
}

void ext_new_box(void)
{
	if (still[STILL_BRANCH])
		still[STILL_BRANCH]();
}

/*
 * What draw() has left in a generator's state: the first of the random words, and the index, which
 * follows the words in memory. is_drawn() compares this with the present state.
 */
static struct {
	unsigned char first[DRAWN_FIRST], next[DRAWN_NEXT];
} drawn;

static int parse_words(PyObject *args, struct ext_words *words)
{
	unsigned long long address;

	if (!PyArg_ParseTuple(args, "KI", &address, &words->bytes))
		return -1;
	words->at = (unsigned char *)(uintptr_t)address;
	if (words->bytes >= DRAWN_FIRST && words->bytes <= DRAW_BYTES_MAX)
		return 0;
	PyErr_Format(PyExc_ValueError, "%u bytes of words", words->bytes);
	return -1;
}

int ext_words_list(PyObject *list, struct ext_words *out, int max)
{
	Py_ssize_t n = PySequence_Size(list);

	if (n > max)
		PyErr_Format(PyExc_ValueError, "%d generators", (int)n);
	for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
		PyObject *item = PySequence_GetItem(list, i);

		if (item)
			(void)parse_words(item, &out[i]);
		Py_XDECREF(item);
	}
	return PyErr_Occurred() ? -1 : (int)n;
}

int ext_draw(const struct ext_words *words)
{
	if (getrandom(words->at, words->bytes, 0) != (ssize_t)words->bytes)
		return -1;
	memcpy(drawn.first, words->at, DRAWN_FIRST);
	memcpy(drawn.next, words->at + words->bytes, DRAWN_NEXT);
	return 0;
}

static PyObject *draw(PyObject *self, PyObject *args)
{
	struct ext_words words;

	(void)self;
	if (parse_words(args, &words) < 0)
		return NULL;
	if (ext_draw(&words) < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	Py_RETURN_NONE;
}

/*
 * Return whether the generator is unused since draw(). The index alone does not tell that:
 * after many numbers it has wrapped around and may be the same again. But then all words have
 * changed. So the first words are compared too.
 */
static PyObject *is_drawn(PyObject *self, PyObject *args)
{
	struct ext_words words;

	(void)self;
	if (parse_words(args, &words) < 0)
		return NULL;
	return PyBool_FromLong(memcmp(drawn.first, words.at, DRAWN_FIRST) == 0 &&
		memcmp(drawn.next, words.at + words.bytes, DRAWN_NEXT) == 0);
}

static PyObject *get_words(PyObject *self, PyObject *args)
{
	struct ext_words words;

	(void)self;
	if (parse_words(args, &words) < 0)
		return NULL;
	return PyBytes_FromStringAndSize((const char *)words.at, (Py_ssize_t)words.bytes);
}

static PyObject *set_words(PyObject *self, PyObject *args)
{
	unsigned long long address;
	const char *words;
	Py_ssize_t bytes;

	(void)self;
	if (!PyArg_ParseTuple(args, "Ky#:set_words", &address, &words, &bytes))
		return NULL;
	memcpy((void *)(uintptr_t)address, words, (size_t)bytes);
	Py_RETURN_NONE;
}

/*
 * Set each name in @wanted to its value if @space lacks the name.
 * This is written in C so that nothing is written to memory if no name is missing. Python code
 * would change the reference count of each name and value, and a branch would then copy their
 * pages.
 */
static PyObject *put_back(PyObject *self, PyObject *args)
{
	PyObject *space, *wanted, *name, *value;
	Py_ssize_t at = 0;

	(void)self;
	if (!PyArg_ParseTuple(args, "O!O!:put_back", &PyDict_Type, &space, &PyDict_Type, &wanted))
		return NULL;
	while (PyDict_Next(wanted, &at, &name, &value)) {
		if (PyDict_GetItemWithError(space, name))
			continue;
		if (PyErr_Occurred() || PyDict_SetItem(space, name, value) < 0)
			return NULL;
	}
	Py_RETURN_NONE;
}

/*
 * Set the items of sys.flags at the indexes in @list to 0. These items are flags with which the
 * driver was started. A program that starts another interpreter reads sys.flags to pass on its own
 * flags, and would pass on those of the driver.
 */
static PyObject *clear_flags(PyObject *self, PyObject *args)
{
	PyObject *list, *flags = PySys_GetObject("flags");

	(void)self;
	if (!PyArg_ParseTuple(args, "O:clear_flags", &list))
		return NULL;
	for (Py_ssize_t i = 0; flags && i < PyList_Size(list); i++) {
		long at = PyLong_AsLong(PyList_GetItem(list, i));
		if (at < 0)
			return NULL;
		if (at < PyTuple_Size(flags))
			PyStructSequence_SetItem(flags, at, PyLong_FromLong(0));
	}
	Py_RETURN_NONE;
}

static PyObject *gather(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	pymalloc_gather();
	Py_RETURN_NONE;
}

/*
 * Turn the present heap into huge pages. A clone then copies one page table entry instead of 512.
 * This memory is rarely written from now on. If a process does write to a huge page, only one small
 * page is copied. After the call, this process and its children get no more huge pages, unless a
 * program requests them with madvise(), as numpy does for large arrays.
 */
static PyObject *settle_pages(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	pymalloc_fill_holes();
	hugepages_collapse();
	hugepages_disable();
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{"send_frame", send_frame, METH_VARARGS, "send_frame(fd, type, payload)"},
	{"recv_frame", recv_frame, METH_VARARGS, "recv_frame(fd, max) -> (type, payload, fds)"},
	{"is_readable", is_readable, METH_VARARGS, "is_readable(fd) -> bool"},
	{"branch", branch, METH_VARARGS,
		"branch(id, flags, channel, fds, keep, words, ready) -> flags"},
	{"be_forked", be_forked, METH_NOARGS, "be_forked(): run the fork hooks of a child"},
	{"find_shared", find_shared, METH_VARARGS,
		"find_shared(own, known): list what each branch must replace"},
	{"guard", guard, METH_VARARGS,
		"guard(id, channel, guard, out, err, pairs, bytes, patient, barred)"},
	{"alone", alone, METH_VARARGS, "alone(patient) -> bool"},
	{"count_others", count_others, METH_NOARGS, "count_others() -> number of other threads"},
	{"end_thread_pools", end_thread_pools, METH_NOARGS,
		"end_thread_pools(): end idle threads of C libraries"},
	{"is_same_file", is_same_file, METH_VARARGS, "is_same_file(fd, fd) -> bool"},
	{"flush_c", flush_c, METH_NOARGS, "flush_c(): fflush(NULL)"},
	{"dup_high", dup_high, METH_VARARGS, "dup_high(fd) -> fd"},
	{"block_signals", block_signals, METH_NOARGS, "block_signals()"},
	{"take_interrupts", take_interrupts, METH_NOARGS,
		"take_interrupts() -> bool: did init, the parent, send one"},
	{"unblock_signals", unblock_signals, METH_NOARGS, "unblock_signals()"},
	{"new_step", new_step, METH_NOARGS, "new_step(): a step of a session begins"},
	{"put_back", put_back, METH_VARARGS, "put_back(space, wanted)"},
	{"clear_flags", clear_flags, METH_VARARGS,
		"clear_flags(list): set those of sys.flags to 0"},
	{"gather", gather, METH_NOARGS, "gather(): later allocations are adjacent"},
	{"settle_pages", settle_pages, METH_NOARGS, "settle_pages()"},
	{"draw", draw, METH_VARARGS, "draw(address, bytes): fill with new words"},
	{"is_drawn", is_drawn, METH_VARARGS,
		"is_drawn(address, bytes) -> bool: unchanged since draw()"},
	{"get_words", get_words, METH_VARARGS, "get_words(address, bytes) -> bytes"},
	{"set_words", set_words, METH_VARARGS, "set_words(address, words)"},
	{"has_files", has_files, METH_NOARGS, "has_files() -> bool"},
	{"widen", widen, METH_NOARGS, "widen(): raise limits to those at the start"},
	{"narrow", narrow, METH_NOARGS, "narrow(): set limits as the program has set them"},
	{"limit_files", limit_files, METH_NOARGS, "limit_files() -> int"},
	{"barred", barred, METH_NOARGS, "barred() -> str: why a branch is impossible"},
	{"protect_fds", protect_fds, METH_VARARGS, "protect_fds(state, posix)"},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_retort",
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__retort(void)
{
	find_still();
	return PyModuleDef_Init(&definition);
}
