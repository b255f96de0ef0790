/* SPDX-License-Identifier: Apache-2.0 */
#include "session/start/trust.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

const char *const trust_environment[] = {
	"SSL_CERT_FILE=" TRUST_BUNDLE,
	"SSL_CERT_DIR=" TRUST_DIR,
	"REQUESTS_CA_BUNDLE=" TRUST_BUNDLE,
	"CURL_CA_BUNDLE=" TRUST_BUNDLE,
	"PIP_CERT=" TRUST_BUNDLE,
	"GIT_SSL_CAINFO=" TRUST_BUNDLE,
	"NODE_EXTRA_CA_CERTS=" TRUST_BUNDLE,
	"AWS_CA_BUNDLE=" TRUST_BUNDLE,
	"DENO_CERT=" TRUST_BUNDLE,
	"CARGO_HTTP_CAINFO=" TRUST_BUNDLE,
	"npm_config_cafile=" TRUST_BUNDLE,
	NULL,
};

static bool is_in_memory(const char *dir)
{
	struct statfs fs;
	return statfs(dir, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

static bool make_in(const char *place, char dir[PATH_MAX])
{
	int n = snprintf(dir, PATH_MAX, "%s/retort-certs-XXXXXX", place);
	return n < PATH_MAX && mkdtemp(dir) && chmod(dir, 0755) == 0;
}

/* Make a directory, in memory if there is such a place: its many files take 2 ms there, and 200 ms
 * on some disks. */
static int make_dir(char dir[PATH_MAX], struct err *err)
{
	const char *const places[] = {getenv("XDG_RUNTIME_DIR"), "/run", "/dev/shm", "/tmp"};
	for (int needs_memory = 1; needs_memory >= 0; needs_memory--)
		for (size_t i = 0; i < ARRAY_LEN(places); i++)
			if (places[i] && places[i][0] == '/' &&
				(!needs_memory || is_in_memory(places[i])) &&
				make_in(places[i], dir))
				return 0;
	dir[0] = '\0';
	return err_sys(err, ERR_IO, errno, "make a directory of certificates");
}

int trust_make(struct trust *t, struct err *err)
{
	if (t->is_made)
		return 0;
	int r = authority_make(&t->authority, err);
	if (r == 0 && !t->dir[0])
		r = make_dir(t->dir, err);
	if (r == 0)
		r = authority_publish(&t->authority, t->dir, &authority_host, err);
	t->is_made = r == 0;
	return r;
}

void trust_done(struct trust *t)
{
	DIR *dir = t->dir[0] ? opendir(t->dir) : NULL;
	for (const struct dirent *e; dir && (e = readdir(dir));)
		(void)unlinkat(dirfd(dir), e->d_name, 0);
	if (dir) {
		(void)unlinkat(dirfd(dir), AUTHORITY_JAVA, 0);
		(void)unlinkat(dirfd(dir), AUTHORITY_JAVA_DIR, AT_REMOVEDIR);
		(void)closedir(dir);
	}
	if (t->dir[0])
		(void)rmdir(t->dir);
	explicit_bzero(t, sizeof *t);
}
