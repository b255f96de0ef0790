/* Getting an image from a registry. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "image/pull/assembly.h"
#include "image/pull/remote.h"
#include "image/reference.h"
#include "layer/layer_store.h"

#include <jansson.h>
#include <uv.h>

struct pull;

struct pull_order {
	uv_loop_t *loop;
	struct layer_store *store; /* borrowed until `done` */
	const char *name;	   /* as image_ref_parse() */
	/* HOST[:PORT][/PATH] that is asked first, or NULL. */
	const char *mirror;
	struct login login, mirror_login; /* for the registry, and for the mirror */
	/* May be NULL. */
	void (*progress)(void *arg, const struct pull_progress *progress);
	/* Called once, from the loop, also after pull_cancel(). @about: the record of the image,
	 * which is in the store now, borrowed; NULL: see @err. */
	void (*done)(void *arg, const json_t *about, const struct err *err);
	void *arg;
};

/* Begin. All of @order is copied. Errors: ERR_USAGE: no name, no
 * mirror; those of remote_open(). Then `done`
 * is not called. */
int pull_start(struct pull **out, const struct pull_order *order, struct err *err);
/* End it soon, with ERR_INTERRUPTED. */
void pull_cancel(struct pull *p);
