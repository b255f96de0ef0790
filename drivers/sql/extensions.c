/*
 * SQLite can load extensions by dlopen(), which a static program cannot use. The driver denies
 * load_extension() anyway (access.h). The linker gives SQLite this function in the place of
 * libc's, and so does not warn of it (--wrap).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>

void *__wrap_dlopen(const char *path, int flags);

void *__wrap_dlopen(const char *path, int flags)
{
	(void)path;
	(void)flags;
	return NULL;
}
