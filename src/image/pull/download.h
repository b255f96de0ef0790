/* A layer on its way from a registry into a file. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"
#include "base/err.h"
#include "image/manifest.h"
#include "image/pull/remote.h"
#include "layer/layer_store.h"

#include <uv.h>

struct download;

struct download_order {
	uv_loop_t *loop;
	struct remote *remote;
	const struct layer_store *store; /* for messages */
	int fd;				 /* the file, borrowed until `closed` */
	struct image_blob blob;
	/* What there is of the layer: so many bytes, and their digest, which waits for more. */
	uint64_t have;
	struct digest_state digest;
	/* Called when something has been written: @have bytes are there. */
	void (*progress)(void *arg, uint64_t have);
	/* Called once. @err NULL: the file is the layer. Errors: ERR_DAMAGED: the layer has other
	 * bytes or is longer; ERR_NO_SPACE: the file is empty; ERR_UNREACHABLE and others of
	 * remote_get(): what is there can be used another time. */
	void (*done)(void *arg, const struct err *err);
	void *arg;
};

/* Begin. Nothing is called before the loop runs. */
void download_start(struct download **out, const struct download_order *order);
/* End it: `done` is not called any more. @closed is called when nothing of it is left, perhaps
 * before this returns. */
void download_close(struct download *d, void (*closed)(void *arg));
