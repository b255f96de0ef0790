/* Taking an image from a file or directory of this host. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "image/pull/assembly.h"
#include "layer/layer_store.h"

#include <jansson.h>
#include <uv.h>

struct import;

struct import_order {
	uv_loop_t *loop;
	struct layer_store *store; /* borrowed until `done` */
	/* An OCI layout; or a tar archive, perhaps compressed: of an OCI layout, of what `docker
	 * save` writes, or of the files of a system, which become one layer. */
	const char *path;
	const char *name; /* for the image; NULL: as the archive calls it */
	const char *ref;  /* the one of several images that is called so; NULL: the only one */
	/* May be NULL. While an archive is unpacked, its name is "archive", and it is layer 0 of 1.
	 */
	void (*progress)(void *arg, const struct pull_progress *progress);
	/* As in struct pull_order. */
	void (*done)(void *arg, const json_t *about, const struct err *err);
	void *arg;
};

/* Begin. All of @order is copied. Errors: ERR_USAGE: no name. Then `done` is not called. */
int import_start(struct import **out, const struct import_order *order, struct err *err);
/* End it soon, with ERR_INTERRUPTED. */
void import_cancel(struct import *m);
