/* Archives of layers, as retort-unpack takes them to pieces. What becomes of them stays in one
 * directory, and has nothing in it that a box must not have.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/digest.h"
#include "base/fd.h"
#include "base/libarchive.h"
#include "image/process/stream.h"
#include "image/process/tree.h"
#include "layer/layer_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { FILES_MAX = 200, BYTES_MAX = 1 << 20 };

static const char secret[] = "of the host";

static uint64_t check_dir(int at, const char *name)
{
	uint64_t n = 0;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	MUST(dir);
	while ((entry = readdir(dir))) {
		struct stat st;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		MUST(fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0);
		MUST(!(st.st_mode & (S_ISUID | S_ISGID)));
		MUST(!S_ISSOCK(st.st_mode) && !S_ISBLK(st.st_mode));
		MUST(!S_ISCHR(st.st_mode) || st.st_rdev == makedev(0, 0));
		MUST(!S_ISREG(st.st_mode) || (st.st_mode & 0600) == 0600);
		MUST(!S_ISDIR(st.st_mode) || (st.st_mode & 0700) == 0700);
		n += 1 + (S_ISDIR(st.st_mode) ? check_dir(fd, entry->d_name) : 0);
	}
	(void)closedir(dir);
	return n;
}

static void on_report(void *arg, const struct unpack_counts *counts)
{
	(void)arg;
	MUST(counts->entries <= FILES_MAX + 1 && counts->bytes <= BYTES_MAX);
}

/* Whatever the archive is, its neighbour is as before. */
static void check_neighbour(int dir)
{
	char text[sizeof secret + 1];
	struct stat st;
	cleanup_fd int fd = openat(dir, "secret", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	MUST(fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 1 && (st.st_mode & 07777) == 0644);
	MUST(read(fd, text, sizeof text) == sizeof secret &&
		memcmp(text, secret, sizeof secret) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct libarchive lib;
	struct err err = {0};
	struct tree *tree = NULL;
	char path[256];
	struct unpack_reply reply = {.kind = UNPACK_RESULT};
	const struct unpack_counts *counts = &reply.counts;
	const struct unpack_request request = {
		.version = UNPACK_VERSION, .max_bytes = BYTES_MAX, .max_entries = FILES_MAX};
	MUST(lib.read_new || libarchive_load(&lib, &err) == 0);
	(void)umask(0);
	fuzz_mkdir("place");
	fuzz_mkdir("place/tree");
	fuzz_put("place/secret", (const uint8_t *)secret, sizeof secret);
	snprintf(path, sizeof path, "%s/place", fuzz_dir());
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(fchmodat(dir, "secret", 0644, 0) == 0);
	cleanup_fd int root = openat(dir, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int source = memfd_create("layer", MFD_CLOEXEC);
	MUST(root >= 0 && source >= 0 && fd_write_all(source, data, bytes) == 0);
	MUST(lseek(source, 0, SEEK_SET) == 0 && tree_open(&tree, root, &request, &err) == 0);
	const struct stream_order order = {
		.lib = &lib, .fd = source, .tree = tree, .request = &request, .report = on_report};
	int r = stream_unpack(&order, &reply, &err);
	tree_close(tree);
	MUST(r == 0 ? counts->read == bytes && counts->bytes <= BYTES_MAX : err.code != ERR_NONE);
	MUST(check_dir(root, ".") <= counts->entries);
	check_neighbour(dir);
	MUST(layer_clear(root) == 0 && check_dir(root, ".") == 0);
	return 0;
}
