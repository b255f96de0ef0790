/* A layer on its way into the store, from a registry or a file. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "image/manifest.h"
#include "image/pull/remote.h"
#include "layer/layer_store.h"

#include <jansson.h>
#include <uv.h>

struct intake;

enum intake_phase {
	INTAKE_WAITING,
	INTAKE_CHECKING,
	INTAKE_DOWNLOADING,
	INTAKE_UNPACKING,
	INTAKE_DONE
};

struct intake_order {
	uv_loop_t *loop;
	struct layer_store *store;
	struct remote *remote; /* where the layer is, or NULL: */
	int source;	       /* a file that is the layer, and becomes the intake's; or -1 */
	bool is_checked;       /* the file has the digest, and nobody changes it */
	struct image_blob blob;
	const char *diff; /* digest of the layer before it was compressed; borrowed */
	/* Called when something has moved; @moved: bytes that have come, or
	 * have been read. */
	void (*progress)(void *arg, enum intake_phase phase, uint64_t moved);
	/* Called once, from the loop. @about: {"digest", "bytes", "files", "left_out"}, borrowed;
	 * NULL: see @err. The layer stays in the store until intake_close(). */
	void (*done)(void *arg, const json_t *about, const struct err *err);
	void *arg;
};

/* Begin. What was downloaded before a failure is kept, so that the next one goes on from there. */
void intake_start(struct intake **out, const struct intake_order *order);
/* Let go of the layer, or end it, in which case `done` is not called any more. @closed is called
 * from the loop when nothing of it is left. */
void intake_close(struct intake *in, void (*closed)(void *arg));
