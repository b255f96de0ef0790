/*
 * Replace os.close() and os.closerange() by functions that skip the driver's own descriptors. A
 * program that becomes a daemon closes all descriptors, and would otherwise close the driver's
 * channel. In a child that the program has forked, the functions close everything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "protect_fds.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

enum { OWN_MAX = 3 };

static const char *const own_names[OWN_MAX] = {"channel", "out", "err"};
static PyObject *state, *genuine_close, *genuine_closerange;

static long number_of(const char *name)
{
	PyObject *value = PyObject_GetAttrString(state, name);
	long n = value ? PyLong_AsLong(value) : -1;

	Py_XDECREF(value);
	PyErr_Clear();
	return n;
}

/*
 * Store the driver's own descriptors in @out, in ascending order. Returns: their number; 0 if this
 * process is not the driver but a child of it.
 */
static int find_own(long out[OWN_MAX])
{
	int n = 0;

	if (number_of("home") != (long)getpid())
		return 0;
	for (int i = 0; i < OWN_MAX; i++) {
		long fd = number_of(own_names[i]);
		int at = n++;

		for (; at > 0 && out[at - 1] > fd; at--)
			out[at] = out[at - 1];
		out[at] = fd;
	}
	return n;
}

static PyObject *kept_close(PyObject *self, PyObject *args, PyObject *names)
{
	PyObject *fd = names && PyDict_Size(names) == 1 ? PyDict_GetItemString(names, "fd") : NULL;
	long own[OWN_MAX];

	(void)self;
	if (!fd && PyTuple_Size(args) == 1)
		fd = PyTuple_GetItem(args, 0);
	if (fd && PyLong_Check(fd)) {
		long number = PyLong_AsLong(fd);
		int n = find_own(own);

		PyErr_Clear();
		for (int i = 0; i < n; i++)
			if (own[i] == number && number >= 0) {
				errno = EBADF;
				return PyErr_SetFromErrno(PyExc_OSError);
			}
	}
	PyErr_Clear();
	return PyObject_Call(genuine_close, args, names);
}

static int close_between(long low, long high)
{
	PyObject *done =
		low < high ? PyObject_CallFunction(genuine_closerange, "ll", low, high) : NULL;

	Py_XDECREF(done);
	return low < high && !done ? -1 : 0;
}

static PyObject *kept_closerange(PyObject *self, PyObject *args)
{
	long low, high, own[OWN_MAX];
	int n;

	(void)self;
	if (!PyArg_ParseTuple(args, "ll", &low, &high)) {
		PyErr_Clear();
		/* The original function raises the right exception. */
		return PyObject_CallObject(genuine_closerange, args);
	}
	n = find_own(own);
	for (int i = 0; i < n; i++) {
		if (own[i] < low || own[i] >= high)
			continue;
		if (close_between(low, own[i]) < 0)
			return NULL;
		low = own[i] + 1;
	}
	if (close_between(low, high) < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyMethodDef close_def = {"close", (PyCFunction)(void (*)(void))kept_close,
	METH_VARARGS | METH_KEYWORDS, "close($module, /, fd)\n--\n\nClose a file descriptor."};
static PyMethodDef closerange_def = {"closerange", kept_closerange, METH_VARARGS,
	"closerange($module, fd_low, fd_high, /)\n--\n\n"
	"Closes all file descriptors in [fd_low, fd_high), ignoring errors."};

static PyObject *replace(PyObject *posix, PyMethodDef *def, PyObject **genuine)
{
	PyObject *name = PyObject_GetAttrString(posix, "__name__");
	PyObject *made = NULL;

	*genuine = PyObject_GetAttrString(posix, def->ml_name);
	made = name && *genuine ? PyCFunction_NewEx(def, posix, name) : NULL;
	if (made && PyObject_SetAttrString(posix, def->ml_name, made) < 0)
		Py_CLEAR(made);
	Py_XDECREF(name);
	return made;
}

PyObject *protect_fds(PyObject *self, PyObject *args)
{
	PyObject *posix, *made;

	(void)self;
	if (!PyArg_ParseTuple(args, "OO:protect_fds", &state, &posix))
		return NULL;
	Py_INCREF(state);
	made = replace(posix, &close_def, &genuine_close);
	Py_XDECREF(made);
	made = made ? replace(posix, &closerange_def, &genuine_closerange) : NULL;
	Py_XDECREF(made);
	if (!made)
		return NULL;
	Py_RETURN_NONE;
}
