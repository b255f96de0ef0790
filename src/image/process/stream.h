/* Reading an archive: decompressing, hashing and taking it to pieces. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/libarchive.h"
#include "image/process/tree.h"

/* Called now and then while it is read. */
typedef void stream_report_fn(void *arg, const struct unpack_counts *counts);

/*
 * Read a tar archive, plain or compressed with gzip or zstd, from @fd to its end, and put its
 * entries into @tree. All that is behind the archive is read, too, for the digest.
 * @digest: SHA-256 of the archive, decompressed.
 * Errors: ERR_USAGE: it is no such archive, or damaged; ERR_LIMIT; and those of tree_add().
 */
int stream_unpack(const struct libarchive *lib, int fd, struct tree *tree,
	const struct unpack_request *request, stream_report_fn *report, void *arg,
	char digest[DIGEST_BYTES], struct unpack_counts *counts, struct err *err);
