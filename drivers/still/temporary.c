/*
 * Replacements for mkstemp(), mkdtemp() and the like. libc takes the random letters of the names
 * from the kernel without calling getrandom(), so replacing that would not be enough.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "still.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MARK_CHARS = 6, TRIES_MAX = 10000 };

/* Return the address of the six X in @name, or NULL if they are missing. */
static char *find_mark(char *name, int suffix_chars)
{
	size_t chars = strlen(name);
	if (suffix_chars < 0 || chars < MARK_CHARS + (size_t)suffix_chars)
		return NULL;
	char *mark = name + chars - MARK_CHARS - (size_t)suffix_chars;
	return memcmp(mark, "XXXXXX", MARK_CHARS) == 0 ? mark : NULL;
}

static void fill_mark(char *mark)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	unsigned char bytes[MARK_CHARS];
	still_fill(bytes, sizeof bytes);
	for (size_t i = 0; i < sizeof bytes; i++)
		mark[i] = letters[bytes[i] % (sizeof letters - 1)];
}

/*
 * Create the file or directory @name with random letters in place of the six X. Returns: the file's
 * descriptor, 0 for a directory, or -1 with errno.
 */
static int make(char *name, int suffix_chars, bool is_directory, int flags)
{
	char *mark = find_mark(name, suffix_chars);
	int saved = errno, r = -1;
	errno = mark ? EEXIST : EINVAL;
	for (int i = 0; r < 0 && errno == EEXIST && i < TRIES_MAX; i++) {
		fill_mark(mark);
		r = is_directory
			? mkdir(name, 0700)
			: open(name, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
	}
	if (r >= 0)
		errno = saved;
	return r;
}

STAND_IN char *mkdtemp(char *name)
{
	if (!still_has_seed())
		return REAL(mkdtemp)(name);
	return make(name, 0, true, 0) < 0 ? NULL : name;
}

STAND_IN int mkostemps(char *name, int suffix_chars, int flags)
{
	if (!still_has_seed())
		return REAL(mkostemps)(name, suffix_chars, flags);
	return make(name, suffix_chars, false, flags);
}

STAND_IN int mkostemps64(char *name, int suffix_chars, int flags)
{
	return mkostemps(name, suffix_chars, flags);
}

STAND_IN int mkstemps(char *name, int suffix_chars)
{
	return mkostemps(name, suffix_chars, 0);
}

STAND_IN int mkstemps64(char *name, int suffix_chars)
{
	return mkostemps(name, suffix_chars, 0);
}

STAND_IN int mkostemp(char *name, int flags)
{
	return mkostemps(name, 0, flags);
}

STAND_IN int mkostemp64(char *name, int flags)
{
	return mkostemps(name, 0, flags);
}

STAND_IN int mkstemp(char *name)
{
	return mkostemps(name, 0, 0);
}

STAND_IN int mkstemp64(char *name)
{
	return mkostemps(name, 0, 0);
}
