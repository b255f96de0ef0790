/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

int library_load(const struct library *library, void *table, struct err *err)
{
	void *handle = NULL;
	for (size_t i = 0; library->names[i] && !handle; i++)
		handle = dlopen(library->names[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		(void)err_set(err, ERR_NOT_FOUND, "%s is not on this host", library->names[0]);
		return err_hint(err, "%s", library->hint);
	}
	for (size_t i = 0; i < library->n_symbols; i++)
		if (!dlsym(handle, library->symbols[i].name)) {
			(void)err_set(err, ERR_NOT_FOUND, "%s has no %s", library->names[0],
				library->symbols[i].name);
			(void)dlclose(handle);
			return err_hint(err, "it is too old: %s", library->hint);
		}
	for (size_t i = 0; i < library->n_symbols; i++) {
		/* Copy the bytes of the pointer: ISO C cannot cast dlsym()'s void * to a
		 * function pointer. */
		void *found = dlsym(handle, library->symbols[i].name);
		memcpy((char *)table + library->symbols[i].offset, &found, sizeof found);
	}
	return 0;
}
