/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/fd.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void fuzz_broken(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, what);
	abort();
}

char *fuzz_text(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);
	MUST(text != NULL);
	if (bytes > 0)
		memcpy(text, data, bytes);
	text[bytes] = '\0';
	return text;
}

static char dir[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_dir(void)
{
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_dir(void)
{
	static const char *const places[] = {"/dev/shm", "/tmp"};
	for (size_t i = 0; !dir[0] && i < ARRAY_LEN(places); i++) {
		snprintf(dir, sizeof dir, "%s/retort-fuzz-XXXXXX", places[i]);
		if (mkdtemp(dir))
			(void)atexit(remove_dir);
		else
			dir[0] = '\0';
	}
	MUST(dir[0]);
	return dir;
}

void fuzz_put(const char *path, const uint8_t *data, size_t bytes)
{
	char full[256];
	snprintf(full, sizeof full, "%s/%s", fuzz_dir(), path);
	cleanup_fd int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	MUST(fd >= 0);
	MUST(fd_write_all(fd, data, bytes) == 0);
}

void fuzz_mkdir(const char *path)
{
	char full[256];
	snprintf(full, sizeof full, "%s/%s", fuzz_dir(), path);
	(void)mkdir(full, 0755);
}

size_t fuzz_part(const uint8_t **data, size_t *bytes, const uint8_t **part)
{
	const uint8_t *end = *bytes > 0 ? memchr(*data, 0, *bytes) : NULL;
	size_t n = end ? (size_t)(end - *data) : *bytes;
	*part = *data;
	*data += n + (end != NULL);
	*bytes -= n + (end != NULL);
	return n;
}
