/* The operations that make the parts of a root, in tables. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/warden/root.h"

/* The directories of the store; each becomes a directory of the box. */
#define ROOT_STORE ".store"
/* In the store of a box with an image: what the box changes of the image, and what the kernel needs
 * besides. */
#define ROOT_UPPER "upper"
#define ROOT_WORK  "work"
/* ROOT_IMAGE_FILES, ROOT_IMAGE_BYTES: room for what is retort's own in the store of a box with an
 * image: these directories, those of the parts of the root, files of /etc, and attributes, which
 * the kernel counts as files. */
enum { ROOT_STORE_DIRS = 3, ROOT_IMAGE_FILES = 40, ROOT_IMAGE_BYTES = 64 << 10 };

/* Make, in the current directory, what the box takes from the host's system: /usr, /bin, /lib… and
 * a small /etc. @host_fd: the root of the host. Errors: ERR_BOX. */
int root_op_host(const struct root *root, int host_fd, struct err *err);
/* Make the other parts of a root in the current directory: /dev, /proc, /sys, /retort, /home/user,
 * /tmp, and the store at ROOT_STORE. Errors: ERR_BOX. */
int root_op_own(const struct root *root, struct err *err);

/* Set @attributes of the detached or attached mount @tree_fd, and of those below it if @is_all.
 * @what: its path in the box, for the message. Errors: ERR_BOX. */
int root_set_attributes(
	int tree_fd, uint64_t attributes, bool is_all, const char *what, struct err *err);
/* Make a file at @path, which must not exist. Errors: ERR_BOX. */
int root_make_file(const char *path, const char *text, struct err *err);

/* Files that a box with an image has, too: paths in /etc, and texts. Ends with a NULL path. */
struct root_file {
	const char *path, *text;
};
extern const struct root_file root_names[];
/* The text of /etc/passwd of a box with the host's system. */
#define ROOT_PASSWD                                                                                \
	"root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"                                         \
	"user:x:1000:1000:user:/home/user:/bin/sh\n"                                               \
	"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
#define ROOT_GROUP "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"
