/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/build/build_box.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/file.h"
#include "layer/layer_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWNER_CHARS = 16, SOURCES_BYTES = 1 << 20 };
#define COMMAND_DIR "command"

/* What apt needs of the host's configuration. Passwords are in other files (auth.conf, apt.conf),
 * or in addresses of the first two, see build_check_sources(). */
static const char *const host_files[BUILD_HOST_FILES] = {"/etc/apt/sources.list",
	"/etc/apt/sources.list.d", "/etc/apt/trusted.gpg", "/etc/apt/trusted.gpg.d",
	"/etc/apt/keyrings", "/etc/apt/preferences", "/etc/apt/preferences.d",
	"/var/lib/dpkg/status"};

void build_cache_open(struct build_cache *cache, const char *state, const char *owner)
{
	char digest[DIGEST_BYTES];
	*cache = (struct build_cache){.lock_fd = -1};
	digest_text(digest, owner, strlen(owner));
	int n = snprintf(cache->path, sizeof cache->path, "%s/packages/%.*s", state,
		owner[0] ? OWNER_CHARS : 1, owner[0] ? digest : "-");
	if (n < 0 || (size_t)n >= sizeof cache->path || file_make_dirs(cache->path, 0700, 0700) < 0)
		return;
	(void)chmod(cache->path, 0700); /* the box of an earlier build may have changed it */
	cleanup_fd int fd = open(cache->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		cache->lock_fd = take_fd(fd);
}

int build_cache_check(const struct build_cache *cache, uint64_t layer_bytes, struct err *err)
{
	struct layer_sum sum = {.bytes = 0};
	uint64_t max_bytes = BUILD_CACHE_BYTES + layer_bytes;
	int r = cache->lock_fd < 0 ? 0 : layer_measure(cache->lock_fd, max_bytes, &sum, err);
	if (r < 0 && err->code == ERR_LIMIT)
		return err_fail(err, ERR_LIMIT, "allow more: --disk",
			"what the package managers have in their cache is larger than %llu MiB",
			(unsigned long long)(max_bytes >> 20));
	return r;
}

void build_cache_close(struct build_cache *cache)
{
	struct layer_sum sum = {.bytes = 0};
	struct err err;
	if (cache->lock_fd >= 0 && layer_measure(cache->lock_fd, BUILD_CACHE_BYTES, &sum, &err) < 0)
		(void)layer_clear(cache->lock_fd);
	fd_close(&cache->lock_fd);
}

static int make_dir(int at, const char *name, struct err *err)
{
	if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
		return err_sys(err, file_code(errno), errno, "make a directory for the build");
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(err, file_code(errno), errno, "open a directory of the build") : fd;
}

int build_dirs_make(struct build_dirs *dirs, const struct layer_build *place, struct err *err)
{
	*dirs = BUILD_DIRS_INIT;
	if ((dirs->in_fd = make_dir(place->dir_fd, "in", err)) < 0)
		return dirs->in_fd;
	if ((dirs->out_fd = make_dir(place->dir_fd, "out", err)) < 0)
		return dirs->out_fd;
	if ((dirs->command_fd = make_dir(place->dir_fd, COMMAND_DIR, err)) < 0)
		return dirs->command_fd;
	return 0;
}

void build_dirs_close(struct build_dirs *dirs)
{
	fd_close(&dirs->in_fd);
	fd_close(&dirs->out_fd);
	fd_close(&dirs->command_fd);
}

int build_dirs_join(const struct layer_build *place, const char *name, struct err *err)
{
	cleanup_fd int opt_fd = make_dir(place->tree_fd, "opt", err);
	if (opt_fd < 0)
		return opt_fd;
	if (renameat(place->dir_fd, COMMAND_DIR, opt_fd, name) == 0)
		return 0;
	return err_sys(err, ERR_BUILD, errno, "put what the command has made into the template");
}

/* Return whether an address in @text has a user name or a password. */
static bool has_password(const char *text)
{
	for (const char *at = text; (at = strstr(at, "://"));) {
		at += strlen("://");
		if (memchr(at, '@', strcspn(at, "/ \t\r\n")))
			return true;
	}
	return false;
}

static int check_source(const char *path, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(SOURCES_BYTES);
	int r = file_read(&text, path);
	if (r == -E2BIG || (r == 0 && has_password(buf_str(&text))))
		return err_fail(err, ERR_USAGE,
			"name the repository without it, and let the gateway add the password: --net",
			"%.150s: an address has a user name or a password, which a box must not "
			"have",
			path);
	return 0; /* a box cannot read it either */
}

int build_check_sources(struct err *err)
{
	int r = check_source(host_files[0], err);
	DIR *dir = opendir(host_files[1]);
	const struct dirent *entry;
	while (dir && r == 0 && (entry = readdir(dir))) {
		char path[PATH_MAX];
		snprintf(path, sizeof path, "%s/%s", host_files[1], entry->d_name);
		r = check_source(path, err);
	}
	if (dir)
		(void)closedir(dir);
	return r;
}

static void add(struct build_volumes *v, const char *src, const char *dst, bool is_writable)
{
	v->installing[v->n_installing++] =
		(struct volume){.src = src, .dst = dst, .is_writable = is_writable};
}

void build_volumes_of(struct build_volumes *v, const struct engine *engine,
	const struct layer_build *place, const struct build_cache *cache,
	const struct build_what *what)
{
	v->n_installing = 0;
	snprintf(v->in, sizeof v->in, "%s/in", place->path);
	snprintf(v->out, sizeof v->out, "%s/out", place->path);
	snprintf(v->tree, sizeof v->tree, "%s/tree", place->path);
	snprintf(v->recipe, sizeof v->recipe, "%s/packages", engine->install.drivers_dir);
	snprintf(v->command, sizeof v->command, "%s/" COMMAND_DIR, place->path);
	snprintf(v->command_dst, sizeof v->command_dst, "/opt/%s", what->name);
	add(v, v->in, "/build/in", false);
	add(v, v->out, "/build/out", true);
	add(v, v->tree, "/build/layer", true);
	add(v, v->recipe, BUILD_RECIPE, false);
	if (cache->lock_fd >= 0)
		add(v, cache->path, "/build/cache", true);
	for (size_t i = 0; what->has_apt && i < ARRAY_LEN(host_files); i++)
		if (access(host_files[i], R_OK) == 0)
			add(v, host_files[i], host_files[i], false);
	v->running[0] =
		(struct volume){.src = v->command, .dst = v->command_dst, .is_writable = true};
	v->n_running = 1;
}
