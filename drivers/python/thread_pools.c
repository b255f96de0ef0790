/*
 * End the threads that C libraries keep idle for their next call: OpenBLAS and OpenMP (libgomp,
 * libomp, libiomp5). Each of these libraries has a function for programs that are about to fork. It
 * ends the idle threads, and the library starts new ones at its next call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ext.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

/* PAUSE_HARD is omp_pause_hard. Source: OpenMP 5.0, 3.2.44 */
enum { SEEN_MAX = 16, PAUSE_HARD = 2 };

typedef int end_fn(int);

static const struct {
	const char *name;
	int argument; /* argument to pass; a function without parameters ignores it */
} ends[] = {
	{"omp_pause_resource_all", PAUSE_HARD},
	{"blas_thread_shutdown_", 0},
};

static bool is_new(end_fn *seen[SEEN_MAX], end_fn *found)
{
	for (int i = 0; i < SEEN_MAX; i++) {
		if (seen[i] == found)
			return false;
		if (!seen[i]) {
			seen[i] = found;
			return true;
		}
	}
	return false;
}

/*
 * Call the functions of @ends that the loaded libraries have, each function once. dlsym() also
 * searches the dependencies of a library, so it may find the same function several times.
 */
PyObject *end_thread_pools(PyObject *self, PyObject *args)
{
	end_fn *seen[SEEN_MAX] = {NULL};
	struct link_map *map = NULL; /* of the program, which is first in the list */
	void *program = dlopen(NULL, RTLD_LAZY);

	(void)self;
	(void)args;
	if (program && dlinfo(program, RTLD_DI_LINKMAP, &map) < 0)
		map = NULL;
	for (; map; map = map->l_next) {
		void *library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
		if (!library)
			continue;
		for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
			end_fn *found = NULL;
			*(void **)&found = dlsym(library, ends[i].name);
			if (found && is_new(seen, found))
				(void)found(ends[i].argument);
		}
		(void)dlclose(library);
	}
	if (program)
		(void)dlclose(program);
	Py_RETURN_NONE;
}
