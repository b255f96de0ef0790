/* The Python driver's native part: frames on a stream socket, and what Python cannot do itself.
 * Stable ABI, no library but libc. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HEAD_BYTES = 5, FRAME_MAX_BYTES = 32 << 20, HIGH_FD = 500, SCAN_FDS = 256 };

static uint32_t load_u32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_u32(unsigned char *p, uint32_t v)
{
	p[0] = v >> 24;
	p[1] = v >> 16;
	p[2] = v >> 8;
	p[3] = v;
}

/*
 * Write a frame whole. A signal must not end it half way: what follows on the channel would then
 * be read as payload. So no Python signal handler runs in here.
 */
static int write_frame(int fd, unsigned char *head, const char *payload, size_t bytes)
{
	struct iovec parts[2] = {{head, HEAD_BYTES}, {(void *)payload, bytes}};
	struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};

	while (parts[0].iov_len + parts[1].iov_len > 0) {
		ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (int i = 0; i < 2; i++) {
			size_t part = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;

			parts[i].iov_base = (char *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			n -= (ssize_t)part;
		}
	}
	return 0;
}

static PyObject *send_frame(PyObject *self, PyObject *args)
{
	unsigned char head[HEAD_BYTES];
	const char *payload;
	Py_ssize_t bytes;
	int fd, type, r;

	(void)self;
	if (!PyArg_ParseTuple(args, "iiy#:send_frame", &fd, &type, &payload, &bytes))
		return NULL;
	if (bytes >= FRAME_MAX_BYTES) {
		PyErr_SetString(PyExc_ValueError, "frame too long");
		return NULL;
	}
	store_u32(head, (uint32_t)bytes + 1);
	head[4] = (unsigned char)type;
	Py_BEGIN_ALLOW_THREADS r = write_frame(fd, head, payload, (size_t)bytes);
	Py_END_ALLOW_THREADS if (r < 0)
	{
		errno = -r;
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	Py_RETURN_NONE;
}

/*
 * Read @bytes whole. Python's signal handlers run only while nothing has been read (@may_raise),
 * so that an exception from one never loses part of a frame.
 * Returns: 1 read, 0 end of stream, -1 with a Python exception set.
 */
static int read_whole(int fd, char *out, size_t bytes, int may_raise)
{
	size_t have = 0;

	while (have < bytes) {
		ssize_t n;
		int err;

		Py_BEGIN_ALLOW_THREADS n = read(fd, out + have, bytes - have);
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
		if (may_raise && have == 0 && PyErr_CheckSignals() < 0)
			return -1;
	}
	return 1;
}

static PyObject *recv_frame(PyObject *self, PyObject *args)
{
	unsigned char head[HEAD_BYTES];
	unsigned int max;
	uint32_t bytes;
	PyObject *payload;
	int fd, r;

	(void)self;
	if (!PyArg_ParseTuple(args, "iI:recv_frame", &fd, &max))
		return NULL;
	r = read_whole(fd, (char *)head, sizeof(head), 1);
	if (r < 0)
		return NULL;
	if (r == 0)
		Py_RETURN_NONE;
	bytes = load_u32(head);
	if (bytes < 1 || bytes > max) {
		PyErr_Format(PyExc_ValueError, "frame of %u bytes", (unsigned int)bytes);
		return NULL;
	}
	payload = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes - 1);
	if (!payload)
		return NULL;
	r = read_whole(fd, PyBytes_AsString(payload), bytes - 1, 0);
	if (r <= 0) {
		Py_DECREF(payload);
		if (r < 0)
			return NULL;
		Py_RETURN_NONE;
	}
	return Py_BuildValue("iN", (int)head[4], payload);
}

static PyObject *flush_c(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	Py_BEGIN_ALLOW_THREADS fflush(NULL);
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

/* Duplicate a descriptor to where user code is unlikely to look, close-on-exec. */
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

/* Is a regular file open for writing? Then buffers of file objects may hold what it lacks. */
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

/* Signals that mean the end of the process, or that an instruction raised, are never held back. */
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
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	Py_RETURN_NONE;
}

/* Undo block_signals(); interrupts and alarms that came meanwhile were meant for nobody. */
static PyObject *unblock_signals(PyObject *self, PyObject *args)
{
	static const struct timespec now = {0};
	sigset_t set, stale;

	(void)self;
	(void)args;
	held_signals(&set);
	sigemptyset(&stale);
	sigaddset(&stale, SIGINT);
	sigaddset(&stale, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &stale, NULL);
	while (sigtimedwait(&stale, NULL, &now) > 0)
		continue;
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{"send_frame", send_frame, METH_VARARGS, "send_frame(fd, type, payload)"},
	{"recv_frame", recv_frame, METH_VARARGS, "recv_frame(fd, max) -> (type, payload) or None"},
	{"flush_c", flush_c, METH_NOARGS, "flush_c(): fflush(NULL)"},
	{"dup_high", dup_high, METH_VARARGS, "dup_high(fd) -> fd"},
	{"block_signals", block_signals, METH_NOARGS, "block_signals()"},
	{"unblock_signals", unblock_signals, METH_NOARGS, "unblock_signals()"},
	{"has_files", has_files, METH_NOARGS, "has_files() -> bool"},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_retort",
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__retort(void)
{
	return PyModuleDef_Init(&definition);
}
