/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include "base/fd.h"
#include "t.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree tree_new(void)
{
	struct tree t = {.root = "/tmp/retort-unit-XXXXXX"};
	CHECK(mkdtemp(t.root) != NULL);
	t.fd = open(t.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(t.fd >= 0);
	return t;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void tree_done(struct tree *t)
{
	fd_close(&t->fd);
	(void)nftw(t->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *tree_path(const struct tree *t, const char *path)
{
	static char texts[4][8192];
	static unsigned n;
	char *text = texts[n++ % ARRAY_LEN(texts)];
	snprintf(text, sizeof texts[0], "%s%s", t->root, path);
	return text;
}

void tree_put_bytes(struct tree *t, const char *path, const char *text, size_t bytes)
{
	char full[8192];
	snprintf(full, sizeof full, "%s%s", t->root, path);
	for (char *at = full + strlen(t->root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(full, 0755);
		*at = '/';
	}
	cleanup_fd int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	CHECK_INT(fd_write_all(fd, text, bytes), 0);
}

void tree_put(struct tree *t, const char *path, const char *text)
{
	tree_put_bytes(t, path, text, strlen(text));
}

bool tree_has(const struct tree *t, const char *path)
{
	return access(tree_path(t, path), F_OK) == 0;
}

const char *tree_get(const struct tree *t, const char *path)
{
	static char text[4096];
	cleanup_fd int fd = open(tree_path(t, path), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n < 0)
		return NULL;
	text[n] = '\0';
	return text;
}

void tree_no_writes(void (*run)(void *arg), void *arg)
{
	struct rlimit old, none;
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	(void)fflush(stdout);
	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &none), 0);
	run(arg);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
}
