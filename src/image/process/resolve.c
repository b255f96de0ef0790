/*
 * Theory of operation. The process has no openat2(2), which could do this in one call, because no
 * filter can see its flags (lock.h). So a path is followed name by name, and each name is opened
 * below the directory before it, without following a link. A link's text is put before what is left
 * of the path. ".." goes up only as far as names have led down, so it never leaves the root; an
 * absolute link begins at the root again. Nobody else changes the tree meanwhile.
 *
 * The length of what is left and the number of links of one path are limited. All paths together
 * share a number of steps: otherwise links of links would make each entry of a small archive take
 * as long as a thousand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/process/resolve.h"

#include "base/fd.h"
#include "layer/layer_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40, DIR_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

struct way {
	struct resolver *r;
	int at;
	unsigned depth, links; /* names below the root; links so far */
	/* What is left. The last `own` bytes are of the path itself, those before of links. */
	char text[PATH_MAX];
	size_t own;
};

static int go(struct way *w, int fd)
{
	if (fd < 0)
		return -errno;
	fd_close(&w->at);
	w->at = fd;
	return 0;
}

static int go_to_root(struct way *w)
{
	w->depth = 0;
	return go(w, openat(w->r->root, ".", DIR_FLAGS));
}

static int go_down(struct way *w, int fd)
{
	w->depth++;
	return go(w, fd);
}

static int go_up(struct way *w)
{
	if (w->depth == 0)
		return 0;
	w->depth--;
	return go(w, openat(w->at, "..", DIR_FLAGS));
}

/* Put the text of the link @name before what is left. Returns: 0 or negative errno; -ENOTDIR: it is
 * no link. */
static int follow(struct way *w, const char *name)
{
	char target[PATH_MAX];
	size_t left = strlen(w->text);
	ssize_t n = readlinkat(w->at, name, target, sizeof target);
	if (n < 0)
		return errno == EINVAL ? -ENOTDIR : -errno;
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	size_t bytes = (size_t)n;
	if (bytes + 1 + left >= sizeof w->text)
		return -ENAMETOOLONG;
	memmove(w->text + bytes + 1, w->text, left + 1);
	memcpy(w->text, target, bytes);
	w->text[bytes] = '/';
	return target[0] == '/' ? go_to_root(w) : 0;
}

/* Go to what @name is. */
static int enter(struct way *w, const char *name, bool is_own)
{
	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0)
		return go_up(w);
	int fd = openat(w->at, name, DIR_FLAGS);
	int r = fd < 0 ? -errno : 0;
	if (r == -ENOTDIR)
		r = follow(w, name);
	else if (r == 0)
		return go_down(w, fd);
	if ((r != -ENOENT && r != -ENOTDIR) || !w->r->make)
		return r;
	if (!is_own)
		return -ENOTDIR;
	if (w->depth >= LAYER_DEPTH_MAX - 1)
		return -ENAMETOOLONG;
	r = w->r->make(w->r->arg, w->at, name);
	return r < 0 ? r : go_down(w, openat(w->at, name, DIR_FLAGS));
}

int resolve_dir(struct resolver *r, const char *path)
{
	struct way w = {.r = r, .at = -1, .own = strlen(path)};
	char name[NAME_MAX + 1];
	if (w.own >= sizeof w.text)
		return -ENAMETOOLONG;
	memcpy(w.text, path, w.own + 1);
	int bad = go_to_root(&w);
	while (bad == 0) {
		size_t begin = strspn(w.text, "/"), bytes = strcspn(w.text + begin, "/");
		size_t left = strlen(w.text) - begin;
		if (bytes == 0)
			break;
		bool is_own = left <= w.own, is_fit = bytes < sizeof name;
		snprintf(name, sizeof name, "%.*s", (int)bytes, w.text + begin);
		memmove(w.text, w.text + begin + bytes, left - bytes + 1);
		w.own = MIN(w.own, left - bytes);
		if (r->steps > 0 && is_fit) {
			r->steps--;
			bad = enter(&w, name, is_own);
		} else {
			bad = is_fit ? -E2BIG : -ENAMETOOLONG;
		}
	}
	if (bad == 0 && w.depth >= LAYER_DEPTH_MAX)
		bad = -ENAMETOOLONG;
	if (bad < 0)
		fd_close(&w.at);
	return bad < 0 ? bad : w.at;
}
