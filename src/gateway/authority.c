/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/authority.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/id.h"
#include "gateway/certificate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the authority ---- */

/* AUTHORITY_FILE follows from the subject. */
static const char subject[] = "retort sandbox authority";

enum { DAYS = 10 * 365 };

static int sign(const struct gnutls *g, gnutls_x509_crt_t crt, gnutls_x509_privkey_t key)
{
	const unsigned usage = GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN;
	int r = g->x509_crt_set_basic_constraints(crt, 1, 0);
	if (r >= 0)
		r = g->x509_crt_set_key_usage(crt, usage);
	return r < 0 ? r : g->x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
}

/* @out is zeroed, and the functions do not write its last byte. */
static int write_pem(const struct gnutls *g, gnutls_x509_crt_t crt, gnutls_x509_privkey_t key,
	struct authority *out)
{
	size_t bytes = sizeof out->certificate - 1;
	int r = g->x509_crt_export(crt, GNUTLS_X509_FMT_PEM, out->certificate, &bytes);
	bytes = sizeof out->key - 1;
	return r < 0 ? r : g->x509_privkey_export(key, GNUTLS_X509_FMT_PEM, out->key, &bytes);
}

static int make(const struct gnutls *g, struct authority *out)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	int r = certificate_new_key(g, &key);
	if (r < 0)
		return r;
	r = certificate_new(g, &crt, key, subject, time(NULL), DAYS);
	if (r >= 0) {
		r = sign(g, crt, key);
		if (r >= 0)
			r = write_pem(g, crt, key, out);
		g->x509_crt_deinit(crt);
	}
	g->x509_privkey_deinit(key);
	return r;
}

int authority_make(struct authority *out, struct err *err)
{
	struct gnutls g;
	struct authority made = {0};
	int r = gnutls_load(&g, err);
	if (r < 0)
		return r;
	r = make(&g, &made);
	if (r >= 0)
		*out = made;
	explicit_bzero(&made, sizeof made);
	return r < 0 ? err_set(err, ERR_INTERNAL, "no authority for boxes: %s", g.strerror(r)) : 0;
}

/* ---- the directory ---- */

enum {
	ENTRIES_MAX = 4096,
	FILE_BYTES = 4 << 20,
	ALL_BYTES = 16 << 20,
	ASIDE_BYTES = 32,
	MODE_FILE = 0644,
	MODE_DIR = 0755
};

#define JAVA_DIR "java"
#define JAVA	 JAVA_DIR "/cacerts"

/* Debian, Ubuntu, Arch, Alpine; Fedora; SUSE; older Alpine. */
static const char *const bundles[] = {"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", NULL};

const struct authority_host authority_host = {"/etc/ssl/certs", bundles};

struct publication {
	int dir;
	const char *certs;
	size_t left_bytes;
	struct buf file;
};

static bool has_private_key(const struct buf *b)
{
	static const char mark[] = "PRIVATE KEY-----";
	return b->bytes > 0 && memmem(b->data, b->bytes, mark, sizeof mark - 1);
}

/* Read a file that everybody may see. Returns: 0, or negative errno. */
static int read_public(struct buf *out, const char *path, size_t max_bytes)
{
	struct stat st;
	cleanup_fd int fd = fd_open_regular(path);
	buf_clear(out);
	out->max_bytes = max_bytes;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!(st.st_mode & S_IROTH))
		return -EACCES;
	if (st.st_size > (off_t)max_bytes)
		return -E2BIG;
	int r = file_read_fd(out, fd);
	return r == 0 && has_private_key(out) ? -EACCES : r;
}

/* Give the link @name its @target in one step. Returns: 0, or negative errno. */
static int put_link(int dir, const char *name, const char *target)
{
	char aside[ASIDE_BYTES], old[PATH_MAX];
	if (symlinkat(target, dir, name) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	ssize_t n = readlinkat(dir, name, old, sizeof old);
	if (n == (ssize_t)strlen(target) && memcmp(old, target, (size_t)n) == 0)
		return 0;
	id_make(aside, sizeof aside, ".retort-");
	if (symlinkat(target, dir, aside) < 0)
		return -errno;
	int r = renameat(dir, aside, dir, name) < 0 ? -errno : 0;
	if (r < 0)
		unlinkat(dir, aside, 0);
	return r;
}

/* Return @path as the name of a file in the host's directory, or NULL if it is none. */
static const char *name_inside(const struct publication *p, const char *path)
{
	size_t n = strlen(p->certs);
	if (strncmp(path, p->certs, n) == 0 && path[n] == '/')
		path += n + 1;
	return strchr(path, '/') || path[0] == '.' ? NULL : path;
}

/* Return what the link to @target leads to in a box, or NULL if its content is to be copied. */
static const char *shown_target(const struct publication *p, const char *target)
{
	const char *inside = name_inside(p, target);
	if (inside)
		return inside;
	return strncmp(target, "/usr/", 5) == 0 && !strstr(target, "/..") ? target : NULL;
}

/* Returns: 0, also for what is left out; or negative errno if @dir could not be written. */
static int put_entry(struct publication *p, const char *name)
{
	char path[PATH_MAX], target[PATH_MAX];
	if (snprintf(path, sizeof path, "%s/%s", p->certs, name) >= (int)sizeof path)
		return 0;
	ssize_t n = readlink(path, target, sizeof target - 1);
	target[MAX(n, 0)] = '\0';
	const char *shown = n > 0 ? shown_target(p, target) : NULL;
	if (shown)
		return put_link(p->dir, name, shown);
	if (read_public(&p->file, path, MIN(p->left_bytes, (size_t)FILE_BYTES)) < 0)
		return 0;
	p->left_bytes -= p->file.bytes;
	return file_put(p->dir, name, buf_str(&p->file), p->file.bytes, MODE_FILE, 0);
}

/* Java has a file of its own, in a form that we cannot extend: its programs go on as they are, and
 * do not trust the gateway. */
static int put_java(struct publication *p, struct err *err)
{
	char path[PATH_MAX];
	int r = snprintf(path, sizeof path, "%s/" JAVA, p->certs);
	if (r >= (int)sizeof path || access(path, R_OK) < 0)
		return 0;
	r = mkdirat(p->dir, JAVA_DIR, MODE_DIR) < 0 && errno != EEXIST ? -errno
								       : put_entry(p, JAVA);
	return r < 0 ? err_sys(err, file_code(-r), -r, "certificates for boxes: " JAVA) : 0;
}

static int put_entries(struct publication *p, struct err *err)
{
	const struct dirent *entry;
	int r = 0;
	DIR *list = opendir(p->certs);
	for (int n = 0; list && r == 0 && n < ENTRIES_MAX && (entry = readdir(list));) {
		if (entry->d_name[0] == '.' || entry->d_type == DT_DIR ||
			strcmp(entry->d_name, AUTHORITY_FILE) == 0 ||
			strcmp(entry->d_name, AUTHORITY_BUNDLE) == 0)
			continue;
		n++;
		r = put_entry(p, entry->d_name);
		if (r < 0)
			(void)err_sys(err, file_code(-r), -r, "certificates for boxes: %.100s",
				entry->d_name);
	}
	if (list)
		(void)closedir(list);
	return r == 0 ? put_java(p, err) : r;
}

static int put_own(
	struct publication *p, const struct authority *a, const struct authority_host *host)
{
	struct buf *b = &p->file;
	int found = -ENOENT;
	for (size_t i = 0; host && host->bundles[i] && found < 0; i++)
		found = read_public(b, host->bundles[i], FILE_BYTES);
	if (found < 0)
		buf_clear(b);
	b->max_bytes = FILE_BYTES + AUTHORITY_PEM_BYTES + 1;
	if (b->bytes > 0 && b->data[b->bytes - 1] != '\n')
		(void)buf_add(b, "\n");
	int r = buf_add(b, a->certificate);
	if (r == 0)
		r = file_put(p->dir, AUTHORITY_BUNDLE, b->data, b->bytes, MODE_FILE, 0);
	return r < 0 ? r
		     : file_put(p->dir, AUTHORITY_FILE, a->certificate, strlen(a->certificate),
			       MODE_FILE, 0);
}

int authority_publish(const struct authority *a, const char *dir, const struct authority_host *host,
	struct err *err)
{
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct publication p = {.dir = fd,
		.certs = host ? host->certs : NULL,
		.left_bytes = ALL_BYTES,
		.file = BUF_INIT(FILE_BYTES)};
	int r = fd < 0 || fchmod(fd, MODE_DIR) < 0 ? -errno : put_own(&p, a, host);
	if (r < 0)
		(void)err_sys(err, file_code(-r), -r, "certificates for boxes: %.150s", dir);
	else if (host)
		r = put_entries(&p, err);
	buf_done(&p.file);
	return r;
}

void authority_remove(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	for (const struct dirent *e; list && (e = readdir(list));)
		(void)unlinkat(dir, e->d_name, 0);
	(void)unlinkat(dir, JAVA, 0);
	(void)unlinkat(dir, JAVA_DIR, AT_REMOVEDIR);
	if (list)
		(void)closedir(list);
	else
		fd_close(&fd);
}
