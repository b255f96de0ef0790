/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/image/image_pack.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/libarchive.h"
#include "base/num.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 << 10, NAME_BYTES = 4096 };

struct packing {
	struct libarchive lib;
	struct archive *in, *out;
	const char *root;
	int fd, sys; /* sys: errno of a write that has failed */
	char block[BLOCK_BYTES];
};

static la_ssize_t on_write(struct archive *a, void *arg, const void *data, size_t bytes)
{
	struct packing *p = arg;
	int r = fd_write_all(p->fd, data, bytes);
	if (r == 0)
		return (la_ssize_t)bytes;
	p->sys = -r;
	p->lib.set_error(a, -r, "cannot be written");
	return -1;
}

static int fail_write(const struct packing *p, struct err *err)
{
	const char *text = p->lib.error_string(p->out);
	if (p->sys)
		return err_sys(
			err, file_code(p->sys), p->sys, "write an archive of %.150s", p->root);
	return err_set(
		err, ERR_IO, "write an archive of %.100s: %.100s", p->root, text ? text : "?");
}

static int fail_read(const char *path, struct err *err)
{
	return err_fail(err, ERR_ACCESS,
		"as root, or as its owner: tar -C DIR -c . | retort image import - NAME",
		"%.200s cannot be read", path);
}

static int pack_data(struct packing *p, const char *path, struct err *err)
{
	la_ssize_t n;
	while ((n = p->lib.read_data(p->in, p->block, sizeof p->block)) > 0)
		if (p->lib.write_data(p->out, p->block, (size_t)n) < 0)
			return fail_write(p, err);
	return n < 0 ? fail_read(path, err) : 0;
}

static int pack_entry(struct packing *p, struct archive_entry *entry, struct err *err)
{
	char path[NAME_BYTES], name[NAME_BYTES];
	const char *found = p->lib.entry_pathname(entry);
	mode_t type = p->lib.entry_filetype(entry);
	if (!found || strlen(found) >= sizeof path - 2)
		return err_set(err, ERR_LIMIT, "%.150s has a path that is too long", p->root);
	snprintf(path, sizeof path, "%s", found);
	const char *rest = path + MIN(strlen(p->root), strlen(path));
	snprintf(name, sizeof name, "./%s", rest + strspn(rest, "/"));
	if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK)
		return 0;
	p->lib.entry_set_pathname(entry, name);
	if (p->lib.write_header(p->out, entry) < ARCHIVE_WARN)
		return fail_write(p, err);
	return type == AE_IFREG ? pack_data(p, path, err) : 0;
}

static int pack_all(struct packing *p, struct err *err)
{
	struct archive_entry *entry = p->lib.entry_new();
	int r = entry ? 0 : err_set(err, ERR_NO_MEMORY, "no memory for an archive");
	while (r == 0) {
		int said = p->lib.read_next_header2(p->in, entry);
		if (said == ARCHIVE_EOF)
			break;
		if (said < ARCHIVE_WARN) {
			const char *path = p->lib.entry_pathname(entry);
			r = fail_read(path ? path : p->root, err);
		} else {
			(void)p->lib.read_disk_descend(p->in);
			r = pack_entry(p, entry, err);
		}
	}
	p->lib.entry_free(entry);
	if (r == 0 && p->lib.write_close(p->out) < ARCHIVE_WARN)
		r = fail_write(p, err);
	return r;
}

static int open_both(struct packing *p, struct err *err)
{
	const int how = ARCHIVE_READDISK_NO_XATTR | ARCHIVE_READDISK_NO_ACL |
		ARCHIVE_READDISK_NO_FFLAGS | ARCHIVE_READDISK_NO_TRAVERSE_MOUNTS;
	p->in = p->lib.read_disk_new();
	p->out = p->lib.write_new();
	if (!p->in || !p->out)
		return err_set(err, ERR_NO_MEMORY, "no memory for an archive");
	if (p->lib.read_disk_set_behavior(p->in, how) != ARCHIVE_OK ||
		p->lib.read_disk_open(p->in, p->root) != ARCHIVE_OK)
		return fail_read(p->root, err);
	if (p->lib.write_set_format_gnutar(p->out) != ARCHIVE_OK ||
		p->lib.write_set_bytes_per_block(p->out, BLOCK_BYTES) != ARCHIVE_OK ||
		p->lib.write_set_bytes_in_last_block(p->out, 1) != ARCHIVE_OK ||
		p->lib.write_open(p->out, p, NULL, on_write, NULL) < ARCHIVE_WARN)
		return fail_write(p, err);
	return 0;
}

int image_pack(const char *path, int fd, struct err *err)
{
	struct packing *p = calloc(1, sizeof *p);
	if (!p)
		return err_set(err, ERR_NO_MEMORY, "no memory for an archive");
	p->root = path;
	p->fd = fd;
	int r = libarchive_load(&p->lib, err);
	if (r == 0) {
		r = open_both(p, err);
		r = r < 0 ? r : pack_all(p, err);
		(void)p->lib.read_free(p->in);
		(void)p->lib.write_free(p->out);
	}
	free(p);
	return r;
}
