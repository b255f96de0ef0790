/* Messages between the engine and retort-unpack: fixed sizes, one per packet, no pointers.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"
#include "base/err.h"

#include <stdint.h>

enum { UNPACK_VERSION = 1 };

/* The descriptors that come with the request: what is read, and the empty directory that is filled.
 */
enum { UNPACK_FD_SOURCE, UNPACK_FD_TREE, UNPACK_FD_END_ };

struct unpack_request {
	uint32_t version;
	uint32_t reserved;
	uint64_t max_bytes;   /* of all that is unpacked */
	uint64_t max_entries; /* files, directories, links and marks of removal */
};

struct unpack_counts {
	uint64_t entries;
	uint64_t bytes;	   /* contents of files */
	uint64_t left_out; /* device files and sockets */
	uint64_t read;	   /* bytes of the source */
};

/* The process sends any number of reports, then the result. */
enum unpack_reply_kind { UNPACK_REPORT = 1, UNPACK_RESULT };

struct unpack_reply {
	uint32_t kind;
	int32_t status; /* UNPACK_RESULT: 0, or negative errno with the reason in `err` */
	struct unpack_counts counts;
	/* UNPACK_RESULT: SHA-256 of the archive, decompressed; what the process says, so no more
	 * than a check of the transport */
	char digest[DIGEST_BYTES];
	char reserved[7];
	struct err err;
};
