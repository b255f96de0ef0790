/* A registry: requests for the documents and layers of one image, with the login that they need.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "image/reference.h"
#include "net/client.h"

#include <stdbool.h>
#include <stdint.h>

struct remote;
struct remote_get;

/* Who asks: NULL: nobody in particular. With the user "", the secret is an identity token. */
struct login {
	const char *user, *secret;
};

struct remote_config {
	uv_loop_t *loop;
	/* The image, and the host and path where it is got, which are others if that is a mirror.
	 * Borrowed until remote_close(). */
	const struct image_ref *image, *at;
	struct login login; /* for the host of `at`, or its server of tokens; borrowed */
};

/* Owns: the caller ends *@out with remote_close(). Errors: those of net_open(). */
int remote_open(struct remote **out, const struct remote_config *config, struct err *err);
/* End all requests; their callbacks are not called any more. NULL: do nothing. */
void remote_close(struct remote *r);

enum remote_kind { REMOTE_MANIFEST, REMOTE_BLOB };

struct remote_order {
	enum remote_kind kind;
	const char *name; /* a tag, or "sha256:…"; copied */
	uint64_t from;	  /* REMOTE_BLOB: begin with this byte */
	uint64_t max_bytes;
	/* Called before the first piece: it comes from the beginning, although `from` is not 0. May
	 * be NULL. */
	void (*restart)(void *arg);
	/* Called with each piece. Returns: 0; NET_WAIT, and the piece is passed again after
	 * remote_go_on(); or negative errno, and the request ends with ERR_INTERRUPTED. */
	int (*data)(void *arg, const char *data, size_t bytes);
	/*
	 * Called once. @is_cut: the connection broke off, or the server was busy: what is missing
	 * can be asked for again after @wait_ms. The callback must not close the remote. Errors:
	 * ERR_NOT_FOUND, ERR_AUTH, ERR_UNREACHABLE, ERR_LIMIT, ERR_QUOTA.
	 */
	void (*done)(void *arg, bool is_cut, uint64_t wait_ms, const struct err *err);
	void *arg;
};

/* Ask for a part of the image. Owns: *@out is valid until `done` has been called. Errors: those of
 * net_start(). */
int remote_get(struct remote_get **out, struct remote *r, const struct remote_order *order,
	struct err *err);
/* Go on after `data` has returned NET_WAIT. */
void remote_go_on(struct remote_get *g);
/* End a request without a call of `done`. */
void remote_cancel(struct remote_get *g);
