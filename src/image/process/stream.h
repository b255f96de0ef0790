/* Reading an archive: decompressing, hashing and taking it to pieces. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/libarchive.h"
#include "image/process/tree.h"

struct stream_order {
	const struct libarchive *lib;
	int fd; /* where the archive is read from, to its end */
	struct tree *tree;
	const struct unpack_request *request;
	/* Called now and then while it is read. */
	void (*report)(void *arg, const struct unpack_counts *counts);
	void *arg;
};

/*
 * Read a tar archive, plain or compressed with gzip or zstd, and put its entries into the tree. All
 * that is behind the archive is read, too, for the digest. Of @reply, `counts` and `digest` are
 * set: SHA-256 of the archive, decompressed. Errors: ERR_USAGE: it is no such archive, or damaged;
 * ERR_LIMIT; and those of tree_add().
 */
int stream_unpack(const struct stream_order *order, struct unpack_reply *reply, struct err *err);
