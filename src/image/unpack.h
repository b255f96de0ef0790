/* Unpacking of a layer, in a process of its own: the engine's side. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "image/process/wire.h"

#include <stdint.h>
#include <uv.h>

struct unpack;

struct unpack_order {
	int source;	    /* the archive: a file or a pipe; borrowed by unpack_start() */
	int tree;	    /* an empty directory; borrowed by unpack_start() */
	uint64_t max_bytes; /* of the files; 0: UNPACK_MAX_BYTES */
	/* Called now and then. May be NULL. */
	void (*report)(void *arg, const struct unpack_counts *counts);
	/*
	 * Called once, from the loop, when the process has ended, also after unpack_cancel(). The
	 * tree is no more written to. @digest: of the archive, decompressed, as the process says:
	 * it has parsed the archive, and is not trusted. After an error the tree has a part of the
	 * layer, and @digest and @counts mean nothing.
	 */
	void (*done)(void *arg, const char *digest, const struct unpack_counts *counts,
		const struct err *err);
	void *arg;
};

#define UNPACK_MAX_BYTES (UINT64_C(64) << 30)
enum { UNPACK_ENTRIES_MAX = 1000000 };

/*
 * Begin to unpack.
 * Owns:   nothing for the caller: *@out is valid until `done` has returned.
 * Errors: ERR_BOX, ERR_IO. Then `done` is not called.
 */
int unpack_start(
	struct unpack **out, uv_loop_t *loop, const struct unpack_order *order, struct err *err);
/* Have it end soon, with the error @why. */
void unpack_cancel(struct unpack *u, const struct err *why);
